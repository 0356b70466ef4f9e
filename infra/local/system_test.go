package local_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"engang/infra/local"
	"engang/infra/local/localtest"
	"engang/infra/local/wire"
	"engang/shared/control"
	"engang/shared/secrets"
	"engang/shared/webhook"
)

func TestAKilledWorkersEventIsFinishedByAnother(t *testing.T) {
	t.Parallel()
	s := localtest.Start(t, local.Options{Faults: "worker:kill@before-call"})
	if status, body := deliver(t, s, product); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	for len(s.Faults().Fired()) == 0 {
		time.Sleep(time.Millisecond)
	}
	deliver(t, s, product) // a repeat of an open event is enqueued again, and waits for the lease to end
	attempts := settled(t, s, "product:794").Operations[0].Attempts
	if len(attempts) != 2 || attempts[0].Outcome != "lost" || attempts[1].Outcome != "usable" || attempts[1].FencingToken != 2 || s.Stub().Count() != 1 {
		t.Errorf("attempts %+v, %d model calls", attempts, s.Stub().Count())
	}
	if fired := s.Faults().Fired(); len(fired) != 1 || fired[0].Call != "model call" || fired[0].Function != "enrichment" {
		t.Errorf("fired %+v", fired)
	}
}

// A judge sees every call of every function by its name, and a crash after the commit costs no second call.
func TestAJudgeSeesEveryCall(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []string
	killed := false
	s := localtest.Start(t, local.Options{Manual: true, Judge: func(c wire.Call, p wire.Phase) wire.Verdict {
		mu.Lock()
		defer mu.Unlock()
		if p == wire.Before && c.Function != "" && c.Function != "console" && !slices.Contains(seen, c.Name) {
			seen = append(seen, c.Name)
		}
		if c.Name == "W4 complete" && p == wire.After && !killed {
			killed = true
			return wire.Kill
		}
		return wire.Pass
	}})
	for range 2 { // the second finds what the first left, and its own message
		deliver(t, s, product)
		if n, err := s.Work(t.Context()); n != 1 || err != nil {
			t.Fatalf("%d messages, %v", n, err)
		}
	}
	if err := s.Reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	o := settled(t, s, "product:794")
	if len(o.Results) != 1 || len(o.Operations[0].Attempts) != 1 || s.Stub().Count() != 1 {
		t.Errorf("object %+v, %d model calls", o, s.Stub().Count())
	}
	mu.Lock()
	defer mu.Unlock()
	for _, name := range []string{"read config", "read secrets", "W1 put event", "send event", "read event", "W3 claim", "read result", "model call", "W4 complete", "W5 result", "W6 settle", "query open"} {
		if !slices.Contains(seen, name) {
			t.Errorf("%q was not seen among %q", name, seen)
		}
	}
}

func TestWithTheStoreDownNothingIsAcknowledged(t *testing.T) {
	t.Parallel()
	s := localtest.Start(t, local.Options{Manual: true, Faults: "store:down"})
	if status, body := deliver(t, s, product); status != http.StatusServiceUnavailable {
		t.Errorf("%d %s", status, body)
	}
	if status, body := deliver(t, s, product); status != http.StatusOK || !strings.Contains(body, "accepted") {
		t.Errorf("afterwards %d %s", status, body)
	}
}

