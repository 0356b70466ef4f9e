package integration_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"engang/infra/local"
	"engang/infra/modelstub"
	"engang/shared/secrets"
	"engang/shared/webhook"
)

// What others ran into with such systems, by area, is tested in the files case_*_test.go: a test for each
// case, named by its id. tests/cases.md lists them, and says of the rest why there is none.

// caseOptions start a system with senders of many kinds, beside those of local.yaml.
func caseOptions() local.Options {
	return local.Options{Speed: calm, ConfigFiles: []string{"../../infra/local.yaml", "testdata/cases.yaml"}}
}

// eachForCase is each with those senders.
func eachForCase(t *testing.T, test func(t *testing.T, s *system)) {
	t.Helper()
	sideBySide(t)
	each(t, caseOptions(), test)
}

// loggedForCase is the same for tests that read the log.
func loggedForCase(t *testing.T, test func(t *testing.T, s *system, log *logbook)) {
	t.Helper()
	sideBySide(t)
	onEach(t, func(t *testing.T, begin func(local.Options) *system) {
		log, o := &logbook{to: t.Output()}, caseOptions()
		o.Log = log
		test(t, begin(o), log)
	})
}

// An order is one of WooCommerce as a test states it.
type order struct {
	id       int
	status   string
	modified string // date_modified_gmt
	extra    string // further members: `,"x":1`
}

const (
	laterInTheDay   = "2026-11-29T12:00:00"
	earlierInTheDay = "2026-11-29T11:00:00"
)

func (o order) body() string {
	if o.modified == "" {
		o.modified = laterInTheDay
	}
	return fmt.Sprintf(`{"id":%d,"status":%q,"total":"948.00","date_modified_gmt":%q,"line_items":[{"id":1,"quantity":1,"price":719.2}]%s}`, o.id, o.status, o.modified, o.extra)
}

func (o order) object() string { return fmt.Sprintf("order:%d", o.id) }

// order delivers a signed body to woo-orders. Further headers are given as name and value in turn.
func (s *system) order(topic, body string, headers ...string) answer {
	s.t.Helper()
	return s.send(s.orderRequest(topic, body, headers...))
}

func (s *system) orderRequest(topic, body string, headers ...string) *http.Request {
	s.t.Helper()
	h := wooTopic(topic)
	for i := 0; i < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	return s.signed("woo-orders", "woocommerce", h, body)
}

// from delivers a signed body to an endpoint. Headers are given as name and value in turn.
func (s *system) from(provider, endpoint, body string, headers ...string) answer {
	s.t.Helper()
	h := http.Header{}
	for i := 0; i < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	return s.send(s.signed(endpoint, provider, h, body))
}

// repeated demands that a delivery is a duplicate of this event.
func (s *system) repeated(event string, a answer) {
	s.t.Helper()
	if a.Code != http.StatusOK || a.Status != "duplicate" || a.Event != event {
		s.t.Errorf("answered %d %s, want duplicate of %s", a.Code, a.Body, event)
	}
}

// refused demands that a delivery is refused with this status.
func (s *system) refused(code int, a answer) {
	s.t.Helper()
	if a.Code != code || a.Event != "" {
		s.t.Errorf("answered %d %.200s, want %d", a.Code, a.Body, code)
	}
}

// holdsOf demands so many events, operations and results of an object, and model calls in all.
func (s *system) holdsOf(object string, events, operations, results, calls int) {
	s.t.Helper()
	o := s.object(object)
	if len(o.Events) != events || len(o.Operations) != operations || len(o.Results) != results || s.calls() != calls {
		s.t.Errorf("%s: %d events, %d operations, %d results, %d calls; want %d, %d, %d, %d", object, len(o.Events), len(o.Operations), len(o.Results), s.calls(), events, operations, results, calls)
	}
}

