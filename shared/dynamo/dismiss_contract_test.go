package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"engang/shared/dynamo"
	"engang/shared/dynamo/dynamotest"
	"engang/shared/inbox"
	"engang/shared/operation"
)

func dismissContracts() []contract {
	return []contract{
		dismissContract("W27 dismiss a failure", failed, nil), dismissBesideContract(), dismissAloneContract(),
		dismissEventContract("W27 dismiss an event", parked1), dismissEventContract("W27 dismiss an event, parked by the reconciler", parkedUnsent), dismissConflictContract(),
	}
}

// drafted is another operation, which waits in review; beside is one that works for event 1 as well.
var drafted, beside = func() (a, b operation.Key) {
	a, b = work, work
	a.Digest, b.Recipe.Name = "draft", "product-tags"
	return a, b
}()

// dismissing is the dismissal of who, with something else in it.
func dismissing(who int, changes ...func(*operation.Dismissal)) operation.Dismissal {
	d := dismissal(who)
	for _, change := range changes {
		if change != nil {
			change(&d)
		}
	}
	return d
}

// refusedDismissal is one that what is stored refuses, by the operation or by its event.
func refusedDismissal(state operation.State, changes ...func(*operation.Dismissal)) func(context.Context, *dynamo.Table) error {
	return refusedDecision(state, func(ctx context.Context, table *dynamo.Table) error {
		return table.Dismiss(ctx, dismissing(0, changes...))
	})
}

// staleDismissal is one that the event refuses.
func staleDismissal(changes ...func(*operation.Dismissal)) func(context.Context, *dynamo.Table) error {
	return func(ctx context.Context, table *dynamo.Table) error {
		if err := table.Dismiss(ctx, dismissing(0, changes...)); !errors.Is(err, inbox.ErrStale) {
			return fmt.Errorf("not refused by the event: %w", err)
		}
		return errUndecided
	}
}

// dismissContract is the dismissal of what before leaves, changed as the case needs it.
func dismissContract(name string, before func(*testing.T, dynamotest.DB, *dynamo.Table), change func(*operation.Dismissal)) contract {
	var parked inbox.Event
	c := decides(name, "W27", func(t *testing.T, db dynamotest.DB, table *dynamo.Table) {
		before(t, db, table)
		other := asking(101, 1, 0)
		other.Key = drafted
		must(t, table.Hold(t.Context(), ending(claimed(t, table, other), 101, operation.Flagged)))
		parked = eventOf(t, table, 1)
	}, func(who int, op *operation.Operation) {
		op.State, op.ExpiresAt = operation.Failed, later(93000)
		op.Dismissed = &operation.Decision{By: person(who), At: later(450 + who), Note: "sold out"}
	}, func(ctx context.Context, table *dynamo.Table, who int) error {
		return table.Dismiss(ctx, dismissing(who, change))
	})
	ofOperation := c.effect
	c.effect = func(t *testing.T, table *dynamo.Table, who int) {
		ofOperation(t, table, who)
		want := parked
		if dismissing(who, change).WithEvent {
			want.Dismissed, want.ExpiresAt = &inbox.Dismissed{By: person(who), At: later(450 + who), Note: "sold out"}, later(95000)
		}
		same(t, "event", want, eventOf(t, table, 1))
	}
	c.refused = map[string]func(context.Context, *dynamo.Table) error{
		"a draft":                          refusedDismissal(operation.Review, change, func(d *operation.Dismissal) { d.Key = drafted }),
		"what is not there":                refusedDismissal("", change, func(d *operation.Dismissal) { d.Key.Digest = "unknown" }),
		"a later failure":                  refusedDismissal(operation.Failed, change, func(d *operation.Dismissal) { d.Token = 0 }),
		"one that another event waits for": refusedDismissal(operation.Failed, change, func(d *operation.Dismissal) { d.Event = eventID(2) }),
		"one whose event was opened since": staleDismissal(change, func(d *operation.Dismissal) { d.Generation = 1 }),
	}
	return c
}

