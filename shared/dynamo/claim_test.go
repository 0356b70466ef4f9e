package dynamo_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"engang/shared/dynamo"
	"engang/shared/dynamo/dynamotest"
	"engang/shared/operation"
)

// finished ends the lease of worker 100, claimed for event n at noon.
func finished(t *testing.T, table *dynamo.Table, n int, do finish) {
	t.Helper()
	if err := do(table, t.Context(), ending(claimed(t, table, asking(100, n, 0)), 100, operation.Transient)); err != nil {
		t.Fatal(err)
	}
}

// What a claim finds decides whether it is granted, and what a refused one means.
func TestClaimsByWhatTheyFind(t *testing.T) {
	for _, tt := range []struct {
		name     string
		before   func(t *testing.T, db dynamotest.DB, table *dynamo.Table)
		claim    operation.Claim
		standing operation.Standing
		wait     time.Time
	}{
		{"a running lease", running, asking(1, 1, 50), operation.Busy, noon.Add(lease + skew)},
		{"a lease that is over but within the skew", running, asking(1, 1, 105), operation.Busy, noon.Add(lease + skew)},
		{"the last permitted claim, lease over", func(t *testing.T, _ dynamotest.DB, table *dynamo.Table) {
			for i, seconds := range []int{0, 200, 400} {
				claimed(t, table, asking(100+i, 1, seconds))
			}
		}, asking(1, 1, 600), operation.UsedUp, time.Time{}},
		{"the last permitted claim, given back", func(t *testing.T, _ dynamotest.DB, table *dynamo.Table) {
			for i, seconds := range []int{0, 200, 400} {
				l := claimed(t, table, asking(100+i, 1, seconds))
				if err := table.Retry(t.Context(), ending(l, 100+i, operation.Transient)); err != nil {
					t.Fatal(err)
				}
			}
		}, asking(1, 1, 600), operation.UsedUp, time.Time{}},
		{"a not-before time ahead", func(t *testing.T, _ dynamotest.DB, table *dynamo.Table) { finished(t, table, 1, (*dynamo.Table).Retry) },
			asking(1, 1, 29), operation.BackingOff, later(30)},
		{"a committed output", func(t *testing.T, _ dynamotest.DB, table *dynamo.Table) {
			finished(t, table, 1, (*dynamo.Table).Complete)
		},
			asking(1, 2, 600), operation.Done, time.Time{}},
		{"a failure", failed, asking(1, 2, 600), operation.Broken, time.Time{}},
		{"a draft", held, asking(1, 2, 600), operation.WaitsForPerson, time.Time{}},
		{"a rejected draft", rejected, asking(1, 2, 600), operation.WaitsForPerson, time.Time{}},
		{"superseded, same rank", func(t *testing.T, _ dynamotest.DB, table *dynamo.Table) {
			finished(t, table, 1, (*dynamo.Table).Supersede)
		},
			asking(1, 1, 600), operation.Overtaken, time.Time{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
				table := db.Open(nil)
				tt.before(t, db, table)
				stored := snapshot(t, db)
				_, err := table.Claim(t.Context(), tt.claim)
				refused, ok := errors.AsType[*operation.RefusedError](err)
				if !ok {
					t.Fatalf("it met %v", err)
				}
				standing, wait := operation.JudgeClaim(refused.Stored, tt.claim)
				if standing != tt.standing || !wait.Equal(tt.wait) {
					t.Errorf("standing %v until %v", standing, wait)
				}
				if diff := difference(stored, snapshot(t, db)); diff != "" {
					t.Errorf("it changed something (-before +after):\n%s", diff)
				}
			})
		})
	}
}

