package control_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"engang/shared/control"
	"engang/shared/document"
	"engang/shared/inbox"
	"engang/shared/operation"
	"engang/shared/problem"

	"github.com/google/go-cmp/cmp"
)

func replay() control.Replaying {
	return control.Replaying{By: "ann", Reason: "the prompt was changed"}
}

func dryRun() control.Replaying { return control.Replaying{DryRun: true} }

// named stores the nth event of an object with a body that the recipe takes, and its completed operation.
func (w *works) named(n int, name string, minutes int) inbox.Event {
	e := w.event(n, name, minutes)
	e.Body.Packed = fmt.Appendf(nil, `{"name":"Chair %d"}`, n)
	w.events[e.ID] = e
	w.operation(e, fmt.Sprint("digest", n))
	return w.events[e.ID]
}

// counts are what a page counted, without what it cost.
type counts struct{ Events, Finished, WouldRun, Waiting, Dismissed, Running, Unreadable, Calls, Sent int }

func countsOf(r control.Replayed) counts {
	return counts{r.Events, r.Finished, r.WouldRun, r.Waiting, r.Dismissed, r.Running, r.Unreadable, r.Calls, r.Sent}
}

func (w *works) replay(t *testing.T, r control.Replaying) control.Replayed {
	t.Helper()
	got, err := w.control().Replay(t.Context(), shop, r)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// most is what the call for an event under the live version costs at most.
func (w *works) most(t *testing.T, e inbox.Event) operation.Money {
	t.Helper()
	c, err := w.Recipe(t.Context(), shop, inbox.RecipeRef{Name: card.Name, Version: w.live[card.Name]})
	if err != nil {
		t.Fatal(err)
	}
	doc, err := document.Decode(e.Body.Packed)
	if err != nil {
		t.Fatal(err)
	}
	in, err := c.Extract(doc)
	if err != nil {
		t.Fatal(err)
	}
	common, _ := w.Common(t.Context(), shop)
	return c.WorstCost(common.Providers["openai"].Prices["gpt-5.4-mini-2026-03-17"], in, 100)
}

func TestAReplayUnderTheSameVersionsDoesNothing(t *testing.T) {
	w := newWorks()
	for n := range 20 {
		w.named(n, fmt.Sprint("product:", n), n)
	}
	before := toJSON(t, w.ops) + toJSON(t, w.results)
	for _, r := range []control.Replaying{replay(), dryRun()} {
		got := w.replay(t, r)
		if diff := cmp.Diff(counts{Events: 20, Finished: 20}, countsOf(got)); diff != "" || got.CostUSD != 0 || got.Next != "" || got.DryRun != r.DryRun {
			t.Errorf("%+v: %s", got, diff)
		}
		if oldest := noon.Add(-19 * time.Minute); got.Reached == nil || !got.Reached.Equal(oldest) {
			t.Errorf("reached %v, want %s", got.Reached, oldest)
		}
	}
	if after := toJSON(t, w.ops) + toJSON(t, w.results); after != before || len(w.sent)+len(w.trail) != 0 {
		t.Errorf("something was done: %q, sent %q", w.done(), w.sent)
	}
}

func TestARaisedRecipeRunsForTheNewestEventOfEachObject(t *testing.T) {
	w := newWorks()
	w.named(1, "product:1", 9)
	newest := w.named(2, "product:1", 5)
	only := w.named(3, "product:2", 7)
	w.live["product-card"] = 6 // several were never run

	dry := w.replay(t, dryRun())
	want := counts{Events: 3, Finished: 1, WouldRun: 2, Calls: 2}
	if diff := cmp.Diff(want, countsOf(dry)); diff != "" || len(w.sent)+len(w.trail) != 0 {
		t.Errorf("%s, sent %q", diff, w.sent)
	}
	if most := w.most(t, newest) + w.most(t, only); dry.CostUSD != most || most == 0 {
		t.Errorf("the dry run says at most %s, two calls cost at most %s", dry.CostUSD, most)
	}

	got := w.replay(t, replay())
	want.Sent = 2
	if diff := cmp.Diff(want, countsOf(got)); diff != "" || got.CostUSD != dry.CostUSD {
		t.Errorf("%s; %s, the dry run said %s", diff, got.CostUSD, dry.CostUSD)
	}
	for _, e := range []inbox.Event{newest, only} {
		now := w.events[e.ID]
		if now.State != inbox.Received || len(now.Recipes) != 1 || now.Recipes[0].Version != 6 || now.Generation != 1 || !now.DueAt.Equal(noon.Add(5*time.Minute)) {
			t.Errorf("event %+v", now)
		}
	}
	if diff := cmp.Diff([]string{"shop " + string(newest.ID), "shop " + string(only.ID)}, w.sent); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"ann: replay of " + string(newest.ID) + " because the prompt was changed", "ann: replay of " + string(only.ID) + " because the prompt was changed"}, w.done()); diff != "" {
		t.Error(diff)
	}
	// Asked for once more, nothing is left to do.
	if diff := cmp.Diff(counts{Events: 3, Finished: 1, Running: 2}, countsOf(w.replay(t, replay()))); diff != "" || len(w.sent) != 2 {
		t.Errorf("%s, sent %q", diff, w.sent)
	}
}