// by demands that the only result of an object was made for this event.
func (s *system) by(object, event string) {
	s.t.Helper()
	if r := s.object(object).Results; len(r) != 1 || r[0].Event != event {
		s.t.Errorf("results of %s: %+v, want one by %s", object, r, event)
	}
}

// since gives how often each call was made since the record stood at before.
func (s *system) since(before map[string]int) map[string]int {
	counts := map[string]int{}
	for name, n := range s.Record().Counts() {
		if n != before[name] && name != "receive messages" {
			counts[name] = n - before[name]
		}
	}
	return counts
}

// holdsSecrets applies the configuration with these secrets for an endpoint.
func (s *system) holdsSecrets(endpoint string, refs ...secrets.Ref) {
	s.t.Helper()
	set := s.Config()
	set.Endpoints = slices.Clone(set.Endpoints)
	for i, e := range set.Endpoints {
		if e.Name == endpoint {
			set.Endpoints[i].Secrets = refs
		}
	}
	if _, err := s.Apply(s.t.Context(), set); err != nil {
		s.t.Fatal(err)
	}
}

// schemeOf is a provider's row.
func schemeOf(t testing.TB, provider string) webhook.Scheme {
	t.Helper()
	scheme, ok := webhook.Lookup(provider)
	if !ok {
		t.Fatalf("no provider %s", provider)
	}
	return scheme
}

// keysOf are the event keys of one delivery, received at these times.
func keysOf(t testing.TB, provider string, r webhook.Request, received ...time.Time) (keys []string) {
	t.Helper()
	scheme := schemeOf(t, provider)
	doc, _, err := scheme.Document(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range received {
		fact, err := scheme.Identify(r, doc, webhook.Rule{}, at)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, fact.Key)
	}
	return keys
}

// An ear is a model that keeps what it is asked, and may change what the stub answers.
type ear struct {
	stub    *modelstub.Stub
	say     func(answer map[string]any)
	regrets func(answer map[string]any) // the same for what is no good answer
	instead []http.HandlerFunc          // answer the first calls in its place
	mu      sync.Mutex
	asked   []map[string]any // the requests
}

// listen starts the model, and returns its address for [local.Options].
func (e *ear) listen(t testing.TB) string {
	e.stub = modelstub.New()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		asked := map[string]any{}
		if err != nil || json.Unmarshal(raw, &asked) != nil {
			t.Errorf("a call that cannot be read: %v", err)
		}
		e.mu.Lock()
		e.asked = append(e.asked, asked)
		n := len(e.asked)
		e.mu.Unlock()
		if n <= len(e.instead) {
			e.instead[n-1](w, r)
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(raw)))
		said := httptest.NewRecorder()
		e.stub.ServeHTTP(said, r)
		answer := map[string]any{}
		if err := json.Unmarshal(said.Body.Bytes(), &answer); err != nil {
			t.Errorf("the stub answered %d: %v", said.Code, err)
		}
		switch {
		case e.say != nil && said.Code == http.StatusOK:
			e.say(answer)
		case e.regrets != nil && said.Code != http.StatusOK:
			e.regrets(answer)
		}
		maps.Copy(w.Header(), said.Header())
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(said.Code)
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Errorf("answer: %v", err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

// requests are what was asked so far.
func (e *ear) requests() []map[string]any {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.asked)
}

// heard are the inputs so far.
func (e *ear) heard() (inputs []string) {
	for _, asked := range e.requests() {
		input, _ := asked["input"].(string)
		inputs = append(inputs, input)
	}
	return inputs
}

// eachWithEar is eachForCase with a model that listens.
func eachWithEar(t *testing.T, say func(map[string]any), test func(t *testing.T, s *system, e *ear)) {
	t.Helper()
	sideBySide(t)
	onEach(t, func(t *testing.T, begin func(local.Options) *system) {
		e, o := &ear{say: say}, caseOptions()
		o.ModelURL = e.listen(t)
		test(t, begin(o), e)
	})
}
