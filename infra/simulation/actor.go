package simulation

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"engang/shared/inbox"
)

var (
	errKilled    = errors.New("the process is gone")
	errLost      = errors.New("connection reset")
	errThrottled = errors.New("too many requests")
)

// An actor is one run of one function, or one act of a person. It runs only while the schedule lets it, from one step
// to the next, on a stack of its own.
type actor struct {
	w       *world
	name    string
	process *process
	person  bool // reads are no steps of theirs
	again   bool // what is done is done for the second time
	ctx     context.Context
	cancel  context.CancelFunc
	end     time.Duration // when its time is over; zero: never

	next   func() (struct{}, bool)
	stop   func()
	yield  func(struct{}) bool
	steps  int           // so far
	faults int           // that it met
	wake   time.Duration // not before
	over   bool          // its time was over when its turn came
	dead   bool

	began     time.Duration
	event     inbox.EventID // for which it took a lease last
	operation string        // whose
	token     int64
	paying    *paying
	called    bool // a call was paid for since, and nothing is recorded of it
}

type actorKey struct{}

func actorOf(ctx context.Context) *actor {
	a, _ := ctx.Value(actorKey{}).(*actor)
	return a
}

// start adds an actor, whose first turn comes by the schedule.
func (w *world) start(a *actor, do func(ctx context.Context)) {
	a.w, a.wake, a.began = w, w.clock, w.clock
	ctx, cancel := context.WithCancel(w.ctx)
	a.ctx, a.cancel = context.WithValue(ctx, actorKey{}, a), cancel
	a.next, a.stop = iter.Pull(func(yield func(struct{}) bool) {
		defer cancel()
		defer a.bug()
		a.yield = yield
		do(a.ctx)
	})
	w.actors = append(w.actors, a)
}

// bug notes a panic: nothing that is simulated may make the code do that.
func (a *actor) bug() {
	if p := recover(); p != nil {
		a.w.violated("a bug: %s: %v", a.name, p)
	}
}

// kill ends the process where it stands: nothing of it leaves the machine any more.
func (a *actor) kill() {
	a.dead = true
	a.faults++
	a.process.renew()
	a.cancel()
}

// pause gives the turn away until the schedule comes back, at the earliest after d.
func (a *actor) pause(d time.Duration) error {
	if a.dead {
		return errKilled
	}
	a.wake = a.w.clock + d
	if !a.yield(struct{}{}) { // the world ends
		a.dead = true
		a.cancel()
		return errKilled
	}
	if a.over {
		a.w.counts.TimesOver++
		a.w.note(a, "", "its time is over")
		a.kill()
		return errKilled
	}
	return nil
}

// wait is how the code under test waits.
func (a *actor) wait(_ context.Context, d time.Duration) error { return a.pause(d) }

// A call is one step: a request to something outside.
type call struct {
	name string // as the code names it: "W3 claim"
	on   string // what it is about, for the history
	try  int    // 1 for the first
}

// step waits for its turn, lets the call take effect, and meets what fate has for it: before it, nothing was done;
// after it, nobody knows. An error of do is the answer.
func (a *actor) step(c call, do func() (answer string)) error {
	backoff := time.Duration(0)
	if c.try > 1 {
		backoff = a.w.dice.between(0, 200*time.Millisecond<<min(c.try, 6), "backoff "+a.name, a.steps)
	}
	if err := a.pause(backoff); err != nil {
		return err
	}
	a.steps++
	f := a.w.fate(a, c)
	if f.kind == stallBefore {
		a.w.note(a, c.text(), f.String())
		if err := a.pause(f.long); err != nil {
			return err
		}
	}
	switch f.kind {
	case dieBefore:
		a.w.note(a, c.text(), f.String())
		a.kill()
		return errKilled
	case loseRequest, throttle:
		a.w.note(a, c.text(), f.String())
		return f.err()
	}
	answer := do()
	a.w.note(a, c.text(), answer+f.after())
	switch f.kind {
	case dieAfter:
		a.kill()
		return errKilled
	case loseAnswer:
		return errLost
	case stallAfter:
		return a.pause(f.long)
	}
	return nil
}

func (c call) text() string {
	if c.try > 1 {
		return fmt.Sprintf("%s %s, try %d", c.name, c.on, c.try)
	}
	return c.name + " " + c.on
}
