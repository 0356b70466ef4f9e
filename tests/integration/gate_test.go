package integration_test

import (
	"sync"
	"testing"
	"time"

	"engang/infra/local"
	"engang/infra/local/wire"
)

// calm is the speed of tests in which nothing has to run out: no worker gives a lease up because the
// machine is busy.
const calm = 5

// A gate holds a call of the workers, or of another function, back, each time it is made, until the test lets it go.
type gate struct {
	function string
	call     string
	phase    wire.Phase
	held     chan chan struct{}
	over     chan struct{}
}

func newGate(call string, phase wire.Phase) *gate {
	return &gate{function: "enrichment", call: call, phase: phase, held: make(chan chan struct{}), over: make(chan struct{})}
}

func (g *gate) judge(c wire.Call, p wire.Phase) wire.Verdict {
	if c.Function != g.function || c.Name != g.call || p != g.phase {
		return wire.Pass
	}
	pass := make(chan struct{})
	select {
	case g.held <- pass:
	case <-g.over:
		return wire.Pass
	}
	select {
	case <-pass:
	case <-g.over:
	}
	return wire.Pass
}

// next waits for the next call that is held back, and returns what lets it go.
func (g *gate) next(t testing.TB) (pass func()) {
	t.Helper()
	select {
	case c := <-g.held:
		return func() { close(c) }
	case <-time.After(20 * time.Second):
		t.Fatalf("no worker came to %s", g.call)
		return nil
	}
}

// eachGated is each with a gate of its own for every system.
func eachGated(t *testing.T, o local.Options, call string, phase wire.Phase, test func(t *testing.T, s *system, g *gate)) {
	t.Helper()
	onEach(t, func(t *testing.T, begin func(local.Options) *system) {
		g := newGate(call, phase)
		o := o
		o.Judge = g.judge
		s := begin(o)
		t.Cleanup(func() { close(g.over) }) // before the system closes, which waits for what is held back
		test(t, s, g)
	})
}

// eachCase runs cases on each engine, all at once, on a system of its own each, however few processors
// there are: they wait more than they work.
func eachCase[C any](t *testing.T, cases map[string]C, options func(c C) local.Options, test func(t *testing.T, s *system, c C)) {
	t.Helper()
	onEach(t, func(t *testing.T, begin func(local.Options) *system) {
		var all sync.WaitGroup
		for name, c := range cases {
			all.Go(func() {
				t.Run(name, func(t *testing.T) {
					s := begin(options(c)) // it ends with the test around this one
					s.t = t
					test(t, s, c)
				})
			})
		}
		all.Wait()
	})
}

// A batch is one that the event source has taken and that is in work.
type batch struct{ done chan struct{} }

// work lets the event source take one batch in the background.
func (s *system) work() batch {
	b := batch{make(chan struct{})}
	go func() {
		defer close(b.done)
		if n, err := s.Work(s.t.Context()); err != nil || n == 0 {
			s.t.Errorf("work: %d messages, %v", n, err)
		}
	}()
	return b
}

func (b batch) wait() { <-b.done }

// tick waits for the next millisecond: what is stored then was stored later, not at the same time.
func tick() {
	for at := time.Now().UnixMilli(); time.Now().UnixMilli() <= at; {
		time.Sleep(100 * time.Microsecond)
	}
}
