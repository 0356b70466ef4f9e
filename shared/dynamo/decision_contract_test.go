package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"engang/shared/dynamo"
	"engang/shared/dynamo/dynamotest"
	"engang/shared/inbox"
	"engang/shared/operation"
)

func person(who int) string { return fmt.Sprint("person", who) }

// approval approves what held leaves.
func approval(who int) operation.Approval {
	return operation.Approval{
		Seen: operation.Operation{Key: work, State: operation.Review, Event: eventID(1), Rank: ranked(1), Output: []byte(`{"summary":"by 100"}`), Digest: "dig100"},
		By:   person(who), Note: "reads well", WriteID: writeID(who), Now: later(400 + who), ExpiresAt: later(90000), ResultExpiresAt: later(91000),
	}
}

func rejection(who int) operation.Rejection {
	return operation.Rejection{Key: work, Digest: "dig100", By: person(who), Note: "wrong size", WriteID: writeID(who), Now: later(400 + who)}
}

func settingAside(who int) operation.SettingAside {
	return operation.SettingAside{Key: work, Rank: ranked(1), WriteID: writeID(who), ExpiresAt: later(92000)}
}

func dismissal(who int) operation.Dismissal {
	return operation.Dismissal{
		Key: work, Token: 1, Event: eventID(1), WithEvent: true, By: person(who), Note: "sold out", WriteID: writeID(who),
		Now: later(450 + who), ExpiresAt: later(93000), EventExpiresAt: later(95000),
	}
}

func cancellation(who int) operation.Cancellation {
	return operation.Cancellation{Key: work, Token: 1, By: person(who), Note: "wrong import", WriteID: writeID(who), Now: later(450 + who), ExpiresAt: later(94000)}
}

func eventDismissal(who int) inbox.Dismissal {
	return inbox.Dismissal{Event: eventID(1), By: person(who), Note: "a test", Now: later(950 + who), ExpiresAt: later(95000)}
}

// refusedDecision is a decision that the stored operation refuses without having been decided.
func refusedDecision(state operation.State, decide func(ctx context.Context, table *dynamo.Table) error) func(context.Context, *dynamo.Table) error {
	return func(ctx context.Context, table *dynamo.Table) error {
		if err := decide(ctx, table); !refusedAs(state)(err) {
			return fmt.Errorf("not refused: %w", err)
		}
		return errUndecided
	}
}

var errUndecided = errors.New("refused, though nobody has decided")

// decides is the contract of one decision on what before leaves: the operation stands as wanted then.
func decides(name, call string, before func(*testing.T, dynamotest.DB, *dynamo.Table), want func(who int, op *operation.Operation),
	decide func(ctx context.Context, table *dynamo.Table, who int) error) contract {
	next := operation.Operation{}
	want(0, &next)
	return contract{
		name: name, call: call, before: before, write: decide,
		other: func(err error) bool { return refusedAs(next.State)(err) || errors.Is(err, errUndecided) },
		effect: func(t *testing.T, table *dynamo.Table, who int) {
			op := operationOf(t, table)
			wanted := operation.Operation{ // what a decision leaves as it was
				Key: work, Token: 1, BegunAt: noon, Claims: op.Claims, NotBefore: op.NotBefore, WriteID: writeID(who), Event: eventID(1), Rank: ranked(1),
				Output: op.Output, Digest: op.Digest, Attempts: op.Attempts, Reason: op.Reason, Category: op.Category,
			}
			want(who, &wanted)
			same(t, "operation", wanted, op)
		},
	}
}

func decisionContracts() []contract {
	reject := decides("W18 reject", "W18", held, func(who int, op *operation.Operation) {
		op.State, op.Decision = operation.Rejected, &operation.Decision{By: person(who), At: later(400 + who), Note: "wrong size"}
	}, func(ctx context.Context, table *dynamo.Table, who int) error {
		return table.Reject(ctx, rejection(who))
	})
	reject.refused = map[string]func(context.Context, *dynamo.Table) error{
		"another draft": refusedDecision(operation.Review, func(ctx context.Context, table *dynamo.Table) error {
			r := rejection(0)
			r.Digest = "dig101"
			return table.Reject(ctx, r)
		}),
	}
	aside := decides("W19 set aside", "W19", held, func(_ int, op *operation.Operation) {
		op.State, op.Claims, op.ExpiresAt = operation.Superseded, 0, later(92000)
	}, func(ctx context.Context, table *dynamo.Table, who int) error {
		return table.SetAside(ctx, settingAside(who))
	})
	aside.refused = map[string]func(context.Context, *dynamo.Table) error{
		"a draft that a newer event waits for": refusedDecision(operation.Review, func(ctx context.Context, table *dynamo.Table) error {
			a := settingAside(0)
			a.Rank = ranked(0)
			return table.SetAside(ctx, a)
		}),
	}
	return slices.Concat([]contract{
		approveContract("W17 approve", held),
		approveContract("W17 approve, over an older result", func(t *testing.T, db dynamotest.DB, table *dynamo.Table) {
			held(t, db, table)
			putRanked(t, table, 0)
		}),
		reject, aside,
	}, dismissContracts(), cancelContracts())
}

