package invariants

import (
	"fmt"
	"strings"
)

// spending gives the items of days or of minutes.
func (all Items) spending(minutes bool) Items {
	return all.pick(func(i Item) bool {
		return strings.HasPrefix(i["pk"], "K#spend#") && strings.HasPrefix(i["sk"], "M#") == minutes
	})
}

// reserved adds up what stands reserved in an item, and counts the attempts.
func (i Item) reserved() (sum, attempts int64) {
	for name := range i {
		if strings.HasPrefix(name, "r_") {
			sum += i.number(name)
			attempts++
		}
	}
	return sum, attempts
}

func daysAddUp(all Items) (bad []string) {
	for _, d := range all.spending(false) {
		reserved, _ := d.reserved()
		if d.number("sum") != d.number("cost")+reserved {
			bad = append(bad, fmt.Sprintf("%s: the sum is %s, calls cost %q and %d is reserved", d.id(), d["sum"], d["cost"], reserved))
		}
		if d.number("sum") > d.number("lim") { // a call never costs more than was reserved for it
			bad = append(bad, fmt.Sprintf("%s: the sum is %s, the limit %s", d.id(), d["sum"], d["lim"]))
		}
	}
	return bad
}

func minutesAddUp(all Items) (bad []string) {
	for _, m := range all.spending(true) {
		if _, attempts := m.reserved(); m.number("num") != attempts || attempts > m.number("lim") {
			bad = append(bad, fmt.Sprintf("%s: %s calls of %d attempts, the limit is %s", m.id(), m["num"], attempts, m["lim"]))
		}
	}
	return bad
}

func breakersTurn(all Items) (bad []string) {
	for _, b := range all.pick(func(i Item) bool { return i["sk"] == "BREAKER" }) {
		switch open := b["st"] == "open"; {
		case !open && b["st"] != "closed":
			bad = append(bad, fmt.Sprintf("%s is %q", b.id(), b["st"]))
		case open != (b["til"] != "") || !open && b["own"] != "":
			bad = append(bad, fmt.Sprintf("%s is %s until %q, probed by %q", b.id(), b["st"], b["til"], b["own"]))
		}
	}
	return bad
}
