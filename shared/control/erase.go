package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"engang/shared/document"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/webhook"
)

// Eraser is the table, as far as erasing goes. Each of its writes may be repeated.
type Eraser interface {
	EmptyEvent(ctx context.Context, id inbox.EventID, at time.Time) error
	DeleteWork(ctx context.Context, d operation.Deletion) (operation.Deleted, error)
}

// Shredder removes every body that was kept for an event.
type Shredder interface {
	Erase(ctx context.Context, event inbox.EventID) (int, error)
}

// An Erasure asks that nothing is left of an object.
type Erasure struct {
	Object object.ID
	By     string
	Reason string
	DryRun bool   // only count
	After  string // where an erasure goes on: Next of the answer before
}

// Erased is what one call of an erasure did.
type Erased struct {
	Kind        string            `json:"kind"` // "erasure"
	Object      string            `json:"object"`
	Tenant      string            `json:"tenant"`
	Environment string            `json:"environment"`
	DryRun      bool              `json:"dry_run"`      // it only counted
	At          time.Time         `json:"at"`           // when the erasure began: what is received later is new work
	Events      int               `json:"events"`       // emptied; each stays known, so that its repeat stays a repeat
	Batches     int               `json:"batches"`      // emptied deliveries that held it among others
	Bodies      int               `json:"bodies"`       // removed from the bucket
	Cancelled   int               `json:"cancelled"`    // operations that were not at their end
	Items       int               `json:"items"`        // removed: operations, attempts, results
	EffectsSent []json.RawMessage `json:"effects_sent"` // which are not undone; none until effects exist
	WaitsFor    []string          `json:"waits_for"`    // deliveries that hold it among others and are not taken apart: the end comes after that
	AgainAt     *time.Time        `json:"again_at"`     // something may still be under way, and is over by then: go on then, with Next
	Next        string            `json:"next"`         // asks for the rest; empty at the end
}

// The stages of an erasure.
const (
	stageWalk  = "walk"  // through the events
	stageAgain = "again" // what was under way at the walk before is over
)

// mostHeld is how many bytes of deliveries of many events one call looks through, beside the last.
const mostHeld = 4 << 20

// Erase erases an object: it stops work that is under way, empties the object's events with their bodies, and
// removes operations, attempts and results. It takes several calls, one page each, until Next is empty; each
// may be repeated, and one that was interrupted is gone on with, or begun again. An event that was received
// after the erasure began is new work, which nothing is taken from.
//
// There is always a second look, at AgainAt: until then a receiver or a catch-up may store what it took before the
// erasure began, the list of events may be late, and a worker may hold an event that it has read before, and leave an
// operation or a result behind. Where something is met that is under way then, there is another one.
//
// A delivery of many events that holds the object's id is emptied once it is settled or dismissed: what else came
// with it has bodies of its own. Before, it is all that there is of the others, and the erasure waits for it.
//
// It is recorded before anything is done, once. It returns [problem.ErrIdentity], [ErrReason], [ErrCursor].
func (c *Control) Erase(ctx context.Context, scope object.Scope, in Erasure) (Erased, error) {
	act := "erase"
	if in.DryRun {
		act = "count"
	} else if err := answerable(in.By, in.Reason); err != nil {
		return Erased{}, err
	}
	j, err := c.begin(errand{scope, act, in.Object.String(), in.By}, in.After)
	if err != nil {
		return Erased{}, err
	}
	doc := Erased{Kind: "erasure", Object: in.Object.String(), Tenant: scope.Tenant, Environment: scope.Environment, DryRun: in.DryRun, At: j.At, EffectsSent: []json.RawMessage{}, WaitsFor: []string{}}
	x := &eraser{Control: c, scope: scope, in: in, journey: j, doc: &doc}
	if !in.DryRun {
		if err := c.recordJourney(ctx, j, in.Reason); err != nil {
			return Erased{}, err
		}
	}
	if err := x.page(ctx); err != nil {
		return Erased{}, fmt.Errorf("erase %s: %w", in.Object, err)
	}
	return doc, nil
}

