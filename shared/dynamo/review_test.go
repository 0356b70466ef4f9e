package dynamo_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"engang/shared/dynamo"
	"engang/shared/dynamo/dynamotest"
	"engang/shared/inbox"
	"engang/shared/operation"
)

// reviews reads the whole review list in pages.
func reviews(t *testing.T, table *dynamo.Table, limit int) (all []operation.Waiting) {
	t.Helper()
	for after, more := "", true; more; {
		page, next, err := table.Reviews(t.Context(), after, limit)
		must(t, err)
		if len(page) > limit {
			t.Fatalf("a page of %d has %d", limit, len(page))
		}
		all, after, more = append(all, page...), next, next != ""
	}
	return all
}

// What waits for a person is one list, the longest waiting first, in pages of any size, also when what was read
// is decided before the next page; and it holds nothing else.
func TestWhatWaitsForAPersonIsOneList(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		var want []operation.Waiting
		for n := range 12 {
			k := operation.Key{Scope: shop, Object: product, Recipe: card, Digest: fmt.Sprint("digest", n)}
			if n%2 == 1 {
				k.Scope.Tenant, k.Object.Value = "other", "7#94/é"
			}
			c := asking(n, n, n*10)
			c.Key = k
			l := claimed(t, table, c)
			switch n % 4 {
			case 0:
				must(t, table.Hold(t.Context(), ending(l, n, operation.Flagged)))
			case 1:
				must(t, table.Fail(t.Context(), ending(l, n, operation.Unusable)))
			case 2:
				must(t, table.Complete(t.Context(), ending(l, n, operation.Usable)))
				continue
			default:
				continue
			}
			want = append(want, operation.Waiting{Operation: &k, Since: later(n*10 + 10)})
		}
		for n := range 4 {
			received(t, table, n)
			must(t, table.RecordConflict(t.Context(), inbox.Conflict{Event: eventID(n), Digest: fmt.Sprint("d", n), At: later(200 + n)}))
			want = append(want, operation.Waiting{Event: eventID(n), Conflict: fmt.Sprint("d", n), Since: later(200 + n)})
			e := parking(n, 0)
			if e.Event, e.At = eventID(n), later(300+n); n%2 == 0 {
				want = append(want, operation.Waiting{Event: eventID(n), Since: e.At})
				must(t, table.End(t.Context(), e))
			}
		}
		slices.SortStableFunc(want, func(a, b operation.Waiting) int { return a.Since.Compare(b.Since) })
		for _, engineLimit := range []int32{0, 1, 3} {
			for _, limit := range []int{1, 4, 5, len(want), 1000} {
				table.SetPage(min(engineLimit, int32(limit)))
				same(t, fmt.Sprint("pages of ", limit), want, reviews(t, table, limit))
			}
		}
		table.SetPage(0)
		var seen []operation.Waiting
		for after, more := "", true; more; {
			page, next, err := table.Reviews(t.Context(), after, 2)
			must(t, err)
			for _, w := range page {
				if w.Event != "" {
					must(t, table.DismissEvent(t.Context(), inbox.Dismissal{Event: w.Event, Conflict: w.Conflict, By: "ann", Now: noon, ExpiresAt: later(9e6)}))
				}
			}
			seen, after, more = append(seen, page...), next, next != ""
		}
		same(t, "list that shrinks while it is read", want, seen)
		same(t, "what is left", 6, len(reviews(t, table, 3)))
	})
}

// A draft with a newer result can only be set aside: nothing of an approval is done, whatever its answer.
func TestANewerResultRefusesAnApproval(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		held(t, db, table)
		for _, rank := range []int{1, 2} {
			putRanked(t, table, rank)
			stored := snapshot(t, db)
			err := table.Approve(t.Context(), approval(1))
			if !errors.Is(err, operation.ErrNewerResult) || errors.Is(err, operation.ErrRefused) {
				t.Errorf("beside a result of rank %d it met %v", rank, err)
			}
			if diff := difference(stored, snapshot(t, db)); diff != "" {
				t.Errorf("half of it was done (-before +after):\n%s", diff)
			}
		}
		other := approval(1)
		other.Seen.Digest = "dig101"
		if err := table.Approve(t.Context(), other); !refusedAs(operation.Review)(err) {
			t.Errorf("of another draft beside a newer result it met %v", err)
		}
		must(t, table.SetAside(t.Context(), settingAside(2)))
		if err := table.Approve(t.Context(), approval(3)); !refusedAs(operation.Superseded)(err) {
			t.Errorf("after it was set aside it met %v", err)
		}
	})
}

// However many persons decide at once, and in whatever way, one decision takes effect, and the result is there
// if and only if it was an approval.
func TestADraftIsDecidedOnce(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		for range 4 {
			own := db.Fresh(t)
			table := own.Open(nil)
			held(t, own, table)
			states := []operation.State{operation.Completed, operation.Rejected, operation.Superseded, operation.Failed}
			errs := dynamotest.AtOnce(func(i int) error {
				switch i % 4 {
				case 0:
					return table.Approve(t.Context(), approval(i))
				case 1:
					return table.Reject(t.Context(), rejection(i))
				case 2:
					return table.SetAside(t.Context(), settingAside(i))
				}
				return table.Cancel(t.Context(), cancellation(i))
			})
			var winners []int
			for i, err := range errs {
				if err == nil {
					winners = append(winners, i)
				} else if !errors.Is(err, operation.ErrRefused) {
					t.Errorf("%d met %v", i, err)
				}
			}
			if len(winners) != 1 {
				t.Fatalf("decisions %v took effect", winners)
			}
			op := operationOf(t, table)
			same(t, "state and write id", []any{states[winners[0]%4], writeID(winners[0])}, []any{op.State, op.WriteID})
			_, found, err := table.Result(t.Context(), shop, product, card)
			must(t, err)
			same(t, "result is there", winners[0]%4 == 0, found)
			indexed(t, snapshot(t, own))
		}
	})
}

