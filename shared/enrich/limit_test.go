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
	"engang/shared/spend"
)

// worst is the most that one call of a recipe on this name may cost.
func (w *world) worst(name string, ref inbox.RecipeRef) operation.Money {
	w.t.Helper()
	c := w.recipe[ref]
	in, err := c.Extract(map[string]any{"name": name})
	if err != nil {
		w.t.Fatal(err)
	}
	r := c.Recipe()
	return c.WorstCost(w.common.Providers["openai"].Prices[r.Model.Name], in, r.Model.Options.MaxOutputTokens)
}

func (w *world) spent(ref inbox.RecipeRef) spend.Day {
	w.t.Helper()
	d, err := w.table.Spent(w.t.Context(), scope, ref.Name, spend.DayOf(w.clock()))
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

// paid is what one of the model's usual answers costs here: 100 tokens in, 10 out.
const paid = operation.Money(100*400_000 + 10*1_600_000)

func TestOneEventsLimitIsKeptBeforeTheCall(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		plain := inbox.RecipeRef{Name: "card", Version: 1}
		worst := w.worst("A", plain)
		ref := w.applyAs("card", 1, func(r *recipe.Recipe) { r.Limits = recipe.Limits{USDPerEvent: worst + 2*paid - 1} })
		w.model.script = []operation.Answer{rateLimited, rateLimited} // each counted as paid: it says what it used
		id := w.receive(arrival{name: "A", version: one, recipes: []inbox.RecipeRef{ref}})
		for range 2 {
			w.pass(w.later(id).After)
		}
		w.run(id) // the third may cost more than is left
		op := w.operation("A", ref)
		if op.State != operation.Failed || op.Category != operation.CategorySpendLimit || w.model.count() != 2 {
			t.Fatalf("operation %s (%s), %d calls", op.State, op.Category, w.model.count())
		}
		last := op.Attempts[len(op.Attempts)-1]
		if last.Outcome != operation.Stopped || last.Called || !strings.Contains(last.Reason, worst.String()) {
			t.Errorf("attempt %+v", last)
		}
		if ev := w.event(id); ev.State != inbox.Parked || len(w.sent.all) != 1 || w.sent.all[0].Category != "spend limit" {
			t.Errorf("event %s, notices %+v", ev.State, w.sent.all)
		}
		w.redrive("A", ref) // a new budget
		w.run(id)
		w.settled(id, inbox.Completed)
		w.rest()
	})
}

// A worker that died may have paid: its attempt counts with the most that it can have cost.
func TestALostAttemptCountsWithTheMostThatItMayHaveCost(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		worst := w.worst("A", inbox.RecipeRef{Name: "card", Version: 1})
		ref := w.applyAs("card", 1, func(r *recipe.Recipe) { r.Limits = recipe.Limits{USDPerEvent: 2*worst - 1} })
		id := w.receive(arrival{name: "A", version: one, recipes: []inbox.RecipeRef{ref}})
		w.die(id, "model call")
		w.pass(limits.Lease + limits.Skew + time.Second)
		w.run(id)
		if op := w.operation("A", ref); op.State != operation.Failed || op.Category != operation.CategorySpendLimit {
			t.Errorf("operation %s (%s)", op.State, op.Category)
		}
	})
}

func TestADaysLimitIsKeptAcrossWorkersAndWaitsForTheNextDay(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		worst := w.worst("A", inbox.RecipeRef{Name: "card", Version: 1})
		ref := w.applyAs("card", 1, func(r *recipe.Recipe) { r.Limits = recipe.Limits{USDPerDay: worst + paid} })
		refs := []inbox.RecipeRef{ref}
		ids := []inbox.EventID{
			w.receive(arrival{name: "A", version: one, recipes: refs}), w.receive(arrival{name: "B", version: two, recipes: refs}), w.receive(arrival{name: "C", version: three, recipes: refs}),
		}
		w.run(ids[0])
		w.run(ids[1])
		if d := w.spent(ref); d.Sum != 2*paid || len(d.Reserved) != 0 {
			t.Errorf("spent %+v, want %v", d, 2*paid)
		}
		w.run(ids[2]) // what is left is less than it may cost
		next := spend.NextDay(w.clock())
		ev := w.event(ids[2])
		if ev.State != inbox.Received || ev.DueAt.Before(next) || ev.DueAt.After(next.Add(10*time.Minute)) {
			t.Errorf("event %s, due %v; the next day begins %v", ev.State, ev.DueAt, next)
		}
		if op := w.operation("C", ref); w.model.count() != 2 || op.State != operation.Pending || op.Claims != 0 || op.NotBefore.Before(next) {
			t.Errorf("%d calls; operation %s with %d claims, not before %v", w.model.count(), op.State, op.Claims, op.NotBefore)
		}
		w.pass(ev.DueAt.Sub(w.clock()))
		w.run(ids[2])
		w.settled(ids[2], inbox.Completed)
		w.rest()
	})
}

