package model

// ends are the steps after a recipe has come to its end: the result, the notices, and the one end of the event.
func (t turn) ends() {
	w := t.w
	switch w.pc {
	case wPublish:
		t.publishes()
	case wSettle:
		t.settles(evDone, t.note("settles event %v", w.ev))
	case wDraftSettle:
		t.settles(evDraft, t.note("settles event %v as review or rejected", w.ev))
	case wCoalesce:
		t.settles(evCoalesced, t.note("settles event %v as coalesced by event %v", w.ev, w.out-1))
	case wCancel:
		t.settles(evCancelled, t.note("settles event %v as cancelled", w.ev))
	case wPark:
		t.parks()
	case wExhaust:
		t.exhausts()
	case wOlder:
		t.looksAtOlder()
	case wRaise:
		t.raises()
	case wNotice:
		t.notifies()
	case wDelete:
		ns := *t.s
		if k := held(&ns, t.i); k >= 0 {
			ns.m[k] = message{}
		}
		idle(&ns, t.i)
		t.does(&ns, t.note("deletes its message"))
	}
}

// publishes is W5.
func (t turn) publishes() {
	w := t.w
	after := func(ns *State) string {
		t.published(ns)
		return ""
	}
	t.write(t.note("result <- rank %v, op %v, output %v", w.rank, w.op, w.out),
		func(ns *State) (bool, string) {
			r := ns.res[t.at]
			passes := r.rank < w.rank
			switch {
			case t.a("result-token-only"):
				passes = r.out <= w.out
			case t.a("design-literal"):
				passes = passes || r.rank == w.rank && r.op == w.op+1 && r.out < w.out
			case t.a("result-version-le"):
				passes = r.rank>>4 <= w.rank>>4
			}
			if !passes {
				return false, ""
			}
			ns.res[t.at] = result{w.rank, w.op + 1, w.out}
			q := ns.op[w.op]
			switch {
			case q.rev>>w.out&1 == 1 && q.app>>w.out&1 == 0:
				return true, "approved-bytes: a draft that nobody approved became the result"
			case max(r.rank, ns.top[t.at]) > w.rank:
				return true, "newest-wins: an older version replaced a newer result"
			case q.st == opCompleted && q.out != w.out || q.st != opCompleted && q.ser != w.out:
				return true, "fenced: a stale, uncommitted output was published in the result"
			}
			return true, ""
		}, after, after)
}

func (t turn) published(ns *State) {
	x := &ns.w[t.i]
	x.retry = 0
	t.next(x, wSettle)
	if t.a("settle-before-result") {
		x.pc = wDelete
	}
	if t.a("design-literal") {
		x.pc = wComplete
		if ns.op[x.op].st == opCompleted && x.ser == 0 {
			x.pc = wSettle
		}
	}
}

// settles is W6. What was settled already, or reopened since, is not looked at.
func (t turn) settles(st uint8, n note) {
	after := func(ns *State) string {
		t.settled(ns)
		return ""
	}
	t.write(n, func(ns *State) (bool, string) {
		x := &ns.ev[t.w.ev]
		if !moveSettle.allows(x.st) || x.gen != t.w.gen && !t.a("no-generation") {
			return false, ""
		}
		t.moveEvent(x, moveSettle, st)
		switch st {
		case evCoalesced:
			x.by = t.w.out
		case evDone:
			x.by, x.off = t.w.by, t.w.bad/offFirst
		}
		return true, ""
	}, after, after)
}

func (t turn) settled(ns *State) {
	x := &ns.w[t.i]
	x.pc, x.retry = wDelete, 0
	switch {
	case t.a("settle-before-result"):
		x.pc = wPublish
	case t.sc.split && x.ev == 0 && t.a("split-settle-first"):
		x.pc = wSplitPut
	case x.probe == 2 && t.a("as-written"):
		x.pc = wClose
	}
}