func TestWithTheQueueDownTheReconcilerFindsTheEvent(t *testing.T) {
	t.Parallel()
	s := localtest.Start(t, local.Options{Manual: true, Speed: 1000, Faults: "queue:down"})
	if status, body := deliver(t, s, product); status != http.StatusOK || !strings.Contains(body, "accepted") {
		t.Fatalf("%d %s", status, body)
	}
	if n, err := s.Work(t.Context()); n != 0 || err != nil {
		t.Fatalf("%d messages, %v", n, err)
	}
	for n := 0; n == 0; { // until the event is due
		if err := s.Reconcile(t.Context()); err != nil {
			t.Fatal(err)
		}
		var err error
		if n, err = s.Work(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if o := settled(t, s, "product:794"); o.Events[0].Sends != 1 || len(o.Results) != 1 {
		t.Errorf("object %+v", o)
	}
}

func TestADoneMessageThatComesAgainChangesNothing(t *testing.T) {
	t.Parallel()
	s := localtest.Start(t, local.Options{Manual: true, Faults: "queue:redeliver"})
	deliver(t, s, product)
	for range 2 {
		if n, err := s.Work(t.Context()); n != 1 || err != nil {
			t.Fatalf("%d messages, %v", n, err)
		}
	}
	if o := settled(t, s, "product:794"); len(o.Operations[0].Attempts) != 1 || s.Stub().Count() != 1 {
		t.Errorf("object %+v", o)
	}
}

// configuration copies infra/local.yaml into a file that a test may change.
func configuration(t *testing.T) (path, text string) {
	t.Helper()
	raw, err := os.ReadFile("../local.yaml")
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "local.yaml")
	save(t, path, string(raw))
	return path, string(raw)
}

func save(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestChangesApplyOnSaveAndFaultsChangeNothing(t *testing.T) {
	t.Parallel()
	path, text := configuration(t)
	changes := make(chan error, 1)
	s := localtest.Start(t, local.Options{ConfigFiles: []string{path}, Watch: true, OnConfig: func(_ []local.Kept, err error) { changes <- err }})
	deliver(t, s, product)
	if o := settled(t, s, "product:794"); o.Operations[0].Recipe != "product-card@3" {
		t.Errorf("recipe %s", o.Operations[0].Recipe)
	}

	raised := strings.Replace(text, "version: 3 ", "version: 4 ", 1)
	raised = strings.Replace(raised, "You write short, factual", "You write very short, factual", 1)
	save(t, path, raised)
	if err := <-changes; err != nil {
		t.Fatal(err)
	}
	deliver(t, s, strings.Replace(product, "11:59:58", "12:00:58", 1))
	if o := settled(t, s, "product:794"); len(o.Operations) != 2 || o.Operations[1].Recipe != "product-card@4" || len(o.Results) != 2 {
		t.Errorf("object %+v", o)
	}

	for name, broken := range map[string]string{
		"a fault of the file":             strings.Replace(raised, "policy: auto", "policy: perhaps", 1),
		"an applied version with changes": strings.Replace(raised, "You write very short", "You write extremely short", 1),
	} {
		save(t, path, broken)
		if err := <-changes; err == nil {
			t.Errorf("%s was applied", name)
		}
	}
	deliver(t, s, strings.Replace(product, "11:59:58", "12:01:58", 1))
	if o := settled(t, s, "product:794"); len(o.Operations) != 2 {
		t.Errorf("the old configuration did not stay: %+v", o.Operations)
	}
}

func TestASecretIsPutAndLiveAtOnce(t *testing.T) {
	t.Parallel()
	s := localtest.Start(t, local.Options{Manual: true})
	if err := s.PutSecret(t.Context(), "ssm:hooks/woo-shop/1", "another-secret"); err != nil {
		t.Fatal(err)
	}
	if status, _ := deliver(t, s, product); status != http.StatusUnauthorized {
		t.Errorf("the old secret: %d", status)
	}
	if _, err := s.Apply(t.Context(), s.Config()); err != nil { // seeds what is missing, and nothing else
		t.Fatal(err)
	}
	if status, _ := deliver(t, s, product); status != http.StatusUnauthorized {
		t.Errorf("applying brought the old secret back: %d", status)
	}
}

func TestFaultsAreSetWhileItRuns(t *testing.T) {
	t.Parallel()
	s := localtest.Start(t, local.Options{Manual: true})
	ask := func(method, body string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), method, s.URL()+"/local/faults", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		raw, _ := io.ReadAll(answer.Body)
		return answer.StatusCode, strings.TrimSpace(string(raw))
	}
	for _, c := range []struct {
		method, body string
		status       int
		says         string
	}{
		{"GET", "", 200, `{"fired":[],"pending":[]}`},
		{"POST", "store:lost@W4x2,model:429", 200, `{"fired":[],"pending":[{"part":"store","kind":"lost@W4","times":2},{"part":"model","kind":"429","times":1}]}`},
		{"POST", `{"faults":"queue:down"}`, 200, `{"part":"queue","kind":"down","times":1}`},
		{"POST", "store:up", 400, "unknown fault"},
		{"DELETE", "", 200, `{"fired":[],"pending":[]}`},
		{"PUT", "", 405, "GET, POST or DELETE"},
	} {
		if status, body := ask(c.method, c.body); status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s %s: %d %s", c.method, c.body, status, body)
		}
	}
}

// The engine of the table may be another one; where the reference engine is at hand, it is.
func TestTheMeterCountsWhatAnEventCosts(t *testing.T) {
	t.Parallel()
	reference := os.Getenv("ENGANG_REFERENCE_DYNAMODB")
	s := localtest.Start(t, local.Options{Manual: true, Meter: true, DynamoDBURL: reference})
	deliver(t, s, product)
	if _, err := s.Work(t.Context()); err != nil {
		t.Fatal(err)
	}
	var units, asked float64
	var writes []string
	for _, c := range s.Record().Calls() {
		if c.WriteUnits > 0 {
			units, asked, writes = units+c.WriteUnits, asked+c.Capacity, append(writes, c.Name)
		}
	}
	if !slices.Equal(writes, []string{"W1 put event", "W3 claim", "W4 complete", "W5 result", "W6 settle"}) || units < 7 || units > 10 {
		t.Errorf("%v cost %v units", writes, units)
	}
	if reference != "" && asked != units {
		t.Errorf("the engine says %v units, the rules say %v", asked, units)
	}
}

