package local

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/sivchari/kumo"

	"engang/infra/local/cloudformation"
	"engang/infra/local/faults"
	"engang/infra/local/wire"
	"engang/infra/modelstub"
	"engang/shared/telemetry"
)

const region = "us-east-1" // the engine's own, in the names of its queues

// engine is started once: its state belongs to the process, whoever asks.
var engine = sync.OnceValue(kumo.NewServer)

// flushEvery is how often the engine writes its folder; a killed process loses what came since.
const flushEvery = 200 * time.Millisecond

// EngineEnv is the environment that a program must have been started with for its engine to keep its
// data in dir.
func EngineEnv(dir string) []string {
	return []string{"KUMO_DATA_DIR=" + dir, fmt.Sprintf("KUMO_PERSIST_FLUSH_INTERVAL_MS=%d", flushEvery.Milliseconds())}
}

// Flush is how much of the latest work a killed process loses at most.
func Flush() time.Duration { return flushEvery }

// KeepsDataIn tells whether this process was started for that folder.
func KeepsDataIn(dir string) bool {
	at, err := filepath.Abs(dir)
	return err == nil && os.Getenv("KUMO_DATA_DIR") == at
}

// startModel starts the stub, unless a model is called that is not ours.
func (s *System) startModel(context.Context) error {
	if s.o.OpenAIKey != "" || s.o.ModelURL != "" {
		s.faults = faults.New(nil, time.Now)
		return s.faults.Add(s.o.Faults)
	}
	s.stub = modelstub.New()
	s.faults = faults.New(s.stub.Fail, time.Now)
	if err := s.faults.Add(s.o.Faults); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("start model stub: %w", err)
	}
	server := &http.Server{Handler: s.stub, ReadHeaderTimeout: 10 * time.Second}
	go server.Serve(listener)
	s.closers = append(s.closers, func(context.Context) error { return server.Close() })
	s.o.ModelURL = "http://" + listener.Addr().String() + "/v1"
	return nil
}

// startEngine creates what the template declares, or finds it again in the data folder.
func (s *System) startEngine(ctx context.Context) error {
	name := "engang-" + strings.ToLower(rand.Text()[:8]) // the engine is shared by all systems of the process
	if s.o.DataDir != "" {
		if !KeepsDataIn(s.o.DataDir) {
			return fmt.Errorf("keep data in %s: %w", s.o.DataDir, ErrDataDir)
		}
		unlock, err := lock(s.o.DataDir)
		if err != nil {
			return err
		}
		s.closers = append(s.closers, func(context.Context) error { return unlock() }) // last: when everything is written
		name = "engang"
	}
	template, err := cloudformation.Read(s.o.TemplatePath)
	if err != nil {
		return err
	}
	if s.o.ModelURL != "" {
		template = template.With(map[string]string{"ModelBaseUrl": s.o.ModelURL})
	}
	base := &router{table: s.o.DynamoDBURL, queues: s.o.SQSURL, model: s.o.ModelURL, held: &s.held, next: s.o.Transport}
	if s.o.DataDir != "" {
		base.flight = &flight{}
	}
	if base.next == nil {
		base.next = &http.Transport{MaxIdleConnsPerHost: 64}
	}
	s.base = base
	s.stack = newStack(template, name, s.o.Speed, s.direct())
	if err := s.stack.create(ctx); err != nil {
		return err
	}
	s.closers = append(s.closers, func(ctx context.Context) error {
		if s.o.DataDir != "" {
			err := base.flight.giveBack(ctx, s.stack.sqs)
			time.Sleep(2 * flushEvery) // the engine writes in the background and cannot be asked to
			return err
		}
		return s.stack.delete(ctx)
	})
	if s.o.Meter {
		s.meter = &wire.Meter{Keys: s.stack.keys, Indexes: s.stack.indexes, Item: s.item, Ask: s.o.DynamoDBURL != ""}
	}
	if s.rights, err = s.guard(base); err != nil {
		return err
	}
	s.wire = wire.New(s.rights, s.judge, s.record, s.meter)
	return nil
}

