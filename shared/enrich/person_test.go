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

		w.model.script = []operation.Answer{bad(operation.Unusable, operation.CategoryUnusableOutput, "refusal")}
		failed := w.receive(arrival{name: "B", version: three})
		w.run(failed)
		op := w.operation("B")
		err := w.table.Dismiss(t.Context(), operation.Dismissal{Key: op.Key, By: "ann", Note: "known", WriteID: w.id(), Now: w.clock(), ExpiresAt: w.clock().AddDate(1, 0, 0)})
		if err != nil {
			t.Fatal(err)
		}
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