// Whoever works on an operation that a person stops is fenced, and its call is recorded beside it.
func TestACancelledOperationFencesItsWorker(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		l := claimed(t, table, asking(1, 1, 0))
		must(t, table.Cancel(t.Context(), cancellation(1)))
		f := ending(l, 1, operation.Usable)
		err := table.Complete(t.Context(), f)
		refused, ok := errors.AsType[*operation.RefusedError](err)
		if !ok || operation.JudgeFinish(refused.Stored, f, operation.Completed) != operation.LeaseLost {
			t.Errorf("the worker's commit met %v", err)
		}
		if _, err := table.Claim(t.Context(), asking(2, 2, 900)); !refusedAs(operation.Failed)(err) {
			t.Errorf("a claim met %v", err)
		}
		op := operationOf(t, table)
		same(t, "category", operation.CategoryCancelled, op.Category)
		if op.Decision == nil || op.Decision.By != person(1) {
			t.Errorf("decided by %+v", op.Decision)
		}
	})
}

// A late repeat of a decision on a draft that was refused, renewed and drafted anew decides nothing.
func TestALateRepeatOfADecisionIsRefused(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		rejected(t, db, table)
		must(t, table.Redrive(t.Context(), redriving(operation.Rejected)))
		must(t, table.Hold(t.Context(), ending(claimed(t, table, asking(2, 1, 900)), 2, operation.Flagged)))
		stored := snapshot(t, db)
		for what, err := range map[string]error{
			"rejection": table.Reject(t.Context(), rejection(100)), "approval": table.Approve(t.Context(), approval(1)), "cancellation": table.Cancel(t.Context(), cancellation(1)),
		} {
			if !refusedAs(operation.Review)(err) {
				t.Errorf("the %s met %v", what, err)
			}
		}
		if diff := difference(stored, snapshot(t, db)); diff != "" {
			t.Errorf("something changed (-before +after):\n%s", diff)
		}
	})
}

// A mark of one life is not left to the next: what was dismissed or cancelled, redriven, and fails again waits
// for a person again, for its own reason.
func TestARedriveClearsTheMarksOfAPerson(t *testing.T) {
	for name, before := range map[string]func(*testing.T, dynamotest.DB, *dynamo.Table){"dismissed": dismissed, "cancelled": stopped} {
		t.Run(name, func(t *testing.T) {
			dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
				table := db.Open(nil)
				before(t, db, table)
				same(t, "review list", 0, len(reviews(t, table, 9)))
				r := redriving(operation.Failed)
				r.Token = operationOf(t, table).Token
				must(t, table.Redrive(t.Context(), r))
				it := snapshot(t, db)["B#shop#test#product:794 / O#product-card@000003#9f2c41d0"]
				for _, attribute := range []string{"dec", "dat", "dnt", "by", "at", "note", "expires_at"} {
					if it[attribute] != nil {
						t.Errorf("%s is still there", attribute)
					}
				}
				claimed(t, table, asking(7, 1, 900))
				must(t, table.Exhaust(t.Context(), operation.Exhaustion{Key: work, WriteID: "x", Now: later(2000), Limit: 1, Reason: "used up"}))
				op := operationOf(t, table)
				same(t, "failed again", []any{operation.CategoryTransient, "used up", later(2000)}, []any{op.Category, op.Reason, op.QueuedAt})
				same(t, "review list", 1, len(reviews(t, table, 9)))
			})
		})
	}
}

// The same for an event: one that was dismissed, opened again in either way, and parked again waits again.
func TestAReopenedEventKeepsNoDismissal(t *testing.T) {
	for name, reopen := range map[string]func(t *testing.T, table *dynamo.Table){
		"alone": func(t *testing.T, table *dynamo.Table) { must(t, table.Reopen(t.Context(), eventID(1), later(600))) },
		"with its operation": func(t *testing.T, table *dynamo.Table) { // a worker died between W10 and W6
			must(t, table.Fail(t.Context(), ending(claimed(t, table, asking(100, 1, 0)), 100, operation.Unusable)))
			must(t, table.Redrive(t.Context(), redriving(operation.Failed)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
				table := db.Open(nil)
				parkedUnsent(t, db, table)
				must(t, table.DismissEvent(t.Context(), eventDismissal(1)))
				reopen(t, table)
				must(t, table.End(t.Context(), parking(0, 1)))
				ev := eventOf(t, table, 1)
				same(t, "dismissed", (*inbox.Dismissed)(nil), ev.Dismissed)
				same(t, "expires", time.Time{}, ev.ExpiresAt)
				same(t, "review list", []operation.Waiting{{Event: eventID(1), Since: later(50)}}, reviews(t, table, 9))
			})
		})
	}
}
