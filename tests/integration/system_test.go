// Package integration runs whole flows: a signed request to the HTTP front, the functions through their
// JSON events, the queues, the table, the model's wire format. Each acceptance scenario of the design is
// a test that is named by its number.
//
// Every test has a system of its own and holds the whole table against the promises at its end. Where
// an address of the reference engine is given, every test runs on it as well.
package integration_test

import (
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"engang/infra/local"
	"engang/infra/local/localtest"
	"engang/shared/control"
	"engang/shared/dynamo/dynamotest"
	"engang/shared/dynamo/dynamotest/invariants"
	"engang/tests/shop"
)

// speed shortens every wait of the system: a lease lasts two seconds, an event is sent again after six.
// Faster would make the deadline of a model call too short for a machine that does other things too.
const speed = 50

// A system is the whole of engang, stepped by hand.
type system struct {
	*local.System
	t    testing.TB
	last invariants.Items // as the table stood at the last look
}

// each runs a test with a system on each engine. The system does nothing by itself unless the options
// say so: a test lets it work with step, settle or the System's own steps.
func each(t *testing.T, o local.Options, test func(t *testing.T, s *system)) {
	t.Helper()
	onEach(t, func(t *testing.T, begin func(local.Options) *system) { test(t, begin(o)) })
}

// onEach runs a test on each engine. It starts its system itself, with a judge or a log of its own.
func onEach(t *testing.T, test func(t *testing.T, begin func(local.Options) *system)) {
	t.Helper()
	sideBySide(t)
	reference := os.Getenv(dynamotest.ReferenceEnv)
	if reference == "" && os.Getenv("CI") == "true" {
		t.Fatalf("%s is not set: in CI the scenarios must run on the reference engine", dynamotest.ReferenceEnv)
	}
	engines := map[string]string{"embedded": ""}
	if reference != "" {
		engines["reference"] = reference
	}
	for engine, url := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			test(t, func(o local.Options) *system {
				t.Helper()
				o.DynamoDBURL = url
				return start(t, o)
			})
		})
	}
}

// TestMain lets more tests run at once than there are processors: most of them wait most of the time, for leases,
// delays and the reconciler.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		if err := flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0))); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

var aside sync.Map // the tests that run beside others

// sideBySide lets a test run beside others. Its parts are left in their order; asking twice does no harm.
func sideBySide(t *testing.T) {
	if _, asked := aside.LoadOrStore(t.Name(), true); asked || strings.Contains(t.Name(), "/") {
		return
	}
	t.Parallel()
}

// start starts a system that ends with the test.
func start(t testing.TB, o local.Options) *system {
	t.Helper()
	o.Manual, o.NoThrottle = true, true
	if o.Speed == 0 {
		o.Speed = speed
	}
	if o.Log == nil {
		o.Log = t.Output()
	}
	if o.OnUse == nil {
		o.OnUse = refusals{t}.told
	}
	return &system{System: localtest.Start(t, o), t: t}
}

type product = shop.Product

// An answer is what the front said.
type answer struct {
	Code   int
	Header http.Header
	Body   string
	Status string // of the JSON document: "accepted"
	Event  string
}

// product delivers a signed product.updated to woo-shop.
func (s *system) product(p product) answer {
	s.t.Helper()
	return s.woo("product.updated", p.Body())
}

// woo delivers a signed body of WooCommerce to woo-shop.
func (s *system) woo(topic, body string) answer {
	s.t.Helper()
	return s.send(s.signed("woo-shop", "woocommerce", http.Header{"X-Wc-Webhook-Topic": {topic}}, body))
}

// contact delivers a signed contact.created of the CRM, with an id of the message.
func (s *system) contact(id, body string) answer {
	s.t.Helper()
	return s.send(s.signed("crm", "standard-webhooks", http.Header{"Webhook-Id": {id}}, body))
}

// signed makes a request to an endpoint of local.yaml, signed with its first secret.
func (s *system) signed(endpoint, provider string, h http.Header, body string) *http.Request {
	s.t.Helper()
	return s.signedAt(endpoint, provider, h, body, time.Now())
}

