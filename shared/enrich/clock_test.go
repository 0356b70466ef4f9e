package enrich_test

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"engang/shared/config"
	"engang/shared/enrich"
	"engang/shared/inbox"
	"engang/shared/operation"
)

// off is a worker whose clock is wrong by what a test says at the moment.
func (w *world) off(by *time.Duration) *enrich.Worker {
	return enrich.New(enrich.Deps{
		Store: w.db.Open(nil), Recipes: w, Model: w.model, Bodies: inline{}, Notices: w.sent, Limits: limits,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Now: func() time.Time { return w.clock().Add(*by) }, NewID: w.id, Random: func() float64 { return 0.5 },
	})
}

// A clock that jumps while the call is under way loses nothing: writes go by the token, never by the clock.
func TestAClockThatJumpsDuringTheCall(t *testing.T) {
	for name, jump := range map[string]time.Duration{"an hour ahead": time.Hour, "an hour back": -time.Hour, "ten years ahead": 10 * 365 * 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				var by time.Duration
				id := w.receive(arrival{name: "A", version: one})
				w.model.during = func() { by = jump }
				if err := w.off(&by).Run(t.Context(), id); err != nil {
					t.Fatal(err)
				}
				w.settled(id, inbox.Completed)
				op := w.operation("A")
				if w.model.count() != 1 || op.State != operation.Completed || len(op.Attempts) != 1 || op.Attempts[0].Outcome != operation.Usable || w.result() != "about A @ "+one {
					t.Errorf("%d calls, operation %+v, result %s", w.model.count(), op, w.result())
				}
				w.run(w.receive(arrival{name: "B", version: two})) // the next worker has the right time
				if w.result() != "about B @ "+two {
					t.Errorf("result %s", w.result())
				}
				w.rest()
			})
		})
	}
}

// A worker whose clock is an hour back writes a lease that is over for all others: a second call, which is recorded,
// and one result.
func TestALeaseByAClockThatIsBehindCostsACall(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		by := -time.Hour
		id := w.receive(arrival{name: "A", version: one})
		w.model.during = func() { w.run(id) }
		if err := w.off(&by).Run(t.Context(), id); err == nil {
			t.Error("the fenced worker deletes its message as if it had done the work")
		}
		w.settled(id, inbox.Completed)
		op := w.operation("A")
		if w.model.count() != 2 || op.Token != 2 || op.State != operation.Completed || len(w.items().Losing()) != 1 {
			t.Errorf("%d calls, operation %+v, losing %v", w.model.count(), op, w.items().Losing())
		}
		w.rest()
	})
}

// A worker whose clock is an hour ahead dies with a lease that lasts an hour longer: the work is late, and is done.
func TestALeaseByAClockThatIsAheadIsWaitedFor(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		by := time.Hour
		id := w.receive(arrival{name: "A", version: one})
		ctx, kill := context.WithCancel(t.Context())
		w.model.during = kill
		if err := w.off(&by).Run(ctx, id); err == nil {
			t.Fatal("the worker lived")
		}
		if l := w.later(id); l.After < time.Hour {
			t.Errorf("again after %s", l.After)
		}
		w.pass(time.Hour + limits.Lease + limits.Skew + time.Second)
		w.run(id)
		w.settled(id, inbox.Completed)
		if op := w.operation("A"); op.Token != 2 || w.result() != "about A @ "+one {
			t.Errorf("operation %+v, result %s", op, w.result())
		}
		w.rest()
	})
}

// A moment that a wrong clock put far ahead is kept to, and one that it put behind is over at once: neither burns an
// attempt that was not made.
func TestABackoffByAWrongClock(t *testing.T) {
	for name, c := range map[string]struct{ by, wait time.Duration }{
		"an hour ahead": {time.Hour, time.Hour}, "an hour behind": {-time.Hour, 0},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				by := c.by
				w.model.script = []operation.Answer{rateLimited}
				id := w.receive(arrival{name: "A", version: one})
				_ = w.off(&by).Run(t.Context(), id) // comes again, or is postponed: by its own clock
				w.pass(c.wait + time.Minute)
				w.run(id)
				w.settled(id, inbox.Completed)
				if op := w.operation("A"); op.Claims != 2 || w.model.count() != 2 {
					t.Errorf("%d claims, %d calls", op.Claims, w.model.count())
				}
				w.rest()
			})
		})
	}
}

// What is not priced is not called: no limit could be kept, and what it cost would be taken for nothing.
func TestAModelWithoutAPriceIsNotCalled(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		priced := w.common.Providers
		w.common.Providers = map[string]config.Provider{"openai": {}}
		id := w.receive(arrival{name: "A", version: one})
		for range 3 {
			w.run(id)
			w.open(id, w.clock().Add(limits.Pause))
			w.pass(limits.Pause)
		}
		op := w.operation("A")
		if w.model.count() != 0 || op.State != operation.Pending || op.Claims != 0 || len(op.Attempts) != 1 || op.Attempts[0].Outcome != operation.Stopped || op.Attempts[0].Category != operation.CategoryConfiguration || op.Attempts[0].Called {
			t.Errorf("%d calls, operation %+v", w.model.count(), op)
		}
		w.common.Providers = priced
		w.run(id)
		w.settled(id, inbox.Completed)
		if op := w.operation("A"); w.model.count() != 1 || op.Claims != 1 {
			t.Errorf("%d calls, %d claims", w.model.count(), op.Claims)
		}
		w.rest()
	})
}
