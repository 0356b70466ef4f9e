package control_test

import (
	"slices"
	"testing"
	"time"

	"engang/shared/control"
	"engang/shared/inbox"
)

// A worker with another message of the same event may have read it before it was settled.
func TestWhatWasSettledAMomentAgoIsLookedAfterOnceMore(t *testing.T) {
	for _, c := range []struct {
		minutes int
		rounds  []time.Duration // after noon
	}{{4, []time.Duration{5, 12}}, {6, []time.Duration{5}}} {
		d := newOffice()
		got := d.some(t, control.Erasure{})
		d.event(1, "product:794", c.minutes-7) // it was received before, and is stored now: settled seven minutes later
		e := d.events[inbox.NewEventID(shop, "woo-shop", "1")]
		e.ReceivedAt = noon.Add(-time.Minute)
		d.events[e.ID] = e
		d.now = noon.Add(7 * time.Minute)
		for _, after := range c.rounds {
			if got.AgainAt == nil || !got.AgainAt.Equal(noon.Add(after*time.Minute)) {
				t.Fatalf("settled %d minutes ago: again at %v, want %d minutes after", c.minutes, got.AgainAt, after)
			}
			d.now = d.now.Add(max(0, got.AgainAt.Sub(d.now)))
			got = d.some(t, control.Erasure{After: got.Next})
		}
		if got.Next != "" || d.left(t) != nil {
			t.Errorf("settled %d minutes ago: it goes on at %v, left %v", c.minutes, got.AgainAt, d.left(t))
		}
	}
}

// A receiver or a catch-up that took it before the erasure began may store it behind the walk, and the list of events
// may be late.
func TestWhatIsStoredBehindTheWalkIsErasedInTheSecond(t *testing.T) {
	d := newOffice()
	first := d.some(t, control.Erasure{})
	if first.AgainAt == nil || !first.AgainAt.Equal(noon.Add(5*time.Minute)) {
		t.Fatalf("nothing was under way: %+v", first)
	}
	late := d.event(1, "product:794", 1)
	d.operation(late, "aa")
	d.event(2, "product:794", 4)
	later := d.event(3, "product:794", -1)
	if rest := d.rest(t, first); rest.Events != 2 || rest.Items != 2 {
		t.Errorf("%+v", rest)
	}
	if left := d.left(t); !slices.Equal(left, []string{string(later.ID)}) {
		t.Errorf("left %v", left)
	}
}

// The second look goes no further back than what may be late.
func TestTheSecondLookIsShort(t *testing.T) {
	d := newOffice()
	first := d.some(t, control.Erasure{})
	d.lists, d.now = 0, *first.AgainAt
	if got := d.ask(t, control.Erasure{After: first.Next}); got.Next != "" || d.lists > 2 {
		t.Errorf("%d lists, next %q", d.lists, got.Next)
	}
}
