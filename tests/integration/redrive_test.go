package integration_test

import (
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"engang/infra/local"
	"engang/infra/local/wire"
	"engang/shared/control"
)

// exhaust delivers a product whose model fails until the attempts are used up.
func (s *system) exhaust(p product) (event string) {
	s.t.Helper()
	s.fails("500", 5)
	event = s.accept(s.product(p))
	s.rest()
	return event
}

const usedUp = "5 attempts used up; the last: the provider reports a fault of its own"

// Retries exhausted, told by a letter with its reason and without content, redriven by the operator: one result.
func TestScenario18RedrivenByTheOperator(t *testing.T) {
	each(t, local.Options{Speed: 20}, func(t *testing.T, s *system) {
		event := s.exhaust(oldChair)
		op := s.object("product:794").Operations[0]
		l := s.letters()[event]
		if l.Standing != control.LetterFailed || l.Over || l.Operation != op.ID || l.State != "failed" || l.Reason != usedUp || l.Category != "transient" || l.Attempts != 5 || l.Object != "product:794" || l.Tenant != "shop" {
			t.Errorf("letter %+v", l)
		}
		quiet(t, "the letter", whole(s.notice(event, op.ID, usedUp, "transient")), "Chair", "oak")

		var done struct{ Redriven int }
		s.done(&done, "redrive", op.ID, "--reason", "the provider is back")
		if done.Redriven != 1 || s.calls() != 5 {
			t.Errorf("redriven %d, %d calls before a worker had it", done.Redriven, s.calls())
		}
		s.rest()
		o := s.object("product:794")
		op = o.Operations[0]
		if op.State != "completed" || op.Claims != 1 || len(op.Attempts) != 6 || op.FencingToken != 6 || len(o.Results) != 1 || s.calls() != 6 {
			t.Errorf("%d calls, operation %+v, results %+v", s.calls(), op, o.Results)
		}
		if e := s.event(event); e.Outcome != "completed" || e.Generation != 1 {
			t.Errorf("event %+v", e)
		}
		if got := s.records(); !slices.Equal(got, []string{"redrive of " + op.ID + " because the provider is back"}) {
			t.Errorf("recorded %q", got)
		}
		s.exits(4, "The operation is completed", "redrive", op.ID, "--reason", "once more")
		if s.calls() != 6 {
			t.Errorf("%d calls", s.calls())
		}
	})
}

// The same by moving the message back by hand: the letter is good for one redrive, and is cleared away after.
func TestScenario18MovedBackByHand(t *testing.T) {
	each(t, local.Options{Speed: 20}, func(t *testing.T, s *system) {
		event := s.exhaust(oldChair)
		s.redrive(s.returned(s.deadLetters())[0])
		s.rest()
		if o := s.object("product:794"); o.Operations[0].State != "completed" || o.Operations[0].Claims != 1 || len(o.Results) != 1 || s.calls() != 6 {
			t.Errorf("%d calls, object %+v", s.calls(), o)
		}
		if l := s.letters()[event]; l.Standing != control.LetterRedriven || !l.Over || l.State != "completed" {
			t.Errorf("letter %+v", l)
		}
		s.redrive(s.returned(s.deadLetters())[0]) // and once more, which is nothing any more
		s.rest()
		if o := s.object("product:794"); o.Operations[0].FencingToken != 6 || s.calls() != 6 {
			t.Errorf("%d calls, object %+v", s.calls(), o)
		}
		var tidied control.Tidied
		s.done(&tidied, "dlq", "tidy", "--reason", "it is over")
		if tidied.Letters != 1 || tidied.Deleted != 1 || tidied.Sent != 0 || len(s.letters()) != 0 {
			t.Errorf("tidied %+v", tidied)
		}
	})
}

