package control_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"engang/shared/control"
	"engang/shared/inbox"
	"engang/shared/operation"
	"engang/shared/problem"

	"github.com/google/go-cmp/cmp"
)

// failed stores a failed operation with the event that is parked on it.
func (d *counter) failed(n, minutes int) operation.Operation {
	o := d.draft(n, minutes)
	stored := d.at(o.Key)
	stored.State, stored.Output, stored.Digest, stored.Reason, stored.Category = operation.Failed, nil, "", "refusal", operation.CategoryUnusableOutput
	e := d.events[o.Event]
	e.State, e.Outcome, e.Operations, e.Reason, e.Category = inbox.Parked, "", []string{o.Key.String()}, "refusal", "unusable output"
	d.events[e.ID] = e
	return *stored
}

// parked stores an event that could not become an operation.
func (d *counter) parked(n, minutes int) inbox.Event {
	e := d.event(n, "product:794", minutes)
	e.State, e.Outcome, e.Reason, e.Category = inbox.Parked, "", "the payload names no object", "invalid input"
	d.events[e.ID] = e
	return e
}

// conflict stores another fact under an event's key.
func (d *counter) conflict(e inbox.Event, hex string, minutes int) inbox.Conflict {
	x := inbox.Conflict{Event: e.ID, Digest: hex, At: noon.Add(-time.Duration(minutes) * time.Minute)}
	d.conflicts[e.ID] = append(d.conflicts[e.ID], x)
	return x
}

func dismissing(id string) control.Deciding {
	return control.Deciding{ID: id, By: "ann", Reason: "withdrawn"}
}

func TestWhatIsDismissedLeavesTheList(t *testing.T) {
	d := newCounter()
	o, e := d.failed(1, 5), d.parked(2, 4)
	x := d.conflict(e, "beef01", 3)
	d.conflict(e, "beef02", 2)
	for _, c := range []struct{ id, whole, act string }{
		{"product:794/product-card@3/bb", o.Key.String(), "dismiss operation"},
		{string(e.ID), string(e.ID), "dismiss event"},
		{string(e.ID) + "/sha256:beef01", string(e.ID) + "/" + x.Digest, "dismiss conflict"},
	} {
		got, err := d.control().Dismiss(t.Context(), shop, dismissing(c.id))
		if err != nil || got.ID != c.whole || got.Decision != "dismissed" || got.Already || got.By != "ann" || got.Note != "withdrawn" || got.Object != "product:794" {
			t.Errorf("%s: %+v, %v", c.id, got, err)
		}
		if last := d.trail[len(d.trail)-1]; last.Act != c.act || last.Target != c.whole || last.By != "ann" || last.ExpiresAt.IsZero() {
			t.Errorf("%s: recorded %+v", c.id, last)
		}
		again, err := d.control().Dismiss(t.Context(), shop, control.Deciding{ID: c.id, By: "bob", Reason: "me too"})
		if err != nil || !again.Already || again.By != "ann" || again.Note != "withdrawn" || again.ID != c.whole {
			t.Errorf("%s again: %+v, %v", c.id, again, err)
		}
		if last := d.trail[len(d.trail)-1]; last.Act != c.act+", done already" || last.By != "bob" {
			t.Errorf("%s again: recorded %+v", c.id, last)
		}
	}
	stored := d.at(o.Key)
	if stored.State != operation.Failed || !stored.ExpiresAt.Equal(noon.AddDate(0, 0, 400)) {
		t.Errorf("stored %+v", stored)
	}
	if waiting := d.events[o.Event]; waiting.Dismissed == nil || !waiting.ExpiresAt.Equal(noon.AddDate(0, 0, 30)) {
		t.Errorf("the event that waited for the operation: %+v", waiting)
	}
	want := &control.Decision{By: "ann", At: noon, Note: "withdrawn"}
	op, err := d.control().Show(t.Context(), shop, o.Key.String(), time.Time{})
	if diff := cmp.Diff(want, op.Operation.Dismissed); err != nil || diff != "" || op.Operation.Review != nil || op.Operation.Decision != nil {
		t.Errorf("the operation shows %+v, %v", op.Operation, err)
	}
	event, err := d.control().Show(t.Context(), shop, string(e.ID), time.Time{})
	if diff := cmp.Diff([]*control.Decision{want, want, nil}, []*control.Decision{event.Event.Dismissed, event.Event.Conflicts[0].Dismissed, event.Event.Conflicts[1].Dismissed}); err != nil || diff != "" {
		t.Errorf("the event shows %+v, %v", event.Event, err)
	}
	list, err := d.control().Review(t.Context(), shop, control.ReviewFilter{}, control.Span{})
	if err != nil || len(list.Items) != 1 || list.Items[0].ID != string(e.ID)+"/beef02" {
		t.Errorf("the list: %+v, %v", list.Items, err)
	}
}

