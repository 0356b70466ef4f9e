package integration_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/infra/local"
	"engang/infra/local/wire"
	"engang/shared/dynamo/dynamotest/invariants"
)

// unavailable demands the answer that acknowledges nothing and asks the sender to come again.
func (s *system) unavailable(a answer) {
	s.t.Helper()
	d := delivery{code: http.StatusServiceUnavailable, kind: "unavailable"}
	d.answered(s.t, http.MethodPost, a)
	if seconds, err := strconv.Atoi(a.Header.Get("Retry-After")); err != nil || seconds < 1 || a.Event != "" {
		s.t.Errorf("Retry-After %q, event %q", a.Header.Get("Retry-After"), a.Event)
	}
}

// troubled runs a test with a judge whose mind it can change.
func troubled(t *testing.T, test func(t *testing.T, s *system, all *trouble)) {
	t.Helper()
	onEach(t, func(t *testing.T, begin func(local.Options) *system) {
		all := &trouble{}
		test(t, begin(local.Options{Judge: all.judge, Speed: brisk}), all)
	})
}

func TestScenario07InboxStoreUnavailable(t *testing.T) {
	troubled(t, func(t *testing.T, s *system, all *trouble) {
		for i, c := range []struct {
			name   string
			cold   bool // with nothing in the receiver's caches
			breaks wire.Judge
			answer string // "" means 503
			stored bool   // after the first delivery
			repeat string // what the sender's next try is
		}{
			{"the store is down, nothing is known", true, down("dynamodb"), "", false, "accepted"},
			{"the store is down", false, down("dynamodb"), "", false, "accepted"},
			{"the put is not sent, with all its repeats", false, every("W1 put event", wire.Before, wire.Fail), "", false, "accepted"},
			{"the put is not sent once", false, once("W1 put event", wire.Before, wire.Fail), "accepted", true, "duplicate"},
			{"only the answer of the put is lost, once", false, once("W1 put event", wire.After, wire.Fail), "accepted", true, "duplicate"},
			{"every answer of the put is lost", false, every("W1 put event", wire.After, wire.Fail), "", true, "duplicate"},
		} {
			t.Run(c.name, func(t *testing.T) {
				s := s.in(t)
				p := product{ID: 100 + i, Name: "Chair " + strconv.Itoa(i)}
				s.accept(s.product(product{ID: 200 + i, Name: "Warm"})) // the caches know the endpoint and its secrets
				s.settle()
				if c.cold {
					s.Restart()
				}
				calls, sends := s.calls(), s.Record().Counts()["send event"]
				all.is(c.breaks)
				a := s.product(p)
				all.is(nil)
				if c.answer == "" {
					s.unavailable(a)
					if n := s.Record().Counts()["send event"] - sends; n != 0 {
						t.Errorf("%d sends of what is not known to be stored", n)
					}
				} else if a.Code != 200 || a.Status != c.answer {
					t.Errorf("answered %d %s, want %s", a.Code, a.Body, c.answer)
				}
				object := fmt.Sprintf("product:%d", p.ID)
				if e := s.onlyEvent(object); (e != nil) != c.stored {
					t.Errorf("stored as %v, want stored: %v", e, c.stored)
				}
				if a = s.product(p); a.Code != 200 || a.Status != c.repeat {
					t.Errorf("the next try: %d %s, want %s", a.Code, a.Body, c.repeat)
				}
				s.rest()
				if o := s.object(object); len(o.Events) != 1 || o.Events[0].Outcome != "completed" || len(o.Results) != 1 || s.calls() != calls+1 {
					t.Errorf("events %+v, %d results, %d calls", o.Events, len(o.Results), s.calls()-calls)
				}
			})
		}
		s.rest()
	})
}

