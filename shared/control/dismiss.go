package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	o, all, err := a.operation(ctx)
	if err != nil {
		return Decided{}, err
	}
	a.target = o.Key.String()
	if o.Dismissed == nil && (o.State != operation.Failed || o.QueuedAt.IsZero()) {
		return Decided{}, refused(operation.ErrNotWaiting, o)
	}
	// The event goes first: a crash in between leaves the operation in the list, where it is dismissed again.
	// A redrive takes either mark away.
	if !slices.ContainsFunc(all.ops, func(other operation.Operation) bool { return other.Key != o.Key && needs(other, o.Event) }) {
		if err := a.dismissParked(ctx, o.Event); err != nil {
			return Decided{}, err
		}
	}
	if o.Dismissed != nil {
		return dismissedOf(o, o.WriteID != a.writeID), nil
	}
	a.written = true
	err = a.c.d.Store.Dismiss(ctx, operation.Dismissal{Key: o.Key, By: a.asked.By, Note: a.asked.Reason, WriteID: a.writeID, Now: a.now, ExpiresAt: a.after(a.life)})
	switch {
	case errors.Is(err, operation.ErrRefused):
		return Decided{}, errAgain
	case err != nil:
		return Decided{}, err
	}
	o.Dismissed = &operation.Decision{By: a.asked.By, At: a.now, Note: a.asked.Reason}
	return dismissedOf(o, false), nil
}

// needs tells whether an operation of another recipe still needs the event: it waits for a person, or is in work.
func needs(o operation.Operation, event inbox.EventID) bool {
	return o.Event == event && (!o.QueuedAt.IsZero() || o.State == operation.Pending || o.State == operation.Running)
}

// dismissParked lets the event that waits for a dismissed operation leave the table in its time. One that is
// not parked, or gone, has nothing to let go of.
func (a *act) dismissParked(ctx context.Context, id inbox.EventID) error {
	if id == "" {
		return nil
	}
	a.written = true
	d := a.dismissal(id, "")
	d.With = true
	err := a.c.d.Store.DismissEvent(ctx, d)
	if errors.Is(err, inbox.ErrStale) || errors.Is(err, inbox.ErrNotFound) {
		return nil
	}
	return err
}

func (a *act) dismissal(id inbox.EventID, conflict string) inbox.Dismissal {
	return inbox.Dismissal{Event: id, Conflict: conflict, By: a.asked.By, Note: a.asked.Reason, Now: a.now, ExpiresAt: a.after(a.brief)}
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
	case before != nil:
		done.Already, done.By, done.At, done.Note = true, before.By, before.At.UTC(), before.Note
		return done, nil
	case x.Digest == "" && (e.State != inbox.Parked || len(e.Operations) > 0): // parked with its operation, that one waits
		return Decided{}, fmt.Errorf("%w: %w", operation.ErrNotWaiting, &inbox.RefusedError{Stored: e})
	}
	a.written, a.writeID = true, done.ID
	err := a.c.d.Store.DismissEvent(ctx, a.dismissal(e.ID, x.Digest))
	switch {
	case errors.Is(err, inbox.ErrStale):
		return Decided{}, errAgain
	case err != nil:
		return Decided{}, err
	}
	return done, nil
}
