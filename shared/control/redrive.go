package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
)

// Reopening opens work again. Each write is refused by what stands there: an operation's with an
// *[operation.RefusedError], an event's with [inbox.ErrStale].
type Reopening interface {
	Event(ctx context.Context, id inbox.EventID) (inbox.Event, error)
	Operation(ctx context.Context, key operation.Key) (operation.Operation, error)
	Redrive(ctx context.Context, r operation.Redrive) error
	Reopen(ctx context.Context, id inbox.EventID, due time.Time) error
	Replay(ctx context.Context, id inbox.EventID, former, raised []inbox.RecipeRef, due time.Time) error
}

// Work is the work queue.
type Work interface {
	Send(ctx context.Context, ref inbox.Reference) error
}

// A Redriving asks to have work done again that was set aside.
type Redriving struct {
	ID     string // an operation (a unique beginning), or an event
	Listed bool   // only what stands in the review list: nobody has rejected, cancelled or dismissed it
	By     string // the caller's identity
	Reason string
}

// A Redriven says what was opened again.
type Redriven struct {
	Kind        string   `json:"kind"` // "redriven"
	ID          string   `json:"id"`   // of the operation or the event
	Tenant      string   `json:"tenant"`
	Environment string   `json:"environment"`
	Was         string   `json:"was"`                // its state before
	Category    string   `json:"category,omitempty"` // of its failure
	Operations  []string `json:"operations"`         // that have a new budget; none for an event that has none
	Events      []string `json:"events"`             // that are open again, each the newest that waits for its operation
	Sent        bool     `json:"sent"`               // false: not to the queue; the reconciler finds them
	Former      []Former `json:"former,omitempty"`   // the recipes that it runs under and that are not the live ones
}

// A Former is a recipe that work was begun under, and what is live of it by now. What the live version corrects does not
// help that work.
type Former struct {
	Recipe string `json:"recipe"`         // "product-card@3"
	Live   string `json:"live,omitempty"` // "product-card@4"; empty: none is live
}

// Redrive opens a failed or rejected operation again, with a new budget and under its old identity, and the
// newest event that waits for it; or an event that was parked, with every operation of its own that failed. The
// event is sent to the work queue afterwards: a crash before leaves it open, and the reconciler sends it.
//
// It is recorded first, since nothing that is stored says afterwards who did it. What is refused is recorded as
// refused.
//
// It returns [ErrReason], the errors of [Control.Show], an *[operation.RefusedError] or *[inbox.RefusedError] for
// what does not wait for this (any more), with [operation.ErrFormerRecipe] where the event runs under a raised recipe
// by now, and [inbox.ErrNotFound] where the event is not kept any more.
func (c *Control) Redrive(ctx context.Context, scope object.Scope, r Redriving) (Redriven, error) {
	if err := answerable(r.By, r.Reason); err != nil {
		return Redriven{}, err
	}
	x := &redriving{c: c, scope: scope, r: r, now: c.d.Now(), doc: Redriven{Kind: "redriven", Tenant: scope.Tenant, Environment: scope.Environment, Operations: []string{}, Events: []string{}}}
	act := x.named
	if inbox.IsEventID(r.ID) {
		act = x.event
	}
	err := act(ctx)
	if len(x.doc.Events) > 0 { // some of it may be done although the rest is not
		x.doc.Sent, x.doc.Former = x.send(ctx), x.former(ctx)
	}
	if err != nil {
		return Redriven{}, fmt.Errorf("redrive %s: %w", r.ID, err)
	}
	return x.doc, nil
}

// A redriving is one act, whatever it opens.
type redriving struct {
	c     *Control
	scope object.Scope
	r     Redriving
	now   time.Time
	under []inbox.RecipeRef // that what was opened runs under
	doc   Redriven
}

// former are the recipes that are not live any more. That they cannot be told does not undo what was done.
func (x *redriving) former(ctx context.Context) (all []Former) {
	live, err := x.c.d.Endpoints.Pointer(ctx, x.scope)
	if err != nil {
		return nil
	}
	for _, ref := range x.under {
		f := Former{Recipe: ref.String()}
		switch version := live.Recipes[ref.Name]; version {
		case ref.Version:
			continue
		case 0:
		default:
			f.Live = inbox.RecipeRef{Name: ref.Name, Version: version}.String()
		}
		if !slices.Contains(all, f) {
			all = append(all, f)
		}
	}
	return all
}

// named redrives the one operation that the name means.
func (x *redriving) named(ctx context.Context) error {
	o, _, err := x.c.one(ctx, x.scope, x.r.ID)
	if err != nil {
		return err
	}
	if x.doc.ID, x.doc.Was = o.Key.String(), string(o.State); o.State == operation.Failed {
		x.doc.Category = string(o.Category)
	}
	return x.operation(ctx, o)
}