func (s *System) judge(c wire.Call, p wire.Phase) wire.Verdict {
	if p == wire.After && c.Service == "sqs" && c.Function != "" {
		for _, source := range s.sources {
			source.Wake() // a message may have come: no need to wait for the next look
		}
	}
	if s.o.Judge != nil {
		if v := s.o.Judge(c, p); v != wire.Pass {
			return v
		}
	}
	return s.faults.Judge(c, p)
}

// awsConfig is the configuration of every client. Waits between two tries pass faster too.
func (s *System) awsConfig(client *http.Client) aws.Config {
	return aws.Config{
		Region: region, BaseEndpoint: aws.String(engine().URL), HTTPClient: client,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		Retryer: func() aws.Retryer {
			return retry.NewStandard(func(o *retry.StandardOptions) { o.MaxBackoff = s.scaled(retry.DefaultMaxBackoff) })
		},
	}
}

// direct is the configuration of clients past the wire.
func (s *System) direct() aws.Config { return s.awsConfig(&http.Client{Transport: s.base}) }

func (s *System) scaled(d time.Duration) time.Duration { return time.Duration(float64(d) / s.o.Speed) }

// A router carries calls to the engine: those to the table and to the queues to one of their own, if there is one. Calls of
// models go to the one that stands in for all, whatever address was applied: nothing leaves the machine
// that is not meant to.
type router struct {
	table  string
	queues string
	model  string
	held   *held
	flight *flight // of what is kept in a folder; else nil
	next   http.RoundTripper
}

// RoundTrip sends a request.
func (t *router) RoundTrip(r *http.Request) (*http.Response, error) {
	if own := t.own(r.Header.Get("X-Amz-Target")); own != "" {
		to, err := url.Parse(own)
		if err != nil {
			return nil, fmt.Errorf("address of an engine: %w", err)
		}
		r = r.Clone(r.Context())
		r.URL.Scheme, r.URL.Host, r.Host = to.Scheme, to.Host, to.Host
	}
	if t.model != "" && telemetry.Call(r.Context()) == "model call" {
		to, err := url.Parse(t.model + "/responses")
		if err != nil {
			return nil, fmt.Errorf("address of the model: %w", err)
		}
		r = r.Clone(r.Context())
		r.URL, r.Host = to, to.Host
	}
	wanted, err := t.held.wanted(r)
	if err != nil {
		return nil, err
	}
	call, err := t.flight.asked(r)
	if err != nil {
		return nil, err
	}
	answer, err := t.next.RoundTrip(r)
	if err == nil {
		err = t.flight.answered(call, answer)
	}
	if err == nil && len(wanted) > 0 && answer.StatusCode == http.StatusOK {
		err = complete(answer, wanted)
	}
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// own is the engine of its own that an operation's service has, or "".
func (t *router) own(operation string) string {
	switch {
	case strings.HasPrefix(operation, "DynamoDB_"):
		return t.table
	case strings.HasPrefix(operation, "AmazonSQS."):
		return t.queues
	}
	return ""
}

// item reads an item past the wire, in the wire's own form. No item and no answer are both nil.
func (s *System) item(table string, key map[string]json.RawMessage) map[string]json.RawMessage {
	body, err := json.Marshal(map[string]any{"TableName": table, "Key": key, "ConsistentRead": true})
	if err != nil {
		return nil
	}
	r, err := http.NewRequest(http.MethodPost, engine().URL+"/", bytes.NewReader(body))
	if err != nil {
		return nil
	}
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	r.Header.Set("X-Amz-Target", "DynamoDB_20120810.GetItem")
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=local/20260101/"+region+"/dynamodb/aws4_request, SignedHeaders=host, Signature=0")
	r.Header.Set("X-Amz-Date", "20260101T000000Z") // looked at, and not held against anything
	answer, err := (&router{table: s.o.DynamoDBURL, held: &s.held, next: http.DefaultTransport}).RoundTrip(r)
	if err != nil {
		return nil
	}
	defer answer.Body.Close()
	var out struct{ Item map[string]json.RawMessage }
	if err := json.NewDecoder(answer.Body).Decode(&out); err != nil {
		return nil
	}
	return out.Item
}

// lines keeps the lines of several loggers apart.
type lines struct {
	mu sync.Mutex
	to interface{ Write([]byte) (int, error) }
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(p)
}

var errNoTable = errors.New("the template declares no table")