func TestTheFrontThrottlesAsTheTemplateSays(t *testing.T) {
	t.Parallel()
	s := localtest.Start(t, local.Options{Manual: true})
	var all sync.WaitGroup
	var mu sync.Mutex
	statuses := map[int]int{}
	for range 200 { // the template's burst is 100
		all.Go(func() {
			answer, err := http.Post(s.URL()+"/hooks/nobody", "", nil)
			if err != nil {
				t.Error(err)
				return
			}
			answer.Body.Close()
			mu.Lock()
			defer mu.Unlock()
			statuses[answer.StatusCode]++
		})
	}
	all.Wait()
	if statuses[404] < 100 || statuses[429] == 0 || statuses[404]+statuses[429] != 200 {
		t.Errorf("statuses %v", statuses)
	}
}

// A sender that is redirected loses its event: no address is, also none that is not clean.
func TestTheFrontNeverRedirects(t *testing.T) {
	t.Parallel()
	s := localtest.Start(t, local.Options{Manual: true})
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for _, path := range []string{"//hooks/woo-shop", "/hooks//woo-shop", "/hooks/./woo-shop", "/hooks/x/../woo-shop", "/hooks/woo-shop/", "/local/faults/", "/local//faults"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", path, answer.StatusCode)
		}
	}
}

func TestAFunctionIsInvokedPastTheFront(t *testing.T) {
	t.Parallel()
	s := localtest.Start(t, local.Options{Manual: true})
	event := []byte(`{"version":"2.0","rawPath":"/hooks/woo-shop","pathParameters":{"endpoint":"woo-shop"},"requestContext":{"http":{"method":"POST"}},"body":"!","isBase64Encoded":true}`)
	raw, err := s.Invoke(t.Context(), "receiver", event)
	var answer struct{ StatusCode int }
	if err != nil || json.Unmarshal(raw, &answer) != nil || answer.StatusCode != http.StatusBadRequest {
		t.Errorf("%s, %v", raw, err)
	}
	if _, err := s.Invoke(t.Context(), "nobody", nil); err == nil {
		t.Error("a function that does not exist was invoked")
	}
}

func TestSystemsOfOneProcessAreApart(t *testing.T) {
	t.Parallel()
	a, b := localtest.Start(t, local.Options{Manual: true}), localtest.Start(t, local.Options{Manual: true})
	deliver(t, a, product)
	var list control.List[control.Event]
	if look(t, b, "/api/events", &list); len(list.Items) != 0 {
		t.Errorf("the other system shows %+v", list)
	}
	if open, err := a.Open(t.Context()); err != nil || len(open) != 1 {
		t.Errorf("open %v, %v", open, err)
	}
}

func TestStartSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	strange := filepath.Join(t.TempDir(), "template.yaml")
	raw, err := os.ReadFile("../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	save(t, strange, strings.Replace(string(raw), "ConsoleFunction:", "OracleFunction:", 1))
	bare := filepath.Join(t.TempDir(), "template.yaml")
	save(t, bare, string(bytes.Replace(raw, []byte("CALL_SECONDS: \"75\""), []byte("CALL_SECONDS: \"95\""), 1)))
	for _, c := range []struct {
		name string
		o    local.Options
		is   error
		says string
	}{
		{"a function that this program does not hold", local.Options{TemplatePath: strange}, nil, `function "oracle"`},
		{"times that do not fit", local.Options{TemplatePath: bare}, nil, "start EnrichmentFunction"},
		{"a data folder that the engine does not use", local.Options{DataDir: t.TempDir()}, local.ErrDataDir, ""},
		{"a file that is not there", local.Options{ConfigFiles: []string{"nowhere.yaml"}}, os.ErrNotExist, ""},
		{"no template", local.Options{TemplatePath: "nowhere.yaml"}, os.ErrNotExist, ""},
		{"a fault that does not exist", local.Options{Faults: "store:up"}, nil, "unknown fault"},
	} {
		s, err := local.Start(t.Context(), c.o)
		if err == nil {
			s.Close(t.Context())
			t.Errorf("%s: started", c.name)
			continue
		}
		if c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestLocalSecretsAreTheSameEverywhere(t *testing.T) {
	for _, c := range []struct{ provider, ref, want string }{
		{"woocommerce", "ssm:hooks/woo-shop/1", "local-woo-secret"},
		{"woocommerce", "ssm:hooks/woo-shop/2", "local-woo-2-secret"},
		{"woocommerce", "ssm:hooks/other", "local-other-secret"},
		{"woocommerce", "ssm:hooks/a/1", "0e989e1fe0bf6ab9b3698c1d9b77ff73d223242f"},
		{"standard-webhooks", "ssm:hooks/crm/1", "whsec_y6ASNrPahF77ftzSprEkwuCd5vkadB3oDXFPX/a/X64="},
	} {
		if got := local.Secret(c.provider, secrets.Ref(c.ref)); got != c.want {
			t.Errorf("%s: %s", c.ref, got)
		}
	}
	for _, provider := range webhook.Names() { // whatever is seeded may be applied
		row, _ := webhook.Lookup(provider)
		for _, ref := range []secrets.Ref{"ssm:hooks/a/1", "ssm:hooks/first-endpoint/2"} {
			if err := row.CheckSecret(secrets.NewValue(local.Secret(provider, ref))); err != nil {
				t.Errorf("%s: %v", provider, err)
			}
		}
	}
}