// operation redrives one operation. It names what was seen; whatever happened since refuses it.
func (x *redriving) operation(ctx context.Context, o operation.Operation) error {
	id := o.Key.String()
	recipes, err := x.wanted(ctx, o)
	if !x.waits(o) {
		err = &operation.RefusedError{Stored: o}
	}
	switch {
	case errors.Is(err, operation.ErrRefused):
		return x.refuse(ctx, id, err)
	case err != nil:
		return err
	}
	if err := x.record(ctx, "redrive", id); err != nil {
		return err
	}
	err = x.c.d.Store.Redrive(ctx, operation.Redrive{
		Key: o.Key, Seen: o.State, Token: o.Token, Event: o.Event, Recipes: recipes, WriteID: x.c.d.NewID(), Now: x.now, Due: x.due(),
	})
	if errors.Is(err, inbox.ErrStale) { // replayed since the look
		err = refused(operation.ErrFormerRecipe, o)
	}
	switch {
	case errors.Is(err, operation.ErrRefused), errors.Is(err, inbox.ErrNotFound):
		return errors.Join(err, x.record(ctx, "redrive, refused", id))
	case err != nil:
		return err
	}
	x.doc.Operations, x.under = append(x.doc.Operations, id), append(x.under, o.Key.Recipe)
	if !slices.Contains(x.doc.Events, string(o.Event)) { // one event waits for several recipes
		x.doc.Events = append(x.doc.Events, string(o.Event))
	}
	return nil
}

// wanted reads the recipes of the event that would be opened, and refuses an operation of another version: opened
// again, nobody would come to work on it.
func (x *redriving) wanted(ctx context.Context, o operation.Operation) ([]inbox.RecipeRef, error) {
	e, err := x.c.d.Store.Event(ctx, o.Event)
	switch {
	case errors.Is(err, inbox.ErrNotFound), err == nil && !e.Erased.IsZero():
		return nil, nil // the write says so
	case err != nil:
		return nil, err
	case !slices.Contains(e.Recipes, o.Key.Recipe):
		return nil, refused(operation.ErrFormerRecipe, o)
	}
	return e.Recipes, nil
}

// waits tells whether an operation may be redriven.
func (x *redriving) waits(o operation.Operation) bool {
	switch o.State {
	case operation.Failed:
		return !x.r.Listed || o.Dismissed == nil && o.Category != operation.CategoryCancelled
	case operation.Rejected:
		return !x.r.Listed
	}
	return false
}

// event redrives what an event was parked with: every operation that failed, or, where none did, the event alone.
func (x *redriving) event(ctx context.Context) error {
	e, err := x.c.d.Store.Event(ctx, inbox.EventID(x.r.ID))
	if err == nil && e.Scope != x.scope {
		err = inbox.ErrNotFound // it belongs to others
	}
	if err != nil {
		return err
	}
	if e.State != inbox.Parked {
		return x.refuse(ctx, x.r.ID, &inbox.RefusedError{Stored: e})
	}
	x.doc.ID, x.doc.Was, x.doc.Category = x.r.ID, string(e.State), e.Category
	for _, name := range e.Operations {
		key, err := operation.ParseKey(e.Scope, name)
		if err != nil {
			return err
		}
		o, err := x.c.d.Store.Operation(ctx, key)
		if errors.Is(err, operation.ErrNotFound) || err == nil && o.State != operation.Failed { // gone, or redriven or decided since
			continue
		}
		if err == nil {
			err = x.operation(ctx, o)
		}
		if err != nil {
			return err
		}
	}
	if len(x.doc.Operations) > 0 {
		return nil
	}
	return x.alone(ctx, e)
}

// alone opens an event that no operation of its own holds.
func (x *redriving) alone(ctx context.Context, e inbox.Event) error {
	if x.r.Listed && e.Dismissed != nil {
		return x.refuse(ctx, x.r.ID, &inbox.RefusedError{Stored: e})
	}
	if err := x.record(ctx, "redrive", x.r.ID); err != nil {
		return err
	}
	err := x.c.d.Store.Reopen(ctx, e.ID, x.due())
	switch {
	case errors.Is(err, inbox.ErrStale):
		return errors.Join(err, x.record(ctx, "redrive, refused", x.r.ID))
	case err != nil:
		return err
	}
	x.doc.Events, x.under = append(x.doc.Events, string(e.ID)), append(x.under, e.Recipes...)
	return nil
}

// refuse records what was asked for by name and is not done. Of a list it is no news: others came first.
func (x *redriving) refuse(ctx context.Context, target string, why error) error {
	if x.r.Listed {
		return why
	}
	return errors.Join(why, x.record(ctx, "redrive, refused", target))
}

// send tells the workers. What is not sent is open, and due when the reconciler looks.
func (x *redriving) send(ctx context.Context) bool {
	sent := true
	for _, id := range x.doc.Events {
		if err := x.c.d.Work.Send(ctx, inbox.Reference{Event: inbox.EventID(id), Tenant: x.scope.Tenant}); err != nil {
			sent = false
		}
	}
	return sent
}

func (x *redriving) due() time.Time { return x.now.Add(x.c.d.OpenAge) }

func (x *redriving) record(ctx context.Context, act, target string) error {
	return x.c.recordNow(ctx, x.scope, act, Look{ID: target, By: x.r.By, Reason: x.r.Reason})
}