// The lease shows the operation as it was before: the attempts, the ended lease that nobody recorded,
// the draft that was set aside.
func TestALeaseShowsWhatWasBefore(t *testing.T) {
	lost := operation.Attempt{ID: attemptID(100), FencingToken: 1, StartedAt: noon, Outcome: operation.Lost, Category: operation.CategoryTransient, Reason: "no outcome was recorded"}
	for _, tt := range []struct {
		name   string
		before func(t *testing.T, db dynamotest.DB, table *dynamo.Table)
		state  operation.State
		log    []operation.Outcome // of what a finish would record
		first  *operation.Attempt
		output bool
		lost   operation.State // where our own lost answer knows less
	}{
		{name: "nothing", before: func(*testing.T, dynamotest.DB, *dynamo.Table) {}, log: []operation.Outcome{operation.Usable}},
		{name: "an ended lease", before: running, state: operation.Running, log: []operation.Outcome{operation.Lost, operation.Usable}, first: &lost},
		{name: "a recorded attempt", before: func(t *testing.T, _ dynamotest.DB, table *dynamo.Table) { finished(t, table, 1, (*dynamo.Table).Retry) },
			state: operation.Pending, log: []operation.Outcome{operation.Transient, operation.Usable}},
		{name: "a claim that was given back", before: func(t *testing.T, _ dynamotest.DB, table *dynamo.Table) {
			must(t, table.Supersede(t.Context(), ending(claimed(t, table, asking(100, 1, 0)), 100, operation.Lost)))
		}, state: operation.Superseded, lost: operation.Pending, log: []operation.Outcome{operation.Usable}},
		{name: "a recorded attempt, and a claim that was given back", before: func(t *testing.T, _ dynamotest.DB, table *dynamo.Table) {
			finished(t, table, 1, (*dynamo.Table).Retry)
			must(t, table.Supersede(t.Context(), ending(claimed(t, table, asking(50, 5, 500)), 50, operation.Lost)))
		}, state: operation.Superseded, lost: operation.Pending, log: []operation.Outcome{operation.Transient, operation.Usable}},
		{name: "a draft that was cancelled, and redriven", before: func(t *testing.T, db dynamotest.DB, table *dynamo.Table) {
			held(t, db, table)
			must(t, table.Cancel(t.Context(), cancellation(100)))
			r := redriving(operation.Failed)
			r.Token = 2
			must(t, table.Redrive(t.Context(), r))
		}, state: operation.Pending, lost: operation.Superseded, output: true, log: []operation.Outcome{operation.Flagged, operation.Usable}},
		{name: "a draft that was set aside, and a worker that died with it", before: func(t *testing.T, db dynamotest.DB, table *dynamo.Table) {
			setAside(t, db, table)
			claimed(t, table, asking(50, 5, 200))
		}, state: operation.Running, output: true, log: []operation.Outcome{operation.Flagged, operation.Lost, operation.Usable}},
		{name: "a draft that was set aside", before: setAside, state: operation.Superseded, output: true, log: []operation.Outcome{operation.Flagged, operation.Usable}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, lostAnswer := range []bool{false, true} {
				t.Run(fmt.Sprintf("answer lost %t", lostAnswer), func(t *testing.T) {
					dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
						table := db.Open(nil)
						tt.before(t, db, table)
						if lostAnswer {
							table = db.Open(&dynamotest.Fault{Target: "W3 ", Applied: true, N: 1})
						}
						l := claimed(t, table, asking(1, 9, 900))
						want := tt.state
						if lostAnswer && tt.lost != "" {
							want = tt.lost
						}
						same(t, "state", want, l.Before.State)
						same(t, "output is there", tt.output, len(l.Before.Output) > 0)
						same(t, "digest is there", tt.output, l.Before.Digest != "")
						var log []operation.Outcome
						for _, a := range l.Log(operation.Attempt{Outcome: operation.Usable}) {
							log = append(log, a.Outcome)
						}
						same(t, "log", tt.log, log)
						if tt.first != nil {
							want := *tt.first
							if lostAnswer { // then nothing but the token is known
								want.ID, want.StartedAt = "", time.Time{}
							}
							same(t, "ended lease", want, l.Log(operation.Attempt{})[0])
						}
						granted := operation.Lease{Key: work, Attempt: attemptID(1), Token: l.Before.Token + 1, Claims: l.Claims, Begun: later(900), Until: later(900).Add(lease), Before: l.Before}
						same(t, "lease", granted, l)
						op := operationOf(t, table)
						same(t, "token and claims", []any{op.Token, op.Claims}, []any{l.Token, l.Claims})
					})
				})
			}
		})
	}
}

// setAside leaves a draft that a newer result overtook.
func setAside(t *testing.T, db dynamotest.DB, table *dynamo.Table) {
	t.Helper()
	held(t, db, table)
	must(t, table.SetAside(t.Context(), settingAside(100)))
}