func TestWhatCannotBeDismissed(t *testing.T) {
	d := newCounter()
	draft, failed := d.draft(1, 5), d.failed(2, 4)
	cancelled := d.failed(3, 3)
	d.at(cancelled.Key).QueuedAt = time.Time{}
	settled, parked := d.event(4, "product:794", 2), d.parked(5, 1)
	d.conflict(parked, "beef01", 1)
	d.conflict(parked, "beef02", 1)
	foreign := d.parked(6, 1)
	foreign.Scope.Tenant = "other"
	d.events[foreign.ID] = foreign
	for _, c := range []struct {
		name, id string
		err      error
	}{
		{"a draft", draft.Key.String(), operation.ErrNotWaiting},
		{"what was cancelled: it is not in the list", cancelled.Key.String(), operation.ErrNotWaiting},
		{"a settled event", string(settled.ID), operation.ErrNotWaiting},
		{"an event whose operation is what waits", string(failed.Event), operation.ErrNotWaiting},
		{"another tenant's event", string(foreign.ID), inbox.ErrNotFound},
		{"no such event", "evt_aaaaaaaaaaaaaaaa", inbox.ErrNotFound},
		{"no such conflict", string(parked.ID) + "/00", inbox.ErrNotFound},
		{"one of two conflicts", string(parked.ID) + "/beef", control.ErrAmbiguous},
		{"no such operation", "product:794/product-card@3/00", operation.ErrNotFound},
	} {
		got, err := d.control().Dismiss(t.Context(), shop, dismissing(c.id))
		if !errors.Is(err, c.err) || got.Kind != "" || len(d.writes) != 0 {
			t.Errorf("%s: %+v, %v, writes %v", c.name, got, err, d.writes)
		}
	}
	for _, e := range d.trail {
		if !strings.HasSuffix(e.Act, ", refused") {
			t.Errorf("recorded %q", d.trailOf())
		}
	}
	for _, c := range []struct {
		asked control.Deciding
		err   error
	}{
		{control.Deciding{ID: failed.Key.String(), By: "ann"}, control.ErrReason},
		{control.Deciding{ID: failed.Key.String(), Reason: "r"}, problem.ErrIdentity},
	} {
		if _, err := d.control().Dismiss(t.Context(), shop, c.asked); !errors.Is(err, c.err) || len(d.writes) != 0 {
			t.Errorf("%+v: %v", c.asked, err)
		}
	}
}

// Whoever acts between the look and the write is met by another look.
func TestADismissalMeetsWhatOthersDo(t *testing.T) {
	raised := func(d *counter) { // a newer event waits for it, and is parked
		e := d.events[d.ops[0].Event]
		e.ID, e.Rank = "evt_newernewernewern", e.Rank+"1"
		d.events[e.ID], d.ops[0].Event, d.ops[0].Rank = e, e.ID, e.Rank
	}
	for _, c := range []struct {
		name    string
		between func(d *counter)
		err     error
		looks   int // writes that were tried
	}{
		{"redriven", func(d *counter) { d.ops[0].State, d.ops[0].QueuedAt = operation.Pending, time.Time{} }, operation.ErrNotWaiting, 1},
		{"redriven, and failed again", func(d *counter) { d.ops[0].Token++ }, nil, 2},
		{"a newer event waits for it", raised, nil, 2},
		{"a newer event waits for it, and is in work", func(d *counter) {
			raised(d)
			d.reopens(d.ops[0].Event)
		}, operation.ErrInWork, 1},
		{"another recipe of the event was redriven, and it is parked anew", func(d *counter) {
			d.reopens(d.ops[0].Event)
			d.parks(d.ops[0].Event)
		}, nil, 2},
		{"its event was erased", func(d *counter) { d.settles(d.ops[0].Event) }, nil, 2},
		{"dismissed by somebody else", func(d *counter) {
			d.ops[0].Dismissed, d.ops[0].QueuedAt, d.ops[0].WriteID = decision("bob", "no", noon), time.Time{}, "w"
		}, nil, 1},
	} {
		for _, seen := range []bool{false, true} {
			d := newCounter()
			o := d.failed(1, 5)
			asked := dismissing(o.Key.String())
			if seen {
				asked.Seen = d.seen(t, o.Key.String())
			}
			d.between = c.between
			got, err := d.control().Dismiss(t.Context(), shop, asked)
			want := c.err
			if stored := d.at(o.Key); seen && want == nil && (stored.Token != o.Token || stored.Event != o.Event) {
				want = operation.ErrOtherFailure
			}
			if want == operation.ErrInWork && seen { // what was looked at is not what stands there: that is said first
				want = operation.ErrOtherFailure
			}
			if !errors.Is(err, want) || err == nil && (got.Already != (d.ops[0].Dismissed.By == "bob") || len(d.writes) != c.looks) {
				t.Errorf("%s, seen %t: %+v, %v, writes %v", c.name, seen, got, err, d.writes)
			}
			if err != nil && d.ops[0].Dismissed != nil {
				t.Errorf("%s, seen %t: refused, and dismissed", c.name, seen)
			}
			if e := d.events[d.ops[0].Event]; err == nil && !got.Already && e.State == inbox.Parked && e.Dismissed == nil {
				t.Errorf("%s, seen %t: the event is parked, in no list and not dismissed", c.name, seen)
			}
		}
	}
}