// parks is W6 of an event that met failed operations, in one transaction with them: each failed, and this is the
// newest event that waits for it. Refused, the message goes back: the redrive that reopened the event may be for us,
// and a newer event may wait in its place.
func (t turn) parks() {
	after := wDelete
	if t.a("park-before-notice") {
		after = wNotice
	}
	t.write(t.note("parks event %v (generation %v)", t.w.ev, t.w.gen),
		func(ns *State) (bool, string) {
			x := &ns.ev[t.w.ev]
			if !movePark.allows(x.st) || x.gen != t.w.gen && !t.a("no-generation") {
				return false, ""
			}
			for o, q := range ns.op {
				if t.failedOn(uint8(o)) && (q.st != opFailed || q.evk != t.w.ev+1) && !t.a("park-alone") {
					return false, ""
				}
			}
			t.moveEvent(x, movePark, evParked)
			return true, ""
		}, t.to(uint8(after)), t.to(wReturn))
}

// failedOn tells whether the event in hand is to be parked on an operation.
func (t turn) failedOn(o uint8) bool {
	if !t.sc.multi {
		return o == t.w.op
	}
	r := t.recipeOf(o)
	return t.w.on>>(r-1)&1 == 1 && o == t.asked(t.w.ev, r)
}

// exhausts is W9.
func (t turn) exhausts() {
	t.write(t.note("op %v -> failed, attempts used up", t.w.op),
		func(ns *State) (bool, string) {
			q := &ns.op[t.w.op]
			if !(q.st == opPending || q.st == opRunning && q.exp == 1) || !moveExhaust.allows(q.st) || q.natt < t.sc.claims {
				return false, ""
			}
			t.move(q, moveExhaust)
			q.wid = uint8(t.i) + 1
			t.failed(q)
			if t.sc.breaker || t.sc.limit > 0 || t.sc.budget.hold > 0 {
				return true, "paused: an operation ran out of attempts although its work was only held"
			}
			return true, ""
		},
		func(ns *State) string {
			ns.w[t.i].retry = 0
			t.broke(&ns.w[t.i], ns.op[t.w.op])
			return ""
		}, t.to(wClaim))
}

// broke is where a worker goes when the recipe in hand has failed, now or earlier: W10, and the notice when the event
// is parked. The variant as-written has the notice first.
func (t turn) broke(x *worker, q op) {
	x.pc = wRaise
	if q.evk != x.ev+1 && q.rank < x.rank {
		x.pc, x.old = wOlder, q.evk
	}
	if t.sc.budget.back > 0 {
		x.tok, x.fls = q.tok, q.fls
	}
	switch {
	case t.a("no-link-raise"):
		t.raised(x, opFailed)
	case t.a("as-written"):
		x.pc = wNotice
	}
}

// looksAtOlder reads the older event that an operation failed for.
func (t turn) looksAtOlder() {
	ns := *t.s
	x := &ns.w[t.i]
	e := t.s.ev[x.old-1]
	x.pc, x.oldSt, x.oldGen = wRaise, e.st, e.gen
	t.does(&ns, t.note("reads event %v (state %v, generation %v), which waits for op %v", x.old-1, e.st, e.gen, t.w.op))
}

// raises is W10. From an event that is parked on a failed operation the wait goes over to the newer one, in one
// transaction.
func (t turn) raises() {
	w := t.w
	want := uint8(opFailed)
	if w.seen != 0 {
		want = w.seen
	}
	t.write(t.note("op %v remembers event %v as its newest (rank %v)", w.op, w.ev, w.rank),
		func(ns *State) (bool, string) {
			q := &ns.op[w.op]
			if q.st != want || q.rank >= w.rank || t.dismissedSince(*q) || w.seen == opFailed && q.oq == 1 && !t.a("raise-decided-anyhow") {
				return false, ""
			}
			if w.seen == 0 && !t.handsOver(ns, q) {
				return false, ""
			}
			q.rank, q.evk = w.rank, w.ev+1
			return true, ""
		},
		func(ns *State) string {
			ns.w[t.i].retry = 0
			t.raised(&ns.w[t.i], want)
			return ""
		},
		func(ns *State) string {
			x := &ns.w[t.i]
			x.retry = 0
			switch {
			case t.o.st != want: // redriven or decided meanwhile: start over with a fresh read of the event
				x.pc = wReturn
			case t.dismissedSince(t.o):
				x.seen, x.old, x.oldSt, x.oldGen = opFailed, 0, 0, 0
			case t.o.rank < w.rank: // something else has changed
				x.pc = wReturn
			case w.seen == 0 && t.o.evk != w.ev+1 && !t.a("older-parks"):
				t.waitsElsewhere(x, t.o.evk)
			default:
				t.raised(x, want)
			}
			return ""
		})
}

