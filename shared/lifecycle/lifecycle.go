// Package lifecycle describes a state machine as data: which states there are, what each means, and
// which transitions lead from one to another.
//
// The domain packages state their lifecycles as one [Machine] each. The guard in memory, the picture
// in the README, the matrix tests and the check of the hand-written DynamoDB conditions all read it.
package lifecycle

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Transition is one kind of edge: any state in From may move to To.
type Transition[S ~string] struct {
	Name   string
	From   []S
	To     S
	Person bool // only a named person, or what acts for one, moves it
}

// Allows tells whether the transition may start in state from.
func (t Transition[S]) Allows(from S) bool { return slices.Contains(t.From, from) }

// A State says what a state means and who moves it on.
type State[S ~string] struct {
	Name    S
	Means   string // one sentence: what is true, who moves it on, what a crash here leaves
	Rest    bool   // nothing is owed: it may stay so for ever
	Waiting bool   // it waits for a person, and stands in the review list
}

// A Machine is the whole lifecycle of one kind of item.
type Machine[S ~string] struct {
	Name        string
	States      []State[S]
	Start       S
	Transitions []Transition[S]
}

// State looks up what a state means.
func (m Machine[S]) State(name S) (State[S], bool) {
	i := slices.IndexFunc(m.States, func(s State[S]) bool { return s.Name == name })
	if i < 0 {
		return State[S]{}, false
	}
	return m.States[i], true
}

// Check returns every fault of the machine at once: a transition that names an unknown state, a state
// that nothing leads to, and a dead end (a state that neither rests nor waits for a person, and that
// nothing leaves without one).
func (m Machine[S]) Check() error {
	var faults []error
	known := func(s S) bool { _, ok := m.State(s); return ok }
	reached := map[S]bool{m.Start: true}
	for _, t := range m.Transitions {
		for _, s := range append(slices.Clone(t.From), t.To) {
			if !known(s) {
				faults = append(faults, fmt.Errorf("%s: transition %q names the unknown state %q", m.Name, t.Name, s))
			}
		}
		reached[t.To] = true
	}
	for _, s := range m.States {
		if !reached[s.Name] {
			faults = append(faults, fmt.Errorf("%s: nothing leads to %q", m.Name, s.Name))
		}
		if !s.Rest && !s.Waiting && !m.leaves(s.Name) {
			faults = append(faults, fmt.Errorf("%s: %q is a dead end", m.Name, s.Name))
		}
	}
	return errors.Join(faults...)
}

func (m Machine[S]) leaves(s S) bool {
	return slices.ContainsFunc(m.Transitions, func(t Transition[S]) bool {
		return !t.Person && t.To != s && t.Allows(s)
	})
}

// Mermaid draws the machine as a Mermaid state diagram, always the same way.
func (m Machine[S]) Mermaid() string {
	var b strings.Builder
	fmt.Fprintf(&b, "stateDiagram-v2\n    [*] --> %s\n", m.Start)
	for _, t := range m.Transitions {
		for _, from := range t.From {
			label := t.Name
			if t.Person {
				label += " (person)"
			}
			fmt.Fprintf(&b, "    %s --> %s: %s\n", from, t.To, label)
		}
	}
	return b.String()
}
