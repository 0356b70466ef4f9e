package control_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"engang/shared/control"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
)

// watched is a table in which others act before somebody looks at an object.
type watched struct {
	*works
	looks []func() // each runs once, in their order
}

func (w *watched) Object(ctx context.Context, scope object.Scope, id object.ID) ([]operation.Operation, []operation.Losing, []operation.Result, error) {
	if len(w.looks) > 0 {
		act := w.looks[0]
		w.looks = w.looks[1:]
		act()
	}
	return w.works.Object(ctx, scope, id)
}

func (w *watched) control() *control.Control {
	return control.New(control.Deps{Store: w, Endpoints: w, Bodies: w, OpenAge: 5 * time.Minute, Now: func() time.Time { return noon }, NewID: func() string { w.acts++; return fmt.Sprint("act-", w.acts) }})
}

func (w *watched) stop(t *testing.T, e inbox.Event) control.Cancellation {
	t.Helper()
	got, err := w.control().Cancel(t.Context(), shop, control.Stop{ID: string(e.ID), By: "ann", Reason: "why"})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// asked stores an open event that was received so many minutes before noon. All of them ask for one operation.
func (w *works) asked(n, minutes int) inbox.Event {
	e := w.opened(n, "product:794", minutes)
	e.Body.Packed = []byte(`{"id":794,"name":"chair"}`)
	w.events[e.ID] = e
	return e
}

// stands stores the operation that all events ask for, as it stands for one of them.
func (w *works) stands(t *testing.T, e inbox.Event, state operation.State) *operation.Operation {
	t.Helper()
	if len(w.ops) == 0 {
		first := w.asked(99, 99)
		if _, err := w.control().Cancel(t.Context(), shop, control.Stop{ID: string(first.ID), By: "ann", Reason: "for its key"}); err != nil {
			t.Fatal(err)
		}
		w.stops, w.ends, w.trail, w.claims = nil, nil, nil, nil
	}
	o := &w.ops[0]
	*o = operation.Operation{Key: o.Key, State: state, Token: 3, Claims: 1, Event: e.ID, Rank: e.Rank, BegunAt: e.ReceivedAt}
	return o
}

// An event's work is what it asks for, whichever event that stands for: a worker that has the event in hand could
// claim it after the event was settled. Only what a newer event brings to its end goes on.
func TestWhatAnotherEventBeganForTheSameContent(t *testing.T) {
	for _, c := range []struct {
		name  string
		other int // minutes before noon that the other event was received; the one that is cancelled: 10
		state operation.State
		then  func(e *inbox.Event) // of the other event
		want  operation.State
	}{
		{"an older event's work that is tried again later", 20, operation.Pending, nil, operation.Failed},
		{"an older event's work", 20, operation.Running, nil, operation.Failed},
		{"an older event's draft", 20, operation.Review, nil, operation.Failed},
		{"work of an older event that is settled", 20, operation.Pending, func(e *inbox.Event) { e.State, e.Outcome = inbox.Settled, inbox.Cancelled }, operation.Failed},
		{"what an older event completed", 20, operation.Completed, nil, operation.Completed},
		{"a newer event's work", 5, operation.Running, nil, operation.Running},
		{"a newer event's work that is tried again later", 5, operation.Pending, nil, operation.Pending},
		{"a newer event's draft", 5, operation.Review, func(e *inbox.Event) { e.State, e.Outcome = inbox.Settled, inbox.InReview }, operation.Review},
		{"work of a newer event that is settled", 5, operation.Pending, func(e *inbox.Event) { e.State, e.Outcome = inbox.Settled, inbox.Cancelled }, operation.Failed},
		{"work of a newer event that is parked", 5, operation.Running, func(e *inbox.Event) { e.State = inbox.Parked }, operation.Failed},
		{"work of a newer event that is not kept any more", 5, operation.Running, func(e *inbox.Event) { e.ID = "" }, operation.Failed},
		{"what a newer event's version had superseded", 5, operation.Superseded, nil, operation.Superseded},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &watched{works: newWorks()}
			e, other := w.asked(1, 10), w.asked(2, c.other)
			o := w.stands(t, other, c.state)
			if c.then != nil {
				delete(w.events, other.ID)
				c.then(&other)
				w.events[other.ID] = other
			}
			var want []string
			if c.want == operation.Failed {
				want = append(want, o.Key.String())
			}
			got := w.stop(t, e)
			if !slices.Equal(got.Operations, want) || w.ops[0].State != c.want || len(w.ops) != 1 || len(w.claims) != 0 {
				t.Errorf("%+v, operation %s", got, w.ops[0].State)
			}
			if w.events[e.ID].Outcome != inbox.Cancelled || other.ID != "" && w.events[other.ID].State != other.State {
				t.Errorf("event %s, the other %s", w.events[e.ID].Outcome, w.events[other.ID].State)
			}
		})
	}
}

// What the event does not ask for, and what does not stand for it, is none of its work.
func TestAnotherContentIsLeftAlone(t *testing.T) {
	w := &watched{works: newWorks()}
	older, e := w.asked(1, 20), w.asked(2, 10)
	w.stands(t, e, operation.Running)
	other := w.working(older, "dd", operation.Running)
	if got := w.stop(t, e); !slices.Equal(got.Operations, []string{w.ops[0].Key.String()}) || w.find(other.Key).State != operation.Running {
		t.Errorf("%+v, the other operation %s", got, w.find(other.Key).State)
	}
}

