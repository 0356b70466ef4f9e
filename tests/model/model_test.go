package model_test

import (
	"flag"
	"slices"
	"strings"
	"sync"
	"testing"

	"engang/shared/inbox"
	"engang/shared/operation"
	"engang/tests/model"
)

var all = flag.Bool("all", false, "search every scenario to its end, which takes long")

// limit is how many states are kept; a search that needs more is no proof.
const limit = 24_000_000

// side runs a part beside others, unless all is searched: that needs the memory for one.
func side(t *testing.T) {
	if !*all {
		t.Parallel()
	}
}

// Each scenario keeps every promise, and together they take each transition of the domain's tables.
func TestScenariosKeepEveryPromise(t *testing.T) {
	var mu sync.Mutex
	var reached model.Reached
	asked, ran := 0, 0
	t.Run("scenarios", func(t *testing.T) {
		for _, sc := range model.Scenarios() {
			short, whole := sc.Short()
			if *all {
				short, whole = sc, true
			}
			for _, transaction := range []bool{false, true} {
				if transaction && !sc.Transaction {
					continue
				}
				name := sc.Name
				if transaction {
					name += " in one transaction"
				}
				asked++
				t.Run(name, func(t *testing.T) {
					side(t)
					out, taken := model.Case{Scenario: short, Transaction: transaction}.Run(limit)
					t.Logf("%s: %d states, %.1f s, %d faults of %d, whole: %v", sc.About, out.States, out.Took.Seconds(), short.Faults(), sc.Faults(), whole)
					switch {
					case out.Broken != "":
						t.Errorf("%s\n%s", out.Broken, strings.Join(out.Trace, "\n"))
					case !out.Complete:
						t.Errorf("not complete after %d states", out.States)
					}
					mu.Lock()
					defer mu.Unlock()
					reached.Merge(taken)
					ran++
				})
			}
		}
	})
	if t.Failed() || ran == 0 || ran < asked { // broken, or only some were asked for
		return
	}
	eachWayIsTaken(t, reached.Taken())
}

// eachWayIsTaken holds what the scenarios took against the domain's tables.
func eachWayIsTaken(t *testing.T, taken map[string]bool) {
	t.Helper()
	for _, way := range model.Ways() {
		transition, _, _ := strings.Cut(way, " from ")
		_, outside := model.Outside[transition]
		switch {
		case !taken[way] && !outside:
			t.Errorf("no scenario takes %q, and it is not named as outside", way)
		case taken[way] && outside:
			t.Errorf("%q is named as outside, and a scenario takes it", way)
		}
	}
	for way := range model.Outside {
		if !slices.ContainsFunc(model.Ways(), func(known string) bool { return strings.HasPrefix(known, way+" from ") }) {
			t.Errorf("%q is named as outside, and no table has it", way)
		}
	}
}

// A rule that can be taken away without harm would be none.
func TestEachRuleIsNeeded(t *testing.T) {
	for _, w := range model.Weakened() {
		t.Run(w.Name+" in "+w.Scenario, func(t *testing.T) {
			side(t)
			out, _ := w.Case().Run(limit)
			t.Logf("%s: %d states, %d steps, %.1f s: %s", w.About, out.States, len(out.Trace), out.Took.Seconds(), out.Broken)
			switch {
			case out.Broken == "":
				t.Errorf("nothing breaks in %d states (complete: %v)", out.States, out.Complete)
			case !strings.HasPrefix(out.Broken, w.Breaks):
				t.Errorf("breaks %q, want %q\n%s", out.Broken, w.Breaks, strings.Join(out.Trace, "\n"))
			}
		})
	}
}

func TestPermittedVariantsKeepEveryPromise(t *testing.T) {
	for _, w := range model.Variants() {
		t.Run(w.Name+" in "+w.Scenario, func(t *testing.T) {
			side(t)
			k := w.Case()
			if !*all {
				k.Scenario, _ = k.Scenario.Short()
			}
			out, _ := k.Run(limit)
			t.Logf("%s: %d states, %.1f s", w.About, out.States, out.Took.Seconds())
			if out.Broken != "" || !out.Complete {
				t.Errorf("complete %v: %s\n%s", out.Complete, out.Broken, strings.Join(out.Trace, "\n"))
			}
		})
	}
}

// The model has the states of the domain's tables, and no other.
func TestStatesAreThoseOfTheDomain(t *testing.T) {
	operations, events := model.States()
	for _, s := range operation.Lifecycle.States {
		if !slices.Contains(operations, s.Name) {
			t.Errorf("the model knows no operation that is %q", s.Name)
		}
	}
	for _, s := range inbox.Lifecycle.States {
		if !slices.Contains(events, s.Name) {
			t.Errorf("the model knows no event that is %q", s.Name)
		}
	}
	for _, name := range operations {
		if _, ok := operation.Lifecycle.State(name); !ok {
			t.Errorf("no operation of the domain is %q", name)
		}
	}
	for _, name := range events {
		if _, ok := inbox.Lifecycle.State(name); !ok {
			t.Errorf("no event of the domain is %q", name)
		}
	}
}

// Every change of a state is held against the tables: what they do not allow is broken, whoever made the step.
func TestStepsAreHeldAgainstTheTables(t *testing.T) {
	for _, from := range operation.Lifecycle.States {
		for _, to := range operation.Lifecycle.States {
			allowed := from.Name == to.Name
			for _, tr := range operation.Lifecycle.Transitions {
				allowed = allowed || tr.Allows(from.Name) && tr.To == to.Name
			}
			if broken := model.StepOfOperation(from.Name, to.Name); (broken == "") != allowed {
				t.Errorf("operation from %s to %s: allowed %v, found %q", from.Name, to.Name, allowed, broken)
			}
		}
	}
	for _, from := range inbox.Lifecycle.States {
		for _, to := range inbox.Lifecycle.States {
			allowed := from.Name == to.Name
			for _, tr := range inbox.Lifecycle.Transitions {
				allowed = allowed || tr.Allows(from.Name) && tr.To == to.Name
			}
			if broken := model.StepOfEvent(from.Name, to.Name); (broken == "") != allowed {
				t.Errorf("event from %s to %s: allowed %v, found %q", from.Name, to.Name, allowed, broken)
			}
		}
	}
	for _, w := range model.Weakened() {
		if w.Name != "reject-without-state" {
			continue
		}
		want := `lifecycle: no transition of an operation leads from "completed" to "rejected"`
		if out := w.Case().Strictly(limit); out.Broken != want {
			t.Errorf("found %q, want %q", out.Broken, want)
		}
	}
}
