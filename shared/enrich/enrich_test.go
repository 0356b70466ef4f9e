package enrich_test

import (
	"testing"
	"time"

	"engang/shared/inbox"
	"engang/shared/operation"
	"engang/shared/recipe"
)

const (
	noon  = "2026-11-29T12:00:00Z"
	one   = "2026-11-29T13:00:00Z"
	two   = "2026-11-29T14:00:00Z"
	three = "2026-11-29T15:00:00Z"
)

func TestANewEventIsOneCallAndOneResult(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id := w.receive(arrival{name: "Chair", version: noon})
		w.run(id)
		w.run(id) // a message that comes twice
		if got := w.result(); got != "about Chair @ "+noon {
			t.Errorf("result %s", got)
		}
		ev, op := w.event(id), w.operation("Chair")
		if ev.State != inbox.Settled || ev.Outcome != inbox.Completed {
			t.Errorf("event is %s, %s", ev.State, ev.Outcome)
		}
		if w.model.count() != 1 || len(op.Attempts) != 1 || op.Attempts[0].CostUSD.String() != "0.000056" {
			t.Errorf("%d calls, attempts %+v", w.model.count(), op.Attempts)
		}
		w.rest()
	})
}

func TestTheEventIsReadUntilItIsThere(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		if err := w.worker(nil).Run(t.Context(), "evt_aaaaaaaaaaaaaaaa"); err == nil {
			t.Error("a message whose event is not visible yet was dropped")
		}
	})
}

func TestOlderNewerAndEqualVersions(t *testing.T) {
	tests := []struct {
		name    string
		arrive  []arrival
		work    []int // order in which they are worked on
		result  string
		calls   int
		outcome inbox.Outcome // of the event worked on last
	}{
		{"the older one comes late: superseded without a call", []arrival{{name: "B", version: two}, {name: "A", version: one}}, []int{0, 1}, "about B @ " + two, 1, inbox.Superseded},
		{"the older one comes first: both are paid", []arrival{{name: "A", version: one}, {name: "B", version: two}}, []int{0, 1}, "about B @ " + two, 2, inbox.Completed},
		{"they finish in the other order", []arrival{{name: "A", version: one}, {name: "B", version: two}}, []int{1, 0}, "about B @ " + two, 1, inbox.Superseded},
		{"echo: the same content as a newer version raises the result's rank", []arrival{{name: "A", version: one}, {name: "A", version: two}}, []int{0, 1}, "about A @ " + two, 1, inbox.Completed},
		{"echo: then a late version in between changes nothing", []arrival{{name: "A", version: one}, {name: "A", version: three}, {name: "B", version: two}}, []int{0, 1, 2}, "about A @ " + three, 1, inbox.Superseded},
		{"the same second: the one stored later wins", []arrival{{name: "A", version: one}, {name: "B", version: one}}, []int{0, 1}, "about B @ " + one, 2, inbox.Completed},
		{"the same second, worked on in the other order", []arrival{{name: "A", version: one}, {name: "B", version: one}}, []int{1, 0}, "about B @ " + one, 1, inbox.Superseded},
		{"A, B, A: the superseded operation is taken up again", []arrival{{name: "B", version: two}, {name: "A", version: one}, {name: "A", version: three}}, []int{0, 1, 2}, "about A @ " + three, 2, inbox.Completed},
		{"A, B, A in order: an echo of the first", []arrival{{name: "A", version: one}, {name: "B", version: two}, {name: "A", version: three}}, []int{0, 1, 2}, "about A @ " + three, 2, inbox.Completed},
		{"a superseded one again, not newer: no claim", []arrival{{name: "B", version: two}, {name: "A", version: one}, {name: "A", version: noon}}, []int{0, 1, 2}, "about B @ " + two, 1, inbox.Superseded},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				var ids []inbox.EventID
				for _, a := range tt.arrive {
					ids = append(ids, w.receive(a))
				}
				for _, i := range tt.work {
					w.run(ids[i])
				}
				last := w.event(ids[tt.work[len(tt.work)-1]])
				if got := w.result(); got != tt.result || w.model.count() != tt.calls || last.Outcome != tt.outcome {
					t.Errorf("result %s, %d calls, last event %s; want %s, %d, %s", got, w.model.count(), last.Outcome, tt.result, tt.calls, tt.outcome)
				}
				w.rest()
			})
		})
	}
}

func TestAnOperationThatWasCleanedUpIsMadeAgainFromItsResult(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.run(w.receive(arrival{name: "A", version: one}))
		w.remove(w.operation("A").Key)
		w.run(w.receive(arrival{name: "A", version: two}))
		if w.model.count() != 1 || w.result() != "about A @ "+two {
			t.Errorf("%d calls, result %s", w.model.count(), w.result())
		}
		w.rest()
	})
}

