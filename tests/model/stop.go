package model

// Where a person who cancels stands.
const (
	sIdle     = iota
	sEvent    // reads the event
	sClaim    // makes the operation that is not there yet (W3)
	sGiveBack // gives that claim back (W24)
	sWork     // looks at what works for the event
	sCancel   // cancels that with the token that was seen
	sEnd      // W6 as cancelled
	sWork2    // looks a second time
	sCancel2
	sNewer     // looks at the newer event that the work stands for
	sNewer2    // the same, the second time
	sOperation // cancels one operation, by its name
)

const writeOfStop = 15

// stops are the steps of a person who cancels an operation, or an event with all that works for it.
func (c *protocol) stops(s *State) {
	p := s.stop
	switch p.pc {
	case sIdle:
		c.beginsToStop(s)
		return
	case sEvent:
		c.stopReads(s)
	case sClaim:
		c.stopClaims(s)
	case sGiveBack:
		c.stopGivesBack(s)
	case sWork, sWork2:
		c.stopLooks(s)
	case sNewer, sNewer2:
		c.stopSpares(s)
	case sCancel, sCancel2, sOperation:
		c.cancels(s)
	case sEnd:
		c.stopEnds(s)
	}
	ns := *s
	stopIdle(&ns)
	if p.pc == sOperation && p.retry == 0 {
		c.does(&ns, say("canceller: leaves it"))
	} else {
		c.crashes(&ns, say("canceller: program CRASHES"))
	}
}

func stopIdle(s *State) {
	s.forgets(writeOfStop)
	s.stop = stop{}
}

func (c *protocol) beginsToStop(s *State) {
	if s.budget.stop > 0 {
		for o, q := range s.op {
			if !moveCancel.allows(q.st) {
				continue
			}
			ns := *s
			ns.budget.stop--
			ns.stop = stop{pc: sOperation, op: uint8(o), tok: q.tok}
			if q.st == opReview {
				ns.stop.seen, ns.stop.out = 1, q.out
			}
			c.does(&ns, say("canceller: looks at op %v (state %v, token %v)", uint8(o), q.st, q.tok))
		}
	}
	if s.budget.stopEv > 0 {
		for e, x := range s.ev {
			if x.st != evOpen {
				continue
			}
			ns := *s
			ns.budget.stopEv--
			ns.stop = stop{pc: sEvent, ev: uint8(e)}
			c.does(&ns, say("canceller: is to cancel event %v", uint8(e)))
		}
	}
}

// cancels is the write that stops an operation. Attempts that end or begin meanwhile are stopped all the same; a draft
// that nobody here has seen is not.
func (c *protocol) cancels(s *State) {
	p := s.stop
	q := s.op[p.op]
	n := say("canceller: cancels op %v (token %v)", p.op, p.tok)
	ns := *s
	after := func(ns *State) {
		switch p.pc {
		case sCancel:
			ns.stop.pc, ns.stop.retry = sEnd, 0
			if c.a("cancel-event-first") {
				stopIdle(ns)
			}
		default:
			stopIdle(ns)
		}
	}
	if moveCancel.allows(q.st) && (q.tok == p.tok || c.a("cancel-without-token")) {
		broken := c.cancelled(&ns.op[p.op], p)
		lost := ns
		after(&ns)
		c.emit(&ns, n.and(" -> ok"), false, broken)
		lost.stop.retry = 1
		c.unanswered(&lost, n, broken)
		return
	}
	switch {
	case p.retry == 1 && q.st == opFailed && q.wid == writeOfStop:
		after(&ns)
		c.does(&ns, n.and(" -> refused, own write"))
	case moveCancel.allows(q.st) && p.seen == 0 && p.pc == sOperation:
		ns.stop.tok, ns.stop.retry = q.tok, 0
		c.does(&ns, n.and(" -> refused: another attempt, again with its token"))
	case p.pc == sCancel:
		ns.stop.pc, ns.stop.retry = sWork, 0
		c.does(&ns, n.and(" -> refused: looks again"))
	case p.pc == sCancel2 && moveCancel.allows(q.st):
		ns.stop.pc, ns.stop.retry = sWork2, 0
		c.does(&ns, n.and(" -> refused: looks again"))
	default:
		after(&ns)
		c.does(&ns, n.and(" -> refused: final, or a draft that was not looked at"))
	}
}

// cancelled is the effect of a cancellation. It raises the token: what was seen before it is over.
func (c *protocol) cancelled(q *op, p stop) string {
	broken := ""
	if p.seen == 1 && q.st == opReview && q.out != p.out {
		broken = "approved-bytes: cancelled a draft that was not the one looked at"
	}
	if q.st == opRunning {
		q.exc |= 1 << q.ser // whoever has the lease may call all the same, and is fenced
	}
	c.move(q, moveCancel)
	q.cat, q.oq, q.exp, q.wid = 1, 0, 0, writeOfStop
	q.fls++
	if !c.a("cancel-keeps-token") {
		q.tok++
	}
	return broken
}

