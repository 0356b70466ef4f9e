package control_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"engang/shared/audit"
	"engang/shared/config"
	"engang/shared/control"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/recipe/compiled"
)

var (
	shop = object.Scope{Tenant: "shop", Environment: "test"}
	noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	card = inbox.RecipeRef{Name: "product-card", Version: 3}
)

// memory is a table that holds what a test put into it.
type memory struct {
	control.Drafts     // see [counter]
	control.ReviewList // likewise

	events    map[inbox.EventID]inbox.Event
	seen      map[inbox.EventID]inbox.Seen
	conflicts map[inbox.EventID][]inbox.Conflict
	ops       []operation.Operation
	losing    []operation.Losing
	results   []operation.Result
	scopes    []object.Scope
	trail     []audit.Entry
	noAudit   error
	noActs    error
	bodies    int // read
	lists     int // pages of the list index
	ids       int // that were made
	stopped       // what tests of cancel, pause and stats need
}

func newMemory() *memory {
	return &memory{events: map[inbox.EventID]inbox.Event{}, seen: map[inbox.EventID]inbox.Seen{}, conflicts: map[inbox.EventID][]inbox.Conflict{}, scopes: []object.Scope{shop}}
}

func (m *memory) Deliveries(_ context.Context, id inbox.EventID) (inbox.Event, inbox.Seen, []inbox.Conflict, error) {
	e, ok := m.events[id]
	if !ok {
		return e, inbox.Seen{}, nil, inbox.ErrNotFound
	}
	return e, m.seen[id], m.conflicts[id], nil
}

func (m *memory) Object(_ context.Context, _ object.Scope, id object.ID) (ops []operation.Operation, losing []operation.Losing, results []operation.Result, err error) {
	for _, o := range m.ops {
		if o.Key.Object == id {
			ops = append(ops, o)
		}
	}
	for _, r := range m.results {
		if r.Object == id {
			results = append(results, r)
		}
	}
	return ops, m.losing, results, nil
}

func (m *memory) Listed(_ context.Context, scope object.Scope, day time.Time, after string, limit int) (ids []inbox.EventID, next string, err error) {
	m.lists++
	var keys []string
	for _, e := range m.events {
		if e.Scope == scope && e.ReceivedAt.Format(time.DateOnly) == day.Format(time.DateOnly) {
			keys = append(keys, fmt.Sprintf("%013d#%s", e.ReceivedAt.UnixMilli(), e.ID))
		}
	}
	slices.Sort(keys)
	slices.Reverse(keys)
	for _, k := range keys {
		if after != "" && k >= after {
			continue
		}
		if len(ids) == limit {
			return ids, next, nil
		}
		ids, next = append(ids, inbox.EventID(k[14:])), k
	}
	return ids, "", nil
}

func (m *memory) Scopes(context.Context) ([]object.Scope, error) { return m.scopes, nil }

// Audit refuses another act at the time and under the id of a recorded one, as the table does. A repeat stands in the
// trail beside it, for tests that count.
func (m *memory) Audit(_ context.Context, e audit.Entry) error {
	switch have, ok := m.recorded(e); {
	case m.noAudit != nil:
		return m.noAudit
	case ok && !have.Same(e):
		return audit.ErrOther
	}
	m.trail = append(m.trail, e)
	return nil
}

// recorded is what is recorded under the key of an entry.
func (m *memory) recorded(e audit.Entry) (audit.Entry, bool) {
	i := slices.IndexFunc(m.trail, func(have audit.Entry) bool {
		return have.Scope == e.Scope && have.ID == e.ID && have.At.UnixMilli() == e.At.UnixMilli()
	})
	if i < 0 {
		return audit.Entry{}, false
	}
	return m.trail[i], true
}

// Acts gives those of a day in the order of the table: by time and id.
func (m *memory) Acts(_ context.Context, scope object.Scope, day time.Time, after string, limit int) (acts []audit.Entry, next string, err error) {
	key := func(e audit.Entry) string { return fmt.Sprintf("%013d#%s", e.At.UnixMilli(), e.ID) }
	all := slices.SortedFunc(slices.Values(m.trail), func(a, b audit.Entry) int { return strings.Compare(key(b), key(a)) })
	for _, e := range all {
		if e.Scope != scope || e.At.UTC().Truncate(24*time.Hour) != day || after != "" && key(e) >= after {
			continue
		}
		if len(acts) == limit {
			return acts, key(acts[limit-1]), nil
		}
		acts = append(acts, e)
	}
	return acts, "", m.noActs
}

