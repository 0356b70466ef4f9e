package integration_test

import (
	"encoding/json"
	"slices"
	"sync/atomic"
	"testing"

	"engang/infra/local"
	"engang/infra/local/wire"
	"engang/shared/control"
)

// Two save the same content, and both deliveries are cancelled while a worker has the newer one in hand. What the older
// one began is cancelled with the newer, so that the worker finds nothing to claim.
func TestCancelOfBothEventsOfOneContent(t *testing.T) {
	eachGated(t, local.Options{Speed: calm}, "W3 claim", wire.Before, func(t *testing.T, s *system, g *gate) {
		s.fails("429", 2)
		older := s.accept(s.product(oldChair))
		begun := s.work()
		g.next(t)()
		begun.wait()
		op := s.object("product:794").Operations[0]
		if op.State != "pending" {
			t.Fatalf("operation %+v", op)
		}
		again := oldChair
		again.Modified = "2026-11-30T11:59:58"
		newer := s.accept(s.product(again))
		working := s.work()
		pass := g.next(t)
		if got := s.cancel(newer); !slices.Equal(got.Operations, []string{op.ID}) {
			t.Errorf("the newer one: %+v", got)
		}
		pass()
		working.wait()
		if got := s.cancel(older); got.Was != "received" || len(got.Operations) != 0 {
			t.Errorf("the older one: %+v", got)
		}
		s.rest()
		s.settledAs(newer, "cancelled")
		s.settledAs(older, "cancelled")
		s.cancelled("product:794")
		if s.calls() != 1 {
			t.Errorf("%d calls", s.calls())
		}
	})
}

// An older delivery is cancelled. The newer one of the same content goes on, and its work with it.
func TestCancelOfAnOlderEventSparesTheNewerOne(t *testing.T) {
	eachGated(t, local.Options{Speed: calm}, "W4 complete", wire.Before, func(t *testing.T, s *system, g *gate) {
		ahead := oldChair
		ahead.Modified = "2026-11-30T11:59:58"
		newer := s.accept(s.product(ahead))
		working := s.work()
		pass := g.next(t)
		older := s.accept(s.product(oldChair)) // late
		if got := s.cancel(older); len(got.Operations) != 0 || got.Already {
			t.Errorf("%+v", got)
		}
		pass()
		working.wait()
		s.rest()
		s.settledAs(older, "cancelled")
		s.settledAs(newer, "completed")
		if o := s.object("product:794"); len(o.Results) != 1 || o.Results[0].Event != newer || s.calls() != 1 {
			t.Errorf("%d calls, object %+v", s.calls(), o)
		}
	})
}

// A switched gate holds nothing back until it is on.
type switched struct {
	*gate
	on atomic.Bool
}

func (g *switched) judge(c wire.Call, p wire.Phase) wire.Verdict {
	if !g.on.Load() {
		return wire.Pass
	}
	return g.gate.judge(c, p)
}

// What an older event began is superseded after the cancellation found it at work, so that the worker with the newest
// event in hand could claim it. It finds it cancelled.
func TestCancelOfAnEventWhoseWorkIsGivenBackMeanwhile(t *testing.T) {
	onEach(t, func(t *testing.T, begin func(local.Options) *system) {
		claims, aside, look := &switched{gate: newGate("W3 claim", wire.Before)}, &switched{gate: newGate("W8 supersede", wire.Before)}, &switched{gate: newGate("query object", wire.Before)}
		look.function = "console"
		all := []*switched{claims, aside, look}
		s := begin(local.Options{Speed: calm, Judge: func(c wire.Call, p wire.Phase) wire.Verdict {
			for _, g := range all {
				g.judge(c, p)
			}
			return wire.Pass
		}})
		t.Cleanup(func() {
			for _, g := range all {
				close(g.over)
			}
		})
		s.accept(s.product(newTable))
		s.rest()
		claims.on.Store(true)
		aside.on.Store(true)
		older := s.accept(s.product(oldChair))
		gives := s.work()
		claims.next(t)()
		give := aside.next(t)
		newest := oldChair
		newest.Modified = "2026-11-30T11:59:58"
		event := s.accept(s.product(newest))
		working := s.work()
		claim := claims.next(t)

		look.on.Store(true)
		answered := make(chan control.Cancellation, 1)
		go func() {
			code, stdout, stderr := s.command("cancel", event, "--reason", "wrong supplier feed", "--json")
			var doc control.Cancellation
			if err := json.Unmarshal([]byte(stdout), &doc); err != nil || code != 0 {
				t.Errorf("cancel: exit %d %s, %v", code, stderr, err)
			}
			answered <- doc
		}()
		looks := look.next(t)
		look.on.Store(false)
		give()
		gives.wait()
		looks()
		got := <-answered
		s.fails("429", 1)
		claim()
		working.wait()
		s.rest()
		s.settledAs(older, "superseded")
		s.settledAs(event, "cancelled")
		o := s.object("product:794")
		i := slices.IndexFunc(o.Operations, func(op control.Operation) bool { return op.State == "failed" && op.Category == "cancelled" })
		if i < 0 || !slices.Equal(got.Operations, []string{o.Operations[i].ID}) || s.calls() != 1 || len(o.Results) != 1 {
			t.Errorf("%d calls, %+v, object %+v", s.calls(), got, o)
		}
	})
}
