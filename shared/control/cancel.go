package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"engang/shared/config"
	"engang/shared/document"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/recipe"
)

// Stopping ends work that is not final. Each write is refused by what stands there: an operation's with an
// *[operation.RefusedError], an event's with [inbox.ErrStale].
type Stopping interface {
	Claim(ctx context.Context, c operation.Claim) (operation.Lease, error)
	Pause(ctx context.Context, f operation.Finish) error
	Cancel(ctx context.Context, c operation.Cancellation) error
	End(ctx context.Context, e inbox.Ending) error
	Reopen(ctx context.Context, id inbox.EventID, due time.Time) error
}

// A Stop asks to cancel work that is not final.
type Stop struct {
	ID     string // an operation (a unique beginning), or an event
	By     string // the caller's identity
	Reason string
}

// A Cancellation says what was cancelled.
type Cancellation struct {
	Kind        string    `json:"kind"` // "cancellation"
	ID          string    `json:"id"`   // of the operation or the event
	Tenant      string    `json:"tenant"`
	Environment string    `json:"environment"`
	Was         string    `json:"was"`        // its state before
	Operations  []string  `json:"operations"` // that were cancelled
	Already     bool      `json:"already"`    // it was cancelled before: nothing was left to do
	Decision    *Decision `json:"decision"`   // on the operation; null of an event, which keeps none
}

// stopRounds bounds how often a cancellation is tried again because the work moved on between look and write.
const stopRounds = 6

// Cancel stops work that is not final, and records it.
//
// An operation that is pending, running or in review fails with the category cancelled: whoever works on it is
// fenced, a call that was begun is recorded as a losing attempt, and the event that waits for it settles as
// cancelled when a worker meets it. Later deliveries of it stay duplicates, and the same content makes no call; a
// redrive of the operation by its name undoes it.
//
// An event that is open, held by a pause, or parked without an operation settles as cancelled, and what works for it,
// or would, is cancelled with it. That is also what an older event of the same content began: it comes to the same
// end, and the answer names the operation. What stands for a newer event of the same content goes on while that is
// open, and a draft of it stays to be decided.
//
// What was cancelled before is not refused, which makes it safe to ask again where an answer was lost. It
// returns [ErrReason], the errors of [Control.Show], and an *[operation.RefusedError] or *[inbox.RefusedError] for
// what is final, or decided by a person meanwhile.
func (c *Control) Cancel(ctx context.Context, scope object.Scope, s Stop) (Cancellation, error) {
	if err := answerable(s.By, s.Reason); err != nil {
		return Cancellation{}, err
	}
	doc, err := c.cancel(ctx, scope, s)
	act := "cancel"
	switch {
	case errors.Is(err, operation.ErrRefused), errors.Is(err, inbox.ErrStale):
		act += ", refused"
	case err != nil && doc.ID == "": // nothing was found, or nothing could be looked at
		return doc, fmt.Errorf("cancel: %w", err)
	case err != nil:
		act += ", outcome unknown"
	case doc.Already:
		act += ", done already"
	}
	if err != nil {
		err = fmt.Errorf("cancel %s: %w", doc.ID, err)
	}
	doc.Kind, doc.Tenant, doc.Environment = "cancellation", scope.Tenant, scope.Environment
	return doc, errors.Join(err, c.recordNow(ctx, scope, act, Look{ID: doc.ID, By: s.By, Reason: s.Reason}))
}

func (c *Control) cancel(ctx context.Context, scope object.Scope, s Stop) (Cancellation, error) {
	common, err := c.d.Endpoints.Common(ctx, scope)
	if err != nil {
		return Cancellation{}, err
	}
	x := &stopping{c: c, scope: scope, s: s, writeID: c.d.NewID(), now: c.d.Now()}
	x.eventEnd, x.operationEnd = daysAfter(x.now, common.EventDays), daysAfter(x.now, common.ResultDays)
	if inbox.IsEventID(s.ID) {
		return x.event(ctx, inbox.EventID(s.ID))
	}
	op, _, err := c.one(ctx, scope, s.ID)
	if err != nil {
		return Cancellation{}, err
	}
	doc := Cancellation{ID: op.Key.String(), Was: string(op.State), Operations: []string{}}
	seen, done, err := x.operation(ctx, op)
	switch {
	case err != nil:
		return doc, err
	case done:
		doc.Was, doc.Operations = string(seen.State), append(doc.Operations, doc.ID)
		doc.Decision = &Decision{By: s.By, At: x.now.UTC(), Note: s.Reason}
	default:
		doc.Already = true
		if d := seen.Decision; d != nil {
			doc.Decision = &Decision{By: d.By, At: d.At.UTC(), Note: d.Note}
		}
	}
	return doc, nil
}

