package model

// begins are the steps up to the call and its answer.
func (t turn) begins() {
	switch t.w.pc {
	case wReadFirst:
		ns := *t.s
		ns.w[t.i].pc = wClaim
		if t.s.res[t.at].rank > t.w.rank {
			ns.w[t.i].pc = wSettle
		}
		t.does(&ns, t.note("reads the result before any claim"))
	case wClaim:
		t.claims()
	case wLook: // variant split-read: the item as a later consistent read shows it
		ns := *t.s
		broken := ""
		if t.free() {
			ns.w[t.i].pc = wClaim
		} else {
			broken = t.met(&ns.w[t.i])
		}
		t.emit(&ns, t.note("reads op %v (state %v)", t.w.op, t.o.st), false, broken)
	case wReadResult:
		t.readsResult()
	case wCall:
		ns := *t.s
		t.calls(&ns)
	case wCalling:
		t.answered()
	}
}

// free is the condition of W3.
func (t turn) free() bool {
	o := t.o
	switch {
	case o.st == opNone:
		return true
	case o.st == opRejected:
		return t.a("rejected-is-claimable")
	case !moveClaim.allows(o.st):
		return false
	case o.st == opPending:
		return o.natt < t.sc.claims
	case o.st == opRunning:
		return o.exp == 1 && o.natt < t.sc.claims
	case o.st == opSuperseded:
		return o.rank < t.w.rank && !t.a("superseded-final")
	}
	return false
}

// claims is W3.
func (t turn) claims() {
	if t.a("no-skew-allowance") && t.o.st == opRunning && t.o.exp == 0 && t.s.budget.has(t.s.budget.slow) && t.o.wid != uint8(t.i)+1 {
		ns := *t.s
		ns.budget.take(&ns.budget.slow)
		broken := t.claim(&ns)
		t.granted(&ns)
		t.emit(&ns, t.note("CLOCK AHEAD: claims op %v although its lease runs", t.w.op), true, broken)
	}
	t.write(t.note("claims op %v", t.w.op),
		func(ns *State) (bool, string) {
			if !t.free() {
				return false, ""
			}
			return true, t.claim(ns)
		},
		t.granted,
		func(ns *State) string {
			if t.a("split-read") {
				ns.w[t.i].pc = wLook
				return ""
			}
			return t.met(&ns.w[t.i])
		})
}

// claim is the effect of W3.
func (t turn) claim(ns *State) string {
	q := &ns.op[t.w.op]
	if t.a("draft-kept-by-state") {
		ns.w[t.i].was = q.st
	}
	if q.st == opNone {
		q.st = opStart
	} else {
		t.move(q, moveClaim)
	}
	q.exp, q.wid, q.evk, q.rank = 0, uint8(t.i)+1, t.w.ev+1, t.w.rank
	q.tok++
	q.ser++
	q.natt++
	ns.ev[t.w.ev].ops |= 1 << t.w.op
	ns.w[t.i].own = q.ser
	if q.ser > 7 {
		panic("claims: raise the width of the ghosts")
	}
	x := ns.ev[t.w.ev].ops
	if t.sc.multi {
		x &= 3 << (2 * (t.w.rcp - 1))
	}
	if x&(x-1) != 0 && (t.sc.budget.rep == 0 || ns.ev[t.w.ev].gen == 0) {
		return "one-operation: one event claimed two operations"
	}
	return ""
}

func (t turn) granted(ns *State) string {
	x, q := &ns.w[t.i], ns.op[t.w.op]
	x.pc, x.retry, x.tok, x.ser, x.own = wReadResult, 0, q.tok, q.ser, 0
	if t.sc.people() { // the claim shows a draft, whatever becomes of the operation
		x.out = q.out
	}
	return ""
}

// met goes by what a refused claim found.
func (t turn) met(x *worker) string {
	o := t.o
	switch {
	case o.st == opRunning && t.mine() && !t.a("no-write-id-claim"):
		x.pc, x.retry, x.tok, x.ser, x.own = wReadResult, 0, o.tok, o.ser, 0
		if t.sc.people() {
			x.out = o.out
		}
	case (o.st == opPending || o.st == opRunning && o.exp == 1) && o.natt >= t.sc.claims:
		x.pc, x.retry = wExhaust, 0
	case o.st == opRunning:
		x.pc = wReturn
		if t.mine() {
			return "own-write: worker takes its own claim for someone else's"
		}
	case o.st == opCompleted:
		x.pc, x.out, x.retry = wPublish, o.out, 0
		if t.a("echo-no-raise") {
			x.pc = wSettle
		}
	case o.st == opFailed:
		return t.metFailed(x)
	case o.st == opSuperseded && t.quietRecipe():
		x.pc, x.retry = wHead, 1
	case o.st == opSuperseded:
		x.retry = 0
		t.next(x, wSettle)
	case o.st == opReview || o.st == opRejected: // a draft of this content waits, or was refused by a person
		x.pc, x.retry, x.seen = wRaise, 0, o.st
		if t.a("review-no-raise") {
			x.pc = wDraftSettle
		}
	}
	return ""
}