// An event that another operation needs stays as it is, and that one must still need it.
func dismissBesideContract() contract {
	with := func(key operation.Key) func(*operation.Dismissal) {
		return func(d *operation.Dismissal) { d.WithEvent, d.Beside = false, &key }
	}
	c := dismissContract("W27 dismiss a failure beside another", func(t *testing.T, db dynamotest.DB, table *dynamo.Table) {
		failed(t, db, table)
		other := asking(102, 1, 0)
		other.Key = beside
		must(t, table.Fail(t.Context(), ending(claimed(t, table, other), 102, operation.Unusable)))
	}, with(beside))
	c.refused["one beside that does not need the event"] = refusedDismissal(operation.Review, with(drafted))
	c.refused["one beside that is not there"] = refusedDismissal("", with(numbered(9)))
	return c
}

// An event that is settled, or dismissed already, stays as it is as well.
func dismissAloneContract() contract {
	return dismissContract("W27 dismiss a failure whose event is over", func(t *testing.T, db dynamotest.DB, table *dynamo.Table) {
		sent(t, db, table)
		must(t, table.Fail(t.Context(), ending(claimed(t, table, asking(100, 1, 0)), 100, operation.Unusable)))
		must(t, table.End(t.Context(), settling(0, 0)))
	}, func(d *operation.Dismissal) { d.WithEvent = false })
}

// Nothing is compared of an event that is not kept any more.
func TestAFailureWithoutItsEventIsDismissed(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		must(t, table.Fail(t.Context(), ending(claimed(t, table, asking(100, 1, 0)), 100, operation.Unusable)))
		for range 2 { // our own repeat is success
			must(t, table.Dismiss(t.Context(), dismissing(0, func(d *operation.Dismissal) { d.EventGone, d.WithEvent = true, false })))
		}
		same(t, "dismissed", &operation.Decision{By: person(0), At: later(450), Note: "sold out"}, operationOf(t, table).Dismissed)
	})
}

// An event that is dismissed with its operation stands parked for it, as it was seen: else nothing is written.
func TestAnEventIsDismissedAsItWasSeen(t *testing.T) {
	for name, before := range map[string]func(t *testing.T, table *dynamo.Table){
		"open":                             func(*testing.T, *dynamo.Table) {},
		"settled":                          func(t *testing.T, table *dynamo.Table) { must(t, table.End(t.Context(), settling(0, 0))) },
		"parked alone, in the list itself": func(t *testing.T, table *dynamo.Table) { must(t, table.End(t.Context(), parking(0, 0))) },
		"parked alone, and dismissed": func(t *testing.T, table *dynamo.Table) {
			must(t, table.End(t.Context(), parking(0, 0)))
			must(t, table.DismissEvent(t.Context(), eventDismissal(1)))
		},
		"gone": nil,
	} {
		t.Run(name, func(t *testing.T) {
			dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
				table := db.Open(nil)
				if before != nil {
					sent(t, db, table)
					before(t, table)
				}
				must(t, table.Fail(t.Context(), ending(claimed(t, table, asking(100, 1, 0)), 100, operation.Unusable)))
				stored := snapshot(t, db)
				if err := table.Dismiss(t.Context(), dismissal(0)); !errors.Is(err, inbox.ErrStale) {
					t.Errorf("it met %v", err)
				}
				if diff := difference(stored, snapshot(t, db)); diff != "" {
					t.Errorf("it changed something (-before +after):\n%s", diff)
				}
			})
		})
	}
}

// Of two operations that one event waits for, dismissed at once, one takes the event with it: each leaves it to the
// other only as long as that one needs it.
func TestTwoDismissalsAtOnceDoNotLeaveTheEventToEachOther(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		failed(t, db, table)
		other := asking(102, 1, 0)
		other.Key = beside
		must(t, table.Fail(t.Context(), ending(claimed(t, table, other), 102, operation.Unusable)))
		keys := []operation.Key{work, beside}
		errs := dynamotest.AtOnce(func(i int) error {
			return table.Dismiss(t.Context(), dismissing(i, func(d *operation.Dismissal) {
				d.Key, d.WithEvent, d.Beside = keys[i%2], false, &keys[(i+1)%2]
			}))
		})
		won := 0
		for _, err := range errs {
			switch {
			case err == nil:
				won++
			case !errors.Is(err, operation.ErrRefused):
				t.Errorf("one met %v", err)
			}
		}
		if won != 1 {
			t.Errorf("%d dismissals took effect", won)
		}
	})
}