// An eraser makes one call of an erasure.
type eraser struct {
	*Control
	scope   object.Scope
	in      Erasure
	journey journey
	doc     *Erased
	held    int // bytes looked through of deliveries of many events
}

func (x *eraser) page(ctx context.Context) error {
	switch x.journey.Stage {
	case "":
		x.journey.Busy, x.journey.Since = x.journey.At.Add(x.d.OpenAge), x.journey.At.Add(-x.d.OpenAge)
		return x.round(ctx)
	case stageWalk:
		return x.walkOn(ctx)
	case stageAgain:
		return x.again(ctx)
	}
	return ErrCursor
}

// again begins one more round, if its time has come.
func (x *eraser) again(ctx context.Context) error {
	if x.d.Now().Before(x.journey.Busy) {
		return x.later()
	}
	x.journey.Again, x.journey.Busy = true, time.Time{}
	return x.round(ctx)
}

// round looks through everything. Work comes first, so that nothing that is stopped goes on while many events are
// looked through.
func (x *eraser) round(ctx context.Context) error {
	if err := x.work(ctx); err != nil {
		return err
	}
	x.journey.Stage = stageWalk
	return x.walkOn(ctx)
}

// walkOn goes through the events that may be of the object, as many as one call may read.
func (x *eraser) walkOn(ctx context.Context) error {
	w, err := x.walkAll(x.scope, x.journey)
	if err != nil {
		return err
	}
	for x.held < mostHeld {
		e, ok, err := w.next(ctx)
		switch {
		case err != nil:
			return err
		case !ok:
			x.journey.Place = w.cursor()
			return x.walked()
		case e.ReceivedAt.After(x.journey.At):
		case e.Object == x.in.Object.String():
			err = x.event(ctx, inbox.EventID(e.ID))
		case e.Type == webhook.SplitType:
			err = x.batch(ctx, inbox.EventID(e.ID))
		}
		if err != nil {
			return err
		}
	}
	x.journey.Place = w.cursor()
	return x.walked()
}

// walked asks for the rest of the walk, or, behind it, for one more round where something may still be under way.
func (x *eraser) walked() error {
	switch {
	case x.journey.Place != "":
		return x.goOn()
	case x.in.DryRun, x.journey.Busy.IsZero():
		return nil
	}
	x.journey.Stage = stageAgain
	return x.later()
}

func (x *eraser) later() error {
	x.doc.AgainAt = at(x.journey.Busy)
	return x.goOn()
}

func (x *eraser) goOn() (err error) {
	x.doc.Next, err = x.journey.cursor()
	return err
}

// busy notes that a worker may be under way that has read what is taken away now.
func (x *eraser) busy() { x.journey.Busy = x.d.Now().Add(x.d.OpenAge).UTC() }

// moving tells whether a worker may be under way with an event: it is open, or was a moment ago.
func (x *eraser) moving(e inbox.Event) bool {
	return e.State == inbox.Received || x.d.Now().Sub(e.EndedAt) < x.d.OpenAge
}

// before tells whether an item belongs to an event that was received before the erasure began.
func (x *eraser) before(r object.Rank) bool { return !r.ReceivedAt().After(x.journey.At) }

// work empties the events that work names, and removes the work. Events come first, so that nobody who reads one
// now makes its operation again; with the operation whoever works on it loses his lease.
func (x *eraser) work(ctx context.Context) error {
	all, err := x.collect(ctx, x.scope, x.in.Object)
	if err != nil {
		return err
	}
	for _, o := range all.ops {
		if cancellable(o) && o.State != operation.Review && x.before(o.Rank) {
			x.busy()
		}
	}
	if x.in.DryRun { // the walk counts the events
		x.count(all)
		return nil
	}
	for _, id := range all.named() {
		if err := x.event(ctx, id); err != nil {
			return err
		}
	}
	deleted, err := x.d.Eraser.DeleteWork(ctx, operation.Deletion{Scope: x.scope, Object: x.in.Object, Until: x.journey.At})
	x.doc.Items += deleted.Items
	x.doc.Cancelled += deleted.Stopped
	return err
}

