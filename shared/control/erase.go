package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/webhook"
)

// Eraser is the table, as far as erasing goes. Each of its writes may be repeated.
type Eraser interface {
	Cancel(ctx context.Context, c operation.Cancellation) error
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
	DryRun      bool              `json:"dry_run"` // it only counted
	At          time.Time         `json:"at"`      // when the erasure began: what is received later is new work
	Events      int               `json:"events"`  // emptied; each stays known, so that its repeat stays a repeat
	Batches     int               `json:"batches"` // emptied deliveries that held it among others
	Bodies      int               `json:"bodies"`  // removed from the bucket
	Cancelled   int               `json:"cancelled"`
	Items       int               `json:"items"`        // removed: operations, attempts, results
	EffectsSent []json.RawMessage `json:"effects_sent"` // which are not undone; none until effects exist
	AgainAt     *time.Time        `json:"again_at"`     // something may still be under way, and is over by then: go on then, with Next
	Next        string            `json:"next"`         // asks for the rest; empty at the end
}

// The stages of an erasure.
const (
	stageWalk   = "walk"   // through all events
	stageSecond = "second" // what was under way at the first is over
)

// Erase erases an object: it stops work that is under way, empties the object's events with their bodies, and
// removes operations, attempts and results. It takes several calls, one page each, until Next is empty; each
// may be repeated, and one that was interrupted is gone on with, or begun again. An event that was received
// after the erasure began is new work, which nothing is taken from.
//
// Where something was under way, a worker may hold an event that it has read before, and leave an operation
// or a result behind. By AgainAt it has come to its end, and the last call removes what it left.
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
	doc := Erased{Kind: "erasure", Object: in.Object.String(), Tenant: scope.Tenant, Environment: scope.Environment, DryRun: in.DryRun, At: j.At, EffectsSent: []json.RawMessage{}}
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
	counted []inbox.EventID // batches, where nothing is emptied that would tell
}

func (x *eraser) page(ctx context.Context) error {
	switch x.journey.Stage {
	case "":
		// Work first, so that nothing that is stopped goes on while many events are looked through.
		if err := x.work(ctx); err != nil {
			return err
		}
		x.journey.Stage = stageWalk
		return x.walkOn(ctx)
	case stageWalk:
		return x.walkOn(ctx)
	case stageSecond:
		return x.second(ctx)
	}
	return ErrCursor
}

// walkOn goes through the events that may be of the object, as many as one call may read.
func (x *eraser) walkOn(ctx context.Context) error {
	w, err := x.walkAll(x.scope, x.journey)
	if err != nil {
		return err
	}
	for {
		e, ok, err := w.next(ctx)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if e.Object != x.in.Object.String() || e.ReceivedAt.After(x.journey.At) {
			continue
		}
		if err := x.event(ctx, inbox.EventID(e.ID)); err != nil {
			return err
		}
	}
	if x.journey.Place = w.cursor(); x.journey.Place != "" {
		return x.goOn()
	}
	return x.again()
}

// again asks for one more call where something may still be under way.
func (x *eraser) again() error {
	if x.in.DryRun || x.journey.Busy.IsZero() {
		return nil
	}
	x.journey.Stage, x.doc.AgainAt = stageSecond, at(x.journey.Busy)
	return x.goOn()
}

func (x *eraser) goOn() (err error) {
	x.doc.Next, err = x.journey.cursor()
	return err
}

// busy notes that a worker may be under way that has read what is taken away now.
func (x *eraser) busy() { x.journey.Busy = x.d.Now().Add(x.d.OpenAge).UTC() }

// second removes what workers left that were under way at the first.
func (x *eraser) second(ctx context.Context) error {
	if x.d.Now().Before(x.journey.Busy) {
		return x.again()
	}
	if x.in.DryRun { // it has none
		return ErrCursor
	}
	if err := x.vouched(ctx); err != nil {
		return err
	}
	wait, late := x.journey.Wait, x.journey.Late
	x.journey.Busy, x.journey.Wait = time.Time{}, nil
	for _, id := range wait {
		if err := x.batch(ctx, id); err != nil {
			return err
		}
	}
	for _, id := range late {
		n, err := x.d.Shredder.Erase(ctx, id)
		if err != nil {
			return err
		}
		x.doc.Bodies += n
	}
	if err := x.work(ctx); err != nil {
		return err
	}
	return x.again()
}

// vouched refuses a cursor that names what is not shown to be of such an erasure: an event that has not been erased, or
// a delivery of many events that no erased one came with.
func (x *eraser) vouched(ctx context.Context) error {
	var late []inbox.Event
	for _, id := range x.journey.Late {
		e, _, _, err := x.whole(ctx, id)
		switch {
		case err != nil:
			return err
		case e.Scope != x.scope || e.Erased.IsZero(): // or gone
			return ErrCursor
		}
		late = append(late, e)
	}
	for _, id := range x.journey.Wait {
		p, _, there, err := x.whole(ctx, id)
		switch {
		case err != nil:
			return err
		case there && !slices.ContainsFunc(late, func(e inbox.Event) bool { return together(p, e) }):
			return ErrCursor
		}
	}
	return nil
}

