package dynamo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
)

// emptyDays is how long an event is kept that was emptied before its time: senders repeat no longer.
const emptyDays = seenDays

var errMoving = errors.New("it keeps moving")

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

// EmptyBatch is [Table.EmptyEvent] for a delivery of many events, beside which no conflict stands: its key is made of
// what it says.
func (t *Table) EmptyBatch(ctx context.Context, id inbox.EventID, at time.Time) error {
	if err := t.emptyEvent(ctx, id, at); err != nil {
		return fmt.Errorf("erase delivery %s: %w", id, err)
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

// DeleteWork removes the items of an object, but for those of events that were received later, which the rank in
// each item tells. An item that such an event takes over meanwhile is kept too. A recorded attempt goes and stays with
// its operation. What was removed before an error stays removed; the same call may be made again.
//
// Whoever has the lease of an operation loses it with the item: what he finishes is refused, also where a later event
// has made the operation anew. A worker that is under way is not held: it may record its attempt, claim the operation
// again, or write a result that it committed a moment before.
func (t *Table) DeleteWork(ctx context.Context, d operation.Deletion) (done operation.Deleted, err error) {
	hash := objectHash(d.Scope, d.Object)
	items, err := t.collection(ctx, "query object", hash)
	if err != nil {
		return done, fmt.Errorf("delete work of %s: %w", d.Object, err)
	}
	kept := map[string]bool{} // sort keys
	for _, it := range items {
		r := &reader{it: it}
		k := key{hash, r.text("sk")}
		owner, _, losing := strings.Cut(k.sk, losingInfix)
		stays, err := losing && kept[owner], r.err
		switch {
		case err != nil:
		case !losing:
			stays, err = t.removeWork(ctx, k, it, d.Until)
		case !stays:
			err = t.remove(ctx, removeAny, k, nil)
		}
		switch {
		case err != nil:
			return done, fmt.Errorf("delete work of %s: %w", d.Object, err)
		case stays:
			kept[k.sk] = true
			done.Kept++
			continue
		case slices.Contains(operation.Cancel.From, operation.State(r.text("st"))):
			done.Stopped++
		}
		done.Items++
	}
	return done, nil
}

// removeWork removes one item, and tells whether it stays, since an event has it that was received later. Where another
// event takes it over between look and write, that one is looked at. The head of a quiet period goes whatever its event
// is: it has the time of a repeat, by that receiver's clock, and without it a later event costs one more call at most.
func (t *Table) removeWork(ctx context.Context, k key, it item, until time.Time) (stays bool, err error) {
	for range vanishing {
		r := &reader{it: it}
		event, rank := r.text("ev"), object.Rank(r.text("rank"))
		if later := rank.ReceivedAt().After(until) && !strings.HasPrefix(k.sk, headPrefix); r.err != nil || later {
			return true, r.err
		}
		err := t.remove(ctx, removeSeen, k, item{":event": str(event)})
		refused, ok := errors.AsType[*refusal](err)
		if !ok {
			return false, err
		}
		it = refused.stored
	}
	return false, errMoving
}
