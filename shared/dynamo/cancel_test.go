package dynamo_test

import (
	"errors"
	"slices"
	"testing"

	"engang/shared/dynamo"
	"engang/shared/dynamo/dynamotest"
	"engang/shared/operation"
)

// stands holds that the operation is as a cancellation with the token that was seen left it.
func stands(t *testing.T, table *dynamo.Table, by string, seen int64) {
	t.Helper()
	op := operationOf(t, table)
	if op.State != operation.Failed || op.Category != operation.CategoryCancelled || op.Decision == nil || op.Decision.By != by || op.Token != seen+1 {
		t.Errorf("operation %+v", op)
	}
}

// A redrive whose answer was lost is made again by whoever does not know; so is one decided on before. What a
// person cancelled meanwhile stays cancelled.
func TestARedriveFromBeforeACancellationDoesNotUndoIt(t *testing.T) {
	for _, tt := range []struct {
		name string
		late func(r *operation.Redrive) // what comes after the cancellation
	}{
		{"the same act again", func(*operation.Redrive) {}},
		{"another one, that looked before", func(r *operation.Redrive) { r.WriteID = writeID(7) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
				failed(t, db, db.Open(nil))
				r := redriving(operation.Failed)
				if err := db.Open(&dynamotest.Fault{Target: "W13", Applied: true, N: dynamotest.Tries}).Redrive(t.Context(), r); !errors.Is(err, dynamotest.ErrLost) {
					t.Fatalf("with every answer lost it met %v", err)
				}
				table := db.Open(nil)
				must(t, table.Cancel(t.Context(), cancellation(1)))
				stored := snapshot(t, db)
				tt.late(&r)
				if err := table.Redrive(t.Context(), r); !refusedAs(operation.Failed)(err) {
					t.Errorf("the late redrive met %v", err)
				}
				if diff := difference(stored, snapshot(t, db)); diff != "" {
					t.Errorf("it changed something (-before +after):\n%s", diff)
				}
				stands(t, table, person(1), 1)

				r.Token, r.WriteID = 2, writeID(8) // who sees the cancellation may undo it
				must(t, table.Redrive(t.Context(), r))
				if l := claimed(t, table, asking(2, 1, 900)); l.Token != 3 || l.Claims != 1 {
					t.Errorf("lease %+v", l)
				}
			})
		})
	}
}

// What one cancellation saw is over for another one, also where the work was redriven in between.
func TestACancellationFromBeforeAnotherIsRefused(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		stopped(t, db, table)
		r := redriving(operation.Failed)
		r.Token = 2
		must(t, table.Redrive(t.Context(), r))
		if err := table.Cancel(t.Context(), cancellation(3)); !refusedAs(operation.Pending)(err) {
			t.Errorf("a cancellation with the token before met %v", err)
		}
		again := cancellation(4)
		again.Token = 2
		must(t, table.Cancel(t.Context(), again))
		stands(t, table, person(4), 2)
		same(t, "fences", []int64{2, 3}, operationOf(t, table).Fences)
	})
}

// An attempt is told of where there was one, and no token that a cancellation took passes for one.
func TestACancellationNeitherMakesNorHidesAnAttempt(t *testing.T) {
	stop := func(token int64) func(*testing.T, *dynamo.Table) {
		return func(t *testing.T, table *dynamo.Table) {
			c := cancellation(60 + int(token))
			c.Token = token
			must(t, table.Cancel(t.Context(), c))
		}
	}
	again := func(token int64) func(*testing.T, *dynamo.Table) {
		return func(t *testing.T, table *dynamo.Table) {
			r := redriving(operation.Failed)
			r.Token = token
			must(t, table.Redrive(t.Context(), r))
		}
	}
	begin := func(seconds int) func(*testing.T, *dynamo.Table) {
		return func(t *testing.T, table *dynamo.Table) { claimed(t, table, asking(40+seconds, 1, seconds)) }
	}
	type steps []func(*testing.T, *dynamo.Table)
	for _, tt := range []struct {
		name  string
		steps steps
		want  []int64 // tokens of the attempts that ended
		lost  []int64 // those of them of which nobody recorded the end
	}{
		{"after a recorded attempt", steps{stop(1)}, []int64{1}, nil},
		{"and redriven", steps{stop(1), again(2)}, []int64{1}, nil},
		{"and cancelled again before anybody claimed it", steps{stop(1), again(2), stop(2), again(3)}, []int64{1}, nil},
		{"while an attempt runs", steps{begin(100), stop(2)}, []int64{1, 2}, []int64{2}},
		{"while an attempt runs, and redriven", steps{begin(100), stop(2), again(3)}, []int64{1, 2}, []int64{2}},
		{"while an attempt runs, twice", steps{begin(100), stop(2), again(3), begin(600), stop(4), again(5)}, []int64{1, 2, 4}, []int64{2, 4}},
		{"while the attempt after one that died runs", steps{begin(100), begin(300), stop(3)}, []int64{1, 2, 3}, []int64{2, 3}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
				table := db.Open(nil)
				sent(t, db, table)
				finished(t, table, 1, (*dynamo.Table).Retry)
				for _, do := range tt.steps {
					do(t, table)
				}
				op := operationOf(t, table)
				tokens, lost := told(op.History())
				same(t, "attempts", tt.want, tokens)
				same(t, "lost attempts", tt.lost, lost)
				if op.State == operation.Failed {
					again(op.Token)(t, table)
				}
				l := claimed(t, db.Open(&dynamotest.Fault{Target: "W3", Applied: true, N: 1}), asking(90, 1, 2000)) // of which less is known
				tokens, lost = told(l.Log(operation.Attempt{Outcome: operation.Usable}))
				same(t, "attempts to store", append(slices.Clone(tt.want), l.Token), tokens)
				same(t, "lost attempts to store", tt.lost, lost)
				next := claimed(t, table, asking(91, 1, 4000))
				tokens, lost = told(next.Log(operation.Attempt{Outcome: operation.Usable}))
				same(t, "attempts to store after a takeover", append(slices.Clone(tt.want), l.Token, next.Token), tokens)
				same(t, "lost attempts to store after a takeover", append(slices.Clone(tt.lost), l.Token), lost)
			})
		})
	}
}

// told are the tokens of attempts, and of those that were lost.
func told(all []operation.Attempt) (tokens, lost []int64) {
	for _, a := range all {
		tokens = append(tokens, a.FencingToken)
		if a.Outcome == operation.Lost {
			lost = append(lost, a.FencingToken)
		}
	}
	return tokens, lost
}
