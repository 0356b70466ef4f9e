package model

// check tells what is wrong with a state, whatever led to it.
func (c *protocol) check(s *State) string {
	for _, rule := range []func(*protocol, *State) string{
		(*protocol).acknowledged, (*protocol).resultStands, (*protocol).resultShows, (*protocol).oneFact,
		(*protocol).draftsApproved, (*protocol).splitWhole, (*protocol).coalesced, (*protocol).recordedOnce, (*protocol).listed, (*protocol).parked,
	} {
		if broken := rule(c, s); broken != "" {
			return broken
		}
	}
	return ""
}

func (c *protocol) acknowledged(s *State) string {
	for _, x := range s.ev {
		if x.ack == 1 && x.st == evNone {
			return "durable-ack: 2xx answered, nothing stored"
		}
	}
	return ""
}

// resultStands: an event that is done has a result at its rank or newer, or something newer stands for it.
func (c *protocol) resultStands(s *State) string {
	for e, x := range s.ev {
		if x.st != evDone || c.a("result-version-only") || c.sc.split && e == 0 {
			continue
		}
		for _, r := range c.asks(x) {
			if c.standsFor(s, x, r) || x.off>>(r-1)&1 == 1 {
				continue
			}
			if shown(s, c.result(uint8(e), r)) < c.trueRank(s, uint8(e)) {
				return "settled-means-result: event settled as done, but the object's result is older than it (or missing)"
			}
		}
	}
	return ""
}

// standsFor tells whether a stored newer event does the work of a recipe of an event.
func (c *protocol) standsFor(s *State, x event, recipe uint8) bool {
	by := byOf(x.by, recipe)
	return by != 0 && s.ev[by-1].st != evNone
}

// byOf is the event that stands for a recipe of an event, + 1.
func byOf(by, recipe uint8) uint8 { return by >> (4 * (recipe - 1)) & 15 }

// parked: an event that is parked is the newest that waits for one of its operations, which is in the review list, or
// was dismissed.
func (c *protocol) parked(s *State) string {
	for e, x := range s.ev {
		if x.st != evParked || x.dec == 1 {
			continue
		}
		listed := false
		for _, r := range c.asks(x) {
			q := s.op[c.operation(uint8(e), x.dig, r)]
			listed = listed || q.st == opFailed && q.oq == 1 && q.evk == uint8(e)+1
		}
		if !listed {
			return "no-dead-ends: an event is parked, and neither it nor its operation is in the review list or dismissed"
		}
	}
	return ""
}

// resultShows: a result shows committed outputs only.
func (c *protocol) resultShows(s *State) string {
	if c.a("design-literal") {
		return ""
	}
	for _, x := range s.res {
		if x.op == 0 {
			continue
		}
		o := s.op[x.op-1]
		if o.st == opCompleted && o.out != x.out {
			return "fenced: the result shows an output that its operation did not commit"
		}
		if o.st != opCompleted && c.sc.budget.ttl == 0 {
			return "fenced: the result shows an output before its operation is completed"
		}
	}
	return ""
}

// oneFact: of two facts under one key the first alone is worked on.
func (c *protocol) oneFact(s *State) string {
	if c.sc.Name != "conflict" || s.ev[0].st == evNone {
		return ""
	}
	for o, q := range s.op {
		if q.st != opNone && q.ser > 0 && uint8(o) != c.operation(0, s.ev[0].dig, 1) {
			return "conflict: the other digest was processed"
		}
	}
	return ""
}

func (c *protocol) draftsApproved(s *State) string {
	if c.sc.policy == 0 {
		return ""
	}
	for e, x := range s.ev {
		if x.st != evDraft && !(c.sc.multi && x.st == evParked) {
			continue
		}
		for _, r := range c.asks(x) {
			o := s.op[c.operation(uint8(e), x.dig, r)]
			if (o.st == opCompleted || o.st == opSuperseded) && shown(s, c.result(uint8(e), r)) < c.trueRank(s, uint8(e)) {
				return "settled-means-result: event settled for review, its draft decided, but the object's result is older than it (or missing)"
			}
		}
	}
	for _, x := range s.res {
		if x.op == 0 {
			continue
		}
		o := s.op[x.op-1]
		if (o.rev>>x.out&1 == 1 || c.sc.policy == 1) && o.app>>x.out&1 == 0 {
			return "approved-bytes: the result shows an output that nobody approved"
		}
	}
	return ""
}

func (c *protocol) splitWhole(s *State) string {
	if !c.sc.split || s.ev[0].st != evDone {
		return ""
	}
	for _, x := range s.ev[1:] {
		if x.st == evNone {
			return "split: the delivery is settled, an event in it is not stored"
		}
	}
	return ""
}

func (c *protocol) coalesced(s *State) string {
	calls := uint8(0)
	for o, q := range s.op {
		if q.made > 0 && c.recipeOf(uint8(o)) == 1 {
			calls++
		}
	}
	for e, x := range s.ev {
		if x.st != evCoalesced && !(x.st == evDone && x.by != 0) {
			continue
		}
		if x.by == 0 {
			return "coalesced: no event stands for it"
		}
		for _, r := range c.asks(x) {
			by := byOf(x.by, r)
			switch {
			case by == 0:
			case s.ev[by-1].st == evNone || c.trueRank(s, by-1) <= c.trueRank(s, uint8(e)):
				return "coalesced: the event that stands for it is not stored or not newer"
			case !c.sc.quiet && c.operation(by-1, s.ev[by-1].dig, r) != c.operation(uint8(e), x.dig, r):
				return "coalesced: the event that stands for it asks for something else"
			}
		}
	}
	if c.sc.quick && calls > 1+s.miss {
		return "coalesced: more calls than one and one per head that was not written"
	}
	return ""
}

func (c *protocol) recordedOnce(s *State) string {
	if !c.sc.losing {
		return ""
	}
	for _, q := range s.op {
		if q.rec&q.lst != 0 {
			return "recorded-once: a call is on the operation and has a losing item too (its cost counts twice)"
		}
	}
	return ""
}

// listed: an operation stands in the review list exactly while a person has to do with it.
func (c *protocol) listed(s *State) string {
	for _, q := range s.op {
		waits := q.st == opReview || q.st == opFailed && q.cat|q.dsm == 0
		if waits && q.oq == 0 || q.oq == 1 && q.st != opReview && q.st != opFailed {
			return "no-dead-ends: what waits for a person is not in the review list, or something else is"
		}
	}
	for _, d := range s.days {
		if d.paid > d.sum && !c.a("reserve-by-operation") {
			return "spend: calls cost more than the day's sum says"
		}
	}
	return ""
}
