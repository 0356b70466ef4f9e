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

// Check returns every fault of the machine at once: a state or transition that is stated twice or says
// nothing, a transition that names an unknown state, a state that cannot be reached from the start, and a
// dead end: a state from which, without a person, no state is reached that rests or waits for one.
func (m Machine[S]) Check() error {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("%s: "+format, append([]any{m.Name}, args...)...))
	}
	seen := map[string]bool{}
	once := func(kind, name string) {
		if name == "" || seen[kind+name] {
			fault("%s %q has no name of its own", kind, name)
		}
		seen[kind+name] = true
	}
	for _, t := range m.Transitions {
		once("transition", t.Name)
		for _, s := range append(slices.Clone(t.From), t.To) {
			if _, known := m.State(s); !known {
				fault("transition %q names the unknown state %q", t.Name, s)
			}
		}
	}
	reached := m.reach(m.Start, true)
	for _, s := range m.States {
		once("state", string(s.Name))
		if s.Means == "" {
			fault("%q has no meaning", s.Name)
		}
		if !reached[s.Name] {
			fault("nothing leads to %q", s.Name)
		}
		if !m.comesToRest(s.Name) {
			fault("%q is a dead end", s.Name)
		}
	}
	return errors.Join(faults...)
}

// reach is every state that a way leads to from one, itself included.
func (m Machine[S]) reach(from S, persons bool) map[S]bool {
	reached := map[S]bool{from: true}
	for grown := true; grown; {
		grown = false
		for _, t := range m.Transitions {
			if reached[t.To] || t.Person && !persons {
				continue
			}
			if slices.ContainsFunc(t.From, func(s S) bool { return reached[s] }) {
				reached[t.To], grown = true, true
			}
		}
	}
	return reached
}

func (m Machine[S]) comesToRest(from S) bool {
	for s := range m.reach(from, false) {
		if state, ok := m.State(s); ok && (state.Rest || state.Waiting) {
			return true
		}
	}
	return false
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