// What needs an event is said twice, by the domain and by the write: the two agree on every state.
func TestADismissalLeavesTheEventToWhatNeedsIt(t *testing.T) {
	for name, before := range map[string]func(t *testing.T, table *dynamo.Table, l operation.Lease){
		"running":                    func(*testing.T, *dynamo.Table, operation.Lease) {},
		"running, for another event": nil,
		"pending": func(t *testing.T, table *dynamo.Table, l operation.Lease) {
			must(t, table.Retry(t.Context(), ending(l, 102, operation.Transient)))
		},
		"failed": func(t *testing.T, table *dynamo.Table, l operation.Lease) {
			must(t, table.Fail(t.Context(), ending(l, 102, operation.Unusable)))
		},
		"a draft": func(t *testing.T, table *dynamo.Table, l operation.Lease) {
			must(t, table.Hold(t.Context(), ending(l, 102, operation.Flagged)))
		},
		"completed": func(t *testing.T, table *dynamo.Table, l operation.Lease) {
			must(t, table.Complete(t.Context(), ending(l, 102, operation.Usable)))
		},
		"superseded": func(t *testing.T, table *dynamo.Table, l operation.Lease) {
			must(t, table.Supersede(t.Context(), ending(l, 102, operation.Lost)))
		},
		"cancelled": func(t *testing.T, table *dynamo.Table, l operation.Lease) {
			c := cancellation(102)
			c.Key = beside
			must(t, table.Cancel(t.Context(), c))
		},
		"dismissed": func(t *testing.T, table *dynamo.Table, l operation.Lease) {
			must(t, table.Fail(t.Context(), ending(l, 102, operation.Unusable)))
			must(t, table.Dismiss(t.Context(), dismissing(102, func(d *operation.Dismissal) { d.Key, d.WithEvent = beside, false })))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
				table := db.Open(nil)
				failed(t, db, table)
				other, n := asking(102, 1, 0), 1
				if before == nil {
					other, n = asking(102, 2, 0), 2
				}
				other.Key = beside
				l := claimed(t, table, other)
				if before == nil {
					must(t, table.Fail(t.Context(), ending(l, 102, operation.Unusable)))
				} else {
					before(t, table, l)
				}
				stored, err := table.Operation(t.Context(), beside)
				must(t, err)
				err = table.Dismiss(t.Context(), dismissing(0, func(d *operation.Dismissal) { d.WithEvent, d.Beside = false, &beside }))
				if needs := stored.Needs(eventID(1)); needs != (err == nil) || !needs && !errors.Is(err, operation.ErrRefused) {
					t.Errorf("%s for event %d needs event 1: %t, the dismissal met %v", stored.State, n, needs, err)
				}
			})
		})
	}
}

// What a person has decided is no news: W10 that takes it for some is told so, and changes nothing.
func TestARaiseOfNewsIsToldWhatAPersonDecided(t *testing.T) {
	for name, before := range map[string]func(*testing.T, dynamotest.DB, *dynamo.Table){"dismissed": dismissed, "cancelled": stopped} {
		t.Run(name, func(t *testing.T) {
			dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
				table := db.Open(nil)
				before(t, db, table)
				stored := snapshot(t, db)
				r := operation.Raise{Key: work, Seen: operation.Failed, Listed: true, Before: eventID(1), Rank: ranked(5), Event: eventID(5)}
				refused, ok := errors.AsType[*operation.RefusedError](table.Raise(t.Context(), r))
				if !ok || operation.JudgeRaise(refused.Stored, r) != operation.DecidedSince {
					t.Errorf("it met %v", refused)
				}
				if diff := difference(stored, snapshot(t, db)); diff != "" {
					t.Errorf("it changed something (-before +after):\n%s", diff)
				}
				r.Listed = false
				must(t, table.Raise(t.Context(), r))
				same(t, "waits", eventID(5), operationOf(t, table).Event)
			})
		})
	}
}

