package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/dynamo"
	"engang/shared/dynamo/dynamotest"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
)

var (
	noon    = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	shop    = object.Scope{Tenant: "shop", Environment: "test"}
	product = object.ID{Kind: "product", Value: "794"}
	card    = inbox.RecipeRef{Name: "product-card", Version: 3}
	work    = operation.Key{Scope: shop, Object: product, Recipe: card, Digest: "9f2c41d0"}
)

const (
	skew  = 5 * time.Second
	lease = 100 * time.Second
	limit = 3
)

// later is a time some seconds after noon.
func later(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }

// ranked is the rank of the nth version of the object.
func ranked(n int) object.Rank { return object.Rank(fmt.Sprintf("%020d#%013d#abcd", n, n)) }

func eventID(n int) inbox.EventID { return inbox.NewEventID(shop, "woo-shop", fmt.Sprint(n)) }

// arrival is the nth event as the receiver gives it.
func arrival(n int) inbox.Event {
	return inbox.Event{
		ID: eventID(n), Scope: shop, Endpoint: "woo-shop", Provider: "woocommerce", Type: "product.updated", Object: product,
		ReceivedAt: later(n), DeliveryID: "dlv", SenderID: "snd", Digest: "d1", Rank: ranked(n), Recipes: []inbox.RecipeRef{card, {Name: "seo", Version: 1}},
		Body: inbox.Body{Packed: []byte{0, 1, 254, 255}, Bytes: 900}, WriteID: writeID(0), DueAt: later(n + 300),
	}
}

// received stores the nth event.
func received(t *testing.T, table *dynamo.Table, n int) inbox.Event {
	t.Helper()
	receipt, err := table.Receive(t.Context(), arrival(n))
	if err != nil || receipt != inbox.Accepted {
		t.Fatalf("receive event %d: %v, %v", n, receipt, err)
	}
	return eventOf(t, table, n)
}

func eventOf(t *testing.T, table *dynamo.Table, n int) inbox.Event {
	t.Helper()
	ev, err := table.Event(t.Context(), eventID(n))
	if err != nil {
		t.Fatal(err)
	}
	return ev
}

// asking is the claim of one worker, for the nth event, some seconds after noon.
func asking(who, n, seconds int) operation.Claim {
	return operation.Claim{
		Key: work, Attempt: attemptID(who), WriteID: writeID(who), Event: eventID(n), Rank: ranked(n),
		Now: later(seconds), Until: later(seconds).Add(lease), Skew: skew, Limit: limit,
	}
}

func attemptID(who int) operation.AttemptID { return operation.AttemptID(fmt.Sprintf("att_%d", who)) }

func claimed(t *testing.T, table *dynamo.Table, c operation.Claim) operation.Lease {
	t.Helper()
	l, err := table.Claim(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// ending is what a worker gives at the end of its lease.
func ending(l operation.Lease, who int, outcome operation.Outcome) operation.Finish {
	return operation.Finish{
		Lease: l, WriteID: writeID(who), Now: l.Begun.Add(10 * time.Second), NotBefore: l.Begun.Add(30 * time.Second),
		Output: fmt.Appendf(nil, `{"summary":"by %d"}`, who), Digest: fmt.Sprint("dig", who), Reason: "because", Category: operation.CategoryUnusableOutput,
		Attempts: l.Log(operation.Attempt{Outcome: outcome, EndedAt: l.Begun.Add(9 * time.Second), Called: true}), ExpiresAt: later(86400),
	}
}

func operationOf(t *testing.T, table *dynamo.Table) operation.Operation {
	t.Helper()
	op, err := table.Operation(t.Context(), work)
	if err != nil {
		t.Fatal(err)
	}
	return op
}

// sent leaves event 1 open, sent once by the reconciler.
func sent(t *testing.T, _ dynamotest.DB, table *dynamo.Table) {
	t.Helper()
	must(t, table.PushSend(t.Context(), eventID(1), received(t, table, 1).DueKey, later(400)))
}

// failed leaves an operation that failed for event 1, with token 1, and the event parked.
func failed(t *testing.T, db dynamotest.DB, table *dynamo.Table) {
	t.Helper()
	sent(t, db, table)
	l := claimed(t, table, asking(100, 1, 0))
	must(t, table.Fail(t.Context(), ending(l, 100, operation.Unusable)))
	must(t, table.End(t.Context(), parkingWith(0, 0)))
}

// held leaves a draft that waits for a decision, with token 1, and the event settled.
func held(t *testing.T, db dynamotest.DB, table *dynamo.Table) {
	t.Helper()
	sent(t, db, table)
	l := claimed(t, table, asking(100, 1, 0))
	must(t, table.Hold(t.Context(), ending(l, 100, operation.Flagged)))
	e := settling(0, 0)
	e.Outcome = inbox.InReview
	must(t, table.End(t.Context(), e))
}

// rejected leaves a draft that a person refused.
func rejected(t *testing.T, db dynamotest.DB, table *dynamo.Table) {
	t.Helper()
	held(t, db, table)
	must(t, table.Reject(t.Context(), rejection(100)))
}

// dismissed leaves a failed operation that a person took off the review list.
func dismissed(t *testing.T, db dynamotest.DB, table *dynamo.Table) {
	t.Helper()
	failed(t, db, table)
	must(t, table.Dismiss(t.Context(), dismissal(100)))
}

// stopped leaves an operation that a person stopped in the middle of its work, and its event open.
func stopped(t *testing.T, db dynamotest.DB, table *dynamo.Table) {
	t.Helper()
	sent(t, db, table)
	claimed(t, table, asking(100, 1, 0))
	must(t, table.Cancel(t.Context(), cancellation(100)))
}

// refusedAs is a refusal that shows the operation in this state.
func refusedAs(state operation.State) func(error) bool {
	return func(err error) bool {
		refused, ok := errors.AsType[*operation.RefusedError](err)
		return ok && refused.Stored.State == state
	}
}

// same reports a difference.
func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// open lists all open events before a time, in every shard.
func open(ctx context.Context, t *testing.T, table *dynamo.Table, before time.Time) (all []inbox.EventID) {
	t.Helper()
	for shard := range dynamo.OpenShards {
		for after, more := "", true; more; {
			ids, next, err := table.Due(ctx, shard, before, after)
			if err != nil {
				t.Fatal(err)
			}
			all, after, more = append(all, ids...), next, next != ""
		}
	}
	return all
}

// A finish is one of the writes that end a lease.
type finish = func(*dynamo.Table, context.Context, operation.Finish) error
