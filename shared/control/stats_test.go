package control_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"engang/shared/config"
	"engang/shared/control"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/spend"
)

func TestStatsCountEachOnItsOwn(t *testing.T) {
	m := newMemory()
	desk := m.pausing(t)
	done := m.event(1, "product:1", 30)
	m.seen[done.ID] = inbox.Seen{Count: 2, LastAt: noon}
	m.operation(done, "aa") // one lost attempt, one paid for
	echo := m.event(2, "product:1", 20)
	other := m.event(3, "contact:1", 26*60)
	other.Endpoint, other.Recipes = "crm", []inbox.RecipeRef{{Name: "tags", Version: 1}, card}
	m.events[other.ID] = other
	draft := m.working(other, "bb", operation.Review)
	m.find(draft.Key).QueuedAt = noon
	failed := m.working(other, "cc", operation.Failed)
	m.find(failed.Key).QueuedAt = noon
	m.working(other, "dd", operation.Failed) // dismissed: it stands in no list
	m.opened(4, "product:4", 10)
	parked := m.event(5, "product:5", 5)
	parked.State, parked.Outcome = inbox.Parked, ""
	m.events[parked.ID] = parked
	gone := m.event(6, "product:6", 4)
	gone.State, gone.Outcome, gone.Dismissed = inbox.Parked, "", &inbox.Dismissed{By: "ann", At: noon}
	m.events[gone.ID] = gone
	m.conflicts[echo.ID] = []inbox.Conflict{{Event: echo.ID, Digest: "x", At: noon}, {Event: echo.ID, Digest: "y", At: noon, Dismissed: &inbox.Dismissed{By: "ann", At: noon}}}

	got, err := desk.Stats(t.Context(), shop, control.Span{})
	if err != nil {
		t.Fatal(err)
	}
	work := control.Sums{Events: 1, Deliveries: 3, Operations: 1, Attempts: 2, PaidCalls: 1, UnknownCalls: 1, Results: 1, CostUSD: 318_000_000, CostAtLeast: true}
	// Each of the failed ones has three claims of which nobody recorded an end.
	yesterday := control.Sums{Events: 1, Deliveries: 1, Operations: 3, Attempts: 6, UnknownCalls: 6, Unsettled: control.Unsettled{Drafts: 1, Failed: 1}, CostAtLeast: true}
	today := control.Sums{
		Events: 5, Deliveries: 7, Operations: 1, Attempts: 2, PaidCalls: 1, UnknownCalls: 1, Results: 1, CostUSD: work.CostUSD, CostAtLeast: true,
		Unsettled: control.Unsettled{Open: 1, Parked: 1, Conflicts: 1},
	}
	total := control.Sums{
		Events: 6, Deliveries: 8, Operations: 4, Attempts: 8, PaidCalls: 1, UnknownCalls: 7, Results: 1, CostUSD: work.CostUSD, CostAtLeast: true,
		Unsettled: control.Unsettled{Open: 1, Parked: 1, Drafts: 1, Failed: 1, Conflicts: 1},
	}
	if got.Total.Unsettled.All() != 5 {
		t.Errorf("%d cases", got.Total.Unsettled.All())
	}
	want := control.Stats{
		Kind: "stats", Tenant: "shop", Environment: "test", Since: noon.AddDate(0, 0, -3), Until: noon, Total: total, Today: []control.Spend{},
		ByDay:      map[string]control.Sums{"2026-11-28": yesterday, "2026-11-29": today},
		ByEndpoint: map[string]control.Sums{"crm": yesterday, "woo-shop": today},
		ByRecipe:   map[string]control.Sums{"product-card@3": total, "tags@1": {Events: 1, Deliveries: 1}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What was erased may have cost something, which nothing tells any more.
func TestStatsSayThatWhatWasErasedIsNotInThem(t *testing.T) {
	m := newMemory()
	desk := m.pausing(t)
	for n, recipes := range [][]inbox.RecipeRef{{card}, nil} {
		e := m.event(n+1, "product:1", n)
		e.Object, e.Recipes, e.Erased = object.ID{}, recipes, noon
		m.events[e.ID] = e
	}
	got, err := desk.Stats(t.Context(), shop, control.Span{})
	if err != nil {
		t.Fatal(err)
	}
	want := control.Sums{Events: 2, Deliveries: 2, Erased: 2, CostAtLeast: true}
	if diff := cmp.Diff(want, got.Total); diff != "" {
		t.Error(diff)
	}
	want = control.Sums{Events: 1, Deliveries: 1, Erased: 1, CostAtLeast: true}
	if diff := cmp.Diff(map[string]control.Sums{card.String(): want}, got.ByRecipe); diff != "" {
		t.Error(diff)
	}
}

// What was paid is known, and what may have been paid makes it a lower bound.
func TestStatsOfCallsThatMayHaveCost(t *testing.T) {
	paid := operation.Attempt{ID: "att_1", FencingToken: 1, Outcome: operation.Usable, Called: true, HTTPStatus: 200, Tokens: &operation.Tokens{Input: 9}, CostUSD: 200_000_000}
	refused := operation.Attempt{ID: "att_2", FencingToken: 2, Outcome: operation.Transient, Called: true, HTTPStatus: 429}
	for _, c := range []struct {
		name     string
		attempts []operation.Attempt
		want     control.Sums
	}{
		{"paid for", []operation.Attempt{paid}, control.Sums{Attempts: 1, PaidCalls: 1, CostUSD: 200_000_000}},
		{"refused by the provider, then paid for", []operation.Attempt{refused, paid}, control.Sums{Attempts: 2, PaidCalls: 1, CostUSD: 200_000_000}},
		{"lost, then paid for", []operation.Attempt{{ID: "att_0", Outcome: operation.Lost}, paid}, control.Sums{Attempts: 2, PaidCalls: 1, UnknownCalls: 1, CostUSD: 200_000_000, CostAtLeast: true}},
		{"given back again and again, of which one is listed", []operation.Attempt{{ID: "att_3", Outcome: operation.Paused, Called: true, HTTPStatus: 429, Repeats: 4}, paid}, control.Sums{Attempts: 6, PaidCalls: 1, CostUSD: 200_000_000}},
		{"nothing was called", []operation.Attempt{{ID: "att_3", Outcome: operation.Stopped}}, control.Sums{Attempts: 1}},
	} {
		m := newMemory()
		desk := m.pausing(t)
		m.operation(m.event(1, "product:1", 5), "aa")
		m.ops[0].Attempts = c.attempts
		got, err := desk.Stats(t.Context(), shop, control.Span{})
		c.want.Events, c.want.Deliveries, c.want.Operations, c.want.Results = 1, 1, 1, 1
		if diff := cmp.Diff(c.want, got.Total); diff != "" || err != nil {
			t.Errorf("%s: %v %s", c.name, err, diff)
		}
	}
}

// Whatever is on a page, the pages add up to one look at all of it.
func TestPagesOfStatsAddUp(t *testing.T) {
	m := newMemory()
	desk := m.pausing(t)
	for n := range 700 {
		e := m.event(n, fmt.Sprint("product:", n%50), n*5)
		if n%3 == 0 {
			m.operation(e, fmt.Sprint(n))
		}
	}
	var all control.Stats
	pages := 0
	span := control.Span{}
	for {
		page, err := desk.Stats(t.Context(), shop, span)
		if err != nil {
			t.Fatal(err)
		}
		pages++
		all.Add(page)
		if span.After = page.Next; span.After == "" {
			break
		}
	}
	if all.Total.Events != 700 || all.Total.Operations != 234 || pages != 3 || all.Total.CostUSD != 234*318_000_000 {
		t.Errorf("%d pages: %+v", pages, all.Total)
	}
	var days, recipes control.Stats
	for _, sums := range all.ByDay {
		days.Add(control.Stats{Total: sums})
	}
	for _, sums := range all.ByRecipe {
		recipes.Add(control.Stats{Total: sums})
	}
	if days.Total != all.Total || recipes.Total != all.Total {
		t.Errorf("days %+v, recipes %+v, all %+v", days.Total, recipes.Total, all.Total)
	}
}

func TestTodaysSpendIsHeldAgainstTheLimit(t *testing.T) {
	m := newMemory()
	s := newShelf()
	desk := desk(m, s)
	set := configuration()
	free := set.Recipes[0]
	free.Name = "free"
	set.Recipes[0].Limits.USDPerDay = 5_000_000_000_000
	set.Recipes = append(set.Recipes, free)
	set.Endpoints[0].Events["product.created"] = config.EventRule{Recipes: []string{"free"}, Object: set.Endpoints[0].Events["product.updated"].Object}
	if _, err := desk.Apply(t.Context(), control.Proposal{Set: set, By: "ann"}); err != nil {
		t.Fatal(err)
	}
	m.spent = map[string]spend.Day{
		"card 2026-11-29": {Day: "2026-11-29", Sum: 130_000_000, Reserved: map[operation.AttemptID]operation.Money{"att_1": 7_000_000, "att_2": 3_000_000}},
		"free 2026-11-29": {Sum: 9},
	}
	got, err := desk.Stats(t.Context(), shop, control.Span{})
	want := []control.Spend{{Recipe: "card", Day: "2026-11-29", LimitUSD: 5_000_000_000_000, SpentUSD: 120_000_000, ReservedUSD: 10_000_000, Reserved: 2}}
	if diff := cmp.Diff(want, got.Today); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	later, err := desk.Stats(t.Context(), shop, control.Span{After: "MjAyNi0xMS0yOXw"})
	if err != nil || len(later.Today) != 0 {
		t.Errorf("on a later page %+v, %v", later.Today, err)
	}
}
