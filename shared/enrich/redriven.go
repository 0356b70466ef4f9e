package enrich

import (
	"context"
	"errors"
	"fmt"
	"time"

	"engang/shared/audit"
	"engang/shared/document"
	"engang/shared/inbox"
	"engang/shared/operation"
)

// redriveActor is who redrives when a notice comes back by the queue's own redrive button: SQS does not
// say which person pressed it (CloudTrail does).
const redriveActor = "aws:sqs-redrive"

// A reopening is what a notice came to: the event that waits, and, if the notice opened it, the record of that.
type reopening struct {
	event  inbox.EventID
	record *audit.Entry
}

// Redriven takes a notice that came back from the dead-letter queue as a redrive of what it names, then
// works on the newest event that waits for it. A notice is good for one redrive of the failure that it tells:
// the queue may deliver it again, and several notices may tell of one failure. What was redriven already is
// only worked on.
//
// What is opened is recorded, once. A crash before the record leaves it to the notice's repeat, which can tell as long
// as nobody has claimed the operation; of an event without an operation it leaves none.
func (w *Worker) Redriven(ctx context.Context, n inbox.Notice) error {
	reopen := w.reopenOperation
	if n.Operation == "" {
		reopen = w.reopenEvent
	}
	r, err := reopen(ctx, n)
	if err != nil {
		return fmt.Errorf("redrive by notice of event %s: %w", n.Event, err)
	}
	if r.record != nil {
		if err := w.Store.Audit(ctx, *r.record); err != nil {
			return fmt.Errorf("record redrive of event %s: %w", r.event, err)
		}
	}
	return w.Run(ctx, r.event)
}

// recorded is a reopening with its record, made before anything is opened: without the configuration nobody knows how
// long a record is kept.
func (w *Worker) recorded(ctx context.Context, n inbox.Notice, r reopening, at time.Time, id string) (reopening, error) {
	common, err := w.Recipes.Common(ctx, n.Scope)
	if err != nil {
		return r, fmt.Errorf("read retention: %w", err)
	}
	r.record = &audit.Entry{Scope: n.Scope, At: at, ID: id, By: redriveActor, Act: "redrive", Target: string(r.event), Reason: "moved back from the dead-letter queue"}
	if common.ResultDays > 0 {
		r.record.ExpiresAt = at.AddDate(0, 0, common.ResultDays)
	}
	return r, nil
}

func (w *Worker) reopenEvent(ctx context.Context, n inbox.Notice) (reopening, error) {
	nothing := reopening{event: n.Event}
	ev, err := w.Store.Event(ctx, n.Event)
	if err != nil || ev.Generation != n.Generation || ev.Dismissed != nil { // reopened by this notice, or by somebody, since; or a person has done with it
		return nothing, err
	}
	now := w.Now().UTC().Truncate(time.Millisecond)
	due := now.Add(w.Limits.Pause)
	opened, err := w.recorded(ctx, n, nothing, now, w.NewID())
	if err != nil {
		return nothing, err
	}
	switch err := w.Store.Reopen(ctx, n.Event, due); {
	case errors.Is(err, inbox.ErrStale): // not parked, or our own answer was lost: then it is due when we said
		ev, err := w.Store.Event(ctx, n.Event)
		if err != nil || !ev.DueAt.Equal(due) {
			return nothing, err
		}
	case err != nil:
		return nothing, err
	}
	return opened, nil
}

func (w *Worker) reopenOperation(ctx context.Context, n inbox.Notice) (reopening, error) {
	key, err := operation.ParseKey(n.Scope, n.Operation)
	if err != nil {
		return reopening{}, err
	}
	op, err := w.Store.Operation(ctx, key)
	if err != nil {
		return reopening{}, err
	}
	nothing := reopening{event: op.Event}
	now := w.Now().UTC().Truncate(time.Millisecond)
	redrive := operation.Redrive{Key: key, Seen: operation.Failed, Token: n.Token, Event: op.Event, WriteID: redriveOf(n), Now: now, Due: now.Add(w.Limits.Pause)}
	if op.WriteID == redrive.WriteID { // nothing came since but a crash, before the record or behind it: it is the same one
		return w.recorded(ctx, n, nothing, op.NotBefore, redrive.WriteID)
	}
	redriven := op.State != operation.Failed || op.Token != n.Token // by this notice or by somebody; a later failure has a notice of its own
	decided := op.Category == operation.CategoryCancelled || op.Dismissed != nil
	if redriven || decided { // what a person has decided since, a letter does not undo
		return nothing, nil
	}
	opened, err := w.recorded(ctx, n, nothing, now, redrive.WriteID)
	if err != nil {
		return nothing, err
	}
	err = w.Store.Redrive(ctx, redrive)
	if _, refused := errors.AsType[*operation.RefusedError](err); refused { // redriven already
		return nothing, nil
	}
	return opened, err
}

// redriveOf is the write id of the redrive of one failure: the same by every notice of it, and on each repeat.
func redriveOf(n inbox.Notice) string {
	return document.Digest(fmt.Appendf(nil, "%s %s %d", redriveActor, n.Operation, n.Token))[:26]
}
