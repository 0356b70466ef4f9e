package dynamo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"engang/shared/operation"
)

// Claim takes the lease of an operation and starts an attempt, or makes the operation (W3). The fencing
// token is one more than any before. Of any number of claims at once one succeeds.
//
// A refused claim is an *[operation.RefusedError]; [operation.JudgeClaim] says what it means. Our own
// claim whose answer was lost is granted: then the lease's Before knows of an ended lease only that it
// has no recorded attempt, and its token.
func (t *Table) Claim(ctx context.Context, c operation.Claim) (operation.Lease, error) {
	old, err := t.update(ctx, claim, operationKey(c.Key), item{
		":me": str(c.Attempt), ":now": millis(c.Now), ":until": millis(c.Until), ":past": millis(c.Past()), ":write": str(c.WriteID),
		":event": str(c.Event), ":rank": str(c.Rank), ":one": num(1), ":limit": num(c.Limit),
	}, types.ReturnValueAllOld)
	if err != nil {
		return ownClaim(c, err)
	}
	lease := operation.Lease{Key: c.Key, Attempt: c.Attempt, Token: 1, Claims: 1, Begun: c.Now, Until: c.Until, Before: operation.Operation{Key: c.Key}}
	if len(old) == 0 {
		return lease, nil
	}
	if lease.Before, err = readOperation(old); err != nil {
		return operation.Lease{}, fmt.Errorf("claim operation %s: %w", c.Key, err)
	}
	lease.Token, lease.Claims = lease.Before.Token+1, lease.Before.Claims+1
	return lease, nil
}

// ownClaim makes a lease of a refused claim that is our own, and passes on what is something else.
func ownClaim(c operation.Claim, err error) (operation.Lease, error) {
	err = refusedOperation("claim", c.Key, err)
	refused, ok := errors.AsType[*operation.RefusedError](err)
	if !ok {
		return operation.Lease{}, err
	}
	stored := refused.Stored
	if standing, _ := operation.JudgeClaim(stored, c); standing != operation.Own {
		return operation.Lease{}, err
	}
	before := operation.Operation{Key: c.Key, Attempts: stored.Attempts, Output: stored.Output, Digest: stored.Digest, Token: stored.Token - 1, Fences: stored.Fences}
	n := len(stored.Attempts)
	switch recorded := n > 0 && stored.Attempts[n-1].FencingToken == before.LastClaim(); {
	case before.Token == 0: // we made it
	case before.LastClaim() == 0: // every one before was given back without a call
		before.State = operation.Pending
	case recorded && len(stored.Output) > 0: // only a draft that was set aside, or cancelled, leaves an output behind
		before.State = operation.Superseded
	case recorded:
		before.State = operation.Pending
	default:
		before.State = operation.Running // nobody recorded how the attempt before ours ended
	}
	return operation.Lease{
		Key: c.Key, Attempt: c.Attempt, Token: stored.Token, Claims: stored.Claims, Begun: stored.BegunAt, Until: stored.LeaseEnd, Before: before,
	}, nil
}

// refusedOperation makes a *[operation.RefusedError] of a refused condition, and wraps what is something else.
func refusedOperation(act string, k operation.Key, err error) error {
	if err == nil {
		return nil
	}
	if refused, ok := errors.AsType[*refusal](err); ok {
		err = refusedBy(k, refused.stored)
	}
	return fmt.Errorf("%s operation %s: %w", act, k, err)
}

func refusedBy(k operation.Key, stored item) error {
	if len(stored) == 0 {
		return &operation.RefusedError{Stored: operation.Operation{Key: k}}
	}
	op, err := readOperation(stored)
	if err != nil {
		return err
	}
	return &operation.RefusedError{Stored: op}
}

// A finishing is one of the writes that end a lease.
type finishing struct {
	act   string
	s     statement
	next  operation.State
	given item // beside what every finish gives
}

// Complete ends the lease with the output committed (W4). As every finish, it is refused with an
// *[operation.RefusedError] when the lease is not the caller's any more, and [operation.JudgeFinish]
// says what that means; our own finish whose answer was lost is success.
func (t *Table) Complete(ctx context.Context, f operation.Finish) error {
	w := finishing{"complete", complete, operation.Completed, item{":output": raw(f.Output), ":digest": str(f.Digest)}}
	return t.finishLogged(ctx, f, w.expiring(f.ExpiresAt))
}

