package model

import (
	"fmt"
	"slices"

	"engang/shared/inbox"
	"engang/shared/lifecycle"
	"engang/shared/operation"
	"engang/tests/model/explore"
)

// Ways lists each transition of the domain's tables from each of its states, as "operation claim from pending".
func Ways() []string {
	return append(waysIn("operation", operation.Lifecycle.Transitions), waysIn("event", inbox.Lifecycle.Transitions)...)
}

func waysIn[S ~string](kind string, all []lifecycle.Transition[S]) (ways []string) {
	for _, t := range all {
		for _, from := range t.From {
			ways = append(ways, fmt.Sprintf("%s %s from %s", kind, t.Name, from))
		}
	}
	return ways
}

// Taken tells which of them a search took.
func (r Reached) Taken() map[string]bool {
	taken := map[string]bool{}
	for _, m := range moves {
		for st := range uint8(16) {
			if r[m.at]>>st&1 == 0 {
				continue
			}
			if m.event {
				taken[fmt.Sprintf("event %s from %s", m.name, evTexts[st])] = true
			} else {
				taken[fmt.Sprintf("operation %s from %s", m.name, opTexts[st])] = true
			}
		}
	}
	return taken
}

// Outside are the transitions that no step makes.
var Outside = outside

// States are the states of operations and events that the model knows.
func States() (operations []operation.State, events []inbox.State) {
	return opTexts[1:], evTexts[1:]
}

// Strictly runs a weakened case and holds its steps against the domain's tables alone.
func (k Case) Strictly(limit int) explore.Outcome {
	c := k.protocol()
	sys := c.system()
	sys.Moved = c.moved
	sys.Check = func(*State) string { return "" }
	sys.Steps = func(s *State, emit explore.Emit[State, note]) {
		c.steps(s, func(next *State, n note, fault bool, _ string) { emit(next, n, fault, "") })
	}
	return explore.Search(sys, limit)
}

// Faults is the number of faults of a scenario.
func (sc Scenario) Faults() int { return int(sc.budget.tot) }

// StepOfOperation is what is wrong with a step that moves an operation.
func StepOfOperation(from, to operation.State) string {
	var a, b State
	a.op[0].st, b.op[0].st = uint8(slices.Index(opTexts[:], from)), uint8(slices.Index(opTexts[:], to))
	return (&protocol{}).moved(&a, &b)
}

// StepOfEvent is what is wrong with a step that moves an event.
func StepOfEvent(from, to inbox.State) string {
	var a, b State
	a.ev[0].st, b.ev[0].st = uint8(slices.Index(evTexts[:], from)), uint8(slices.Index(evTexts[:], to))
	return (&protocol{}).moved(&a, &b)
}
