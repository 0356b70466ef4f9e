package enrich_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"engang/shared/dynamo/dynamotest"
	"engang/shared/inbox"
	"engang/shared/operation"
	"engang/shared/recipe"
	"engang/shared/telemetry"
)

// These are single orders of writes, and single rows of what a refusal means, that no other test comes to.

// Whether a result is newer is asked under the lease: an operation that waits for another try is given back with it.
func TestAnOvertakenOperationDoesNotWaitForEver(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.model.script = []operation.Answer{rateLimited}
		older := w.receive(arrival{name: "A", version: one})
		w.later(older)
		w.run(w.receive(arrival{name: "B", version: two}))
		w.pass(limits.BackoffMax)
		w.run(older)
		w.settled(older, inbox.Superseded)
		if op := w.operation("A"); op.State != operation.Superseded {
			t.Errorf("its event is settled, and the operation is %s", op.State)
		}
		w.rest()
	})
}

// What an event came to is told by whose result stands.
func TestTheOutcomeIsWhoseResultStands(t *testing.T) {
	t.Run("a newer one came while the call was under way", func(t *testing.T) {
		each(t, func(t *testing.T, w *world) {
			older := w.receive(arrival{name: "A", version: one})
			w.model.during = func() { w.run(w.receive(arrival{name: "B", version: two})) }
			w.run(older)
			w.settled(older, inbox.Superseded)
			if w.result() != "about B @ "+two {
				t.Errorf("result %s", w.result())
			}
			w.rest()
		})
	})
	t.Run("our own stands, and nobody said so", func(t *testing.T) {
		each(t, func(t *testing.T, w *world) {
			id := w.receive(arrival{name: "A", version: one})
			if err := w.worker(&dynamotest.Fault{Target: "W5 result", Applied: true, N: dynamotest.Tries}).Run(t.Context(), id); err == nil {
				t.Error("a worker without an answer reported success")
			}
			w.run(id)
			w.settled(id, inbox.Completed)
			w.rest()
		})
	})
}

// A commit is repeated as what it was: when every answer of the first is lost, the second one knows it.
func TestACommitIsRepeatedUnderItsOwnName(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id := w.receive(arrival{name: "A", version: one})
		w.model.script = []operation.Answer{answer("paid for")}
		if err := w.worker(&dynamotest.Fault{Target: "W4 complete", Applied: true, N: dynamotest.Tries}).Run(t.Context(), id); err != nil {
			t.Errorf("run: %v", err)
		}
		w.settled(id, inbox.Completed)
		w.rest()
	})
}

// crash works on an event with a worker that is gone at its first call of this name.
func (w *world) crash(id inbox.EventID, call string) {
	w.t.Helper()
	ctx, kill := context.WithCancel(w.t.Context())
	defer kill()
	if err := w.worker(killing{call, kill, &dynamotest.Fault{Target: call, N: -1}}).Run(ctx, id); err == nil {
		w.t.Fatalf("the worker lived through %s", call)
	}
}

// killing ends a worker before a call.
type killing struct {
	call string
	kill func()
	next http.RoundTripper
}

func (k killing) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasPrefix(telemetry.Call(r.Context()), k.call) {
		k.kill()
	}
	return k.next.RoundTrip(r)
}

// An event is settled behind its operation: a crash between leaves it open, and never an operation that nobody
// comes back for. A result is written behind the commit: else the output of a worker that is fenced would stand.
func TestAnEventIsOpenUntilItsOperationIsAtRest(t *testing.T) {
	for _, tt := range []struct {
		call   string
		policy recipe.Policy
		newer  bool // has its result already
		state  operation.State
	}{
		{"W16 draft", recipe.PolicyDraft, false, operation.Review},
		{"W8 supersede", recipe.PolicyAuto, true, operation.Superseded},
		{"W4 complete", recipe.PolicyAuto, false, operation.Completed},
		{"W5 result", recipe.PolicyAuto, false, operation.Completed},
	} {
		t.Run(tt.call, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				ref := w.apply("card", 1, tt.policy)
				id := w.receive(arrival{name: "A", version: one})
				if tt.newer {
					w.run(w.receive(arrival{name: "B", version: two}))
				}
				w.crash(id, tt.call)
				if ev := w.event(id); ev.State != inbox.Received {
					t.Fatalf("the event is %s, %s; its operation %s", ev.State, ev.Outcome, w.operation("A", ref).State)
				}
				if op := w.operation("A", ref); op.State == operation.Running && !tt.newer && w.result() != "none" {
					t.Errorf("the result stands before its output is committed: %s", w.result())
				}
				w.pass(limits.Lease + limits.Skew + time.Second)
				w.run(id)
				if op := w.operation("A", ref); op.State != tt.state {
					t.Errorf("operation %s, want %s", op.State, tt.state)
				}
				w.rest()
			})
		})
	}
}

