package control_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/control"
	"engang/shared/inbox"
	"engang/shared/problem"
)

// An event that ended in review says so for good: what a person decided since stands beside its operation.
func TestAnEventSaysWhereItsOperationsStandNow(t *testing.T) {
	m := newCounter()
	o, gone := m.draft(1, 5), "product:794/product-card@3/"+strings.Repeat("ee", 32)
	e := m.events[o.Event]
	e.Operations = []string{o.Key.String(), gone}
	m.events[e.ID] = e
	shown := func() []control.Standing {
		got, err := m.control().Show(t.Context(), shop, string(e.ID), time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		return got.Event.Now
	}
	if diff := cmp.Diff([]control.Standing{{Operation: o.Key.String(), State: "review"}}, shown()); diff != "" {
		t.Error(diff)
	}
	if _, err := m.control().Approve(t.Context(), shop, deciding(o)); err != nil {
		t.Fatal(err)
	}
	want := []control.Standing{{Operation: o.Key.String(), State: "completed", Decision: &control.Decision{By: "ann", At: noon, Note: "reads well"}}}
	if diff := cmp.Diff(want, shown()); diff != "" {
		t.Error(diff)
	}
}

// A search ends within the function's time, however far back it is asked for, and says how it is gone on with.
func TestFindLooksThroughSoMuchAndNoMore(t *testing.T) {
	m := newMemory()
	var far inbox.Event
	for n := range 2500 {
		if e := m.event(n, "product:1", 5+n); n == 2400 {
			far = e
		}
	}
	if got, err := m.control().Find(t.Context(), shop, "woo-shop", "sender-2400", noon.AddDate(0, 0, -30)); err != nil || got.Event.ID != string(far.ID) {
		t.Errorf("among the newest: %s, %v", toJSON(t, got), err)
	}
	m.lists = 0
	_, err := m.control().Find(t.Context(), shop, "woo-shop", "nobody", noon.AddDate(-100, 0, 0))
	if q, ok := errors.AsType[*problem.QueryError](err); !ok || q.Parameter != "since" || errors.Is(err, inbox.ErrNotFound) {
		t.Errorf("a hundred years: %v", err)
	}
	if m.lists > 1000 {
		t.Errorf("%d pages of the list index were read", m.lists)
	}
}
