package enrich_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/config"
	"engang/shared/document"
	"engang/shared/inbox"
	"engang/shared/operation"
	"engang/shared/recipe"
)

// waiting are the items that stand in the review list, by the kind of what they are.
func (w *world) waiting() (events, operations int) {
	for _, i := range w.items() {
		switch {
		case i["oq"] != "review":
		case i["sk"] == "EVENT":
			events++
		default:
			operations++
		}
	}
	return events, operations
}

// A configuration that is taken away while an event waits leaves the event nowhere, if nobody is told.
func TestAnEventWhoseConfigurationStaysAwayIsParked(t *testing.T) {
	gone := []inbox.RecipeRef{{Name: "gone", Version: 9}}
	for _, tt := range []struct {
		name    string
		receive func(w *world) inbox.EventID
		result  string
	}{
		{"its only recipe", func(w *world) inbox.EventID { return w.receive(arrival{name: "A", version: one, recipes: gone}) }, "none"},
		{"one of its recipes", func(w *world) inbox.EventID {
			return w.receive(arrival{name: "A", version: one, recipes: append(gone, inbox.RecipeRef{Name: "card", Version: 1})})
		}, "about A @ " + one},
		{"the endpoint of a batch", func(w *world) inbox.EventID { id, _ := w.batch(2); return id }, "none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				worker := w.worker(nil)
				worker.Parts, worker.Sender = &children{err: config.ErrUnknown}, &queued{}
				id := tt.receive(w)
				for _, wait := range []time.Duration{0, 71 * time.Hour, time.Hour} {
					if ev := w.event(id); ev.State != inbox.Received {
						t.Fatalf("it is %s before %s", ev.State, wait)
					}
					w.pass(wait)
					if err := worker.Run(t.Context(), id); err != nil {
						t.Fatal(err)
					}
				}
				ev := w.event(id)
				events, operations := w.waiting()
				if ev.State != inbox.Parked || ev.Category != "configuration" || !strings.Contains(ev.Reason, "configuration is not there") || events != 1 || operations != 0 || len(w.sent.all) != 1 {
					t.Errorf("%s, %q, %q; %d events and %d operations wait, letters %v", ev.State, ev.Category, ev.Reason, events, operations, w.sent.all)
				}
				if got := w.result(); got != tt.result {
					t.Errorf("result %q", got)
				}
			})
		})
	}
}

// Of two recipes one cannot be worked on, and the other's operation fails: what the one says stands at no operation, so
// that the event itself stands in the list, and stays there when the other is dismissed.
func TestAReasonThatStandsAtNoOperationIsListedWithTheEvent(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		note := w.applyAs("note", 1, func(r *recipe.Recipe) {
			r.Input.Required = []string{"text"}
			from, err := document.ParsePointer("/text")
			if err != nil {
				t.Fatal(err)
			}
			r.Input.Fields["text"] = recipe.Field{From: &from}
		})
		card := inbox.RecipeRef{Name: "card", Version: 1}
		id := w.refused(arrival{name: "A", version: one, recipes: []inbox.RecipeRef{card, note}})
		if events, operations := w.waiting(); events != 1 || operations != 1 {
			t.Fatalf("%d events and %d operations wait", events, operations)
		}
		ev := w.event(id)
		for _, reason := range []string{"refus", "required but missing"} {
			if !strings.Contains(ev.Reason, reason) {
				t.Errorf("reason %q", ev.Reason)
			}
		}
		w.rest()

		op := w.operation("A")
		d := operation.Dismissal{
			Key: op.Key, Token: op.Token, Event: id, Generation: ev.Generation, By: "ann", Note: "known", WriteID: w.id(),
			Now: w.clock(), ExpiresAt: w.clock().AddDate(1, 0, 0), EventExpiresAt: w.clock().AddDate(0, 1, 0),
		}
		if err := w.table.Dismiss(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if events, operations := w.waiting(); events != 1 || operations != 0 {
			t.Errorf("%d events and %d operations wait", events, operations)
		}
		if diff := cmp.Diff(inbox.Parked, w.event(id).State); diff != "" || w.event(id).Dismissed != nil {
			t.Error(diff)
		}
		w.rest()
	})
}
