package enrich

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"engang/shared/inbox"
	"engang/shared/operation"
)

// Parts makes the events of a delivery that holds many, the same ones every time. Parts that are no
// events are an error that wraps inbox.ErrPart, which comes with the events of the others.
type Parts interface {
	Parts(ctx context.Context, ev inbox.Event, raw []byte) (inbox.Parts, error)
}

// Inbox stores the events of a delivery that holds many.
type Inbox interface {
	Receive(ctx context.Context, ev inbox.Event) (inbox.Receipt, error)
	RecordConflict(ctx context.Context, c inbox.Conflict) error
	EmptyBatch(ctx context.Context, id inbox.EventID, at time.Time) error
}

// Sender sends a reference of an event to the work queue.
type Sender interface {
	Send(ctx context.Context, ref inbox.Reference) error
}

// split stores the events in a batch one by one, sends each, and settles the batch last. A crash anywhere
// repeats it: what is stored is refused and sent again while it is open. A part that also came alone is
// the same event. A batch of which something was erased is emptied instead, once the others are stored.
func (w *Worker) split(ctx context.Context, ev inbox.Event) error {
	raw, err := w.Bodies.Read(ctx, ev.Body)
	if err != nil {
		return fmt.Errorf("read body of event %s: %w", ev.ID, err)
	}
	parts, err := w.Parts.Parts(ctx, ev, raw)
	flawed := errors.Is(err, inbox.ErrPart)
	switch {
	case notUsable(err):
		return w.unconfigured(ctx, ev, err)
	case err != nil && !flawed:
		return fmt.Errorf("make parts of event %s: %w", ev.ID, err)
	}
	erased := false
	for _, child := range parts.Events {
		if !w.room(ctx) {
			return &Later{Why: "no time left for the rest of the batch"}
		}
		receipt, err := w.store(ctx, child)
		if err != nil {
			return fmt.Errorf("store part %s of event %s: %w", child.ID, ev.ID, err)
		}
		erased = erased || receipt == inbox.Forgotten
	}
	switch {
	case flawed: // a person looks at it, with all that it holds
		return w.end(ctx, ev, []ending{{parked: true, reason: strings.TrimSuffix(err.Error()+"; "+parts.LeftOut, "; "), category: operation.CategoryInvalidInput}})
	case erased:
		return w.emptyBatch(ctx, ev)
	}
	return w.end(ctx, ev, []ending{{outcome: inbox.Split, reason: parts.LeftOut}})
}

// emptyBatch takes away what a batch holds. The event comes first, since one that is open needs its body: what a crash
// leaves in the bucket then is named by nothing, and the bucket's own rule removes it.
func (w *Worker) emptyBatch(ctx context.Context, ev inbox.Event) error {
	if err := w.Store.EmptyBatch(ctx, ev.ID, w.Now()); err != nil {
		return err
	}
	return w.Bodies.Drop(ctx, ev.Body)
}

// store puts one part and sends it, unless it is settled already. What was put into the bucket for it and nothing
// names, since its event was erased or is another one, is taken back.
func (w *Worker) store(ctx context.Context, child inbox.Event) (inbox.Receipt, error) {
	receipt, err := w.Store.Receive(ctx, child)
	if err != nil {
		return receipt, err
	}
	switch receipt {
	case inbox.Accepted, inbox.DuplicateOpen:
		return receipt, w.queue(ctx, child)
	case inbox.Forgotten:
		return receipt, w.Bodies.Drop(ctx, child.Body)
	case inbox.Conflicting, inbox.Reread:
		if err := w.Store.RecordConflict(ctx, inbox.Conflict{Event: child.ID, Digest: child.Digest, At: child.ReceivedAt, DeliveryID: child.DeliveryID}); err != nil || receipt == inbox.Reread {
			return receipt, err
		}
		return receipt, w.Bodies.Drop(ctx, child.Body)
	}
	return receipt, nil
}

// queue sends a stored part, as the receiver sends what comes alone: the heads of its quiet periods first.
func (w *Worker) queue(ctx context.Context, child inbox.Event) error {
	for _, h := range child.Heads() {
		if err := w.Store.PutHead(ctx, h); err != nil {
			return err
		}
	}
	ref, now := child.Reference()
	if !now {
		return nil // the reconciler sends it when its quiet period is over
	}
	return w.Sender.Send(ctx, ref)
}
