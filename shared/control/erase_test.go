package control_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/audit"
	"engang/shared/control"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/problem"
)

// An office is a memory whose clock moves and from which things can be erased.
type office struct {
	*memory
	now     time.Time
	acts    []string
	bucket  map[inbox.EventID]int // bodies by event
	noErase error
	ids     int

	goneBodies bool
}

func newOffice() *office {
	return &office{memory: newMemory(), now: noon, bucket: map[inbox.EventID]int{}}
}

func (d *office) control() *control.Control {
	return control.New(control.Deps{
		Store: d, Endpoints: d, Bodies: d, Eraser: d, Shredder: d, OpenAge: 5 * time.Minute, Now: func() time.Time { return d.now },
		NewID: func() string { d.ids++; return fmt.Sprint("id-", d.ids) },
	})
}

func (d *office) EmptyEvent(_ context.Context, id inbox.EventID, at time.Time) error {
	e := d.events[id]
	d.acts = append(d.acts, "empty "+string(id))
	d.events[id] = inbox.Event{ID: e.ID, Scope: e.Scope, Endpoint: e.Endpoint, Type: e.Type, ReceivedAt: e.ReceivedAt, Digest: e.Digest, Generation: e.Generation + 1, State: inbox.Settled, Outcome: inbox.Cancelled, EndedAt: at, Erased: at}
	return nil
}

func (d *office) DeleteWork(_ context.Context, w operation.Deletion) (operation.Deleted, error) {
	var done operation.Deleted
	of := func(id object.ID, rank object.Rank) bool {
		switch {
		case id != w.Object:
			return false
		case rank.ReceivedAt().After(w.Until):
			done.Kept++
			return false
		}
		done.Items++
		return true
	}
	d.ops = slices.DeleteFunc(d.ops, func(o operation.Operation) bool {
		gone := of(o.Key.Object, o.Rank)
		if gone && slices.Contains(operation.Cancel.From, o.State) {
			done.Stopped++
		}
		return gone
	})
	d.results = slices.DeleteFunc(d.results, func(r operation.Result) bool { return of(r.Object, r.Rank) })
	d.acts = append(d.acts, "delete "+w.Object.String())
	return done, nil
}

func (d *office) Erase(_ context.Context, id inbox.EventID) (int, error) {
	if d.noErase != nil {
		return 0, d.noErase
	}
	n := d.bucket[id]
	delete(d.bucket, id)
	return n, nil
}

func (d *office) Read(ctx context.Context, b inbox.Body) ([]byte, error) {
	if d.goneBodies {
		return nil, control.ErrGone
	}
	return d.memory.Read(ctx, b)
}

var chair = object.ID{Kind: "product", Value: "794"}

// ask makes one call of an erasure.
func (d *office) ask(t *testing.T, in control.Erasure) control.Erased {
	t.Helper()
	in.Object = chair
	if !in.DryRun {
		in.By, in.Reason = "ann", "asked to"
	}
	got, err := d.control().Erase(t.Context(), shop, in)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// some goes on with an erasure until something is waited for or it is over, and adds up what its calls say.
func (d *office) some(t *testing.T, in control.Erasure) (sum control.Erased) {
	t.Helper()
	for range 50 {
		got := d.ask(t, in)
		got.Events, got.Batches, got.Bodies = got.Events+sum.Events, got.Batches+sum.Batches, got.Bodies+sum.Bodies
		got.Cancelled, got.Items, got.WaitsFor = got.Cancelled+sum.Cancelled, got.Items+sum.Items, append(sum.WaitsFor, got.WaitsFor...)
		sum = got
		if in.After = got.Next; in.After == "" || got.AgainAt != nil {
			return sum
		}
	}
	t.Fatal("it never comes to an end")
	return sum
}

// rest goes on with an erasure at the time that it names, until it is over.
func (d *office) rest(t *testing.T, from control.Erased) (sum control.Erased) {
	t.Helper()
	for range 10 {
		if from.Next == "" {
			return sum
		}
		if from.AgainAt != nil {
			d.now = *from.AgainAt
		}
		from = d.some(t, control.Erasure{After: from.Next})
		sum.Events, sum.Batches, sum.Items, sum.Cancelled = sum.Events+from.Events, sum.Batches+from.Batches, sum.Items+from.Items, sum.Cancelled+from.Cancelled
	}
	t.Fatal("it never comes to an end")
	return sum
}

// left finds what is still held of the object.
func (d *office) left(t *testing.T) (left []string) {
	t.Helper()
	for _, e := range d.events {
		if e.Object == chair {
			left = append(left, string(e.ID))
		}
	}
	for _, o := range d.ops {
		if o.Key.Object == chair {
			left = append(left, o.Key.String())
		}
	}
	for _, r := range d.results {
		if r.Object == chair {
			left = append(left, "result of "+string(r.Event))
		}
	}
	return left
}

func TestNothingIsLeftOfAnErasedObject(t *testing.T) {
	d := newOffice()
	old, other, lone := d.event(1, "product:794", 600), d.event(2, "product:8", 500), d.event(3, "product:794", 300)
	d.operation(old, "aa")
	d.operation(other, "bb")
	d.bucket[old.ID], d.bucket[lone.ID], d.bucket[other.ID] = 2, 1, 1
	ancient := d.event(4, "product:794", 60*24*1200) // further back than any walk goes, and named by work
	d.operation(ancient, "cc")

	got := d.some(t, control.Erasure{})
	soon := noon.Add(5 * time.Minute)
	want := control.Erased{
		Kind: "erasure", Object: "product:794", Tenant: "shop", Environment: "test", At: noon, Events: 3, Bodies: 3, Items: 4, EffectsSent: got.EffectsSent, WaitsFor: got.WaitsFor,
		AgainAt: &soon, Next: got.Next,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("erased (-want +got):\n%s", diff)
	}
	if left := d.left(t); left != nil {
		t.Errorf("left: %v", left)
	}
	if e := d.events[old.ID]; e.State != inbox.Settled || e.Digest == "" {
		t.Errorf("the event is not known any more: %+v", e)
	}
	if e := d.events[other.ID]; e.Object.IsZero() || len(d.ops) != 1 || len(d.results) != 1 || d.bucket[other.ID] != 1 {
		t.Errorf("of another object: %+v, %d operations", e, len(d.ops))
	}
	if more := d.rest(t, got); more.Events+more.Items != 0 {
		t.Errorf("the second look: %+v", more)
	}
	entry := audit.Entry{Scope: shop, At: noon, ID: "id-1", By: "ann", Act: "erase", Target: "product:794", Reason: "asked to", ExpiresAt: noon.AddDate(0, 0, 400)}
	if diff := cmp.Diff([]audit.Entry{entry}, slices.Compact(d.trail)); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}

	if got := d.some(t, control.Erasure{}); got.Events+got.Items+got.Bodies+got.Cancelled != 0 {
		t.Errorf("erased once more: %+v", got)
	}
}

