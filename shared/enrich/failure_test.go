package enrich_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"engang/shared/dynamo/dynamotest"
	"engang/shared/enrich"
	"engang/shared/inbox"
	"engang/shared/operation"
)

// remove deletes an operation's item, as TTL does.
func (w *world) remove(k operation.Key) {
	w.t.Helper()
	for _, i := range w.items().Operations() {
		if !strings.HasSuffix(i["sk"], k.Digest) {
			continue
		}
		key := map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: i["pk"]}, "sk": &types.AttributeValueMemberS{Value: i["sk"]}}
		if _, err := w.db.Client().DeleteItem(w.t.Context(), &dynamodb.DeleteItemInput{TableName: &w.db.TableName, Key: key}); err != nil {
			w.t.Fatal(err)
		}
		return
	}
	w.t.Fatalf("no operation %s", k)
}

// redrive opens a failed operation again, as a person does.
func (w *world) redrive(name string, ref ...inbox.RecipeRef) {
	w.t.Helper()
	op := w.operation(name, ref...)
	err := w.table.Redrive(w.t.Context(), operation.Redrive{Key: op.Key, Seen: op.State, Token: op.Token, Event: op.Event, WriteID: w.id(), Now: w.clock(), Due: w.clock()})
	if err != nil {
		w.t.Fatal(err)
	}
}

func TestAPassingFailureIsTriedAgainWithinTheLimit(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.model.script = []operation.Answer{rateLimited, rateLimited}
		id := w.receive(arrival{name: "A", version: one})
		var waits []time.Duration
		for range 2 {
			l := w.later(id)
			waits = append(waits, l.After)
			if early := w.later(id); early.After == 0 || w.model.count() != len(waits) {
				t.Fatalf("claimed before its time: %v, %d calls", early, w.model.count())
			}
			w.pass(l.After)
		}
		w.run(id)
		if waits[0] != time.Second || waits[1] != 2*time.Second { // half of a bound that doubles
			t.Errorf("waits %v", waits)
		}
		if op := w.operation("A"); w.model.count() != 3 || len(op.Attempts) != 3 || op.Claims != 3 {
			t.Errorf("%d calls, %d attempts, %d claims", w.model.count(), len(op.Attempts), op.Claims)
		}
		w.rest()
	})
}

func TestALongWaitGoesThroughTheOpenIndex(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		slow := rateLimited
		slow.RetryAfter = 10 * time.Minute
		w.model.script = []operation.Answer{slow}
		id := w.receive(arrival{name: "A", version: one})
		w.run(id) // the message is deleted
		if ev := w.event(id); !ev.DueAt.Equal(w.clock().Add(10 * time.Minute)) {
			t.Errorf("due %s, now %s", ev.DueAt, w.clock())
		}
		w.run(id) // too early: postponed again
		w.pass(10 * time.Minute)
		w.run(id)
		if w.model.count() != 2 {
			t.Errorf("%d calls", w.model.count())
		}
		w.rest()
	})
}

func TestWhatCannotBeMendedIsParkedAndRedriven(t *testing.T) {
	tests := []struct {
		name     string
		answers  []operation.Answer
		category operation.Category
		reason   string
	}{
		{"attempts used up", []operation.Answer{rateLimited, rateLimited, rateLimited}, operation.CategoryTransient, "3 attempts used up; the last: rate limited"},
		{"refusal", []operation.Answer{refusal}, operation.CategoryUnusableOutput, "refusal"},
		{"cut off twice", []operation.Answer{bad(operation.Truncated, operation.CategoryUnusableOutput, "length"), bad(operation.Truncated, operation.CategoryUnusableOutput, "length")}, operation.CategoryUnusableOutput, "cut off by the length limit twice"},
		{"not the schema", []operation.Answer{{Attempt: answer("").Attempt, Output: []byte(`{"other":1}`)}}, operation.CategoryUnusableOutput, ""},
		{"too large to keep", []operation.Answer{answer(strings.Repeat("x", 257<<10))}, operation.CategoryUnusableOutput, "the output has 263182 bytes, at most 131072 are kept"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				w.model.script = tt.answers
				id := w.receive(arrival{name: "A", version: one})
				for range len(tt.answers) - 1 {
					w.pass(w.later(id).After)
				}
				w.run(id)
				op, ev := w.operation("A"), w.event(id)
				if op.State != operation.Failed || op.Category != tt.category || (tt.reason != "" && op.Reason != tt.reason) || op.Reason == "" {
					t.Errorf("operation is %s, %q, %q", op.State, op.Category, op.Reason)
				}
				if ev.State != inbox.Parked || ev.Reason != op.Reason || ev.Category != string(op.Category) {
					t.Errorf("event is %s, %q, %q", ev.State, ev.Reason, ev.Category)
				}
				if len(w.sent.all) != 1 || w.sent.all[0].Operation != op.Key.String() || w.sent.all[0].Category != string(tt.category) {
					t.Errorf("notices %+v", w.sent.all)
				}
				echo := w.receive(arrival{name: "A", version: two}) // meets the failure: parked too, no call, and a redrive is for it
				w.run(echo)
				calls := w.model.count()
				if w.event(echo).State != inbox.Parked || calls != len(tt.answers) || w.operation("A").Event != echo {
					t.Errorf("echo is %s, %d calls, %s waits", w.event(echo).State, calls, w.operation("A").Event)
				}
				w.rest()
				w.redrive("A")
				w.run(echo)
				if w.result() != "about A @ "+two || w.model.count() != calls+1 {
					t.Errorf("after redrive: result %s, %d calls", w.result(), w.model.count())
				}
				w.rest()
			})
		})
	}
}

