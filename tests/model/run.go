package model

import (
	"engang/tests/model/explore"
)

// A Case is one search: a scenario, as it is or with something weakened or done otherwise.
type Case struct {
	Scenario    Scenario
	Transaction bool   // W4, W5 and W6 in one transaction first
	Other       string // the name of a weakening or of a permitted variant
}

// Run searches every state of a case, up to limit of them.
func (k Case) Run(limit int) (explore.Outcome, Reached) {
	c := k.protocol()
	sys := c.system()
	if k.Other == "" {
		sys.Moved = c.moved // what is weakened need not keep to the tables
	}
	return explore.Search(sys, limit), c.reached
}

func (k Case) protocol() *protocol {
	c := &protocol{sc: k.Scenario.filled(), tx: k.Transaction, other: k.Other, slots: 5}
	if c.sc.split || c.sc.quick {
		c.slots = nMessages
	}
	return c
}

func (c *protocol) system() explore.System[State, note] {
	start := State{cfg: 1, budget: c.sc.budget}
	return explore.System[State, note]{Start: start, Steps: c.steps, Plain: c.plain, Same: c.same, Check: c.check, Rest: c.rest}
}

// filled fills in what a scenario does not say.
func (sc Scenario) filled() Scenario {
	for _, d := range []struct {
		at  *uint8
		def uint8
	}{{&sc.recipes, 1}, {&sc.claims, 3}, {&sc.receives, 3}, {&sc.sends, 4}} {
		if *d.at == 0 {
			*d.at = d.def
		}
	}
	return sc
}

// Scenarios are all of them, in the order of infra/protocol.md.
func Scenarios() []Scenario {
	var all []Scenario
	for _, sc := range core {
		sc.Transaction = true
		all = append(all, sc)
	}
	all = append(all, onTop...)
	return append(all, beyond...)
}