func TestADryRunOnlyCounts(t *testing.T) {
	d := newOffice()
	e := d.event(1, "product:794", 600)
	e.Body = inbox.Body{Key: "raw/x", Bytes: 40_000}
	d.events[e.ID] = e
	d.operation(e, "aa")
	d.operation(d.event(2, "product:794", 500), "bb")
	d.ops[1].State = operation.Pending
	later := d.operation(d.event(3, "product:794", -1), "cc")
	d.losing = []operation.Losing{{Key: d.ops[0].Key}, {Key: later.Key}}
	got := d.some(t, control.Erasure{DryRun: true})
	want := control.Erased{
		Kind: "erasure", Object: "product:794", Tenant: "shop", Environment: "test", DryRun: true, At: noon, Events: 2, Bodies: 1, Cancelled: 1, Items: 5, EffectsSent: got.EffectsSent, WaitsFor: got.WaitsFor,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(d.acts) != 0 || len(d.trail) != 0 || len(d.left(t)) != 9 {
		t.Errorf("did %v, recorded %v, left %v", d.acts, d.trail, d.left(t))
	}
}

func TestWhatIsUnderWayIsStoppedAndLookedAfterOnceMore(t *testing.T) {
	d := newOffice()
	open := d.event(1, "product:794", 2)
	open.State = inbox.Received
	d.events[open.ID] = open
	d.operation(open, "aa")
	d.ops[0].State, d.results = operation.Running, nil

	first := d.some(t, control.Erasure{})
	if first.Cancelled != 1 || first.AgainAt == nil || !first.AgainAt.Equal(noon.Add(5*time.Minute)) || first.Next == "" {
		t.Fatalf("first calls: %+v", first)
	}
	if diff := cmp.Diff([]string{"empty " + string(open.ID), "delete product:794"}, d.acts); diff != "" {
		t.Errorf("acts (-want +got):\n%s", diff)
	}

	// The worker was between its commit and its result; and somebody sends a new event meanwhile.
	d.operation(open, "aa")
	d.events[open.ID] = inbox.Event{ID: open.ID, Scope: shop, State: inbox.Settled, EndedAt: noon}
	d.now = noon.Add(time.Minute)
	fresh := d.event(9, "product:794", -1)
	d.operation(fresh, "ee")

	in := control.Erasure{Object: chair, By: "ann", Reason: "asked to", After: first.Next}
	early, err := d.control().Erase(t.Context(), shop, in)
	if err != nil || early.Next == "" || early.AgainAt == nil || !early.AgainAt.Equal(*first.AgainAt) || early.Items != 0 {
		t.Errorf("before its time: %+v, %v", early, err)
	}
	d.now = *first.AgainAt
	last, err := d.control().Erase(t.Context(), shop, in)
	if err != nil || last.Next != "" || last.AgainAt != nil || last.Items != 2 || last.Events != 0 {
		t.Errorf("last call: %+v, %v", last, err)
	}
	want := []string{string(fresh.ID), "product:794/product-card@3/ee", "result of " + string(fresh.ID)}
	if left := d.left(t); !slices.Equal(left, want) {
		t.Errorf("left %v, want only the new event and its work", left)
	}
	if all := slices.Compact(d.trail); len(all) != 1 || len(d.trail) < 3 {
		t.Errorf("recorded %+v: every call writes the one entry", all)
	}
}

func TestAnErasureOfManyEventsGoesOnWhereItStopped(t *testing.T) {
	d := newOffice()
	for n := range 2600 {
		name := "product:8"
		if n%13 == 0 {
			name = "product:794"
		}
		d.event(n, name, 10+n)
	}
	in := control.Erasure{Object: chair, By: "ann", Reason: "asked to"}
	first, err := d.control().Erase(t.Context(), shop, in)
	if err != nil || first.Next == "" || first.Events == 0 || first.Events >= 200 {
		t.Fatalf("first page: %+v, %v", first, err)
	}
	// The answer was lost: the same call comes again. Then the caller goes on.
	if again, err := d.control().Erase(t.Context(), shop, in); err != nil || again.Events != 0 {
		t.Fatalf("the same call again: %+v, %v", again, err)
	}
	in.After = first.Next
	rest := d.some(t, in)
	if rest.Events != 200-first.Events {
		t.Errorf("%d events, then %d, want 200 in all", first.Events, rest.Events)
	}
	d.rest(t, rest)
	if left := d.left(t); left != nil {
		t.Errorf("left: %v", left)
	}
}

// A receiver's clock may be ahead of ours: what it took after the erasure began is not meant.
func TestWhatIsReceivedAfterTheErasureBeganIsNewWork(t *testing.T) {
	d := newOffice()
	d.event(1, "product:794", 60)
	later := d.event(2, "product:794", 0)
	delete(d.events, later.ID)
	later.ReceivedAt = noon.Add(30 * time.Second)
	d.events[later.ID] = later
	if got := d.some(t, control.Erasure{}); got.Events != 1 || !slices.Equal(d.left(t), []string{string(later.ID)}) {
		t.Errorf("%+v, left %v", got, d.left(t))
	}
}

// Nothing names a body any more once its event is empty.
func TestABodyThatCannotBeErasedLeavesItsEvent(t *testing.T) {
	d := newOffice()
	e := d.event(1, "product:794", 60)
	d.noErase = problem.ErrUnavailable
	if _, err := d.control().Erase(t.Context(), shop, control.Erasure{Object: chair, By: "ann", Reason: "why"}); !errors.Is(err, problem.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	if d.events[e.ID].Object != chair {
		t.Error("the event was emptied, and its body is still there")
	}
	d.noErase = nil
	if d.some(t, control.Erasure{}); d.left(t) != nil {
		t.Errorf("left %v", d.left(t))
	}
}

func TestAnErasureThatIsNotRecordedIsNotDone(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*control.Erasure, *office)
		want   error
	}{
		{"nobody asks", func(e *control.Erasure, _ *office) { e.By = " " }, problem.ErrIdentity},
		{"no reason", func(e *control.Erasure, _ *office) { e.Reason = " " }, control.ErrReason},
		{"the record cannot be written", func(_ *control.Erasure, d *office) { d.noAudit = problem.ErrUnavailable }, problem.ErrUnavailable},
		{"no cursor of ours", func(e *control.Erasure, _ *office) { e.After = "nonsense" }, control.ErrCursor},
		{"a cursor of a list", func(e *control.Erasure, _ *office) { e.After = "MjAyNi0xMS0yOXw" }, control.ErrCursor},
		{"a cursor from the future", func(e *control.Erasure, d *office) { e.After = d.journeyAt(noon.Add(time.Hour)) }, control.ErrCursor},
		{"a cursor whose record would be gone at once", func(e *control.Erasure, d *office) { e.After = d.journeyAt(noon.AddDate(-2, 0, 0)) }, control.ErrCursor},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newOffice()
			d.event(1, "product:794", 60)
			in := control.Erasure{Object: chair, By: "ann", Reason: "why"}
			c.change(&in, d)
			if _, err := d.control().Erase(t.Context(), shop, in); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if len(d.acts) != 0 {
				t.Errorf("did %v", d.acts)
			}
		})
	}
}

// journeyAt is a cursor of an erasure that began at this time.
func (d *office) journeyAt(at time.Time) string {
	now, other := d.now, newOffice()
	other.now = at
	for n := range 1200 {
		other.events[inbox.EventID(fmt.Sprint(n))] = inbox.Event{ID: inbox.EventID(fmt.Sprintf("evt_%016d", n)), Scope: shop, ReceivedAt: at.Add(-time.Hour)}
	}
	got, _ := other.control().Erase(context.Background(), shop, control.Erasure{Object: chair, By: "ann", Reason: "why"})
	d.now = now
	return got.Next
}
