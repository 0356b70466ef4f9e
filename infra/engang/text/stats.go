package text

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"engang/shared/control"
)

// Stats writes sums: those of all, and those by day, endpoint or recipe.
func (c Clock) Stats(w io.Writer, doc control.Stats, by string) error {
	t := doc.Total
	fmt.Fprintf(w, "%s, events received from %s to %s\n\n", place(doc.Tenant, doc.Environment), c.Second(&doc.Since), c.Second(&doc.Until))
	calls := strconv.Itoa(t.PaidCalls)
	if t.UnknownCalls > 0 {
		calls += fmt.Sprintf(", and %s that may have been paid for: lost, without an answer, or in work", Count(t.UnknownCalls, "attempt", "attempts"))
	}
	all := [][]string{
		{"events", fmt.Sprintf("%d, of %s", t.Events, Count(t.Deliveries, "delivery", "deliveries"))},
		{"operations", strconv.Itoa(t.Operations)},
		{"attempts", strconv.Itoa(t.Attempts)},
		{"paid calls", calls},
		{"results", strconv.Itoa(t.Results)},
		{"unsettled", cases(t.Unsettled)},
		{"cost", dollars(t)},
	}
	if t.Erased > 0 {
		all = append(all, []string{"erased", Count(t.Erased, "event", "events") + "; what was done for them and what it cost is not in these numbers"})
	}
	if err := Columns(w, "  ", all); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if err := Columns(w, "  ", table(doc, by)); err != nil {
		return err
	}
	if len(doc.Today) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	rows := [][]string{{"today's calls", "spent", "reserved", "limit"}}
	for _, s := range doc.Today {
		rows = append(rows, []string{s.Recipe + ", " + s.Day, "$" + s.SpentUSD.String(), fmt.Sprintf("$%s for %s", s.ReservedUSD, Count(s.Reserved, "call", "calls")), "$" + s.LimitUSD.String()})
	}
	return Columns(w, "  ", rows)
}

func table(doc control.Stats, by string) [][]string {
	sums := map[string]map[string]control.Sums{"day": doc.ByDay, "endpoint": doc.ByEndpoint, "recipe": doc.ByRecipe}[by]
	rows := [][]string{{by, "events", "operations", "attempts", "paid calls", "results", "unsettled", "cost"}}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		s := sums[name]
		row := []string{name}
		for _, n := range []int{s.Events, s.Operations, s.Attempts, s.PaidCalls, s.Results, s.Unsettled.All()} {
			row = append(row, strconv.Itoa(n))
		}
		rows = append(rows, append(row, dollars(s)))
	}
	return rows
}

// dollars is a lower bound where some attempt may have cost more than is known.
func dollars(s control.Sums) string {
	return cost(control.Operation{CostUSD: s.CostUSD, CostAtLeast: s.CostAtLeast})
}

// cases says what is not over, and what of it.
func cases(u control.Unsettled) string {
	text := strconv.Itoa(u.All())
	sign := ": "
	for _, one := range []struct {
		n    int
		what string
	}{{u.Open, "open"}, {u.Parked, "parked"}, {u.Drafts, "in review"}, {u.Failed, "failed"}, {u.Conflicts, "in conflict"}} {
		if one.n > 0 {
			text += fmt.Sprintf("%s%d %s", sign, one.n, one.what)
			sign = ", "
		}
	}
	return text
}