// reopens, parks and settles are what a redrive, a worker and an erasure do to an event.
func (d *counter) reopens(id inbox.EventID) {
	e := d.events[id]
	e.State, e.Dismissed = inbox.Received, nil
	e.Generation++
	d.events[id] = e
}

func (d *counter) parks(id inbox.EventID) {
	e := d.events[id]
	e.State = inbox.Parked
	d.events[id] = e
}

func (d *counter) settles(id inbox.EventID) {
	e := d.events[id]
	e.State, e.Operations = inbox.Settled, nil
	e.Generation++
	d.events[id] = e
}

// seen is what the list shows of something that waits.
func (d *counter) seen(t *testing.T, id string) string {
	t.Helper()
	list, err := d.control().Review(t.Context(), shop, control.ReviewFilter{}, control.Span{})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range list.Items {
		if w.ID == id {
			return w.Seen
		}
	}
	t.Fatalf("%s is not in the list %+v", id, list.Items)
	return ""
}

// Operation and event go together or not at all: whatever becomes of the one write, nothing is half done.
func TestADismissalWhoseAnswerIsLostIsFoundByItsRepeat(t *testing.T) {
	d := newCounter()
	o := d.failed(1, 5)
	d.lost = errDown
	if _, err := d.control().Dismiss(t.Context(), shop, dismissing(o.Key.String())); !errors.Is(err, errDown) || d.at(o.Key).Dismissed == nil || d.events[o.Event].Dismissed == nil {
		t.Fatalf("%v, stored %+v", err, d.at(o.Key))
	}
	d.lost = nil
	got, err := d.control().Dismiss(t.Context(), shop, dismissing(o.Key.String()))
	if err != nil || !got.Already {
		t.Errorf("%+v, %v", got, err)
	}
	if diff := cmp.Diff([]string{"dismiss"}, d.writes); diff != "" {
		t.Error(diff)
	}
}

// A failure whose event is still being ended, or held, is not dismissed: parked afterwards, the event would stand in
// no list.
func TestAFailureIsNotDismissedBeforeItsEventIsParked(t *testing.T) {
	d := newCounter()
	o := d.failed(1, 5)
	e := d.events[o.Event]
	e.State = inbox.Received
	d.events[e.ID] = e
	_, err := d.control().Dismiss(t.Context(), shop, dismissing(o.Key.String()))
	refused, ok := errors.AsType[*operation.RefusedError](err)
	if !errors.Is(err, operation.ErrInWork) || !ok || refused.Stored.Key != o.Key || len(d.writes) != 0 {
		t.Errorf("%v, writes %v", err, d.writes)
	}
	d.parks(e.ID)
	if _, err := d.control().Dismiss(t.Context(), shop, dismissing(o.Key.String())); err != nil || d.events[e.ID].Dismissed == nil {
		t.Errorf("parked: %v, %+v", err, d.events[e.ID])
	}
}

// What was looked at is what is dismissed, where the person says what that was.
func TestOnlyTheFailureThatWasLookedAtIsDismissed(t *testing.T) {
	d := newCounter()
	o, e := d.failed(1, 5), d.parked(2, 4)
	for id, again := range map[string]func(){
		o.Key.String(): func() { d.at(o.Key).Token++ },
		string(e.ID): func() {
			d.reopens(e.ID)
			d.parks(e.ID)
		},
	} {
		asked := dismissing(id)
		asked.Seen = d.seen(t, id)
		again()
		if _, err := d.control().Dismiss(t.Context(), shop, asked); !errors.Is(err, operation.ErrOtherFailure) || len(d.writes) != 0 {
			t.Errorf("%s: %v, writes %v", id, err, d.writes)
		}
		asked.Seen = d.seen(t, id)
		if got, err := d.control().Dismiss(t.Context(), shop, asked); err != nil || got.Already {
			t.Errorf("%s, looked at anew: %+v, %v", id, got, err)
		}
		d.writes = nil
	}
	shown, err := d.control().Show(t.Context(), shop, d.failed(3, 3).Key.String(), time.Time{})
	if err != nil || shown.Operation.Review.Seen != d.seen(t, shown.Operation.ID) {
		t.Errorf("shown %+v, %v", shown.Operation.Review, err)
	}
}

// A failure may outlive its event, and then goes alone; so it does where the event is over.
func TestAFailureIsDismissedWithoutItsEvent(t *testing.T) {
	for name, before := range map[string]func(d *counter, id inbox.EventID){
		"gone":    func(d *counter, id inbox.EventID) { delete(d.events, id) },
		"settled": (*counter).settles,
		"in the list by itself": func(d *counter, id inbox.EventID) {
			e := d.events[id]
			e.Operations = nil
			d.events[id] = e
		},
		"dismissed before": func(d *counter, id inbox.EventID) {
			e := d.events[id]
			e.Dismissed = &inbox.Dismissed{By: "bob"}
			d.events[id] = e
		},
	} {
		d := newCounter()
		o := d.failed(1, 5)
		before(d, o.Event)
		e := d.events[o.Event]
		if _, err := d.control().Dismiss(t.Context(), shop, dismissing(o.Key.String())); err != nil || d.at(o.Key).Dismissed == nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(e.Dismissed, d.events[o.Event].Dismissed); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
