package artifacts_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"engang/infra/local"
	"engang/infra/local/wire"
	"engang/shared/control"
	"engang/shared/secrets"
	"engang/shared/webhook"
)

const product = `{"id":794,"name":"Oak table","description":"<p>Solid oak, made by hand and oiled twice.</p>","date_modified_gmt":"2026-11-29T11:59:58","categories":[{"id":1,"name":"Furniture"}],"attributes":[{"name":"Material","options":["oak"]}]}`

// deliver sends the product to the front, signed.
func deliver(t *testing.T, s *local.System) {
	t.Helper()
	if status := post(t, s, product); status != http.StatusOK {
		t.Fatalf("answered %d", status)
	}
}

// post sends a product to the front, signed, and returns the status of the answer.
func post(t *testing.T, s *local.System, body string) int {
	t.Helper()
	row, _ := webhook.Lookup("woocommerce")
	signed, err := row.Sign(webhook.Request{Header: http.Header{"X-Wc-Webhook-Topic": {"product.updated"}}, Body: []byte(body)}, secrets.NewValue(local.Secret("woocommerce", "ssm:hooks/woo-shop/1")), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/hooks/woo-shop", bytes.NewReader(signed.Body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = signed.Header
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	return answer.StatusCode
}

// await waits until the product has its result, and its event is settled.
func await(t *testing.T, s *local.System) control.Object {
	t.Helper()
	end := time.Now().Add(time.Minute)
	for {
		o := object(t, s, "product:794")
		if len(o.Results) == 1 && o.Events[0].State == "settled" {
			return o
		}
		if time.Now().After(end) {
			t.Fatalf("not finished: %+v", o)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// A worker's process is killed at a named point, and another one finishes: one result, and no more calls than a crash
// there costs. The other points, of all functions, are those of TestProcessesAreKilledAtTheirCalls.
func TestAKilledProcessIsTakenOver(t *testing.T) {
	t.Parallel()
	s := start(t, local.Options{Speed: 50, Faults: "worker:kill@after-call"})
	deliver(t, s)
	for len(s.Faults().Fired()) == 0 {
		time.Sleep(time.Millisecond)
	}
	deliver(t, s) // a repeat of an open event is enqueued again, and waits for the lease to end
	o := await(t, s)
	if len(o.Operations) != 1 || len(o.Operations[0].Attempts) != 2 || s.Stub().Count() != 2 { // its answer is lost with it
		t.Errorf("%d calls, object %+v", s.Stub().Count(), o)
	}
	if fired := s.Faults().Fired(); len(fired) != 1 || fired[0].Function != "enrichment" || fired[0].Invocation == "" || fired[0].Fault != "worker:kill@after-call" {
		t.Errorf("fired %+v", fired)
	}
}

func self() string { return strconv.Itoa(os.Getpid()) }

// parent is who started a process, by its folder under /proc.
func parent(exe string) string {
	raw, err := os.ReadFile(filepath.Join(filepath.Dir(exe), "stat"))
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(raw), ") ") // behind the name, which may hold spaces
	fields := strings.Fields(rest)
	if len(fields) < 2 {
		return ""
	}
	return fields[1]
}

// After a kill no process is left, and none after the end.
func TestNoProcessIsLeft(t *testing.T) {
	folder, err := filepath.EvalSymlinks(built(t)) // as the kernel names it
	if err != nil {
		t.Fatal(err)
	}
	running := func() (n int) {
		all, err := filepath.Glob("/proc/[0-9]*/exe")
		if err != nil {
			t.Fatal(err)
		}
		for _, exe := range all {
			if to, err := os.Readlink(exe); err == nil && strings.HasPrefix(to, folder) && parent(exe) == self() {
				n++
			}
		}
		return n
	}
	s, err := local.Start(t.Context(), local.Options{Artifacts: folder, Manual: true, NoThrottle: true, Log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	deliver(t, s)
	if n := running(); n == 0 {
		t.Error("no process of a function was found: the test would see nothing")
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := running(); n != 0 {
		t.Errorf("%d processes are left", n)
	}
}

// Calls of a process are counted and named like those of the handlers in one process.
func TestCallsOfProcessesAreNamed(t *testing.T) {
	var mu sync.Mutex
	names := map[string]string{}
	functions := map[string]bool{}
	s := start(t, local.Options{Manual: true, Judge: func(c wire.Call, p wire.Phase) wire.Verdict {
		mu.Lock()
		defer mu.Unlock()
		names[c.Name], functions[c.Function+": "+c.Name] = c.Function, true
		return wire.Pass
	}})
	deliver(t, s)
	deliver(t, s)
	for range 2 {
		if _, err := s.Work(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	await(t, s)
	mu.Lock()
	defer mu.Unlock()
	for name, function := range map[string]string{
		"read secrets": "receiver", "W1 put event": "receiver", "send event": "receiver", "SEEN": "receiver", "W3 claim": "enrichment", "model call": "enrichment",
		"W4 complete": "enrichment", "W5 result": "enrichment", "W6 settle": "enrichment", "query open": "reconciler", "read backlog": "reconciler", "query object": "console",
	} {
		if !functions[function+": "+name] {
			t.Errorf("%s did not make the call %q; there were %v", function, name, functions)
		}
	}
	if function, there := names[""]; there {
		t.Errorf("%s made a call without a name", function)
	}
}
