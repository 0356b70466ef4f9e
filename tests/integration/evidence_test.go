package integration_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"engang/infra/local"
	"engang/infra/local/wire"
	"engang/shared/control"
	"engang/shared/dynamo/dynamotest/invariants"
	"engang/shared/queue"
	"engang/shared/secrets"
)

// brisk is the speed of tests that wait for the reconciler while nothing else is under way: an event is
// sent again after three seconds.
const brisk = 100

// hush stands in what senders send and must not be found in an answer, a log line or a message.
const hush = "hush-4711"

// A logbook keeps the log lines of one system.
type logbook struct {
	mu sync.Mutex
	b  bytes.Buffer
	to io.Writer // the test's own output
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b.Write(p)
	return l.to.Write(p)
}

// take gives what was written since it was last asked, and forgets it.
func (l *logbook) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.b.Reset()
	return l.b.String()
}

// deliveries are the lines of the receiver about deliveries.
func deliveries(t testing.TB, log string) (all []map[string]any) {
	t.Helper()
	for line := range strings.Lines(log) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Errorf("a log line that is no JSON: %s", line)
		}
		if fields["msg"] == "delivery" {
			all = append(all, fields)
		}
	}
	return all
}

// in is the same system for a test inside the test that started it.
func (s *system) in(t testing.TB) *system { return &system{System: s.System, t: t} }

// stored are the items of events, conflicts, operations and results: all but configuration.
func (s *system) stored() invariants.Items {
	s.t.Helper()
	return slices.DeleteFunc(s.items(), func(i invariants.Item) bool { return strings.HasPrefix(i["pk"], "C#") })
}

// item is one event as it is stored, or nil.
func (s *system) item(event string) invariants.Item {
	s.t.Helper()
	for _, i := range s.items().Events() {
		if i["pk"] == "E#"+event {
			return i
		}
	}
	return nil
}

// asked lists what the functions called since the record stood at before, without how often.
func (s *system) asked(before map[string]int) []string {
	now := s.Record().Counts()
	maps.DeleteFunc(now, func(name string, n int) bool { return n == before[name] || name == "receive messages" })
	return slices.Sorted(maps.Keys(now))
}

// signatures are the texts in a request that prove who sent it.
func signatures(r *http.Request) (all []string) {
	for _, name := range []string{"X-Wc-Webhook-Signature", "Webhook-Signature"} {
		for _, v := range r.Header.Values(name) {
			if v = strings.TrimSpace(v); v != "" {
				all = append(all, v, v[len(v)/2:])
			}
		}
	}
	return all
}

// secretTexts are the secrets of both endpoints.
func secretTexts() []string {
	return []string{
		local.Secret("woocommerce", secrets.Ref("ssm:hooks/woo-shop/1")),
		strings.TrimPrefix(local.Secret("standard-webhooks", secrets.Ref("ssm:hooks/crm/1")), "whsec_"),
	}
}

// quiet demands that a text holds nothing of a payload, a secret or a signature.
func quiet(t testing.TB, where, text string, more ...string) {
	t.Helper()
	for _, never := range append(append(more, hush), secretTexts()...) {
		if strings.Contains(text, never) {
			t.Errorf("%s holds %q:\n%.2000s", where, never, text)
		}
	}
}

// notices takes the letters out of the dead-letter queue, by the event that they name.
func (s *system) notices() map[string][]sqstypes.Message {
	s.t.Helper()
	address := s.QueueURL("WorkDeadLetterQueue")
	all := map[string][]sqstypes.Message{}
	for {
		out, err := s.SQS().ReceiveMessage(s.t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &address, MaxNumberOfMessages: 10, MessageAttributeNames: []string{"All"}})
		if err != nil {
			s.t.Fatal(err)
		}
		if len(out.Messages) == 0 {
			return all
		}
		for _, m := range out.Messages {
			letter, err := queue.Decode(*m.Body)
			if err != nil || letter.Notice == nil {
				s.t.Fatalf("a letter that is no notice: %s", *m.Body)
			}
			all[string(letter.Notice.Event)] = append(all[string(letter.Notice.Event)], m)
		}
	}
}

// queued counts the messages of the work queue, hidden or not.
func (s *system) queued() (n int) {
	s.t.Helper()
	address := s.QueueURL("WorkQueue")
	out, err := s.SQS().GetQueueAttributes(s.t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &address, AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameAll}})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, name := range []string{"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed"} {
		one, err := strconv.Atoi(out.Attributes[name])
		if err != nil && out.Attributes[name] != "" {
			s.t.Fatal(err)
		}
		n += one
	}
	return n
}

// body is the exact body of an event's first delivery, as the API shows it.
func (s *system) body(event string) []byte {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.URL()+"/api/reveal", strings.NewReader(`{"id":"`+event+`","reason":"test"}`))
	if err != nil {
		s.t.Fatal(err)
	}
	a := s.send(r)
	var c control.Content
	if err := json.Unmarshal([]byte(a.Body), &c); err != nil || a.Code != http.StatusOK {
		s.t.Fatalf("reveal %s: %d %.200s, %v", event, a.Code, a.Body, err)
	}
	return c.Body
}

// objects are the keys in the bucket of bodies.
func (s *system) objects() (keys []string) {
	s.t.Helper()
	bucket := s.BucketName("Bodies")
	out, err := s.S3().ListObjectsV2(s.t.Context(), &s3.ListObjectsV2Input{Bucket: &bucket})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, o := range out.Contents {
		keys = append(keys, *o.Key)
	}
	return keys
}

// A trouble is a judge whose mind a test can change.
type trouble struct {
	mu   sync.Mutex
	rule wire.Judge
}

func (o *trouble) judge(c wire.Call, p wire.Phase) wire.Verdict {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.rule == nil {
		return wire.Pass
	}
	return o.rule(c, p)
}

// is sets what goes wrong from now on; nil: nothing.
func (o *trouble) is(rule wire.Judge) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.rule = rule
}

// down lets no call of a service through.
func down(service string) wire.Judge {
	return func(c wire.Call, p wire.Phase) wire.Verdict {
		if c.Service == service && c.Function != "" && p == wire.Before {
			return wire.Fail
		}
		return wire.Pass
	}
}

// every does the same to each call of this name, repeats of the client included.
func every(name string, p wire.Phase, v wire.Verdict) wire.Judge {
	return func(c wire.Call, at wire.Phase) wire.Verdict {
		if c.Name == name && at == p {
			return v
		}
		return wire.Pass
	}
}

// once does it to the first such call only.
func once(name string, p wire.Phase, v wire.Verdict) wire.Judge {
	struck := false
	return func(c wire.Call, at wire.Phase) wire.Verdict {
		if struck || c.Name != name || at != p {
			return wire.Pass
		}
		struck = true
		return v
	}
}
