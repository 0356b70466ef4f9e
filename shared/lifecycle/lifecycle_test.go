package lifecycle_test

import (
	"fmt"
	"strings"
	"testing"

	"engang/shared/lifecycle"
)

type state string

// door is a machine without a fault.
func door() lifecycle.Machine[state] {
	return lifecycle.Machine[state]{
		Name:  "door",
		Start: "open",
		States: []lifecycle.State[state]{
			{Name: "open", Means: "Wide open; the wind shuts it."},
			{Name: "shut", Means: "Shut; a person opens or locks it.", Waiting: true},
			{Name: "locked", Means: "Locked for good.", Rest: true},
		},
		Transitions: []lifecycle.Transition[state]{
			{Name: "shut", From: []state{"open"}, To: "shut"},
			{Name: "open", From: []state{"shut"}, To: "open", Person: true},
			{Name: "lock", From: []state{"open", "shut"}, To: "locked", Person: true},
		},
	}
}

func TestCheckNamesEveryFault(t *testing.T) {
	tests := []struct {
		name string
		edit func(*lifecycle.Machine[state])
		want []string // none: no fault
	}{
		{name: "no fault", edit: func(*lifecycle.Machine[state]) {}},
		{name: "a transition from a state that is not there", edit: func(m *lifecycle.Machine[state]) { m.Transitions[0].From = []state{"open", "ajar"} }, want: []string{`unknown state "ajar"`}},
		{name: "a transition to a state that is not there", edit: func(m *lifecycle.Machine[state]) { m.Transitions[2].To = "ajar" }, want: []string{`unknown state "ajar"`, `nothing leads to "locked"`}},
		{name: "a state that nothing leads to", edit: func(m *lifecycle.Machine[state]) {
			m.States = append(m.States, lifecycle.State[state]{Name: "gone", Means: "Gone.", Rest: true})
		}, want: []string{`nothing leads to "gone"`}},
		{name: "two states that lead to each other alone", edit: func(m *lifecycle.Machine[state]) {
			m.States = append(m.States, lifecycle.State[state]{Name: "a", Means: "A.", Rest: true}, lifecycle.State[state]{Name: "b", Means: "B.", Rest: true})
			m.Transitions = append(m.Transitions, lifecycle.Transition[state]{Name: "ab", From: []state{"a"}, To: "b"}, lifecycle.Transition[state]{Name: "ba", From: []state{"b"}, To: "a"})
		}, want: []string{`nothing leads to "a"`, `nothing leads to "b"`}},
		{name: "a dead end", edit: func(m *lifecycle.Machine[state]) { m.States[1].Waiting = false }, want: []string{`"open" is a dead end`, `"shut" is a dead end`}},
		{name: "a way on that only leads to itself", edit: func(m *lifecycle.Machine[state]) {
			m.Transitions[0] = lifecycle.Transition[state]{Name: "swing", From: []state{"open"}, To: "open"}
			m.Transitions[1] = lifecycle.Transition[state]{Name: "slam", From: []state{"open"}, To: "shut", Person: true}
		}, want: []string{`"open" is a dead end`}},
		{name: "a circle that never rests", edit: func(m *lifecycle.Machine[state]) {
			m.States[1].Waiting = false
			m.Transitions[1].Person = false
		}, want: []string{`"open" is a dead end`, `"shut" is a dead end`}},
		{name: "a state without a meaning", edit: func(m *lifecycle.Machine[state]) { m.States[2].Means = "" }, want: []string{`"locked" has no meaning`}},
		{name: "a state twice", edit: func(m *lifecycle.Machine[state]) { m.States = append(m.States, m.States[0]) }, want: []string{`state "open" has no name of its own`}},
		{name: "a transition twice", edit: func(m *lifecycle.Machine[state]) { m.Transitions = append(m.Transitions, m.Transitions[0]) }, want: []string{`transition "shut" has no name of its own`}},
		{name: "a transition without a name", edit: func(m *lifecycle.Machine[state]) { m.Transitions[0].Name = "" }, want: []string{`transition "" has no name of its own`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := door()
			tt.edit(&m)
			err := m.Check()
			if len(tt.want) == 0 {
				if err != nil {
					t.Errorf("faults: %v", err)
				}
				return
			}
			lines := strings.Split(fmt.Sprint(err), "\n")
			if len(lines) != len(tt.want) {
				t.Fatalf("%d faults, want %d:\n%v", len(lines), len(tt.want), err)
			}
			for i, want := range tt.want {
				if !strings.HasPrefix(lines[i], "door: ") || !strings.Contains(lines[i], want) {
					t.Errorf("fault %q, want one with %q", lines[i], want)
				}
			}
		})
	}
}

func TestStateIsLookedUp(t *testing.T) {
	s, ok := door().State("shut")
	if !ok || !s.Waiting {
		t.Errorf("shut: %+v, %v", s, ok)
	}
	if s, ok := door().State("ajar"); ok || s.Name != "" {
		t.Errorf("ajar: %+v, %v", s, ok)
	}
}

func ExampleMachine_Mermaid() {
	m := door()
	fmt.Print(m.Mermaid())
	fmt.Println(m.Transitions[2].Allows("open"), m.Transitions[2].Allows("locked"))
	// Output:
	// stateDiagram-v2
	//     [*] --> open
	//     open --> shut: shut
	//     shut --> open: open (person)
	//     open --> locked: lock (person)
	//     shut --> locked: lock (person)
	// true false
}
