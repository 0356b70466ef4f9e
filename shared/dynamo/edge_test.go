package dynamo_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"engang/shared/dynamo"
	"engang/shared/dynamo/dynamotest"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/telemetry"
)

// These are single conditions, and single parts of the look at what refused, that no contract comes to.

// A worker that pushes what was settled in the very generation that it read changes nothing.
func TestASettledEventIsNotPostponed(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		settled1(t, db, table)
		stored := snapshot(t, db)
		if err := table.PushDue(t.Context(), eventID(1), 0, later(900)); !errors.Is(err, inbox.ErrStale) {
			t.Errorf("it met %v", err)
		}
		if diff := difference(stored, snapshot(t, db)); diff != "" {
			t.Errorf("it changed something (-before +after):\n%s", diff)
		}
	})
}

// An event keeps no write id: whose dismissal stands is told by person, time and reason, by all three.
func TestADismissalOfAnEventIsOursByPersonTimeAndReason(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		dismissed1(t, db, table)
		for name, change := range map[string]func(d *inbox.Dismissal){
			"person": func(d *inbox.Dismissal) { d.By = person(7) },
			"time":   func(d *inbox.Dismissal) { d.Now = d.Now.Add(time.Millisecond) },
			"reason": func(d *inbox.Dismissal) { d.Note = "another" },
		} {
			d := eventDismissal(100)
			must(t, table.DismissEvent(t.Context(), d))
			if change(&d); !errors.Is(table.DismissEvent(t.Context(), d), inbox.ErrStale) {
				t.Errorf("with another %s it was taken for the same", name)
			}
		}
	})
}

// A conflict that TTL removes while its event is erased is not made again.
func TestAConflictThatIsGoneIsNotMadeByItsErasure(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		plain := db.Open(nil)
		received(t, plain, 1)
		must(t, plain.RecordConflict(t.Context(), inbox.Conflict{Event: eventID(1), Digest: "d2", At: later(3)}))
		gone := false
		table := db.Open(before{"erase", func() {
			if !gone {
				gone = true
				remove(t, db, "E#"+string(eventID(1)), "CONFLICT#d2")
			}
		}})
		must(t, table.EmptyEvent(t.Context(), eventID(1), later(800)))
		if _, _, conflicts, err := plain.Deliveries(t.Context(), eventID(1)); err != nil || len(conflicts) != 0 {
			t.Errorf("conflicts %v, %v", conflicts, err)
		}
	})
}

// An event that is empty is done with: nobody comes back for a conflict that is not.
func TestAnEventIsEmptiedBehindItsConflicts(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		plain := db.Open(nil)
		received(t, plain, 1)
		must(t, plain.RecordConflict(t.Context(), inbox.Conflict{Event: eventID(1), Digest: "d2", At: later(3), DeliveryID: "dlv"}))
		fault := &dynamotest.Fault{Target: "erase", N: -1}
		if err := db.Open(&firstOnly{"erase", false, fault}).EmptyEvent(t.Context(), eventID(1), later(800)); !errors.Is(err, dynamotest.ErrLost) {
			t.Fatalf("it met %v", err)
		}
		if ev := eventOf(t, plain, 1); !ev.Erased.IsZero() {
			t.Errorf("the event was emptied, and its conflict was not: %+v", ev)
		}
	})
}

// firstOnly lets the first call of a name through, and gives the others to a fault.
type firstOnly struct {
	call  string
	made  bool
	fault *dynamotest.Fault
}

func (f *firstOnly) RoundTrip(r *http.Request) (*http.Response, error) {
	if telemetry.Call(r.Context()) == f.call && f.made {
		return f.fault.RoundTrip(r)
	}
	f.made = f.made || telemetry.Call(r.Context()) == f.call
	return http.DefaultTransport.RoundTrip(r)
}

// What names no event, as an older version may have written it, goes with the rest.
func TestWorkThatNamesNoEventIsDeleted(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		claimed(t, table, asking(1, 1, 0))
		update := "REMOVE #ev"
		_, err := db.Client().UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: &db.TableName, UpdateExpression: &update, ExpressionAttributeNames: map[string]string{"#ev": "ev"},
			Key: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "B#shop#test#product:794"}, "sk": &types.AttributeValueMemberS{Value: "O#product-card@000003#9f2c41d0"}},
		})
		must(t, err)
		done, err := table.DeleteWork(t.Context(), deletion(1))
		if err != nil || done.Items != 1 || done.Kept != 0 {
			t.Errorf("%+v, %v", done, err)
		}
	})
}

