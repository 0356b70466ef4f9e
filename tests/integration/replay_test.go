package integration_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"engang/infra/local"
	"engang/infra/local/wire"
	"engang/shared/control"
	"engang/shared/operation"
)

// raised is local.yaml with version 4 of product-card, which says something else.
func raised(t testing.TB) string {
	return edited(t, "    version: 3  ", "    version: 4  ", "You write short, factual product texts", "You write very short, factual product texts")
}

// ran is what a replay of all events says that it did.
func (s *system) ran(args ...string) control.Replayed {
	s.t.Helper()
	var r control.Replayed
	s.done(&r, append([]string{"replay", "--since", "30d", "--rate", "1000/s"}, args...)...)
	r.Reached = nil
	return r
}

// A recipe is raised and the period replayed: a new result of the newest event of each object, and the old one
// stays as it was. The dry run before said so, and what it could cost.
func TestScenario21ReplayedUnderARaisedRecipe(t *testing.T) {
	path := raised(t)
	each(t, local.Options{Speed: calm}, func(t *testing.T, s *system) {
		older := s.accept(s.product(oldChair))
		s.settle()
		newer, other := s.accept(s.product(newTable)), s.accept(s.product(product{ID: 8, Name: "Bench"}))
		s.rest()
		kept := s.items().Results()
		if r := s.ran("--dry-run"); r.Finished != 3 || r.Calls != 0 {
			t.Errorf("before the raise: %+v", r)
		}
		s.apply(path)
		before := s.stored()
		dry := s.ran("--dry-run")
		want := control.Replayed{Kind: "replay", DryRun: true, Events: 3, Finished: 1, WouldRun: 2, Calls: 2, CostUSD: dry.CostUSD}
		if diff := cmp.Diff(want, dry); diff != "" || dry.CostUSD == 0 {
			t.Errorf("dry run: %s", diff)
		}
		if diff := cmp.Diff(before, s.stored()); diff != "" || s.calls() != 3 {
			t.Errorf("a dry run changed something: %s", diff)
		}

		want.DryRun, want.Sent = false, 2
		if diff := cmp.Diff(want, s.ran("--reason", "version 4 is live")); diff != "" {
			t.Errorf("replay: %s", diff)
		}
		s.rest()
		if s.calls() != 5 {
			t.Errorf("%d calls, want 2 more", s.calls())
		}
		results := s.items().Results()
		now := map[string]map[string]string{}
		for _, r := range results {
			now[r["pk"]+r["sk"]] = r
		}
		for _, r := range kept {
			if diff := cmp.Diff(map[string]string(r), now[r["pk"]+r["sk"]]); diff != "" {
				t.Errorf("the old result changed: %s", diff)
			}
		}
		if o := s.object("product:794"); len(results) != 4 || len(o.Results) != 2 || o.Results[1].Recipe != "product-card@4" || o.Results[1].Event != newer {
			t.Errorf("%d results, %+v", len(results), o.Results)
		}
		var cost operation.Money
		for _, id := range []string{newer, other} {
			e := s.event(id)
			if e.Outcome != "completed" || e.Generation != 1 || !slices.Equal(e.Recipes, []string{"product-card@4"}) {
				t.Errorf("event %+v", e)
			}
			for _, op := range s.object(e.Object).Operations {
				if op.Recipe == "product-card@4" {
					cost += op.CostUSD
				}
			}
		}
		if cost == 0 || cost > dry.CostUSD {
			t.Errorf("it cost %s, the dry run said at most %s", cost, dry.CostUSD)
		}
		if e := s.event(older); e.Generation != 0 || !slices.Equal(e.Recipes, []string{"product-card@3"}) {
			t.Errorf("the older event of the object was opened: %+v", e)
		}
		acts := s.records()
		slices.Sort(acts)
		wanted := []string{"replay of " + newer + " because version 4 is live", "replay of " + other + " because version 4 is live"}
		slices.Sort(wanted)
		if diff := cmp.Diff(wanted, acts); diff != "" {
			t.Errorf("recorded %s", diff)
		}
		if r := s.ran("--reason", "once more"); r.Finished != 3 || r.WouldRun != 0 {
			t.Errorf("once more: %+v", r)
		}
	})
}

