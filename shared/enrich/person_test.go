package enrich_test

import (
	"testing"

	"engang/shared/inbox"
	"engang/shared/operation"
	"engang/shared/recipe"
)

func TestACancelledOrDismissedOperationIsNoNews(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.model.during = func() { // a person stops it while the call is under way
			op := w.operation("A")
			err := w.table.Cancel(t.Context(), operation.Cancellation{Key: op.Key, Token: op.Token, By: "ann", Note: "not wanted", WriteID: w.id(), Now: w.clock(), ExpiresAt: w.clock().AddDate(1, 0, 0)})
			if err != nil {
				t.Error(err)
			}
		}
		id := w.receive(arrival{name: "A", version: one})
		w.later(id) // fenced
		w.run(id)
		w.settled(id, inbox.Cancelled)
		again := w.receive(arrival{name: "A", version: two})
		w.run(again)
		w.settled(again, inbox.Cancelled)
		if w.result() != "none" || w.model.count() != 1 || len(w.sent.all) != 0 {
			t.Errorf("result %s, %d calls, %d notices", w.result(), w.model.count(), len(w.sent.all))
		}

		w.refused(arrival{name: "B", version: three})
		w.dismiss("B")
		repeat := w.receive(arrival{name: "B", version: "2026-11-29T09:59:59Z"})
		w.run(repeat)
		w.settled(repeat, inbox.Cancelled)
		if w.model.count() != 2 || len(w.sent.all) != 1 {
			t.Errorf("%d calls, %d notices", w.model.count(), len(w.sent.all))
		}
	})
}

// A draft that a person cancelled and redrives is there still: it waits for a decision, and is not paid for twice.
func TestACancelledDraftThatIsRedrivenIsNotPaidForTwice(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ref := w.apply("card", 1, recipe.PolicyDraft)
		id := w.receive(arrival{name: "A", version: one, recipes: []inbox.RecipeRef{ref}})
		w.run(id)
		draft := w.operation("A", ref)
		err := w.table.Cancel(t.Context(), operation.Cancellation{Key: draft.Key, Token: draft.Token, By: "ann", Note: "wrong season", WriteID: w.id(), Now: w.clock(), ExpiresAt: w.clock().AddDate(1, 0, 0)})
		if err != nil {
			t.Fatal(err)
		}
		w.redrive("A", ref)
		w.run(id)
		w.settled(id, inbox.InReview)
		if op := w.operation("A", ref); op.State != operation.Review || op.Digest != draft.Digest || w.model.count() != 1 {
			t.Errorf("operation %s with digest %s after %d calls, want the draft %s", op.State, op.Digest, w.model.count(), draft.Digest)
		}
		w.rest()
	})
}

// dismiss takes a failure off the review list, and the event that waits for it with it, as a person does.
func (w *world) dismiss(name string, ref ...inbox.RecipeRef) {
	w.t.Helper()
	op := w.operation(name, ref...)
	err := w.table.Dismiss(w.t.Context(), operation.Dismissal{
		Key: op.Key, Token: op.Token, Event: op.Event, Generation: w.event(op.Event).Generation, WithEvent: true, By: "ann", Note: "known", WriteID: w.id(),
		Now: w.clock(), ExpiresAt: w.clock().AddDate(1, 0, 0), EventExpiresAt: w.clock().AddDate(0, 1, 0),
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// A person decides about a failure between a worker's look at it and W10: the worker is told, and its event is not
// parked on what stands in no list any more.
func TestAFailureThatIsDecidedMeanwhileIsNoNews(t *testing.T) {
	for name, decide := range map[string]func(w *world){
		"dismissed": func(w *world) { w.dismiss("A") },
		"redriven and cancelled": func(w *world) {
			w.redrive("A")
			w.cancel("A")
		},
	} {
		for _, version := range []string{two, "2026-11-29T09:59:59Z"} { // a newer event, and an older one, whose rank W10 does not take
			t.Run(name+", "+version, func(t *testing.T) {
				each(t, func(t *testing.T, w *world) {
					first := w.refused(arrival{name: "A", version: one})
					id := w.receive(arrival{name: "A", version: version})
					meets := &hook{call: "W10 raise", do: func() { decide(w) }}
					if err := w.worker(meets).Run(t.Context(), id); err != nil {
						t.Fatal(err)
					}
					w.settled(id, inbox.Cancelled)
					w.run(first) // opened, where it was redriven
					newest := first
					if version == two {
						newest = id
					}
					if op := w.operation("A"); op.State != operation.Failed || !op.QueuedAt.IsZero() || op.Event != newest || w.model.count() != 1 || len(w.sent.all) != 1 {
						t.Errorf("operation %s waits since %v for %s; %d calls, %d notices", op.State, op.QueuedAt, op.Event, w.model.count(), len(w.sent.all))
					}
					w.rest()
				})
			})
		}
	}
}

// What failed again after it was dismissed and redriven is news again.
func TestAFailureAfterADismissalIsNewsAgain(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.model.script = []operation.Answer{refusal, refusal}
		id := w.receive(arrival{name: "A", version: one})
		w.run(id)
		w.dismiss("A")
		w.redrive("A")
		w.run(id)
		if op := w.operation("A"); w.event(id).State != inbox.Parked || op.QueuedAt.IsZero() || op.Dismissed != nil || len(w.sent.all) != 2 {
			t.Errorf("event %s, operation waits since %v, %d notices", w.event(id).State, op.QueuedAt, len(w.sent.all))
		}
		w.rest()
	})
}
