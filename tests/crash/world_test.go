package crash_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"engang/infra/local"
	"engang/infra/local/localtest"
	"engang/shared/dynamo/dynamotest/invariants"
	"engang/tests/shop"
)

// A world is the whole system of one run, as it is deployed but for its carrier: the handlers of the functions, the
// queues, the table. Its time is virtual: it goes on when all wait, and an hour takes no time.
type world struct {
	*local.System
	ctx   context.Context
	watch *watch
	shop  *shop.Shop

	sent    []request // what senders have delivered, in order
	answers []string  // to them, in order
	working int       // batches in work
	last    invariants.Items

	mu         sync.Mutex
	violations []string
}

// A request makes the same signed request each time.
type request func(w *world) *http.Request

// lost says what must not be. The run goes on.
func (w *world) lost(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.violations = append(w.violations, fmt.Sprintf(format, args...))
}

// given ends a run that cannot go on.
type given struct{ why string }

// must ends the run at what is no fault of the system.
func must[T any](v T, err error) T {
	if err != nil {
		panic(given{err.Error()})
	}
	return v
}

// live runs a flow in a world of its own, and returns what must not be.
func live(t *testing.T, o local.Options, w *watch, run func(*world)) (violations []string) {
	o.Speed, o.Manual, o.NoThrottle = 1, true, true
	o.TemplatePath = filepath.Join("..", "..", "template.yaml")
	world := &world{watch: w, shop: &shop.Shop{Key: restKey}}
	w.world = world
	o.Transport = w
	if *only != "" {
		o.Log = w
	}
	s, err := local.Start(t.Context(), o)
	if err != nil {
		t.Errorf("start: %v", err)
		return []string{err.Error()}
	}
	world.System = s
	now := time.Now()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(now)) // what was started believes in that time
		world.ctx = context.WithValue(t.Context(), watchKey{}, w)
		defer func() {
			if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
				world.lost("close: %v", err)
			}
		}()
		defer func() {
			switch p := recover().(type) {
			case nil:
			case given:
				world.lost("given up: %s", p.why)
			default: // a bug of the test's own
				panic(p)
			}
		}()
		run(world)
	})
	return world.violations
}

// An answer is what the front said.
type answer struct {
	code   int
	status string // of the JSON document: "accepted"
	event  string
	body   []byte
}

// ask sends a request to the front.
func (w *world) ask(r *http.Request) answer {
	r.RequestURI, r.RemoteAddr = r.URL.RequestURI(), "127.0.0.1:40000"
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, r)
	a := answer{code: rec.Code, body: rec.Body.Bytes()}
	var doc struct {
		Status json.RawMessage // a number in a problem
		Event  string
	}
	if json.Unmarshal(a.body, &doc) == nil {
		a.status, a.event = strings.Trim(string(doc.Status), `"`), doc.Event
	}
	w.watch.note("%s %s: %d %s", r.Method, r.URL.Path, a.code, a.status)
	return a
}

// tries is how often a sender repeats what was not answered with 200, and a person what failed.
const tries = 8

// deliver sends a request until it is answered with 200, as a sender that repeats does.
func (w *world) deliver(r request) answer {
	w.sent = append(w.sent, r)
	return w.again(r)
}

func (w *world) again(r request) answer {
	for range tries {
		a := w.ask(r(w))
		w.mu.Lock()
		w.answers = append(w.answers, fmt.Sprintf("answer %d %s", a.code, a.status))
		w.mu.Unlock()
		if a.code == http.StatusOK {
			if a.event != "" && !w.stored(a.event) {
				w.lost("durable-ack: answered %d %s for %s, which is not stored", a.code, a.status, a.event)
			}
			return a
		}
		time.Sleep(10 * time.Second)
	}
	w.lost("durable-ack: %d deliveries were refused", tries)
	return answer{}
}

// look reads something through the API, as often as it must be asked.
func (w *world) look(path string, into any) {
	w.person(http.MethodGet, path, nil, into)
}

// act has a person do something, again until it is done, or refused since it is done already.
func (w *world) act(path string, in, into any) { w.person(http.MethodPost, path, in, into) }

func (w *world) person(method, path string, in, into any) {
	body := must(json.Marshal(in))
	var a answer
	for range tries {
		r := must(http.NewRequestWithContext(w.ctx, method, w.URL()+path, bytes.NewReader(body)))
		r.Header.Set("X-Engang-As", "ann")
		r.Header.Set("Content-Type", "application/json")
		if a = w.ask(r); a.code < http.StatusInternalServerError {
			break
		}
		time.Sleep(10 * time.Second)
	}
	switch {
	case a.code == http.StatusOK && into != nil:
		if err := json.Unmarshal(a.body, into); err != nil {
			w.lost("%s: %v", path, err)
		}
	case a.code != http.StatusOK && a.code != http.StatusConflict:
		w.lost("%s is answered %d %.300s", path, a.code, a.body)
	}
}

// items is the whole table as it is stored. Each look is held against the one before it.
func (w *world) items() invariants.Items {
	now := must(invariants.Scan(w.ctx, w.DynamoDB(), w.TableName()))
	for _, broken := range invariants.Progress(w.last, now) {
		w.lost("%s", broken)
	}
	w.last = now
	return now
}

// letters are the bodies of the dead letters. They stay in the queue.
func (w *world) letters() (all []string) {
	time.Sleep(2 * time.Second) // those that were looked at are visible again
	url := w.QueueURL("WorkDeadLetterQueue")
	out := must(w.SQS().ReceiveMessage(w.ctx, &sqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 10, VisibilityTimeout: 1}))
	for _, m := range out.Messages {
		all = append(all, *m.Body)
	}
	return all
}

// queued counts the messages of the work queue, also those that are not visible.
func (w *world) queued() (n int) {
	url := w.QueueURL("WorkQueue")
	out := must(w.SQS().GetQueueAttributes(w.ctx, &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll}}))
	for _, name := range []string{"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed"} {
		k := 0
		_, _ = fmt.Sscan(out.Attributes[name], &k)
		n += k
	}
	return n
}

type product = shop.Product

// updated is a delivery of product.updated.
func updated(p product) request { return woo(p.Body()) }

func woo(body string) request { return signed(fromShop("product.updated", body)) }

func fromShop(topic, body string) localtest.Delivery {
	return localtest.Delivery{Endpoint: "woo-shop", Provider: "woocommerce", Header: http.Header{"X-Wc-Webhook-Topic": {topic}}, Body: body}
}

// signed signs a delivery each time it is made.
func signed(d localtest.Delivery) request {
	return func(w *world) *http.Request { return must(d.Request(w.ctx, w.URL())) }
}

// edited is local.yaml with passages replaced, given as old and new in turn.
func edited(passages ...string) string {
	text := string(must(os.ReadFile(filepath.Join("..", "..", "infra", "local.yaml"))))
	for i := 0; i < len(passages); i += 2 {
		if strings.Count(text, passages[i]) != 1 {
			panic(fmt.Sprintf("local.yaml does not have %q once", passages[i]))
		}
		text = strings.Replace(text, passages[i], passages[i+1], 1)
	}
	return text
}

// sorted is a list in order, for saying it.
func sorted(list []string) []string { slices.Sort(list); return list }
