package operation_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"engang/shared/lifecycle/lifecycletest"
	"engang/shared/operation"
)

func TestPictureIsTheTable(t *testing.T) { lifecycletest.Picture(t, operation.Lifecycle) }

func TestLifecycleHasNoFault(t *testing.T) {
	if err := operation.Lifecycle.Check(); err != nil {
		t.Error(err)
	}
}

var states = []operation.State{
	operation.Pending, operation.Running, operation.Completed, operation.Review,
	operation.Failed, operation.Rejected, operation.Superseded,
}

// TestEveryStateAndTransition says for each pair whether it is allowed, and where it leads: infra/design.md
// section 6 written down a second time, by hand.
func TestEveryStateAndTransition(t *testing.T) {
	type row struct {
		from   []operation.State
		to     operation.State
		person bool
	}
	from := func(s ...operation.State) []operation.State { return s }
	want := map[string]row{
		"claim":     {from: from(operation.Pending, operation.Running, operation.Superseded), to: operation.Running},
		"complete":  {from: from(operation.Running), to: operation.Completed},
		"retry":     {from: from(operation.Running), to: operation.Pending},
		"pause":     {from: from(operation.Running), to: operation.Pending},
		"draft":     {from: from(operation.Running), to: operation.Review},
		"fail":      {from: from(operation.Running), to: operation.Failed},
		"exhaust":   {from: from(operation.Pending, operation.Running), to: operation.Failed},
		"supersede": {from: from(operation.Running), to: operation.Superseded},
		"approve":   {from: from(operation.Review), to: operation.Completed, person: true},
		"reject":    {from: from(operation.Review), to: operation.Rejected, person: true},
		"set aside": {from: from(operation.Review), to: operation.Superseded, person: true},
		"cancel":    {from: from(operation.Pending, operation.Running, operation.Review), to: operation.Failed, person: true},
		"dismiss":   {from: from(operation.Failed), to: operation.Failed, person: true},
		"redrive":   {from: from(operation.Failed), to: operation.Pending, person: true},
		"renew":     {from: from(operation.Rejected), to: operation.Pending, person: true},
	}
	if len(states) != len(operation.Lifecycle.States) || len(want) != len(operation.Lifecycle.Transitions) {
		t.Fatalf("%d states and %d transitions, the matrix has %d and %d", len(operation.Lifecycle.States), len(operation.Lifecycle.Transitions), len(states), len(want))
	}
	for _, tr := range operation.Lifecycle.Transitions {
		row := want[tr.Name]
		for _, s := range states {
			allowed := false
			for _, f := range row.from {
				allowed = allowed || f == s
			}
			if tr.Allows(s) != allowed {
				t.Errorf("%s from %s: allowed %v, want %v", tr.Name, s, tr.Allows(s), allowed)
			}
		}
		if tr.To != row.to || tr.Person != row.person {
			t.Errorf("%s leads to %s, by a person: %v; want %s, %v", tr.Name, tr.To, tr.Person, row.to, row.person)
		}
	}
}

func TestNothingLeavesACommittedOperation(t *testing.T) {
	for _, tr := range operation.Lifecycle.Transitions {
		if tr.Allows(operation.Completed) {
			t.Errorf("%s leaves completed: its output would not be final", tr.Name)
		}
	}
}

// What is stored is never renamed: a new text would be unknown to the items that are there.
func TestStoredTextsStand(t *testing.T) {
	var texts []string
	for _, s := range operation.Lifecycle.States {
		texts = append(texts, string(s.Name))
	}
	for _, o := range []operation.Outcome{operation.Usable, operation.Flagged, operation.Unusable, operation.Truncated, operation.Transient, operation.Paused, operation.Stopped, operation.Lost} {
		texts = append(texts, string(o))
	}
	for _, c := range []operation.Category{operation.CategoryTransient, operation.CategoryProviderPaused, operation.CategoryInvalidInput, operation.CategoryUnusableOutput, operation.CategoryConfiguration, operation.CategoryBug, operation.CategorySpendLimit, operation.CategoryCancelled} {
		texts = append(texts, string(c))
	}
	want := []string{
		"pending", "running", "completed", "review", "failed", "rejected", "superseded",
		"usable", "flagged", "unusable", "truncated", "transient", "paused", "stopped", "lost",
		"transient", "provider paused", "invalid input", "unusable output", "configuration", "bug", "spend limit", "cancelled",
	}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
}
