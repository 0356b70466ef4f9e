package inbox_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"engang/shared/inbox"
	"engang/shared/lifecycle/lifecycletest"
)

func TestPictureIsTheTable(t *testing.T) { lifecycletest.Picture(t, inbox.Lifecycle) }

func TestLifecycleHasNoFault(t *testing.T) {
	if err := inbox.Lifecycle.Check(); err != nil {
		t.Error(err)
	}
}

// TestEveryStateAndTransition says for each pair whether it is allowed, and where it leads: infra/design.md
// section 6 written down a second time, by hand.
func TestEveryStateAndTransition(t *testing.T) {
	states := []inbox.State{inbox.Received, inbox.Settled, inbox.Parked}
	want := map[string]map[inbox.State]inbox.State{
		"settle":        {inbox.Received: inbox.Settled},
		"park":          {inbox.Received: inbox.Parked},
		"push":          {inbox.Received: inbox.Received},
		"hand over":     {inbox.Parked: inbox.Settled},
		"take up again": {inbox.Parked: inbox.Received},
		"redrive":       {inbox.Received: inbox.Received, inbox.Settled: inbox.Received, inbox.Parked: inbox.Received},
		"reopen":        {inbox.Parked: inbox.Received},
		"dismiss":       {inbox.Parked: inbox.Parked},
		"replay":        {inbox.Settled: inbox.Received},
		"erase":         {inbox.Received: inbox.Settled, inbox.Parked: inbox.Settled},
		"empty":         {inbox.Settled: inbox.Settled},
	}
	if len(states) != len(inbox.Lifecycle.States) || len(want) != len(inbox.Lifecycle.Transitions) {
		t.Fatalf("%d states and %d transitions, the matrix has %d and %d", len(inbox.Lifecycle.States), len(inbox.Lifecycle.Transitions), len(states), len(want))
	}
	for _, tr := range inbox.Lifecycle.Transitions {
		for _, from := range states {
			to, allowed := want[tr.Name][from]
			if tr.Allows(from) != allowed || allowed && tr.To != to {
				t.Errorf("%s from %s: allowed %v to %s, want %v to %s", tr.Name, from, tr.Allows(from), tr.To, allowed, to)
			}
		}
		if slices.Contains([]string{"redrive", "reopen", "dismiss", "replay", "erase", "empty"}, tr.Name) != tr.Person {
			t.Errorf("%s: a person moves it: %v", tr.Name, tr.Person)
		}
	}
}

// What is stored is never renamed: a new text would be unknown to the items that are there.
func TestStoredTextsStand(t *testing.T) {
	var texts []string
	for _, s := range inbox.Lifecycle.States {
		texts = append(texts, string(s.Name))
	}
	for _, o := range []inbox.Outcome{inbox.Completed, inbox.Superseded, inbox.InReview, inbox.Rejected, inbox.Coalesced, inbox.Split, inbox.NoRecipe, inbox.Cancelled} {
		texts = append(texts, string(o))
	}
	want := []string{"received", "settled", "parked", "completed", "superseded", "review", "rejected", "coalesced", "split", "no recipe", "cancelled"}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
}