// A worker whose lease was taken over changes nothing, whatever it writes; and it can tell its own
// commit, though others have moved the operation on, from a lost lease.
func TestAFencedWorkerChangesNothing(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		first := claimed(t, table, asking(1, 1, 0))
		second := claimed(t, table, asking(2, 1, 200))
		stored := snapshot(t, db)
		writes := map[operation.State][]finish{
			operation.Completed: {(*dynamo.Table).Complete}, operation.Review: {(*dynamo.Table).Hold}, operation.Failed: {(*dynamo.Table).Fail},
			operation.Pending: {(*dynamo.Table).Retry, (*dynamo.Table).Pause}, operation.Superseded: {(*dynamo.Table).Supersede},
		}
		for next, all := range writes {
			for _, write := range all {
				f := ending(first, 1, operation.Usable)
				err := write(table, t.Context(), f)
				refused, ok := errors.AsType[*operation.RefusedError](err)
				if !ok || operation.JudgeFinish(refused.Stored, f, next) != operation.LeaseLost {
					t.Errorf("a fenced worker's write to %s met %v", next, err)
				}
			}
		}
		if diff := difference(stored, snapshot(t, db)); diff != "" {
			t.Errorf("a fenced worker changed something (-before +after):\n%s", diff)
		}
		// The second one's retry took effect, its answer was lost, and a third has claimed since.
		f := ending(second, 2, operation.Transient)
		if err := table.Retry(t.Context(), f); err != nil {
			t.Fatal(err)
		}
		claimed(t, table, asking(3, 1, 400))
		err := table.Retry(t.Context(), f)
		refused, ok := errors.AsType[*operation.RefusedError](err)
		if !ok || operation.JudgeFinish(refused.Stored, f, operation.Pending) != operation.Covered {
			t.Errorf("the repeat of a covered write met %v", err)
		}
	})
}

// An item that TTL removed and that was made again has token 1 again: the attempt id tells the lives apart.
func TestTheFirstLifesWorkerIsRefusedInTheSecond(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		first := claimed(t, table, asking(1, 1, 0))
		remove(t, db, "B#shop#test#product:794", "O#product-card@000003#9f2c41d0")
		f := ending(first, 1, operation.Usable)
		err := table.Complete(t.Context(), f)
		refused, ok := errors.AsType[*operation.RefusedError](err)
		if !ok || refused.Stored.State != "" || operation.JudgeFinish(refused.Stored, f, operation.Completed) != operation.LeaseLost {
			t.Errorf("a commit to a removed item met %v", err)
		}
		if second := claimed(t, table, asking(2, 1, 0)); second.Token != first.Token {
			t.Fatalf("tokens %d and %d: the case is not met", first.Token, second.Token)
		}
		if err := table.Complete(t.Context(), f); !refusedAs(operation.Running)(err) {
			t.Errorf("a commit with an equal token met %v", err)
		}
	})
}

// The token never falls, and no two leases share one, whatever happens between them.
func TestTokensOnlyGrow(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		received(t, table, 1)
		last := int64(0)
		for i, do := range []finish{
			(*dynamo.Table).Retry, (*dynamo.Table).Pause, (*dynamo.Table).Supersede, nil, (*dynamo.Table).Fail,
		} {
			c := asking(i, i+1, i*1000)
			c.Limit = 100
			l := claimed(t, table, c)
			if l.Token != last+1 {
				t.Fatalf("token %d after %d", l.Token, last)
			}
			last = l.Token
			if do == nil {
				continue // a worker that died
			}
			if err := do(table, t.Context(), ending(l, i, operation.Transient)); err != nil {
				t.Fatal(err)
			}
		}
		if err := table.Raise(t.Context(), operation.Raise{Key: work, Seen: operation.Failed, Listed: true, Before: operationOf(t, table).Event, Rank: ranked(50), Event: eventID(1)}); err != nil {
			t.Fatal(err)
		}
		if err := table.Redrive(t.Context(), operation.Redrive{Key: work, Seen: operation.Failed, Token: last, Event: eventID(1), WriteID: "r", Now: later(9000), Due: later(9100)}); err != nil {
			t.Fatal(err)
		}
		if l := claimed(t, table, asking(9, 51, 9500)); l.Token != last+1 || l.Claims != 1 {
			t.Errorf("after the redrive token %d, claims %d", l.Token, l.Claims)
		}
	})
}