// Of what cannot be read nobody knows whose it is.
func TestWorkThatCannotBeReadIsNotDeleted(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		claimed(t, table, asking(1, 1, 0))
		update := "SET #rank = :rank"
		_, err := db.Client().UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: &db.TableName, UpdateExpression: &update, ExpressionAttributeNames: map[string]string{"#rank": "rank"},
			ExpressionAttributeValues: map[string]types.AttributeValue{":rank": &types.AttributeValueMemberN{Value: "7"}},
			Key:                       map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "B#shop#test#product:794"}, "sk": &types.AttributeValueMemberS{Value: "O#product-card@000003#9f2c41d0"}},
		})
		must(t, err)
		if done, err := table.DeleteWork(t.Context(), deletion(1)); err == nil || len(snapshot(t, db)) != 1 {
			t.Errorf("%+v, %v", done, err)
		}
	})
}

// A counter counts the calls of a name, and may answer them itself.
type counter struct {
	call   string
	answer string // of the calls, if any
	made   int
	others []string
}

func (c *counter) RoundTrip(r *http.Request) (*http.Response, error) {
	if call := telemetry.Call(r.Context()); call != c.call {
		c.others = append(c.others, call)
		return http.DefaultTransport.RoundTrip(r)
	}
	c.made++
	if c.answer == "" {
		return http.DefaultTransport.RoundTrip(r)
	}
	return &http.Response{
		StatusCode: http.StatusBadRequest, ProtoMajor: 1, Request: r, Body: io.NopCloser(strings.NewReader(c.answer)),
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
	}, nil
}

// A refused condition is an answer. Only a conflict with another transaction is worth a repeat.
func TestARefusedTransactionIsNotRepeated(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		failed(t, db, db.Open(nil))
		c := &counter{call: "W13 redrive"}
		r := redriving(operation.Failed)
		r.Token = 99
		if err := db.Open(c).Redrive(t.Context(), r); !refusedAs(operation.Failed)(err) || c.made != 1 {
			t.Errorf("after %d requests it met %v", c.made, err)
		}
	})
}

// An engine that shows what stands with its refusal is not asked once more: that may be something else by then.
func TestWhatCameWithARefusalIsBelieved(t *testing.T) {
	const shown = `{"pk":{"S":"B#shop#test#product:794"},"sk":{"S":"O#product-card@000003#9f2c41d0"},"st":{"S":"failed"},"tok":{"N":"7"}}`
	for name, tt := range map[string]struct {
		counter counter
		do      func(table *dynamo.Table) error
	}{
		"of a write": {counter{call: "W10 raise", answer: exception + `ConditionalCheckFailedException","message":"refused","Item":` + shown + `}`}, func(table *dynamo.Table) error {
			return table.Raise(t.Context(), operation.Raise{Key: work, Seen: operation.Review, Rank: object.Rank("r"), Event: eventID(1)})
		}},
		"of a transaction": {counter{call: "W13 redrive", answer: cancelled + `{"Code":"ConditionalCheckFailed","Item":` + shown + `},{"Code":"None"}]}`}, func(table *dynamo.Table) error {
			return table.Redrive(t.Context(), redriving(operation.Failed))
		}},
		"of a transaction that gives no code to what was not refused": {counter{call: "W13 redrive", answer: cancelled + `{},{"Code":"ConditionalCheckFailed","Item":` + shown + `}]}`}, func(table *dynamo.Table) error {
			err := table.Redrive(t.Context(), redriving(operation.Failed))
			if !errors.Is(err, inbox.ErrNotFound) { // the event's half
				return fmt.Errorf("it met %w", err)
			}
			return &operation.RefusedError{Stored: operation.Operation{Token: 7, State: operation.Failed}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			db := dynamotest.Embedded(t)
			c := tt.counter
			err := tt.do(db.Open(&c))
			refused, ok := errors.AsType[*operation.RefusedError](err)
			if !ok || refused.Stored.Token != 7 || refused.Stored.State != operation.Failed || len(c.others) != 0 {
				t.Errorf("it met %v, and asked for %v", err, c.others)
			}
		})
	}
}
