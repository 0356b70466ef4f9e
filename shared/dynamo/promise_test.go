package dynamo_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"engang/shared/config"
	"engang/shared/dynamo"
	"engang/shared/dynamo/dynamotest"
	"engang/shared/inbox"
	"engang/shared/operation"
	"engang/shared/pause"
)

func remove(t *testing.T, db dynamotest.DB, pk, sk string) {
	t.Helper()
	_, err := db.Client().DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &db.TableName, Key: map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberS{Value: sk}}})
	if err != nil {
		t.Fatal(err)
	}
}

var largeBody = inbox.Body{Key: "raw/1/sum", Bytes: 70_000}

// large1 leaves event 1 open, with its body in the bucket.
func large1(t *testing.T, _ dynamotest.DB, table *dynamo.Table) {
	t.Helper()
	ev := arrival(1)
	ev.Body = largeBody
	if _, err := table.Receive(t.Context(), ev); err != nil {
		t.Fatal(err)
	}
}

// A failed put is not yet a duplicate: the stored item decides (infra/protocol.md section 4, W1).
func TestADeliveryIsWhatTheStoredEventSays(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before func(t *testing.T, db dynamotest.DB, table *dynamo.Table)
		change func(ev *inbox.Event)
		want   inbox.Receipt
	}{
		{"the first", nil, func(*inbox.Event) {}, inbox.Accepted},
		{"our own put, answer lost", open1, func(*inbox.Event) {}, inbox.Accepted},
		{"our own put, and the event is settled by now", settled1, func(*inbox.Event) {}, inbox.Accepted},
		{"a repeat of an open event", open1, func(ev *inbox.Event) { ev.WriteID = "other" }, inbox.DuplicateOpen},
		{"a repeat of a settled event", settled1, func(ev *inbox.Event) { ev.WriteID = "other" }, inbox.Duplicate},
		{"a repeat of a parked event", parked1, func(ev *inbox.Event) { ev.WriteID = "other" }, inbox.Duplicate},
		{"another fact under the same key", open1, func(ev *inbox.Event) { ev.WriteID, ev.Digest = "other", "d2" }, inbox.Conflicting},
		{"another fact, made of the very body that is kept", large1, func(ev *inbox.Event) { ev.WriteID, ev.Digest, ev.Body = "other", "d2", largeBody }, inbox.Reread},
		{"another fact, and the event is settled", settled1, func(ev *inbox.Event) { ev.WriteID, ev.Digest = "other", "d2" }, inbox.Conflicting},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
				table := db.Open(nil)
				if tt.before != nil {
					tt.before(t, db, table)
				}
				ev := arrival(1)
				tt.change(&ev)
				got, err := table.Receive(t.Context(), ev)
				if err != nil || got != tt.want {
					t.Errorf("receipt %v, %v", got, err)
				}
			})
		})
	}
}

// A flaw that was found at the put survives everything that happens to the event, and an earlier end's
// reason is never taken for it.
func TestAFlawStaysWithTheEvent(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		for n, flaw := range []string{"", "no object id"} {
			ev := arrival(n)
			if flaw != "" {
				ev.Reason, ev.Category = flaw, "invalid input"
			}
			if _, err := table.Receive(t.Context(), ev); err != nil {
				t.Fatal(err)
			}
			e := parking(0, 0)
			e.Event = ev.ID
			if err := table.End(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			same(t, "reason while parked", e.Reason, eventOf(t, table, n).Reason)
			if err := table.Reopen(t.Context(), ev.ID, later(600)); err != nil {
				t.Fatal(err)
			}
			got := eventOf(t, table, n)
			same(t, "reason and category when reopened", []string{ev.Reason, ev.Category}, []string{got.Reason, got.Category})
			// W12 writes no category: the one of the earlier end is not this one's.
			if err := table.ParkUnsent(t.Context(), dynamo.Unsent{ID: ev.ID, DueKey: got.DueKey, Limit: 0, Reason: "sent too often", At: later(999)}); err != nil {
				t.Fatal(err)
			}
			got = eventOf(t, table, n)
			same(t, "parked unsent", []any{"sent too often", "", later(999)}, []any{got.Reason, got.Category, got.EndedAt})
		}
	})
}

