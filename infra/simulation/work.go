package simulation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"engang/shared/enrich"
)

// idle is a worker that has nothing to do; nil if there is none.
func (w *world) idle() *process {
	first := w.dice.below(len(w.workers), "idle", w.work.polls)
	for i := range w.workers {
		if p := w.workers[(first+i)%len(w.workers)]; !p.busy {
			return p
		}
	}
	return nil
}

// retryFirst bounds the first wait after a failure of the code's own, as the function does.
const retryFirst = 5 * time.Second

// receive has a worker take a message, and work on it.
func (w *world) receive(p *process) {
	m := w.work.receive()
	if m == nil {
		return
	}
	p.busy = true
	handle, receives := m.handle(), m.receives
	a := &actor{name: fmt.Sprintf("%s on %s/%d", p, m.id, receives), process: p, end: w.clock + workerTime}
	w.start(a, func(ctx context.Context) {
		err := w.workOn(ctx, p, m)
		if a.dead {
			return
		}
		if err == nil {
			_ = w.work.delete(ctx, handle) // what is not deleted comes again
			return
		}
		wait := time.Duration(p.random() * float64(retryFirst<<min(receives, 6)))
		if later, ok := errors.AsType[*enrich.Later](err); ok {
			wait = later.After
		}
		_ = w.work.Hide(ctx, handle, wait) // else it comes when its visibility ends
	})
}

func (w *world) workOn(ctx context.Context, p *process, m *message) error {
	if m.Notice != nil {
		return p.works().Redriven(ctx, *m.Notice)
	}
	return p.works().Run(ctx, m.Event)
}

// nextSweep is when the reconcilers run next and find something: at the first minute behind the last one in which an
// event is due. Sweeps that find nothing are left out, but for a few.
func (w *world) nextSweep() (time.Duration, bool) {
	if len(w.open) == 0 || w.Idle {
		return 0, false
	}
	first := time.Duration(-1)
	for _, due := range w.open {
		if first < 0 || due < first {
			first = due
		}
	}
	first += skew // by every clock
	minute := max((first + time.Minute - 1).Truncate(time.Minute), w.swept+time.Minute)
	return minute, true
}

// sweepAt has the reconcilers run: mostly both, at about the same time.
func (w *world) sweepAt(d time.Duration) {
	w.clock, w.swept = max(w.clock, d), d
	minute := int(d / time.Minute)
	for i := range 2 {
		if i == 1 && !w.dice.chance(600, "second sweep", minute) {
			break
		}
		p := w.processOf(fmt.Sprintf("reconciler %d", i+1))
		begin := w.clock + time.Duration(i)*w.dice.between(0, 3*time.Second, "sweep", minute)
		w.at(begin, "sweep", func() {
			w.counts.Sweeps++
			a := &actor{name: fmt.Sprintf("%s at minute %d", p, minute), process: p, end: w.clock + reconcilerTime}
			w.start(a, func(ctx context.Context) {
				_, _ = p.sweeps().Sweep(ctx) // what could not be handled is met again
			})
		})
	}
}