// An event that is newer by its object's version is the newest, whenever it came.
func TestTheNewestIsToldByRank(t *testing.T) {
	w := newWorks()
	late := w.named(1, "product:1", 5)  // came later,
	early := w.named(2, "product:1", 9) // but this one is the newer version
	w.change(operation.Key{Scope: shop, Object: early.Object, Recipe: card, Digest: "digest2"}, func(o *operation.Operation) { o.Rank = late.Rank + "9" })
	early.Rank = late.Rank + "9"
	early.Operations = []string{"product:1/product-card@3/digest2"}
	w.events[early.ID] = early
	w.live["product-card"] = 4
	got := w.replay(t, replay())
	if diff := cmp.Diff(counts{Events: 2, Finished: 1, WouldRun: 1, Calls: 1, Sent: 1}, countsOf(got)); diff != "" || w.events[early.ID].State != inbox.Received {
		t.Errorf("%s, sent %q", diff, w.sent)
	}
	// A result that a newer event left, whose operation is not kept any more, counts too.
	w = newWorks()
	old := w.named(1, "product:1", 5)
	w.ops, w.results[0].Rank = nil, old.Rank+"9"
	w.live["product-card"] = 4
	if diff := cmp.Diff(counts{Events: 1, Finished: 1}, countsOf(w.replay(t, replay()))); diff != "" {
		t.Error(diff)
	}
}