// A worker that dies with money set aside leaves it set aside: the limit is reached early, never late.
func TestAReservationOfADeadWorkerStands(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		worst := w.worst("A", inbox.RecipeRef{Name: "card", Version: 1})
		ref := w.applyAs("card", 1, func(r *recipe.Recipe) { r.Limits = recipe.Limits{USDPerDay: 2*worst - 1} })
		id := w.receive(arrival{name: "A", version: one, recipes: []inbox.RecipeRef{ref}})
		w.die(id, "model call")
		if d := w.spent(ref); d.Sum != worst || len(d.Reserved) != 1 {
			t.Errorf("spent %+v, want %v set aside", d, worst)
		}
		w.pass(limits.Lease + limits.Skew + time.Second)
		w.run(id)
		if w.model.count() != 1 {
			t.Errorf("%d calls: the limit was passed", w.model.count())
		}
		w.open(id, w.clock().Add(limits.Pause)) // most of what is set aside usually comes back: it does not wait for the next day
	})
}

// A result whose usage cannot be read, or cannot be, is a result all the same: what it cost is not known, and the most
// that it can have cost stays counted until the day is over.
func TestAResultOfUnknownCostCountsAsTheDearest(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		worst := w.worst("A", inbox.RecipeRef{Name: "card", Version: 1})
		ref := w.applyAs("card", 1, func(r *recipe.Recipe) { r.Limits = recipe.Limits{USDPerDay: 2*worst - 1} })
		unknown := answer("about A")
		unknown.Tokens = nil
		w.model.script = []operation.Answer{unknown}
		id := w.receive(arrival{name: "A", version: one, recipes: []inbox.RecipeRef{ref}})
		w.run(id)
		w.settled(id, inbox.Completed)
		if d := w.spent(ref); d.Sum != worst {
			t.Errorf("spent %v, want the %v that was set aside", d.Sum, worst)
		}
		w.run(w.receive(arrival{name: "B", version: one, recipes: []inbox.RecipeRef{ref}}))
		if w.model.count() != 1 {
			t.Errorf("%d calls: the limit was passed", w.model.count())
		}
	})
}

// What a call that gave no usage cost is not known: the reservation stands. What the provider refused cost nothing.
func TestWhatACallCostReplacesWhatWasSetAside(t *testing.T) {
	refused, lost := rateLimited, rateLimited
	refused.Tokens, refused.HTTPStatus = nil, 429
	lost.Tokens = nil
	faulty := lost
	faulty.HTTPStatus = 503
	unsent := lost
	unsent.Called = false
	each(t, func(t *testing.T, w *world) {
		ref := w.applyAs("card", 1, func(r *recipe.Recipe) { r.Limits = recipe.Limits{USDPerDay: 1e12, Attempts: 6} })
		worst := w.worst("A", ref)
		var want operation.Money
		for _, tt := range []struct {
			name   string
			answer operation.Answer
			adds   operation.Money
		}{
			{"refused by the provider", refused, 0},
			{"never sent", unsent, 0},
			{"sent, no answer", lost, worst},
			{"a fault of the provider's own", faulty, worst},
		} {
			w.model.script = []operation.Answer{tt.answer}
			id := w.receive(arrival{name: "A", key: tt.name, version: one, recipes: []inbox.RecipeRef{ref}})
			w.pass(w.later(id).After)
			want += tt.adds
			if d := w.spent(ref); d.Sum != want {
				t.Errorf("%s: spent %v, want %v", tt.name, d.Sum, want)
			}
		}
	})
}

