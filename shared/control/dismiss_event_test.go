package control_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"engang/shared/control"
	"engang/shared/inbox"
	"engang/shared/operation"
)

// An event that several recipes worked for stays as long as one of them may still need it.
func TestAnEventStaysForItsOtherRecipes(t *testing.T) {
	d := newCounter()
	first, second := d.failed(1, 5), d.failed(2, 5)
	d.at(second.Key).Event = first.Event
	if _, err := d.control().Dismiss(t.Context(), shop, dismissing(first.Key.String())); err != nil || d.events[first.Event].Dismissed != nil {
		t.Errorf("with one of two: %v, event %+v", err, d.events[first.Event].Dismissed)
	}
	if _, err := d.control().Dismiss(t.Context(), shop, dismissing(second.Key.String())); err != nil || d.events[first.Event].Dismissed == nil {
		t.Errorf("with the last: %v, event %+v", err, d.events[first.Event].Dismissed)
	}
}

// Two who dismiss the operations of one event at once do not leave it to each other; nor is it taken from one that
// comes to need it meanwhile.
func TestAnEventIsNotLeftByBothItsRecipes(t *testing.T) {
	second := func(d *counter) *operation.Operation { return &d.ops[1] }
	for _, c := range []struct {
		name            string
		before, between func(t *testing.T, d *counter)
		ahead           bool // it happens before the look at the event, else before the write
		err             error
		dismissed       bool // the event
	}{
		{"both at once", nil, func(t *testing.T, d *counter) {
			if _, err := d.control().Dismiss(t.Context(), shop, dismissing(second(d).Key.String())); err != nil {
				t.Error(err)
			}
		}, false, nil, true},
		{"the other is redriven, and done", nil, func(_ *testing.T, d *counter) {
			second(d).State, second(d).QueuedAt = operation.Completed, time.Time{}
			d.reopens(second(d).Event)
			d.parks(second(d).Event)
		}, false, nil, true},
		{"the other is redriven", nil, func(_ *testing.T, d *counter) {
			second(d).State, second(d).QueuedAt = operation.Pending, time.Time{}
			d.reopens(second(d).Event)
		}, false, operation.ErrInWork, false},
		{"the other, dismissed before, is redriven and fails again", func(_ *testing.T, d *counter) {
			second(d).Dismissed, second(d).QueuedAt = decision("bob", "no", noon), time.Time{}
		}, func(_ *testing.T, d *counter) {
			second(d).Dismissed, second(d).QueuedAt = nil, noon
			d.reopens(second(d).Event)
			d.parks(second(d).Event)
		}, true, nil, false},
	} {
		d := newCounter()
		first := d.failed(1, 5)
		d.failed(2, 5)
		second(d).Event = first.Event
		if c.before != nil {
			c.before(t, d)
		}
		act := func(d *counter) { c.between(t, d) }
		if c.ahead {
			d.ahead = act
		} else {
			d.between = act
		}
		_, err := d.control().Dismiss(t.Context(), shop, dismissing(first.Key.String()))
		if e := d.events[first.Event]; !errors.Is(err, c.err) || (e.Dismissed != nil) != c.dismissed {
			t.Errorf("%s: %v, event %s, dismissed %+v", c.name, err, e.State, e.Dismissed)
		}
	}
}

// A draft of another recipe keeps no event: what is decided about it is its output, and a rejected one that is
// redriven opens the event again, dismissed or not.
func TestADraftDoesNotKeepTheEventFromBeingDismissed(t *testing.T) {
	d := newCounter()
	failed, draft := d.failed(1, 5), d.draft(2, 5)
	d.at(draft.Key).Event = failed.Event
	if _, err := d.control().Dismiss(t.Context(), shop, dismissing(failed.Key.String())); err != nil || d.events[failed.Event].Dismissed == nil {
		t.Errorf("%v, event %+v", err, d.events[failed.Event].Dismissed)
	}
}

