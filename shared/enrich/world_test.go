package enrich_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"engang/shared/bodies"
	"engang/shared/config"
	"engang/shared/document"
	"engang/shared/dynamo"
	"engang/shared/dynamo/dynamotest"
	"engang/shared/dynamo/dynamotest/invariants"
	"engang/shared/enrich"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/recipe"
	"engang/shared/recipe/compiled"
)

var scope = object.Scope{Tenant: "shop", Environment: "test"}

// A world is a table of its own with workers on it. Its clock moves only when a test moves it, its
// model says what a test tells it to say.
type world struct {
	t     testing.TB
	db    dynamotest.DB
	table *dynamo.Table
	model *model
	sent  *notices

	mu     sync.Mutex
	now    time.Time
	ids    int
	common config.Common
	recipe map[inbox.RecipeRef]*compiled.Recipe
}

// each runs a test in a world on each engine.
func each(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		t.Parallel()
		w := &world{
			t: t, db: db, table: db.Open(nil), model: &model{}, sent: &notices{}, now: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC),
			common: config.Common{EventDays: 30, ResultDays: 400, Providers: map[string]config.Provider{"openai": {Prices: map[string]operation.Price{
				"tiny-2026-01-01": {Input: 400_000, Cached: 40_000, CacheWrite: 400_000, Output: 1_600_000, AsOf: "2026-11-29"},
			}}}},
			recipe: map[inbox.RecipeRef]*compiled.Recipe{},
		}
		w.apply("card", 1, recipe.PolicyAuto)
		test(t, w)
	})
}

// apply adds a recipe that takes /name and answers with a summary of 3 to 60 characters.
func (w *world) apply(name string, version int, policy recipe.Policy) inbox.RecipeRef {
	w.t.Helper()
	var r recipe.Recipe
	err := json.Unmarshal([]byte(`{"input":{"fields":{"name":{"from":"/name"}},"required":["name"]},
		"model":{"provider":"openai","name":"tiny-2026-01-01","mode":"direct","options":{"max_output_tokens":200}},
		"instructions":"Summarise.","checks":[{"path":"/summary","length":[3,60]}],
		"output":{"name":"card","schema":{"type":"object","additionalProperties":false,"required":["summary"],"properties":{"summary":{"type":"string"}}}}}`), &r)
	if err != nil {
		w.t.Fatal(err)
	}
	r.Name, r.Version, r.Policy = name, version, policy
	c, err := compiled.New(r)
	if err != nil {
		w.t.Fatal(err)
	}
	w.recipe[r.Ref()] = c
	return r.Ref()
}

func (w *world) Recipe(_ context.Context, _ object.Scope, ref inbox.RecipeRef) (*compiled.Recipe, error) {
	c, ok := w.recipe[ref]
	if !ok {
		return nil, fmt.Errorf("recipe %s: %w", ref, config.ErrUnknown)
	}
	return c, nil
}

func (w *world) Common(context.Context, object.Scope) (config.Common, error) { return w.common, nil }

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func (w *world) id() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ids++
	return fmt.Sprintf("id%04d", w.ids)
}

var limits = enrich.Limits{
	Call: 75 * time.Second, Finish: 10 * time.Second, Lease: 100 * time.Second, Skew: 5 * time.Second, Attempts: 3,
	BackoffBase: 2 * time.Second, BackoffMax: 15 * time.Minute, Hide: time.Minute, Pause: 5 * time.Minute, Remember: 5 * time.Second,
}

// worker is a worker whose store calls go through transport, which may be nil.
func (w *world) worker(transport http.RoundTripper) *enrich.Worker {
	return enrich.New(enrich.Deps{
		Store: w.db.Open(transport), Recipes: w, Model: w.model, Bodies: inline{}, Notices: w.sent, Limits: limits,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Now: w.clock, NewID: w.id, Random: func() float64 { return 0.5 },
	})
}

// inline reads bodies that stand in the event. There is no bucket to drop one from.
type inline struct{}

func (inline) Drop(context.Context, inbox.Body) error { return nil }

func (inline) Read(_ context.Context, b inbox.Body) ([]byte, error) {
	return bodies.Unpack(b.Packed, b.Bytes)
}

// An arrival is one event as a test states it.
type arrival struct {
	name    string // the payload's name: the whole input of the recipe; empty: none
	version string
	key     string // event key; empty: made from name and version
	recipes []inbox.RecipeRef
	flaw    string // why nothing can be made of it
}

// receive stores an event about product:7, as the receiver does, and returns its id.
func (w *world) receive(a arrival) inbox.EventID {
	w.t.Helper()
	raw := []byte(`{"id":7}`)
	if a.name != "" {
		raw = []byte(`{"id":7,"name":"` + a.name + `"}`)
	}
	if a.key == "" {
		a.key = a.name + " " + a.version
	}
	v, err := object.ParseVersion(a.version)
	if err != nil {
		w.t.Fatal(err)
	}
	if a.recipes == nil {
		a.recipes = []inbox.RecipeRef{{Name: "card", Version: 1}}
	}
	w.pass(time.Millisecond) // two events are never stored in the same millisecond
	now := w.clock()
	ev := inbox.Event{
		ID: inbox.NewEventID(scope, "shop", a.key), Scope: scope, Endpoint: "shop", Provider: "woocommerce", Type: "product.updated",
		Object: object.ID{Kind: "product", Value: "7"}, ReceivedAt: now, WriteID: w.id(), Digest: document.Digest(raw),
		Rank: object.NewRank(v, now, a.key), Recipes: a.recipes, Body: inbox.Body{Packed: bodies.Pack(raw), Bytes: len(raw)}, DueAt: now.Add(5 * time.Minute),
	}
	if a.flaw != "" {
		ev.Object, ev.Reason, ev.Category = object.ID{}, a.flaw, string(operation.CategoryInvalidInput)
	}
	receipt, err := w.table.Receive(w.t.Context(), ev)
	if err != nil || receipt != inbox.Accepted {
		w.t.Fatalf("receive: %v, %v", receipt, err)
	}
	return ev.ID
}

