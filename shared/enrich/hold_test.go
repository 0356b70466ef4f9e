package enrich_test

import (
	"testing"
	"time"

	"engang/shared/inbox"
	"engang/shared/operation"
	"engang/shared/pause"
	"engang/shared/recipe"
	"engang/shared/recipe/compiled"
)

// applyAs adds a recipe as [world.apply] does, changed by edit.
func (w *world) applyAs(name string, version int, edit func(*recipe.Recipe)) inbox.RecipeRef {
	w.t.Helper()
	r := w.recipe[w.apply(name, version, recipe.PolicyAuto)].Recipe()
	edit(&r)
	c, err := compiled.New(r)
	if err != nil {
		w.t.Fatal(err)
	}
	w.recipe[r.Ref()] = c
	return r.Ref()
}

var quota = operation.Answer{Attempt: operation.Attempt{
	Outcome: operation.Paused, Category: operation.CategoryProviderPaused, Reason: "the quota is used up", Called: true, HTTPStatus: 429,
}}

var tiny = pause.Model{Scope: scope, Provider: "openai", Name: "tiny-2026-01-01"}

func (w *world) breaker() pause.Breaker {
	w.t.Helper()
	b, err := w.table.Breaker(w.t.Context(), tiny)
	if err != nil {
		w.t.Fatal(err)
	}
	return b
}

func (w *world) put(p pause.Pause) {
	w.t.Helper()
	p.By, p.At = "ann", w.clock()
	if err := w.table.PutPause(w.t.Context(), p); err != nil {
		w.t.Fatal(err)
	}
}

// open fails the test unless the event is open and due at that time.
func (w *world) open(id inbox.EventID, due time.Time) {
	w.t.Helper()
	if ev := w.event(id); ev.State != inbox.Received || !ev.DueAt.Equal(due) || ev.Sends != 0 {
		w.t.Errorf("event %s, due %v after %d sends; want open, due %v", ev.State, ev.DueAt, ev.Sends, due)
	}
}

func (w *world) settled(id inbox.EventID, how inbox.Outcome) {
	w.t.Helper()
	if ev := w.event(id); ev.State != inbox.Settled || ev.Outcome != how {
		w.t.Errorf("event %s %s (%s), want settled %s", ev.State, ev.Outcome, ev.Reason, how)
	}
}

// A used-up quota must cost one refused call, not one for each waiting event, and no attempt.
func TestABreakerHoldsAllWorkForItsModelAndAProbeDrainsIt(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.model.script = []operation.Answer{quota}
		first, second := w.receive(arrival{name: "A", version: one}), w.receive(arrival{name: "B", version: two})
		w.run(first)
		w.run(second)
		probe := w.clock().Add(limits.Pause)
		w.open(first, probe)
		w.open(second, probe)
		if b := w.breaker(); !b.Holds() || !b.Until.Equal(probe) || b.Reason != "the quota is used up" {
			t.Errorf("breaker %+v", b)
		}
		if op := w.operation("A"); w.model.count() != 1 || op.State != operation.Pending || op.Claims != 0 {
			t.Errorf("%d calls; operation %s with %d claims", w.model.count(), op.State, op.Claims)
		}

		w.pass(limits.Pause - time.Millisecond)
		w.run(first)
		if w.model.count() != 1 {
			t.Error("called before the probe time")
		}
		w.pass(time.Millisecond)
		w.model.script = []operation.Answer{quota} // the probe meets it again
		w.run(second)
		w.run(first) // somebody has probed: it waits for the next time
		next := w.clock().Add(limits.Pause)
		w.open(first, next)
		w.open(second, next)
		if op := w.operation("B"); w.model.count() != 2 || op.Claims != 0 || len(op.Attempts) != 1 {
			t.Errorf("%d calls; operation with %d claims and %d attempts", w.model.count(), op.Claims, len(op.Attempts))
		}

		w.pass(limits.Pause)
		w.run(first)
		w.settled(first, inbox.Completed)
		if w.breaker().Holds() {
			t.Error("the breaker is open after an answered probe")
		}
		w.run(second) // at once
		w.settled(second, inbox.Completed)
		if w.model.count() != 4 || w.result() != "about B @ "+two {
			t.Errorf("%d calls, result %s", w.model.count(), w.result())
		}
		w.rest()
	})
}

// Other processes know of an open breaker within the time that they believe what they have read.
func TestABreakerHoldsOtherProcessesAsWell(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.model.script = []operation.Answer{quota}
		id, other := w.receive(arrival{name: "A", version: one}), w.receive(arrival{name: "B", version: two})
		w.run(id)
		w.run(other) // run makes a worker of its own
		if w.model.count() != 1 {
			t.Errorf("%d calls", w.model.count())
		}
		if err := w.table.CloseBreaker(t.Context(), pause.Closing{Model: tiny, WriteID: w.id(), Now: w.clock()}); err != nil {
			t.Fatal(err)
		}
		w.run(other) // resumed by a person: before the probe time
		w.settled(other, inbox.Completed)
	})
}