// What fails again for good comes back to the list with its whole history, and with a letter of its own.
func TestARedrivenOperationFailsAgain(t *testing.T) {
	each(t, local.Options{Speed: calm}, func(t *testing.T, s *system) {
		for _, kind := range []string{"refusal", "filter"} {
			s.fails(kind, 1)
			if kind == "refusal" {
				s.accept(s.product(oldChair))
				s.rest()
			}
		}
		event := s.object("product:794").Events[0].ID
		s.done(&struct{}{}, "redrive", event, "--reason", "another try")
		s.rest()
		op := s.object("product:794").Operations[0]
		if op.State != "failed" || len(op.Attempts) != 2 || op.Reason != "the provider's content filter stopped the output" || op.Review == nil {
			t.Errorf("operation %+v", op)
		}
		if e := s.event(event); e.State != "parked" || e.Reason != op.Reason || e.Generation != 1 {
			t.Errorf("event %+v", e)
		}
		var list control.List[control.Letter]
		s.done(&list, "dlq")
		standings := map[string]string{}
		for _, l := range list.Items {
			standings[l.Reason] = l.Standing
		}
		if len(list.Items) != 2 || standings["refusal"] != control.LetterRedriven || standings[op.Reason] != control.LetterFailed {
			t.Errorf("letters %v", standings)
		}
	})
}

func TestARedriveOfWhatIsRunningIsRefused(t *testing.T) {
	eachGated(t, local.Options{Speed: calm}, "model call", wire.Before, func(t *testing.T, s *system, g *gate) {
		event := s.accept(s.product(oldChair))
		b := s.work()
		pass := g.next(t)
		s.exits(4, "The operation is running", "redrive", "product:794/product-card@3", "--reason", "too slow")
		s.exits(4, "The event is received", "redrive", event, "--reason", "too slow")
		s.exits(4, "refused", "redrive", event, "--dry-run")
		pass()
		b.wait()
		s.rest()
		if op := s.object("product:794").Operations[0]; op.State != "completed" || op.FencingToken != 1 || s.calls() != 1 || len(s.records()) != 2 || !strings.HasPrefix(s.records()[0], "redrive, refused of "+op.ID) {
			t.Errorf("%d calls, operation %+v, recorded %q", s.calls(), op, s.records())
		}
		s.exits(3, "Not found", "redrive", "product:8/product-card@3/9f", "--reason", "why")
	})
}

// Of any number of people who redrive one thing at once, one opens it, and one call is made.
func TestManyRedriveAtOnce(t *testing.T) {
	each(t, local.Options{Speed: calm}, func(t *testing.T, s *system) {
		s.fails("refusal", 1)
		event := s.accept(s.product(oldChair))
		s.rest()
		op := s.object("product:794").Operations[0]
		var opened, refused atomic.Int32
		atOnce(10, func(i int) {
			id := []string{op.ID, event}[i%2]
			switch a := s.post("/api/redrive", `{"id":"`+id+`","reason":"at once"}`); a.Code {
			case 200:
				opened.Add(1)
			case 409:
				refused.Add(1)
			default:
				t.Errorf("%d %s", a.Code, a.Body)
			}
		})
		alone := s.accept(s.woo("product.updated", `{"id":8,"date_modified_gmt":"2026-11-29T12:00:00"}`)) // without its name: no operation
		s.settle()
		atOnce(10, func(int) {
			if a := s.post("/api/redrive", `{"id":"`+alone+`","reason":"at once"}`); a.Code == 200 {
				opened.Add(1)
			} else if a.Code == 409 {
				refused.Add(1)
			}
		})
		if opened.Load() != 2 || refused.Load() != 18 {
			t.Errorf("%d opened them, %d were refused", opened.Load(), refused.Load())
		}
		s.rest()
		if op := s.object("product:794").Operations[0]; op.State != "completed" || op.FencingToken != 2 || s.calls() != 2 || s.event(event).Generation != 1 {
			t.Errorf("%d calls, operation %+v", s.calls(), op)
		}
	})
}

// A broken call is one of the console that fails while the test wants it to.
type broken struct {
	call  string
	phase wire.Phase
	on    atomic.Bool
}

func (b *broken) judge(c wire.Call, p wire.Phase) wire.Verdict {
	if b.on.Load() && c.Function == "console" && c.Name == b.call && p == b.phase {
		return wire.Fail
	}
	return wire.Pass
}

