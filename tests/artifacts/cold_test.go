package artifacts_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"

	"engang/infra/local"
	"engang/infra/local/bootstrap"
	"engang/shared/secrets"
	"engang/shared/webhook"
)

// BenchmarkColdStart holds the start of the receiver's process until its first answer against that of three functions
// built the same way: one that says hello; clients, which makes the same calls with the same clients and does nothing
// else; and bare, which makes them with net/http and a signature alone. They take turns, so that what else the machine
// does meets all alike. Lambda's own part, the machine that it boots and the program that it fetches, is in none of the
// times.
//
// All figures are medians. Of the receiver: ms from the start of the process to its first answer, of which ms-init
// until it asks for an event, and ms-waiting for the engine that stands in for AWS, which is this benchmark's own time
// and not the receiver's. As ratios to hello: x-hello the whole, x-hello-init, x-hello-first from event to answer,
// x-hello-own the whole without the waiting, x-hello-cpu the processor's time. x-clients is the whole as a ratio to
// the function with the clients, x-clients-own without what either waits. clients-x-hello and bare-x-hello are the
// wholes of the other two: what the calls cost that the receiver makes, with the SDK and at the very least.
func BenchmarkColdStart(b *testing.B) {
	all := starters(b)
	for b.Loop() {
		for _, s := range all {
			s.cold(b)
		}
	}
	receiver, hello, clients, bare := all[0], all[1], all[2], all[3]
	b.ReportMetric(ms(receiver.median(whole)), "ms")
	b.ReportMetric(ms(receiver.median(toInit)), "ms-init")
	b.ReportMetric(ms(receiver.median(waiting)), "ms-waiting")
	for _, r := range []struct {
		unit   string
		of, to *starter
		part   func(coldStart) time.Duration
	}{
		{"x-hello", receiver, hello, whole}, {"x-hello-init", receiver, hello, toInit}, {"x-hello-first", receiver, hello, toAnswer},
		{"x-hello-own", receiver, hello, own}, {"x-hello-cpu", receiver, hello, processor},
		{"x-clients", receiver, clients, whole}, {"x-clients-own", receiver, clients, own},
		{"clients-x-hello", clients, hello, whole}, {"bare-x-hello", bare, hello, whole},
	} {
		b.ReportMetric(float64(r.of.median(r.part))/float64(r.to.median(r.part)), r.unit)
	}
}

// A coldStart is what one start took.
type coldStart struct {
	init    time.Duration // from the start of the process until it asks for an event
	first   time.Duration // from the event to its answer
	waited  time.Duration // of that, until calls were answered
	process time.Duration // processor time
}

func whole(c coldStart) time.Duration     { return c.init + c.first }
func own(c coldStart) time.Duration       { return c.init + c.first - c.waited }
func toInit(c coldStart) time.Duration    { return c.init }
func toAnswer(c coldStart) time.Duration  { return c.first }
func waiting(c coldStart) time.Duration   { return c.waited }
func processor(c coldStart) time.Duration { return c.process }

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// A starter starts a receiver, or what stands in for it, and waits for its first answer.
type starter struct {
	program bootstrap.Program
	engine  *engine
	took    []coldStart
}

