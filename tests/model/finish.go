package model

// A finish is a write that ends a lease.
type finish struct {
	note   note
	move   move
	passes func(q *op) bool    // its condition; nil: the lease is this worker's
	effect func(q *op)         // beside the state; may be nil
	then   func(*State) string // where the worker goes
}

// finishes are the writes that end a lease. Each is refused when the lease is not this worker's any more.
func (t turn) finishes() {
	o := t.w.op
	switch t.w.pc {
	case wTx:
		t.transaction()
	case wHolderWrite, wComplete:
		t.completes()
	case wLookDone: // variant split-read
		ns := *t.s
		broken := t.metDone(&ns.w[t.i])
		t.emit(&ns, t.note("reads op %v (state %v)", o, t.o.st), false, broken)
	case wRetry:
		t.finish(finish{note: t.note("call failed for now: op %v -> pending", o), move: moveRetry,
			effect: func(q *op) { q.exc |= 1 << t.w.ser }, then: t.to(wReturn)})
	case wFail:
		t.finish(finish{note: t.note("output unusable: op %v -> failed", o), move: moveFail,
			effect: func(q *op) {
				q.exc |= 1 << t.w.ser
				t.failed(q)
			},
			then: func(ns *State) string {
				t.broke(&ns.w[t.i], ns.op[o])
				return ""
			}})
	case wSupersede:
		t.finish(finish{note: t.note("op %v -> superseded", o), move: moveSupersede,
			effect: func(q *op) { q.natt-- },
			then: func(ns *State) string {
				t.overtaken(&ns.w[t.i])
				return ""
			}})
	case wDraft:
		t.finish(finish{note: t.note("op %v -> review with output %v (token %v)", o, t.w.out, t.w.tok), move: moveDraft,
			passes: func(q *op) bool { return t.owns(q) || t.a("draft-no-token") && q.st == opRunning },
			effect: func(q *op) {
				q.out, q.oq = t.w.out, 1
				q.rev |= 1 << t.w.out
			},
			then: t.drafted})
	case wGiveBack:
		t.finish(finish{note: t.note("op %v -> pending, attempt given back", o), move: moveGiveBack,
			passes: func(q *op) bool { return t.owns(q) || t.a("pause-no-token") && q.st == opRunning },
			effect: func(q *op) {
				if !t.a("pause-counts") {
					q.natt--
				}
				q.exc |= 1 << t.w.ser
			},
			then: func(ns *State) string {
				x := &ns.w[t.i]
				x.retry = 0
				x.bad |= badHeld
				t.next(x, wPush)
				return ""
			}})
	case wLosing:
		t.write(t.note("own item for the losing attempt %v", t.w.tok),
			func(ns *State) (bool, string) {
				q := &ns.op[o]
				if q.lst>>t.w.ser&1 == 1 {
					return false, ""
				}
				q.lst |= 1 << t.w.ser
				return true, ""
			}, t.to(wReturn), t.to(wReturn))
	}
}

// owns is the condition on the lease: state, token and attempt id.
func (t turn) owns(q *op) bool {
	running := moveComplete.allows(q.st)
	switch {
	case t.a("complete-unconditional"), t.a("holder-clock"):
		return true
	case t.a("complete-no-token"):
		return running
	case t.a("lease-deleted-by-ttl"):
		return running && q.tok == t.w.tok
	case t.a("finish-without-state"):
		return q.ser == t.w.ser
	}
	return running && q.tok == t.w.tok && q.ser == t.w.ser
}

// stale is what the checks know: did a worker without the lease change something?
func (t turn) stale(q *op) string {
	switch {
	case q.ser != t.w.ser:
		return "fenced: a worker whose lease was taken over changed the operation"
	case q.st == opCompleted && q.out != t.w.ser:
		return "fenced: a committed output was replaced"
	case q.st == opFailed && q.cat == 1:
		return "fenced: a worker changed an operation that a person had cancelled"
	}
	return ""
}

func (t turn) finish(f finish) {
	passes := f.passes
	if passes == nil {
		passes = t.owns
	}
	t.write(f.note,
		func(ns *State) (bool, string) {
			q := &ns.op[t.w.op]
			if !passes(q) {
				return false, ""
			}
			broken := t.stale(q)
			t.move(q, f.move)
			q.wid = uint8(t.i) + 1
			if f.effect != nil {
				f.effect(q)
			}
			t.recorded(q)
			return true, broken
		},
		func(ns *State) string {
			ns.w[t.i].retry = 0
			return f.then(ns)
		},
		func(ns *State) string {
			if f.move.to>>t.o.st&1 == 1 && t.mine() {
				ns.w[t.i].retry = 0
				return f.then(ns)
			}
			t.lost(&ns.w[t.i])
			return ""
		})
}

