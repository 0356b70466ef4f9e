package control_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/control"
	"engang/shared/inbox"
	"engang/shared/operation"
)

// waiting stores an open event that asks for one operation, which is not there yet.
func (w *works) waiting(n int) inbox.Event { return w.asked(n, 5) }

// Whoever has read the event and comes to its claim later finds that it is cancelled, and calls nobody.
func TestWhatNobodyHasBegunIsCancelledBeforeItIs(t *testing.T) {
	w := newWorks()
	e := w.waiting(1)
	s := stop
	s.ID = string(e.ID)
	got, err := w.control().Cancel(t.Context(), shop, s)
	if err != nil || len(got.Operations) != 1 || len(w.ops) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	o := w.ops[0]
	if o.Key.String() != got.Operations[0] || o.State != operation.Failed || o.Category != operation.CategoryCancelled || o.Event != e.ID || o.Rank != e.Rank || o.Decision.By != "ann" {
		t.Errorf("operation %+v", o)
	}
	none := operation.Attempt{ID: w.claims[0].Attempt, FencingToken: 1, StartedAt: noon, EndedAt: noon, Outcome: operation.Stopped, Category: operation.CategoryCancelled, Reason: "cancelled before anybody worked on it"}
	if diff := cmp.Diff([]operation.Attempt{none}, o.Attempts); diff != "" || w.claims[0].Limit != 0 || !w.claims[0].Until.After(noon) {
		t.Errorf("claim %+v %s", w.claims[0], diff)
	}
	shown, err := w.control().Show(t.Context(), shop, o.Key.String(), time.Time{})
	if err != nil || shown.Operation.CostAtLeast || shown.Operation.CostUSD != 0 {
		t.Errorf("it looks as if it had cost something: %+v, %v", shown.Operation, err)
	}
	if end := w.ends[0]; end.Event != e.ID || !slices.Equal(end.Operations, got.Operations) {
		t.Errorf("%+v", end)
	}
}

// What no worker can work on needs no claim, and what cannot be looked at is not cancelled blindly.
func TestAnEventThatCannotBeWorkedOnIsCancelledAllTheSame(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(w *works, e *inbox.Event)
		err    error
	}{
		{"no JSON", func(_ *works, e *inbox.Event) { e.Body.Packed = []byte("<html>") }, nil},
		{"an input that the recipe does not take", func(_ *works, e *inbox.Event) { e.Body.Packed = []byte(`{"id":794}`) }, nil},
		{"no recipe", func(_ *works, e *inbox.Event) { e.Recipes = nil }, nil},
		{"a body that cannot be read", func(w *works, e *inbox.Event) { e.Body.Key = "k"; w.badBody = map[string]bool{"k": true} }, errDownstairs},
	} {
		w := newWorks()
		e := w.waiting(1)
		c.change(w, &e)
		w.events[e.ID] = e
		_, err := w.control().Cancel(t.Context(), shop, control.Stop{ID: string(e.ID), By: "ann", Reason: "why"})
		if !errors.Is(err, c.err) || len(w.ops) != 0 || (w.events[e.ID].State == inbox.Settled) != (c.err == nil) {
			t.Errorf("%s: %v, %+v", c.name, err, w.events[e.ID])
		}
	}
}

// A worker may take over what we claimed, before we could give it back: it is cancelled in its hands.
func TestWhoIsFasterIsFenced(t *testing.T) {
	w := newWorks()
	e := w.waiting(1)
	w.meanwhile = func() { // before the claim
		w.meanwhile = func() { w.ops[0].Token, w.ops[0].Owner = 2, "att_other" } // before it is given back
	}
	got, err := w.control().Cancel(t.Context(), shop, control.Stop{ID: string(e.ID), By: "ann", Reason: "why"})
	if err != nil || len(got.Operations) != 1 || w.stops[0].Token != 2 || w.ops[0].State != operation.Failed {
		t.Errorf("%+v, %v, %+v", got, err, w.stops)
	}
}
