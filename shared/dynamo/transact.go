package dynamo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsretry "github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"engang/shared/inbox"
	"engang/shared/operation"
	"engang/shared/telemetry"
)

// A step is one write of a transaction.
type step struct {
	s      statement
	key    key
	put    item // the whole item; nil: an update
	given  item
	onFail func(stored item) error // what its refused condition means; stored is empty if the item is gone
}

// Reasons for which a transaction is cancelled.
const (
	refusedCondition = "ConditionalCheckFailed"
	inConflict       = "TransactionConflict" // another transaction had one of the items in its hands
)

// patient makes a client repeat what met a transaction under way, as it repeats what got no answer: a
// conflict decides nothing, and is over in milliseconds. Beside a refused condition too: the other
// transaction may have been about to change what refused.
func patient(r aws.Retryer) aws.Retryer {
	r = awsretry.AddWithErrorCodes(r, (*types.TransactionConflictException)(nil).ErrorCode())
	v2, ok := r.(aws.RetryerV2)
	if !ok {
		return r
	}
	return conflicts{v2}
}

type conflicts struct{ aws.RetryerV2 }

// IsErrorRetryable tells whether a call may be made again.
func (c conflicts) IsErrorRetryable(err error) bool {
	cancelled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if ok && slices.ContainsFunc(cancelled.CancellationReasons, func(r types.CancellationReason) bool { return aws.ToString(r.Code) == inConflict }) {
		return true
	}
	return c.RetryerV2.IsErrorRetryable(err)
}

// write is the step as the client sends it.
func (st step) write(table string) (w types.TransactWriteItem, err error) {
	values, err := st.s.values(st.given)
	if err != nil {
		return w, err
	}
	if st.put == nil {
		w.Update = &types.Update{
			TableName: &table, Key: st.key.item(), UpdateExpression: &st.s.update, ConditionExpression: optional(st.s.when),
			ExpressionAttributeNames: st.s.names(), ExpressionAttributeValues: values, ReturnValuesOnConditionCheckFailure: allOld,
		}
		return w, fits(ItemSize(values) + itemOverhead)
	}
	whole := st.key.item()
	maps.Copy(whole, st.put)
	w.Put = &types.Put{
		TableName: &table, Item: whole, ConditionExpression: optional(st.s.when),
		ExpressionAttributeNames: st.s.names(), ExpressionAttributeValues: values, ReturnValuesOnConditionCheckFailure: allOld,
	}
	return w, fits(ItemSize(whole))
}

// commit makes all the writes or none. The first refused condition decides the error.
func (t *Table) commit(ctx context.Context, call string, steps ...step) error {
	in := &dynamodb.TransactWriteItemsInput{} // the client makes the request token: it covers the client's own repeats
	for _, st := range steps {
		w, err := st.write(t.name)
		if err != nil {
			return err
		}
		in.TransactItems = append(in.TransactItems, w)
	}
	_, err := t.client.TransactWriteItems(telemetry.WithCall(ctx, call), in)
	cancelled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok {
		return err
	}
	for i, reason := range cancelled.CancellationReasons {
		if reason.Code == nil || *reason.Code != refusedCondition || i >= len(steps) {
			continue
		}
		stored := item(reason.Item)
		if len(stored) == 0 { // an engine that sends no item, or there is none
			if stored, err = t.read(ctx, steps[i].key); err != nil {
				return fmt.Errorf("read after a refused condition: %w", err)
			}
		}
		return steps[i].onFail(stored)
	}
	return err // conflict with another transaction, throttled, too large: nothing was written
}

// Redrive opens a failed (W13) or rejected (W20) operation with a new budget, and its event with it, in
// one transaction. Our own act whose answer was lost is success, as long as nobody claimed the
// operation since. It is refused with an *[operation.RefusedError] when the operation does not stand as
// it was seen, and returns [inbox.ErrNotFound] when the event is gone, and [inbox.ErrStale] when it runs under
// other recipes than those that were seen: nobody would work on the operation. After any other error the same
// act may be repeated; a later failure of the operation has another token and refuses the repeat.
func (t *Table) Redrive(ctx context.Context, r operation.Redrive) error {
	s := redrive
	if r.Seen == operation.Rejected {
		s = renew
	}
	operationHalf := step{s: s, key: operationKey(r.Key), given: item{
		":now": millis(r.Now), ":zero": num(0), ":write": str(r.WriteID), ":event": str(r.Event), ":seen": num(r.Token),
	}, onFail: func(stored item) error {
		err := refusedBy(r.Key, stored)
		if refused, ok := errors.AsType[*operation.RefusedError](err); ok && refused.Stored.State == operation.Pending && refused.Stored.WriteID == r.WriteID {
			return nil
		}
		return err
	}}
	eventHalf := step{s: reopenAny, key: eventKey(r.Event), given: opened(r.Event, r.Due), onFail: func(stored item) error {
		if under := (&reader{it: stored}).text("rcp"); len(stored) > 0 && r.Recipes != nil && under != recipesText(r.Recipes) {
			return fmt.Errorf("event %s: %w", r.Event, inbox.ErrStale)
		}
		return fmt.Errorf("event %s: %w", r.Event, inbox.ErrNotFound)
	}}
	if r.Recipes != nil {
		eventHalf.s, eventHalf.given[":former"] = reopenUnder, str(recipesText(r.Recipes))
	}
	if err := t.commit(ctx, s.call, operationHalf, eventHalf); err != nil {
		return fmt.Errorf("redrive operation %s: %w", r.Key, err)
	}
	return nil
}
