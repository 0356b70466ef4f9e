package control_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"engang/shared/config"
	"engang/shared/control"
	"engang/shared/document"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/recipe"
	"engang/shared/recipe/compiled"
)

var errDownstairs = errors.New("no answer")

func (m *memory) Event(_ context.Context, id inbox.EventID) (inbox.Event, error) {
	e, ok := m.events[id]
	if !ok {
		return e, inbox.ErrNotFound
	}
	return e, nil
}

func (m *memory) Operation(_ context.Context, k operation.Key) (operation.Operation, error) {
	for _, o := range m.ops {
		if o.Key == k {
			return o, nil
		}
	}
	return operation.Operation{}, operation.ErrNotFound
}

// Redrive is both halves, as the table does them in one transaction.
func (m *memory) Redrive(_ context.Context, r operation.Redrive) error {
	i := slices.IndexFunc(m.ops, func(o operation.Operation) bool { return o.Key == r.Key })
	if o := m.ops[i]; o.State != r.Seen || o.Token != r.Token || o.Event != r.Event {
		return &operation.RefusedError{Stored: o}
	}
	e, ok := m.events[r.Event]
	switch {
	case !ok:
		return inbox.ErrNotFound
	case r.Recipes != nil && !slices.Equal(r.Recipes, e.Recipes):
		return inbox.ErrStale
	}
	m.ops[i].State, m.ops[i].Claims, m.ops[i].WriteID, m.ops[i].Dismissed = operation.Pending, 0, r.WriteID, nil
	m.open(r.Event, r.Due)
	return nil
}

func (m *memory) Reopen(_ context.Context, id inbox.EventID, due time.Time) error {
	if m.events[id].State != inbox.Parked {
		return inbox.ErrStale
	}
	m.open(id, due)
	return nil
}

func (m *memory) Replay(_ context.Context, id inbox.EventID, former, raised []inbox.RecipeRef, due time.Time) error {
	e := m.events[id]
	if e.State != inbox.Settled || !slices.Equal(e.Recipes, former) {
		return inbox.ErrStale
	}
	e.Recipes = raised
	m.events[id] = e
	m.open(id, due)
	return nil
}

func (m *memory) open(id inbox.EventID, due time.Time) {
	e := m.events[id]
	e.State, e.DueAt, e.Generation = inbox.Received, due, e.Generation+1
	m.events[id] = e
}

func (m *memory) Pointer(context.Context, object.Scope) (config.Pointer, error) {
	return config.Pointer{Recipes: map[string]int{"product-card": 3}}, nil
}

// works is a table with its queues, in which others may act before a write.
type works struct {
	*memory
	before  func(w *works) // runs once, before the next write that opens something
	sent    []string
	sendErr error
	letters []inbox.Letter
	hidden  map[string]bool // letters, by handle
	deleted []string
	peekErr error
	live    map[string]int // recipe versions
	badBody map[string]bool
	listed  []string // keys of the list index, the newest first; nil: as memory lists them
	acts    int
}

func newWorks() *works {
	return &works{memory: newMemory(), hidden: map[string]bool{}, live: map[string]int{"product-card": 3}, badBody: map[string]bool{}}
}

func (w *works) control() *control.Control {
	return control.New(control.Deps{
		Store: w, Endpoints: w, Bodies: w, Work: w, Letters: w, OpenAge: 5 * time.Minute, Now: func() time.Time { return noon },
		NewID: func() string { w.acts++; return fmt.Sprint("act-", w.acts) },
	})
}

// Listed finds its place in a long list without sorting it again.
func (w *works) Listed(ctx context.Context, scope object.Scope, day time.Time, after string, limit int) (ids []inbox.EventID, next string, err error) {
	if w.listed == nil {
		return w.memory.Listed(ctx, scope, day, after, limit)
	}
	from, to := fmt.Sprintf("%013d", day.UnixMilli()), fmt.Sprintf("%013d", day.AddDate(0, 0, 1).UnixMilli())
	if after == "" || after > to {
		after = to
	}
	begin, _ := slices.BinarySearchFunc(w.listed, after, func(key, after string) int { return -strings.Compare(key, after) })
	for _, key := range w.listed[begin:] {
		switch {
		case key >= after:
			continue
		case key < from:
			return ids, "", nil
		case len(ids) == limit:
			return ids, next, nil
		}
		ids, next = append(ids, inbox.EventID(key[14:])), key
	}
	return ids, "", nil
}

func (w *works) others() {
	if act := w.before; act != nil {
		w.before = nil
		act(w)
	}
}

func (w *works) Redrive(ctx context.Context, r operation.Redrive) error {
	w.others()
	return w.memory.Redrive(ctx, r)
}

func (w *works) Reopen(ctx context.Context, id inbox.EventID, due time.Time) error {
	w.others()
	return w.memory.Reopen(ctx, id, due)
}

