package model

// reconciler is one of which a pass is one step; a crash between push and send is a step of its own.
func (c *protocol) reconciler(s *State) {
	if c.a("no-reconciler") {
		return
	}
	for e, x := range s.ev {
		if x.st != evOpen {
			continue
		}
		aged := !c.busy(s, uint8(e)) && c.due(s, x)
		slow := false
		if !aged {
			switch {
			case c.a("reconcile-without-age"):
			case s.budget.has(s.budget.slow):
				slow = true
			default:
				continue
			}
		}
		ns := *s
		if slow {
			ns.budget.take(&ns.budget.slow)
		}
		if x.rq >= c.sc.sends {
			c.parksUnsent(&ns, uint8(e), slow)
			continue
		}
		c.moveEvent(&ns.ev[e], movePush, evOpen)
		ns.ev[e].rq++
		ns.ev[e].psh = 0
		dead := ns
		c.send(&ns, uint8(e))
		c.emit(&ns, say("reconciler: pushes the due time of event %v and sends it again", uint8(e)), slow, "")
		c.crashes(&dead, say("reconciler: pushes the due time of event %v and CRASHES before the send", uint8(e)))
	}
}

// due tells whether the time that an event was pushed to has come.
func (c *protocol) due(s *State, x event) bool {
	switch x.psh {
	case pushProbe:
		return s.br.st == 0 || s.br.til == 1
	case pushSoon, pushDay:
		return false
	}
	return true
}

// parksUnsent is W12.
func (c *protocol) parksUnsent(ns *State, e uint8, slow bool) {
	c.moveEvent(&ns.ev[e], movePark, evUnsent)
	broken := ""
	if !c.sc.poison {
		broken = "false-park: the reconciler parked a healthy event"
	}
	for _, w := range ns.w {
		if w.pc != wIdle && w.ev == e {
			broken = "false-park: the reconciler parked an event that a live worker is working on"
		}
	}
	c.emit(ns, say("reconciler: parks event %v with a reason", e), slow, broken)
}

// sweepers are two reconcilers at once: the read, from an index that may be old, and the push are apart.
func (c *protocol) sweepers(s *State) {
	for i := range s.rec {
		r := s.rec[i]
		switch r.pc {
		case 0:
			for e, x := range s.ev {
				if x.st != evOpen || c.busy(s, uint8(e)) {
					continue
				}
				ns := *s
				ns.rec[i] = sweep{1, uint8(e), 1}
				c.does(&ns, say("reconciler %v: finds event %v due", uint8(i), uint8(e)))
			}
			continue
		case 1:
			c.sweepPushes(s, i)
		case 2:
			ns := *s
			c.send(&ns, r.ev)
			ns.rec[i] = sweep{}
			c.does(&ns, say("reconciler %v: sends event %v", uint8(i), r.ev))
		}
		ns := *s
		ns.rec[i] = sweep{}
		c.crashes(&ns, say("reconciler %v CRASHES", uint8(i)))
	}
}

// sweepPushes is W11, or W12, with the due time that was read.
func (c *protocol) sweepPushes(s *State, i int) {
	r := s.rec[i]
	ns := *s
	x := &ns.ev[r.ev]
	n := say("reconciler %v: pushes event %v", uint8(i), r.ev)
	switch {
	case x.st != evOpen || r.ok != 1 && !c.a("push-without-seen"):
		ns.rec[i] = sweep{}
		c.does(&ns, n.and(" -> refused"))
		return
	case x.rq >= c.sc.sends:
		ns.rec[i] = sweep{}
		staleSweeps(&ns, r.ev)
		c.parksUnsent(&ns, r.ev, false)
		return
	}
	c.moveEvent(x, movePush, evOpen)
	x.rq++
	ns.rec[i] = sweep{2, r.ev, 0}
	staleSweeps(&ns, r.ev)
	broken := ""
	for j := range s.rec {
		if j != i && s.rec[j].pc == 2 && s.rec[j].ev == r.ev {
			broken = "one-send: two reconcilers send one event at once"
		}
	}
	lost := ns
	c.emit(&ns, n.and(" -> ok"), false, broken)
	lost.rec[i] = sweep{1, r.ev, 0} // no write id here: the repeat is refused, the event waits one backoff longer
	c.unanswered(&lost, n, broken)
}