// run works on an event and fails the test unless the message can be deleted.
func (w *world) run(id inbox.EventID) {
	w.t.Helper()
	if err := w.worker(nil).Run(w.t.Context(), id); err != nil {
		w.t.Fatalf("run %s: %v", id, err)
	}
}

// refused stores an event and works on it, for which the model refuses: the event is parked.
func (w *world) refused(a arrival) inbox.EventID {
	w.t.Helper()
	w.model.script = append(w.model.script, refusal)
	id := w.receive(a)
	w.run(id)
	return id
}

// later works on an event and returns why the message must come back.
func (w *world) later(id inbox.EventID) *enrich.Later {
	w.t.Helper()
	err := w.worker(nil).Run(w.t.Context(), id)
	l, ok := errors.AsType[*enrich.Later](err)
	if !ok {
		w.t.Fatalf("run %s: %v, want a message that comes back", id, err)
	}
	return l
}

func (w *world) event(id inbox.EventID) inbox.Event {
	w.t.Helper()
	ev, err := w.table.Event(w.t.Context(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	return ev
}

// operation is the operation for this input of product:7.
func (w *world) operation(name string, ref ...inbox.RecipeRef) operation.Operation {
	w.t.Helper()
	op, err := w.table.Operation(w.t.Context(), w.key(name, ref...))
	if err != nil {
		w.t.Fatal(err)
	}
	return op
}

func (w *world) key(name string, ref ...inbox.RecipeRef) operation.Key {
	w.t.Helper()
	ref = append(ref, inbox.RecipeRef{Name: "card", Version: 1})
	in, err := w.recipe[ref[0]].Extract(map[string]any{"name": name})
	if err != nil {
		w.t.Fatal(err)
	}
	return operation.Key{Scope: scope, Object: object.ID{Kind: "product", Value: "7"}, Recipe: ref[0], Digest: in.Digest}
}

// result is what stands for product:7: the summary and the object version.
func (w *world) result() string {
	w.t.Helper()
	r, found, err := w.table.Result(w.t.Context(), scope, object.ID{Kind: "product", Value: "7"}, inbox.RecipeRef{Name: "card", Version: 1})
	if err != nil {
		w.t.Fatal(err)
	}
	if !found {
		return "none"
	}
	var out struct{ Summary string }
	if err := json.Unmarshal(r.Output, &out); err != nil {
		w.t.Fatal(err)
	}
	return out.Summary + " @ " + r.Rank.Version().String()
}

// items is the whole table.
func (w *world) items() invariants.Items { return invariants.Read(w.t, w.db.Client(), w.db.TableName) }

// rest holds the table against the promises, with nothing under way.
func (w *world) rest() {
	w.t.Helper()
	invariants.Verify(w.t, w.items())
}

// A model answers what a test tells it, else a good summary of the name.
type model struct {
	mu     sync.Mutex
	calls  []recipe.Prompt
	script []operation.Answer
	during func() // runs while a call is under way
}

func (m *model) Call(_ context.Context, _ config.Provider, p recipe.Prompt) operation.Answer {
	m.mu.Lock()
	m.calls = append(m.calls, p)
	a := answer("about " + strings.Trim(strings.TrimPrefix(string(p.Input), `{"name":`), `"}`))
	if len(m.script) > 0 {
		a, m.script = m.script[0], m.script[1:]
	}
	during := m.during
	m.during = nil
	m.mu.Unlock()
	if during != nil {
		during()
	}
	return a
}

func (m *model) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.calls)
}

func answer(summary string) operation.Answer {
	return operation.Answer{
		Attempt: operation.Attempt{Outcome: operation.Usable, Called: true, Model: "tiny-2026-01-01", Tokens: &operation.Tokens{Input: 100, Output: 10}},
		Output:  []byte(`{"summary":"` + summary + `"}`),
	}
}

func bad(o operation.Outcome, c operation.Category, reason string) operation.Answer {
	return operation.Answer{Attempt: operation.Attempt{Outcome: o, Category: c, Reason: reason, Called: true, Tokens: &operation.Tokens{Input: 100, Output: 10}}}
}

var (
	rateLimited = bad(operation.Transient, operation.CategoryTransient, "rate limited")
	refusal     = bad(operation.Unusable, operation.CategoryUnusableOutput, "refusal")
)

// notices keeps what was sent to the dead-letter queue.
type notices struct {
	mu  sync.Mutex
	all []inbox.Notice
}

func (n *notices) Notify(_ context.Context, one inbox.Notice) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, one)
	return nil
}

// die works on an event with a worker that is gone at that call: before it at a store call, behind it at the
// model call.
func (w *world) die(id inbox.EventID, call string) {
	w.t.Helper()
	ctx, kill := context.WithCancel(w.t.Context())
	defer kill()
	var transport http.RoundTripper = &dynamotest.Fault{Target: call, N: -1}
	if call == "model call" {
		transport, w.model.during = nil, kill
	}
	if err := w.worker(transport).Run(ctx, id); err == nil {
		w.t.Fatalf("the worker lived through %s", call)
	}
}
