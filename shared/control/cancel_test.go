package control_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"engang/shared/audit"
	"engang/shared/control"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/problem"
)

var stop = control.Stop{By: "ann", Reason: "wrong prices"}

func (m *memory) cancel(t *testing.T, id string) (control.Cancellation, error) {
	t.Helper()
	s := stop
	s.ID = id
	return m.control().Cancel(t.Context(), shop, s)
}

func TestCancelStopsWhatIsNotFinal(t *testing.T) {
	final := []operation.State{operation.Completed, operation.Rejected, operation.Superseded, operation.Failed}
	for _, state := range append(slices.Clone(operation.Cancel.From), final...) {
		m := newMemory()
		e := m.opened(1, "product:794", 5)
		op := m.working(e, "9f2c", state)
		got, err := m.cancel(t, "product:794/product-card@3/9f")
		if slices.Contains(final, state) {
			refused, ok := errors.AsType[*operation.RefusedError](err)
			if !ok || refused.Stored.State != state || m.tries != 0 || m.trail[0].Act != "cancel, refused" {
				t.Errorf("%s: %v, trail %+v", state, err, m.trail)
			}
			continue
		}
		want := control.Cancellation{
			Kind: "cancellation", ID: op.Key.String(), Tenant: "shop", Environment: "test", Was: string(state), Operations: []string{op.Key.String()},
			Decision: &control.Decision{By: "ann", At: noon, Note: "wrong prices"},
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", state, err, diff)
		}
		write := operation.Cancellation{Key: op.Key, Token: 3, By: "ann", Note: "wrong prices", WriteID: "act-1", Now: noon, ExpiresAt: noon.AddDate(0, 0, 400)}
		if diff := cmp.Diff([]operation.Cancellation{write}, m.stops); diff != "" {
			t.Errorf("%s: %s", state, diff)
		}
		entry := audit.Entry{Scope: shop, At: noon, ID: "act-2", By: "ann", Act: "cancel", Target: op.Key.String(), Reason: "wrong prices", ExpiresAt: noon.AddDate(0, 0, 400)}
		if diff := cmp.Diff([]audit.Entry{entry}, m.trail); diff != "" || len(m.ends) != 0 {
			t.Errorf("%s: %s", state, diff)
		}
	}
}

// A beginning is enough as long as it fits one operation, and that of an object too.
func TestAUniqueBeginningIsCancelled(t *testing.T) {
	for _, id := range []string{"product:794", "product:794/product-card", "product:794/prod", "product:794/product-card@3", "product:794/product-card@3/9"} {
		m := newMemory()
		op := m.working(m.opened(1, "product:794", 5), "9f2c", operation.Pending)
		m.working(m.opened(2, "product:7941", 5), "9f2c", operation.Pending)
		got, err := m.cancel(t, id)
		if err != nil || got.ID != op.Key.String() || len(m.stops) != 1 || m.stops[0].Key != op.Key || m.trail[0].Target != op.Key.String() {
			t.Errorf("%s: %v, %+v", id, err, got)
		}
	}
	m := newMemory()
	if _, err := m.cancel(t, "product:794"); !errors.Is(err, operation.ErrNotFound) {
		t.Errorf("an object without work: %v", err)
	}
}

// An object may have a slash in its name: it goes before a recipe.
func TestAnObjectGoesBeforeARecipe(t *testing.T) {
	m := newMemory()
	own := m.working(m.opened(1, "product:794/product-card", 5), "9f2c", operation.Pending)
	m.working(m.opened(2, "product:794", 5), "9f2c", operation.Pending)
	if got, err := m.cancel(t, "product:794/product-card"); err != nil || got.ID != own.Key.String() {
		t.Errorf("%v, %+v", err, got)
	}
}

// The second of two who cancel is told by whom it was done, and nothing is done again.
func TestWhatWasCancelledIsNotRefused(t *testing.T) {
	m := newMemory()
	e := m.opened(1, "product:794", 5)
	op := m.working(e, "9f2c", operation.Running)
	if _, err := m.cancel(t, op.Key.String()); err != nil {
		t.Fatal(err)
	}
	got, err := m.control().Cancel(t.Context(), shop, control.Stop{ID: op.Key.String(), By: "bea", Reason: "me too"})
	if err != nil || !got.Already || got.Was != "failed" || len(got.Operations) != 0 || got.Decision.By != "ann" || got.Decision.Note != "wrong prices" || len(m.stops) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if last := m.trail[1]; last.Act != "cancel, done already" || last.By != "bea" {
		t.Errorf("trail %+v", m.trail)
	}
}

