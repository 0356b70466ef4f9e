package linear_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// A history is what all did and were told, in the order of their begins.
type history []porcupine.Operation

// changes tells whether an act may have changed something: all others only say what stood there.
func changes(o porcupine.Operation) bool { return o.Output.(outcome).Why == granted }

// check tells whether a history is linearizable, and else what of it has no order.
//
// What changes nothing is a burden to the checker: sixty refusals at once can stand in any order. So it orders what
// changes something first, and each of the others is then put to a moment of its own time at which what it was told
// held. What finds none is given to the checker with the rest, until everything has its place, or until there is no
// order. The first is an order of the whole history; the second stands for the whole, since what changes nothing cannot
// make an order possible.
func (h history) check() (porcupine.CheckResult, string) {
	m := model()
	given := make([]bool, len(h))
	for i, o := range h {
		given[i] = changes(o)
	}
	for end := time.Now().Add(tooLong); ; {
		var chosen history
		var number []int
		for i, o := range h {
			if given[i] {
				chosen, number = append(chosen, o), append(number, i)
			}
		}
		verdict, info := porcupine.CheckOperationsVerbose(m, chosen, max(time.Until(end), time.Second))
		order := longest(info)
		for i, n := range order {
			order[i] = number[n]
		}
		if verdict != porcupine.Ok {
			return verdict, h.stuck(order)
		}
		out := h.place(m, order, given)
		if len(out) == 0 {
			return porcupine.Ok, ""
		}
		for _, i := range out {
			given[i] = true
		}
	}
}

// longest is the longest order that the checker found.
func longest(info porcupine.LinearizationInfo) (order []int) {
	for _, found := range info.PartialLinearizations() {
		for _, one := range found {
			if len(one) > len(order) {
				order = one
			}
		}
	}
	return slices.Clone(order)
}

// place puts everything that is not in the order to its earliest moment, and returns the first that has none.
func (h history) place(m porcupine.Model, order []int, given []bool) []int {
	states := []any{m.Init()}
	for _, i := range order {
		_, next := m.Step(states[len(states)-1], h[i].Input, h[i].Output)
		states = append(states, next)
	}
	placed := map[int]int{} // by how many acts of the order come before
	for i, o := range h {
		if given[i] {
			continue
		}
		from, until := 0, len(order)
		for n, other := range order {
			if h[other].Return < o.Call {
				from = n + 1
			}
			if h[other].Call > o.Return {
				until = min(until, n)
			}
		}
		pushed := -1
		for other, at := range placed {
			if h[other].Return < o.Call && at > from {
				from, pushed = at, other
			}
		}
		at := from
		for at <= until {
			if ok, _ := m.Step(states[at], o.Input, o.Output); ok {
				break
			}
			at++
		}
		if at > until {
			if pushed >= 0 { // it may stand too late
				return []int{i, pushed}
			}
			return []int{i} // one at a time: each is a burden
		}
		placed[i] = at
	}
	return nil
}

// stuck says which acts could not be put behind the longest order that was found.
func (h history) stuck(order []int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d acts have an order; the last of them, and the first that change something and have none:\n", len(order), len(h))
	for _, i := range order[max(0, len(order)-6):] {
		fmt.Fprintf(&b, "  ordered  %v -> %+v\n", h[i].Input, h[i].Output)
	}
	rest := 0
	for i, o := range h {
		if rest < 10 && !slices.Contains(order, i) && changes(o) {
			rest++
			fmt.Fprintf(&b, "  none     %v -> %+v\n", o.Input, o.Output)
		}
	}
	return b.String()
}