// starters are the receiver, a function that says hello, and two that make the receiver's calls.
func starters(b *testing.B) []*starter {
	b.Helper()
	system := start(b, local.Options{Manual: true})
	path, err := system.SecretPath()
	if err != nil {
		b.Fatal(err)
	}
	cloud := system.Direct(func(t http.RoundTripper) http.RoundTripper { return t })
	to, err := url.Parse(aws.ToString(cloud.BaseEndpoint))
	if err != nil {
		b.Fatal(err)
	}
	e := &engine{next: httputil.NewSingleHostReverseProxy(to)}
	env := func(address string) []string {
		return []string{
			"TABLE_NAME=" + system.TableName(), "WORK_QUEUE_URL=" + system.QueueURL("WorkQueue"), "BODIES_BUCKET=" + system.BucketName("Bodies"), "SECRET_PATH=" + path,
			"AWS_REGION=" + cloud.Region, "AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local", "AWS_ENDPOINT_URL=http://" + address, "AWS_LAMBDA_FUNCTION_NAME=receiver",
			"AWS_CONFIG_FILE=/dev/null", "AWS_SHARED_CREDENTIALS_FILE=/dev/null", "AWS_EC2_METADATA_DISABLED=true", // the SDK's own loader would look there
		}
	}
	receiver, err := bootstrap.Find(built(b), resource("receiver"))
	if err != nil {
		b.Fatal(err)
	}
	var all []*starter
	for _, at := range []string{receiver, standIn(b, "hello"), standIn(b, "clients"), standIn(b, "bare")} {
		all = append(all, &starter{program: bootstrap.Program{Name: "receiver", Path: at, Env: env, Calls: e, Log: b.Output()}, engine: e})
	}
	return all
}

// standIn builds a program as the receiver is built.
func standIn(b *testing.B, name string) string {
	b.Helper()
	flags, err := readmeFlags()
	if err != nil {
		b.Fatal(err)
	}
	at := filepath.Join(scratch, name, "bootstrap")
	if err := goBuild(flags, "./tests/artifacts/testdata/"+name, at); err != nil {
		b.Fatal(err)
	}
	return at
}

// cold starts a process, gives it one delivery, and ends it.
func (s *starter) cold(b *testing.B) {
	b.Helper()
	event := fresh(b)
	s.engine.reset()
	begun := time.Now()
	e, err := s.program.Start(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	asked := time.Now()
	ctx, cancel := context.WithTimeout(b.Context(), 10*time.Second)
	defer cancel()
	raw, err := e.Invoke(ctx, event)
	answered := time.Now()
	e.Close()
	if err != nil || !strings.Contains(string(raw), `"statusCode":200`) {
		b.Fatalf("%s, %v", raw, err)
	}
	s.took = append(s.took, coldStart{asked.Sub(begun), answered.Sub(asked), s.engine.took, e.Used()})
}

func (s *starter) median(part func(coldStart) time.Duration) time.Duration {
	var all []time.Duration
	for _, c := range s.took {
		all = append(all, part(c))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// An engine stands in for AWS, and counts the time for which it has a process wait.
type engine struct {
	next http.Handler

	mu    sync.Mutex
	asked int // calls under way
	since time.Time
	took  time.Duration
}

// ServeHTTP answers as the engine behind it does.
func (e *engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.change(1)
	defer e.change(-1)
	e.next.ServeHTTP(w, r)
}

func (e *engine) change(by int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.asked == 0 {
		e.since = time.Now()
	}
	if e.asked += by; e.asked == 0 {
		e.took += time.Since(e.since)
	}
}

func (e *engine) reset() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.took = 0
}

// products is the last one: no two deliveries of this process are of the same product.
var products = 1000

// fresh is a delivery of a product of its own, as the gateway passes it on.
func fresh(b *testing.B) []byte {
	b.Helper()
	products++
	row, _ := webhook.Lookup("woocommerce")
	req := webhook.Request{Header: http.Header{"X-Wc-Webhook-Topic": {"product.updated"}}, Body: []byte(strings.Replace(product, `"id":794`, fmt.Sprintf(`"id":%d`, products), 1))}
	req, err := row.Sign(req, secrets.NewValue(local.Secret("woocommerce", "ssm:hooks/woo-shop/1")), time.Now())
	if err != nil {
		b.Fatal(err)
	}
	e := events.APIGatewayV2HTTPRequest{RawPath: "/hooks/woo-shop", PathParameters: map[string]string{"endpoint": "woo-shop"}, Headers: map[string]string{}, Body: string(req.Body)}
	e.RequestContext.HTTP.Method = http.MethodPost
	for name := range req.Header {
		e.Headers[strings.ToLower(name)] = req.Header.Get(name)
	}
	raw, err := json.Marshal(e)
	if err != nil {
		b.Fatal(err)
	}
	return raw
}