// A whole period is replayed, with events in every state: no paid call, nothing changed.
func TestScenario24ReplayOfAPeriod(t *testing.T) {
	each(t, local.Options{Speed: calm}, func(t *testing.T, s *system) {
		s.accept(s.product(newTable))
		s.settle()
		s.accept(s.product(oldChair)) // superseded
		echo := newTable
		echo.Modified = "2026-11-29T13:00:00"
		s.accept(s.product(echo))
		s.product(echo) // a duplicate
		s.settle()
		s.fails("refusal", 1)
		s.accept(s.product(product{ID: 8, Name: "Bench"})) // failed
		s.settle()
		s.fails("missing", 1)
		s.accept(s.product(product{ID: 9, Name: "Stool"}))                                        // a draft
		s.accept(s.woo("product.updated", `{"id":10,"date_modified_gmt":"2026-11-29T12:00:00"}`)) // lacks its input
		s.accept(s.contact("msg_1", `{"type":"contact.created","timestamp":"2026-11-29T12:00:00Z","data":{"id":"c_1","email":"ann@example.com","name":"Ann","company":"Acme","notes":"Met."}}`))
		s.rest()
		before, calls, record := s.stored(), s.calls(), s.Record().Counts()
		want := control.Replayed{Kind: "replay", Events: 7, Finished: 4, Waiting: 3}
		if diff := cmp.Diff(want, s.ran("--reason", "to be sure")); diff != "" {
			t.Errorf("replay: %s", diff)
		}
		asked := s.asked(record)
		s.rest()
		if diff := cmp.Diff(before, s.stored()); diff != "" || s.calls() != calls {
			t.Errorf("%d calls more, changed: %s", s.calls()-calls, diff)
		}
		for _, name := range asked {
			if strings.HasPrefix(name, "W") || strings.HasPrefix(name, "send") || name == "audit" {
				t.Errorf("a replay of what is finished made the call %q", name)
			}
		}
		_, stdout, _ := s.command("replay", "--since", "30d", "--reason", "to be sure")
		if stdout != "7 events: 4 finished, nothing to do; 3 wait for a person.\n" {
			t.Errorf("%s", stdout)
		}
		_, stdout, _ = s.command("replay", "--since", "30d", "--endpoint", "woo-shop", "--object", "product:11", "--reason", "to be sure")
		if !strings.HasPrefix(stdout, "no events since ") {
			t.Errorf("%s", stdout)
		}
	})
}

// Page by page, stopped and gone on with: each event runs once. What was opened and not sent is found by the reconciler.
func TestAReplayIsResumable(t *testing.T) {
	path := raised(t)
	onEach(t, func(t *testing.T, begin func(local.Options) *system) {
		f := &broken{call: "send event", phase: wire.Before}
		s := begin(local.Options{Speed: 50, Judge: f.judge})
		for n := range 6 {
			s.accept(s.product(product{ID: 100 + n, Name: fmt.Sprint("Chair ", n)}))
		}
		s.rest()
		s.apply(path)
		var page control.Replayed
		a := s.post("/api/replay", `{"runs":2,"reason":"version 4"}`)
		if err := json.Unmarshal([]byte(a.Body), &page); err != nil || page.Sent != 2 || page.Next == "" {
			t.Fatalf("%d %s", a.Code, a.Body)
		}
		f.on.Store(true)
		a = s.post("/api/replay", `{"runs":2,"reason":"version 4","after":"`+page.Next+`"}`)
		f.on.Store(false)
		if err := json.Unmarshal([]byte(a.Body), &page); err != nil || page.WouldRun != 2 || page.Sent != 0 {
			t.Errorf("%d %s", a.Code, a.Body)
		}
		if r := s.ran("--reason", "version 4", "--after", page.Next); r.Events != 2 || r.Sent != 2 {
			t.Errorf("%+v", r)
		}
		if r := s.ran("--reason", "version 4"); r.Events != 6 || r.WouldRun != 0 || r.Running != 6 {
			t.Errorf("the same from the beginning: %+v", r)
		}
		s.rest()
		generations := map[string]int{}
		for _, e := range s.items().Events() {
			generations[e["gen"]+" "+e["rcp"]]++
		}
		if want := map[string]int{"1 product-card@4": 6}; !maps.Equal(generations, want) || len(s.items().Results()) != 12 || s.calls() != 12 {
			t.Errorf("events %v, %d results, %d calls", generations, len(s.items().Results()), s.calls())
		}
	})
}

// The recipe of one of two is raised: only that one runs again.
func TestOneOfTwoRecipesIsReplayed(t *testing.T) {
	two := twoRecipes(t)
	each(t, local.Options{ConfigFiles: []string{two}, Speed: calm}, func(t *testing.T, s *system) {
		id := s.accept(s.product(oldChair))
		s.rest()
		s.apply(edited(t,
			"product.updated: {recipes: [product-card],", "product.updated: {recipes: [product-card, product-note],",
			"\nrecipes:\n", strings.Replace(strings.Replace(noteRecipe, "version: 1", "version: 2", 1), "one note", "one short note", 1)))
		if code, _, stderr := s.command("replay", "--recipe", "product-note@1", "--dry-run"); code != 2 || !strings.Contains(stderr, "product-note@2") {
			t.Errorf("exit %d %s", code, stderr)
		}
		if r := s.ran("--recipe", "product-card", "--dry-run"); r.Finished != 1 {
			t.Errorf("%+v", r)
		}
		if r := s.ran("--recipe", "product-note@2", "--reason", "shorter"); r.WouldRun != 1 || r.Calls != 1 {
			t.Errorf("%+v", r)
		}
		s.rest()
		operations, results := recipesOf(s.object("product:794"))
		if !slices.Equal(operations, []string{"product-card@3 completed", "product-note@1 completed", "product-note@2 completed"}) || len(results) != 3 || s.calls() != 3 {
			t.Errorf("%d calls, operations %v, results %v", s.calls(), operations, results)
		}
		if e := s.event(id); !slices.Equal(e.Recipes, []string{"product-card@3", "product-note@2"}) {
			t.Errorf("event %+v", e)
		}
	})
}