// dismissedBy checks event 1, parked as it was, and nothing of it in the review list.
func dismissedBy(t *testing.T, table *dynamo.Table, who int) {
	t.Helper()
	ev := eventOf(t, table, 1)
	same(t, "dismissed", &inbox.Dismissed{By: person(who), At: later(950 + who), Note: "a test"}, ev.Dismissed)
	same(t, "expires", later(95000), ev.ExpiresAt)
	same(t, "state", inbox.Parked, ev.State)
	same(t, "review list", []operation.Waiting(nil), reviews(t, table, 100))
}

func dismissEventContract(name string, before func(*testing.T, dynamotest.DB, *dynamo.Table)) contract {
	var parked inbox.Event
	dismiss := func(n, generation int) func(context.Context, *dynamo.Table) error {
		return func(ctx context.Context, table *dynamo.Table) error {
			d := eventDismissal(0)
			d.Event, d.Generation = eventID(n), generation
			return table.DismissEvent(ctx, d)
		}
	}
	return contract{
		name: name, call: "W27", other: is(inbox.ErrStale),
		before: func(t *testing.T, db dynamotest.DB, table *dynamo.Table) {
			before(t, db, table)
			parked = eventOf(t, table, 1)
			received(t, table, 2)
			received(t, table, 3)
			must(t, table.Fail(t.Context(), ending(claimed(t, table, asking(100, 3, 0)), 100, operation.Unusable)))
			e := parkingWith(0, 0)
			e.Event = eventID(3)
			must(t, table.End(t.Context(), e))
			must(t, table.Dismiss(t.Context(), dismissing(101, func(d *operation.Dismissal) { d.Event, d.WithEvent = eventID(3), false })))
		},
		write: func(ctx context.Context, table *dynamo.Table, who int) error {
			return table.DismissEvent(ctx, eventDismissal(who))
		},
		effect: func(t *testing.T, table *dynamo.Table, who int) {
			dismissedBy(t, table, who)
			want, got := parked, eventOf(t, table, 1)
			want.Dismissed, want.ExpiresAt = got.Dismissed, got.ExpiresAt
			same(t, "event, apart from the dismissal", want, got)
		},
		refused: map[string]func(context.Context, *dynamo.Table) error{
			"an open event": dismiss(2, 0), "an event that was parked with its operation": dismiss(3, 0), "an unknown event": dismiss(7, 0),
			"an event that was parked anew since it was seen": dismiss(1, 1),
		},
	}
}

func dismissConflictContract() contract {
	act := func(who int, digest string) inbox.Dismissal {
		d := eventDismissal(who)
		d.Conflict = digest
		return d
	}
	return contract{
		name: "W27 dismiss a conflict", call: "W27", other: is(inbox.ErrStale),
		before: func(t *testing.T, db dynamotest.DB, table *dynamo.Table) {
			parked1(t, db, table)
			must(t, table.RecordConflict(t.Context(), inbox.Conflict{Event: eventID(1), Digest: "d2", At: later(2), DeliveryID: "dlv2"}))
		},
		write: func(ctx context.Context, table *dynamo.Table, who int) error {
			return table.DismissEvent(ctx, act(who, "d2"))
		},
		effect: func(t *testing.T, table *dynamo.Table, who int) {
			ev, _, conflicts, err := table.Deliveries(t.Context(), eventID(1))
			must(t, err)
			want := inbox.Dismissed{By: person(who), At: later(950 + who), Note: "a test"}
			same(t, "conflicts", []inbox.Conflict{{Event: eventID(1), Digest: "d2", At: later(2), DeliveryID: "dlv2", Dismissed: &want}}, conflicts)
			same(t, "event's own dismissal", (*inbox.Dismissed)(nil), ev.Dismissed)
			same(t, "review list", []operation.Waiting{{Event: eventID(1), Since: later(50)}}, reviews(t, table, 100))
			must(t, table.RecordConflict(t.Context(), inbox.Conflict{Event: eventID(1), Digest: "d2", At: later(3), DeliveryID: "dlv3"}))
			same(t, "review list after the same fact came again", 1, len(reviews(t, table, 100)))
		},
		refused: map[string]func(context.Context, *dynamo.Table) error{
			"another fact": func(ctx context.Context, table *dynamo.Table) error { return table.DismissEvent(ctx, act(0, "d3")) },
		},
	}
}
