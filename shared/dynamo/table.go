package dynamo

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"engang/shared/telemetry"
)

// A Table is the one table. It is safe for concurrent use.
type Table struct {
	client *dynamodb.Client
	name   string
	page   int32 // items asked for by one query; zero: as many as the engine gives
}

// Open returns the table of this name. It makes no call. A configuration with an endpoint of its own is
// taken for a local engine.
func Open(cfg aws.Config, table string) *Table {
	client := dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) {
		o.DisableValidateResponseChecksum = cfg.BaseEndpoint != nil // local engines send no checksum
		o.Retryer = patient(o.Retryer)
	})
	return &Table{client: client, name: table}
}

// A refusal says that a condition did not hold, and what is stored: nothing, if the item was gone
// before it could be read.
type refusal struct{ stored item }

func (*refusal) Error() string { return "condition refused" }

const allOld = types.ReturnValuesOnConditionCheckFailureAllOld

// put writes a whole item. A refused condition is a *refusal.
func (t *Table) put(ctx context.Context, s statement, k key, it item, given item) error {
	values, err := s.values(given)
	if err != nil {
		return err
	}
	for name, value := range k.item() {
		it[name] = value
	}
	if err := fits(ItemSize(it)); err != nil {
		return err
	}
	_, err = t.client.PutItem(telemetry.WithCall(ctx, s.call), &dynamodb.PutItemInput{
		TableName: &t.name, Item: it, ConditionExpression: optional(s.when), ExpressionAttributeNames: s.names(), ExpressionAttributeValues: values,
		ReturnValuesOnConditionCheckFailure: allOld,
	})
	return t.refused(ctx, k, err)
}

// update changes an item and returns it as it was before, if asked. A refused condition is a *refusal.
func (t *Table) update(ctx context.Context, s statement, k key, given item, returned types.ReturnValue) (item, error) {
	values, err := s.values(given)
	if err != nil {
		return nil, err
	}
	if err := fits(ItemSize(values) + itemOverhead); err != nil {
		return nil, err
	}
	out, err := t.client.UpdateItem(telemetry.WithCall(ctx, s.call), &dynamodb.UpdateItemInput{
		TableName: &t.name, Key: k.item(), UpdateExpression: &s.update, ConditionExpression: optional(s.when),
		ExpressionAttributeNames: s.names(), ExpressionAttributeValues: values, ReturnValues: returned,
		ReturnValuesOnConditionCheckFailure: allOld,
	})
	if err != nil {
		return nil, t.refused(ctx, k, err)
	}
	return out.Attributes, nil
}

// change is update for those who need no old item.
func (t *Table) change(ctx context.Context, s statement, k key, given item) error {
	_, err := t.update(ctx, s, k, given, types.ReturnValueNone)
	return err
}

// remove removes an item; that there is none is no refusal of its own. A refused condition is a *refusal.
func (t *Table) remove(ctx context.Context, s statement, k key, given item) error {
	values, err := s.values(given)
	if err != nil {
		return err
	}
	_, err = t.client.DeleteItem(telemetry.WithCall(ctx, s.call), &dynamodb.DeleteItemInput{
		TableName: &t.name, Key: k.item(), ConditionExpression: optional(s.when), ExpressionAttributeNames: s.names(), ExpressionAttributeValues: values,
		ReturnValuesOnConditionCheckFailure: allOld,
	})
	return t.refused(ctx, k, err)
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// refused makes a *refusal of a condition that did not hold, with the item that came with it or, where
// the engine sends none, with what one consistent read finds.
func (t *Table) refused(ctx context.Context, k key, err error) error {
	failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err)
	if !ok {
		return err
	}
	if len(failed.Item) > 0 {
		return &refusal{failed.Item}
	}
	stored, err := t.read(ctx, k)
	if err != nil {
		return fmt.Errorf("read after a refused condition: %w", err)
	}
	return &refusal{stored}
}

// read reads an item consistently. It is empty if there is none.
func (t *Table) read(ctx context.Context, k key) (item, error) {
	out, err := t.client.GetItem(telemetry.WithCall(ctx, k.reading()), &dynamodb.GetItemInput{TableName: &t.name, Key: k.item(), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return nil, err
	}
	return out.Item, nil
}
