package dynamo

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"engang/shared/inbox"
	"engang/shared/operation"
)

// Approve makes a draft that was looked at the result: the operation is completed and the result written with
// its rank and output, in one transaction (W17). Several people may decide at once: one decision takes effect.
//
// It returns [operation.ErrNewerResult] when the operation stands as it was looked at and the object has a
// result of the same or a higher rank. It is refused with an *[operation.RefusedError] when the operation does
// not stand so; [operation.JudgeDecision] says what that means. Our own approval whose answer was lost is
// success.
func (t *Table) Approve(ctx context.Context, a operation.Approval) error {
	given := item{
		":person": str(a.By), ":now": millis(a.Now), ":reason": str(a.Note), ":write": str(a.WriteID), ":digest": str(a.Seen.Digest), ":rank": str(a.Seen.Rank),
	}
	k := a.Seen.Key
	operationHalf := step{s: approve.expiring(given, a.ExpiresAt), key: operationKey(k), given: given, onFail: func(stored item) error {
		return ownDecision(refusedBy(k, stored), a.WriteID, operation.Completed)
	}}
	result := operation.Result{
		Scope: k.Scope, Object: k.Object, Recipe: k.Recipe, Rank: a.Seen.Rank, Operation: k, Event: a.Seen.Event,
		Output: a.Seen.Output, Digest: a.Seen.Digest, At: a.Now, ExpiresAt: a.ResultExpiresAt,
	}
	resultHalf := step{s: putResult, key: resultKey(k.Scope, k.Object, k.Recipe), put: resultItem(result), given: item{":rank": str(result.Rank)},
		onFail: func(item) error { return operation.ErrNewerResult }}
	if err := t.commit(ctx, approve.call, operationHalf, resultHalf); err != nil {
		return fmt.Errorf("approve operation %s: %w", k, err)
	}
	return nil
}

// Reject refuses a draft that was looked at (W18). It is refused as Approve is; our own rejection whose answer
// was lost is success.
func (t *Table) Reject(ctx context.Context, r operation.Rejection) error {
	err := refusedOperation("reject", r.Key, t.change(ctx, reject, operationKey(r.Key), item{
		":person": str(r.By), ":now": millis(r.Now), ":reason": str(r.Note), ":write": str(r.WriteID), ":digest": str(r.Digest),
	}))
	return ownDecision(err, r.WriteID, operation.Rejected)
}

// SetAside takes a draft off the review list because the object has a newer result (W19). Its output is kept: it
// waits for a decision again, without another call, when the same content comes back as a newer version. It is
// refused as Approve is; our own write whose answer was lost is success.
func (t *Table) SetAside(ctx context.Context, a operation.SettingAside) error {
	given := item{":zero": num(0), ":write": str(a.WriteID), ":rank": str(a.Rank)}
	err := refusedOperation("set aside", a.Key, t.change(ctx, setAside.expiring(given, a.ExpiresAt), operationKey(a.Key), given))
	return ownDecision(err, a.WriteID, operation.Superseded)
}

// Dismiss takes a failed operation off the review list, and its event with it where that is asked for, in one
// transaction (W27). It is refused with an *[operation.RefusedError] when the operation does not stand there as
// failed with the token and the event that were seen, or when the one beside it does not need the event any more;
// with [inbox.ErrStale] when the event does not stand as it was seen. Our own dismissal whose answer was lost is
// success.
func (t *Table) Dismiss(ctx context.Context, d operation.Dismissal) error {
	given := item{":person": str(d.By), ":now": millis(d.Now), ":reason": str(d.Note), ":write": str(d.WriteID), ":seen": num(d.Token), ":event": str(d.Event)}
	steps := []step{{s: dismiss.expiring(given, d.ExpiresAt), key: operationKey(d.Key), given: given, onFail: func(stored item) error {
		return ownDecision(refusedBy(d.Key, stored), d.WriteID, operation.Failed)
	}}}
	if !d.EventGone {
		half := step{s: sameEvent, key: eventKey(d.Event), given: item{":generation": num(d.Generation)}, onFail: func(item) error {
			return fmt.Errorf("event %s: %w", d.Event, inbox.ErrStale)
		}}
		if d.WithEvent {
			half.given[":person"], half.given[":now"], half.given[":reason"] = str(d.By), millis(d.Now), str(d.Note)
			half.s = dismissWith.expiring(half.given, d.EventExpiresAt)
		}
		steps = append(steps, half)
	}
	if d.Beside != nil {
		steps = append(steps, step{s: needsEvent, key: operationKey(*d.Beside), given: item{":event": str(d.Event)}, onFail: func(stored item) error {
			return refusedBy(*d.Beside, stored)
		}})
	}
	if err := t.commit(ctx, dismiss.call, steps...); err != nil {
		return fmt.Errorf("dismiss operation %s: %w", d.Key, err)
	}
	return nil
}

