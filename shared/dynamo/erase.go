package dynamo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"engang/shared/inbox"
	"engang/shared/operation"
)

// emptyDays is how long an event is kept that was emptied before its time: senders repeat no longer.
const emptyDays = seenDays

var errMoving = errors.New("the event keeps moving")

// EmptyEvent takes everything away that an event and its conflicts hold of their content: body, object, the
// sender's ids, reasons and decisions. Id, digest, scope and times stay, so that a repeat stays a repeat. An open
// or parked event is settled as cancelled, and expires ninety days later; whoever works on it is refused. Nothing
// opens it again. It returns [inbox.ErrNotFound] if there is none; one that is empty already stays as it is.
//
// Where the body is in the bucket, remove it first: afterwards nothing here names it.
func (t *Table) EmptyEvent(ctx context.Context, id inbox.EventID, at time.Time) error {
	items, err := t.collection(ctx, "read event", eventPrefix+string(id))
	if err != nil {
		return fmt.Errorf("erase event %s: %w", id, err)
	}
	for _, it := range items { // the conflicts come first: an event that is empty is done with
		digest, isConflict := strings.CutPrefix((&reader{it: it}).text("sk"), conflictPrefix)
		if !isConflict {
			continue
		}
		err := t.change(ctx, eraseConflict, conflictKey(id, digest), item{":now": millis(at), ":later": seconds(at.AddDate(0, 0, emptyDays))})
		if _, refused := errors.AsType[*refusal](err); err != nil && !refused {
			return fmt.Errorf("erase conflict of event %s: %w", id, err)
		}
	}
	if err := t.emptyEvent(ctx, id, at); err != nil {
		return fmt.Errorf("erase event %s: %w", id, err)
	}
	return nil
}

func (t *Table) emptyEvent(ctx context.Context, id inbox.EventID, at time.Time) error {
	settled := false
	for range vanishing {
		s, given := erase, item{":now": millis(at), ":one": num(1), ":later": seconds(at.AddDate(0, 0, emptyDays))}
		if settled {
			s = eraseSettled
			delete(given, ":later")
		}
		err := t.change(ctx, s, eventKey(id), given)
		refused, ok := errors.AsType[*refusal](err)
		switch {
		case !ok:
			return err
		case len(refused.stored) == 0:
			return inbox.ErrNotFound
		}
		r := &reader{it: refused.stored}
		if r.number("era") != 0 {
			return r.err
		}
		settled = r.text("st") == string(inbox.Settled)
	}
	return errMoving
}

// DeleteWork removes the items of an object, but for those of the events that are kept. An item that a newer
// event takes over meanwhile is kept too. A recorded attempt goes and stays with its operation. What was removed
// before an error stays removed; the same call may be made again.
//
// A worker that is under way is not held: it may record its attempt, or write a result that it committed a
// moment before.
func (t *Table) DeleteWork(ctx context.Context, d operation.Deletion) (done operation.Deleted, err error) {
	hash := objectHash(d.Scope, d.Object)
	items, err := t.collection(ctx, "query object", hash)
	if err != nil {
		return done, fmt.Errorf("delete work of %s: %w", d.Object, err)
	}
	kept := map[string]bool{} // sort keys
	for _, it := range items {
		r := &reader{it: it}
		sk, event := r.text("sk"), inbox.EventID(r.text("ev"))
		owner, _, losing := strings.Cut(sk, losingInfix)
		stays, err := slices.Contains(d.Keep, event) || losing && kept[owner], r.err
		if err == nil && !stays {
			stays, err = t.removeWork(ctx, key{hash, sk}, event, losing)
		}
		if err != nil {
			return done, fmt.Errorf("delete work of %s: %w", d.Object, err)
		}
		if stays {
			kept[sk] = true
			done.Kept++
		} else {
			done.Items++
		}
	}
	return done, nil
}

// removeWork removes one item as it was seen, and tells whether it stays, since a newer event has it now.
func (t *Table) removeWork(ctx context.Context, k key, event inbox.EventID, losing bool) (stays bool, err error) {
	if losing {
		return false, t.remove(ctx, removeAny, k, nil)
	}
	err = t.remove(ctx, removeSeen, k, item{":event": str(event)})
	if _, refused := errors.AsType[*refusal](err); refused {
		return true, nil
	}
	return false, err
}
