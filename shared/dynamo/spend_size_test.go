package dynamo_test

import (
	"errors"
	"fmt"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"engang/shared/dynamo/dynamotest"
	"engang/shared/operation"
	"engang/shared/recipe"
	"engang/shared/spend"
)

// Each call of a minute is an attribute of the minute's item, and an item holds 400 KB: the highest limit that a recipe
// may say is one that the store can count to.
func TestAMinuteCountsToTheHighestLimit(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		m := minute(0)
		m.Attempt = wholeID(0)
		m.Limit = recipe.MaxPerMinute
		must(t, table.TakeMinute(t.Context(), m))
		fill(t, db, recipe.MaxPerMinute-1)
		m.Attempt = wholeID(recipe.MaxPerMinute - 1)
		if err := table.TakeMinute(t.Context(), m); err != nil {
			t.Fatalf("call %d of as many: %v", recipe.MaxPerMinute, err)
		}
		m.Attempt = wholeID(recipe.MaxPerMinute)
		if err := table.TakeMinute(t.Context(), m); !errors.Is(err, spend.ErrUsedUp) {
			t.Errorf("the next one: %v", err)
		}
	})
}

// wholeID is as long as the ids of real attempts are.
func wholeID(n int) operation.AttemptID { return operation.AttemptID(fmt.Sprintf("att_%026d", n)) }

// fill makes the only item of a table one of so many calls, in a single write: to count them one by one takes minutes.
func fill(t *testing.T, db dynamotest.DB, calls int) {
	t.Helper()
	all, err := db.Client().Scan(t.Context(), &dynamodb.ScanInput{TableName: &db.TableName})
	must(t, err)
	if len(all.Items) != 1 {
		t.Fatalf("%d items", len(all.Items))
	}
	it, counted := all.Items[0], "r_"+string(wholeID(0))
	for n := range calls {
		it["r_"+string(wholeID(n))] = it[counted]
	}
	it["num"] = &types.AttributeValueMemberN{Value: strconv.Itoa(calls)}
	_, err = db.Client().PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &db.TableName, Item: it})
	must(t, err)
}
