package model

// A turn is one step of a worker: the state before it, and what of it the worker knows or meets.
type turn struct {
	*protocol
	s  *State
	i  int
	w  worker
	o  op    // the operation in hand, as it is stored
	at uint8 // of the result in hand
}

func (c *protocol) worker(s *State, i int) {
	w := s.w[i]
	if w.pc == wIdle {
		c.takes(s, i)
		return
	}
	if s.budget.has(s.budget.crash) { // at any point
		ns := *s
		ns.budget.take(&ns.budget.crash)
		if k := held(&ns, i); k >= 0 {
			ns.m[k].h = mVisible // its visibility ends some time later; the receive may come any time
		}
		if q := &ns.op[w.op]; c.sc.losing && w.ser != 0 && q.made>>w.ser&1 == 1 && (q.rec|q.lst)>>w.ser&1 == 0 {
			q.gone |= 1 << w.ser
		}
		idle(&ns, i)
		c.emit(&ns, say("worker %v CRASHES", uint8(i)), true, "")
	}
	c.turn(s, i)
}

// takes is the receive of a message with the read of its event.
func (c *protocol) takes(s *State, i int) {
	if c.sc.quick && c.arriving(s) { // the messages' delay is not over while the saves still come in
		return
	}
	seen := [nEvents][2]bool{}
	for k, m := range s.m {
		if m.ev == 0 || m.h != mVisible {
			continue
		}
		last := 0
		if m.rc >= c.sc.receives {
			last = 1
		}
		if seen[m.ev-1][last] {
			continue
		}
		seen[m.ev-1][last] = true
		if last == 1 {
			c.setAside(s, k)
			continue
		}
		c.take(s, i, k)
	}
}

// setAside is the queue's own dead-letter rule.
func (c *protocol) setAside(s *State, k int) {
	ns, e := *s, s.m[k].ev-1
	ns.m[k] = message{}
	if ns.dlq[e] < 1 && s.budget.red > 0 {
		ns.dlq[e]++
	}
	c.does(&ns, say("queue: event %v received too often -> dead-letter queue", e))
}

func (c *protocol) take(s *State, i, k int) {
	ns, e := *s, s.m[k].ev-1
	x := s.ev[e]
	ns.m[k].rc++
	ns.m[k].h = uint8(i) + 1
	w := worker{pc: c.first(), ev: e, gen: x.gen, op: c.operation(e, x.dig, max(x.rcp, 1)), rank: c.rank(s, e)}
	switch {
	case x.st != evOpen:
		ns.m[k] = message{}
		if x.st == evNone { // not found is retryable, never "unknown, drop"
			ns.m[k] = s.m[k]
			ns.m[k].rc++
		}
		c.does(&ns, say("worker %v takes event %v: settled already, message deleted", uint8(i), e))
		return
	case c.sc.poison:
		ns.m[k].h = mVisible
		c.does(&ns, say("worker %v takes event %v and dies of it (poison)", uint8(i), e))
		return
	case c.sc.split && e == 0:
		w.pc, w.op, w.out = wSplitPut, 0, 1
		if c.a("split-settle-first") {
			w.pc = wSettle
		}
	case c.sc.multi:
		w.rcp = 1
	case c.a("superseded-before-claim"):
		w.pc = wReadFirst
	case c.a("coalesce-before-claim"):
		w.pc = wHead
	case c.a("recipe-not-pinned"):
		for r := uint8(1); r <= s.cfg; r++ {
			n2 := ns
			w.op = c.operation(e, x.dig, r)
			n2.w[i] = w
			c.does(&n2, say("worker %v takes event %v, its configuration says recipe v%v", uint8(i), e, r))
		}
		return
	}
	ns.w[i] = w
	c.does(&ns, say("worker %v takes event %v", uint8(i), e))
}

// first is where the work on a recipe begins.
func (c *protocol) first() uint8 {
	if c.sc.breaker || c.sc.budget.hold > 0 {
		return wBreaker
	}
	return wClaim
}