// putRanked writes the result of the nth version.
func putRanked(t *testing.T, table *dynamo.Table, n int) {
	t.Helper()
	k := work
	k.Digest = fmt.Sprint("of version ", n)
	_, _, err := table.PutResult(t.Context(), operation.Result{Scope: shop, Object: product, Recipe: card, Rank: ranked(n), Operation: k, Event: eventID(n), Output: []byte("{}"), Digest: "d", At: noon})
	must(t, err)
}

func approveContract(name string, before func(*testing.T, dynamotest.DB, *dynamo.Table)) contract {
	c := decides(name, "W17", before, func(who int, op *operation.Operation) {
		op.State, op.ExpiresAt = operation.Completed, later(90000)
		op.Decision = &operation.Decision{By: person(who), At: later(400 + who), Note: "reads well"}
	}, func(ctx context.Context, table *dynamo.Table, who int) error {
		return table.Approve(ctx, approval(who))
	})
	completed := c.effect
	c.effect = func(t *testing.T, table *dynamo.Table, who int) {
		completed(t, table, who)
		got, found, err := table.Result(t.Context(), shop, product, card)
		if err != nil || !found {
			t.Fatalf("result found: %t, %v", found, err)
		}
		same(t, "result", operation.Result{
			Scope: shop, Object: product, Recipe: card, Rank: ranked(1), Operation: work, Event: eventID(1), Output: operationOf(t, table).Output, Digest: "dig100",
			At: later(400 + who), ExpiresAt: later(91000),
		}, got)
	}
	seen := func(change func(*operation.Operation)) func(context.Context, *dynamo.Table) error {
		return refusedDecision(operation.Review, func(ctx context.Context, table *dynamo.Table) error {
			a := approval(0)
			change(&a.Seen)
			return table.Approve(ctx, a)
		})
	}
	c.refused = map[string]func(context.Context, *dynamo.Table) error{
		"another draft":                    seen(func(op *operation.Operation) { op.Digest = "dig101" }),
		"a rank that was not looked at":    seen(func(op *operation.Operation) { op.Rank = ranked(0) }),
		"a rank that it does not have yet": seen(func(op *operation.Operation) { op.Rank = ranked(2) }),
	}
	return c
}

func cancelContracts() (all []contract) {
	pending := func(t *testing.T, _ dynamotest.DB, table *dynamo.Table) {
		must(t, table.Retry(t.Context(), ending(claimed(t, table, asking(100, 1, 0)), 100, operation.Transient)))
	}
	for name, before := range map[string]func(*testing.T, dynamotest.DB, *dynamo.Table){"pending": pending, "running": running, "a draft": held} {
		final := work
		final.Digest = "final"
		c := decides("cancel, "+name, "cancel", func(t *testing.T, db dynamotest.DB, table *dynamo.Table) {
			before(t, db, table)
			completed := asking(101, 1, 0)
			completed.Key = final
			must(t, table.Complete(t.Context(), ending(claimed(t, table, completed), 101, operation.Usable)))
		}, func(who int, op *operation.Operation) {
			op.Token, op.Fences = 2, []int64{2}
			op.State, op.Category, op.Reason, op.ExpiresAt = operation.Failed, operation.CategoryCancelled, "cancelled by a person", later(94000)
			op.Decision = &operation.Decision{By: person(who), At: later(450 + who), Note: "wrong import"}
		}, func(ctx context.Context, table *dynamo.Table, who int) error {
			return table.Cancel(ctx, cancellation(who))
		})
		c.refused = map[string]func(context.Context, *dynamo.Table) error{
			"another token": func(ctx context.Context, table *dynamo.Table) error {
				cancel := cancellation(0)
				cancel.Token = 2
				err := table.Cancel(ctx, cancel)
				if refused, ok := errors.AsType[*operation.RefusedError](err); !ok || refused.Stored.State == operation.Failed {
					return fmt.Errorf("not refused: %w", err)
				}
				return errUndecided
			},
			"what is final, with the token that was seen": refusedDecision(operation.Completed, func(ctx context.Context, table *dynamo.Table) error {
				cancel := cancellation(0)
				cancel.Key = final
				return table.Cancel(ctx, cancel)
			}),
		}
		all = append(all, c)
	}
	return all
}
