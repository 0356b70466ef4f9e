package enrich

import (
	"context"
	"errors"
	"fmt"
	"strings"

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
}

// Sender sends a reference of an event to the work queue.
type Sender interface {
	Send(ctx context.Context, ref inbox.Reference) error
}

// split stores the events in a batch one by one, sends each, and settles the batch last. A crash anywhere
// repeats it: what is stored is refused and sent again while it is open. A part that also came alone is
// the same event.
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
	for _, child := range parts.Events {
		if !w.room(ctx) {
			return &Later{Why: "no time left for the rest of the batch"}
		}
		if err := w.store(ctx, child); err != nil {
			return fmt.Errorf("store part %s of event %s: %w", child.ID, ev.ID, err)
		}
	}
	if flawed {
		return w.end(ctx, ev, []ending{{parked: true, reason: strings.TrimSuffix(err.Error()+"; "+parts.LeftOut, "; "), category: operation.CategoryInvalidInput}})
	}
	return w.end(ctx, ev, []ending{{outcome: inbox.Split, reason: parts.LeftOut}})
}

// store puts one part and sends it, unless it is settled already. What was put into the bucket for it and nothing
// names, since its event was erased or is another one, is taken back.
func (w *Worker) store(ctx context.Context, child inbox.Event) error {
	receipt, err := w.Store.Receive(ctx, child)
	if err != nil {
		return err
	}
	switch receipt {
	case inbox.Accepted, inbox.DuplicateOpen:
		return w.queue(ctx, child)
	case inbox.Forgotten:
		return w.Bodies.Drop(ctx, child.Body)
	case inbox.Conflicting, inbox.Reread:
		if err := w.Store.RecordConflict(ctx, inbox.Conflict{Event: child.ID, Digest: child.Digest, At: child.ReceivedAt, DeliveryID: child.DeliveryID}); err != nil || receipt == inbox.Reread {
			return err
		}
		return w.Bodies.Drop(ctx, child.Body)
	}
	return nil
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