func (s *system) signedAt(endpoint, provider string, h http.Header, body string, at time.Time) *http.Request {
	s.t.Helper()
	d := localtest.Delivery{Endpoint: endpoint, Provider: provider, Header: h, Body: body, At: at}
	r, err := d.Request(s.t.Context(), s.URL())
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// send sends a request to the front.
func (s *system) send(r *http.Request) answer {
	s.t.Helper()
	a, err := s.try(r)
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

func (s *system) try(r *http.Request) (answer, error) {
	res, err := client.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return answer{}, err
	}
	a := answer{Code: res.StatusCode, Header: res.Header, Body: string(raw)}
	var doc struct {
		Status json.RawMessage // a problem document has a number here
		Event  string
	}
	if json.Unmarshal(raw, &doc) == nil {
		a.Status, a.Event = strings.Trim(string(doc.Status), `"`), doc.Event
	}
	return a, nil
}

var client = &http.Client{
	Transport:     &http.Transport{MaxIdleConnsPerHost: 64},
	CheckRedirect: func(*http.Request, []*http.Request) error { return errors.New("a sender must never be redirected") },
}

// accept delivers and demands that the event is new.
func (s *system) accept(a answer) string {
	s.t.Helper()
	if a.Code != http.StatusOK || a.Status != "accepted" {
		s.t.Fatalf("answered %d %s, want accepted", a.Code, a.Body)
	}
	return a.Event
}

// step lets the event source take what is visible in the queue now, once.
func (s *system) step() int {
	s.t.Helper()
	n, err := s.Work(s.t.Context())
	if err != nil {
		s.t.Fatalf("work: %v", err)
	}
	return n
}

// settle lets workers and reconciler go on until no event is open, and fails the test when that takes
// longer than anything in the system waits.
func (s *system) settle() {
	s.t.Helper()
	const limit = 60 * time.Second
	for began := time.Now(); ; {
		if s.step() == 0 {
			if s.open() == 0 {
				return
			}
			if err := s.Reconcile(s.t.Context()); err != nil {
				s.t.Logf("reconcile: %v", err) // the next sweep meets it again
			}
			time.Sleep(30 * time.Millisecond)
		}
		if time.Since(began) > limit {
			s.t.Fatalf("events are still open after %s: %v", limit, s.items().Events())
		}
	}
}

// open counts the events that are neither settled nor parked.
func (s *system) open() (n int) {
	s.t.Helper()
	for _, e := range s.items().Events() {
		if e["st"] == "received" {
			n++
		}
	}
	return n
}

// items is the whole table as it is stored. Each look is held against the one before it: what is
// committed stays, and tokens, ranks and generations never fall.
func (s *system) items() invariants.Items {
	s.t.Helper()
	now := invariants.Read(s.t, s.DynamoDB(), s.TableName())
	for _, broken := range invariants.Progress(s.last, now) {
		s.t.Error(broken)
	}
	s.last = now
	return now
}

// rest settles everything and holds the table against the promises.
func (s *system) rest() {
	s.t.Helper()
	s.settle()
	invariants.Verify(s.t, s.items())
}

// calls counts the model calls that reached the provider.
func (s *system) calls() int {
	if s.Stub() == nil {
		return s.Record().Counts()["model call"]
	}
	return s.Stub().Count()
}

// fails has the next n calls of the model fail in one way; -1: all of them.
func (s *system) fails(kind string, n int) {
	s.t.Helper()
	if err := s.Stub().Fail(kind, n); err != nil {
		s.t.Fatal(err)
	}
}

// object is what the API shows of an object.
func (s *system) object(id string) control.Object {
	s.t.Helper()
	var o control.Object
	if code := s.get("/api/show?id="+id, &o); code != http.StatusOK {
		s.t.Fatalf("show %s: %d", id, code)
	}
	return o
}

// event is what the API shows of an event.
func (s *system) event(id string) control.Event {
	s.t.Helper()
	var e control.Event
	if code := s.get("/api/show?id="+id, &e); code != http.StatusOK {
		s.t.Fatalf("show %s: %d", id, code)
	}
	return e
}

func (s *system) get(path string, into any) int {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.URL()+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	a := s.send(r)
	if a.Code == http.StatusOK {
		if err := json.Unmarshal([]byte(a.Body), into); err != nil {
			s.t.Fatalf("%s: %s: %v", path, a.Body, err)
		}
	}
	return a.Code
}

// atOnce runs n functions at the same time and waits for all.
func atOnce(n int, do func(i int)) {
	begin := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { <-begin; do(i) })
	}
	close(begin)
	all.Wait()
}
