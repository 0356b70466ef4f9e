package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"engang/shared/dynamo"
	"engang/shared/dynamo/dynamotest"
	"engang/shared/inbox"
	"engang/shared/operation"
)

// raising is W10 of the nth event, as the operation stands for event 1.
func raising(n int) operation.Raise {
	return operation.Raise{
		Key: work, Seen: operation.Failed, Listed: true, Before: eventID(1), Rank: ranked(n), Event: eventID(n), Now: later(600), ExpiresAt: later(99000), Due: later(700),
	}
}

// older is event 1 as it was read.
func older(state inbox.State, change func(*inbox.Event)) *inbox.Event {
	e := arrival(1)
	e.State = state
	if state == inbox.Parked {
		e.Operations = []string{work.String()}
	}
	if change != nil {
		change(&e)
	}
	return &e
}

// alone takes all recipes but one from an event.
func alone(e *inbox.Event) { e.Recipes = e.Recipes[:1] }

// failedAlone leaves an operation that failed for event 1, which has no other recipe, and the event parked.
func failedAlone(t *testing.T, _ dynamotest.DB, table *dynamo.Table) {
	t.Helper()
	ev := arrival(1)
	alone(&ev)
	must(t, receive(t.Context(), table, ev))
	must(t, table.Fail(t.Context(), ending(claimed(t, table, asking(100, 1, 0)), 100, operation.Unusable)))
	must(t, table.End(t.Context(), parkingWith(0, 0)))
}

// failedOpen leaves an operation that failed for event 1, and the event open.
func failedOpen(t *testing.T, _ dynamotest.DB, table *dynamo.Table) {
	t.Helper()
	received(t, table, 1)
	must(t, table.Fail(t.Context(), ending(claimed(t, table, asking(100, 1, 0)), 100, operation.Unusable)))
}

// raised checks that event 5 waits for the operation, which stands as it did.
func raised(t *testing.T, table *dynamo.Table, state operation.State) {
	t.Helper()
	op := operationOf(t, table)
	same(t, "operation", []any{ranked(5), eventID(5), state}, []any{op.Rank, op.Event, op.State})
}

func raiseContracts() []contract {
	return []contract{
		raiseContract("W10 raise", held, raising(5), func(r *operation.Raise) { r.Seen, r.Listed = operation.Review, false }),
		raiseContract("W10 raise of what was decided", dismissed, raising(5), func(r *operation.Raise) { r.Listed = false }),
		raiseContract("W10 raise of news", failed, raising(5), nil),
		handing("W10 raise, handed over", failedAlone, older(inbox.Parked, alone), func(t *testing.T, table *dynamo.Table) {
			want := *older(inbox.Settled, alone)
			want.Operations, want.Outcome, want.Reason, want.EndedAt, want.ExpiresAt = []string{work.String()}, inbox.Coalesced, string(eventID(5)), later(600), later(99000)
			want.DueAt = time.Time{} // nothing is due any more
			same(t, "event", want, eventOf(t, table, 1))
		}),
		handing("W10 raise, taken up again", failed, older(inbox.Parked, nil), func(t *testing.T, table *dynamo.Table) { reopened(t, table, 700) }),
		handing("W10 raise over an open event", failedOpen, older(inbox.Received, alone), func(t *testing.T, table *dynamo.Table) {
			ev := eventOf(t, table, 1)
			same(t, "event", []any{inbox.Received, 0}, []any{ev.State, ev.Generation})
		}),
	}
}

// raiseContract is W10 where no older event is changed.
func raiseContract(name string, before func(*testing.T, dynamotest.DB, *dynamo.Table), r operation.Raise, change func(*operation.Raise)) contract {
	if change != nil {
		change(&r)
	}
	refused := func(change func(*operation.Raise)) func(context.Context, *dynamo.Table) error {
		return func(ctx context.Context, table *dynamo.Table) error {
			own := r
			change(&own)
			return table.Raise(ctx, own)
		}
	}
	c := contract{
		name: name, call: "W10", before: before, all: true, other: func(err error) bool { return err == nil || refusedAs(r.Seen)(err) },
		write:  func(ctx context.Context, table *dynamo.Table, _ int) error { return table.Raise(ctx, r) },
		effect: func(t *testing.T, table *dynamo.Table, _ int) { raised(t, table, r.Seen) },
		refused: map[string]func(context.Context, *dynamo.Table) error{
			"a state that it is not in":      refused(func(r *operation.Raise) { r.Seen = operation.Rejected }),
			"another event of the same rank": refused(func(r *operation.Raise) { r.Rank, r.Event = ranked(1), eventID(7) }),
			"an older event":                 refused(func(r *operation.Raise) { r.Rank, r.Event = ranked(0), eventID(0) }),
		},
	}
	if r.Seen == operation.Failed {
		c.refused["what stands otherwise in the review list"] = refused(func(r *operation.Raise) { r.Listed = !r.Listed })
	}
	if r.Listed {
		c.refused["what waits with another event than it did"] = refused(func(r *operation.Raise) { r.Before = eventID(2) })
	}
	return c
}