// stopReads is the look at the event.
func (c *protocol) stopReads(s *State) {
	p := s.stop
	x := s.ev[p.ev]
	ns := *s
	t := &ns.stop
	t.op, t.gen = c.operation(p.ev, x.dig, max(x.rcp, 1)), x.gen
	switch {
	case x.st == evCancelled:
		t.pc = sWork2
	case x.st != evOpen:
		stopIdle(&ns)
	case c.a("cancel-event-first"):
		t.pc = sEnd
	case c.a("cancel-event-without-claim"):
		t.pc = sWork
	default:
		t.pc = sClaim
	}
	c.does(&ns, say("canceller: reads event %v (state %v)", p.ev, x.st))
}

// stopClaims makes the operation where it is not there yet, so that the claim of a worker that comes later is refused.
func (c *protocol) stopClaims(s *State) {
	p := s.stop
	q := s.op[p.op]
	ns := *s
	n := say("canceller: claims op %v for event %v", p.op, p.ev)
	rank := c.rank(s, p.ev)
	if q.st != opNone && (q.st != opSuperseded || q.rank >= rank) {
		ns.stop.pc = sWork
		c.does(&ns, n.and(" -> refused: it is there"))
		return
	}
	x := &ns.op[p.op]
	if q.st == opNone {
		x.st = opStart
	} else {
		c.move(x, moveClaim)
	}
	x.exp, x.wid, x.evk, x.rank = 0, writeOfStop, p.ev+1, rank
	x.tok++
	x.ser++
	x.natt++
	ns.stop.pc, ns.stop.tok, ns.stop.own = sGiveBack, x.tok, x.ser
	c.does(&ns, n.and(" -> ok"))
}

func (c *protocol) stopGivesBack(s *State) {
	p := s.stop
	ns := *s
	q := &ns.op[p.op]
	ns.stop.pc, ns.stop.own = sWork, 0
	n := say("canceller: op %v -> pending", p.op)
	if !moveGiveBack.allows(q.st) || q.tok != p.tok || q.ser != p.own {
		c.does(&ns, n.and(" -> refused: taken over"))
		return
	}
	c.move(q, moveGiveBack)
	q.natt--
	q.wid = 9
	c.does(&ns, n.and(" -> ok"))
}

// stopLooks finds what works for the event.
func (c *protocol) stopLooks(s *State) {
	p := s.stop
	q := s.op[p.op]
	ns := *s
	works := moveCancel.allows(q.st) && (q.evk == p.ev+1 || !c.a("cancel-by-newest-event"))
	newer := works && q.evk != p.ev+1 && q.rank > c.rank(s, p.ev)
	works = works && !(newer && q.st == opReview)
	switch {
	case newer && works:
		ns.stop.pc, ns.stop.tok, ns.stop.out = sNewer+p.pc/sWork2, q.tok, q.evk
	case p.pc == sWork && q.st == opSuperseded && q.rank < c.rank(s, p.ev) && !c.a("cancel-event-claims-once"):
		ns.stop.pc = sClaim // given back meanwhile: a worker that has the event in hand could claim it
	case works && p.pc == sWork:
		ns.stop.pc, ns.stop.tok = sCancel, q.tok
	case works:
		ns.stop.pc, ns.stop.tok = sCancel2, q.tok
	case p.pc == sWork && !c.a("cancel-event-first"):
		ns.stop.pc = sEnd
	default:
		stopIdle(&ns)
	}
	c.does(&ns, say("canceller: looks at op %v (state %v, of event %v)", p.op, q.st, q.evk-1))
}

// stopEnds is W6 as cancelled.
func (c *protocol) stopEnds(s *State) {
	p := s.stop
	ns := *s
	x := &ns.ev[p.ev]
	n := say("canceller: settles event %v as cancelled (generation %v)", p.ev, p.gen)
	if !moveSettle.allows(x.st) || x.gen != p.gen {
		ns.stop = stop{pc: sEvent, ev: p.ev}
		c.does(&ns, n.and(" -> refused: looks again"))
		return
	}
	c.moveEvent(x, moveSettle, evCancelled)
	lost := ns
	switch {
	case c.a("cancel-event-first"):
		ns.stop.pc = sWork
	case c.a("cancel-event-one-look"):
		stopIdle(&ns)
	default:
		ns.stop.pc = sWork2
	}
	c.does(&ns, n.and(" -> ok"))
	c.unanswered(&lost, n, "")
}

// stopSpares looks at the newer event that the work stands for: while it is open it goes on with it.
func (c *protocol) stopSpares(s *State) {
	p := s.stop
	ns := *s
	open := s.ev[p.out-1].st == evOpen
	ns.stop.out = 0
	switch {
	case open && p.pc == sNewer2:
		stopIdle(&ns)
	case open:
		ns.stop.pc = sEnd
	case p.pc == sNewer:
		ns.stop.pc = sCancel
	default:
		ns.stop.pc = sCancel2
	}
	c.does(&ns, say("canceller: looks at event %v (state %v)", p.out-1, s.ev[p.out-1].st))
}