func TestAFailureWhoseEventCannotBeReadIsNotDismissed(t *testing.T) {
	d := newCounter()
	o := d.failed(1, 5)
	d.unread = errDown
	if _, err := d.control().Dismiss(t.Context(), shop, dismissing(o.Key.String())); !errors.Is(err, errDown) || len(d.writes) != 0 {
		t.Errorf("%v, writes %v", err, d.writes)
	}
}

// A newer event that comes to wait between the two looks is looked at as well, whatever became of the older one.
func TestADismissalLooksAtTheEventThatWaitsLast(t *testing.T) {
	d := newCounter()
	o := d.failed(1, 5)
	d.ahead = func(d *counter) {
		e := d.events[o.Event]
		e.ID = "evt_newernewernewern"
		d.events[e.ID], d.ops[0].Event = e, e.ID
		delete(d.events, o.Event)
	}
	if _, err := d.control().Dismiss(t.Context(), shop, dismissing(o.Key.String())); err != nil || d.events["evt_newernewernewern"].Dismissed == nil {
		t.Errorf("%v, %+v", err, d.events)
	}
}

// deaf is a review list whose first answer to a dismissal of an event is lost, and the client's repeat refused.
type deaf struct {
	*counter
	lost bool
}

func (d *deaf) DismissEvent(ctx context.Context, m inbox.Dismissal) error {
	err := d.counter.DismissEvent(ctx, m)
	if d.lost {
		return err
	}
	d.lost = true
	return inbox.ErrStale
}

// An event keeps no write id: the record of its dismissal has its name and time. Nobody else's is taken for it, and it
// is written once.
func TestADismissalOfAnEventIsRecordedOnceByWhoeverDidIt(t *testing.T) {
	t.Run("our own answer is lost", func(t *testing.T) {
		d := &deaf{counter: newCounter()}
		e := d.parked(1, 5)
		c := control.New(control.Deps{Store: d, Endpoints: d, Bodies: d, Now: func() time.Time { return noon }, NewID: func() string { return "act-1" }})
		got, err := c.Dismiss(t.Context(), shop, dismissing(string(e.ID)))
		if want := []string{string(e.ID) + " ann: dismiss event of " + string(e.ID) + " because withdrawn"}; err != nil || got.Already || !slices.Equal(d.trailOf(), want) {
			t.Errorf("%+v, %v, recorded %q", got, err, d.trailOf())
		}
	})
	for name, by := range map[string]inbox.Dismissed{
		"somebody is faster, within one millisecond": {By: "bob", At: noon, Note: "withdrawn"}, "so are we, for another reason": {By: "ann", At: noon, Note: "spam"},
		"so were we, a moment ago": {By: "ann", At: noon.Add(-time.Millisecond), Note: "withdrawn"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newCounter()
			e := d.parked(1, 5)
			d.between = func(d *counter) {
				e.Dismissed = &by
				d.events[e.ID] = e
			}
			got, err := d.control().Dismiss(t.Context(), shop, dismissing(string(e.ID)))
			want := []string{
				string(e.ID) + " " + by.By + ": dismiss event of " + string(e.ID) + " because " + by.Note,
				"act-1 ann: dismiss event, done already of " + string(e.ID) + " because withdrawn",
			}
			if err != nil || !got.Already || got.By != by.By || !slices.Equal(d.trailOf(), want) {
				t.Errorf("%+v, %v, recorded %q", got, err, d.trailOf())
			}
		})
	}
	t.Run("it is asked for once more", func(t *testing.T) {
		d := newCounter()
		e := d.parked(1, 5)
		for n := range 2 {
			if got, err := d.control().Dismiss(t.Context(), shop, dismissing(string(e.ID))); err != nil || got.Already != (n == 1) || len(d.trail) != n+1 {
				t.Errorf("%d: %+v, %v, recorded %q", n, got, err, d.trailOf())
			}
		}
	})
}
