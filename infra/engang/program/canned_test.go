package program_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"engang/infra/engang/client"
	"engang/infra/engang/program"
	"engang/infra/local"
	"engang/shared/config"
	"engang/shared/control"
	"engang/shared/operation"
	"engang/shared/parameters"
	"engang/shared/secrets"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"
	"github.com/sivchari/kumo"
)

var update = flag.Bool("update", false, "write the golden files anew")

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// run runs one command at a fixed clock.
func run(t *testing.T, ctx context.Context, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return runIn(ctx, func(e *program.Env) { e.Args = args })
}

func runIn(ctx context.Context, change func(*program.Env)) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	e := program.Env{
		Stdout: &out, Stderr: &err, Getenv: func(string) string { return "" }, Now: func() time.Time { return noon },
		HTTP: &http.Client{}, Command: "engang", Version: "v1.2.3",
	}
	change(&e)
	code = program.Run(ctx, e)
	return code, out.String(), err.String()
}

// port is that of the engang which a test speaks to, in the commands that are suggested.
var port = regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+`)

// golden compares with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	got = port.ReplaceAllString(got, "http://127.0.0.1:PORT")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: %s", path, diff)
	}
}

// outputs compares what a command says, in words and as JSON, with the files of its name. The answers, by path, are those
// that are not the usual ones.
func outputs(t *testing.T, name string, answers map[string]any, args []string) {
	t.Helper()
	for suffix, flags := range map[string][]string{"": nil, "-json": {"--json"}} {
		api := serveCanned(t)
		maps.Copy(api.answer, answers)
		code, stdout, stderr := run(t, t.Context(), append(append(args, "--target", api.url), flags...)...)
		if code != 0 || stderr != "" {
			t.Errorf("%s: exit %d, %s", name, code, stderr)
		}
		golden(t, name+suffix, stdout)
		if suffix != "" && !json.Valid([]byte(stdout)) {
			t.Errorf("%s: not one JSON document", name)
		}
	}
}

// canned is an engang that always gives the same answers, and remembers what it was asked.
type canned struct {
	url string

	mu     sync.Mutex
	asked  []url.Values
	bodies []string
	as     []string
	answer map[string]any // by path; a problem has a status
}

type refusal struct {
	status int
	body   string
}

func serveCanned(t *testing.T) *canned {
	c := &canned{answer: map[string]any{
		"/api/events":     control.List[control.Event]{Items: []control.Event{settledEvent(), parkedEvent()}},
		"/api/operations": control.List[control.Operation]{Items: []control.Operation{completed(), inReview()}},
		"/api/audit":      cannedActsDone(),
		"/api/show":       object(),
		"/api/endpoints":  control.Endpoint{Kind: "endpoint", Name: "woo-shop", Provider: "woocommerce", Secrets: []string{"ssm:hooks/woo-shop/1"}},
		"/api/config":     control.Config{Kind: "config", Tenant: "shop", Environment: "test", Revision: 1},
		"/api/plan":       control.Application{Kind: "plan", Tenant: "shop", Environment: "test", Revision: 1, Changes: []config.Change{}},
		"/api/erase":      control.Erased{Kind: "erasure", Object: "customer:17", Events: 1},
		"/api/export":     control.Export{Kind: "export", Object: "customer:17", Events: []control.HeldEvent{{Event: settledEvent()}}},
		"/api/dlq":        cannedLetters(),
		"/api/dlq/tidy":   control.Tidied{Kind: "tidied", Letters: 4, Sent: 1, Deleted: 2, Left: 2},
		"/api/redrive":    cannedRedriven(),
		"/api/review":     cannedReview(),
		"/api/replay":     control.Replayed{Kind: "replay", Events: 412, Finished: 409, WouldRun: 2, Waiting: 1, Calls: 2, CostUSD: 900_000_000, Sent: 2, Reached: at(-60)},
		"/api/reveal":     control.Content{Kind: "body", ID: "evt_aaaaaaaaaaaaaaaa", Bytes: 10, Body: []byte(`{"id":794}`)},
	}}
	maps.Copy(c.answer, cannedActs())
	for path, word := range map[string]string{"approve": "approved", "reject": "rejected", "dismiss": "dismissed"} {
		c.answer["/api/review/"+path] = decided(word, false)
	}
	c.answer["/local/aws"] = cannedEngine(t)
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

func cannedActsDone() control.List[control.Act] {
	act := func(seconds int, by, act, target, reason string) control.Act {
		return control.Act{Kind: "act", ID: fmt.Sprintf("act-%d", -seconds), Tenant: "shop", Environment: "test", At: *at(seconds), By: by, Act: act, Target: target, Reason: reason, ExpiresAt: at(400 * 24 * 3600)}
	}
	return control.List[control.Act]{Items: []control.Act{
		act(-5, "arn:aws:iam::000000000000:user/ann", "redrive, refused", "product:8/product-card@3/77aa00112233", "after the outage"),
		act(-60, "bob", "pause", "endpoint woo-shop", "supplier feed is broken"),
		act(-3600, "ann", "apply", "revision 7", ""),
	}}
}

var engine = sync.OnceValue(kumo.NewServer)

var engines atomic.Int64

// cannedEngine is a parameter store of its own, in which the secrets of woo-shop and crm stand.
func cannedEngine(t *testing.T) client.Engine {
	t.Helper()
	at := client.Engine{Endpoint: engine().URL, Region: "us-east-1", SecretPath: fmt.Sprintf("/engang/canned-%d", engines.Add(1))}
	store := vault(at)
	for provider, path := range map[string]string{"woocommerce": "hooks/woo-shop/1", "standard-webhooks": "hooks/crm/1"} {
		if err := store.Put(t.Context(), path, secrets.NewValue(local.Secret(provider, secrets.Ref("ssm:"+path)))); err != nil {
			t.Fatal(err)
		}
	}
	return at
}

// vault is the parameter store of an engine.
func vault(at client.Engine) *parameters.Store {
	return parameters.Open(aws.Config{Region: at.Region, BaseEndpoint: &at.Endpoint, Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")}, at.SecretPath)
}

func (c *canned) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var body bytes.Buffer
	body.ReadFrom(r.Body)
	c.asked, c.bodies, c.as = append(c.asked, r.URL.Query()), append(c.bodies, body.String()), append(c.as, r.Header.Get("X-Engang-As"))
	if strings.HasPrefix(r.URL.Path, "/hooks/") {
		json.NewEncoder(w).Encode(map[string]string{"status": "accepted", "event": "evt_aaaaaaaaaaaaaaaa"})
		return
	}
	answer := c.answer[r.URL.Path]
	if ask, ok := answer.(func() any); ok {
		answer = ask()
	}
	switch doc := answer.(type) {
	case refusal:
		w.WriteHeader(doc.status)
		w.Write([]byte(doc.body))
	default:
		json.NewEncoder(w).Encode(doc)
	}
}

func at(seconds int) *time.Time {
	t := noon.Add(time.Duration(seconds) * time.Second)
	return &t
}

func settledEvent() control.Event {
	return control.Event{
		Kind: "event", ID: "evt_aaaaaaaaaaaaaaaa", State: "settled", Outcome: "completed", Tenant: "shop", Environment: "test", Endpoint: "woo-shop", Provider: "woocommerce",
		Type: "product.updated", Object: "product:794", ObjectVersion: "2026-11-29T11:59:58Z", Rank: "r", ReceivedAt: *at(3), Deliveries: 3, LastSeenAt: at(4), DeliveryID: "d1",
		Digest: "sha256:ab", BodyBytes: 1966, Recipes: []string{"product-card@3"}, Operations: []string{completed().ID}, EndedAt: at(6), ExpiresAt: at(60),
	}
}

func parkedEvent() control.Event {
	return control.Event{
		Kind: "event", ID: "evt_bbbbbbbbbbbbbbbb", State: "parked", Tenant: "shop", Environment: "test", Endpoint: "woo-shop", Provider: "woocommerce", Type: "product.updated",
		ObjectVersion: "1", ReceivedAt: *at(1), Deliveries: 1, LastSeenAt: at(1), BodyBytes: 9, Recipes: []string{}, Operations: []string{}, EndedAt: at(2),
		Reason: "the payload names no object", Category: "invalid input",
	}
}

func completed() control.Operation {
	cost, called := operation.Money(318_000_000), true
	return control.Operation{
		Kind: "operation", ID: "product:794/product-card@3/9f2c41d0aabbccdd", State: "completed", Tenant: "shop", Environment: "test", Object: "product:794",
		ObjectVersion: "2026-11-29T11:59:58Z", Recipe: "product-card@3", InputDigest: "sha256:9f2c41d0aabbccdd", FencingToken: 2, Claims: 2, CostUSD: cost, CostAtLeast: true,
		Attempts: []control.Attempt{
			{ID: "att_1", FencingToken: 1, StartedAt: at(3), Outcome: "lost", Category: "transient"},
			{ID: "att_2", FencingToken: 2, StartedAt: at(5), EndedAt: at(6), Outcome: "usable", Called: &called, Tokens: &operation.Tokens{Input: 412, Output: 96}, CostUSD: &cost},
		},
		Events: []string{"evt_aaaaaaaaaaaaaaaa"}, Deliveries: 3, Effects: []json.RawMessage{},
		Result: &control.OperationResult{Recipe: "product-card@3", ObjectVersion: "2026-11-29T11:59:58Z", Digest: "sha256:cdcdcdcdcdcd", OutputKept: true},
	}
}

func inReview() control.Operation {
	o := completed()
	o.ID, o.Object, o.State, o.Result, o.Reason = "product:8/product-card@3/77aa00112233", "product:8", "review", nil, "policy draft"
	o.Review = &control.Review{Digest: "sha256:ee", Reasons: []string{"policy draft"}, OpenedAt: at(6)}
	return o
}

func object() control.Object {
	return control.Object{
		Kind: "object", ID: "product:794", Tenant: "shop", Environment: "test", Deliveries: 3, FirstAt: at(3), LastAt: at(4), Since: noon.AddDate(0, 0, -3), Complete: true,
		Events: []control.Event{settledEvent()}, Operations: []control.Operation{completed()},
		Results: []control.Result{{Recipe: "product-card@3", Operation: completed().ID, Event: "evt_aaaaaaaaaaaaaaaa", ObjectVersion: "2026-11-29T11:59:58Z", Digest: "sha256:cdcdcdcdcdcd", At: *at(6), OutputKept: true}},
	}
}

func writeSecret(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("local-woo-secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