// recorded is the log of attempts, which the write carries.
func (t turn) recorded(q *op) {
	if t.sc.losing && q.made>>t.w.ser&1 == 1 {
		q.rec |= 1 << t.w.ser
	}
}

// failed is what W7 and W9 do beside the state.
func (t turn) failed(q *op) {
	if !t.a("failed-not-listed") {
		q.oq = 1
	}
	if t.sc.people() {
		q.fls++
	}
}

// lost is a finish that the fence refused: the call is recorded beside the operation, unless its outcome is in the
// log already.
func (t turn) lost(x *worker) {
	x.pc, x.retry = wReturn, 0
	if !t.sc.losing || t.o.made>>t.w.ser&1 == 0 {
		return
	}
	if t.o.rec>>t.w.ser&1 == 0 || t.a("loss-by-write-id") {
		x.pc = wLosing
	}
}

// completes is W4.
func (t turn) completes() {
	t.write(t.note("completes op %v (token %v)", t.w.op, t.w.tok),
		func(ns *State) (bool, string) {
			q := &ns.op[t.w.op]
			if t.w.retry == 1 && q.st == opCompleted && t.mine() { // what is weakened to no condition repeats harmlessly
				return false, ""
			}
			if !t.owns(q) {
				return false, ""
			}
			broken := t.stale(q)
			t.move(q, moveComplete)
			q.out, q.wid = t.w.out, uint8(t.i)+1
			t.recorded(q)
			return true, broken
		},
		func(ns *State) string {
			t.committed(&ns.w[t.i])
			return ""
		},
		func(ns *State) string {
			if t.a("split-read") {
				ns.w[t.i].pc = wLookDone
				return ""
			}
			return t.metDone(&ns.w[t.i])
		})
}

func (t turn) committed(x *worker) {
	x.pc, x.retry = wPublish, 0
	if t.a("settle-before-result") || t.a("design-literal") {
		x.pc = wSettle
	}
}

// metDone goes by what a refused completion found.
func (t turn) metDone(x *worker) string {
	if t.o.st != opCompleted || !t.mine() {
		t.lost(x)
		return ""
	}
	if t.a("no-write-id-complete") {
		x.pc, x.retry = wReturn, 0
		return "own-write: worker takes its own completion for a takeover (and books its call as lost)"
	}
	t.committed(x)
	return ""
}

// transaction is W4, W5 and W6 in one; refused, they go one by one.
func (t turn) transaction() {
	w := t.w
	t.write(t.note("TRANSACTION: completes op %v, result rank %v, settles event %v", w.op, w.rank, w.ev),
		func(ns *State) (bool, string) {
			q, x := &ns.op[w.op], &ns.ev[w.ev]
			if !t.owns(q) || ns.res[t.at].rank >= w.rank || !moveSettle.allows(x.st) || x.gen != w.gen {
				return false, ""
			}
			broken := t.stale(q)
			t.move(q, moveComplete)
			q.out, q.wid = w.out, uint8(t.i)+1
			ns.res[t.at] = result{w.rank, w.op + 1, w.out}
			t.moveEvent(x, moveSettle, evDone)
			return true, broken
		},
		t.to(wDelete),
		func(ns *State) string {
			ns.w[t.i].pc = wComplete // retry is kept: the transaction may be ours
			return ""
		})
}

// drafted is where a worker goes when the output of the recipe in hand waits for a person.
func (t turn) drafted(ns *State) string {
	x := &ns.w[t.i]
	if t.a("draft-published") {
		x.pc = wPublish
		return ""
	}
	x.bad |= t.multiBit(badDraft)
	t.next(x, wDraftSettle)
	return ""
}

// multiBit is a mark that matters only where an event has two recipes.
func (t turn) multiBit(bit uint8) uint8 {
	if t.sc.multi {
		return bit
	}
	return 0
}

// overtaken is where a worker goes when the lease was given back because something newer is there.
func (t turn) overtaken(x *worker) {
	switch {
	case t.quietRecipe() && x.out != 0 && t.sc.multi:
		x.by, x.out = x.out, 0
		x.bad |= badNewer
		t.next(x, wSettle)
	case t.quietRecipe() && x.out != 0:
		x.pc = wCoalesce
	default:
		t.next(x, wSettle)
	}
}
