package dynamo

import (
	"context"
	"errors"
	"fmt"

	"engang/shared/inbox"
	"engang/shared/object"
)

// PutHead makes an event the newest one of its object that a recipe with a quiet period waits for, unless one
// of the same or a higher rank stands there (W21): then there is nothing to do, and it returns nil.
func (t *Table) PutHead(ctx context.Context, h inbox.Head) error {
	it := item{"rank": str(h.Rank), "ev": str(h.Event)}
	it.setExpiry(h.ExpiresAt)
	err := t.put(ctx, putHead, headKey(h.Scope, h.Object, h.Recipe), it, item{":rank": str(h.Rank)})
	if _, refused := errors.AsType[*refusal](err); err != nil && !refused {
		return fmt.Errorf("write head of event %s: %w", h.Event, err)
	}
	return nil
}

// Head reads the newest stored event of an object that a recipe waits for, whatever the recipe's version,
// consistently. False means that there is none.
func (t *Table) Head(ctx context.Context, s object.Scope, id object.ID, recipe string) (inbox.Head, bool, error) {
	it, err := t.read(ctx, headKey(s, id, recipe))
	if err != nil {
		return inbox.Head{}, false, fmt.Errorf("read head of %s: %w", id, err)
	}
	if len(it) == 0 {
		return inbox.Head{}, false, nil
	}
	r := &reader{it: it}
	h := inbox.Head{Scope: s, Object: id, Recipe: recipe, Rank: object.Rank(r.text("rank")), Event: inbox.EventID(r.text("ev")), ExpiresAt: r.expiry()}
	if r.err != nil {
		return inbox.Head{}, false, fmt.Errorf("read head of %s: %w", id, r.err)
	}
	return h, true, nil
}