func TestWhatAnEventIsCountedAs(t *testing.T) {
	event := func(change func(w *works, e *inbox.Event)) func(w *works) {
		return func(w *works) {
			e := w.named(1, "product:1", 5)
			change(w, &e)
			w.events[e.ID] = e
		}
	}
	outcome := func(how inbox.Outcome) func(w *works) {
		return event(func(_ *works, e *inbox.Event) { e.Outcome = how })
	}
	review := func(state operation.State) func(w *works) {
		return event(func(w *works, e *inbox.Event) {
			e.Outcome = inbox.InReview
			w.ops[0].State = state
		})
	}
	failed := func(change func(o *operation.Operation)) func(w *works) {
		return func(w *works) { w.change(w.fail(w.named(1, "product:1", 5), "9f").Key, change) }
	}
	for _, c := range []struct {
		name        string
		prepare     func(w *works)
		same, other counts // under the same version, and under a raised one
	}{
		{"completed", outcome(inbox.Completed), counts{Finished: 1}, counts{WouldRun: 1, Calls: 1}},
		{"superseded, and the newest since", outcome(inbox.Superseded), counts{Finished: 1}, counts{WouldRun: 1, Calls: 1}},
		{"rejected", outcome(inbox.Rejected), counts{Finished: 1}, counts{WouldRun: 1, Calls: 1}},
		{"cancelled", outcome(inbox.Cancelled), counts{Finished: 1}, counts{Finished: 1}},
		{"of no object", event(func(_ *works, e *inbox.Event) { e.Object.Kind, e.Object.Value = "", "" }), counts{Finished: 1}, counts{Finished: 1}},
		{"of no recipe", event(func(_ *works, e *inbox.Event) { e.Recipes = nil }), counts{Finished: 1}, counts{Finished: 1}},
		{"a draft that waits", review(operation.Review), counts{Waiting: 1}, counts{WouldRun: 1, Calls: 1}},
		{"a draft that was approved", review(operation.Completed), counts{Finished: 1}, counts{WouldRun: 1, Calls: 1}},
		{"open", event(func(_ *works, e *inbox.Event) { e.State = inbox.Received }), counts{Running: 1}, counts{Running: 1}},
		{"parked with a failed operation", failed(func(*operation.Operation) {}), counts{Waiting: 1}, counts{Waiting: 1}},
		{"parked, and its operation is done since", failed(func(o *operation.Operation) { o.State = operation.Completed }), counts{Finished: 1}, counts{Finished: 1}},
		{"parked, and its operation was dismissed", failed(func(o *operation.Operation) { o.Dismissed = &operation.Decision{} }), counts{Dismissed: 1}, counts{Dismissed: 1}},
		{"parked, and its operation was cancelled", failed(func(o *operation.Operation) { o.Category = operation.CategoryCancelled }), counts{Finished: 1}, counts{Finished: 1}},
		{"parked alone", func(w *works) { w.park(w.named(1, "product:1", 5)) }, counts{Waiting: 1}, counts{Waiting: 1}},
		{"parked alone, and dismissed", func(w *works) {
			e := w.park(w.named(1, "product:1", 5))
			e.Dismissed = &inbox.Dismissed{}
			w.events[e.ID] = e
		}, counts{Dismissed: 1}, counts{Dismissed: 1}},
		{"without its name", event(func(_ *works, e *inbox.Event) { e.Body.Packed = []byte(`{"title":"Chair"}`) }), counts{Finished: 1}, counts{WouldRun: 1}},
		{"a body that is not there", event(func(w *works, e *inbox.Event) { e.Body.Key, w.badBody["raw/x"] = "raw/x", true }), counts{Finished: 1}, counts{Unreadable: 1}},
		{"a body that is no JSON", event(func(_ *works, e *inbox.Event) { e.Body.Packed = []byte(`<html>`) }), counts{Finished: 1}, counts{Unreadable: 1}},
	} {
		for version, want := range map[int]counts{3: c.same, 4: c.other} {
			w := newWorks()
			c.prepare(w)
			w.live["product-card"] = version
			want.Events = 1
			if diff := cmp.Diff(want, countsOf(w.replay(t, dryRun()))); diff != "" {
				t.Errorf("%s, version %d live: %s", c.name, version, diff)
			}
			if want.Sent = want.WouldRun; want.Sent > 0 {
				w.live["product-card"] = version
			}
			if diff := cmp.Diff(want, countsOf(w.replay(t, replay()))); diff != "" || len(w.trail) != want.WouldRun {
				t.Errorf("%s, version %d live, no dry run: %s, recorded %q", c.name, version, diff, w.done())
			}
		}
	}
}

// What was done under the raised version already, for another event, costs no call.
func TestADoneOperationIsNotCountedAsACall(t *testing.T) {
	for state, calls := range map[operation.State]int{
		operation.Completed: 0, operation.Review: 0, operation.Failed: 0, operation.Rejected: 0,
		operation.Pending: 1, operation.Running: 1, operation.Superseded: 1,
	} {
		w := newWorks()
		e := w.named(1, "product:1", 5)
		w.live["product-card"] = 4
		raised := inbox.RecipeRef{Name: "product-card", Version: 4}
		compiled, err := w.Recipe(t.Context(), shop, raised)
		if err != nil {
			t.Fatal(err)
		}
		input, err := compiled.Extract(map[string]any{"name": "Chair 1"})
		if err != nil {
			t.Fatal(err)
		}
		w.ops = append(w.ops, operation.Operation{Key: operation.Key{Scope: shop, Object: e.Object, Recipe: raised, Digest: input.Digest}, State: state})
		if got := w.replay(t, dryRun()); got.WouldRun != 1 || got.Calls != calls || (got.CostUSD > 0) != (calls > 0) {
			t.Errorf("%s: %+v", state, got)
		}
	}
}