func TestScenario08EnqueueFailsAfterThePut(t *testing.T) {
	troubled(t, func(t *testing.T, s *system, all *trouble) {
		if err := s.Faults().Add("queue:downx2"); err != nil {
			t.Fatal(err)
		}
		p := product{ID: 794, Name: "Chair"}
		id := s.accept(s.product(p))
		if a := s.product(p); a.Status != "duplicate" || a.Event != id { // nor can the repeat enqueue it
			t.Errorf("the sender's repeat: %d %s", a.Code, a.Body)
		}
		if len(s.Faults().Pending()) != 0 || s.step() != 0 {
			t.Fatalf("%v are pending, or something is in the queue that was down", s.Faults().Pending())
		}
		e := s.event(id)
		if e.State != "received" || e.DueAt == nil || !e.DueAt.Equal(e.ReceivedAt.Add(5*time.Minute/brisk)) || e.Sends != 0 {
			t.Fatalf("event %+v", e)
		}
		broken := ""
		first := func(c wire.Call, p wire.Phase) wire.Verdict { // the reconciler's first send fails, with all its repeats; a later sweep sends again
			if c.Function != "reconciler" || c.Name != "send event" || p != wire.Before || broken != "" && c.ID != broken {
				return wire.Pass
			}
			broken = c.ID
			return wire.Fail
		}
		all.is(first)
		if err := s.Reconcile(t.Context()); time.Now().Before(*e.DueAt) && (err != nil || broken != "") {
			t.Errorf("the reconciler (%v) sent an event that is not due yet", err)
		}
		all.is(down("sqs"))
		if err := s.Reconcile(t.Context()); err == nil {
			t.Error("the reconciler does not tell that it cannot see the queue")
		}
		all.is(first)
		s.rest()
		e, o := s.event(id), s.object("product:794")
		if broken == "" || e.Outcome != "completed" || e.Sends != 2 || len(o.Results) != 1 || s.calls() != 1 {
			t.Errorf("event %+v, %d results, %d calls", e, len(o.Results), s.calls())
		}
	})
}

func TestScenario09KilledBetweenPutAndEnqueue(t *testing.T) {
	troubled(t, func(t *testing.T, s *system, all *trouble) {
		var lost []string // events that only the reconciler can find
		taken := 0
		for i, c := range []struct {
			name, call string
			phase      wire.Phase
			stored     bool
			queued     int
		}{
			{"killed before the put", "W1 put event", wire.Before, false, 0},
			{"killed after the put", "W1 put event", wire.After, true, 0},
			{"killed before the send", "send event", wire.Before, true, 0},
			{"killed after the send", "send event", wire.After, true, 1},
		} {
			for j, repeats := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s, sent again: %v", c.name, repeats), func(t *testing.T) {
					s := s.in(t)
					p := product{ID: 10*i + j + 1, Name: fmt.Sprintf("Chair %d-%d", i, j)}
					all.is(once(c.call, c.phase, wire.Kill))
					a := s.product(p)
					all.is(nil)
					if a.Code < 500 || a.Event != "" {
						t.Fatalf("a killed receiver acknowledged: %d %s", a.Code, a.Body)
					}
					event := s.onlyEvent(fmt.Sprintf("product:%d", p.ID))
					if stored := event != nil; stored != c.stored || stored && (event["st"] != "received" || !strings.HasPrefix(event["oq"], "open#")) {
						t.Fatalf("stored as %v, want stored: %v", event, c.stored)
					}
					queued := c.queued
					if repeats {
						want := map[bool]string{true: "duplicate", false: "accepted"}[c.stored]
						if a = s.product(p); a.Code != 200 || a.Status != want {
							t.Fatalf("the sender's next try: %d %s, want %s", a.Code, a.Body, want)
						}
						queued++
					}
					if n := s.step(); n != queued { // without the reconciler
						t.Errorf("%d messages in the queue, want %d", n, queued)
					}
					switch event = s.onlyEvent(fmt.Sprintf("product:%d", p.ID)); {
					case event == nil:
						return
					case queued > 0 && event["how"] != "completed":
						t.Errorf("not worked on: %v", event)
					case queued == 0:
						lost = append(lost, strings.TrimPrefix(event["pk"], "E#"))
					}
					taken++
				})
			}
		}
		s.rest()
		for _, id := range lost {
			if e := s.event(id); e.Outcome != "completed" || e.Sends == 0 {
				t.Errorf("the reconciler did not finish it: %+v", e)
			}
		}
		if len(lost) != 2 || taken != 7 || s.calls() != 7 || len(s.items().Results()) != 7 {
			t.Errorf("%d found by the reconciler of %d events, %d calls, %d results", len(lost), taken, s.calls(), len(s.items().Results()))
		}
	})
}

// onlyEvent is the one event of an object as it is stored, or nil.
func (s *system) onlyEvent(object string) (found invariants.Item) {
	s.t.Helper()
	for _, e := range s.items().Events() {
		if e["obj"] == object {
			if found != nil {
				s.t.Errorf("%s has more than one event", object)
			}
			found = e
		}
	}
	return found
}