// metFailed tells a failure that waits for a person from one that a person stopped or dismissed.
func (t turn) metFailed(x *worker) string {
	x.retry = 0
	if t.o.cat|t.o.dsm == 1 && !t.a("cancelled-is-broken") {
		x.pc, x.seen = wRaise, opFailed
		if t.o.oq == 1 {
			return "no-dead-ends: a failure that nobody decided about is taken for a cancelled one"
		}
		if t.a("cancelled-no-raise") {
			x.pc, x.seen = wCancel, 0
		}
		return ""
	}
	t.broke(x, t.o)
	return ""
}

// readsResult is the look after the claim, and where it leads: no call, or the call.
func (t turn) readsResult() {
	ns := *t.s
	x := &ns.w[t.i]
	x.was = 0
	r, h := t.s.res[t.at], t.s.head[t.at]
	newer := h.rank > t.w.rank || t.a("coalesce-same") && h.rank >= t.w.rank
	switch {
	case r.rank > t.w.rank || t.a("superseded-by-seen") && t.newerSeen():
		x.pc = wSupersede
	case t.quietRecipe() && newer && !t.a("coalesce-before-claim"):
		x.pc, x.out = wSupersede, h.ev
	case r.op == t.w.op+1: // the result shows this operation: its item had been cleaned up
		x.pc, x.out = wComplete, r.out
	case r.op == 0 && t.o.old == 1 && !t.a("results-expire"): // a newer result may have been here, and left
		x.pc = wFail
	case t.keepsDraft():
		x.pc = wDraft
		if !t.sc.people() {
			x.out = t.o.out
		}
	case t.sc.limit > 0:
		if t.o.ser != t.w.ser || t.o.exp == 1 {
			x.pc = wReturn
			t.does(&ns, t.note("lease over, gives up before the call"))
			return
		}
		x.pc, x.rsv = wReserve, 1
	default:
		t.calls(&ns)
		return
	}
	t.does(&ns, t.note("reads the result (rank %v, op %v)", r.rank, r.op-1))
}

// keepsDraft tells whether a draft from before the operation was superseded is there: no call.
func (t turn) keepsDraft() bool {
	kept := t.o.out
	switch {
	case t.sc.people():
		kept = t.w.out
	case t.o.st != opRunning || t.o.ser != t.w.ser:
		kept = 0
	}
	switch {
	case kept == 0, t.a("draft-is-called-again"):
		return false
	case t.a("draft-kept-by-state"):
		return t.w.was == opSuperseded
	}
	return true
}

func (t turn) newerSeen() bool {
	for e := range uint8(nEvents) {
		if t.s.ev[e].st != evNone && t.sc.obj[e] == t.sc.obj[t.w.ev] && t.rank(t.s, e) > t.w.rank {
			return true
		}
	}
	return false
}

// quietRecipe tells whether the recipe in hand has a quiet period: of two only the first has one.
func (t turn) quietRecipe() bool { return t.sc.quiet && (!t.sc.multi || t.w.rcp == 1) }

// calls is the step into the model call. With a limit the lease is looked at a second time: the reservation takes
// its time.
func (t turn) calls(ns *State) {
	o := ns.op[t.w.op]
	if (o.ser != t.w.ser || o.exp == 1) && !(t.w.got == 1 && t.a("no-look-after-reservation")) {
		ns.w[t.i].pc = wReturn // the own clock says too late: giving up is always allowed
		t.does(ns, t.note("lease over, gives up before the call"))
		return
	}
	broken := ""
	if o.made&^o.exc != 0 {
		broken = "one-paid-call: a second call while an earlier one is neither recorded unusable nor its lease expired"
	}
	ns.op[t.w.op].made |= 1 << t.w.ser
	ns.op[t.w.op].old = 0
	ns.w[t.i].pc = wCalling
	if v := t.pays(ns); v != "" {
		broken = v
	}
	t.emit(ns, t.note("starts the model call (attempt %v)", t.w.tok), false, broken)
}

// answered is the end of the call, with the write that follows it.
func (t turn) answered() {
	ns := *t.s
	x := &ns.w[t.i]
	x.out = t.w.ser
	if t.w.probe == 1 {
		x.probe = 2
	}
	t.cost(&ns, callCost)
	switch {
	case t.a("design-literal"):
		x.pc = wPublish
	case t.a("holder-clock"):
		x.pc = wHolderWrite
		if t.o.exp == 1 {
			x.pc = wReturn
		}
		t.does(&ns, t.note("is answered; the holder looks at its own clock"))
		return
	case t.sc.policy == 1:
		x.pc = wDraft
	case t.sc.policy == 2:
		draft := ns
		draft.w[t.i].pc = wDraft
		t.turn(&draft, t.i)
		x.pc = wComplete
	case t.tx:
		x.pc = wTx
	default:
		x.pc = wComplete
	}
	t.turn(&ns, t.i)
	for _, other := range []struct {
		left uint8
		pc   uint8
		cost uint8
	}{{t.s.budget.out, wOpen, 0}, {t.s.budget.bad, wRetry, 0}, {t.s.budget.badT, wFail, callCost}} {
		if other.left == 0 {
			continue
		}
		n2 := *t.s
		n2.w[t.i].pc = other.pc
		if other.pc == wFail && t.w.probe == 1 {
			n2.w[t.i].probe = 2 // it was answered
		}
		t.cost(&n2, other.cost)
		switch other.pc {
		case wOpen:
			n2.budget.out--
		case wRetry:
			n2.budget.bad--
		case wFail:
			n2.budget.badT--
		}
		t.turn(&n2, t.i)
	}
}
