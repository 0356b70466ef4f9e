package enrich_test

import (
	"fmt"
	"testing"
	"time"

	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/recipe"
)

// save stores an event of a recipe with a quiet period, with its head, as the receiver does it.
func (w *world) save(a arrival, headed bool) inbox.EventID {
	w.t.Helper()
	id := w.receive(a)
	if !headed {
		return id
	}
	ev := w.event(id)
	err := w.table.PutHead(w.t.Context(), inbox.Head{Scope: scope, Object: ev.Object, Recipe: "card", Rank: ev.Rank, Event: id, ExpiresAt: w.clock().AddDate(0, 0, 7)})
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

func quiet(r *recipe.Recipe) { r.QuietSeconds = 30 }

// Five quick saves are one call; each coalesced one names a stored newer one.
func TestQuickSavesAreOneCall(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ref := w.applyAs("card", 1, quiet)
		var ids []inbox.EventID
		for i := range 5 {
			ids = append(ids, w.save(arrival{name: fmt.Sprint("text ", i), version: fmt.Sprintf("2026-11-29T13:00:0%dZ", i), recipes: []inbox.RecipeRef{ref}}, true))
		}
		for _, id := range ids {
			w.run(id)
		}
		for _, id := range ids[:4] {
			w.settled(id, inbox.Coalesced)
			if ev := w.event(id); ev.Reason != string(ids[4]) {
				t.Errorf("coalesced by %q, want %s", ev.Reason, ids[4])
			}
		}
		w.settled(ids[4], inbox.Completed)
		if w.model.count() != 1 || w.result() != "about text 4 @ 2026-11-29T13:00:04Z" {
			t.Errorf("%d calls, result %s", w.model.count(), w.result())
		}
		w.rest()
	})
}

// A receiver that died between the event and its head costs one call more, and the newest wins all the same.
func TestASaveWithoutItsHeadCostsOneCallMore(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ref := w.applyAs("card", 1, quiet)
		refs := []inbox.RecipeRef{ref}
		first := w.save(arrival{name: "A", version: one, recipes: refs}, true)
		headless := w.save(arrival{name: "B", version: two, recipes: refs}, false)
		w.run(first) // it knows of no newer one
		w.run(headless)
		w.settled(headless, inbox.Completed)
		if w.model.count() != 2 || w.result() != "about B @ "+two {
			t.Errorf("%d calls, result %s", w.model.count(), w.result())
		}
		w.rest()
	})
}

// A crash between the two writes of a coalesced event leaves its operation given back.
func TestACoalescedEventThatIsMetAgainIsCoalesced(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ref := w.applyAs("card", 1, quiet)
		refs := []inbox.RecipeRef{ref}
		older := w.save(arrival{name: "A", version: one, recipes: refs}, true)
		newest := w.save(arrival{name: "B", version: two, recipes: refs}, true)
		w.die(older, "W6 settle")
		if op := w.operation("A", ref); op.State != operation.Superseded {
			t.Fatalf("operation %s", op.State)
		}
		w.run(older)
		w.settled(older, inbox.Coalesced)
		w.run(newest)
		back := w.save(arrival{name: "A", version: three, recipes: refs}, true) // A, B, A: the operation is taken up again
		w.run(back)
		w.settled(back, inbox.Completed)
		if w.model.count() != 2 || w.result() != "about A @ "+three {
			t.Errorf("%d calls, result %s", w.model.count(), w.result())
		}
		w.rest()
	})
}

// A repeat of an open event writes the head again, with the rank of its own receipt. It is nobody's newer event: neither
// the event's own, which would wait for itself for ever, nor that of one of the same second that was stored after it.
func TestARepeatIsNoNewerEvent(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ref := w.applyAs("card", 1, quiet)
		refs := []inbox.RecipeRef{ref}
		first := w.save(arrival{name: "A", version: one, recipes: refs}, true)
		w.pass(time.Second)
		second := w.save(arrival{name: "B", version: one, recipes: refs}, true)
		w.pass(time.Second)
		version, err := object.ParseVersion(one)
		if err != nil {
			t.Fatal(err)
		}
		ev := w.event(first)
		again := inbox.Head{Scope: scope, Object: ev.Object, Recipe: "card", Rank: object.NewRank(version, w.clock(), "again"), Event: first, ExpiresAt: w.clock().AddDate(0, 0, 7)}
		if err := w.table.PutHead(t.Context(), again); err != nil {
			t.Fatal(err)
		}
		w.run(first)
		w.run(second)
		w.settled(first, inbox.Completed)
		w.settled(second, inbox.Completed)
		if w.result() != "about B @ "+one {
			t.Errorf("result %s", w.result())
		}
		w.rest()
	})
}

// A newer save that nothing can be made of, and that a person has dismissed, does not do the work of an older one that
// comes late: else the object would have no result, and nothing would wait for anybody.
func TestADismissedNewerEventDoesNobodysWork(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ref := w.applyAs("card", 1, quiet)
		newer := w.save(arrival{version: two, key: "nameless", recipes: []inbox.RecipeRef{ref}}, true)
		w.run(newer)
		if e := w.event(newer); e.State != inbox.Parked {
			t.Fatalf("event %s", e.State)
		}
		older := w.save(arrival{name: "A", version: one, recipes: []inbox.RecipeRef{ref}}, true)
		latest := w.save(arrival{name: "B", version: one, key: "late", recipes: []inbox.RecipeRef{ref}}, true)
		w.run(older)
		if e := w.event(older); e.Outcome != inbox.Coalesced { // it waits for a person, in the newer one's place
			t.Errorf("before: %s, %s", e.State, e.Outcome)
		}
		d := inbox.Dismissal{Event: newer, By: "ann", Note: "no name", Now: w.clock(), ExpiresAt: w.clock().AddDate(0, 0, 30)}
		if err := w.table.DismissEvent(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		w.run(latest)
		if e := w.event(latest); e.Outcome != inbox.Completed {
			t.Errorf("after: %s, %s by %q", e.State, e.Outcome, e.Reason)
		}
	})
}
