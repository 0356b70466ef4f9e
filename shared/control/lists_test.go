package control_test

import (
	"errors"
	"strings"
	"testing"

	"engang/shared/control"
	"engang/shared/problem"
)

// A filter that nothing can fit is a mistake, not an empty list.
func TestAWordThatNothingHasIsRefused(t *testing.T) {
	c := newMemory().control()
	for _, state := range []string{"", "received", "parked", "completed", "no recipe"} {
		if _, err := c.Events(t.Context(), shop, control.EventFilter{State: state}, control.Span{}); err != nil {
			t.Errorf("%q: %v", state, err)
		}
	}
	_, err := c.Events(t.Context(), shop, control.EventFilter{State: "typo"}, control.Span{})
	if e, ok := errors.AsType[*problem.QueryError](err); !ok || e.Parameter != "state" || !strings.Contains(e.Want, "received, settled, parked") {
		t.Errorf("%v", err)
	}
	for _, f := range []control.OperationFilter{{State: "received"}, {Category: "transcient"}} {
		if _, err := c.Operations(t.Context(), shop, f, control.Span{}); !errors.Is(err, problem.ErrQuery) {
			t.Errorf("%+v: %v", f, err)
		}
	}
	if _, err := c.Operations(t.Context(), shop, control.OperationFilter{State: "failed", Category: "unusable output"}, control.Span{}); err != nil {
		t.Error(err)
	}
}

// A look back over years in which nothing came must end within the function's time too.
func TestALongTimeWithoutEventsIsLookedThroughInParts(t *testing.T) {
	m := newMemory()
	first := m.event(1, "product:1", 700*24*60)
	span := control.Span{Since: noon.AddDate(-3, 0, 0)}
	var found []control.Event
	pages := 0
	for {
		before := m.lists
		list, err := m.control().Events(t.Context(), shop, control.EventFilter{}, span)
		if err != nil {
			t.Fatal(err)
		}
		if n := m.lists - before; n > 250 {
			t.Fatalf("one look makes %d queries", n)
		}
		found, pages = append(found, list.Items...), pages+1
		if span.After = list.Next; list.Next == "" {
			break
		}
	}
	if len(found) != 1 || found[0].ID != string(first.ID) || pages < 3 {
		t.Errorf("%d pages, found %s", pages, toJSON(t, found))
	}
}
