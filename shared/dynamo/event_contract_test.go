package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"engang/shared/dynamo"
	"engang/shared/dynamo/dynamotest"
	"engang/shared/inbox"
)

// A receipt that is not inbox.Accepted, as an error.
type otherReceipt struct{ inbox.Receipt }

func (r otherReceipt) Error() string { return fmt.Sprint("receipt ", int(r.Receipt)) }

func receipt(want inbox.Receipt) func(error) bool {
	return func(err error) bool {
		got, ok := errors.AsType[otherReceipt](err)
		return ok && got.Receipt == want
	}
}

func receive(ctx context.Context, table *dynamo.Table, ev inbox.Event) error {
	got, err := table.Receive(ctx, ev)
	if err == nil && got != inbox.Accepted {
		return otherReceipt{got}
	}
	return err
}

func open1(t *testing.T, _ dynamotest.DB, table *dynamo.Table) { t.Helper(); received(t, table, 1) }

func settled1(t *testing.T, db dynamotest.DB, table *dynamo.Table) {
	t.Helper()
	sent(t, db, table)
	must(t, table.End(t.Context(), settling(0, 0)))
}

func parked1(t *testing.T, _ dynamotest.DB, table *dynamo.Table) {
	t.Helper()
	received(t, table, 1)
	must(t, table.End(t.Context(), parking(0, 0)))
}

// dismissed1 leaves event 1 parked, and off the review list.
func dismissed1(t *testing.T, db dynamotest.DB, table *dynamo.Table) {
	t.Helper()
	parked1(t, db, table)
	must(t, table.DismissEvent(t.Context(), eventDismissal(100)))
}

// parkedUnsent leaves event 1 parked by the reconciler.
func parkedUnsent(t *testing.T, db dynamotest.DB, table *dynamo.Table) {
	t.Helper()
	sent(t, db, table)
	must(t, table.ParkUnsent(t.Context(), dynamo.Unsent{ID: eventID(1), DueKey: eventOf(t, table, 1).DueKey, Limit: 1, Reason: "sent once", At: later(450)}))
}

// parkedWhenDue parks event 2 at the very time at which it was due: its place in the review list looks
// like the due time that was seen.
func parkedWhenDue(t *testing.T, table *dynamo.Table) {
	t.Helper()
	received(t, table, 2)
	e := parking(0, 0)
	e.Event, e.At = eventID(2), later(302)
	must(t, table.End(t.Context(), e))
}

func settling(who, generation int) inbox.Ending {
	return inbox.Ending{
		Event: eventID(1), Generation: generation, Outcome: inbox.Completed, Operations: []string{fmt.Sprint("op by ", who), "another"}, At: later(50), ExpiresAt: later(5000),
	}
}

func parking(who, generation int) inbox.Ending {
	return inbox.Ending{Event: eventID(1), Generation: generation, Parked: true, Reason: fmt.Sprint("no id, says ", who), Category: "invalid input", At: later(50)}
}

func parkingWith(who, generation int) inbox.Ending {
	e := parking(who, generation)
	e.Scope, e.Operations, e.Category = shop, []string{work.String()}, "transient"
	return e
}

// ended checks the event after it was ended as e says.
func ended(t *testing.T, table *dynamo.Table, state inbox.State, e inbox.Ending) {
	t.Helper()
	want := arrival(1)
	want.State, want.Outcome, want.Operations, want.Reason, want.EndedAt, want.ExpiresAt = state, e.Outcome, e.Operations, e.Reason, e.At, e.ExpiresAt
	want.Category, want.DueAt = e.Category, time.Time{} // an ended event is not due
	same(t, "event", want, eventOf(t, table, 1))
	if ids := open(t.Context(), t, table, later(1e6)); len(ids) > 0 {
		t.Errorf("open index still shows %v", ids)
	}
}

// endings is the contract of one way to end an event.
func endings(name, call string, state inbox.State, with func(who, generation int) inbox.Ending) contract {
	return contract{
		name: name, call: call, before: open1,
		write:  func(ctx context.Context, table *dynamo.Table, who int) error { return table.End(ctx, with(who, 0)) },
		effect: func(t *testing.T, table *dynamo.Table, who int) { ended(t, table, state, with(who, 0)) },
		other:  is(inbox.ErrStale), again: is(inbox.ErrStale),
		refused: map[string]func(context.Context, *dynamo.Table) error{
			"another generation": func(ctx context.Context, table *dynamo.Table) error { return table.End(ctx, with(0, 1)) },
			"an unknown event": func(ctx context.Context, table *dynamo.Table) error {
				e := with(0, 0)
				e.Event = eventID(77)
				return table.End(ctx, e)
			},
		},
	}
}

