package model

// queue is what the work queue does by itself.
func (c *protocol) queue(s *State) {
	var doubled [nEvents]bool
	for k, m := range s.m {
		if m.ev == 0 {
			continue
		}
		e := m.ev - 1
		if (m.h == 1 || m.h == 2) && s.budget.has(s.budget.stall) {
			ns := *s
			ns.budget.take(&ns.budget.stall)
			ns.m[k].h = mVisible
			c.emit(&ns, say("queue: VISIBILITY ENDS while worker %v still works on event %v", m.h-1, e), true, "")
		}
		if s.budget.has(s.budget.dup) && !doubled[e] {
			doubled[e] = true
			ns := *s
			ns.budget.take(&ns.budget.dup)
			c.send(&ns, e)
			c.emit(&ns, say("queue: DUPLICATES the message of event %v", e), true, "")
		}
	}
}

// time is what happens by itself: leases end, items leave, probe times and days pass, people pause and resume.
func (c *protocol) time(s *State) {
	for o := range s.op {
		c.leaseEnds(s, o)
		if s.budget.ttl > 0 {
			c.cleanUp(s, o)
		}
	}
	if s.budget.ttl > 0 && c.sc.kept {
		c.resultsLeave(s)
	}
	if c.sc.breaker {
		c.probeTime(s)
	}
	c.midnight(s)
	c.pauses(s)
	if s.budget.raise > 0 {
		ns := *s
		ns.budget.raise--
		ns.cfg = 2
		c.does(&ns, say("operator: recipe raised to v2"))
	}
}

func (c *protocol) leaseEnds(s *State, o int) {
	q := s.op[o]
	if q.st != opRunning || q.exp == 1 {
		return
	}
	lives := holderLives(s, o)
	if lives && !s.budget.has(s.budget.stall) {
		return
	}
	ns := *s
	ns.op[o].exp = 1
	ns.op[o].exc |= 1 << q.ser
	n := say("time: lease of op %v ends, its holder is gone", uint8(o))
	if lives {
		ns.budget.take(&ns.budget.stall)
		n = say("time: the holder STALLS, lease of op %v ends", uint8(o))
	}
	c.emit(&ns, n, lives, "")
}

// cleanUp is the TTL: of final items alone, and long after their events are settled.
func (c *protocol) cleanUp(s *State, o int) {
	q := s.op[o]
	early := c.a("lease-deleted-by-ttl")
	switch {
	case early:
		if q.st != opRunning || q.exp == 0 {
			return
		}
	case !c.mayLeave(q) || c.needed(s, uint8(o)):
		return
	}
	ns := *s
	ns.budget.ttl--
	left := op{ser: q.ser, made: q.made, exc: q.exc, old: q.old} // its event is as old
	if c.sc.kept {
		left.rev, left.app, left.dec = q.rev, q.app, q.dec
		if q.st != opReview && q.st != opRejected {
			left.exc |= q.made // absence may cost a call
		}
	}
	ns.op[o] = left
	c.does(&ns, say("time: the clean-up removes op %v", uint8(o)))
}

// mayLeave tells which operations have an expiry.
func (c *protocol) mayLeave(q op) bool {
	switch {
	case q.st == opCompleted:
		return true
	case !c.sc.kept:
		return false
	case q.st == opReview:
		return c.a("drafts-expire")
	case q.st == opRejected:
		return c.a("rejected-expire")
	}
	return q.st == opSuperseded || q.st == opFailed && q.oq == 0
}

// needed tells whether an open event, or a process, still has an operation in hand.
func (c *protocol) needed(s *State, o uint8) bool {
	for e, x := range s.ev {
		if x.st == evOpen && x.ops != 0 && c.operation(uint8(e), x.dig, max(x.rcp, 1)) == o {
			return true
		}
	}
	for _, w := range s.w {
		if w.pc != wIdle && w.op == o {
			return true
		}
	}
	for _, p := range s.p {
		if p.pc != pIdle && p.op == o {
			return true
		}
	}
	return false
}

func (c *protocol) resultOf(o uint8) uint8 { return o / 2 }

// resultsLeave is the TTL of results, long after the last event of their object arrived and when none is open. Whatever had looked at the result before it was written is older than that by then.
func (c *protocol) resultsLeave(s *State) {
	if c.arriving(s) || c.handled(s) {
		return
	}
	for _, x := range s.ev {
		if x.st == evOpen {
			return
		}
	}
	for at, r := range s.res {
		if r.op == 0 {
			continue
		}
		ns := *s
		ns.budget.ttl--
		ns.res[at], ns.top[at] = result{}, max(r.rank, s.top[at])
		for o := range ns.op {
			if q := &ns.op[o]; c.resultOf(uint8(o)) == uint8(at) && q.rank < r.rank {
				q.old = 1
			}
		}
		c.does(&ns, say("time: the clean-up removes the result (rank %v)", r.rank))
	}
}

// shown is the newest rank that a result has had.
func shown(s *State, at uint8) uint8 { return max(s.res[at].rank, s.top[at]) }