// Whatever call of a redrive is lost, before or after it took effect, ends with one result; where the answer was
// an error, the same command may be given again.
func TestARedriveSurvivesLostCalls(t *testing.T) {
	for _, c := range []struct {
		name  string
		call  string
		phase wire.Phase
		code  int // of the first command
		open  bool
	}{
		{"the act is not recorded", "audit", wire.Before, 6, false},
		{"the write is not sent", "W13 redrive", wire.Before, 6, false},
		{"the message is not sent: the reconciler sends it", "send event", wire.Before, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, begin func(local.Options) *system) {
				f := &broken{call: c.call, phase: c.phase}
				s := begin(local.Options{Speed: 50, Judge: f.judge})
				s.fails("refusal", 1)
				event := s.accept(s.product(oldChair))
				s.rest()
				f.on.Store(true)
				code, _, stderr := s.command("redrive", event, "--reason", "another try", "--timeout", "20s")
				f.on.Store(false)
				if e := s.event(event); code != c.code || (e.State == "received") != c.open {
					t.Errorf("exit %d %s, event %s", code, stderr, e.State)
				}
				if !c.open {
					s.done(&struct{}{}, "redrive", event, "--reason", "another try")
				}
				s.rest()
				if op := s.object("product:794").Operations[0]; op.State != "completed" || op.FencingToken != 2 || s.calls() != 2 {
					t.Errorf("%d calls, operation %+v", s.calls(), op)
				}
			})
		})
	}
}

// Only the answer of the write is lost: the act is done, once.
func TestARedriveWhoseAnswerIsLostIsDoneOnce(t *testing.T) {
	onEach(t, func(t *testing.T, begin func(local.Options) *system) {
		var lost atomic.Int32
		s := begin(local.Options{Speed: calm, Judge: func(call wire.Call, p wire.Phase) wire.Verdict {
			if call.Name == "W13 redrive" && p == wire.After && lost.Add(1) == 1 {
				return wire.Fail
			}
			return wire.Pass
		}})
		s.fails("refusal", 1)
		event := s.accept(s.product(oldChair))
		s.rest()
		s.done(&struct{}{}, "redrive", event, "--reason", "another try")
		s.rest()
		if op := s.object("product:794").Operations[0]; lost.Load() < 2 || op.State != "completed" || op.FencingToken != 2 || s.calls() != 2 || s.event(event).Generation != 1 {
			t.Errorf("%d writes, %d calls, operation %+v", lost.Load(), s.calls(), op)
		}
	})
}

// An event that could not become an operation is opened alone, and parked again for the same reason.
func TestAnEventWithoutAnOperationIsRedriven(t *testing.T) {
	each(t, local.Options{Speed: calm}, func(t *testing.T, s *system) {
		event := s.accept(s.woo("product.updated", `{"id":794,"date_modified_gmt":"2026-11-29T12:00:00"}`))
		s.rest()
		if l := s.letters()[event]; l.Standing != control.LetterParked || l.Operation != "" || l.Category != "invalid input" || l.Attempts != 0 {
			t.Errorf("letter %+v", l)
		}
		s.done(&struct{}{}, "redrive", event, "--reason", "the recipe was corrected")
		s.rest()
		if e := s.event(event); e.State != "parked" || e.Generation != 1 || s.calls() != 0 {
			t.Errorf("event %+v, %d calls", e, s.calls())
		}
		var list control.List[control.Letter]
		s.done(&list, "dlq")
		if len(list.Items) != 2 || list.Items[0].Standing != control.LetterParked || list.Items[1].Standing != control.LetterRedriven {
			t.Errorf("letters %+v", list.Items)
		}
	})
}

// The review list is redriven by category, then all of it, and never what a person took off it. What that leaves in
// the dead-letter queue is cleared away.
func TestTheReviewListIsRedriven(t *testing.T) {
	each(t, local.Options{Speed: 20}, func(t *testing.T, s *system) {
		used := s.exhaust(product{ID: 1, Name: "Chair"})
		for id, kind := range map[int]string{2: "refusal", 3: "filter"} {
			s.fails(kind, 1)
			s.accept(s.product(product{ID: id, Name: "Table"}))
			s.settle()
		}
		parked := s.accept(s.woo("product.updated", `{"id":4,"date_modified_gmt":"2026-11-29T12:00:00"}`))
		s.rest()
		s.done(&struct{}{}, "review", "dismiss", s.object("product:3").Operations[0].ID, "--reason", "nobody needs it")

		var done struct{ Redriven, Refused, Left int }
		s.done(&done, "redrive", "--category", "transient", "--dry-run")
		if done.Redriven != 1 || s.event(used).State != "parked" {
			t.Errorf("dry run %+v", done)
		}
		s.done(&done, "redrive", "--category", "transient", "--reason", "the provider is back")
		s.rest()
		if done.Redriven != 1 || s.event(used).Outcome != "completed" || s.event(parked).Generation != 0 {
			t.Errorf("%+v", done)
		}
		var all struct {
			Redriven, Refused, Left int
			Letters                 control.Tidied
		}
		s.done(&all, "redrive", "--all", "--rate", "100/s", "--reason", "everything else")
		if all.Redriven != 2 || all.Refused != 0 || all.Letters.Letters != 4 || all.Letters.Deleted != 4 {
			t.Errorf("%+v", all)
		}
		s.rest()
		states := map[string]string{}
		for _, id := range []string{"product:1", "product:2", "product:3"} {
			states[id] = s.object(id).Operations[0].State
		}
		if !maps.Equal(states, map[string]string{"product:1": "completed", "product:2": "completed", "product:3": "failed"}) || s.event(parked).Generation != 1 {
			t.Errorf("operations %v, event %+v", states, s.event(parked))
		}
		if left := s.letters(); len(left) != 1 || left[parked].Standing != control.LetterParked {
			t.Errorf("letters %+v", left)
		}
		s.done(&struct{}{}, "redrive", s.object("product:3").Operations[0].ID, "--reason", "somebody does") // by name
		s.rest()
		if op := s.object("product:3").Operations[0]; op.State != "completed" || op.ExpiresAt == nil {
			t.Errorf("operation %+v", op)
		}
	})
}