// Between look and write attempts end and begin; a person's decision is another matter.
func TestWhatMovesOnMeanwhileIsStoppedWhereNobodyDecided(t *testing.T) {
	for _, c := range []struct {
		name      string
		seen      operation.State
		then      func(*operation.Operation)
		want      operation.State // as it is told; empty: refused
		wantToken int64
	}{
		{"another worker took it over", operation.Running, func(o *operation.Operation) { o.Token = 4 }, operation.Running, 4},
		{"it was claimed", operation.Pending, func(o *operation.Operation) { o.State, o.Token = operation.Running, 4 }, operation.Running, 4},
		{"it became a draft", operation.Running, func(o *operation.Operation) { o.State, o.Token = operation.Review, 4 }, operation.Review, 4},
		{"it was completed", operation.Running, func(o *operation.Operation) { o.State = operation.Completed }, "", 0},
		{"the draft was approved", operation.Review, func(o *operation.Operation) { o.State = operation.Completed }, "", 0},
		{"the draft was rejected, and the work redriven", operation.Review, func(o *operation.Operation) { o.State, o.Token = operation.Running, 4 }, "", 0},
		{"another draft came", operation.Review, func(o *operation.Operation) { o.Token = 4 }, "", 0},
	} {
		m := newMemory()
		op := m.working(m.opened(1, "product:794", 5), "9f2c", c.seen)
		m.meanwhile = func() { c.then(m.find(op.Key)) }
		got, err := m.cancel(t, op.Key.String())
		if c.want == "" {
			if !errors.Is(err, operation.ErrRefused) || len(m.stops) != 0 {
				t.Errorf("%s: %+v, %v", c.name, got, err)
			}
			continue
		}
		if err != nil || got.Was != string(c.want) || len(m.stops) != 1 || m.stops[0].Token != c.wantToken {
			t.Errorf("%s: %+v, %v, %+v", c.name, got, err, m.stops)
		}
	}
}

// Work that changes hands for ever is not looked at for ever.
func TestACancellationThatIsAlwaysLateIsRefused(t *testing.T) {
	m := newMemory()
	op := m.working(m.opened(1, "product:794", 5), "9f2c", operation.Running)
	var claim func()
	claim = func() { m.find(op.Key).Token++; m.meanwhile = claim }
	m.meanwhile = claim
	if _, err := m.cancel(t, op.Key.String()); !errors.Is(err, operation.ErrRefused) || len(m.stops) != 0 {
		t.Errorf("%v", err)
	}
}

func TestAnOpenEventIsCancelledWithWhatWorksForIt(t *testing.T) {
	for _, c := range []struct {
		name  string
		event func(m *memory) inbox.Event
		was   string
		ops   []string
		gen   int
	}{
		{"it waits, without an operation", func(m *memory) inbox.Event { return m.opened(1, "product:794", 5) }, "received", []string{}, 0},
		{"a batch, without an object", func(m *memory) inbox.Event {
			e := m.opened(1, "product:794", 5)
			e.Object, e.Batch = object.ID{}, true
			m.events[e.ID] = e
			return e
		}, "received", []string{}, 0},
		{"with operations of its own", func(m *memory) inbox.Event {
			e := m.opened(1, "product:794", 5)
			m.working(e, "aa", operation.Pending)
			m.working(e, "bb", operation.Completed)
			m.working(e, "cc", operation.Review)
			m.working(m.opened(2, "product:794", 4), "dd", operation.Running) // of a newer event
			return e
		}, "received", []string{"product:794/product-card@3/aa", "product:794/product-card@3/cc"}, 0},
		{"parked without an operation", func(m *memory) inbox.Event {
			e := m.event(1, "product:794", 5)
			e.State, e.Outcome, e.Reason, e.Category, e.Generation = inbox.Parked, "", "the input lacks /name", "invalid input", 1
			m.events[e.ID] = e
			return e
		}, "parked", []string{}, 2},
	} {
		m := newMemory()
		e := c.event(m)
		got, err := m.cancel(t, string(e.ID))
		want := control.Cancellation{Kind: "cancellation", ID: string(e.ID), Tenant: "shop", Environment: "test", Was: c.was, Operations: c.ops}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", c.name, err, diff)
		}
		end := inbox.Ending{Event: e.ID, Generation: c.gen, Outcome: inbox.Cancelled, Operations: c.ops, At: noon, ExpiresAt: noon.AddDate(0, 0, 30)}
		if diff := cmp.Diff([]inbox.Ending{end}, m.ends); diff != "" || len(m.stops) != len(c.ops) {
			t.Errorf("%s: %s", c.name, diff)
		}
		if len(m.trail) != 1 || m.trail[0].Act != "cancel" || m.trail[0].Target != string(e.ID) {
			t.Errorf("%s: trail %+v", c.name, m.trail)
		}
		again, err := m.cancel(t, string(e.ID))
		if err != nil || !again.Already || again.Was != "settled" || len(m.ends) != 1 {
			t.Errorf("%s: again %+v, %v", c.name, again, err)
		}
	}
}