func TestATruncatedAnswerGetsOneMoreTryWithALargerCap(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.model.script = []operation.Answer{bad(operation.Truncated, operation.CategoryUnusableOutput, "length")}
		id := w.receive(arrival{name: "A", version: one})
		if l := w.later(id); l.After != 0 {
			t.Errorf("waits %s", l.After)
		}
		w.run(id)
		if a, b := w.model.calls[0].MaxOutputTokens, w.model.calls[1].MaxOutputTokens; b != 2*a {
			t.Errorf("caps %d, %d", a, b)
		}
		w.rest()
	})
}

func TestAPausedProviderBurnsNoAttempt(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		quota := bad(operation.Paused, operation.CategoryProviderPaused, "quota used up")
		w.model.script = []operation.Answer{quota, quota, quota, quota, quota}
		id := w.receive(arrival{name: "A", version: one})
		for range 5 {
			w.run(id) // the message is deleted, the open index brings it back
			if op := w.operation("A"); op.State != operation.Pending || op.Claims != 0 {
				t.Fatalf("operation is %s with %d claims", op.State, op.Claims)
			}
			if ev := w.event(id); ev.Sends != 0 || !ev.DueAt.Equal(w.clock().Add(limits.Pause)) {
				t.Fatalf("event due %s after %d sends", ev.DueAt, ev.Sends)
			}
			w.pass(limits.Pause)
		}
		w.run(id)
		if w.result() != "about A @ "+one {
			t.Errorf("result %s", w.result())
		}
		w.rest()
	})
}

func TestWorkersThatKeepDyingUseUpTheAttempts(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id := w.receive(arrival{name: "A", version: one})
		for range limits.Attempts {
			ctx, kill := context.WithCancel(t.Context())
			w.model.during = kill // dies in the call: nothing is written after it
			if err := w.worker(nil).Run(ctx, id); err == nil {
				t.Fatal("a dead worker reported success")
			}
			if l := w.later(id); l.After < limits.Lease || w.operation("A").State != operation.Running {
				t.Fatalf("a running lease of %s was not waited for: %v", w.operation("A").State, l)
			}
			w.pass(limits.Lease + limits.Skew + time.Second)
		}
		w.run(id)
		op := w.operation("A")
		if op.State != operation.Failed || w.event(id).State != inbox.Parked || w.model.count() != limits.Attempts || len(w.sent.all) != 1 {
			t.Errorf("operation %s, event %s, %d calls, %d notices", op.State, w.event(id).State, w.model.count(), len(w.sent.all))
		}
		if h := op.History(); h[len(h)-1].Outcome != operation.Lost {
			t.Errorf("history %+v", h)
		}
		w.rest()
	})
}

// A worker stalls in its call, another takes over and completes; then the first wakes up.
func TestAFencedWorkerChangesNothingButItsLosingAttempt(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id := w.receive(arrival{name: "A", version: one})
		w.model.script = []operation.Answer{answer("from the stalled worker")}
		w.model.during = func() {
			w.pass(limits.Lease + limits.Skew + time.Second)
			w.run(id)
		}
		err := w.worker(nil).Run(t.Context(), id)
		if _, back := errors.AsType[*enrich.Later](err); !back {
			t.Errorf("the stalled worker: %v, want a message that comes back", err)
		}
		if w.result() != "about A @ "+one || w.model.count() != 2 {
			t.Errorf("result %s, %d calls", w.result(), w.model.count())
		}
		_, losing, _, err := w.table.Object(t.Context(), scope, w.operation("A").Key.Object)
		if err != nil || len(losing) != 1 || losing[0].Attempt.Tokens == nil || losing[0].Attempt.FencingToken != 1 || losing[0].Attempt.CostUSD == 0 {
			t.Errorf("losing attempts %+v, %v", losing, err)
		}
		attempts := w.operation("A").Attempts
		if len(attempts) != 2 || attempts[0].Outcome != operation.Lost || attempts[1].Outcome != operation.Usable || attempts[1].FencingToken != 2 {
			t.Errorf("attempts %+v", attempts)
		}
		w.rest()
	})
}