// deaf is a dead-letter queue that takes nothing.
type deaf struct{}

func (deaf) Notify(context.Context, inbox.Notice) error { return errors.New("unavailable") }

func TestAnEventIsNotParkedWithoutItsNotice(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.model.script = []operation.Answer{refusal}
		id := w.receive(arrival{name: "A", version: one})
		worker := w.worker(nil)
		worker.Notices = deaf{}
		if err := worker.Run(t.Context(), id); err == nil || w.event(id).State != inbox.Received {
			t.Errorf("run: %v, the event is %s, and nobody was told", err, w.event(id).State)
		}
		w.run(id)
		if w.event(id).State != inbox.Parked || len(w.sent.all) != 1 {
			t.Errorf("the event is %s, notices %v", w.event(id).State, w.sent.all)
		}
		w.rest()
	})
}

// What was refused, or stopped, waits for the newest event that asked, for whoever opens it again.
func TestWhatAPersonStoppedWaitsForTheNewestEvent(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ref := w.apply("card", 1, recipe.PolicyDraft)
		refs := []inbox.RecipeRef{ref}
		for name, end := range map[string]struct {
			decide func(op operation.Operation) error
			how    inbox.Outcome
		}{
			"rejected": {func(op operation.Operation) error {
				return w.table.Reject(t.Context(), operation.Rejection{Key: op.Key, Digest: op.Digest, By: "ann", Note: "no", WriteID: w.id(), Now: w.clock()})
			}, inbox.Rejected},
			"cancelled": {func(op operation.Operation) error {
				return w.table.Cancel(t.Context(), operation.Cancellation{Key: op.Key, Token: op.Token, By: "ann", Note: "no", WriteID: w.id(), Now: w.clock(), ExpiresAt: w.clock().AddDate(1, 0, 0)})
			}, inbox.Cancelled},
		} {
			w.run(w.receive(arrival{name: name, version: one, recipes: refs}))
			if err := end.decide(w.operation(name, ref)); err != nil {
				t.Fatal(err)
			}
			calls := w.model.count()
			newer := w.receive(arrival{name: name, version: two, recipes: refs})
			w.run(newer)
			w.settled(newer, end.how)
			if op := w.operation(name, ref); op.Event != newer || op.Rank != w.event(newer).Rank || w.model.count() != calls {
				t.Errorf("%s: it waits for %s, want %s; %d calls", name, op.Event, newer, w.model.count()-calls)
			}
		}
		w.rest()
	})
}

// An operation that is opened again while an event takes notice of its failure is worked on for that event.
func TestANoticeOfAFailureMeetsARedrive(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		first := w.refused(arrival{name: "A", version: one})
		second := w.receive(arrival{name: "A", version: two})
		w.disturbed(second, "W10 raise", func() { w.redrive("A") })
		if w.event(second).State != inbox.Received {
			t.Errorf("the event is %s", w.event(second).State)
		}
		w.run(second)
		w.settled(second, inbox.Completed)
		w.run(first)
		w.rest()
	})
}

// Of two that see the same probe time one tries; the other waits for what comes of it, and the message is done with.
func TestWhoMayNotProbeWaits(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.model.script = []operation.Answer{quota, quota}
		first, second := w.receive(arrival{name: "A", version: one}), w.receive(arrival{name: "B", version: two})
		w.run(first)
		w.pass(limits.Pause)
		if err := w.worker(&hook{call: "W25 probe", do: func() { w.run(first) }}).Run(t.Context(), second); err != nil {
			t.Errorf("the one that may not probe: %v", err)
		}
		w.open(second, w.clock().Add(limits.Pause))
		if w.model.count() != 2 {
			t.Errorf("%d calls", w.model.count())
		}
		w.pass(limits.Pause)
		away := &dynamotest.Fault{Target: "W25 probe", N: dynamotest.Tries}
		if err := w.worker(away).Run(t.Context(), second); !errors.Is(err, dynamotest.ErrLost) {
			t.Errorf("without an answer: %v, want a message that comes back", err)
		}
		w.run(second)
		w.settled(second, inbox.Completed)
	})
}