// What the queue set aside by itself says nothing: open, it is sent again, and settled, it is only deleted. What
// engang did not write is shown and left.
func TestNativeDeadLetters(t *testing.T) {
	each(t, local.Options{Speed: calm}, func(t *testing.T, s *system) {
		settled := s.accept(s.product(oldChair))
		s.rest()
		if err := s.Faults().Add("queue:down"); err != nil {
			t.Fatal(err)
		}
		open := s.accept(s.product(product{ID: 8, Name: "Table"}))
		for _, id := range []string{settled, open} {
			s.lay(`{"event":"` + id + `"}`)
		}
		s.lay(`{"order":"12 chairs"}`)
		if n := s.step(); n != 0 {
			t.Fatalf("%d messages in the work queue", n)
		}
		all := s.letters()
		if a, b, c := all[settled], all[open], all[""]; a.Standing != control.LetterNative || !a.Over || a.Attempts != 1 || b.Standing != control.LetterNative || b.Over || b.Attempts != 0 || b.State != "received" || c.Standing != control.LetterForeign {
			t.Errorf("letters %+v", all)
		}
		_, stdout, _ := s.command("dlq")
		if !strings.Contains(stdout, "received too often; no worker ever began") || strings.Contains(stdout, "12 chairs") {
			t.Errorf("%s", stdout)
		}
		var tidied control.Tidied
		s.done(&tidied, "dlq", "tidy", "--reason", "after the outage")
		if tidied.Letters != 3 || tidied.Sent != 1 || tidied.Deleted != 2 || tidied.Left != 1 {
			t.Errorf("tidied %+v", tidied)
		}
		if n := s.step(); n != 1 {
			t.Errorf("%d messages in the work queue, want the one of the open event", n)
		}
		s.rest()
		if e := s.event(open); e.Outcome != "completed" || s.calls() != 2 {
			t.Errorf("event %+v, %d calls", e, s.calls())
		}
		if all := s.letters(); len(all) != 1 || all[""].Standing != control.LetterForeign {
			t.Errorf("letters %+v", all)
		}
	})
}

// A native letter is sent before it is deleted: a queue that is down keeps it where it is.
func TestANativeLetterIsNotLostWhereTheQueueIsDown(t *testing.T) {
	onEach(t, func(t *testing.T, begin func(local.Options) *system) {
		f := &broken{call: "send event", phase: wire.Before}
		s := begin(local.Options{Speed: calm, Judge: f.judge})
		if err := s.Faults().Add("queue:down"); err != nil {
			t.Fatal(err)
		}
		event := s.accept(s.product(oldChair))
		s.lay(`{"event":"` + event + `"}`)
		f.on.Store(true)
		s.exits(6, "Temporarily unavailable", "dlq", "tidy", "--reason", "why")
		f.on.Store(false)
		if l := s.letters()[event]; l.Standing != control.LetterNative || l.Over {
			t.Errorf("letter %+v", l)
		}
		s.done(&struct{}{}, "dlq", "tidy", "--reason", "why")
		begun := time.Now()
		s.rest()
		if e := s.event(event); e.Outcome != "completed" || e.Sends != 0 {
			t.Errorf("event %+v after %s", e, time.Since(begun))
		}
	})
}
