package dynamo

import (
	"context"
	"errors"
	"fmt"

	"engang/shared/inbox"
	"engang/shared/operation"
)

// Raise makes a newer event the one that waits for the operation (W10). Where an older one was parked on what failed,
// that ends in the same transaction: it is settled, named after the newer one, or worked on again if it has other
// recipes. When this event, or one that is newer where nothing is handed over, waits already there is nothing to do,
// and it returns nil.
//
// It is refused with an *[operation.RefusedError] when the operation does not stand as it was seen;
// [operation.JudgeRaise] says what that means. It returns [inbox.ErrStale] when the older event does not stand so.
func (t *Table) Raise(ctx context.Context, r operation.Raise) error {
	s, given := raise, item{":rank": str(r.Rank), ":event": str(r.Event), ":seen": str(r.Seen)}
	switch {
	case r.Listed:
		s, given[":before"] = raiseListed, str(r.Before)
	case r.Seen == operation.Failed:
		s = raiseDecided
	}
	if r.Older == nil {
		err := refusedOperation("raise", r.Key, t.change(ctx, s, operationKey(r.Key), given))
		return knownRaise(err, r)
	}
	err := t.commit(ctx, s.call, step{s: s, key: operationKey(r.Key), given: given, onFail: func(stored item) error {
		return knownRaise(refusedBy(r.Key, stored), r)
	}}, olderHalf(r))
	if err != nil {
		return fmt.Errorf("raise operation %s: %w", r.Key, err)
	}
	return nil
}

// knownRaise makes a refusal success where the event waits already.
func knownRaise(err error, r operation.Raise) error {
	refused, ok := errors.AsType[*operation.RefusedError](err)
	if ok && operation.JudgeRaise(refused.Stored, r) == operation.KnownAlready {
		return nil
	}
	return err
}

// olderHalf is what becomes of the older event.
func olderHalf(r operation.Raise) step {
	e := r.Older
	half := step{s: asSeen, key: eventKey(e.ID), given: item{":seen": str(e.State), ":stands": num(e.Generation)}, onFail: func(item) error {
		return fmt.Errorf("event %s: %w", e.ID, inbox.ErrStale)
	}}
	switch waits := e.State == inbox.Parked && len(e.Operations) > 0 && e.Dismissed == nil; {
	case waits && len(e.Recipes) == 1:
		half.given = item{":now": millis(r.Now), ":reason": str(r.Event), ":generation": num(e.Generation)}
		half.s = handOver.expiring(half.given, r.ExpiresAt)
	case waits:
		half.s, half.given = takeUp, opened(e.ID, r.Due)
		half.given[":generation"] = num(e.Generation)
	}
	return half
}
