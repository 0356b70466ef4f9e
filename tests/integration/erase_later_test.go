package integration_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"engang/infra/local"
	"engang/infra/local/wire"
	"engang/shared/control"
)

var forget = erasing{Object: "product:794", Reason: "asked to be forgotten"}

// goOn goes on with an erasure where it names a time and a place, to its end.
func (s *system) goOn(in erasing, from control.Erased) {
	s.t.Helper()
	for range 20 {
		if in.After = from.Next; in.After == "" {
			return
		}
		if from.AgainAt != nil {
			time.Sleep(time.Until(*from.AgainAt) + 10*time.Millisecond)
		}
		from = s.erase(in)
	}
	s.t.Fatal("it never comes to an end")
}

// A stop holds the nth call of a name until it is let go.
type stop struct {
	call  string
	nth   int32
	made  atomic.Int32
	armed atomic.Bool
	held  chan struct{}
	gate  chan struct{}
}

func stopAt(call string, nth int32) *stop {
	return &stop{call: call, nth: nth, held: make(chan struct{}), gate: make(chan struct{})}
}

func (s *stop) judge(c wire.Call, p wire.Phase) wire.Verdict {
	if s.armed.Load() && c.Name == s.call && p == wire.Before && c.Try == 1 && s.made.Add(1) == s.nth {
		close(s.held)
		<-s.gate
	}
	return wire.Pass
}

// during does something while a call is held, and lets it go on.
func (s *stop) during(t *testing.T, begun func(), do func()) {
	t.Helper()
	s.armed.Store(true)
	done := make(chan struct{})
	go func() { defer close(done); begun() }()
	select {
	case <-s.held:
		do()
	case <-done:
		t.Errorf("%s was not called %d times", s.call, s.nth)
		return
	case <-time.After(20 * time.Second):
		t.Error("nothing is called")
	}
	close(s.gate)
	<-done
}

// A later event of the object is new work, wherever the erasure is: what it has made or taken over stays, and nothing
// that the erasure did answers it.
func TestALaterEventKeepsItsWorkWhereverTheErasureIs(t *testing.T) {
	first := product{ID: 794, Name: "Chair", Modified: "2026-11-29T11:00:00"}
	for _, c := range []struct {
		name, later, policy, outcome string
		calls                        int
	}{
		{"the same content, done", "Chair", "auto", "completed", 2},
		{"the same content, a draft", "Chair", "draft", "review", 2},
		{"another content", "Stool", "auto", "completed", 2},
	} {
		for nth := int32(1); nth <= 3; nth++ { // the event, the operation, the result
			if c.policy == "draft" && nth == 3 {
				continue // there is no result
			}
			t.Run(fmt.Sprintf("%s, before write %d", c.name, nth), func(t *testing.T) {
				config := edited(t, "    policy: auto                      # draft = a person decides\n", "    policy: "+c.policy+"\n")
				onEach(t, func(t *testing.T, begin func(local.Options) *system) {
					at := stopAt("erase", nth)
					s := begin(local.Options{Judge: at.judge, Speed: brisk, ConfigFiles: []string{config}})
					s.accept(s.product(first))
					s.settle()
					var begun control.Erased
					later := ""
					at.during(t, func() { begun = s.erase(forget) }, func() {
						time.Sleep(2 * time.Millisecond) // by the clock, too
						later = s.accept(s.product(product{ID: 794, Name: c.later, Modified: "2026-11-29T12:00:00"}))
						s.step()
					})
					s.goOn(forget, begun)
					s.settle()
					e, o := s.event(later), s.object("product:794")
					if e.State != "settled" || e.Outcome != c.outcome || e.ErasedAt != nil || len(o.Events) != 1 {
						t.Errorf("erased since %v, received %v: %s %s, %d events", begun.At, e.ReceivedAt, e.State, e.Outcome, len(o.Events))
					}
					if drafts := len(s.waits("")); c.policy == "draft" && (drafts != 1 || len(o.Operations) != 1) || c.policy == "auto" && (len(o.Results) != 1 || o.Results[0].Event != later) {
						t.Errorf("%d drafts, operations %+v, results %+v", drafts, o.Operations, o.Results)
					}
					if n := s.calls(); n > c.calls {
						t.Errorf("%d calls", n)
					}
				})
			})
		}
	}
}

// A receiver or a catch-up may store behind the first walk what it took before the erasure began, and what is stored may
// be done by then.
func TestWhatIsStoredBehindTheWalkOfAnErasureIsErasedToo(t *testing.T) {
	for _, worked := range []bool{false, true} {
		t.Run(fmt.Sprint("worked on ", worked), func(t *testing.T) {
			onEach(t, func(t *testing.T, begin func(local.Options) *system) {
				var slow atomic.Int64 // how long ago the receiver took what it stores now
				s := begin(local.Options{Speed: brisk, Now: func() time.Time { return time.Now().Add(-time.Duration(slow.Load())) }})
				first := s.erase(forget)
				slow.Store(int64(time.Since(first.At) + time.Second))
				late := s.accept(s.product(product{ID: 794, Name: "Chair " + hush}))
				slow.Store(0)
				if worked {
					s.settle()
				}
				if e := s.event(late); first.AgainAt == nil || !e.ReceivedAt.Before(first.At) || len(s.traces(hush)) == 0 {
					t.Fatalf("erased since %v, received %v, again at %v", first.At, e.ReceivedAt, first.AgainAt)
				}
				s.goOn(forget, first)
				s.rest()
				if found := s.traces(hush); found != nil {
					t.Errorf("left: %v", found)
				}
			})
		})
	}
}

