package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"engang/shared/dynamo"
	"engang/shared/dynamo/dynamotest"
	"engang/shared/inbox"
	"engang/shared/operation"
)

// claims is the contract of a claim that meets what before leaves: it is granted with this token.
func claims(name string, token int64, seconds int, before func(*testing.T, dynamotest.DB, *dynamo.Table)) contract {
	return contract{
		name: name, call: "W3 ", before: before, other: refusedAs(operation.Running),
		write: func(ctx context.Context, table *dynamo.Table, who int) error {
			l, err := table.Claim(ctx, asking(who, 1, seconds))
			if err == nil && (l.Token != token || l.Attempt != attemptID(who) || !l.Until.Equal(later(seconds).Add(lease))) {
				return fmt.Errorf("lease %+v", l)
			}
			return err
		},
		effect: func(t *testing.T, table *dynamo.Table, who int) {
			op := operationOf(t, table)
			want := operation.Operation{
				Key: work, State: operation.Running, Token: token, Owner: attemptID(who), BegunAt: later(seconds), LeaseEnd: later(seconds).Add(lease),
				WriteID: writeID(who), Event: eventID(1), Rank: ranked(1), Claims: op.Claims, NotBefore: op.NotBefore, Attempts: op.Attempts, Reason: op.Reason, Category: op.Category,
			}
			if strings.HasSuffix(name, "superseded") { // the claim before was given back
				want.Fences = []int64{1}
			}
			same(t, "operation", want, op)
		},
	}
}

// running leaves an operation that worker 100 claimed at noon.
func running(t *testing.T, _ dynamotest.DB, table *dynamo.Table) {
	t.Helper()
	claimed(t, table, asking(100, 1, 0))
}

func claimContracts() []contract {
	pending := func(t *testing.T, _ dynamotest.DB, table *dynamo.Table) {
		l := claimed(t, table, asking(100, 1, 0))
		if err := table.Retry(t.Context(), ending(l, 100, operation.Transient)); err != nil {
			t.Fatal(err)
		}
	}
	superseded := func(t *testing.T, _ dynamotest.DB, table *dynamo.Table) {
		l := claimed(t, table, asking(100, 0, 0))
		if err := table.Supersede(t.Context(), ending(l, 100, operation.Lost)); err != nil {
			t.Fatal(err)
		}
	}
	all := []contract{
		claims("W3 claim, new", 1, 0, nil),
		claims("W3 claim, lease over", 2, 106, running),
		claims("W3 claim, pending", 2, 30, pending),
		claims("W3 claim, superseded", 2, 1, superseded),
	}
	all[1].refused = map[string]func(context.Context, *dynamo.Table) error{
		"a lease that is over but within the skew": func(ctx context.Context, table *dynamo.Table) error {
			_, err := table.Claim(ctx, asking(0, 1, 105))
			return err
		},
	}
	return all
}

// finishes is the contract of one way to end a lease.
func finishes(name, call string, outcome operation.Outcome, next operation.State, do finish,
	stands func(f operation.Finish) operation.Operation) contract {
	first := operation.Lease{Key: work, Attempt: attemptID(100), Token: 1, Claims: 1, Begun: noon, Until: noon.Add(lease)}
	refuse := func(change func(*operation.Lease)) func(context.Context, *dynamo.Table) error {
		return func(ctx context.Context, table *dynamo.Table) error {
			l := first
			change(&l)
			err := do(table, ctx, ending(l, 0, outcome))
			if !refusedAs(operation.Running)(err) {
				return err
			}
			return errOtherLease
		}
	}
	return contract{
		name: name, call: call, before: running, other: func(err error) bool { return refusedAs(next)(err) || errors.Is(err, errOtherLease) },
		write: func(ctx context.Context, table *dynamo.Table, who int) error {
			return do(table, ctx, ending(first, who, outcome))
		},
		effect: func(t *testing.T, table *dynamo.Table, who int) {
			f := ending(first, who, outcome)
			want := stands(f)
			want.Key, want.State, want.Token, want.BegunAt, want.WriteID, want.Event, want.Rank = work, next, 1, noon, f.WriteID, eventID(1), ranked(1)
			same(t, "operation", want, operationOf(t, table))
		},
		refused: map[string]func(context.Context, *dynamo.Table) error{
			"another token":  refuse(func(l *operation.Lease) { l.Token = 2 }),
			"an older token": refuse(func(l *operation.Lease) { l.Token = 0 }),
			"another owner":  refuse(func(l *operation.Lease) { l.Attempt = attemptID(7) }),
		},
	}
}

