package model

// Where a person who dismisses stands.
const (
	dmIdle = iota
	dmEvent
	dmOperation
)

const writeOfDismissal = 16

// dismisses are the steps of a person who takes a failed operation off the review list: first the event that waits
// for it, so that a crash in between leaves the operation in the list, then the operation (W27).
func (c *protocol) dismisses(s *State) {
	p := s.dsm
	if p.pc == dmIdle {
		c.beginsToDismiss(s)
		return
	}
	if p.pc == dmEvent {
		c.dismissesEvent(s)
	} else {
		c.dismissesOperation(s)
	}
	ns := *s
	dismissalIdle(&ns)
	if p.pc == dmEvent {
		c.does(&ns, say("dismisser: leaves it"))
	} else {
		c.crashes(&ns, say("dismisser: program CRASHES"))
	}
}

func dismissalIdle(s *State) {
	s.forgets(writeOfDismissal)
	s.dsm = dismissal{}
}

func (c *protocol) beginsToDismiss(s *State) {
	if s.budget.dismiss == 0 {
		return
	}
	for o, q := range s.op {
		if !moveDismiss.allows(q.st) || q.oq == 0 {
			continue
		}
		ns := *s
		ns.budget.dismiss--
		ns.dsm = dismissal{pc: dmEvent, op: uint8(o), tok: q.tok, ev: q.evk, fls: q.fls}
		c.does(&ns, say("dismisser: looks at op %v (failure %v)", uint8(o), q.fls))
	}
}

// dismissesEvent marks the event that waits. One that is open does not wait yet: its worker is about to park it.
func (c *protocol) dismissesEvent(s *State) {
	p := s.dsm
	ns := *s
	x := &ns.ev[p.ev-1]
	n := say("dismisser: dismisses event %v", p.ev-1)
	switch {
	case x.st == evOpen && !c.a("dismiss-while-open"):
		dismissalIdle(&ns)
		c.does(&ns, n.and(" -> it is in work: later"))
	case c.neededBeside(s, p):
		ns.dsm.pc, ns.dsm.gen = dmOperation, x.gen
		c.does(&ns, n.and(" -> not yet: another recipe's operation needs it"))
	case moveDismissE.allows(x.st) && x.dec == 0:
		c.moveEvent(x, moveDismissE, evParked)
		x.dec = 1
		ns.dsm.pc, ns.dsm.gen = dmOperation, x.gen
		c.does(&ns, n.and(" -> ok"))
	default:
		ns.dsm.pc, ns.dsm.gen = dmOperation, x.gen
		c.does(&ns, n.and(" -> refused: not parked, or dismissed"))
	}
}

// dismissesOperation is W27.
func (c *protocol) dismissesOperation(s *State) {
	p := s.dsm
	ns := *s
	q := &ns.op[p.op]
	n := say("dismisser: dismisses op %v", p.op)
	seen := (q.tok == p.tok || c.a("dismiss-without-token")) && (q.evk == p.ev || c.a("dismiss-without-event"))
	if c.sc.multi && !c.a("dismiss-without-generation") { // the event as it was: in one transaction with it
		seen = seen && s.ev[p.ev-1].gen == p.gen
	}
	if !moveDismiss.allows(q.st) || q.oq == 0 || !seen {
		dismissalIdle(&ns)
		c.does(&ns, n.and(" -> refused, or own write"))
		return
	}
	broken := ""
	if q.fls != p.fls {
		broken = "one-decision: dismissed a failure that was not the one looked at"
	}
	c.move(q, moveDismiss)
	q.dsm, q.oq, q.wid = 1, 0, writeOfDismissal
	lost := ns
	dismissalIdle(&ns)
	c.emit(&ns, n.and(" -> ok"), false, broken)
	lost.dsm.retry = 1
	c.unanswered(&lost, n, broken)
}

// neededBeside tells whether the operation of another recipe still needs the event. One that is in work does not: it was
// redriven for another event, which is open, and whatever becomes of it that one takes over.
func (c *protocol) neededBeside(s *State, p dismissal) bool {
	if !c.sc.multi {
		return false
	}
	q := s.op[c.asked(p.ev-1, 3-c.recipeOf(p.op))]
	inWork := q.st == opPending || q.st == opRunning
	return q.evk == p.ev && (q.oq == 1 || inWork && c.a("needed-in-work"))
}