// turn is one step of a busy worker. The model's answer and the write that follows it are one step: a crash or
// stall between them looks to the store like one during the call.
func (c *protocol) turn(s *State, i int) {
	w := s.w[i]
	t := turn{c, s, i, w, s.op[w.op], c.result(w.ev, c.recipeOf(w.op))}
	switch w.pc {
	case wReadFirst, wClaim, wLook, wReadResult, wCall, wCalling:
		t.begins()
	case wTx, wHolderWrite, wComplete, wLookDone, wRetry, wFail, wSupersede, wDraft, wGiveBack, wLosing:
		t.finishes()
	case wPublish, wSettle, wDraftSettle, wCoalesce, wCancel, wPark, wExhaust, wOlder, wRaise, wNotice, wDelete:
		t.ends()
	case wSplitPut, wSplitSend:
		t.splits()
	case wHead:
		t.readsHead()
	case wBreaker, wProbe, wOpen, wPush, wClose:
		t.holds()
	case wReserve, wCorrect:
		t.spends()
	}
}

// note begins what a step of this worker did.
func (t turn) note(text string, args ...uint8) note {
	n := say(text, args...)
	n.worker = uint8(t.i) + 1
	return n
}

// to goes on at a place, with nothing to repeat.
func (t turn) to(pc uint8) func(*State) string {
	return func(ns *State) string {
		ns.w[t.i].pc, ns.w[t.i].retry = pc, 0
		return ""
	}
}

// write is a store call in its three forms: refused; answered; in effect with its answer lost, so that the worker
// stays where it is and repeats the same write. "Failed before effect" changes nothing and equals waiting.
func (t turn) write(n note, effect func(*State) (bool, string), yes, no func(*State) string) {
	ns := *t.s
	ok, broken := effect(&ns)
	if !ok {
		ns = *t.s
		v := no(&ns)
		t.emit(&ns, n.and(" -> refused"), false, v)
		return
	}
	lost := ns
	if v := yes(&ns); v != "" {
		broken = v
	}
	t.emit(&ns, n.and(" -> ok"), false, broken)
	lost.w[t.i].retry = 1
	t.unanswered(&lost, n, broken)
}

// mine tells whether the operation write that is refused was this worker's own earlier one.
func (t turn) mine() bool { return t.w.retry == 1 && t.s.op[t.w.op].wid == uint8(t.i)+1 }

// next is where a worker goes when it is done with the recipe in hand: alone where the event has only that one.
func (c *protocol) next(x *worker, alone uint8) {
	if !c.sc.multi {
		x.pc = alone
		return
	}
	early := c.a("settle-after-first-recipe") || c.a("coalesced-recipe-settles") && x.bad&badNewer != 0
	if x.rcp == 1 && !early {
		*x = worker{pc: c.first(), ev: x.ev, gen: x.gen, op: c.asked(x.ev, 2), rank: x.rank, rcp: 2, bad: x.bad, by: x.by, on: x.on, probe: x.probe}
		return
	}
	switch {
	case x.bad&badHeld != 0 && !c.a("held-recipe-forgotten"):
		x.pc = wPush
	case x.bad&(badFirst|badSecond) != 0 && !c.a("failure-forgotten"):
		x.pc = wPark
		if !c.a("as-written") {
			c.tells(x)
		}
	case x.bad&badDraft != 0:
		x.pc = wDraftSettle
	case x.bad&(offFirst|offSecond) == offFirst|offSecond:
		x.pc = wCancel
	default:
		x.pc = wSettle
	}
}

// tells goes to the notice of the next recipe that failed, or to the parking when each has its notice.
func (c *protocol) tells(x *worker) {
	switch {
	case x.bad&badFirst != 0:
		x.bad &^= badFirst
		x.pc, x.op = wNotice, c.asked(x.ev, 1)
	case x.bad&badSecond != 0 && !c.a("one-notice"):
		x.bad &^= badSecond
		x.pc, x.op = wNotice, c.asked(x.ev, 2)
	default:
		x.pc = wPark
	}
}
