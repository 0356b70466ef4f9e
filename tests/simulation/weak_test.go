package simulation_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"engang/infra/simulation"
)

// always is a guard that holds whatever it says: the placeholders stay in use.
func always(attribute, guard string) string {
	return "(" + guard + " OR attribute_exists(" + attribute + "))"
}

// weakened are ways in which the system could be wrong, and the promises of which one must be seen to break.
var weakened = []struct {
	name     string
	options  simulation.Options
	from     uint64 // the first seed: luck is looked for where it was found
	promises []string
}{
	{"no reconciler runs", simulation.Options{Idle: true}, 1, []string{"no-dead-ends"}},
	{"a lease is taken over while it runs", without("W3 claim", "#exp < :past", "#exp"), 1, []string{"one-paid-call"}},
	{"a commit compares neither token nor name", simulation.Options{Weak: []simulation.Weakening{
		{Call: "W4 complete", Part: "#tok = :token AND #own = :me", Instead: always("#tok", "#tok = :token") + " AND " + always("#own", "#own = :me")},
	}}, 30, []string{"one-paid-call", "one-operation"}},
	{"a result compares no rank", without("W5 result", "#rank < :rank", "#rank"), 1, []string{"newest-wins", "progress"}},
	{"an event is stored over itself", without("W1 put event", "attribute_not_exists(#pk)", "#pk"), 1, []string{"newest-wins", "progress", "no-dead-ends", "one-paid-call"}},
	{"who erases does not come back for what was under way", simulation.Options{Hasty: true}, 55, []string{"erase"}},
	{"of a delivery of many events one is stored", simulation.Options{Partial: true}, 21, []string{"durable-ack"}},
	{"the bucket keeps nothing", simulation.Options{Forgetful: true}, 1, []string{"durable-ack"}},
	{"a repeat of an erased event is stored over it", without("W1 put event", "attribute_not_exists(#pk)", "#pk"), 14, []string{"erase"}},
	{"a worker settles an event that was erased meanwhile", simulation.Options{Weak: []simulation.Weakening{
		{Call: "W6 settle", Part: "#st = :received AND #gen = :generation", Instead: always("#st", "#st = :received") + " AND " + always("#gen", "#gen = :generation")},
	}}, 55, []string{"erase"}},
	{"what runs leaves by TTL", simulation.Options{Weak: []simulation.Weakening{{Call: "W3 claim", Part: "REMOVE #ttl ADD", Instead: ", #ttl = :one ADD"}}}, 1, []string{"durable-ack"}},
	{"a result does not say whose output it is", simulation.Options{Weak: []simulation.Weakening{
		{Call: "W5 result", Value: "op", Instead: "O#card@000001#" + strings.Repeat("0", 64)},
	}}, 272, []string{"one-paid-call"}},
	{"what is kept leaves long before its time", simulation.Options{Early: true}, 273, []string{"newest-wins"}},
	{"an approval does not know its own write", simulation.Options{Weak: []simulation.Weakening{{Call: "W17 approve", Value: ":write"}}}, 235, []string{"approved-bytes"}},
}

func without(call, guard, attribute string) simulation.Options {
	return simulation.Options{Weak: []simulation.Weakening{{Call: call, Part: guard, Instead: always(attribute, guard)}}}
}

// luck bounds how many seeds a weakness may take to be found.
const luck = 100

// A simulation that never finds anything would look the same.
func TestASeedIsFoundThatShowsEachWeakness(t *testing.T) {
	for _, w := range weakened {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			for seed := w.from; seed < w.from+luck; seed++ {
				o := w.options
				o.Seed = seed
				out, err := simulation.Run(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				if slices.ContainsFunc(out.Violations, func(v string) bool {
					promise, _, _ := strings.Cut(v, ":")
					return slices.Contains(w.promises, promise)
				}) {
					t.Logf("seed %d: %s", seed, strings.Join(out.Violations, "; "))
					return
				}
			}
			t.Errorf("%d histories, and none shows it", luck)
		})
	}
}

// A seed that breaks a promise comes with the command that makes it again, and with what of its history is needed.
func TestAHistoryIsShortened(t *testing.T) {
	o := simulation.Options{Idle: true}
	var broken simulation.Outcome
	for o.Seed = 1; len(broken.Violations) == 0 || len(broken.Happened) < 10; o.Seed++ {
		var err error
		if broken, err = simulation.Run(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	f, err := simulation.Explain(t.Context(), o, broken, 150)
	if err != nil {
		t.Fatal(err)
	}
	if f.Of != len(broken.Happened) || f.Left > f.Of/2 || f.Left == 0 || len(f.History) == 0 {
		t.Errorf("%d of %d are left, %d lines", f.Left, f.Of, len(f.History))
	}
	said := explained(t, o, broken, 150)
	for _, want := range append(broken.Violations, fmt.Sprintf("again: go run ./infra/engang simulate --seed %d", broken.Seed), strings.Join(f.History, "\n")) {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in\n%s", want, said)
		}
	}
}