// Cancel stops an operation that is pending, running or in review with the fencing token that was seen: it has
// failed then, with the next token, and does not stand in the review list. A redrive from before, done again
// because its answer was lost, does not undo it. The output of a draft is kept. It is refused with an
// *[operation.RefusedError] when the operation does not stand so; our own cancellation whose answer was lost is
// success.
func (t *Table) Cancel(ctx context.Context, c operation.Cancellation) error {
	given := item{":person": str(c.By), ":now": millis(c.Now), ":reason": str(c.Note), ":write": str(c.WriteID), ":seen": num(c.Token), ":one": num(1), ":fence": numbers(c.Token + 1)}
	err := refusedOperation("cancel", c.Key, t.change(ctx, cancel.expiring(given, c.ExpiresAt), operationKey(c.Key), given))
	return ownDecision(err, c.WriteID, operation.Failed)
}

// ownDecision makes a refusal success where the operation is as our own decision left it.
func ownDecision(err error, writeID string, next operation.State) error {
	refused, ok := errors.AsType[*operation.RefusedError](err)
	if ok && operation.JudgeDecision(refused.Stored, operation.Operation{}, writeID, next) == operation.OwnDecision {
		return nil
	}
	return err
}

// DismissEvent takes a parked event, or a conflict of an event, off the review list (W27). It returns
// [inbox.ErrStale] when that does not stand there as it was seen. A repeat of the same act, by person, time and
// reason, is success.
func (t *Table) DismissEvent(ctx context.Context, d inbox.Dismissal) error {
	s, k := dismissEvent, eventKey(d.Event)
	given := item{":person": str(d.By), ":now": millis(d.Now), ":reason": str(d.Note)}
	if d.Conflict != "" {
		s, k = dismissConflict, conflictKey(d.Event, d.Conflict)
	} else {
		given[":generation"] = num(d.Generation)
	}
	err := t.change(ctx, s.expiring(given, d.ExpiresAt), k, given)
	if refused, ok := errors.AsType[*refusal](err); ok {
		r := &reader{it: refused.stored}
		if by := r.dismissed(); by != nil && by.By == d.By && by.At.UnixMilli() == d.Now.UnixMilli() && by.Note == d.Note {
			return nil
		}
	}
	return stale("dismiss event "+string(d.Event), err)
}

// Reviews reads one page of what waits for a person in all scopes, the longest waiting first: failed operations,
// drafts, parked events and conflicts. After is what the page before gave as next, or empty; next is empty at
// the end. The index holds keys only and may be a moment old: read each one before showing it or acting on it.
func (t *Table) Reviews(ctx context.Context, after string, limit int) (waiting []operation.Waiting, next string, err error) {
	q := search{call: "query review", index: "open", when: openBetween, limit: t.limit(int32(limit)), given: item{
		":shard": str(review), ":after": str("0"), ":before": str("~"), // around every range key
	}}
	if after != "" {
		q.given[":after"] = str(after + "!") // as in Due
	}
	items, more, err := t.query(ctx, q)
	if err != nil {
		return nil, "", fmt.Errorf("read review list: %w", err)
	}
	for _, it := range items {
		w, err := readWaiting(it)
		if err != nil {
			return nil, "", fmt.Errorf("read review list: %w", err)
		}
		waiting = append(waiting, w)
		next = (&reader{it: it}).text("od")
	}
	if !more {
		next = ""
	}
	return waiting, next, nil
}

// readWaiting reads what waits from its keys alone.
func readWaiting(it item) (w operation.Waiting, err error) {
	r := &reader{it: it}
	pk, sk := r.text("pk"), r.text("sk")
	w.Since = r.queued()
	if id, isEvent := strings.CutPrefix(pk, eventPrefix); isEvent {
		w.Event = inbox.EventID(id)
		if digest, isConflict := strings.CutPrefix(sk, conflictPrefix); isConflict {
			w.Conflict = digest
		}
		return w, r.err
	}
	k, _, err := readOperationKey(pk, sk)
	w.Operation = &k
	return w, errors.Join(err, r.err)
}