// count counts the work that would be removed.
func (x *eraser) count(all collection) {
	kept := map[operation.Key]bool{}
	for _, o := range all.ops {
		switch {
		case !x.before(o.Rank):
			kept[o.Key] = true
			continue
		case cancellable(o):
			x.doc.Cancelled++
		}
		x.doc.Items++
	}
	for _, l := range all.losing {
		if !kept[l.Key] {
			x.doc.Items++
		}
	}
	for _, r := range all.results {
		if x.before(r.Rank) {
			x.doc.Items++
		}
	}
}

// event empties an event of the object that was received before the erasure began.
func (x *eraser) event(ctx context.Context, id inbox.EventID) error {
	e, _, _, err := x.whole(ctx, id)
	if err != nil || e.Object != x.in.Object || e.ReceivedAt.After(x.journey.At) {
		return err // gone, emptied already, or new work
	}
	if x.moving(e) {
		x.busy()
	}
	return x.empty(ctx, e)
}

// empty takes away what an event holds. Its bodies go first: once the event is empty, nothing names them.
func (x *eraser) empty(ctx context.Context, e inbox.Event) error {
	count := &x.doc.Events
	if e.Batch {
		count = &x.doc.Batches
	}
	*count++
	if x.in.DryRun {
		if e.Body.Key != "" {
			x.doc.Bodies++
		}
		return nil
	}
	n, err := x.d.Shredder.Erase(ctx, e.ID)
	x.doc.Bodies += n
	if err != nil {
		return err
	}
	return x.d.Eraser.EmptyEvent(ctx, e.ID, x.d.Now())
}

// batch empties a delivery of many events that holds the object's, once the others are stored: before, it is all
// that there is of them. What it brought a moment ago, or will bring, is looked for in the next round.
func (x *eraser) batch(ctx context.Context, id inbox.EventID) error {
	p, _, _, err := x.whole(ctx, id)
	if err != nil || !p.Batch { // or gone
		return err
	}
	held, err := x.holds(ctx, p)
	if err != nil || !held {
		return err
	}
	stored := settledOrDismissed(p)
	if !stored || x.moving(p) {
		x.busy()
		if p.ReceivedAt.Before(x.journey.Since) {
			x.journey.Since = p.ReceivedAt
		}
	}
	if !stored && !x.in.DryRun {
		x.doc.WaitsFor = append(x.doc.WaitsFor, string(id))
		return nil
	}
	return x.empty(ctx, p)
}

// settledOrDismissed tells whether the parts of a delivery of many events are stored, or a person has done with it.
func settledOrDismissed(p inbox.Event) bool { return p.State == inbox.Settled || p.Dismissed != nil }

// holds tells whether a delivery of many events holds the object's id, wherever it stands: what is made of the
// delivery depends on settings that may have changed since.
func (x *eraser) holds(ctx context.Context, p inbox.Event) (bool, error) {
	if p.Body.Key == "" && len(p.Body.Packed) == 0 {
		return false, nil
	}
	raw, err := x.d.Bodies.Read(ctx, p.Body)
	if errors.Is(err, ErrGone) { // perhaps by an erasure that died before the event was empty: what is left of it goes too
		return settledOrDismissed(p), nil
	}
	if err != nil {
		return false, err
	}
	x.held += len(raw)
	doc, err := document.Decode(raw)
	if err != nil {
		return false, fmt.Errorf("read delivery %s: %w", p.ID, err)
	}
	return mentions(doc, x.in.Object.Value), nil
}

// mentions tells whether a text, or a number as it was written, stands anywhere in a document.
func mentions(doc any, id string) bool {
	switch v := doc.(type) {
	case []any:
		return slices.ContainsFunc(v, func(one any) bool { return mentions(one, id) })
	case map[string]any:
		for _, one := range v {
			if mentions(one, id) {
				return true
			}
		}
		return false
	}
	text, ok := document.Text(doc)
	return ok && text == id
}
