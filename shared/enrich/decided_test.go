package enrich_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"engang/shared/inbox"
	"engang/shared/operation"
	"engang/shared/recipe"
)

// cancel stops an operation, as a person does.
func (w *world) cancel(name string, ref ...inbox.RecipeRef) {
	w.t.Helper()
	op := w.operation(name, ref...)
	err := w.table.Cancel(w.t.Context(), operation.Cancellation{Key: op.Key, Token: op.Token, By: "ann", Note: "stop", WriteID: w.id(), Now: w.clock(), ExpiresAt: w.clock().AddDate(1, 0, 0)})
	if err != nil {
		w.t.Fatal(err)
	}
}

// A worker whose lease ended while it kept to the limits makes no call: another one has made it.
func TestLimitsThatTakeLongEndBeforeTheCall(t *testing.T) {
	for _, call := range []string{"take minute", "W28 reserve"} {
		t.Run(call, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				ref := w.applyAs("card", 1, func(r *recipe.Recipe) { r.Limits = recipe.Limits{PerMinute: 60, USDPerDay: 1e12} })
				id := w.receive(arrival{name: "A", version: one, recipes: []inbox.RecipeRef{ref}})
				slow := &hook{call: call, do: func() {
					w.pass(limits.Lease + limits.Skew + time.Second)
					w.run(id)
				}}
				if err := w.worker(slow).Run(t.Context(), id); err == nil || w.model.count() != 1 {
					t.Errorf("%d calls, run: %v", w.model.count(), err)
				}
				if d := w.spent(ref); d.Sum != paid { // what the late one set aside is given back
					t.Errorf("spent %v, want %v", d.Sum, paid)
				}
				w.rest()
			})
		})
	}
}

// No day would ever have room for it: it fails and stands in review, instead of waiting for ever.
func TestACallThatNoDayHasRoomForFails(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		worst := w.worst("A", inbox.RecipeRef{Name: "card", Version: 1})
		ref := w.applyAs("card", 1, func(r *recipe.Recipe) { r.Limits = recipe.Limits{USDPerDay: worst + worst/10} })
		w.model.script = []operation.Answer{bad(operation.Truncated, operation.CategoryUnusableOutput, "length")}
		cut := w.receive(arrival{name: "A", version: one, recipes: []inbox.RecipeRef{ref}})
		w.later(cut)
		w.run(cut) // its second call may have twice the tokens
		big := strings.Repeat("b", 6000)
		large := w.receive(arrival{name: big, version: two, recipes: []inbox.RecipeRef{ref}})
		w.run(large)
		for name, id := range map[string]inbox.EventID{"A": cut, big: large} {
			op := w.operation(name, ref)
			if w.event(id).State != inbox.Parked || op.State != operation.Failed || op.Category != operation.CategorySpendLimit || op.QueuedAt.IsZero() {
				t.Errorf("event %s, operation %s (%s), in review since %v", w.event(id).State, op.State, op.Category, op.QueuedAt)
			}
		}
		if w.model.count() != 1 {
			t.Errorf("%d calls", w.model.count())
		}
		w.rest()
	})
}

// Whoever decides about a kept draft sees why it is one.
func TestAKeptDraftKeepsItsReason(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id := w.receive(arrival{name: "A", version: one})
		w.model.script = []operation.Answer{answer("x")} // too short, under policy auto
		w.run(id)
		before := w.operation("A")
		w.cancel("A")
		w.redrive("A")
		w.run(id)
		if after := w.operation("A"); after.State != operation.Review || after.Reason != before.Reason || after.Category != "" || !strings.Contains(after.Reason, "/summary") {
			t.Errorf("%s, reason %q (%s), was %q", after.State, after.Reason, after.Category, before.Reason)
		}
	})
}

