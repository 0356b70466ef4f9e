package model

// receivers are the deliveries under way.
func (c *protocol) receivers(s *State) {
	for i, a := range c.sc.arrivals {
		d := s.d[i]
		if d.pc == dAnswered || d.pc == dDead || d.pc == dNew && c.sameBefore(s, i) {
			continue
		}
		if d.pc == dNew {
			if c.a("ack-before-put") {
				ns := *s
				ns.d[i].pc = dPut
				ns.ev[a.ev].ack = 1
				c.does(&ns, say("receiver %v: answers 200 before the put", uint8(i)))
				continue
			}
			d.pc = c.onArrival() // arrival and the first write are one step: before it nothing exists that a crash could leave
		} else if s.budget.has(s.budget.crash) {
			c.receiverDies(s, i)
		}
		switch d.pc {
		case dPut:
			c.put(s, i)
		case dConflict:
			ns := *s
			ns.conf = 1 // put if absent under (event key, digest): idempotent
			ns.d[i] = delivery{dAnswered, 0}
			ns.ev[a.ev].ack = 1
			c.does(&ns, say("receiver %v: keeps the conflict, answers 200", uint8(i)))
		case dHead:
			c.headWrite(s, i, a.ev)
		case dSend:
			c.sendFirst(s, i, a.ev)
		}
	}
}

// sameBefore tells whether an equal delivery has yet to arrive before this one: they differ by name alone.
func (c *protocol) sameBefore(s *State, i int) bool {
	for j := range i {
		if c.sc.arrivals[j] == c.sc.arrivals[i] && s.d[j].pc == dNew {
			return true
		}
	}
	return false
}

func (c *protocol) onArrival() uint8 {
	switch {
	case c.a("enqueue-before-put"):
		return dSend
	case c.a("head-before-put"):
		return dHead
	}
	return dPut
}

func (c *protocol) receiverDies(s *State, i int) {
	ns, d, e := *s, s.d[i], c.sc.arrivals[i].ev
	ns.budget.take(&ns.budget.crash)
	ns.d[i] = delivery{dDead, 0}
	if c.sc.quiet && s.ev[e].st != evNone && (d.pc == dHead || d.pc == dPut && d.retry == 1) {
		ns.miss++
	}
	for k := range ns.ev {
		if ns.ev[k].wid == uint8(i)+1 {
			ns.ev[k].wid = 9
		}
	}
	c.emit(&ns, say("receiver %v CRASHES, nothing is answered", uint8(i)), true, "")
}

// put is W1.
func (c *protocol) put(s *State, i int) {
	a := c.sc.arrivals[i]
	e, x := a.ev, s.ev[a.ev]
	if x.st == evNone || c.a("conflict-overwrites") && x.dig != a.dig {
		c.stored(s, i)
		return
	}
	n := say("receiver %v: put event %v -> refused", uint8(i), e)
	ns := *s
	own := s.d[i].retry == 1 && x.wid == uint8(i)+1
	switch {
	case own && !c.a("no-write-id-put"):
		ns.d[i] = delivery{c.afterPut(), 0}
		c.does(&ns, n.and(", own write id: goes on"))
	case own:
		ns.d[i] = delivery{dAnswered, 0}
		ns.ev[e].ack = 1
		c.emit(&ns, n.and(", taken for a duplicate"), false, "own-write: receiver answers duplicate to its own new event")
	case x.dig != a.dig:
		ns.d[i] = delivery{dConflict, 0}
		c.does(&ns, n.and(", other digest"))
	case x.st == evOpen && !c.a("duplicate-never-enqueues"):
		ns.d[i] = delivery{c.afterPut(), 0}
		c.does(&ns, n.and(", stored and open: sends again"))
	default:
		ns.d[i] = delivery{dAnswered, 0}
		ns.ev[e].ack = 1
		c.does(&ns, n.and(": duplicate"))
	}
}

func (c *protocol) stored(s *State, i int) {
	a := c.sc.arrivals[i]
	stamps := uint8(1)
	if c.sc.tie {
		stamps = 2
	}
	for st := range stamps {
		ns := *s
		old := s.ev[a.ev]
		ns.ev[a.ev] = event{st: evOpen, wid: uint8(i) + 1, dig: a.dig, stamp: st, rcp: s.cfg, ack: old.ack, ops: old.ops}
		lost := ns
		ns.d[i] = delivery{c.afterPut(), 0}
		if c.a("enqueue-before-put") {
			ns.d[i] = delivery{dAnswered, 0}
			ns.ev[a.ev].ack = 1
		}
		n := say("receiver %v: put event %v (%c, stamp %v, recipe v%v)", uint8(i), a.ev, a.dig, st, s.cfg)
		c.does(&ns, n.and(" -> ok"))
		lost.d[i] = delivery{dPut, 1}
		c.unanswered(&lost, n, "")
	}
}

// afterPut is what a receiver does once its event is stored.
func (c *protocol) afterPut() uint8 {
	if c.sc.quiet && !c.a("head-before-put") {
		return dHead
	}
	return dSend
}

// sendFirst sends the reference and answers, also when the send fails.
func (c *protocol) sendFirst(s *State, i int, e uint8) {
	next := func(ns *State) {
		if c.a("enqueue-before-put") {
			ns.d[i] = delivery{dPut, 0}
			return
		}
		ns.d[i] = delivery{dAnswered, 0}
		ns.ev[e].ack = 1
	}
	broken := ""
	if s.ev[e].st == evNone {
		broken = "ref-stored: a message refers to an event that is not stored"
	}
	n := say("receiver %v: sends event %v", uint8(i), e)
	ns := *s
	c.send(&ns, e)
	lost := ns
	next(&ns)
	c.emit(&ns, n.and(" -> ok, answers 200"), false, broken)
	if s.budget.has(s.budget.lost) {
		lost.budget.take(&lost.budget.lost)
		c.emit(&lost, n.and(" -> sent, ANSWER LOST, sends again"), true, broken)
		failed := *s
		failed.budget.take(&failed.budget.lost)
		next(&failed)
		c.emit(&failed, n.and(" -> FAILS, answers 200 all the same"), true, broken)
	}
}

// headWrite is W21.
func (c *protocol) headWrite(s *State, i int, e uint8) {
	at := c.result(e, 1)
	h := s.head[at]
	ns := *s
	next := uint8(dSend)
	if c.a("head-before-put") {
		next = dPut
	}
	ns.d[i] = delivery{next, 0}
	n := say("receiver %v: head <- event %v", uint8(i), e)
	if h.rank >= c.rank(s, e) && !c.a("head-unconditional") {
		c.does(&ns, n.and(" -> refused, a newer one or the same is there"))
		return
	}
	failed := ns
	ns.head[at] = head{c.rank(s, e), e + 1}
	lost := ns
	c.does(&ns, n.and(" -> ok"))
	if s.budget.has(s.budget.lost) {
		lost.budget.take(&lost.budget.lost)
		lost.d[i] = s.d[i]
		lost.d[i].pc = dHead
		c.emit(&lost, n.and(" -> took effect, ANSWER LOST"), true, "")
		failed.budget.take(&failed.budget.lost)
		failed.miss++
		c.emit(&failed, n.and(" -> FAILS, goes on"), true, "")
	}
}

// arriving tells whether a delivery is still under way or to come.
func (c *protocol) arriving(s *State) bool {
	for i := range c.sc.arrivals {
		if p := s.d[i].pc; p != dAnswered && p != dDead {
			return true
		}
	}
	return false
}