// An event that is gone does nobody's work, though it is the head still.
func TestAHeadThatIsGoneCoalescesNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		refs := []inbox.RecipeRef{w.applyAs("card", 1, quiet)}
		older := w.save(arrival{name: "A", version: one, recipes: refs}, true)
		newest := w.save(arrival{name: "B", version: two, recipes: refs}, true)
		key := map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "E#" + string(newest)}, "sk": &types.AttributeValueMemberS{Value: "EVENT"}}
		if _, err := w.db.Client().DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &w.db.TableName, Key: key}); err != nil {
			t.Fatal(err)
		}
		w.run(older)
		w.settled(older, inbox.Completed)
	})
}

// noting is a transport that notes all calls.
type noting struct{ calls []string }

func (n *noting) RoundTrip(r *http.Request) (*http.Response, error) {
	n.calls = append(n.calls, telemetry.Call(r.Context()))
	return http.DefaultTransport.RoundTrip(r)
}

func TestWithoutAQuietPeriodNoHeadIsRead(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id, n := w.receive(arrival{name: "A", version: one}), &noting{}
		if err := w.worker(n).Run(t.Context(), id); err != nil || slices.Contains(n.calls, "read head") || !slices.Contains(n.calls, "read result") {
			t.Errorf("run: %v, calls %v", err, n.calls)
		}
	})
}

// A notice that comes back before its event was parked is no fault; one that cannot be acted on comes again.
func TestANoticeThatComesBackBeforeTheParking(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id := w.receive(arrival{key: "flawed", version: one, flaw: "no id"})
		n := inbox.Notice{Event: id, Scope: scope, Reason: "no id", Category: string(operation.CategoryInvalidInput)}
		if err := w.worker(nil).Redriven(t.Context(), n); err != nil || w.event(id).State != inbox.Parked || w.event(id).Generation != 0 {
			t.Errorf("%v, event %+v", err, w.event(id))
		}
		if err := w.worker(&dynamotest.Fault{Target: "W13 redrive", N: dynamotest.Tries}).Redriven(t.Context(), n); !errors.Is(err, dynamotest.ErrLost) {
			t.Errorf("without an answer: %v", err)
		}
	})
}

// A part that is open may never have been sent; one whose key another content has is recorded for a person.
func TestPartsThatAreThereAlready(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id, parts := w.batch(3)
		unsent, other := parts.events[0], parts.events[1]
		unsent.WriteID, other.WriteID, other.Digest = "another", "another", "another content"
		for _, ev := range []inbox.Event{unsent, other} {
			if _, err := w.table.Receive(t.Context(), ev); err != nil {
				t.Fatal(err)
			}
		}
		sent := &queued{}
		worker := w.worker(nil)
		worker.Parts, worker.Sender = parts, sent
		if err := worker.Run(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if want := []inbox.EventID{unsent.ID, parts.events[2].ID}; !slices.Equal(sent.ids, want) {
			t.Errorf("sent %v, want %v", sent.ids, want)
		}
		_, _, conflicts, err := w.table.Deliveries(t.Context(), other.ID)
		if err != nil || len(conflicts) != 1 || conflicts[0].Digest != parts.events[1].Digest {
			t.Errorf("conflicts %v, %v", conflicts, err)
		}
	})
}

// Each reason is told once, in the order in which it came up.
func TestAReasonIsToldOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		refs := []inbox.RecipeRef{{Name: "card", Version: 1}, w.apply("note", 1, recipe.PolicyAuto), w.apply("tags", 1, recipe.PolicyAuto)}
		other := bad(operation.Unusable, operation.CategoryUnusableOutput, "the schema")
		w.model.script = []operation.Answer{refusal, other, refusal}
		id := w.receive(arrival{name: "A", version: one, recipes: refs})
		w.run(id)
		if ev := w.event(id); ev.State != inbox.Parked || ev.Reason != "refusal; the schema" || len(ev.Operations) != 3 {
			t.Errorf("event %s for %q, operations %v", ev.State, ev.Reason, ev.Operations)
		}
		w.rest()
	})
}