// A category is of a failure: a draft has none, whatever failed before it.
func TestADraftAfterARedriveHasNoCategory(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ref := w.apply("card", 1, recipe.PolicyDraft)
		id := w.refused(arrival{name: "A", version: one, recipes: []inbox.RecipeRef{ref}})
		w.redrive("A", ref)
		w.run(id)
		if op := w.operation("A", ref); op.State != operation.Review || op.Category != "" || op.Reason != "policy draft" {
			t.Errorf("%s, category %q, reason %q", op.State, op.Category, op.Reason)
		}
	})
}

// A letter is good for the failure that it tells: it does not undo what a person decided after a redrive.
func TestAnOldLetterUndoesNoCancellation(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id := w.refused(arrival{name: "A", version: one})
		letter := w.sent.all[0]
		w.redrive("A")
		w.cancel("A") // before any worker came
		w.run(id)
		w.settled(id, inbox.Cancelled)
		if err := w.worker(nil).Redriven(t.Context(), letter); err != nil {
			t.Fatal(err)
		}
		if op := w.operation("A"); op.State != operation.Failed || w.model.count() != 1 {
			t.Errorf("operation %s after %d calls", op.State, w.model.count())
		}
	})
}

// What was cancelled when a cancellation left the token has that of the failure: its letter undoes it no more than one
// of a cancellation with a token of its own.
func TestAnOldLetterUndoesNoCancellationThatLeftTheToken(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id := w.refused(arrival{name: "A", version: one})
		letter := w.sent.all[0]
		w.redrive("A")
		w.cancel("A")
		w.run(id)
		stored := w.items().Operations()[0]
		_, err := w.db.Client().UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: &w.db.TableName, UpdateExpression: aws.String("SET tok = :failed REMOVE fen"),
			Key:                       map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: stored["pk"]}, "sk": &types.AttributeValueMemberS{Value: stored["sk"]}},
			ExpressionAttributeValues: map[string]types.AttributeValue{":failed": &types.AttributeValueMemberN{Value: strconv.FormatInt(letter.Token, 10)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.worker(nil).Redriven(t.Context(), letter); err != nil {
			t.Fatal(err)
		}
		if op := w.operation("A"); op.State != operation.Failed || op.Token != letter.Token || w.model.count() != 1 {
			t.Errorf("operation %s with token %d after %d calls", op.State, op.Token, w.model.count())
		}
	})
}

// A newer save that a person stopped does nobody's work: the older one is not coalesced by it.
func TestACancelledHeadCoalescesNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ref := w.applyAs("card", 1, quiet)
		older := w.save(arrival{name: "A", version: one, recipes: []inbox.RecipeRef{ref}}, true)
		newest := w.save(arrival{name: "B", version: two, recipes: []inbox.RecipeRef{ref}}, true)
		err := w.table.End(t.Context(), inbox.Ending{Event: newest, Outcome: inbox.Cancelled, At: w.clock(), ExpiresAt: w.clock().AddDate(0, 0, 30)})
		if err != nil {
			t.Fatal(err)
		}
		w.run(older)
		w.settled(older, inbox.Completed)
		if w.result() != "about A @ "+one {
			t.Errorf("result %s", w.result())
		}
	})
}

// An event that is parked without an operation is dismissed: its old letter, moved back, opens it no more.
func TestALetterOpensNoDismissedEvent(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id := w.receive(arrival{version: one, key: "k"})
		w.run(id)
		d := inbox.Dismissal{Event: id, By: "ann", Note: "no name", Now: w.clock(), ExpiresAt: w.clock().AddDate(0, 0, 30)}
		if err := w.table.DismissEvent(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if err := w.worker(nil).Redriven(t.Context(), w.sent.all[0]); err != nil {
			t.Fatal(err)
		}
		if ev := w.event(id); ev.State != inbox.Parked || ev.Dismissed == nil || ev.Generation != 0 {
			t.Errorf("%s, generation %d, dismissed %v", ev.State, ev.Generation, ev.Dismissed)
		}
	})
}
