package dynamo

import (
	"context"
	"time"

	"engang/shared/inbox"
)

// PushSend moves an open event to its next due time and counts one send (W11). It comes before the
// send, so that of two reconcilers one sends. It returns [inbox.ErrStale] when the event is not open or
// not due at seenDueKey any more; that is also what a repeat after our own lost answer meets, and then
// the event is sent one backoff later.
func (t *Table) PushSend(ctx context.Context, id inbox.EventID, seenDueKey string, due time.Time) error {
	given := item{":next": str(stamp(due, string(id))), ":seen": str(seenDueKey), ":one": num(1)}
	return stale("push event "+string(id), t.change(ctx, pushSend, eventKey(id), given))
}

// ParkUnsent parks an event that was sent too often without a sign of life (W12). It returns
// [inbox.ErrStale] when the event is not open, not due at the key that was seen, or was not sent so
// often; a repeat after our own lost answer meets that too.
func (t *Table) ParkUnsent(ctx context.Context, u Unsent) error {
	given := item{
		":reason": str(u.Reason), ":now": millis(u.At), ":when": str(stamp(u.At, string(u.ID))), ":seen": str(u.DueKey), ":limit": num(u.Limit),
	}
	return stale("park event "+string(u.ID), t.change(ctx, parkUnsent, eventKey(u.ID), given))
}