// together tells whether an event may have come with others in one delivery.
func together(delivery, e inbox.Event) bool {
	return delivery.Batch && delivery.Scope == e.Scope && delivery.Endpoint == e.Endpoint && delivery.ReceivedAt.Equal(e.ReceivedAt)
}

// work stops what is under way, empties the events that work names, and removes the work.
func (x *eraser) work(ctx context.Context) error {
	all, err := x.collect(ctx, x.scope, x.in.Object)
	if err != nil {
		return err
	}
	var keep []inbox.EventID
	for _, id := range all.named() {
		e, _, there, err := x.whole(ctx, id)
		if err != nil {
			return err
		}
		if there && e.Object == x.in.Object && e.ReceivedAt.After(x.journey.At) {
			keep = append(keep, id)
		}
	}
	for _, o := range all.ops {
		if err := x.stop(ctx, o, keep); err != nil {
			return err
		}
	}
	for _, id := range all.named() {
		if slices.Contains(keep, id) || x.in.DryRun { // the walk counts them
			continue
		}
		if err := x.event(ctx, id); err != nil {
			return err
		}
	}
	if x.in.DryRun {
		x.doc.Items += len(all.ops) + len(all.losing) + len(all.results)
		return nil
	}
	deleted, err := x.d.Eraser.DeleteWork(ctx, operation.Deletion{Scope: x.scope, Object: x.in.Object, Keep: keep})
	x.doc.Items += deleted.Items
	return err
}

// stop cancels an operation that is not at its end, so that whoever works on it is fenced. One that has come
// to its end meanwhile needs it no more.
func (x *eraser) stop(ctx context.Context, o operation.Operation, keep []inbox.EventID) error {
	if !cancellable(o) || slices.Contains(keep, o.Event) {
		return nil
	}
	if o.State != operation.Review {
		x.busy()
	}
	x.doc.Cancelled++
	if x.in.DryRun {
		return nil
	}
	now := x.d.Now()
	err := x.d.Eraser.Cancel(ctx, operation.Cancellation{
		Key: o.Key, Token: o.Token, By: x.in.By, Note: x.in.Reason, WriteID: x.d.NewID(), Now: now, ExpiresAt: now.Add(longest),
	})
	if errors.Is(err, operation.ErrRefused) || errors.Is(err, operation.ErrNotFound) {
		x.doc.Cancelled--
		return nil
	}
	return err
}

// event empties an event of the object. Its bodies go first: once the event is empty, nothing names them.
func (x *eraser) event(ctx context.Context, id inbox.EventID) error {
	e, _, there, err := x.whole(ctx, id)
	if err != nil || !there || e.Object != x.in.Object {
		return err // gone, or emptied already
	}
	// Whoever read it may still be at work on it: it is open, or was a moment ago.
	if e.State == inbox.Received || x.d.Now().Sub(e.EndedAt) < x.d.OpenAge {
		x.busy()
	}
	if err := x.parents(ctx, e); err != nil {
		return err
	}
	return x.empty(ctx, e)
}

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

// parents empties the delivery that brought the event among others, which holds it too. The others have
// bodies of their own.
func (x *eraser) parents(ctx context.Context, e inbox.Event) error {
	if row, ok := webhook.Lookup(e.Provider); !ok || !row.Splits() {
		return nil
	}
	day, after := midnight(e.ReceivedAt), fmt.Sprintf("%013d#", e.ReceivedAt.UnixMilli()+1)
	for {
		ids, next, err := x.d.Store.Listed(ctx, x.scope, day, after, 25)
		if err != nil {
			return err
		}
		for _, id := range ids {
			p, _, there, err := x.whole(ctx, id)
			switch {
			case err != nil:
				return err
			case there && p.ReceivedAt.Before(e.ReceivedAt):
				return nil
			case there && together(p, e):
				if err := x.batch(ctx, id); err != nil {
					return err
				}
				if slices.Contains(x.journey.Wait, id) && !slices.Contains(x.journey.Late, e.ID) {
					x.journey.Late = append(x.journey.Late, e.ID)
				}
			}
		}
		if next == "" {
			return nil
		}
		after = next
	}
}

// batch empties a delivery of many events once all of them are stored. Before, it is all that there is of the
// others.
func (x *eraser) batch(ctx context.Context, id inbox.EventID) error {
	p, _, there, err := x.whole(ctx, id)
	if err != nil || !there || !p.Batch || p.Body.Key == "" && len(p.Body.Packed) == 0 {
		return err
	}
	if x.in.DryRun && slices.Contains(x.counted, id) {
		return nil
	}
	x.counted = append(x.counted, id)
	if p.State == inbox.Received {
		x.busy()
		if !slices.Contains(x.journey.Wait, id) {
			x.journey.Wait = append(x.journey.Wait, id)
		}
		return nil
	}
	return x.empty(ctx, p)
}