func TestDeliveriesAreCounted(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		received(t, table, 1)
		for _, seconds := range []int{3, 5} {
			if err := table.CountSeen(t.Context(), eventID(1), later(seconds)); err != nil {
				t.Fatal(err)
			}
		}
		_, seen, _, err := table.Deliveries(t.Context(), eventID(1))
		if err != nil {
			t.Fatal(err)
		}
		same(t, "seen", inbox.Seen{Count: 2, FirstAt: later(3), LastAt: later(5)}, seen)

		// The number is not exact: a lost answer counts twice, a lost request once.
		for _, applied := range []bool{true, false} {
			if err := db.Open(&dynamotest.Fault{Target: "SEEN", Applied: applied, N: 1}).CountSeen(t.Context(), eventID(1), later(7)); err != nil {
				t.Fatal(err)
			}
		}
		for _, err := range dynamotest.AtOnce(func(int) error { return table.CountSeen(t.Context(), eventID(1), later(8)) }) {
			if err != nil {
				t.Fatal(err)
			}
		}
		ev, seen, _, err := table.Deliveries(t.Context(), eventID(1))
		if err != nil {
			t.Fatal(err)
		}
		same(t, "seen", inbox.Seen{Count: 2 + 2 + 1 + dynamotest.Many, FirstAt: later(3), LastAt: later(8)}, seen)
		same(t, "event", eventOf(t, table, 1), ev)
	})
}

func TestWhatIsNotThereIsNotFound(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		if _, err := table.Event(t.Context(), eventID(1)); !errors.Is(err, inbox.ErrNotFound) {
			t.Errorf("event: %v", err)
		}
		if _, _, _, err := table.Deliveries(t.Context(), eventID(1)); !errors.Is(err, inbox.ErrNotFound) {
			t.Errorf("deliveries: %v", err)
		}
		if _, err := table.Operation(t.Context(), work); !errors.Is(err, operation.ErrNotFound) {
			t.Errorf("operation: %v", err)
		}
		if _, found, err := table.Result(t.Context(), shop, product, card); found || err != nil {
			t.Errorf("result: %t, %v", found, err)
		}
		ops, losing, results, err := table.Object(t.Context(), shop, product)
		if len(ops)+len(losing)+len(results) > 0 || err != nil {
			t.Errorf("object: %v %v %v, %v", ops, losing, results, err)
		}
	})
}

// Whatever order versions finish in, the newest one's result stands; a raised recipe has its own.
func TestTheNewestResultStands(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		put := func(n int) (operation.Result, bool, error) {
			k := work
			k.Digest = fmt.Sprint("digest", n)
			return table.PutResult(t.Context(), operation.Result{Scope: shop, Object: product, Recipe: card, Rank: ranked(n), Operation: k, Event: eventID(n), Output: []byte("{}"), At: noon})
		}
		errs := dynamotest.AtOnce(func(i int) error {
			_, _, err := put(i)
			return err
		})
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		stored, written, err := put(0)
		if err != nil || written {
			t.Errorf("an old version was written: %t, %v", written, err)
		}
		same(t, "rank that stands", ranked(dynamotest.Many-1), stored.Rank)
		same(t, "operation that stands", fmt.Sprint("digest", dynamotest.Many-1), stored.Operation.Digest)
	})
}

// However raises meet, the newest event waits for the operation.
func TestTheNewestEventWaits(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		held(t, db, table)
		errs := dynamotest.AtOnce(func(i int) error {
			return table.Raise(t.Context(), operation.Raise{Key: work, Seen: operation.Review, Rank: ranked(i), Event: eventID(i)})
		})
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		op := operationOf(t, table)
		same(t, "waits", []any{ranked(dynamotest.Many - 1), eventID(dynamotest.Many - 1)}, []any{op.Rank, op.Event})
	})
}