// Without a secret nothing can be verified: neither accepted, nor refused for good.
func TestSecretsThatCannotBeHadAcknowledgeNothing(t *testing.T) {
	troubled(t, func(t *testing.T, s *system, all *trouble) {
		const ref = "ssm:hooks/woo-shop/1"
		p := product{ID: 794, Name: hush}
		refuses := func(t *testing.T) {
			t.Helper()
			s := s.in(t)
			s.unavailable(s.product(p))
			s.unavailable(s.send(wooRequest(otherBody)(s))) // 401 would be a lie: it was not looked at
			if left := s.stored(); len(left) != 0 || s.step() != 0 {
				t.Errorf("stored: %v", left)
			}
		}
		t.Run("the parameter store is down", func(t *testing.T) {
			all.is(down("ssm"))
			refuses(t)
			all.is(nil)
		})
		for _, useless := range []string{"changeme", "   "} {
			t.Run(fmt.Sprintf("the only secret is %q", useless), func(t *testing.T) {
				if err := s.PutSecret(t.Context(), ref, useless); err != nil {
					t.Fatal(err)
				}
				refuses(t)
			})
		}
		if err := s.PutSecret(t.Context(), ref, local.Secret("woocommerce", ref)); err != nil {
			t.Fatal(err)
		}
		s.accept(s.product(p))
		if a := s.send(wooRequest(otherBody)(s)); a.Code != http.StatusUnauthorized {
			t.Errorf("a forged delivery: %d %s", a.Code, a.Body)
		}
		all.is(down("ssm")) // what was read is believed for a while
		if a := s.product(p); a.Status != "duplicate" {
			t.Errorf("while the parameter store is down: %d %s", a.Code, a.Body)
		}
		all.is(nil)
		s.rest()
	})
}

// What stands beside the event must not cost the event: a repeat that cannot be counted is a repeat. But
// a conflict that cannot be recorded would be seen by nobody.
func TestRepeatsAndConflictsWhileTheirOwnItemCannotBeWritten(t *testing.T) {
	troubled(t, func(t *testing.T, s *system, all *trouble) {
		id := s.accept(s.contact("msg_1", contact))
		s.settle()
		other := strings.Replace(contact, "oak", "elm", 1)
		all.is(func(c wire.Call, p wire.Phase) wire.Verdict {
			if p == wire.Before && (c.Name == "SEEN" || c.Name == "W2 conflict") {
				return wire.Fail
			}
			return wire.Pass
		})
		if a := s.contact("msg_1", contact); a.Code != 200 || a.Status != "duplicate" || a.Event != id {
			t.Errorf("a repeat that is not counted: %d %s", a.Code, a.Body)
		}
		s.unavailable(s.contact("msg_1", other))
		all.is(nil)
		if e := s.event(id); e.Deliveries != 1 || len(e.Conflicts) != 0 {
			t.Errorf("event %+v", e)
		}
		before, sends := s.item(id), s.Record().Counts()["send event"]
		for range 2 {
			if a := s.contact("msg_1", other); a.Code != 200 || a.Status != "conflict" || a.Event != id {
				t.Errorf("a conflict: %d %s", a.Code, a.Body)
			}
		}
		if diff := cmp.Diff(before, s.item(id)); diff != "" || s.Record().Counts()["send event"] != sends {
			t.Errorf("a conflict changed the event or sent it:\n%s", diff)
		}
		s.rest()
		if e := s.event(id); len(e.Conflicts) != 1 || s.calls() != 1 {
			t.Errorf("%d conflicts, %d calls", len(e.Conflicts), s.calls())
		}
	})
}

// Queues deliver more than once: a message of a settled or parked event is deleted on sight.
func TestAQueueThatDeliversAgainChangesNothing(t *testing.T) {
	each(t, local.Options{}, func(t *testing.T, s *system) {
		for _, deliver := range []func() answer{
			func() answer { return s.product(product{ID: 794, Name: "Chair"}) },
			func() answer { return s.woo("product.updated", `[]`) },
		} {
			if err := s.Faults().Add("queue:redeliver"); err != nil {
				t.Fatal(err)
			}
			s.accept(deliver())
			if n := s.step(); n != 1 || s.open() != 0 {
				t.Fatalf("%d messages worked on, %d events open", n, s.open())
			}
			before, calls, notices := s.items(), s.calls(), s.Record().Counts()["send notice"]
			if n := s.step(); n != 1 {
				t.Fatalf("%d messages came again, want 1", n)
			}
			if diff := cmp.Diff(before, s.items()); diff != "" {
				t.Errorf("the table changed:\n%s", diff)
			}
			if s.calls() != calls || s.Record().Counts()["send notice"] != notices || s.step() != 0 {
				t.Errorf("%d calls and %d notices more, or the message was not deleted", s.calls()-calls, s.Record().Counts()["send notice"]-notices)
			}
		}
		s.rest()
	})
}
