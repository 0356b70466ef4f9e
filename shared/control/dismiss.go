package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
)

// Dismiss takes what failed, is parked or in conflict off the review list: nothing is to be done about it.
// The id names an operation (a unique beginning), an event ("evt_…") or a conflict ("evt_…/digest", of which a
// unique beginning is enough). With an operation goes the event that waits for it. What was dismissed can
// still be redriven by name, until it leaves the table.
//
// Only what was looked at is dismissed. Where Seen is given, a failure that is not that one is
// [operation.ErrOtherFailure]: it failed again, or a newer event waits for it. One whose event is not parked yet is
// [operation.ErrInWork]: the same again in a moment, or when what holds the event is resumed.
//
// A draft is approved or rejected, not dismissed: that, and whatever does not stand in the list, is
// [operation.ErrNotWaiting]. Else as [Control.Approve].
func (c *Control) Dismiss(ctx context.Context, scope object.Scope, d Deciding) (Decided, error) {
	id, _, conflict := strings.Cut(d.ID, "/")
	switch {
	case !inbox.IsEventID(id):
		return c.decide(ctx, scope, d, choice{"dismiss operation", (*act).dismissOperation})
	case conflict:
		return c.decide(ctx, scope, d, choice{"dismiss conflict", (*act).dismissConflict})
	}
	return c.decide(ctx, scope, d, choice{"dismiss event", (*act).dismissEvent})
}

func (a *act) dismissOperation(ctx context.Context) (Decided, error) {
	o, e, all, err := a.failure(ctx)
	if err != nil {
		return Decided{}, err
	}
	switch {
	case o.Dismissed != nil:
		return dismissedOf(o, o.WriteID != a.writeID), nil
	case o.State != operation.Failed || o.QueuedAt.IsZero():
		return Decided{}, refused(operation.ErrNotWaiting, o)
	case a.asked.Seen != "" && a.asked.Seen != seenOperation(o):
		return Decided{}, refused(operation.ErrOtherFailure, o)
	case e.State == inbox.Received: // parked afterwards, it would stand in no list
		return Decided{}, refused(operation.ErrInWork, o)
	}
	d := operation.Dismissal{
		Key: o.Key, Token: o.Token, Event: o.Event, EventGone: e.ID == "", Generation: e.Generation,
		By: a.asked.By, Note: a.asked.Reason, WriteID: a.writeID, Now: a.now, ExpiresAt: a.end, EventExpiresAt: a.brief,
	}
	i := slices.IndexFunc(all.ops, func(other operation.Operation) bool { return other.Key != o.Key && other.Needs(o.Event) })
	if i >= 0 {
		d.Beside = &all.ops[i].Key
	}
	d.WithEvent = i < 0 && e.State == inbox.Parked && len(e.Operations) > 0 && e.Dismissed == nil // alone it stands in the list itself
	a.written = true
	err = a.c.d.Store.Dismiss(ctx, d)
	switch {
	case errors.Is(err, operation.ErrRefused), errors.Is(err, inbox.ErrStale):
		return Decided{}, errAgain
	case err != nil:
		return Decided{}, err
	}
	o.Dismissed = &operation.Decision{By: a.asked.By, At: a.now, Note: a.asked.Reason}
	return dismissedOf(o, false), nil
}

// failure looks at an operation, at the event that waits for it, without an id if that is gone, and at all that
// stands beside it. These are read behind the event: what comes to need it later opens it, and so refuses the write.
func (a *act) failure(ctx context.Context) (operation.Operation, inbox.Event, collection, error) {
	before, _, err := a.operation(ctx)
	if err != nil {
		return before, inbox.Event{}, collection{}, err
	}
	a.target = before.Key.String()
	e, err := a.c.d.Store.Event(ctx, before.Event)
	if errors.Is(err, inbox.ErrNotFound) {
		e, err = inbox.Event{}, nil
	}
	if err != nil {
		return before, e, collection{}, err
	}
	o, all, err := a.operation(ctx)
	if err == nil && o.Event != before.Event {
		err = errAgain
	}
	return o, e, all, err
}

