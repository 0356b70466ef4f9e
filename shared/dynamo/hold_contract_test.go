package dynamo_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"engang/shared/dynamo"
	"engang/shared/dynamo/dynamotest"
	"engang/shared/inbox"
	"engang/shared/operation"
	"engang/shared/pause"
)

var mini = pause.Model{Scope: shop, Provider: "openai", Name: "gpt-5.4-mini"}

func opening(who int) pause.Opening {
	return pause.Opening{Model: mini, Until: later(300), Reason: "quota used up", WriteID: writeID(who), Now: later(who)}
}

func probing(who int) pause.Probe {
	return pause.Probe{Model: mini, Seen: later(300), Next: later(600 + who), Owner: attemptID(who), WriteID: writeID(who)}
}

func closing(who int) pause.Closing {
	return pause.Closing{Model: mini, Owner: attemptID(100), WriteID: writeID(who), Now: later(800 + who)}
}

func pausing(kind pause.Kind, name string) pause.Pause {
	return pause.Pause{Target: pause.Target{Scope: shop, Kind: kind, Name: name}, Until: later(3600), By: "ann", Reason: "prices are being changed", At: later(5)}
}

func head(n int, ev inbox.EventID) inbox.Head {
	return inbox.Head{Scope: shop, Object: product, Recipe: "product-card", Rank: ranked(n), Event: ev, ExpiresAt: later(7200)}
}

// opened leaves an open breaker; probed one that attempt 100 probes.
func opened(t *testing.T, table *dynamo.Table) {
	t.Helper()
	must(t, table.OpenBreaker(t.Context(), opening(100)))
}

func probed(t *testing.T, table *dynamo.Table) {
	t.Helper()
	opened(t, table)
	must(t, table.Probe(t.Context(), probing(100)))
}

func breakerStands(t *testing.T, table *dynamo.Table, want pause.Breaker) {
	t.Helper()
	got, err := table.Breaker(t.Context(), mini)
	must(t, err)
	want.Model = mini
	same(t, "breaker", want, got)
}

func holdContracts() []contract {
	return []contract{
		openContract("W23 open breaker, the first time", nil),
		openContract("W23 open breaker, again", func(t *testing.T, _ dynamotest.DB, table *dynamo.Table) {
			probed(t, table)
			must(t, table.CloseBreaker(t.Context(), closing(101)))
		}),
		probeContract(), closeContract(), resumeContract(), headContract(), pauseContract(), longerPauseContract("until later", later(7200)), longerPauseContract("without an end", time.Time{}), removePauseContract(),
	}
}

func openContract(name string, before func(*testing.T, dynamotest.DB, *dynamo.Table)) contract {
	return contract{
		name: name, call: "W23", before: before, other: is(pause.ErrStale),
		write: func(ctx context.Context, table *dynamo.Table, who int) error {
			return table.OpenBreaker(ctx, opening(who))
		},
		effect: func(t *testing.T, table *dynamo.Table, who int) {
			breakerStands(t, table, pause.Breaker{State: pause.Open, Until: later(300), Reason: "quota used up", At: later(who), WriteID: writeID(who)})
		},
	}
}

// changed is a probe that differs from the first one's.
func changedProbe(change func(*pause.Probe)) func(context.Context, *dynamo.Table) error {
	return func(ctx context.Context, table *dynamo.Table) error {
		p := probing(0)
		change(&p)
		return table.Probe(ctx, p)
	}
}

func probeContract() contract {
	gone := pause.Model{Scope: shop, Provider: "openai", Name: "gone"}
	return contract{
		name: "W25 probe", call: "W25", other: is(pause.ErrStale),
		before: func(t *testing.T, _ dynamotest.DB, table *dynamo.Table) {
			opened(t, table)
			o := opening(100)
			o.Model = gone
			must(t, table.OpenBreaker(t.Context(), o))
			must(t, table.CloseBreaker(t.Context(), pause.Closing{Model: gone, WriteID: writeID(101), Now: later(1)}))
		},
		write: func(ctx context.Context, table *dynamo.Table, who int) error { return table.Probe(ctx, probing(who)) },
		effect: func(t *testing.T, table *dynamo.Table, who int) {
			breakerStands(t, table, pause.Breaker{
				State: pause.Open, Until: later(600 + who), Owner: attemptID(who), Reason: "quota used up", At: later(100), WriteID: writeID(who),
			})
		},
		refused: map[string]func(context.Context, *dynamo.Table) error{
			"a probe time that was not seen": changedProbe(func(p *pause.Probe) { p.Seen = later(301) }),
			"a closed breaker":               changedProbe(func(p *pause.Probe) { p.Model = gone }),
			"no breaker":                     changedProbe(func(p *pause.Probe) { p.Model.Provider = "another" }),
		},
	}
}