const secret = "ann-of-the-batch"

// hubPart is one event of a delivery of many.
func hubPart(event, contact int, value string) string {
	return fmt.Sprintf(`{"eventId":%d,"subscriptionId":11,"portalId":62515,"appId":54321,"occurredAt":1795982400000,"subscriptionType":"contact.creation","attemptNumber":0,"objectId":%d,"propertyValue":%q}`, event, contact, value)
}

func (s *system) hub(parts ...string) answer {
	s.t.Helper()
	return s.send(batchOf("[" + strings.Join(parts, ",\n") + "]")(s))
}

func hubOptions() local.Options {
	return local.Options{Speed: brisk, ConfigFiles: []string{"../../infra/local.yaml", "testdata/batch.yaml"}}
}

var forgetContact = erasing{Object: "contact:123", Reason: "asked to be forgotten"}

// A delivery of many events that is not taken apart holds the object's event, and is all that there is of the others.
func TestAnErasureWaitsForADeliveryThatIsNotTakenApart(t *testing.T) {
	each(t, hubOptions(), func(t *testing.T, s *system) {
		s.pause("endpoint", "hub")
		batch := s.accept(s.hub(hubPart(1, 123, secret), hubPart(2, 124, "x")))
		s.step() // put off
		first := s.erase(forgetContact)
		time.Sleep(time.Until(*first.AgainAt) + 10*time.Millisecond)
		in := forgetContact
		in.After = first.Next
		again := s.erase(in)
		if again.AgainAt == nil || len(again.WaitsFor) != 1 || again.WaitsFor[0] != batch {
			t.Fatalf("while it waits: %+v", again)
		}
		s.resume("endpoint", "hub")
		s.settle()
		s.goOn(forgetContact, again)
		s.rest()
		if found := s.traces(secret, "contact:123"); len(found) > 0 {
			for _, f := range found {
				if !strings.HasPrefix(f, "A#") {
					t.Errorf("left: %s", f)
				}
			}
		}
		if o := s.object("contact:124"); len(o.Events) != 1 || len(o.Results) != 1 {
			t.Errorf("the other: %+v", o)
		}
	})
}

// A part may come in several deliveries, and each of them holds it.
func TestEveryDeliveryThatHeldAnErasedEventIsEmptied(t *testing.T) {
	each(t, hubOptions(), func(t *testing.T, s *system) {
		big := secret + " " + noise(9, 60_000)
		s.accept(s.hub(hubPart(1, 123, big), hubPart(2, 124, "x")))
		s.settle()
		s.accept(s.hub(hubPart(1, 123, big), hubPart(3, 125, "x")))
		neighbours := s.accept(s.hub(hubPart(4, 126, "x"), hubPart(5, 127, "x")))
		s.settle()
		s.erased("contact:123")
		if found := s.traces(secret); found != nil {
			t.Errorf("left: %.300q", found)
		}
		if e := s.event(neighbours); e.ErasedAt != nil || e.BodyBytes == 0 {
			t.Errorf("a delivery without it: %+v", e)
		}
		for _, contact := range []string{"contact:124", "contact:125", "contact:126", "contact:127"} {
			if o := s.object(contact); len(o.Events) != 1 || len(o.Results) != 1 {
				t.Errorf("%s: %+v", contact, o)
			}
		}
	})
}

// What comes again after an erasure brings nothing back: the same delivery, and the part in another one, whose other parts
// are worked on.
func TestADeliveryOfManyBringsNothingErasedBack(t *testing.T) {
	each(t, hubOptions(), func(t *testing.T, s *system) {
		big := secret + " " + noise(9, 60_000)
		first := s.accept(s.hub(hubPart(1, 123, big), hubPart(2, 124, "x")))
		s.settle()
		s.erased("contact:123")
		s.repeated(first, s.hub(hubPart(1, 123, big), hubPart(2, 124, "x")))
		second := s.accept(s.hub(hubPart(1, 123, big), hubPart(3, 125, "x")))
		s.rest()
		s.repeated(second, s.hub(hubPart(1, 123, big), hubPart(3, 125, "x")))
		s.rest()
		if found := s.traces(secret); found != nil {
			t.Errorf("brought back: %.300q", found)
		}
		for _, contact := range []string{"contact:124", "contact:125"} {
			if o := s.object(contact); len(o.Events) != 1 || len(o.Results) != 1 {
				t.Errorf("%s: %+v", contact, o)
			}
		}
	})
}
