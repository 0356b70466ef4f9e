package model

// holds are the steps around what is held: by a breaker, or by a person.
func (t turn) holds() {
	switch t.w.pc {
	case wBreaker:
		t.readsHolds()
	case wProbe:
		t.probes()
	case wOpen:
		t.write(t.note("provider cannot serve: breaker -> open"),
			func(ns *State) (bool, string) {
				if ns.br.st == 1 {
					return false, ""
				}
				ns.br = breaker{st: 1}
				staleProbes(ns)
				return true, ""
			}, t.to(wGiveBack), t.to(wGiveBack))
	case wPush:
		t.pushes()
	case wClose:
		t.closes()
	}
}

// readsHolds is the look at breaker and pauses before a claim, through a cache that may be old.
func (t turn) readsHolds() {
	shows := func(ns *State, open, passed bool) {
		x := &ns.w[t.i]
		switch {
		case !open, x.probe == 1 && !t.a("probe-for-one-recipe"): // the probe of an earlier recipe that made no call
			x.pc = wClaim
		case passed:
			x.pc, x.seen = wProbe, 1
		default:
			t.held(x)
		}
	}
	paused := t.s.hold>>(t.recipeOf(t.w.op)-1)&1 == 1
	open, passed := paused || t.s.br.st == 1, !paused && t.s.br.til == 1
	ns := *t.s
	shows(&ns, open, passed)
	n := t.note("looks whether it is held (breaker %v, probe time passed %v, paused %v)", t.s.br.st, t.s.br.til, t.s.hold)
	t.does(&ns, n)
	if t.s.budget.has(t.s.budget.slow) {
		old := *t.s
		old.budget.take(&old.budget.slow)
		shows(&old, !open, false)
		t.emit(&old, n.and(": OLD CACHE says the contrary"), true, "")
	}
}

// held is where a worker goes when the recipe in hand is held: the others do not wait for it.
func (t turn) held(x *worker) {
	x.bad |= badHeld
	if !t.sc.multi {
		x.bad = 0
	}
	t.next(x, wPush)
}

// probes is W25.
func (t turn) probes() {
	t.write(t.note("claims the probe"),
		func(ns *State) (bool, string) {
			b := &ns.br
			if b.st != 1 || t.w.seen != 1 && !t.a("probe-without-seen") {
				return false, ""
			}
			b.til, b.own = 0, uint8(t.i)+1
			b.n++
			staleProbes(ns)
			if b.n > 1 {
				return true, "one-probe: two probes in one probe time"
			}
			return true, ""
		},
		func(ns *State) string {
			x := &ns.w[t.i]
			x.pc, x.retry, x.probe, x.seen = wClaim, 0, 1, 0
			return ""
		},
		func(ns *State) string {
			x := &ns.w[t.i]
			x.retry, x.seen = 0, 0
			if t.w.retry == 1 && t.s.br.st == 1 && t.s.br.own == uint8(t.i)+1 {
				x.pc, x.probe = wClaim, 1
				return ""
			}
			t.held(x)
			return ""
		})
}

// Why the due time of an event was pushed.
const (
	pushProbe = 1 + iota // to the probe time
	pushSoon             // what is left of the day is reserved for calls under way
	pushDay              // to the next day
)

// pushes is W22.
func (t turn) pushes() {
	to := uint8(pushProbe)
	if t.sc.limit > 0 && t.w.out != 0 {
		to = t.w.out
	}
	t.write(t.note("pushes the due time of event %v", t.w.ev),
		func(ns *State) (bool, string) {
			x := &ns.ev[t.w.ev]
			if !movePush.allows(x.st) || x.gen != t.w.gen {
				return false, ""
			}
			t.moveEvent(x, movePush, evOpen)
			x.psh = to
			if !t.a("push-keeps-try") {
				x.rq = 0
			}
			staleSweeps(ns, t.w.ev)
			return true, ""
		}, t.to(wDelete), t.to(wDelete))
}

// closes is W26.
func (t turn) closes() {
	after := func(ns *State) string {
		x := &ns.w[t.i]
		x.retry = 0
		x.pc = wDelete
		if !t.a("as-written") {
			x.pc, x.then, x.probe = x.then, 0, 0
		}
		return ""
	}
	t.write(t.note("breaker -> closed"),
		func(ns *State) (bool, string) {
			if ns.br.st != 1 || ns.br.own != uint8(t.i)+1 {
				return false, ""
			}
			ns.br = breaker{}
			staleProbes(ns)
			return true, ""
		}, after, after)
}

// staleProbes: the probe time has changed, so whoever read it before is refused.
func staleProbes(s *State) {
	for i := range s.w {
		if s.w[i].pc == wProbe {
			s.w[i].seen = 0
		}
	}
}

// staleSweeps: the due time has changed.
func staleSweeps(s *State, e uint8) {
	for i := range s.rec {
		if s.rec[i].pc == 1 && s.rec[i].ev == e {
			s.rec[i].ok = 0
		}
	}
}

// probeTime passes. The next one lies behind the probe's own deadline.
func (c *protocol) probeTime(s *State) {
	if s.br.st != 1 || s.br.til != 0 {
		return
	}
	probing := false
	for i, w := range s.w {
		if w.probe != 0 && s.br.own == uint8(i)+1 || w.pc == wProbe && w.retry == 1 {
			probing = true
		}
	}
	ns := *s
	if probing {
		if !s.budget.has(s.budget.stall) {
			return
		}
		ns.budget.take(&ns.budget.stall)
	}
	ns.br.til, ns.br.n = 1, 0
	c.emit(&ns, say("time: probe time passes"), probing, "")
}

// pauses are those of a person.
func (c *protocol) pauses(s *State) {
	if c.sc.budget.hold == 0 {
		return
	}
	for r := range c.sc.recipes {
		ns := *s
		switch {
		case s.hold>>r&1 == 1:
			ns.hold &^= 1 << r
			c.does(&ns, say("person: resumes recipe %v", r+1))
		case s.budget.hold > 0:
			ns.budget.hold--
			ns.hold |= 1 << r
			c.does(&ns, say("person: pauses recipe %v", r+1))
		}
	}
}