func TestAReplayIsOfWhatWasChosen(t *testing.T) {
	w := newWorks()
	w.named(1, "product:1", 5)
	e := w.named(2, "product:2", 6)
	e.Endpoint, e.Recipes = "crm", []inbox.RecipeRef{{Name: "contact-note", Version: 1}, card}
	w.events[e.ID] = e
	w.live["contact-note"] = 2
	for _, c := range []struct {
		name string
		r    control.Replaying
		want counts
	}{
		{"all", control.Replaying{}, counts{Events: 2, Finished: 1, WouldRun: 1, Calls: 1}},
		{"an endpoint", control.Replaying{Endpoint: "woo-shop"}, counts{Events: 1, Finished: 1}},
		{"an object", control.Replaying{Object: "product:2"}, counts{Events: 1, WouldRun: 1, Calls: 1}},
		{"a recipe", control.Replaying{Recipe: "contact-note"}, counts{Events: 1, WouldRun: 1, Calls: 1}},
		{"its live version", control.Replaying{Recipe: "contact-note@2"}, counts{Events: 1, WouldRun: 1, Calls: 1}},
		{"a recipe that was not raised", control.Replaying{Recipe: "product-card"}, counts{Events: 2, Finished: 2}},
		{"a time", control.Replaying{Span: control.Span{Until: noon.Add(-330 * time.Second)}}, counts{Events: 1, WouldRun: 1, Calls: 1}},
	} {
		c.r.DryRun = true
		if diff := cmp.Diff(c.want, countsOf(w.replay(t, c.r))); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	// Only the recipe that was raised, and chosen, gets another version.
	w.live["product-card"] = 4
	w.replay(t, control.Replaying{Recipe: "contact-note", By: "ann", Reason: "why"})
	if diff := cmp.Diff([]inbox.RecipeRef{{Name: "contact-note", Version: 2}, card}, w.events[e.ID].Recipes); diff != "" {
		t.Error(diff)
	}
	w.live["product-card"], w.live["contact-note"] = 2, 0 // went back, and is not live any more
	if diff := cmp.Diff(counts{Events: 2, Finished: 1, Running: 1}, countsOf(w.replay(t, control.Replaying{DryRun: true}))); diff != "" {
		t.Errorf("a lower version: %s", diff)
	}
	w.live["product-card"], w.live["contact-note"] = 4, 2
	for _, r := range []control.Replaying{{Object: "chair"}, {Recipe: "nothing"}, {Recipe: "contact-note@1"}, {Recipe: "@2"}} {
		r.DryRun = true
		if _, err := w.control().Replay(t.Context(), shop, r); !errors.Is(err, problem.ErrQuery) {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

// A page opens a bounded number of events; its cursor goes on behind the last one, and nothing is done twice.
func TestAReplayGoesOnWhereItEnded(t *testing.T) {
	w := newWorks()
	for n := range 23 {
		w.named(n, fmt.Sprint("product:", n), n)
	}
	w.live["product-card"] = 4
	var sum counts
	pages, r := 0, replay()
	r.Runs = 5
	for {
		got := w.replay(t, r)
		if pages++; pages == 2 { // the answer of a page is lost: it is asked for again
			got = w.replay(t, r)
		}
		if got.WouldRun > 5 {
			t.Errorf("page %d opened %d", pages, got.WouldRun)
		}
		sum.Events, sum.Running, sum.WouldRun, sum.Sent = sum.Events+got.Events, sum.Running+got.Running, sum.WouldRun+got.WouldRun, sum.Sent+got.Sent
		if r.After = got.Next; got.Next == "" {
			break
		}
	}
	if diff := cmp.Diff(counts{Events: 23, Running: 5, WouldRun: 18, Sent: 18}, sum); diff != "" || len(w.sent) != 23 {
		t.Errorf("%d pages: %s", pages, diff)
	}
	for n := range control.MaxRuns {
		w.named(100+n, fmt.Sprint("product:", 100+n), 100+n)
	}
	w.live["product-card"] = 5
	r = replay()
	r.Runs = 1000
	if got := w.replay(t, r); got.WouldRun != control.MaxRuns || got.Next == "" {
		t.Errorf("one page opened %d", got.WouldRun)
	}
	r = replay()
	r.Limit = 10
	if got := w.replay(t, r); got.Events != 10 || got.Next == "" {
		t.Errorf("%+v", got)
	}
	if _, err := w.control().Replay(t.Context(), shop, control.Replaying{DryRun: true, Span: control.Span{After: "elsewhere"}}); !errors.Is(err, control.ErrCursor) {
		t.Error(err)
	}
}

// A hundred thousand events: every page is bounded, and each event is counted once.
func TestAReplayOfAHundredThousandEvents(t *testing.T) {
	const n = 100_000
	w := newWorks()
	keys := make([]string, n) // the newest first
	for i := range n {
		at := noon.Add(-time.Duration(i) * time.Second)
		e := inbox.Event{ID: inbox.EventID(fmt.Sprintf("evt_%016d", i)), Scope: shop, Endpoint: "woo-shop", ReceivedAt: at, State: inbox.Settled, Outcome: inbox.Completed, Recipes: []inbox.RecipeRef{card}}
		w.events[e.ID] = e
		keys[i] = fmt.Sprintf("%013d#%s", at.UnixMilli(), e.ID)
	}
	w.listed = keys
	var sum counts
	r, pages := replay(), 0
	for {
		got := w.replay(t, r)
		if pages++; got.Events > control.MaxLimit {
			t.Fatalf("a page of %d events", got.Events)
		}
		sum.Events, sum.Finished = sum.Events+got.Events, sum.Finished+got.Finished
		if r.After = got.Next; got.Next == "" {
			break
		}
	}
	if diff := cmp.Diff(counts{Events: n, Finished: n}, sum); diff != "" || pages < n/control.MaxLimit || len(w.sent)+len(w.trail) != 0 {
		t.Errorf("%d pages: %s", pages, diff)
	}
}

func TestAReplayMeetsWhatOthersDo(t *testing.T) {
	w := newWorks()
	e := w.named(1, "product:1", 5)
	w.live["product-card"] = 4
	w.before = func(w *works) { w.open(e.ID, noon) } // another replay was faster
	if diff := cmp.Diff(counts{Events: 1, Running: 1}, countsOf(w.replay(t, replay()))); diff != "" || len(w.sent) != 0 {
		t.Errorf("%s, sent %q", diff, w.sent)
	}
	w = newWorks()
	e = w.named(1, "product:1", 5)
	w.live["product-card"] = 4
	w.sendErr = errDownstairs
	if diff := cmp.Diff(counts{Events: 1, WouldRun: 1, Calls: 1}, countsOf(w.replay(t, replay()))); diff != "" || w.events[e.ID].State != inbox.Received {
		t.Errorf("the queue is down: %s", diff)
	}
	w = newWorks()
	w.named(1, "product:1", 5)
	w.live["product-card"] = 4
	w.noAudit = errDownstairs
	if _, err := w.control().Replay(t.Context(), shop, replay()); !errors.Is(err, errDownstairs) || len(w.sent) != 0 {
		t.Errorf("nothing can be recorded: %v, sent %q", err, w.sent)
	}
	for want, r := range map[error]control.Replaying{control.ErrReason: {By: "ann"}, problem.ErrIdentity: {Reason: "why"}} {
		if _, err := w.control().Replay(t.Context(), shop, r); !errors.Is(err, want) {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

func TestAReplayOfNothingSaysSo(t *testing.T) {
	got := newWorks().replay(t, replay())
	if diff := cmp.Diff(control.Replayed{Kind: "replay"}, got); diff != "" {
		t.Error(diff)
	}
}