func TestEveryRecipeOfAnEventIsDoneOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		card, tags := inbox.RecipeRef{Name: "card", Version: 1}, w.apply("tags", 1, recipe.PolicyAuto)
		id := w.receive(arrival{name: "A", version: one, recipes: []inbox.RecipeRef{card, tags}})
		w.model.script = []operation.Answer{answer("about A"), refusal}
		w.run(id)
		ev := w.event(id)
		if ev.State != inbox.Parked || len(ev.Operations) != 1 || w.operation("A").State != operation.Completed {
			t.Fatalf("event is %s with %v; the first recipe is %s", ev.State, ev.Operations, w.operation("A").State)
		}
		w.redrive("A", tags)
		w.run(id)
		if ev := w.event(id); ev.Outcome != inbox.Completed || w.model.count() != 3 {
			t.Errorf("event is %s after %d calls, want completed after 3", ev.Outcome, w.model.count())
		}
		w.rest()
	})
}

func TestAnEventWithoutARecipeIsSettled(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id := w.receive(arrival{name: "A", version: one, recipes: []inbox.RecipeRef{}})
		w.run(id)
		if ev := w.event(id); ev.Outcome != inbox.NoRecipe || w.model.count() != 0 {
			t.Errorf("event is %s, %d calls", ev.Outcome, w.model.count())
		}
		w.rest()
	})
}

func TestAnEventWaitsForItsConfiguration(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id := w.receive(arrival{name: "A", version: one, recipes: []inbox.RecipeRef{{Name: "gone", Version: 9}}})
		w.run(id) // the message is deleted
		if ev := w.event(id); ev.State != inbox.Received || !ev.DueAt.Equal(w.clock().Add(limits.Pause).Truncate(time.Millisecond)) {
			t.Errorf("event is %s, due %s", ev.State, ev.DueAt)
		}
	})
}

func TestInvalidInputIsParkedWithoutAnOperation(t *testing.T) {
	tests := []struct {
		name   string
		arrive arrival
		reason string
	}{
		{"the receiver saw it", arrival{name: "A", version: one, flaw: "the payload names no object"}, "the payload names no object"},
		{"the recipe misses a field", arrival{version: one, key: "k"}, "card@1: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				id := w.receive(tt.arrive)
				w.run(id)
				ev := w.event(id)
				if ev.State != inbox.Parked || len(ev.Reason) < len(tt.reason) || ev.Reason[:len(tt.reason)] != tt.reason || ev.Category != string(operation.CategoryInvalidInput) {
					t.Errorf("event is %s, %q, %q", ev.State, ev.Reason, ev.Category)
				}
				if len(w.sent.all) != 1 || w.sent.all[0].Event != id || w.sent.all[0].Operation != "" || w.sent.all[0].Reason != ev.Reason {
					t.Errorf("notices %+v", w.sent.all)
				}
				if w.model.count() != 0 || len(w.items().Operations()) != 0 {
					t.Errorf("%d calls, %d operations", w.model.count(), len(w.items().Operations()))
				}
				w.rest()
			})
		})
	}
}

func TestDraftsWaitAndNobodyIsAskedTwice(t *testing.T) {
	tests := []struct {
		name   string
		policy recipe.Policy
		output string
		reason string
	}{
		{"policy draft", recipe.PolicyDraft, "about A", "policy draft"},
		{"a check of ours did not pass", recipe.PolicyAuto, "x", "/summary"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				ref := w.apply("card", 1, tt.policy)
				w.model.script = []operation.Answer{answer(tt.output)}
				id := w.receive(arrival{name: "A", version: one})
				w.run(id)
				echo := w.receive(arrival{name: "A", version: two})
				w.run(echo)
				op := w.operation("A", ref)
				if op.State != operation.Review || op.Event != echo || op.Rank.Version().String() != two || len(op.Reason) < len(tt.reason) || op.Reason[:len(tt.reason)] != tt.reason {
					t.Errorf("operation is %s for %s, %s, %q", op.State, op.Event, op.Rank, op.Reason)
				}
				if w.event(id).Outcome != inbox.InReview || w.event(echo).Outcome != inbox.InReview || w.model.count() != 1 || w.result() != "none" {
					t.Errorf("events %s, %s; %d calls; result %s", w.event(id).Outcome, w.event(echo).Outcome, w.model.count(), w.result())
				}
				w.rest()
			})
		})
	}
}