// errOtherLease stands for a refusal that shows the lease running, as another one's.
var errOtherLease = errors.New("refused: the lease is another one's")

func finishContracts() []contract {
	return []contract{
		finishes("W4 complete", "W4 ", operation.Usable, operation.Completed, (*dynamo.Table).Complete, func(f operation.Finish) operation.Operation {
			return operation.Operation{Claims: 1, Output: f.Output, Digest: f.Digest, Attempts: f.Attempts, ExpiresAt: f.ExpiresAt}
		}),
		finishes("W4 complete, kept without end", "W4 ", operation.Usable, operation.Completed, func(table *dynamo.Table, ctx context.Context, f operation.Finish) error {
			f.ExpiresAt = time.Time{}
			return table.Complete(ctx, f)
		}, func(f operation.Finish) operation.Operation {
			return operation.Operation{Claims: 1, Output: f.Output, Digest: f.Digest, Attempts: f.Attempts}
		}),
		finishes("W7 retry", "W7 retry", operation.Transient, operation.Pending, (*dynamo.Table).Retry, func(f operation.Finish) operation.Operation {
			return operation.Operation{Claims: 1, NotBefore: f.NotBefore, Attempts: f.Attempts}
		}),
		finishes("W7 fail", "W7 fail", operation.Unusable, operation.Failed, (*dynamo.Table).Fail, func(f operation.Finish) operation.Operation {
			return operation.Operation{Claims: 1, Reason: f.Reason, Category: f.Category, Attempts: f.Attempts, QueuedAt: f.Now}
		}),
		finishes("W8 supersede", "W8 ", operation.Lost, operation.Superseded, (*dynamo.Table).Supersede, func(f operation.Finish) operation.Operation {
			return operation.Operation{ExpiresAt: f.ExpiresAt, Fences: []int64{f.Lease.Token}}
		}),
		finishes("W8 supersede, kept without end", "W8 ", operation.Lost, operation.Superseded, func(table *dynamo.Table, ctx context.Context, f operation.Finish) error {
			f.ExpiresAt = time.Time{}
			return table.Supersede(ctx, f)
		}, func(f operation.Finish) operation.Operation {
			return operation.Operation{Fences: []int64{f.Lease.Token}}
		}),
		finishes("W16 draft", "W16", operation.Flagged, operation.Review, (*dynamo.Table).Hold, func(f operation.Finish) operation.Operation {
			return operation.Operation{Claims: 1, Output: f.Output, Digest: f.Digest, Reason: f.Reason, Attempts: f.Attempts, QueuedAt: f.Now}
		}),
		finishes("W24 pause", "W24", operation.Paused, operation.Pending, (*dynamo.Table).Pause, func(f operation.Finish) operation.Operation {
			return operation.Operation{NotBefore: f.NotBefore, Attempts: f.Attempts}
		}),
		finishes("W24 pause, from now", "W24", operation.Paused, operation.Pending, func(table *dynamo.Table, ctx context.Context, f operation.Finish) error {
			f.NotBefore = time.Time{}
			return table.Pause(ctx, f)
		}, func(f operation.Finish) operation.Operation {
			return operation.Operation{NotBefore: f.Now, Attempts: f.Attempts}
		}),
	}
}

func operationContracts() []contract {
	return append(raiseContracts(), exhaustContract(), exhaustPendingContract(), losingContract(), resultContract(),
		redriveContract("W13 redrive", "W13", operation.Failed, failed), redriveContract("W13 redrive, dismissed", "W13", operation.Failed, dismissed),
		redriveContract("W13 redrive, cancelled", "W13", operation.Failed, stopped), redriveContract("W20 renew", "W20", operation.Rejected, rejected))
}