func eventContracts() []contract {
	return append([]contract{
		{
			name: "W1 put event", call: "W1 ",
			write: func(ctx context.Context, table *dynamo.Table, who int) error {
				ev := arrival(1)
				ev.WriteID = writeID(who)
				return receive(ctx, table, ev)
			},
			effect: func(t *testing.T, table *dynamo.Table, who int) {
				want := arrival(1)
				want.WriteID, want.State = writeID(who), inbox.Received
				got := eventOf(t, table, 1)
				want.DueKey = got.DueKey
				same(t, "event", want, got)
				same(t, "open index", []inbox.EventID{eventID(1)}, open(t.Context(), t, table, later(1000)))
			},
			other: receipt(inbox.DuplicateOpen),
		},
		{
			name: "W2 conflict", call: "W2 ", before: open1, all: true, other: done,
			write: func(ctx context.Context, table *dynamo.Table, who int) error {
				return table.RecordConflict(ctx, inbox.Conflict{Event: eventID(1), Digest: "d2", At: later(who + 2), DeliveryID: fmt.Sprint("dlv", who)})
			},
			effect: func(t *testing.T, table *dynamo.Table, who int) {
				_, _, conflicts, err := table.Deliveries(t.Context(), eventID(1))
				if err != nil {
					t.Fatal(err)
				}
				same(t, "conflicts", []inbox.Conflict{{Event: eventID(1), Digest: "d2", At: later(who + 2), DeliveryID: fmt.Sprint("dlv", who)}}, conflicts)
			},
		},
		pushSendContract(), parkUnsentContract(), pushDueContract(), replayContract(),
		reopenContract("W13 reopen alone", parked1), reopenContract("W13 reopen alone, parked by the reconciler", parkedUnsent),
		reopenContract("W13 reopen alone, dismissed", dismissed1),
	},
		endings("W6 settle", "W6 ", inbox.Settled, settling),
		endings("W6 settle, kept without end", "W6 ", inbox.Settled, func(who, generation int) inbox.Ending {
			e := settling(who, generation)
			e.ExpiresAt = time.Time{}
			return e
		}),
		endings("W6 settle, naming a newer event", "W6 ", inbox.Settled, func(who, generation int) inbox.Ending {
			e := settling(who, generation)
			e.Outcome, e.Reason = inbox.Coalesced, string(eventID(2))
			return e
		}),
		endings("W6 settle without a recipe", "W6 ", inbox.Settled, func(who, generation int) inbox.Ending {
			e := settling(who, generation)
			e.Outcome, e.Operations = inbox.NoRecipe, nil
			return e
		}),
		parkContract(),
		endings("W6r park", "W6r", inbox.Parked, parking),
	)
}

func pushSendContract() contract {
	dueKey := func(n int) string { return fmt.Sprintf("%013d#%s", later(n).UnixMilli(), eventID(1)) }
	return contract{
		name: "W11 push send", call: "W11", before: func(t *testing.T, _ dynamotest.DB, table *dynamo.Table) {
			received(t, table, 1)
			parkedWhenDue(t, table)
		}, other: is(inbox.ErrStale), again: is(inbox.ErrStale),
		write: func(ctx context.Context, table *dynamo.Table, who int) error {
			return table.PushSend(ctx, eventID(1), dueKey(301), later(400+who))
		},
		effect: func(t *testing.T, table *dynamo.Table, who int) {
			ev := eventOf(t, table, 1)
			same(t, "due", later(400+who), ev.DueAt)
			same(t, "due key", dueKey(400+who), ev.DueKey)
			same(t, "sends", 1, ev.Sends)
		},
		refused: map[string]func(context.Context, *dynamo.Table) error{
			"a due time that was not seen": func(ctx context.Context, table *dynamo.Table) error {
				return table.PushSend(ctx, eventID(1), dueKey(300), later(400))
			},
			"an event that was parked meanwhile": func(ctx context.Context, table *dynamo.Table) error {
				return table.PushSend(ctx, eventID(2), fmt.Sprintf("%013d#%s", later(302).UnixMilli(), eventID(2)), later(400))
			},
			"an unknown event": func(ctx context.Context, table *dynamo.Table) error {
				return table.PushSend(ctx, eventID(7), dueKey(301), later(400))
			},
		},
	}
}

func parkUnsentContract() contract {
	unsent := func(who, limit int, dueKey string) dynamo.Unsent {
		return dynamo.Unsent{ID: eventID(1), DueKey: dueKey, Limit: limit, Reason: fmt.Sprint("sent twice, says ", who), At: later(900 + who)}
	}
	second := fmt.Sprintf("%013d#%s", later(500).UnixMilli(), eventID(1))
	return contract{
		name: "W12 park unsent", call: "W12", other: is(inbox.ErrStale), again: is(inbox.ErrStale),
		before: func(t *testing.T, _ dynamotest.DB, table *dynamo.Table) {
			parkedWhenDue(t, table)
			seen := received(t, table, 1).DueKey
			for _, due := range []int{400, 500} {
				if err := table.PushSend(t.Context(), eventID(1), seen, later(due)); err != nil {
					t.Fatal(err)
				}
				seen = eventOf(t, table, 1).DueKey
			}
		},
		write: func(ctx context.Context, table *dynamo.Table, who int) error {
			return table.ParkUnsent(ctx, unsent(who, 2, second))
		},
		effect: func(t *testing.T, table *dynamo.Table, who int) {
			ev := eventOf(t, table, 1)
			same(t, "state", inbox.Parked, ev.State)
			same(t, "reason", unsent(who, 2, "").Reason, ev.Reason)
			same(t, "parked at", later(900+who), ev.EndedAt)
			same(t, "open index", []inbox.EventID(nil), open(t.Context(), t, table, later(1e6)))
		},
		refused: map[string]func(context.Context, *dynamo.Table) error{
			"an event that was not sent so often": func(ctx context.Context, table *dynamo.Table) error {
				return table.ParkUnsent(ctx, unsent(0, 3, second))
			},
			"an event that was parked meanwhile": func(ctx context.Context, table *dynamo.Table) error {
				u := unsent(0, 0, fmt.Sprintf("%013d#%s", later(302).UnixMilli(), eventID(2)))
				u.ID = eventID(2)
				return table.ParkUnsent(ctx, u)
			},
			"a due time that was not seen": func(ctx context.Context, table *dynamo.Table) error {
				return table.ParkUnsent(ctx, unsent(0, 2, second+"x"))
			},
		},
	}
}