func TestCallsAMinuteAreKeptAcrossWorkers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ref := w.applyAs("card", 1, func(r *recipe.Recipe) { r.Limits = recipe.Limits{PerMinute: 2} })
		var ids []inbox.EventID
		for _, name := range []string{"A", "B", "C"} {
			id := w.receive(arrival{name: name, version: one, recipes: []inbox.RecipeRef{ref}})
			w.run(id)
			ids = append(ids, id)
		}
		next := spend.NextMinute(w.clock())
		ev := w.event(ids[2])
		if w.model.count() != 2 || ev.State != inbox.Received || ev.DueAt.Before(next) || ev.DueAt.After(next.Add(time.Minute)) {
			t.Fatalf("%d calls; event %s due %v, the next minute begins %v", w.model.count(), ev.State, ev.DueAt, next)
		}
		w.pass(ev.DueAt.Sub(w.clock()))
		w.run(ids[2])
		w.settled(ids[2], inbox.Completed)
		w.rest()
	})
}

// A recipe that was stored while more calls a minute were taken is kept to as many as the minute's item can count.
func TestMoreCallsAMinuteThanAreCountedWaitForTheNext(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ref := w.applyAs("card", 1, func(r *recipe.Recipe) { r.Limits = recipe.Limits{PerMinute: 100_000} })
		first := w.receive(arrival{name: "A", version: one, recipes: []inbox.RecipeRef{ref}})
		w.run(first)
		w.settled(first, inbox.Completed)
		_, err := w.db.Client().UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: &w.db.TableName, UpdateExpression: aws.String("SET num = :most"), ConditionExpression: aws.String("num = :one"),
			Key: map[string]types.AttributeValue{
				"pk": &types.AttributeValueMemberS{Value: "K#spend#" + scope.Tenant + "#" + scope.Environment + "#card"},
				"sk": &types.AttributeValueMemberS{Value: "M#" + spend.MinuteOf(w.clock())},
			},
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":one": &types.AttributeValueMemberN{Value: "1"}, ":most": &types.AttributeValueMemberN{Value: strconv.Itoa(recipe.MaxPerMinute)},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		id := w.receive(arrival{name: "B", version: one, recipes: []inbox.RecipeRef{ref}})
		w.run(id)
		if ev := w.event(id); w.model.count() != 1 || ev.DueAt.Before(spend.NextMinute(w.clock())) {
			t.Errorf("%d calls; event %s due %v", w.model.count(), ev.State, ev.DueAt)
		}
	})
}

func TestARecipesOwnAttemptLimitCounts(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ref := w.applyAs("card", 1, func(r *recipe.Recipe) { r.Limits = recipe.Limits{Attempts: 1} })
		w.model.script = []operation.Answer{rateLimited}
		w.run(w.receive(arrival{name: "A", version: one, recipes: []inbox.RecipeRef{ref}}))
		if op := w.operation("A", ref); op.State != operation.Failed || w.model.count() != 1 || !strings.HasPrefix(op.Reason, "1 attempts used up") {
			t.Errorf("operation %s after %d calls: %s", op.State, w.model.count(), op.Reason)
		}
	})
}

// What a call cost is by the tier that answered, which need not be the one that was asked for.
func TestACallCostsWhatItsTierCosts(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		prices := w.common.Providers["openai"].Prices
		usual := prices["tiny-2026-01-01"]
		flex := usual
		flex.Input, flex.Output, flex.AsOf = usual.Input/2, usual.Output/2, "2026-11-30"
		usual.Tiers = map[string]operation.Price{"flex": flex}
		prices["tiny-2026-01-01"] = usual
		for name, want := range map[string]operation.Money{"default": paid, "flex": paid / 2} {
			a := answer("about " + name)
			a.ServiceTier = name
			w.model.script = []operation.Answer{a}
			w.run(w.receive(arrival{name: name, version: one}))
			if got := w.operation(name).Attempts[0]; got.CostUSD != want {
				t.Errorf("tier %s cost %v, want %v", name, got.CostUSD, want)
			}
		}
	})
}