func (m *memory) Read(_ context.Context, b inbox.Body) ([]byte, error) {
	m.bodies++
	return b.Packed, nil
}

func (m *memory) Endpoint(_ context.Context, name string) (config.Endpoint, config.Pointer, error) {
	if name != "woo-shop" {
		return config.Endpoint{}, config.Pointer{}, config.ErrUnknown
	}
	return config.Endpoint{
		Name: name, Scope: shop, Provider: "woocommerce", Secrets: []secretsRef{"ssm:hooks/woo-shop/1"},
		Events: map[string]config.EventRule{"product.updated": {Recipes: []string{"product-card", "retired"}}, "product.deleted": {Ignore: true}},
	}, config.Pointer{Endpoints: map[string]int{name: 7}, Recipes: map[string]int{"product-card": 3}}, nil
}

func (m *memory) Common(context.Context, object.Scope) (config.Common, error) {
	return config.Common{EventDays: 30, ResultDays: 400}, nil
}

func (m *memory) Recipe(context.Context, object.Scope, inbox.RecipeRef) (*compiled.Recipe, error) {
	return nil, config.ErrUnknown
}

func (m *memory) control() *control.Control {
	return control.New(control.Deps{Store: m, Endpoints: m, Bodies: m, Now: func() time.Time { return noon }, NewID: func() string { m.ids++; return fmt.Sprint("act-", m.ids) }})
}

// event stores the nth event of an object, received so many minutes before noon.
func (m *memory) event(n int, name string, minutes int) inbox.Event {
	at := noon.Add(-time.Duration(minutes) * time.Minute)
	id, err := object.ParseID(name)
	if err != nil {
		panic(err)
	}
	version, err := object.VersionAt(at)
	if err != nil {
		panic(err)
	}
	e := inbox.Event{
		ID: inbox.NewEventID(shop, "woo-shop", fmt.Sprint(n)), Scope: shop, Endpoint: "woo-shop", Provider: "woocommerce", Type: "product.updated", Object: id,
		ReceivedAt: at, Rank: object.NewRank(version, at, fmt.Sprint(n)), Recipes: []inbox.RecipeRef{card}, Digest: "ab",
		State: inbox.Settled, Outcome: inbox.Completed, EndedAt: at.Add(time.Second), Body: inbox.Body{Packed: []byte("body"), Bytes: 4}, SenderID: fmt.Sprint("sender-", n),
	}
	m.events[e.ID] = e
	return e
}

// operation stores a completed operation that works for an event, with its result.
func (m *memory) operation(e inbox.Event, digest string) operation.Operation {
	o := operation.Operation{
		Key: operation.Key{Scope: shop, Object: e.Object, Recipe: card, Digest: digest}, State: operation.Completed, Token: 2, Claims: 2, Event: e.ID, Rank: e.Rank,
		BegunAt: e.ReceivedAt, Output: []byte(`{"summary":"s"}`), Digest: "cd",
		Attempts: []operation.Attempt{
			{ID: "att_1", FencingToken: 1, StartedAt: e.ReceivedAt, Outcome: operation.Lost, Category: operation.CategoryTransient},
			{ID: "att_2", FencingToken: 2, StartedAt: e.ReceivedAt, EndedAt: e.ReceivedAt.Add(time.Second), Outcome: operation.Usable, Called: true, Tokens: &operation.Tokens{Input: 412, Output: 96}, CostUSD: 318_000_000},
		},
	}
	m.ops = append(m.ops, o)
	m.results = append(m.results, operation.Result{Scope: shop, Object: e.Object, Recipe: card, Rank: e.Rank, Operation: o.Key, Event: e.ID, Output: o.Output, Digest: "cd", At: e.ReceivedAt})
	e.Operations = []string{o.Key.String()}
	m.events[e.ID] = e
	return o
}

func toJSON(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