// The newest of two events with one content is cancelled, then the other one: a worker that has the first in hand all
// the time finds nothing that it could claim.
func TestBothEventsOfOneContentAreCancelled(t *testing.T) {
	for _, newestFirst := range []bool{true, false} {
		w := &watched{works: newWorks()}
		older, newer := w.asked(1, 10), w.asked(2, 5)
		o := w.stands(t, older, operation.Pending)
		order := []inbox.Event{older, newer}
		if newestFirst {
			order = []inbox.Event{newer, older}
		}
		if got := w.stop(t, order[0]); !slices.Equal(got.Operations, []string{o.Key.String()}) {
			t.Errorf("%+v", got)
		}
		late := operation.Claim{Key: o.Key, Attempt: "att_late", Event: order[0].ID, Rank: order[0].Rank, Now: noon, Until: noon.Add(time.Minute), Limit: 5}
		if _, err := w.Claim(t.Context(), late); !errors.Is(err, operation.ErrRefused) {
			t.Errorf("a worker that comes late: %v", err)
		}
		if got := w.stop(t, order[1]); len(got.Operations) != 0 || got.Already {
			t.Errorf("%+v", got)
		}
		if w.ops[0].State != operation.Failed || w.events[older.ID].Outcome != inbox.Cancelled || w.events[newer.ID].Outcome != inbox.Cancelled {
			t.Errorf("operation %s, events %s and %s", w.ops[0].State, w.events[older.ID].Outcome, w.events[newer.ID].Outcome)
		}
	}
}

// An operation may be superseded by less than the event after its claim was refused: it is claimed again, before a
// worker does that which has the event in hand.
func TestWhatIsSupersededBetweenClaimAndLookIsClaimedAgain(t *testing.T) {
	w := &watched{works: newWorks()}
	old, e := w.asked(1, 30), w.asked(2, 10)
	o := w.stands(t, old, operation.Running)
	w.looks = []func(){func() { o.State, o.Owner = operation.Superseded, "" }}
	if got := w.stop(t, e); !slices.Equal(got.Operations, []string{o.Key.String()}) || got.Already {
		t.Errorf("%+v", got)
	}
	if len(w.claims) != 1 || w.claims[0].Rank != e.Rank || w.ops[0].State != operation.Failed || len(w.ends) != 1 {
		t.Errorf("claims %+v, operation %s, ends %+v", w.claims, w.ops[0].State, w.ends)
	}
}

// What is superseded by no less than the event cannot be claimed for it, before or after it was settled.
func TestWhatIsSupersededAfterTheEventIsLeft(t *testing.T) {
	w := &watched{works: newWorks()}
	old, e := w.asked(1, 30), w.asked(2, 10)
	o := w.stands(t, e, operation.Superseded)
	w.looks = []func(){func() {}, func() { o.Rank = old.Rank }} // after it was settled
	if got := w.stop(t, e); len(got.Operations) != 0 || len(w.claims) != 0 || len(w.ends) != 1 || w.ops[0].State != operation.Superseded {
		t.Errorf("%+v, claims %+v", got, w.claims)
	}
}

// Between look and write the work may be taken over, also by a newer event: it is looked at again.
func TestWorkThatIsTakenOverBetweenLookAndWrite(t *testing.T) {
	for _, c := range []struct {
		name string
		by   int // minutes before noon
		want operation.State
	}{
		{"by another attempt of the event", 10, operation.Failed},
		{"by a newer event", 5, operation.Running},
	} {
		for settled, looks := range map[string]int{"before it is settled": 1, "after it": 2} {
			w := &watched{works: newWorks()}
			e := w.asked(1, 10)
			by := e
			if c.by != 10 {
				by = w.asked(2, c.by)
			}
			o := w.stands(t, e, operation.Pending)
			takes := func() { o.State, o.Token, o.Event, o.Rank = operation.Running, o.Token+1, by.ID, by.Rank }
			if looks == 1 {
				w.looks = []func(){func() { w.meanwhile = takes }}
			} else {
				o.State = operation.Completed
				w.looks = []func(){func() {}, func() { o.State, w.meanwhile = operation.Pending, takes }}
			}
			got := w.stop(t, e)
			if w.ops[0].State != c.want || (len(got.Operations) == 1) != (c.want == operation.Failed) || w.events[e.ID].Outcome != inbox.Cancelled {
				t.Errorf("%s, %s: %+v, operation %s", c.name, settled, got, w.ops[0].State)
			}
		}
	}
}

// Whether a newer event is open is looked at, not guessed.
func TestANewerEventThatCannotBeLookedAt(t *testing.T) {
	w := &blind{works: newWorks()}
	e, newer := w.asked(1, 10), w.asked(2, 5)
	w.stands(t, newer, operation.Running)
	c := control.New(control.Deps{Store: w, Endpoints: w, Bodies: w, Now: func() time.Time { return noon }, NewID: func() string { return "act" }})
	_, err := c.Cancel(t.Context(), shop, control.Stop{ID: string(e.ID), By: "ann", Reason: "why"})
	if !errors.Is(err, errDownstairs) || len(w.stops)+len(w.ends) != 0 {
		t.Errorf("%v, %d writes", err, len(w.stops)+len(w.ends))
	}
}

// blind is a table that gives no event alone.
type blind struct{ *works }

func (b *blind) Event(context.Context, inbox.EventID) (inbox.Event, error) {
	return inbox.Event{}, errDownstairs
}
