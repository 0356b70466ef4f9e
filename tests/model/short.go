package model

// calm are the scenarios that are searched without any fault where time is short: with one they have more than two
// million states.
var calm = map[string]bool{
	"redrive-aba": true, "review-aba": true, "review-fail": true, "quiet-draft": true, "recipes-draft": true,
	"cancel-echo": true, "cancel-event": true, "cancel-event-order": true, "dismiss-echo": true, "dismiss-recipes": true, "notices": true,
}

// entire are the scenarios whose whole budget is small enough all the same.
var entire = map[string]bool{"poison": true, "cancel-exhaust": true, "objects": true}

// lean are the scenarios that are searched with fewer failures and without a dismissal where time is short: they have no
// fault, and more than two million states all the same.
var lean = map[string]budget{"waits-recipes": budget{}.calls(0, 2).acts(1, 0), "waits-shared": budget{}.calls(0, 2).acts(1, 0)}

// Short is the scenario with fewer faults, for where time is short, and tells whether it is whole all the same.
func (sc Scenario) Short() (short Scenario, whole bool) {
	if entire[sc.Name] {
		return sc, true
	}
	if b, ok := lean[sc.Name]; ok {
		sc.budget = b
		return sc, false
	}
	most := uint8(1)
	if calm[sc.Name] {
		most = 0
	}
	whole = sc.budget.tot <= most
	sc.budget.tot = min(sc.budget.tot, most)
	return sc, whole
}
