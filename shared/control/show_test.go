package control_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/control"
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
