package dynamo_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"engang/shared/dynamo"
	"engang/shared/dynamo/dynamotest"
	"engang/shared/inbox"
)

func catchingUp(who, seen int) inbox.CatchUpMove {
	return inbox.CatchUpMove{
		Scope: shop, Endpoint: "woo-shop", Seen: seen, WriteID: writeID(who),
		Next: inbox.CatchUp{Since: later(who), Cursor: fmt.Sprint("page ", who), Due: later(600), Revision: 77},
	}
}

func catchUpContracts() []contract {
	stands := func(who, revision int) func(t *testing.T, table *dynamo.Table) {
		return func(t *testing.T, table *dynamo.Table) {
			got, err := table.CatchUp(t.Context(), shop, "woo-shop")
			must(t, err)
			want := catchingUp(who, 0).Next
			want.Revision = revision
			same(t, "catch-up", want, got)
		}
	}
	move := func(seen int) func(context.Context, *dynamo.Table) error {
		return func(ctx context.Context, table *dynamo.Table) error {
			return table.MoveCatchUp(ctx, catchingUp(0, seen))
		}
	}
	first := contract{
		name: "first catch-up", call: "write catch-up", other: is(inbox.ErrStale),
		write: func(ctx context.Context, table *dynamo.Table, who int) error {
			return table.MoveCatchUp(ctx, catchingUp(who, 0))
		},
		effect:  func(t *testing.T, table *dynamo.Table, who int) { stands(who, 1)(t, table) },
		refused: map[string]func(context.Context, *dynamo.Table) error{"a revision that was never there": move(4)},
	}
	next := contract{
		name: "next catch-up", call: "write catch-up", other: is(inbox.ErrStale),
		before: func(t *testing.T, _ dynamotest.DB, table *dynamo.Table) {
			must(t, table.MoveCatchUp(t.Context(), catchingUp(100, 0)))
			must(t, table.MoveCatchUp(t.Context(), catchingUp(101, 1)))
		},
		write: func(ctx context.Context, table *dynamo.Table, who int) error {
			return table.MoveCatchUp(ctx, catchingUp(who, 2))
		},
		effect:  func(t *testing.T, table *dynamo.Table, who int) { stands(who, 3)(t, table) },
		refused: map[string]func(context.Context, *dynamo.Table) error{"an older revision": move(1), "that nothing was read": move(0)},
	}
	heard := contract{
		name: "last delivery", call: "note delivery", all: true, other: done,
		before: func(t *testing.T, _ dynamotest.DB, table *dynamo.Table) {
			must(t, table.NoteDelivery(t.Context(), shop, "woo-shop", later(1)))
			must(t, table.NoteDelivery(t.Context(), shop, "another", later(2)))
		},
		write: func(ctx context.Context, table *dynamo.Table, _ int) error {
			return table.NoteDelivery(ctx, shop, "woo-shop", later(60))
		},
		effect: func(t *testing.T, table *dynamo.Table, _ int) {
			for endpoint, want := range map[string]time.Time{"woo-shop": later(60), "another": later(2), "never": {}} {
				got, err := table.LastDelivery(t.Context(), shop, endpoint)
				must(t, err)
				same(t, endpoint, want, got)
			}
		},
	}
	return []contract{first, next, heard}
}

// Where nobody has begun, and where there is no end to be told, nothing is made up.
func TestACatchUpBeginsWithNothing(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		got, err := table.CatchUp(t.Context(), shop, "woo-shop")
		must(t, err)
		same(t, "before anybody has begun", inbox.CatchUp{}, got)
		must(t, table.MoveCatchUp(t.Context(), inbox.CatchUpMove{Scope: shop, Endpoint: "woo-shop", WriteID: "w"}))
		got, err = table.CatchUp(t.Context(), shop, "woo-shop")
		must(t, err)
		same(t, "begun", inbox.CatchUp{Revision: 1}, got)
	})
}