// A redrive opens operation and event together or neither: an event that is gone opens nothing.
func TestARedriveIsOneTransaction(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		failed(t, db, table)
		remove(t, db, "E#"+string(eventID(1)), "EVENT")
		stored := snapshot(t, db)
		act := operation.Redrive{Key: work, Seen: operation.Failed, Token: 1, Event: eventID(1), WriteID: "r", Now: later(500), Due: later(800)}
		for _, recipes := range [][]inbox.RecipeRef{nil, arrival(1).Recipes} {
			if act.Recipes = recipes; !errors.Is(table.Redrive(t.Context(), act), inbox.ErrNotFound) {
				t.Errorf("with %d recipes it met %v", len(recipes), table.Redrive(t.Context(), act))
			}
		}
		if diff := difference(stored, snapshot(t, db)); diff != "" {
			t.Errorf("half of it was done (-before +after):\n%s", diff)
		}
		act.Key.Digest = "unknown"
		if err := table.Redrive(t.Context(), act); !refusedAs("")(err) {
			t.Errorf("a redrive of nothing met %v", err)
		}
	})
}

// A refused output is gone when its operation is opened again, and so is the decision.
func TestARenewedOperationKeepsNothingOfTheRefusedDraft(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		rejected(t, db, table)
		act := operation.Redrive{Key: work, Seen: operation.Rejected, Token: 1, Event: eventID(1), WriteID: "r", Now: later(500), Due: later(800)}
		must(t, table.Redrive(t.Context(), act))
		it := snapshot(t, db)["B#shop#test#product:794 / O#product-card@000003#9f2c41d0"]
		for _, attribute := range []string{"out", "dig", "by", "at", "note"} {
			if it[attribute] != nil {
				t.Errorf("%s is still there", attribute)
			}
		}
	})
}

// A redrive whose answer was lost, and whose operation failed again since, opens no second budget.
func TestALateRepeatOfARedriveIsRefused(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		failed(t, db, table)
		act := operation.Redrive{Key: work, Seen: operation.Failed, Token: 1, Event: eventID(1), WriteID: "r", Now: later(500), Due: later(800)}
		if err := table.Redrive(t.Context(), act); err != nil {
			t.Fatal(err)
		}
		l := claimed(t, table, asking(2, 1, 600))
		if err := table.Fail(t.Context(), ending(l, 2, operation.Unusable)); err != nil {
			t.Fatal(err)
		}
		if err := table.Redrive(t.Context(), act); !refusedAs(operation.Failed)(err) {
			t.Errorf("the late repeat met %v", err)
		}
	})
}

// An item over 400 KB is refused before it is sent; the embedded engine would store it.
func TestTooLargeItemsAreRefused(t *testing.T) {
	huge := strings.Repeat("x", dynamo.MaxItemSize)
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		l := claimed(t, table, asking(1, 1, 0))
		stored := snapshot(t, db)
		ev := arrival(1)
		ev.Body.Packed = []byte(huge)
		_, receive := table.Receive(t.Context(), ev)
		f := ending(l, 1, operation.Usable)
		f.Output = []byte(huge)
		large, wordy := approval(1), approval(1)
		large.Seen.Output, wordy.Note = []byte(huge), huge
		_, _, result := table.PutResult(t.Context(), operation.Result{Scope: shop, Object: product, Recipe: card, Rank: ranked(1), Operation: work, Output: []byte(huge)})
		for what, err := range map[string]error{
			"event": receive, "result": result, "commit": table.Complete(t.Context(), f), "draft": table.Hold(t.Context(), f),
			"losing attempt": table.RecordLosing(t.Context(), work, operation.Attempt{ID: "att_1", Reason: huge}),
			"approval":       table.Approve(t.Context(), large), "reason of an approval": table.Approve(t.Context(), wordy),
			"rejection": table.Reject(t.Context(), operation.Rejection{Key: work, Note: huge}),
			"breaker":   table.OpenBreaker(t.Context(), pause.Opening{Model: mini, Until: noon, Reason: huge, WriteID: "w", Now: noon}),
			"pause":     table.PutPause(t.Context(), pause.Pause{Target: pause.Target{Scope: shop, Kind: pause.Everything}, Reason: huge, At: noon}),
			"version":   table.PutVersion(t.Context(), config.Version{Scope: shop, Kind: "recipe", Name: "r", Version: 1, JSON: []byte(huge)}),
		} {
			if !errors.Is(err, dynamo.ErrTooLarge) {
				t.Errorf("%s: %v", what, err)
			}
			if err != nil && strings.Contains(err.Error(), "xxx") {
				t.Errorf("%s: the error shows content", what)
			}
		}
		if diff := difference(stored, snapshot(t, db)); diff != "" {
			t.Errorf("something was written (-before +after):\n%s", diff)
		}
	})
}