// A stopping is one act of cancelling, whatever it has to stop.
type stopping struct {
	c        *Control
	scope    object.Scope
	s        Stop
	writeID  string
	now      time.Time
	eventEnd time.Time // when a settled event leaves

	operationEnd time.Time // when a cancelled operation leaves
}

func cancelled(o operation.Operation) bool {
	return o.State == operation.Failed && o.Category == operation.CategoryCancelled
}

// operation cancels one operation. Attempts that end or begin meanwhile are stopped all the same; what a person
// decides meanwhile stands. It returns the operation as it was last seen, and whether this act cancelled it: it
// did not where it was cancelled before.
func (x *stopping) operation(ctx context.Context, o operation.Operation) (operation.Operation, bool, error) {
	var err error
	for range stopRounds {
		switch {
		case cancelled(o):
			return o, false, nil
		case !cancellable(o):
			return o, false, &operation.RefusedError{Stored: o}
		}
		err = x.write(ctx, o)
		refused, ok := errors.AsType[*operation.RefusedError](err)
		if !ok {
			return o, err == nil, err
		}
		if o.State == operation.Review && cancellable(refused.Stored) { // rejected and redriven: a draft that nobody here has seen
			return o, false, err
		}
		o = refused.Stored
	}
	return o, false, err
}

// write cancels an operation as it was seen.
func (x *stopping) write(ctx context.Context, o operation.Operation) error {
	return x.c.d.Store.Cancel(ctx, operation.Cancellation{
		Key: o.Key, Token: o.Token, By: x.s.By, Note: x.s.Reason, WriteID: x.writeID, Now: x.now, ExpiresAt: x.operationEnd,
	})
}

// event cancels an event and what works for it. The operations come first, also those that are not there yet: a
// worker that has read the event, and claims one after it was settled, would leave an operation without an open
// event. What it claims all the same is stopped by a second look, and what is given back meanwhile, so that it can be
// claimed again, is taken before it is settled.
func (x *stopping) event(ctx context.Context, id inbox.EventID) (Cancellation, error) {
	doc := Cancellation{Operations: []string{}}
	for range stopRounds {
		e, _, _, err := x.c.d.Store.Deliveries(ctx, id)
		if err == nil && e.Scope != x.scope {
			err = fmt.Errorf("event %s: %w", id, inbox.ErrNotFound) // it belongs to others
		}
		if err != nil {
			return doc, err
		}
		if doc.ID == "" {
			doc.ID, doc.Was = string(id), string(e.State)
		}
		over, err := x.end(ctx, e, &doc)
		if err != nil || over {
			return doc, err
		}
	}
	return doc, inbox.ErrStale
}

// end brings an event that was read one step nearer to its end, and tells whether it is there.
func (x *stopping) end(ctx context.Context, e inbox.Event, doc *Cancellation) (bool, error) {
	keys, err := x.keys(ctx, e)
	if err != nil {
		return false, err
	}
	switch {
	case e.State == inbox.Settled && (e.Outcome == inbox.Cancelled || len(doc.Operations) > 0): // by us, or a worker that met what we cancelled
		again, err := x.working(ctx, e, keys, doc) // what an act before this one did not come to
		doc.Already = doc.Was == string(inbox.Settled) && len(doc.Operations) == 0
		return !again, err
	case e.State == inbox.Parked && len(e.Operations) == 0:
		// Opened, so that it can be settled: a crash here leaves it open, and a worker parks it again.
		err := x.c.d.Store.Reopen(ctx, e.ID, x.now.Add(backWithin))
		return false, movedOn(err)
	case e.State != inbox.Received:
		return false, &inbox.RefusedError{Stored: e}
	}
	if err := x.claim(ctx, e, keys); err != nil {
		return false, err
	}
	if again, err := x.working(ctx, e, keys, doc); err != nil || again {
		return false, err
	}
	err = x.c.d.Store.End(ctx, inbox.Ending{
		Event: e.ID, Generation: e.Generation, Outcome: inbox.Cancelled, Operations: doc.Operations, At: x.now, ExpiresAt: x.eventEnd,
	})
	if err != nil {
		return false, movedOn(err) // or it is our own lost answer: the next look says so
	}
	e.State = inbox.Settled
	again, err := x.working(ctx, e, keys, doc)
	return !again, err
}

// movedOn lets a refusal pass, after which the event is looked at again.
func movedOn(err error) error {
	if errors.Is(err, inbox.ErrStale) {
		return nil
	}
	return err
}

