package enrich_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"engang/shared/dynamo/dynamotest"
	"engang/shared/inbox"
	"engang/shared/operation"
	"engang/shared/recipe"
	"engang/shared/telemetry"
)

// Of all events that ask for an operation that failed one waits with it, the newest.

// givesWay checks that an event is settled, since a newer one waits in its place, and leaves the table in its time.
func (w *world) givesWay(older, newer inbox.EventID) {
	w.t.Helper()
	ev := w.event(older)
	if ev.State != inbox.Settled || ev.Outcome != inbox.Coalesced || ev.Reason != string(newer) || !ev.ExpiresAt.Equal(w.clock().AddDate(0, 0, 30).Truncate(1e9)) {
		w.t.Errorf("the older event is %s as %s, named after %q, and expires %s; the newer one is %s", ev.State, ev.Outcome, ev.Reason, ev.ExpiresAt, newer)
	}
}

func TestANewerEventWaitsInPlaceOfTheOlderOne(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		first := w.refused(arrival{name: "A", version: one})
		second := w.receive(arrival{name: "A", version: two})
		w.run(second)
		w.givesWay(first, second)
		if op, ev := w.operation("A"), w.event(second); op.Event != second || ev.State != inbox.Parked || len(w.sent.all) != 2 {
			t.Errorf("operation waits with %s, the newer event is %s, %d notices", op.Event, ev.State, len(w.sent.all))
		}
		w.rest()
		w.redrive("A")
		w.run(second)
		w.settled(second, inbox.Completed)
		if w.result() != "about A @ "+two || w.model.count() != 2 {
			t.Errorf("result %s after %d calls", w.result(), w.model.count())
		}
		w.rest()
	})
}

func TestAnOlderEventThatComesLateIsNotParkedBesideTheNewerOne(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		newer := w.refused(arrival{name: "A", version: two})
		late := w.receive(arrival{name: "A", version: one})
		w.run(late)
		w.givesWay(late, newer)
		if len(w.sent.all) != 1 {
			t.Errorf("%d notices tell of one failure", len(w.sent.all))
		}
		w.rest()
	})
}

// A newer event may take over between a worker's look at the operation and its parking.
func TestAnEventIsNotParkedOnWhatWaitsWithANewerOne(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.model.script = []operation.Answer{refusal}
		first, second := w.receive(arrival{name: "A", version: one}), w.receive(arrival{name: "A", version: two})
		w.disturbed(first, "W6 settle", func() { w.run(second) })
		if w.event(first).State != inbox.Received {
			t.Errorf("the event is %s", w.event(first).State)
		}
		w.run(first)
		w.givesWay(first, second)
		w.rest()
	})
}

// The older event may be parked between a newer one's look at it and its W10.
func TestAnEventThatIsParkedMeanwhileIsLookedAtAgain(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.model.script = []operation.Answer{refusal}
		first, second := w.receive(arrival{name: "A", version: one}), w.receive(arrival{name: "A", version: two})
		w.die(first, "W6 settle")
		w.disturbed(second, "W10 raise", func() { w.run(first) })
		if w.event(first).State != inbox.Parked || len(w.sent.all) != 2 {
			t.Errorf("the older event is %s, %d notices", w.event(first).State, len(w.sent.all))
		}
		w.run(second)
		w.givesWay(first, second)
		w.rest()
	})
}

// An older event with several recipes may be parked on another one still: its worker finds out.
func TestAnOlderEventStaysForItsOtherRecipe(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		same := w.applyAs("seo", 1, func(r *recipe.Recipe) {
			field := r.Input.Fields["name"]
			if err := field.From.UnmarshalText([]byte("/id")); err != nil { // the same whatever the name is
				t.Fatal(err)
			}
			r.Input.Fields["name"] = field
		})
		refs := []inbox.RecipeRef{{Name: "card", Version: 1}, same}
		w.model.script = []operation.Answer{refusal, refusal}
		first := w.receive(arrival{name: "A", version: one, recipes: refs})
		w.run(first)
		second := w.receive(arrival{name: "B", version: two, recipes: refs})
		w.run(second)
		if ev := w.event(first); ev.State != inbox.Received || ev.Generation != 1 || !ev.ExpiresAt.IsZero() {
			t.Errorf("the older event is %s in generation %d and expires %s", ev.State, ev.Generation, ev.ExpiresAt)
		}
		w.run(first)
		if ev := w.event(first); ev.State != inbox.Parked || len(ev.Operations) != 1 || ev.Operations[0] != w.operation("A").Key.String() {
			t.Errorf("the older event is %s with %v", ev.State, ev.Operations)
		}
		w.rest()
		w.redrive("A")
		w.run(first)
		w.settled(first, inbox.Superseded) // what was named A: the product has a newer name, and its result
		w.rest()
	})
}

// lostFrom loses all calls of a name but the first ones.
type lostFrom struct {
	call string
	pass int
}

func (l *lostFrom) RoundTrip(r *http.Request) (*http.Response, error) {
	if telemetry.Call(r.Context()) == l.call {
		if l.pass--; l.pass < 0 {
			return nil, dynamotest.ErrLost
		}
	}
	return http.DefaultTransport.RoundTrip(r)
}

// An older event that is gone is no obstacle; one of which nobody knows is.
func TestAnOlderEventMayBeGone(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		first := w.refused(arrival{name: "A", version: one})
		second := w.receive(arrival{name: "A", version: two})
		if err := w.worker(&lostFrom{"read event", 1}).Run(t.Context(), second); !errors.Is(err, dynamotest.ErrLost) || w.operation("A").Event != first {
			t.Errorf("without an answer: %v, the operation waits with %s", err, w.operation("A").Event)
		}
		if err := w.worker(&dynamotest.Fault{Target: "W10 raise", N: dynamotest.Tries}).Run(t.Context(), second); !errors.Is(err, dynamotest.ErrLost) {
			t.Errorf("without an answer to W10: %v", err)
		}
		key := map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "E#" + string(first)}, "sk": &types.AttributeValueMemberS{Value: "EVENT"}}
		if _, err := w.db.Client().DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &w.db.TableName, Key: key}); err != nil {
			t.Fatal(err)
		}
		w.run(second)
		if op, ev := w.operation("A"), w.event(second); op.Event != second || ev.State != inbox.Parked {
			t.Errorf("operation waits with %s, the newer event is %s", op.Event, ev.State)
		}
		w.rest()
	})
}
