package dynamo_test

import (
	"context"
	"errors"
	"testing"

	"engang/shared/dynamo"
	"engang/shared/dynamo/dynamotest"
	"engang/shared/inbox"
	"engang/shared/operation"
	"engang/shared/pause"
	"engang/shared/spend"
)

// reads is every read, and the name by which faults, logs and counters know it.
var reads = []struct {
	name, call string
	read       func(ctx context.Context, table *dynamo.Table) error
}{
	{"event", "read event", func(ctx context.Context, table *dynamo.Table) error {
		_, err := table.Event(ctx, eventID(1))
		return err
	}},
	{"deliveries", "read event", func(ctx context.Context, table *dynamo.Table) error {
		_, _, _, err := table.Deliveries(ctx, eventID(1))
		return err
	}},
	{"operation", "read operation", func(ctx context.Context, table *dynamo.Table) error { _, err := table.Operation(ctx, work); return err }},
	{"result", "read result", func(ctx context.Context, table *dynamo.Table) error {
		_, _, err := table.Result(ctx, shop, product, card)
		return err
	}},
	{"object", "query object", func(ctx context.Context, table *dynamo.Table) error {
		_, _, _, err := table.Object(ctx, shop, product)
		return err
	}},
	{"due", "query open", func(ctx context.Context, table *dynamo.Table) error {
		_, _, err := table.Due(ctx, 0, noon, "")
		return err
	}},
	{"listed", "query list", func(ctx context.Context, table *dynamo.Table) error {
		_, _, err := table.Listed(ctx, shop, noon, dynamo.Page{Limit: 9})
		return err
	}},
	{"address", "read config", func(ctx context.Context, table *dynamo.Table) error {
		_, err := table.Address(ctx, "woo-shop")
		return err
	}},
	{"pointer", "read config", func(ctx context.Context, table *dynamo.Table) error { _, err := table.Pointer(ctx, shop); return err }},
	{"version", "read config", func(ctx context.Context, table *dynamo.Table) error {
		_, err := table.Version(ctx, shop, "recipe", "product-card", 3)
		return err
	}},
	{"scopes", "read config", func(ctx context.Context, table *dynamo.Table) error { _, err := table.Scopes(ctx); return err }},
	{"reviews", "query review", func(ctx context.Context, table *dynamo.Table) error {
		_, _, err := table.Reviews(ctx, "", 9)
		return err
	}},
	{"catch-up", "read catch-up", func(ctx context.Context, table *dynamo.Table) error {
		_, err := table.CatchUp(ctx, shop, "woo-shop")
		return err
	}},
	{"last delivery", "read last delivery", func(ctx context.Context, table *dynamo.Table) error {
		_, err := table.LastDelivery(ctx, shop, "woo-shop")
		return err
	}},
	{"head", "read head", func(ctx context.Context, table *dynamo.Table) error {
		_, _, err := table.Head(ctx, shop, product, "product-card")
		return err
	}},
	{"breaker", "read breaker", func(ctx context.Context, table *dynamo.Table) error { _, err := table.Breaker(ctx, mini); return err }},
	{"pauses", "read pauses", func(ctx context.Context, table *dynamo.Table) error { _, err := table.Pauses(ctx); return err }},
	{"spend", "read spend", func(ctx context.Context, table *dynamo.Table) error {
		_, err := table.Spent(ctx, shop, "product-card", "2026-11-29")
		return err
	}},
	{"acts", "audit", func(ctx context.Context, table *dynamo.Table) error {
		_, _, err := table.Acts(ctx, shop, noon, dynamo.Page{Limit: 9})
		return err
	}},
	{"audit trail", "audit", func(ctx context.Context, table *dynamo.Table) error {
		_, err := table.AuditTrail(ctx, shop, noon)
		return err
	}},
}

// A read that gets no answer says so, and never that there is nothing.
func TestAReadWithoutAnAnswerIsAnError(t *testing.T) {
	for _, tt := range reads {
		t.Run(tt.name, func(t *testing.T) {
			fault := &dynamotest.Fault{Target: tt.call, N: -1, Applied: true}
			db := dynamotest.Embedded(t)
			oneOfEach(t, db, db.Open(nil))
			if err := tt.read(t.Context(), db.Open(fault)); !errors.Is(err, dynamotest.ErrLost) {
				t.Errorf("it met %v", err)
			}
			if fault.Hits() != dynamotest.Tries {
				t.Errorf("%d requests named %q", fault.Hits(), tt.call)
			}
			if err := tt.read(t.Context(), db.Open(nil)); err != nil && !errors.Is(err, operation.ErrNotFound) {
				t.Errorf("without a fault it met %v", err)
			}
		})
	}
}

// A refusal that could not be looked at decides nothing: the caller must make the same write again.
func TestARefusalThatCannotBeReadIsNoDecision(t *testing.T) {
	db := dynamotest.Embedded(t) // which sends no item with a refusal
	plain := db.Open(nil)
	failed(t, db, plain)
	noReads := db.Open(&dynamotest.Fault{Target: "read ", N: -1})
	ev := arrival(1)
	_, receive := noReads.Receive(t.Context(), ev)
	_, claim := noReads.Claim(t.Context(), asking(1, 1, 0))
	another := dismissal(1)
	another.Key.Digest = "none"
	must(t, plain.OpenBreaker(t.Context(), opening(100)))
	whole := reservation(100)
	whole.Worst = whole.Limit
	must(t, plain.Reserve(t.Context(), whole))
	must(t, plain.TakeMinute(t.Context(), minute(100)))
	for what, err := range map[string]error{
		"put of an event": receive, "claim": claim,
		"opening of a breaker": noReads.OpenBreaker(t.Context(), opening(1)), "reservation": noReads.Reserve(t.Context(), reservation(1)),
		"call of a minute": noReads.TakeMinute(t.Context(), minute(1)),
		"approval":         noReads.Approve(t.Context(), approval(1)), "rejection": noReads.Reject(t.Context(), rejection(1)), "setting aside": noReads.SetAside(t.Context(), settingAside(1)),
		"cancellation": noReads.Cancel(t.Context(), cancellation(1)), "dismissal": noReads.Dismiss(t.Context(), another), "dismissal of an event": noReads.DismissEvent(t.Context(), eventDismissal(1)),
		"redrive": noReads.Redrive(t.Context(), operation.Redrive{Key: work, Seen: operation.Failed, Token: 9, Event: eventID(1), WriteID: "r", Now: noon, Due: noon}),
	} {
		_, decided := errors.AsType[*operation.RefusedError](err)
		if decided || errors.Is(err, pause.ErrStale) || errors.Is(err, inbox.ErrStale) || errors.Is(err, spend.ErrUsedUp) || !errors.Is(err, dynamotest.ErrLost) {
			t.Errorf("%s met %v", what, err)
		}
	}
}