func exhaustContract() contract {
	exhaustion := func(who, limit, seconds int) operation.Exhaustion {
		return operation.Exhaustion{Key: work, WriteID: writeID(who), Now: later(seconds), Skew: skew, Limit: limit, Reason: "used up"}
	}
	stillRunning := func(limit, seconds int) func(context.Context, *dynamo.Table) error {
		return func(ctx context.Context, table *dynamo.Table) error {
			if err := table.Exhaust(ctx, exhaustion(0, limit, seconds)); !refusedAs(operation.Running)(err) {
				return err
			}
			return errOtherLease
		}
	}
	return contract{
		name: "W9 exhaust", call: "W9 ", other: func(err error) bool { return refusedAs(operation.Failed)(err) || errors.Is(err, errOtherLease) },
		before: func(t *testing.T, _ dynamotest.DB, table *dynamo.Table) {
			claimed(t, table, asking(100, 1, 0))
			claimed(t, table, asking(101, 1, 110))
		},
		write: func(ctx context.Context, table *dynamo.Table, who int) error {
			return table.Exhaust(ctx, exhaustion(who, 2, 220))
		},
		effect: func(t *testing.T, table *dynamo.Table, who int) {
			same(t, "operation", operation.Operation{
				Key: work, State: operation.Failed, Token: 2, Claims: 2, BegunAt: later(110), WriteID: writeID(who), Event: eventID(1), Rank: ranked(1),
				Reason: "used up", Category: operation.CategoryTransient, QueuedAt: later(220),
			}, operationOf(t, table))
		},
		refused: map[string]func(context.Context, *dynamo.Table) error{
			"claims that are left":                     stillRunning(3, 220),
			"a lease that runs":                        stillRunning(2, 150),
			"a lease that is over but within the skew": stillRunning(2, 215),
		},
	}
}

// A lower limit than before finds operations that wait with no claim left.
func exhaustPendingContract() contract {
	c := exhaustContract()
	c.name = "W9 exhaust, pending"
	c.before = func(t *testing.T, _ dynamotest.DB, table *dynamo.Table) {
		must(t, table.Retry(t.Context(), ending(claimed(t, table, asking(100, 1, 0)), 100, operation.Transient)))
	}
	c.write = func(ctx context.Context, table *dynamo.Table, who int) error {
		return table.Exhaust(ctx, operation.Exhaustion{Key: work, WriteID: writeID(who), Now: later(20), Skew: skew, Limit: 1, Reason: "used up"})
	}
	c.effect = func(t *testing.T, table *dynamo.Table, who int) {
		op := operationOf(t, table)
		same(t, "operation", []any{operation.Failed, "used up", operation.CategoryTransient, writeID(who), later(20)}, []any{op.State, op.Reason, op.Category, op.WriteID, op.QueuedAt})
	}
	c.refused = nil
	return c
}

func losingContract() contract {
	losing := func(who int) operation.Attempt {
		return operation.Attempt{ID: attemptID(1), FencingToken: 1, Outcome: operation.Usable, Called: true, StartedAt: noon, CostUSD: operation.Money(who) * 1_000_000}
	}
	return contract{
		name: "W15 losing attempt", call: "W15", all: true, other: done,
		write: func(ctx context.Context, table *dynamo.Table, who int) error {
			return table.RecordLosing(ctx, work, losing(who))
		},
		effect: func(t *testing.T, table *dynamo.Table, who int) {
			_, all, _, err := table.Object(t.Context(), shop, product)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "losing attempts", []operation.Losing{{Key: work, Attempt: losing(who)}}, all)
		},
	}
}

// A result that was not written, as an error.
type standing struct{ operation.Result }

func (standing) Error() string { return "another result stands" }

