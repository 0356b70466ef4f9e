package dynamo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"engang/shared/inbox"
	"engang/shared/object"
)

// CatchUp reads how far an endpoint's source was asked, consistently. It is zero if nobody has begun.
func (t *Table) CatchUp(ctx context.Context, s object.Scope, endpoint string) (inbox.CatchUp, error) {
	it, err := t.read(ctx, catchUpKey(s, endpoint))
	if err != nil {
		return inbox.CatchUp{}, fmt.Errorf("read catch-up of endpoint %s: %w", endpoint, err)
	}
	r := &reader{it: it}
	c := inbox.CatchUp{Since: r.millis("since"), Cursor: r.text("cur"), Due: r.millis("due"), Revision: int(r.number("rev"))}
	if r.err != nil {
		return inbox.CatchUp{}, fmt.Errorf("read catch-up of endpoint %s: %w", endpoint, r.err)
	}
	return c, nil
}

// MoveCatchUp puts another state in the place of the one that was read. It returns [inbox.ErrStale] when
// somebody moved it meanwhile; our own move whose answer was lost is success.
func (t *Table) MoveCatchUp(ctx context.Context, m inbox.CatchUpMove) error {
	it := item{"rev": num(m.Seen + 1), "wid": str(m.WriteID)}
	it.set(map[string]string{"cur": m.Next.Cursor})
	for name, at := range map[string]time.Time{"since": m.Next.Since, "due": m.Next.Due} {
		if !at.IsZero() {
			it[name] = millis(at)
		}
	}
	s, given := moveCatchUp, item{":seen": num(m.Seen)}
	if m.Seen == 0 {
		s, given = firstCatchUp, nil
	}
	err := t.put(ctx, s, catchUpKey(m.Scope, m.Endpoint), it, given)
	if refused, ok := errors.AsType[*refusal](err); ok {
		if r := (&reader{it: refused.stored}); r.text("wid") == m.WriteID {
			return nil
		}
	}
	return stale("move catch-up of endpoint "+m.Endpoint, err)
}

// NoteDelivery notes when an endpoint's sender was heard. Of several at once the last one stands.
func (t *Table) NoteDelivery(ctx context.Context, s object.Scope, endpoint string, at time.Time) error {
	if err := t.put(ctx, noteDelivery, heardKey(s, endpoint), item{"at": millis(at)}, nil); err != nil {
		return fmt.Errorf("note delivery to endpoint %s: %w", endpoint, err)
	}
	return nil
}

// LastDelivery reads when an endpoint's sender was last heard, consistently. It is zero if that was never noted.
func (t *Table) LastDelivery(ctx context.Context, s object.Scope, endpoint string) (time.Time, error) {
	it, err := t.read(ctx, heardKey(s, endpoint))
	if err != nil {
		return time.Time{}, fmt.Errorf("read last delivery to endpoint %s: %w", endpoint, err)
	}
	r := &reader{it: it}
	at := r.millis("at")
	if r.err != nil {
		return time.Time{}, fmt.Errorf("read last delivery to endpoint %s: %w", endpoint, r.err)
	}
	return at, nil
}