// seenOperation and seenEvent say which failure was looked at: another one has another text.
func seenOperation(o operation.Operation) string { return fmt.Sprintf("%d/%s", o.Token, o.Event) }

func seenEvent(e inbox.Event) string { return strconv.Itoa(e.Generation) }

func (a *act) dismissal(e inbox.Event, conflict string) inbox.Dismissal {
	return inbox.Dismissal{Event: e.ID, Conflict: conflict, Generation: e.Generation, By: a.asked.By, Note: a.asked.Reason, Now: a.now, ExpiresAt: a.brief}
}

func (a *act) dismissEvent(ctx context.Context) (Decided, error) {
	e, _, err := a.event(ctx, inbox.EventID(a.asked.ID))
	if err != nil {
		return Decided{}, err
	}
	return a.dismissed(ctx, e, inbox.Conflict{})
}

func (a *act) dismissConflict(ctx context.Context) (Decided, error) {
	id, beginning, _ := strings.Cut(a.asked.ID, "/")
	e, conflicts, err := a.event(ctx, inbox.EventID(id))
	if err != nil {
		return Decided{}, err
	}
	fit := slices.DeleteFunc(slices.Clone(conflicts), func(x inbox.Conflict) bool {
		return !strings.HasPrefix(x.Digest, strings.TrimPrefix(beginning, "sha256:"))
	})
	switch len(fit) {
	case 0:
		return Decided{}, fmt.Errorf("conflict of event %s: %w", id, inbox.ErrNotFound)
	case 1:
		return a.dismissed(ctx, e, fit[0])
	}
	return Decided{}, fmt.Errorf("%d conflicts of event %s: %w", len(fit), id, ErrAmbiguous)
}

func (a *act) event(ctx context.Context, id inbox.EventID) (inbox.Event, []inbox.Conflict, error) {
	a.target = string(id)
	e, _, conflicts, err := a.c.d.Store.Deliveries(ctx, id)
	if err == nil && e.Scope != a.scope {
		err = fmt.Errorf("event %s: %w", id, inbox.ErrNotFound) // it belongs to others
	}
	return e, conflicts, err
}

// ours tells whether a dismissal is this act's own, whose answer was lost: then it is no one's before it.
func (a *act) ours(d inbox.Dismissed) bool {
	return a.written && d.By == a.asked.By && d.Note == a.asked.Reason && d.At.Equal(a.now)
}

// dismissed takes a parked event, or a conflict of an event, off the list.
func (a *act) dismissed(ctx context.Context, e inbox.Event, x inbox.Conflict) (Decided, error) {
	done := Decided{
		Kind: "decision", ID: string(e.ID), Decision: "dismissed", By: a.asked.By, At: a.now, Note: a.asked.Reason,
		Object: e.Object.String(), ObjectVersion: e.Rank.Version().String(), Recipe: strings.Join(refs(e.Recipes), ", "),
	}
	before := e.Dismissed
	if x.Digest != "" {
		before, done.ID, done.Digest = x.Dismissed, conflictName(e.ID, x.Digest), digest(x.Digest)
	}
	a.target, done.writeID = done.ID, done.ID // an event keeps no write id: by name and time its record is one
	switch {
	case before != nil && a.ours(*before):
		a.writeID = done.ID
		return done, nil
	case before != nil:
		done.Already, done.By, done.At, done.Note = true, before.By, before.At.UTC(), before.Note
		return done, nil
	case x.Digest == "" && (e.State != inbox.Parked || len(e.Operations) > 0): // parked with its operation, that one waits
		return Decided{}, fmt.Errorf("%w: %w", operation.ErrNotWaiting, &inbox.RefusedError{Stored: e})
	case x.Digest == "" && a.asked.Seen != "" && a.asked.Seen != seenEvent(e):
		return Decided{}, fmt.Errorf("%w: %w", operation.ErrOtherFailure, &inbox.RefusedError{Stored: e})
	}
	a.written = true
	err := a.c.d.Store.DismissEvent(ctx, a.dismissal(e, x.Digest))
	switch {
	case errors.Is(err, inbox.ErrStale):
		return Decided{}, errAgain
	case err != nil:
		return Decided{}, err
	}
	a.writeID = done.ID
	return done, nil
}