// A worker that read the event before it was settled may claim an operation after it. Without a second look
// that operation would wait for nobody.
func TestWhatIsClaimedWhileTheEventIsSettledIsStoppedToo(t *testing.T) {
	m := newMemory()
	e := m.opened(1, "product:794", 5)
	m.meanwhile = func() { m.working(e, "aa", operation.Running) }
	got, err := m.cancel(t, string(e.ID))
	if err != nil || !slices.Equal(got.Operations, []string{"product:794/product-card@3/aa"}) || m.ops[0].State != operation.Failed {
		t.Errorf("%+v, %v, %s", got, err, m.ops[0].State)
	}
	m.working(e, "bb", operation.Pending) // claimed later still: asking again stops it
	got, err = m.cancel(t, string(e.ID))
	if err != nil || got.Already || !slices.Equal(got.Operations, []string{"product:794/product-card@3/bb"}) {
		t.Errorf("again %+v, %v", got, err)
	}
}

// What ends by itself between the look and the write is left as it is; the event is over all the same.
func TestWhatEndsWhileItsEventIsCancelledStands(t *testing.T) {
	m := newMemory()
	e := m.opened(1, "product:794", 5)
	op := m.working(e, "aa", operation.Running)
	m.meanwhile = func() { m.find(op.Key).State = operation.Completed }
	got, err := m.cancel(t, string(e.ID))
	if err != nil || len(got.Operations) != 0 || got.Already || m.ops[0].State != operation.Completed || m.events[e.ID].Outcome != inbox.Cancelled {
		t.Errorf("%+v, %v, %s", got, err, m.ops[0].State)
	}
}

func TestAnEventThatMovedOnMeanwhile(t *testing.T) {
	for _, c := range []struct {
		name string
		then func(e *inbox.Event)
		gen  int // that was settled; negative: refused
	}{
		{"reopened", func(e *inbox.Event) { e.Generation = 7 }, 7},
		{"completed", func(e *inbox.Event) { e.State, e.Outcome = inbox.Settled, inbox.Completed }, -1},
		{"parked with its operation", func(e *inbox.Event) { e.State, e.Operations = inbox.Parked, []string{"op"} }, -1},
	} {
		m := newMemory()
		e := m.opened(1, "product:794", 5)
		m.meanwhile = func() { changed := m.events[e.ID]; c.then(&changed); m.events[e.ID] = changed }
		_, err := m.cancel(t, string(e.ID))
		refused, ok := errors.AsType[*inbox.RefusedError](err)
		switch {
		case c.gen < 0 && (!ok || !errors.Is(err, inbox.ErrStale) || refused.Stored.ID != e.ID || len(m.ends) != 0 || m.trail[0].Act != "cancel, refused"):
			t.Errorf("%s: %v", c.name, err)
		case c.gen >= 0 && (err != nil || len(m.ends) != 1 || m.ends[0].Generation != c.gen):
			t.Errorf("%s: %v, %+v", c.name, err, m.ends)
		}
	}
}

// A write whose answer is lost is refused by its own effect when it is repeated: asking again says so.
func TestACancellationWithoutAnAnswerMayBeAskedForAgain(t *testing.T) {
	down := errors.New("no answer")
	for _, id := range []string{"event", "operation"} {
		m := newMemory()
		e := m.opened(1, "product:794", 5)
		target := string(e.ID)
		if id == "operation" {
			target = m.working(e, "aa", operation.Running).Key.String()
		}
		m.noAnswer = down
		if _, err := m.cancel(t, target); !errors.Is(err, down) || m.trail[0].Act != "cancel, outcome unknown" {
			t.Errorf("%s: %v, trail %+v", id, err, m.trail)
		}
		if got, err := m.cancel(t, target); err != nil || !got.Already || len(m.stops)+len(m.ends) != 1 {
			t.Errorf("%s again: %+v, %v", id, got, err)
		}
	}
}

func TestWhatCannotBeCancelled(t *testing.T) {
	m := newMemory()
	e := m.event(1, "product:794", 5)
	m.operation(e, "9f2c")
	m.operation(e, "9f2d")
	foreign := m.opened(3, "product:9", 5)
	foreign.Scope.Tenant = "other"
	m.events[foreign.ID] = foreign
	for _, c := range []struct {
		name, id, by, reason string
		err                  error
	}{
		{"without a reason", string(e.ID), "ann", " ", control.ErrReason},
		{"by nobody", string(e.ID), "", "why", problem.ErrIdentity},
		{"an event that is settled", string(e.ID), "ann", "why", inbox.ErrStale},
		{"another tenant's event", string(foreign.ID), "ann", "why", inbox.ErrNotFound},
		{"no such event", "evt_aaaaaaaaaaaaaaaa", "ann", "why", inbox.ErrNotFound},
		{"a whole object", "product:794", "ann", "why", control.ErrAmbiguous},
		{"a beginning of two", "product:794/product-card@3/9f", "ann", "why", control.ErrAmbiguous},
		{"no such operation", "product:794/product-card@3/00", "ann", "why", operation.ErrNotFound},
		{"no id", "what", "ann", "why", object.ErrNoID},
	} {
		if _, err := m.control().Cancel(t.Context(), shop, control.Stop{ID: c.id, By: c.by, Reason: c.reason}); !errors.Is(err, c.err) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if len(m.stops)+len(m.ends) != 0 || len(m.trail) != 1 {
		t.Errorf("%d writes, trail %+v", len(m.stops)+len(m.ends), m.trail)
	}
}