func closeContract() contract {
	return contract{
		name: "W26 close breaker", call: "W26", other: is(pause.ErrStale),
		before: func(t *testing.T, _ dynamotest.DB, table *dynamo.Table) { probed(t, table) },
		write: func(ctx context.Context, table *dynamo.Table, who int) error {
			return table.CloseBreaker(ctx, closing(who))
		},
		effect: func(t *testing.T, table *dynamo.Table, who int) {
			breakerStands(t, table, pause.Breaker{State: pause.Closed, Reason: "quota used up", At: later(800 + who), WriteID: writeID(who)})
		},
		refused: map[string]func(context.Context, *dynamo.Table) error{
			"another one's probe": func(ctx context.Context, table *dynamo.Table) error {
				c := closing(0)
				c.Owner = attemptID(7)
				return table.CloseBreaker(ctx, c)
			},
			"no breaker": func(ctx context.Context, table *dynamo.Table) error {
				c := closing(0)
				c.Model.Scope.Environment = "production"
				return table.CloseBreaker(ctx, c)
			},
		},
	}
}

// A person closes a breaker whoever probes it.
func resumeContract() contract {
	c := closeContract()
	c.name = "W26 close breaker, by a person"
	c.write = func(ctx context.Context, table *dynamo.Table, who int) error {
		closing := closing(who)
		closing.Owner = ""
		return table.CloseBreaker(ctx, closing)
	}
	c.refused = map[string]func(context.Context, *dynamo.Table) error{
		"no breaker": func(ctx context.Context, table *dynamo.Table) error {
			return table.CloseBreaker(ctx, pause.Closing{Model: pause.Model{Scope: shop, Provider: "another", Name: "gpt-5.4-mini"}, WriteID: writeID(0), Now: noon})
		},
	}
	return c
}

func headContract() contract {
	return contract{
		name: "W21 head", call: "W21", all: true, other: done,
		before: func(t *testing.T, _ dynamotest.DB, table *dynamo.Table) {
			must(t, table.PutHead(t.Context(), head(1, eventID(1))))
		},
		write: func(ctx context.Context, table *dynamo.Table, who int) error {
			return table.PutHead(ctx, head(2, eventID(200+who)))
		},
		effect: func(t *testing.T, table *dynamo.Table, who int) {
			got, found, err := table.Head(t.Context(), shop, product, "product-card")
			if err != nil || !found {
				t.Fatalf("head found: %t, %v", found, err)
			}
			same(t, "head", head(2, eventID(200+who)), got)
		},
		refused: map[string]func(context.Context, *dynamo.Table) error{
			"an older event":                 func(ctx context.Context, table *dynamo.Table) error { return table.PutHead(ctx, head(0, eventID(3))) },
			"another event of the same rank": func(ctx context.Context, table *dynamo.Table) error { return table.PutHead(ctx, head(1, eventID(3))) },
		},
	}
}

// pausesAre checks all pauses.
func pausesAre(t *testing.T, table *dynamo.Table, want ...pause.Pause) {
	t.Helper()
	got, err := table.Pauses(t.Context())
	must(t, err)
	slices.SortFunc(got, pause.Compare)
	same(t, "pauses", pause.Pauses(want), got)
}

func pauseContract() contract {
	return contract{
		name: "pause", call: "write pause", all: true, other: done,
		write: func(ctx context.Context, table *dynamo.Table, _ int) error {
			return table.PutPause(ctx, pausing(pause.Endpoint, "woo-shop"))
		},
		effect: func(t *testing.T, table *dynamo.Table, _ int) {
			pausesAre(t, table, pausing(pause.Endpoint, "woo-shop"))
		},
	}
}

// untilThen is a person's pause of the shop's endpoint that ends then.
func untilThen(by string, end time.Time) pause.Pause {
	p := pausing(pause.Endpoint, "woo-shop")
	p.By, p.Until = by, end
	return p
}

// One that ends no sooner takes the place of the one in force; the others are told who paused, and until when.
func longerPauseContract(name string, end time.Time) contract {
	return contract{
		name: "pause, " + name, call: "write pause",
		before: func(t *testing.T, _ dynamotest.DB, table *dynamo.Table) {
			must(t, table.PutPause(t.Context(), untilThen("ann", later(3600))))
		},
		write: func(ctx context.Context, table *dynamo.Table, who int) error {
			if who == 0 {
				return table.PutPause(ctx, untilThen("bob", end))
			}
			return table.PutPause(ctx, untilThen("cid", later(100+who)))
		},
		effect: func(t *testing.T, table *dynamo.Table, _ int) { pausesAre(t, table, untilThen("bob", end)) },
		other: func(err error) bool {
			longer, ok := errors.AsType[*pause.LongerError](err)
			return ok && longer.Stored.Reason == "prices are being changed" && slices.Contains([]pause.Pause{untilThen("ann", later(3600)), untilThen("bob", end)}, longer.Stored)
		},
		refused: map[string]func(context.Context, *dynamo.Table) error{
			"one that ends a millisecond sooner": func(ctx context.Context, table *dynamo.Table) error {
				return table.PutPause(ctx, untilThen("ann", later(3600).Add(-time.Millisecond)))
			},
		},
	}
}

