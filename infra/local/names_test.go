package local_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"engang/infra/local"
	"engang/infra/local/localtest"
	"engang/infra/local/wire"
)

// told is an engine that tells each call by what was sent, as for calls of other processes.
type told struct {
	mu    sync.Mutex
	names map[string]string // by the id of the call
	url   string
}

func listen(t *testing.T, engine string) *told {
	t.Helper()
	to, err := url.Parse(engine)
	if err != nil {
		t.Fatal(err)
	}
	n, proxy := &told{names: map[string]string{}}, httputil.NewSingleHostReverseProxy(to)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		n.mu.Lock()
		n.names[r.Header.Get("Amz-Sdk-Invocation-Id")] = wire.NameOf(r, body)
		n.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	n.url = server.URL
	return n
}

// A call of another process gets the name that the code would have given it.
func TestCallsAreToldByWhatIsSent(t *testing.T) {
	t.Parallel()
	var at local.AWS
	look(t, localtest.Start(t, local.Options{Manual: true}), "/local/aws", &at)
	engine := listen(t, at.Endpoint)
	s := localtest.Start(t, local.Options{Manual: true, DynamoDBURL: engine.url, Faults: "model:refusal"})
	step := func() {
		t.Helper()
		if _, err := s.Work(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	deliver(t, s, product)
	step() // refused: the event is parked with its operation
	deliver(t, s, product)
	deliver(t, s, strings.Replace(product, `"id":794`, `"id":795`, 1))
	step()
	if err := s.Reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	post := func(path, body string) {
		t.Helper()
		answer, err := http.Post(s.URL()+"/api/"+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d", path, answer.StatusCode)
		}
	}
	for _, path := range []string{"events", "operations", "review", "pauses", "config", "stats?since=2026-01-01T00:00:00Z", "show?id=product:795"} {
		var doc any
		look(t, s, "/api/"+path, &doc)
	}
	post("pause", `{"kind":"recipe","name":"product-card","reason":"a test"}`)
	post("resume", `{"kind":"recipe","name":"product-card","reason":"a test"}`)
	post("erase", `{"object":"product:795","reason":"a test"}`)

	engine.mu.Lock()
	defer engine.mu.Unlock()
	seen := map[string]bool{}
	for _, c := range s.Record().Calls() {
		if c.Service != "dynamodb" || c.Status != http.StatusOK {
			continue
		}
		seen[c.Name] = true
		if got := engine.names[c.ID]; got != c.Name {
			t.Errorf("%s by %s is told as %q", c.Name, c.Operation, got)
		}
	}
	for _, name := range []string{"W1 put event", "W5 result", "write pause", "audit", "read event", "read config", "read result", "read breaker", "read operation", "query open", "query list", "query review", "query object", "read pauses", "erase"} {
		if !seen[name] {
			t.Errorf("no call %s was made: the rule did not see it", name)
		}
	}
}
