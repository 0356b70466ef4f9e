package model

// Where a person with a draft stands.
const (
	pIdle    = iota
	pLooks   // has it before the eyes: may approve, reject, leave
	pApprove // approving again: an answer was lost, or the rank has grown
	pReject  // rejecting again
	pDrop    // the result is newer: W19
	pResult  // weakened: approve-not-atomic
)

// writeOf is the write id of a person.
func writeOf(i int) uint8 { return uint8(11 + i) }

func personIdle(s *State, i int) {
	s.forgets(writeOf(i))
	s.p[i] = person{}
}

// decides are the persons who look at drafts.
func (c *protocol) decides(s *State) {
	if c.sc.policy == 0 {
		return
	}
	for i := range s.p {
		p := s.p[i]
		if p.pc == pIdle {
			c.looks(s, i)
			continue
		}
		ns := *s
		personIdle(&ns, i)
		c.does(&ns, say("person %v: goes away", uint8(i)))
		if p.pc == pLooks || p.pc == pApprove {
			c.approve(s, i)
		}
		if p.pc == pLooks || p.pc == pReject {
			c.reject(s, i)
		}
		if p.pc == pDrop {
			c.drop(s, i)
		}
		if p.pc == pResult {
			ns := *s
			if r := &ns.res[c.resultOf(p.op)]; r.rank < p.rank {
				*r = result{p.rank, p.op + 1, p.out}
			}
			personIdle(&ns, i)
			c.does(&ns, say("person %v: result <- op %v", uint8(i), p.op))
		}
	}
}

func (c *protocol) looks(s *State, i int) {
	if s.budget.look == 0 {
		return
	}
	for o, q := range s.op {
		if q.st != opReview {
			continue
		}
		ns := *s
		ns.budget.look--
		ns.p[i] = person{pLooks, uint8(o), q.out, q.rank, 0}
		c.does(&ns, say("person %v: looks at op %v (output %v, rank %v)", uint8(i), uint8(o), q.out, q.rank))
	}
}

// decided keeps what the checks know of a decision, and tells what is wrong with it.
func decided(q *op, out uint8) string {
	broken := ""
	if q.dec>>q.out&1 == 1 {
		broken = "one-decision: a draft was decided twice"
	}
	q.dec |= 1 << q.out
	if q.out != out {
		broken = "approved-bytes: decided on a draft that was not the one looked at"
	}
	return broken
}

// approve is W17.
func (c *protocol) approve(s *State, i int) {
	p := s.p[i]
	q, r := s.op[p.op], s.res[c.resultOf(p.op)]
	if r.op == 0 && q.old == 1 && !c.a("results-expire") {
		ns := *s
		personIdle(&ns, i)
		c.does(&ns, say("person %v: op %v is older than results are kept, decides nothing", uint8(i), p.op))
		return
	}
	passes := (moveApprove.allows(q.st) || c.a("approve-without-state") && q.out != 0) &&
		(q.out == p.out || c.a("approve-without-digest")) && (q.rank == p.rank || c.a("approve-without-rank"))
	if !passes || r.rank >= p.rank && !c.a("approve-result-unconditional") {
		c.approveRefused(s, i)
		return
	}
	ns := *s
	x := &ns.op[p.op]
	broken := decided(x, p.out)
	if shown(s, c.resultOf(p.op)) > p.rank && broken == "" {
		broken = "newest-wins: an older version replaced a newer result"
	}
	c.move(x, moveApprove)
	x.wid, x.oq = writeOf(i), 0
	x.app |= 1 << x.out
	n := say("person %v: approves op %v (output %v, rank %v)", uint8(i), p.op, p.out, p.rank)
	if c.a("approve-not-atomic") {
		ns.p[i].pc = pResult
		c.emit(&ns, n.and(", first write of two"), false, broken)
		return
	}
	ns.res[c.resultOf(p.op)] = result{p.rank, p.op + 1, x.out}
	lost := ns
	personIdle(&ns, i)
	c.emit(&ns, n.and(" -> ok"), false, broken)
	lost.p[i].pc, lost.p[i].retry = pApprove, 1
	c.unanswered(&lost, n, broken)
}

func (c *protocol) approveRefused(s *State, i int) {
	p := s.p[i]
	q := s.op[p.op]
	n := say("person %v: approves op %v -> refused", uint8(i), p.op)
	ns := *s
	own := p.retry == 1 && q.wid == writeOf(i)
	switch {
	case q.st == opReview && q.out == p.out && q.rank != p.rank: // an echo raised the rank: same content, "newer" is judged again
		ns.p[i].pc, ns.p[i].rank = pApprove, q.rank
		c.does(&ns, n.and(": an echo raised the rank, again with that"))
	case q.st == opReview && q.out == p.out:
		ns.p[i].pc, ns.p[i].retry = pDrop, 0
		c.does(&ns, n.and(": the result is newer"))
	case q.st == opCompleted && own:
		personIdle(&ns, i)
		c.does(&ns, n.and(": own approval"))
	default:
		broken := ""
		if own {
			broken = "own-write: a person's own decision is shown as someone else's"
		}
		personIdle(&ns, i)
		c.emit(&ns, n.and(": decided, or another draft"), false, broken)
	}
}

// reject is W18.
func (c *protocol) reject(s *State, i int) {
	p := s.p[i]
	q := s.op[p.op]
	ns := *s
	n := say("person %v: rejects op %v", uint8(i), p.op)
	if !(moveReject.allows(q.st) || c.a("reject-without-state") && q.out != 0) || q.out != p.out && !c.a("reject-without-digest") {
		personIdle(&ns, i)
		c.does(&ns, n.and(" -> refused"))
		return
	}
	x := &ns.op[p.op]
	broken := decided(x, p.out)
	c.move(x, moveReject)
	x.wid, x.oq = writeOf(i), 0
	lost := ns
	personIdle(&ns, i)
	c.emit(&ns, n.and(" -> ok"), false, broken)
	lost.p[i].pc, lost.p[i].retry = pReject, 1
	c.unanswered(&lost, n, broken)
}

// drop is W19.
func (c *protocol) drop(s *State, i int) {
	p := s.p[i]
	ns := *s
	q := &ns.op[p.op]
	n := say("person %v: op %v -> superseded", uint8(i), p.op)
	if !moveSetAside.allows(q.st) || q.rank != p.rank && !c.a("drop-without-rank") {
		personIdle(&ns, i)
		c.does(&ns, n.and(" -> refused, looks again"))
		return
	}
	c.move(q, moveSetAside)
	q.wid, q.natt, q.oq = 9, 0, 0
	lost := ns
	personIdle(&ns, i)
	c.does(&ns, n.and(" -> ok"))
	c.unanswered(&lost, n, "")
}