func resultContract() contract {
	result := func(who, n int) operation.Result {
		return operation.Result{
			Scope: shop, Object: product, Recipe: card, Rank: ranked(n), Operation: work, Event: eventID(n), Output: fmt.Append(nil, "by ", who), Digest: "dig", At: noon, ExpiresAt: later(99),
		}
	}
	put := func(ctx context.Context, table *dynamo.Table, r operation.Result) error {
		stored, written, err := table.PutResult(ctx, r)
		if err == nil && !written {
			return standing{stored}
		}
		return err
	}
	stands := func(err error) bool {
		found, ok := errors.AsType[standing](err)
		return ok && found.Operation == work && found.Rank == ranked(1)
	}
	return contract{
		name: "W5 result", call: "W5 ", other: stands, again: stands,
		write: func(ctx context.Context, table *dynamo.Table, who int) error { return put(ctx, table, result(who, 1)) },
		effect: func(t *testing.T, table *dynamo.Table, who int) {
			got, found, err := table.Result(t.Context(), shop, product, card)
			if err != nil || !found {
				t.Fatalf("result found: %t, %v", found, err)
			}
			same(t, "result", result(who, 1), got)
		},
	}
}

// redriving is the redrive of an operation that stands as it was left with token 1.
func redriving(seen operation.State) operation.Redrive {
	return operation.Redrive{Key: work, Seen: seen, Token: 1, Event: eventID(1), WriteID: writeID(0), Now: later(500), Due: later(800)}
}

func redriveContract(name, call string, seen operation.State, before func(*testing.T, dynamotest.DB, *dynamo.Table)) contract {
	token, fences := int64(1), []int64(nil)
	inWork := strings.HasSuffix(name, "cancelled")
	if inWork {
		token, fences = 2, []int64{2}
	}
	act := func(who int, change func(*operation.Redrive)) func(context.Context, *dynamo.Table) error {
		return func(ctx context.Context, table *dynamo.Table) error {
			r := redriving(seen)
			r.WriteID, r.Token = writeID(who), token
			if !strings.Contains(name, ",") { // as it was looked at; else whatever it is
				r.Recipes = arrival(1).Recipes
			}
			if change == nil {
				return table.Redrive(ctx, r)
			}
			change(&r)
			err := table.Redrive(ctx, r)
			if !refusedAs(seen)(err) {
				return fmt.Errorf("not refused: %w", err)
			}
			return errOtherLease
		}
	}
	return contract{
		name: name, call: call, before: before,
		other: func(err error) bool { return refusedAs(operation.Pending)(err) || errors.Is(err, errOtherLease) },
		write: func(ctx context.Context, table *dynamo.Table, who int) error { return act(who, nil)(ctx, table) },
		effect: func(t *testing.T, table *dynamo.Table, who int) {
			op := operationOf(t, table)
			same(t, "operation", operation.Operation{
				Key: work, State: operation.Pending, Token: token, Fences: fences, BegunAt: noon, NotBefore: later(500), WriteID: writeID(who), Event: eventID(1), Rank: ranked(1),
				Attempts: op.Attempts, Reason: op.Reason,
			}, op)
			if inWork != (len(op.Attempts) == 0) {
				t.Errorf("attempts %v", op.Attempts)
			}
			reopened(t, table, 800)
		},
		refused: map[string]func(context.Context, *dynamo.Table) error{
			"another token":  act(0, func(r *operation.Redrive) { r.Token++ }),
			"an older token": act(0, func(r *operation.Redrive) { r.Token-- }),
			"another event":  act(0, func(r *operation.Redrive) { r.Event = eventID(2) }),
			"other recipes of the event": func(ctx context.Context, table *dynamo.Table) error {
				r := redriving(seen)
				r.Token, r.Recipes = token, []inbox.RecipeRef{{Name: card.Name, Version: card.Version + 1}}
				if err := table.Redrive(ctx, r); !errors.Is(err, inbox.ErrStale) || errors.Is(err, operation.ErrRefused) {
					return fmt.Errorf("not refused: %w", err)
				}
				return errOtherLease
			},
		},
	}
}