// handing is W10 together with the older event.
func handing(name string, before func(*testing.T, dynamotest.DB, *dynamo.Table), seen *inbox.Event, stands func(*testing.T, *dynamo.Table)) contract {
	r := raising(5)
	r.Older = seen
	c := raiseContract(name, before, r, nil)
	c.other = func(err error) bool {
		return err == nil || refusedAs(operation.Failed)(err) || errors.Is(err, inbox.ErrStale)
	}
	c.effect = func(t *testing.T, table *dynamo.Table, _ int) {
		raised(t, table, operation.Failed)
		stands(t, table)
	}
	for why, change := range map[string]func(*inbox.Event){
		"an older event that was opened since": func(e *inbox.Event) { e.Generation++ },
		"an older event in another state": func(e *inbox.Event) {
			e.State = map[inbox.State]inbox.State{inbox.Parked: inbox.Received, inbox.Received: inbox.Parked}[e.State]
		},
		"an older event that is gone": func(e *inbox.Event) { e.ID = eventID(77) },
	} {
		c.refused[why] = func(ctx context.Context, table *dynamo.Table) error {
			own, e := r, *seen
			change(&e)
			own.Older = &e
			if err := table.Raise(ctx, own); !errors.Is(err, inbox.ErrStale) {
				return fmt.Errorf("it met %w", err)
			}
			return inbox.ErrStale
		}
	}
	return c
}

// What was seen is what is handed over: an event that does not wait with the operation any more, or never did, stays as
// it is, and so does the operation where the event was seen otherwise.
func TestAnOlderEventIsTakenAsItWasSeen(t *testing.T) {
	waits := func(e *inbox.Event) {}
	stored := map[string]func(*testing.T, dynamotest.DB, *dynamo.Table){
		"open": failedOpen,
		"in the list by itself": func(t *testing.T, db dynamotest.DB, table *dynamo.Table) {
			failedOpen(t, db, table)
			must(t, table.End(t.Context(), parking(0, 0)))
		},
		"settled": func(t *testing.T, db dynamotest.DB, table *dynamo.Table) {
			failedOpen(t, db, table)
			must(t, table.End(t.Context(), settling(0, 0)))
		},
	}
	for name, before := range stored {
		for seen, tt := range map[string]struct {
			state  inbox.State
			change func(*inbox.Event)
			passes bool
		}{
			"waiting with the operation": {inbox.Parked, alone, false},
			"waiting with several":       {inbox.Parked, waits, false},
			"open":                       {inbox.Received, alone, name == "open"},
			"parked by itself":           {inbox.Parked, func(e *inbox.Event) { e.Operations = nil }, name == "in the list by itself"},
			"parked, and dismissed":      {inbox.Parked, func(e *inbox.Event) { e.Dismissed = &inbox.Dismissed{By: "ann"} }, name == "in the list by itself"},
			"of another generation":      {inbox.Received, func(e *inbox.Event) { e.Generation = 1 }, false},
		} {
			t.Run(name+", seen "+seen, func(t *testing.T) {
				dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
					table := db.Open(nil)
					before(t, db, table)
					was := eventOf(t, table, 1)
					r := raising(5)
					r.Older = older(tt.state, tt.change)
					if err := table.Raise(t.Context(), r); (err == nil) != tt.passes || err != nil && !errors.Is(err, inbox.ErrStale) {
						t.Errorf("it met %v", err)
					}
					same(t, "event", was, eventOf(t, table, 1))
					same(t, "raised", tt.passes, operationOf(t, table).Event == eventID(5))
				})
			})
		}
	}
}

// What was decided when it was seen, and was redriven since, is raised by nobody who saw it so.
func TestARaiseOfWhatWasDecidedMeetsARedrive(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		dismissed(t, db, table)
		must(t, table.Redrive(t.Context(), redriving(operation.Failed)))
		r := raising(5)
		r.Listed = false
		if err := table.Raise(t.Context(), r); !refusedAs(operation.Pending)(err) || operationOf(t, table).Event != eventID(1) {
			t.Errorf("it met %v", err)
		}
	})
}

// parkContract is W6 of an event that failed operations wait with, in one transaction with them.
func parkContract() contract {
	beside := work
	beside.Digest = "beside"
	both := func(who, generation int) inbox.Ending {
		e := parkingWith(who, generation)
		e.Operations = append(e.Operations, beside.String())
		return e
	}
	c := endings("W6 park with operations", "W6 ", inbox.Parked, both)
	c.before = func(t *testing.T, db dynamotest.DB, table *dynamo.Table) {
		failedOpen(t, db, table)
		other := asking(101, 1, 0)
		other.Key = beside
		must(t, table.Fail(t.Context(), ending(claimed(t, table, other), 101, operation.Unusable)))
		for name, event := range map[string]int{"newer": 2, "running": 1} {
			other := asking(102, event, 0)
			other.Key.Digest = name
			l := claimed(t, table, other)
			if event == 2 {
				must(t, table.Fail(t.Context(), ending(l, 102, operation.Unusable)))
			}
		}
	}
	for why, digest := range map[string]string{"an operation that waits with a newer event": "newer", "an operation that has not failed": "running", "an operation that is gone": "gone"} {
		c.refused[why] = func(ctx context.Context, table *dynamo.Table) error {
			e, k := both(0, 0), work
			k.Digest = digest
			e.Operations = append(e.Operations, k.String())
			return table.End(ctx, e)
		}
	}
	return c
}
