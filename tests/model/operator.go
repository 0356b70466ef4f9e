package model

// operator is the program of people that redrives and replays, and the queue's own redrive.
func (c *protocol) operator(s *State) {
	if s.opPc == 1 {
		ns := *s
		c.send(&ns, s.opEv)
		ns.opPc, ns.opEv = 0, 0
		c.does(&ns, say("operator: sends event %v again", s.opEv))
	}
	if s.opPc >= 10 {
		c.repeatRedrive(s)
	}
	if s.opPc == 2 { // weakened: redrive-not-atomic
		ns := *s
		c.reopen(&ns, s.opEv)
		ns.opPc = 1
		c.does(&ns, say("operator: reopens event %v", s.opEv))
	}
	if s.opPc != 0 {
		ns := *s
		ns.opPc, ns.opEv, ns.opTok, ns.opSt = 0, 0, 0, 0
		c.crashes(&ns, say("operator: program CRASHES"))
		return
	}
	if s.budget.red > 0 {
		for o := range s.op {
			c.redrive(s, uint8(o))
		}
		for e := range s.ev {
			c.redriveAlone(s, uint8(e))
			c.redriveLetter(s, uint8(e))
		}
	}
	if s.budget.back > 0 {
		for o := range s.op {
			c.noticeBack(s, uint8(o))
		}
	}
	if s.budget.rep > 0 && s.cfg == 2 {
		c.replay(s)
	}
}

// reopen is the event's half of W13: whatever its state.
func (c *protocol) reopen(ns *State, e uint8) {
	x := &ns.ev[e]
	if !moveRedrive.allows(x.st) {
		panic("redrive of an event that is not stored")
	}
	c.moveEvent(x, moveRedrive, evOpen)
	x.gen++
	x.rq, x.dec, x.off = 0, 0, 0
}

// reopened is the operation's half of W13, or W20.
func (c *protocol) reopened(q *op) {
	switch {
	case q.st == opRejected: // a person wants another draft: the old one goes, its call is excused
		c.move(q, moveRenew)
		q.exc |= 1 << q.out
		if !c.a("redrive-keeps-rejected") {
			q.out = 0
		}
	default:
		c.move(q, moveRedriveOp)
		if q.cat == 1 && q.out == 0 { // a person stopped it, and wants it after all; a draft is there still
			q.exc |= q.made
		}
		if !c.a("redrive-keeps-category") {
			q.cat = 0
		}
		q.oq, q.dsm = 0, 0
	}
	q.natt, q.wid = 0, 9
}

// redrive is W13 or W20, by name.
func (c *protocol) redrive(s *State, o uint8) {
	q := s.op[o]
	if !moveRedriveOp.allows(q.st) && !moveRenew.allows(q.st) {
		return
	}
	ns := *s
	ns.budget.red--
	e := q.evk - 1
	c.reopened(&ns.op[o])
	staleSweeps(&ns, e)
	ns.opPc, ns.opEv = 1, e
	if c.a("redrive-not-atomic") {
		ns.opPc = 2
	} else {
		c.reopen(&ns, e)
	}
	ns.ntc[o] = 0
	n := say("operator: redrives op %v (event %v)", o, e)
	c.does(&ns, n)
	if c.sc.lostRed {
		ns.op[o].wid = 5
		ns.opPc, ns.opTok, ns.opSt = 10+o, q.tok, q.st
		c.unanswered(&ns, n, "")
	}
}

// repeatRedrive is the same write again, after its answer was lost.
func (c *protocol) repeatRedrive(s *State) {
	o := s.opPc - 10
	q := s.op[o]
	ns := *s
	ns.opPc, ns.opTok, ns.opSt = 0, 0, 0
	n := say("operator: repeats the redrive of op %v", o)
	switch {
	case q.st == s.opSt && (q.tok == s.opTok || c.a("redrive-without-token")):
		e := q.evk - 1
		c.reopened(&ns.op[o])
		c.reopen(&ns, e)
		ns.opPc, ns.opEv = 1, e
		c.emit(&ns, n.and(" -> ok"), false, "one-redrive: one act of a person opened two budgets")
	case q.st == opPending && q.wid == 5:
		ns.op[o].wid = 9
		ns.opPc = 1
		c.does(&ns, n.and(" -> refused, own write"))
	default:
		ns.opEv = 0
		if ns.op[o].wid == 5 {
			ns.op[o].wid = 9
		}
		c.does(&ns, n.and(" -> refused: redriven, worked on already"))
	}
}

// redriveAlone opens an event that the reconciler parked.
func (c *protocol) redriveAlone(s *State, e uint8) {
	if s.ev[e].st != evUnsent || !moveReopen.allows(evUnsent) {
		return
	}
	ns := *s
	ns.budget.red--
	c.moveEvent(&ns.ev[e], moveReopen, evOpen)
	ns.ev[e].rq = 0
	ns.ev[e].gen++
	ns.opPc, ns.opEv = 1, e
	c.does(&ns, say("operator: redrives event %v", e))
}

// redriveLetter sends what the queue itself set aside, then deletes the letter.
func (c *protocol) redriveLetter(s *State, e uint8) {
	if s.dlq[e] == 0 || s.ev[e].st == evNone {
		return
	}
	ns := *s
	ns.budget.red--
	c.send(&ns, e)
	dead := ns
	ns.dlq[e]--
	c.does(&ns, say("operator: redrives the letter of event %v: sends, then deletes it", e))
	c.crashes(&dead, say("operator: sends the letter of event %v again, CRASHES before deleting it", e))
}

// noticeBack is a notice that the queue's own redrive moved back: good for the failure that it tells of. The queue
// may deliver it again.
func (c *protocol) noticeBack(s *State, o uint8) {
	q := s.op[o]
	if s.ntok[o] == 0 {
		return
	}
	ns := *s
	ns.budget.back--
	broken := ""
	n := say("operator: the notice of op %v (token %v) comes back", o, s.ntok[o])
	decided := q.cat|q.dsm == 1
	if !moveRedriveOp.allows(q.st) || q.tok != s.ntok[o] && !c.a("notice-without-token") || decided && !c.a("notice-undoes-decision") {
		ns.ntok[o] = 0
		c.does(&ns, n.and(": redriven or decided since, nothing to open"))
		return
	}
	switch {
	case decided:
		broken = "one-decision: a notice undid what a person had decided"
	case q.fls != s.nfls[o]:
		broken = "one-redrive: a notice opened a failure that it does not tell of"
	}
	e := q.evk - 1
	c.reopened(&ns.op[o])
	staleSweeps(&ns, e)
	c.reopen(&ns, e)
	ns.opPc, ns.opEv, ns.ntc[o] = 1, e, 0
	c.emit(&ns, n.and(": redrives"), false, broken)
}

// replay is W14.
func (c *protocol) replay(s *State) {
	for e, x := range s.ev {
		if x.st != evDone || x.rcp != 1 || !moveReplay.allows(x.st) {
			continue
		}
		ns := *s
		ns.budget.rep--
		y := &ns.ev[e]
		c.moveEvent(y, moveReplay, evOpen)
		y.rcp, y.rq = 2, 0
		y.gen++
		ns.opPc, ns.opEv = 1, uint8(e)
		c.does(&ns, say("operator: replays event %v under recipe v2", uint8(e)))
	}
}