// A process that has read "closed" a moment ago makes one more call, and opens nothing twice.
func TestAnOldReadOfABreakerCostsOneCall(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		slow := w.worker(nil)
		warm := w.receive(arrival{name: "W", version: one})
		if err := slow.Run(t.Context(), warm); err != nil { // it remembers: closed
			t.Fatal(err)
		}
		w.model.script = []operation.Answer{quota, quota}
		w.run(w.receive(arrival{name: "A", version: two}))
		opened := w.breaker()
		id := w.receive(arrival{name: "B", version: three})
		if err := slow.Run(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if b := w.breaker(); w.model.count() != 3 || !b.Until.Equal(opened.Until) || b.WriteID != opened.WriteID {
			t.Errorf("%d calls; breaker %+v, was %+v", w.model.count(), b, opened)
		}
		if op := w.operation("B"); op.Claims != 0 || op.State != operation.Pending {
			t.Errorf("operation %s with %d claims", op.State, op.Claims)
		}
	})
}

func TestAPauseByAPersonHoldsWhatItNames(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		note := w.applyAs("note", 1, func(r *recipe.Recipe) { r.Instructions = "Note." })
		id := w.receive(arrival{name: "A", version: one, recipes: []inbox.RecipeRef{{Name: "card", Version: 1}, note}})
		card := pause.Target{Scope: scope, Kind: pause.Recipe, Name: "card"}
		w.put(pause.Pause{Target: card})
		w.run(id)
		w.open(id, w.clock().Add(limits.Pause))
		if op := w.operation("A", note); op.State != operation.Completed || w.model.count() != 1 { // the other recipe goes on
			t.Errorf("operation %s, %d calls", op.State, w.model.count())
		}
		w.run(id)
		if err := w.table.RemovePause(t.Context(), card); err != nil {
			t.Fatal(err)
		}
		w.put(pause.Pause{Target: card, Until: w.clock().Add(time.Minute)})
		w.run(id)
		w.open(id, w.clock().Add(time.Minute)) // the pause's own end, since it is sooner
		w.pass(time.Minute)
		w.run(id)
		w.settled(id, inbox.Completed)
		if w.model.count() != 2 {
			t.Errorf("%d calls", w.model.count())
		}

		for _, target := range []pause.Target{{Scope: scope, Kind: pause.Everything}, {Scope: scope, Kind: pause.Endpoint, Name: "shop"}, {Scope: scope, Kind: pause.AModel, Name: "openai/tiny-2026-01-01"}} {
			w.put(pause.Pause{Target: target})
			id := w.receive(arrival{name: target.String(), version: two})
			w.run(id)
			w.open(id, w.clock().Add(limits.Pause))
			if err := w.table.RemovePause(t.Context(), target); err != nil {
				t.Fatal(err)
			}
			w.run(id)
			w.settled(id, inbox.Completed)
		}
		w.rest()
	})
}

// A recipe that failed and one that is held: the event comes again and again, and the dead-letter queue hears of the
// failure once, when the event is parked.
func TestANoticeIsSentWhenTheEventIsParked(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		note := w.applyAs("note", 1, func(r *recipe.Recipe) { r.Instructions = "Note." })
		w.put(pause.Pause{Target: pause.Target{Scope: scope, Kind: pause.Recipe, Name: "note"}})
		w.model.script = []operation.Answer{refusal}
		id := w.receive(arrival{name: "A", version: one, recipes: []inbox.RecipeRef{{Name: "card", Version: 1}, note}})
		for range 3 {
			w.run(id)
			w.pass(limits.Pause)
		}
		if len(w.sent.all) != 0 || w.model.count() != 1 {
			t.Errorf("%d notices, %d calls while it is held", len(w.sent.all), w.model.count())
		}
		if err := w.table.RemovePause(t.Context(), pause.Target{Scope: scope, Kind: pause.Recipe, Name: "note"}); err != nil {
			t.Fatal(err)
		}
		w.run(id)
		if ev := w.event(id); ev.State != inbox.Parked || len(w.sent.all) != 1 || w.sent.all[0].Operation == "" {
			t.Errorf("event %s, notices %+v", ev.State, w.sent.all)
		}
		w.rest()
	})
}

// The first recipe is done and needs no call: its probe is the second one's, else the event would be held at each
// probe time for ever.
func TestAProbeThatNeedsNoCallIsTheNextRecipes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		note := w.applyAs("note", 1, func(r *recipe.Recipe) { r.Instructions = "Note." })
		w.model.script = []operation.Answer{answer("a good text"), quota}
		id := w.receive(arrival{name: "A", version: one, recipes: []inbox.RecipeRef{{Name: "card", Version: 1}, note}})
		w.run(id)
		w.open(id, w.clock().Add(limits.Pause))
		w.pass(limits.Pause)
		w.run(id)
		w.settled(id, inbox.Completed)
		if w.model.count() != 3 || w.breaker().Holds() {
			t.Errorf("%d calls, breaker %+v", w.model.count(), w.breaker())
		}
		w.rest()
	})
}
