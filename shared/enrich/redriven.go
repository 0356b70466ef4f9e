package enrich

import (
	"context"
	"errors"
	"fmt"

	"engang/shared/audit"
	"engang/shared/inbox"
	"engang/shared/operation"
)

// redriveActor is who redrives when a notice comes back by the queue's own redrive button: SQS does not
// say which person pressed it (CloudTrail does).
const redriveActor = "aws:sqs-redrive"

// Redriven takes a notice that came back from the dead-letter queue as a redrive of what it names, then
// works on the newest event that waits for it. A notice is good for one redrive of the failure that it tells:
// the queue may deliver it again, and several notices may tell of one failure. What was redriven already is
// only worked on.
func (w *Worker) Redriven(ctx context.Context, n inbox.Notice) error {
	event, err := w.reopen(ctx, n)
	if err != nil {
		return fmt.Errorf("redrive by notice of event %s: %w", n.Event, err)
	}
	entry := audit.Entry{Scope: n.Scope, At: w.Now(), ID: w.NewID(), By: redriveActor, Act: "redrive", Target: string(event), Reason: "moved back from the dead-letter queue"}
	if err := w.Store.Audit(ctx, entry); err != nil {
		return fmt.Errorf("record redrive of event %s: %w", event, err)
	}
	return w.Run(ctx, event)
}

func (w *Worker) reopen(ctx context.Context, n inbox.Notice) (inbox.EventID, error) {
	now := w.Now()
	due := now.Add(w.Limits.Pause)
	if n.Operation == "" {
		ev, err := w.Store.Event(ctx, n.Event)
		if err != nil {
			return "", err
		}
		if ev.Generation != n.Generation { // reopened by this notice, or by somebody, since
			return n.Event, nil
		}
		if err := w.Store.Reopen(ctx, n.Event, due); err != nil && !errors.Is(err, inbox.ErrStale) {
			return "", err
		}
		return n.Event, nil
	}
	key, err := operation.ParseKey(n.Scope, n.Operation)
	if err != nil {
		return "", err
	}
	op, err := w.Store.Operation(ctx, key)
	if err != nil {
		return "", err
	}
	redriven := op.State != operation.Failed || op.Token != n.Token // by this notice or by somebody; a later failure has a notice of its own
	decided := op.Category == operation.CategoryCancelled || op.Dismissed != nil
	if redriven || decided { // what a person has decided since, a letter does not undo
		return op.Event, nil
	}
	err = w.Store.Redrive(ctx, operation.Redrive{Key: key, Seen: operation.Failed, Token: n.Token, Event: op.Event, WriteID: w.NewID(), Now: now, Due: due})
	if _, refused := errors.AsType[*operation.RefusedError](err); err != nil && !refused { // refused: redriven already
		return "", err
	}
	return op.Event, nil
}
