package model

import "fmt"

// rest tells whether nothing is owed any more, and then what is wrong with the answer.
func (c *protocol) rest(s *State) (bool, string) {
	if c.arriving(s) || c.handled(s) {
		return false, ""
	}
	unsent := [nOperations]bool{}
	for e, x := range s.ev {
		if x.st == evOpen {
			return false, ""
		}
		if x.st == evUnsent {
			unsent[c.operation(uint8(e), x.dig, x.rcp)] = true
		}
	}
	for o, q := range s.op {
		if (q.st == opPending || q.st == opRunning) && !unsent[o] {
			return false, ""
		}
	}
	for _, rule := range []func(*protocol, *State) string{(*protocol).waiting, (*protocol).newest, (*protocol).told, (*protocol).waited, (*protocol).whole} {
		if broken := rule(c, s); broken != "" {
			return true, broken
		}
	}
	return true, ""
}

// handled tells whether somebody has something in hand.
func (c *protocol) handled(s *State) bool {
	for _, w := range s.w {
		if w.pc != wIdle {
			return true
		}
	}
	for _, m := range s.m {
		if m.ev != 0 {
			return true
		}
	}
	for _, p := range s.p {
		if p.pc != pIdle {
			return true
		}
	}
	for _, r := range s.rec {
		if r.pc != 0 {
			return true
		}
	}
	return s.opPc != 0 || s.stop.pc != 0 || s.dsm.pc != 0 || s.hold != 0
}

// waiting: what waits for a person knows the newest event that waits for it.
func (c *protocol) waiting(s *State) string {
	for e, x := range s.ev {
		if x.st != evDraft && x.st != evParked && (x.st != evCancelled || c.sc.budget.stopEv > 0) {
			continue
		}
		for _, r := range c.asks(x) {
			o := s.op[c.operation(uint8(e), x.dig, r)]
			if o.rank >= c.trueRank(s, uint8(e)) || c.a("result-version-only") {
				continue
			}
			switch {
			case x.st == evParked && (o.st == opFailed || o.st == opReview || o.st == opRejected):
				return "newest-wins: a failed operation does not know the newest event that waits for it (a redrive would publish an old rank)"
			case o.st == opFailed || o.st == opReview || o.st == opRejected:
				return "newest-wins: a draft, or a cancelled operation, does not know the newest event that waits for it"
			}
		}
	}
	return ""
}

// newest: the result is the one that the newest of the events asks for which neither failed nor wait.
func (c *protocol) newest(s *State) string {
	best := [nResults]int{-1, -1}
	for e, x := range s.ev {
		switch {
		case x.st == evNone, x.st == evUnsent, x.st == evCoalesced, x.st == evCancelled, c.sc.split && e == 0:
			continue
		}
		for _, rc := range c.asks(x) {
			o := s.op[c.operation(uint8(e), x.dig, rc)]
			r := c.result(uint8(e), rc)
			switch {
			case x.st == evParked && (o.st == opFailed || o.st == opReview || o.st == opRejected):
			case x.st == evDraft && (o.st == opReview || o.st == opRejected || o.st == opFailed): // nothing is published before a person says so
			case x.st == evDraft && o.st == opNone && c.sc.kept: // it left long after it was decided
			case c.standsFor(s, x, rc), x.off>>(rc-1)&1 == 1:
			case best[r] < 0 || c.trueRank(s, uint8(e)) > c.trueRank(s, uint8(best[r])):
				best[r] = e
			}
		}
	}
	for r, e := range best {
		if e < 0 || s.res[r].rank > c.trueRank(s, uint8(e)) || s.res[r].op == 0 && s.top[r] >= c.trueRank(s, uint8(e)) { // newer: shown for an event that was replayed under a newer recipe since
			continue
		}
		recipe := s.ev[e].rcp
		if c.sc.multi {
			recipe = uint8(r) + 1
		}
		if want := c.operation(uint8(e), s.ev[e].dig, recipe); s.res[r].op != want+1 {
			return fmt.Sprintf("newest-wins: in the end the result shows op %d, the newest event asks for op %d", int(s.res[r].op)-1, want)
		}
	}
	return ""
}

// told: what is parked was told to the dead-letter queue.
func (c *protocol) told(s *State) string {
	for e, x := range s.ev {
		if x.st != evParked || c.a("as-written") && c.sc.multi {
			continue
		}
		for _, r := range c.asks(x) {
			at := c.operation(uint8(e), x.dig, r)
			q := s.op[at]
			if q.st == opFailed && q.evk == uint8(e)+1 && q.oq == 1 && s.ntc[at] == 0 {
				return "no-dead-ends: an event is parked, and no notice told of it"
			}
		}
	}
	return ""
}

// waited: what failed and is in the review list has its event, parked: one that is settled leaves the table.
func (c *protocol) waited(s *State) string {
	for _, q := range s.op {
		if q.st == opFailed && q.oq == 1 && s.ev[q.evk-1].st != evParked {
			return "no-dead-ends: an operation waits for a person, and its newest event is settled"
		}
	}
	return ""
}

// whole: every call is recorded, and every part of a delivery is stored.
func (c *protocol) whole(s *State) string {
	for _, q := range s.op {
		if c.sc.losing && q.made&^(q.rec|q.lst|q.gone) != 0 {
			return "recorded-once: a call is recorded nowhere although its worker lived"
		}
	}
	if !c.sc.split || s.ev[0].st == evNone {
		return ""
	}
	for _, x := range s.ev[1:] {
		if x.st == evNone {
			return "split: an event of the delivery is not stored in the end"
		}
	}
	return ""
}