// working cancels what works for an event: whatever stands for it, and what it asks for, whichever event that stands
// for. A worker that has the event in hand may claim it after all, and would leave it without an open event. It
// tells whether to look again: something moved on meanwhile, or was superseded by less than the event, so that it can
// be claimed anew.
func (x *stopping) working(ctx context.Context, e inbox.Event, keys []operation.Key, doc *Cancellation) (bool, error) {
	if e.Object.IsZero() {
		return false, nil
	}
	all, err := x.c.collect(ctx, x.scope, e.Object)
	if err != nil {
		return false, err
	}
	again := false
	for _, o := range all.ops {
		asked := slices.Contains(keys, o.Key)
		if !asked && o.Event != e.ID {
			continue
		}
		if !cancellable(o) {
			again = again || asked && e.State == inbox.Received && o.State == operation.Superseded && e.Rank.Newer(o.Rank)
			continue
		}
		if goesOn, err := x.goesOn(ctx, e, o); err != nil {
			return false, err
		} else if goesOn {
			continue
		}
		switch err := x.write(ctx, o); {
		case errors.Is(err, operation.ErrRefused):
			again = true
		case err != nil:
			return false, err
		case !slices.Contains(doc.Operations, o.Key.String()): // else redriven meanwhile, and stopped again
			doc.Operations = append(doc.Operations, o.Key.String())
		}
	}
	return again, nil
}

// goesOn tells whether an operation stands for a newer event, which nobody asked to cancel, and which brings it to its
// end: it is open, or has left a draft to a person.
func (x *stopping) goesOn(ctx context.Context, e inbox.Event, o operation.Operation) (bool, error) {
	if !o.Rank.Newer(e.Rank) {
		return false, nil
	}
	if o.State == operation.Review {
		return true, nil
	}
	newer, err := x.c.d.Store.Event(ctx, o.Event)
	if errors.Is(err, inbox.ErrNotFound) {
		return false, nil
	}
	return newer.State == inbox.Received, err
}

// claimFor is how long a claim of ours holds others off, should we not come to its end.
const claimFor = 30 * time.Second

// claim makes the operations that an event asks for and that are not there yet, or were superseded by less, so that they
// can be cancelled: the claim of a worker that comes later is refused by them. An attempt is recorded, of which is known that it
// called nobody. What cannot be worked on is left out: no worker can claim it either.
func (x *stopping) claim(ctx context.Context, e inbox.Event, keys []operation.Key) error {
	for _, key := range keys {
		lease, err := x.c.d.Store.Claim(ctx, operation.Claim{ // without a limit nothing is taken over
			Key: key, Attempt: operation.AttemptID("att_" + strings.ToLower(x.c.d.NewID())), WriteID: x.c.d.NewID(), Event: e.ID, Rank: e.Rank, Now: x.now, Until: x.now.Add(claimFor),
		})
		if errors.Is(err, operation.ErrRefused) {
			continue // it is there
		}
		if err != nil {
			return err
		}
		none := operation.Attempt{EndedAt: x.now, Outcome: operation.Stopped, Category: operation.CategoryCancelled, Reason: "cancelled before anybody worked on it"}
		err = x.c.d.Store.Pause(ctx, operation.Finish{Lease: lease, WriteID: x.c.d.NewID(), Attempts: lease.Log(none), NotBefore: x.now, Now: x.now})
		if err != nil && !errors.Is(err, operation.ErrRefused) {
			return err
		}
	}
	return nil
}

// keys are the operations that an event asks for.
func (x *stopping) keys(ctx context.Context, e inbox.Event) ([]operation.Key, error) {
	if e.Object.IsZero() || e.Batch {
		return nil, nil
	}
	raw, err := x.c.d.Bodies.Read(ctx, e.Body)
	if errors.Is(err, ErrGone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	doc, err := document.Decode(raw)
	if err != nil {
		return nil, nil
	}
	var keys []operation.Key
	for _, ref := range e.Recipes {
		compiled, err := x.c.d.Endpoints.Recipe(ctx, x.scope, ref)
		if errors.Is(err, config.ErrUnknown) || errors.Is(err, config.ErrUnreadable) {
			continue
		}
		if err != nil {
			return nil, err
		}
		input, err := compiled.Extract(doc)
		if errors.Is(err, recipe.ErrInvalidInput) {
			continue
		}
		if err != nil {
			return nil, err
		}
		keys = append(keys, operation.Key{Scope: e.Scope, Object: e.Object, Recipe: ref, Digest: input.Digest})
	}
	return keys, nil
}