func removePauseContract() contract {
	return contract{
		name: "end of a pause", call: "write pause", all: true, other: done,
		before: func(t *testing.T, _ dynamotest.DB, table *dynamo.Table) {
			must(t, table.PutPause(t.Context(), pausing(pause.Endpoint, "woo-shop")))
			must(t, table.PutPause(t.Context(), pausing(pause.Recipe, "woo-shop")))
		},
		write: func(ctx context.Context, table *dynamo.Table, _ int) error {
			return table.RemovePause(ctx, pausing(pause.Endpoint, "woo-shop").Target)
		},
		effect: func(t *testing.T, table *dynamo.Table, _ int) { pausesAre(t, table, pausing(pause.Recipe, "woo-shop")) },
	}
}

// A breaker that was never opened holds nothing, and is another one for each model of each tenant.
func TestABreakerIsOneModelsOfOneTenant(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		opened(t, table)
		for name, change := range map[string]func(*pause.Model){
			"another tenant": func(m *pause.Model) { m.Scope.Tenant = "other" }, "another environment": func(m *pause.Model) { m.Scope.Environment = "production" },
			"another provider": func(m *pause.Model) { m.Provider = "azure" }, "another model": func(m *pause.Model) { m.Name = "gpt-5.4" },
		} {
			m := mini
			change(&m)
			got, err := table.Breaker(t.Context(), m)
			must(t, err)
			same(t, name, pause.Breaker{}, got)
			if got.Holds() {
				t.Errorf("%s is held", name)
			}
		}
	})
}

// However heads meet, the newest event is the head.
func TestTheNewestEventIsTheHead(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		for _, err := range dynamotest.AtOnce(func(i int) error { return table.PutHead(t.Context(), head(i, eventID(i))) }) {
			must(t, err)
		}
		got, found, err := table.Head(t.Context(), shop, product, "product-card")
		must(t, err)
		same(t, "head", head(dynamotest.Many-1, eventID(dynamotest.Many-1)), got)
		if _, other, err := table.Head(t.Context(), shop, product, "product"); !found || other || err != nil {
			t.Errorf("another recipe has a head: %t, %v", other, err)
		}
		ops, losing, results, err := table.Object(t.Context(), shop, product)
		if len(ops)+len(losing)+len(results) > 0 || err != nil {
			t.Errorf("the head is taken for something else: %v %v %v, %v", ops, losing, results, err)
		}
	})
}

// However pauses meet, the one that ends last is in force; one that is over is in nobody's way.
func TestThePauseThatEndsLastStands(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		must(t, table.PutPause(t.Context(), untilThen("old", later(1))))
		for i, err := range dynamotest.AtOnce(func(i int) error { return table.PutPause(t.Context(), untilThen("ann", later(100+i))) }) {
			if err != nil && !errors.Is(err, pause.ErrLonger) || err != nil && i == dynamotest.Many-1 {
				t.Errorf("writer %d met %v", i, err)
			}
		}
		pausesAre(t, table, untilThen("ann", later(100+dynamotest.Many-1)))
		must(t, table.RemovePause(t.Context(), untilThen("", noon).Target))
		must(t, table.PutPause(t.Context(), untilThen("bob", later(8)))) // after a resumption every end is one's own
		pausesAre(t, table, untilThen("bob", later(8)))
	})
}

// A pause without an end replaces one that has an end, all pauses are found in any number of pages, and one without an end has none.
func TestPausesAreReadWhole(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		pausesAre(t, table)
		var want pause.Pauses
		for _, kind := range []pause.Kind{pause.Everything, pause.Endpoint, pause.Recipe, pause.AModel} {
			for _, name := range []string{"a", "a#b", "é/1"} {
				p := pausing(kind, name)
				must(t, table.PutPause(t.Context(), p))
				p.By, p.Until, p.Reason = "bob", time.Time{}, "" // neither an end nor a reason is left of the one before
				must(t, table.PutPause(t.Context(), p))
				want = append(want, p)
			}
		}
		slices.SortFunc(want, pause.Compare)
		for _, page := range []int32{0, 1, 5} {
			table.SetPage(page)
			pausesAre(t, table, want...)
		}
	})
}

// A probe that is not the one stored is another one's, though its owner probed before.
func TestAnOldProbeIsNotTakenForANewOne(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		probed(t, table)
		again := probing(100)
		again.WriteID = writeID(101)
		if err := table.Probe(t.Context(), again); !is(pause.ErrStale)(err) {
			t.Errorf("it met %v", err)
		}
		b, err := table.Breaker(t.Context(), mini)
		must(t, err)
		same(t, "owner", operation.AttemptID("att_100"), b.Owner)
	})
}