// Hold ends the lease with the output as a draft that waits for a decision (W16); else as Complete.
func (t *Table) Hold(ctx context.Context, f operation.Finish) error {
	given := item{":output": raw(f.Output), ":digest": str(f.Digest), ":reason": str(f.Reason), ":when": str(reviewStamp(f.Now, f.Lease.Key))}
	return t.finishLogged(ctx, f, finishing{"hold", hold, operation.Review, given})
}

// Retry ends the lease and gives the operation back until its not-before time (W7); else as Complete.
func (t *Table) Retry(ctx context.Context, f operation.Finish) error {
	return t.finishLogged(ctx, f, finishing{"retry", retry, operation.Pending, item{":when": millis(f.NotBefore)}})
}

// Fail ends the lease and gives the operation up, for the review list (W7); else as Complete.
func (t *Table) Fail(ctx context.Context, f operation.Finish) error {
	given := item{":reason": str(f.Reason), ":category": str(f.Category), ":when": str(reviewStamp(f.Now, f.Lease.Key))}
	return t.finishLogged(ctx, f, finishing{"fail", fail, operation.Failed, given})
}

// Pause ends the lease and gives the attempt back, not to be tried before NotBefore, if it is set (W24);
// else as Complete.
func (t *Table) Pause(ctx context.Context, f operation.Finish) error {
	from := f.Now
	if !f.NotBefore.IsZero() {
		from = f.NotBefore
	}
	return t.finishLogged(ctx, f, finishing{"pause", giveBack, operation.Pending, item{":now": millis(from), ":minus": num(-1)}})
}

// Supersede ends the lease because a newer version has its result (W8). No call was made: the attempt
// is given back and not recorded. Else as Complete.
func (t *Table) Supersede(ctx context.Context, f operation.Finish) error {
	w := finishing{"supersede", supersede, operation.Superseded, item{":minus": num(-1), ":given": numbers(f.Lease.Token)}}
	return t.finish(ctx, f, w.expiring(f.ExpiresAt))
}

func (w finishing) expiring(at time.Time) finishing {
	w.s = w.s.expiring(w.given, at)
	return w
}

func (t *Table) finishLogged(ctx context.Context, f operation.Finish, w finishing) error {
	log, err := json.Marshal(f.Attempts)
	if err != nil {
		return fmt.Errorf("write attempts of operation %s: %w", f.Lease.Key, err)
	}
	w.given[":log"] = str(string(log))
	return t.finish(ctx, f, w)
}

func (t *Table) finish(ctx context.Context, f operation.Finish, w finishing) error {
	w.given[":token"], w.given[":me"], w.given[":write"] = num(f.Lease.Token), str(f.Lease.Attempt), str(f.WriteID)
	err := refusedOperation(w.act, f.Lease.Key, t.change(ctx, w.s, operationKey(f.Lease.Key), w.given))
	if refused, ok := errors.AsType[*operation.RefusedError](err); ok && operation.JudgeFinish(refused.Stored, f, w.next) == operation.OwnFinish {
		return nil
	}
	return err
}

// reviewStamp is the range key of an operation in the review list.
func reviewStamp(at time.Time, k operation.Key) string {
	name := operationKey(k)
	return stamp(at, name.pk+"#"+name.sk)
}

// Exhaust gives up an operation whose claims are used up while no lease runs (W9). It is refused with
// an *[operation.RefusedError] when somebody was faster; our own write whose answer was lost is success.
func (t *Table) Exhaust(ctx context.Context, e operation.Exhaustion) error {
	err := refusedOperation("give up", e.Key, t.change(ctx, exhaust, operationKey(e.Key), item{
		":reason": str(e.Reason), ":write": str(e.WriteID), ":when": str(reviewStamp(e.Now, e.Key)), ":limit": num(e.Limit), ":past": millis(e.Past()),
	}))
	if refused, ok := errors.AsType[*operation.RefusedError](err); ok && refused.Stored.State == operation.Failed && refused.Stored.WriteID == e.WriteID {
		return nil
	}
	return err
}

// Operation reads an operation consistently. It returns [operation.ErrNotFound] if there is none.
func (t *Table) Operation(ctx context.Context, k operation.Key) (operation.Operation, error) {
	it, err := t.read(ctx, operationKey(k))
	if err == nil && len(it) == 0 {
		err = operation.ErrNotFound
	}
	if err != nil {
		return operation.Operation{}, fmt.Errorf("read operation %s: %w", k, err)
	}
	op, err := readOperation(it)
	if err != nil {
		return operation.Operation{}, fmt.Errorf("read operation %s: %w", k, err)
	}
	return op, nil
}