// Each write of the way to a result, with its request lost and with its answer lost: one result, one
// call, and our own write is never taken for somebody else's.
func TestALostAnswerIsNeverSomebodyElse(t *testing.T) {
	for _, call := range []string{"W3 claim", "W4 complete", "W5 result", "W6 settle", "read event", "read result"} {
		for _, applied := range []bool{false, true} {
			name := call + ", request lost"
			if applied {
				name = call + ", answer lost"
			}
			t.Run(name, func(t *testing.T) {
				each(t, func(t *testing.T, w *world) {
					id := w.receive(arrival{name: "A", version: one})
					fault := &dynamotest.Fault{Target: call, Applied: applied, N: 1}
					if err := w.worker(fault).Run(t.Context(), id); err != nil {
						t.Errorf("run: %v", err)
					}
					if fault.Hits() != 1 {
						t.Fatalf("%d requests were hit", fault.Hits())
					}
					if w.model.count() != 1 || w.result() != "about A @ "+one || len(w.items().Losing()) != 0 {
						t.Errorf("%d calls, result %s, %d losing attempts", w.model.count(), w.result(), len(w.items().Losing()))
					}
					if op := w.operation("A"); len(op.Attempts) != 1 || op.Token != 1 {
						t.Errorf("attempts %+v, token %d", op.Attempts, op.Token)
					}
					w.rest()
				})
			})
		}
	}
}

// The store stays away for all repeats of one write; the next message goes on from what is there.
func TestWorkGoesOnAfterAStoreThatWasAway(t *testing.T) {
	for _, call := range []string{"W3 claim", "W5 result", "W6 settle"} {
		for _, applied := range []bool{false, true} {
			t.Run(call, func(t *testing.T) {
				each(t, func(t *testing.T, w *world) {
					id := w.receive(arrival{name: "A", version: one})
					away := &dynamotest.Fault{Target: call, Applied: applied, N: dynamotest.Tries}
					if err := w.worker(away).Run(t.Context(), id); err == nil && call != "W6 settle" {
						t.Error("a worker without an answer reported success")
					}
					w.pass(limits.Lease + limits.Skew + time.Second)
					w.run(id)
					if w.model.count() != 1 || w.result() != "about A @ "+one {
						t.Errorf("%d calls, result %s", w.model.count(), w.result())
					}
					w.rest()
				})
			})
		}
	}
}

func TestAnEventReopenedMeanwhileIsNotParked(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		first := w.refused(arrival{name: "A", version: one})
		w.redrive("A") // generation 1: open again
		// A worker that read generation 0 would park it now; the store refuses, and the message comes back.
		err := w.table.End(t.Context(), inbox.Ending{Event: first, Generation: 0, Scope: scope, Parked: true, Operations: []string{"product:794/card@1/digest"}, Reason: "old", At: w.clock()})
		if !errors.Is(err, inbox.ErrStale) {
			t.Errorf("an old generation parked the event: %v", err)
		}
		w.run(first)
		w.rest()
	})
}

func TestANoticeThatComesBackIsARedrive(t *testing.T) {
	t.Run("of a failed operation", func(t *testing.T) {
		each(t, func(t *testing.T, w *world) {
			w.refused(arrival{name: "A", version: one})
			for range 2 { // the button can be pressed twice
				if err := w.worker(nil).Redriven(t.Context(), w.sent.all[0]); err != nil {
					t.Fatal(err)
				}
			}
			if w.result() != "about A @ "+one || w.model.count() != 2 {
				t.Errorf("result %s, %d calls", w.result(), w.model.count())
			}
			w.redrivesRecorded(1)
			w.rest()
		})
	})
	t.Run("that fails again opens one budget, however often the notice comes", func(t *testing.T) {
		each(t, func(t *testing.T, w *world) {
			w.model.script = []operation.Answer{refusal, refusal, refusal, refusal, refusal}
			first := w.receive(arrival{name: "A", version: one})
			w.run(first)
			w.run(w.receive(arrival{name: "A", version: two})) // a second notice of the same failure
			for range 3 {
				for _, n := range w.sent.all[:2] {
					if err := w.worker(nil).Redriven(t.Context(), n); err != nil {
						t.Fatal(err)
					}
				}
			}
			if w.model.count() != 2 || len(w.sent.all) != 3 {
				t.Errorf("%d calls, %d notices; want one more call for one redrive", w.model.count(), len(w.sent.all))
			}
			w.redrivesRecorded(1)
			if err := w.worker(nil).Redriven(t.Context(), w.sent.all[2]); err != nil || w.model.count() != 3 { // the new failure's own
				t.Errorf("%v, %d calls", err, w.model.count())
			}
			w.redrivesRecorded(2)
			w.rest()
		})
	})
	t.Run("of an event without an operation", func(t *testing.T) {
		each(t, func(t *testing.T, w *world) {
			id := w.receive(arrival{version: one, key: "k"})
			w.run(id)
			w.apply("card", 1, "auto")
			for range 3 {
				if err := w.worker(nil).Redriven(t.Context(), w.sent.all[0]); err != nil {
					t.Fatal(err)
				}
			}
			if ev := w.event(id); ev.State != inbox.Parked || ev.Generation != 1 || len(w.sent.all) != 2 {
				t.Errorf("event is %s, generation %d, %d notices", ev.State, ev.Generation, len(w.sent.all))
			}
			w.redrivesRecorded(1)
			w.rest()
		})
	})
}