// handsOver is the half of W10 that changes the older event, if it stands as it was seen: parked for this operation
// alone, it is settled, and the newer one stands for it. One with several recipes is worked on again: what the others
// came to, its worker finds out.
func (t turn) handsOver(ns *State, q *op) bool {
	w := t.w
	if t.a("raise-alone") {
		return true
	}
	if q.evk != w.old {
		return false
	}
	e := &ns.ev[w.old-1]
	if (e.st != w.oldSt || e.gen != w.oldGen) && !t.a("raise-without-older") {
		return false
	}
	switch {
	case w.oldSt != evParked || e.st != evParked:
	case t.sc.multi && !t.a("second-recipe-forgotten"):
		t.moveEvent(e, moveTakeUp, evOpen)
		e.gen++
		e.rq, e.dec, e.off = 0, 0, 0
		staleSweeps(ns, w.old-1)
	default:
		t.moveEvent(e, moveHandOver, evCoalesced)
		e.by = w.ev + 1
	}
	return true
}

// waitsElsewhere is the end of a recipe whose failed operation waits with a newer event.
func (t turn) waitsElsewhere(x *worker, newer uint8) {
	x.old, x.oldSt, x.oldGen = 0, 0, 0
	if !t.sc.multi {
		x.pc, x.out = wCoalesce, newer
		return
	}
	x.by |= newer << (4 * (x.rcp - 1))
	x.bad |= badNewer
	t.next(x, wSettle)
}

// dismissedSince tells whether a person dismissed, or cancelled, what the worker took for news.
func (t turn) dismissedSince(q op) bool {
	return t.w.seen == 0 && q.cat|q.dsm == 1 && q.oq == 0 && !t.a("raise-without-dismissal") && !t.a("cancelled-is-broken")
}

// raised is where a worker goes when the operation knows its event.
func (t turn) raised(x *worker, want uint8) {
	cancelled := want == opFailed && x.seen == opFailed
	x.seen, x.old, x.oldSt, x.oldGen = 0, 0, 0, 0
	switch {
	case cancelled:
		if t.sc.multi {
			x.bad |= offFirst << (x.rcp - 1)
		}
		t.next(x, wCancel)
		return
	case want != opFailed:
		x.bad |= t.multiBit(badDraft)
		t.next(x, wDraftSettle)
		return
	case t.a("as-written"), t.a("park-before-notice"):
		x.bad |= t.multiBit(badFirst)
		t.next(x, wPark)
		return
	}
	if t.sc.multi {
		x.bad |= badFirst << (x.rcp - 1)
		x.on |= 1 << (x.rcp - 1)
	}
	t.next(x, wNotice)
}

// notifies tells the dead-letter queue. A crash behind it sends the notice twice; what failed exists once.
func (t turn) notifies() {
	w := t.w
	t.write(t.note("notice to the dead-letter queue (op %v)", w.op),
		func(ns *State) (bool, string) {
			ns.ntc[w.op] = 1
			if t.sc.budget.back > 0 {
				ns.ntok[w.op], ns.nfls[w.op] = w.tok, w.fls
			}
			return true, ""
		},
		func(ns *State) string {
			x := &ns.w[t.i]
			x.retry = 0
			switch {
			case t.a("as-written"):
				x.pc = wRaise
			case t.a("park-before-notice"):
				x.pc = wDelete
			case t.sc.multi:
				t.tells(x)
			default:
				x.pc = wPark
			}
			return ""
		}, nil)
}