// W22 repeated by its writer writes the same again: that is success, and of many at once all succeed.
func pushDueContract() contract {
	return contract{
		name: "W22 push due", call: "W22", all: true, other: func(err error) bool { return err == nil || errors.Is(err, inbox.ErrStale) },
		before: sent,
		write: func(ctx context.Context, table *dynamo.Table, _ int) error {
			return table.PushDue(ctx, eventID(1), 0, later(700))
		},
		effect: func(t *testing.T, table *dynamo.Table, _ int) {
			ev := eventOf(t, table, 1)
			same(t, "due", later(700), ev.DueAt)
			same(t, "sends", 0, ev.Sends)
		},
		refused: map[string]func(context.Context, *dynamo.Table) error{
			"another generation": func(ctx context.Context, table *dynamo.Table) error {
				return refusedPush(table.PushDue(ctx, eventID(1), 1, later(700)))
			},
			"an unknown event": func(ctx context.Context, table *dynamo.Table) error {
				return refusedPush(table.PushDue(ctx, eventID(7), 0, later(700)))
			},
		},
	}
}

// refusedPush makes a push that passed an error.
func refusedPush(err error) error {
	if err == nil {
		return errors.New("pushed")
	}
	return err
}

// reopened checks an event that was opened again.
func reopened(t *testing.T, table *dynamo.Table, due int, beside ...inbox.EventID) {
	t.Helper()
	ev := eventOf(t, table, 1)
	want := arrival(1)
	want.State, want.Generation, want.DueAt, want.DueKey, want.Recipes = inbox.Received, 1, later(due), ev.DueKey, ev.Recipes
	same(t, "event", want, ev) // nothing of the earlier end is left to be taken for this life's
	all := open(t.Context(), t, table, later(1e6))
	ids := append(beside, eventID(1))
	slices.Sort(all)
	slices.Sort(ids)
	same(t, "open index", ids, all)
}

func replayContract() contract {
	raised := []inbox.RecipeRef{{Name: "product-card", Version: 4}, {Name: "seo", Version: 1}}
	return contract{
		name: "W14 replay", call: "W14", before: func(t *testing.T, db dynamotest.DB, table *dynamo.Table) {
			settled1(t, db, table)
			received(t, table, 2)
		}, other: is(inbox.ErrStale), again: is(inbox.ErrStale),
		write: func(ctx context.Context, table *dynamo.Table, who int) error {
			return table.Replay(ctx, eventID(1), arrival(1).Recipes, raised, later(600+who))
		},
		effect: func(t *testing.T, table *dynamo.Table, who int) {
			reopened(t, table, 600+who, eventID(2))
			same(t, "recipes", raised, eventOf(t, table, 1).Recipes)
		},
		refused: map[string]func(context.Context, *dynamo.Table) error{
			"recipes that the event does not have": func(ctx context.Context, table *dynamo.Table) error {
				return table.Replay(ctx, eventID(1), raised, raised, later(600))
			},
			"an open event": func(ctx context.Context, table *dynamo.Table) error {
				return table.Replay(ctx, eventID(2), arrival(2).Recipes, raised, later(600))
			},
			"an unknown event": func(ctx context.Context, table *dynamo.Table) error {
				return table.Replay(ctx, eventID(7), arrival(1).Recipes, raised, later(600))
			},
		},
	}
}

func reopenContract(name string, before func(*testing.T, dynamotest.DB, *dynamo.Table)) contract {
	return contract{
		name: name, call: "W13", before: before, other: is(inbox.ErrStale), again: is(inbox.ErrStale),
		write: func(ctx context.Context, table *dynamo.Table, who int) error {
			return table.Reopen(ctx, eventID(1), later(600+who))
		},
		effect: func(t *testing.T, table *dynamo.Table, who int) { reopened(t, table, 600+who) },
		refused: map[string]func(context.Context, *dynamo.Table) error{
			"an unknown event": func(ctx context.Context, table *dynamo.Table) error { return table.Reopen(ctx, eventID(7), later(600)) },
		},
	}
}