func (w *works) Replay(ctx context.Context, id inbox.EventID, former, raised []inbox.RecipeRef, due time.Time) error {
	w.others()
	return w.memory.Replay(ctx, id, former, raised, due)
}

func (w *works) Send(_ context.Context, ref inbox.Reference) error {
	if w.sendErr == nil {
		w.sent = append(w.sent, ref.Tenant+" "+string(ref.Event))
	}
	return w.sendErr
}

func (w *works) Peek(_ context.Context, limit int, _ time.Duration) (found []inbox.Letter, more bool, err error) {
	for _, l := range w.letters {
		if len(found) == limit {
			return found, true, w.peekErr
		}
		if !w.hidden[l.Handle] && !slices.Contains(w.deleted, l.Handle) {
			w.hidden[l.Handle] = true
			found = append(found, l)
		}
	}
	return found, false, w.peekErr
}

func (w *works) Return(_ context.Context, handles []string) error {
	for _, h := range handles {
		delete(w.hidden, h)
	}
	return nil
}

func (w *works) Delete(_ context.Context, handles []string) error {
	w.deleted = append(w.deleted, handles...)
	return nil
}

// put adds a letter to the dead-letter queue.
func (w *works) put(l inbox.Letter) string {
	name := fmt.Sprint("letter-", len(w.letters))
	l.ID, l.Handle, l.SentAt, l.Receives = name, name, noon.Add(-time.Duration(len(w.letters))*time.Minute), 1
	w.letters = append(w.letters, l)
	return name
}

func (w *works) Pointer(context.Context, object.Scope) (config.Pointer, error) {
	return config.Pointer{Recipes: w.live}, nil
}

func (w *works) Common(context.Context, object.Scope) (config.Common, error) {
	price := operation.Price{Input: 400_000, Output: 1_600_000}
	return config.Common{ResultDays: 400, Providers: map[string]config.Provider{"openai": {Prices: map[string]operation.Price{"gpt-5.4-mini-2026-03-17": price}}}}, nil
}

// Recipe is one that needs a name.
func (w *works) Recipe(_ context.Context, _ object.Scope, ref inbox.RecipeRef) (*compiled.Recipe, error) {
	from, err := document.ParsePointer("/name")
	if err != nil {
		return nil, err
	}
	return compiled.New(recipe.Recipe{
		Name: ref.Name, Version: ref.Version, Policy: recipe.PolicyDraft, Instructions: "Say what it is.",
		Input:  recipe.Fields{Fields: map[string]recipe.Field{"name": {From: &from}}, Required: []string{"name"}},
		Model:  recipe.Model{Provider: "openai", Name: "gpt-5.4-mini-2026-03-17", Mode: "direct", Options: recipe.Options{MaxOutputTokens: 100}},
		Output: recipe.Output{Name: "out", Schema: []byte(`{"type":"object","additionalProperties":false,"required":["a"],"properties":{"a":{"type":"string"}}}`)},
	})
}

func (w *works) Read(ctx context.Context, b inbox.Body) ([]byte, error) {
	if w.badBody[b.Key] {
		return nil, errDownstairs
	}
	return w.memory.Read(ctx, b)
}

// fail makes the operation of an event fail, and parks the event with it.
func (w *works) fail(e inbox.Event, digest string) operation.Operation {
	o := w.operation(e, digest)
	w.results = slices.DeleteFunc(w.results, func(r operation.Result) bool { return r.Operation == o.Key })
	i := slices.IndexFunc(w.ops, func(x operation.Operation) bool { return x.Key == o.Key })
	w.ops[i].State, w.ops[i].Output, w.ops[i].Digest, w.ops[i].Reason, w.ops[i].Category = operation.Failed, nil, "", "refusal", operation.CategoryUnusableOutput
	e = w.events[e.ID]
	e.State, e.Outcome, e.Reason, e.Category, e.Operations = inbox.Parked, "", "refusal", "unusable output", []string{o.Key.String()}
	w.events[e.ID] = e
	return w.ops[i]
}

// park parks an event that could not become an operation.
func (w *works) park(e inbox.Event) inbox.Event {
	e.State, e.Outcome, e.Reason, e.Category, e.Operations = inbox.Parked, "", "no name", "invalid input", nil
	w.events[e.ID] = e
	return e
}

// change changes a stored operation.
func (w *works) change(k operation.Key, how func(o *operation.Operation)) {
	how(&w.ops[slices.IndexFunc(w.ops, func(o operation.Operation) bool { return o.Key == k })])
}

// done is the audit log in short.
func (w *works) done() (acts []string) {
	for _, e := range w.trail {
		acts = append(acts, fmt.Sprintf("%s: %s of %s because %s", e.By, e.Act, e.Target, e.Reason))
	}
	return acts
}
