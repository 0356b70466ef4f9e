package model

// splits are the steps of a delivery that holds many events: part by part, and its own end last.
func (t turn) splits() {
	k := t.w.out
	after := func(ns *State, sent bool) string {
		x := &ns.w[t.i]
		x.retry = 0
		switch {
		case !sent && ns.ev[k].st == evOpen:
			x.pc = wSplitSend
		case k == 1:
			x.pc, x.out = wSplitPut, 2
		case t.a("split-settle-first"):
			x.pc = wDelete
		default:
			x.pc = wSettle
		}
		return ""
	}
	put := func(ns *State) string { return after(ns, false) }
	if t.w.pc == wSplitSend {
		t.write(t.note("sends part %v", k),
			func(ns *State) (bool, string) {
				t.send(ns, k)
				return true, ""
			},
			func(ns *State) string { return after(ns, true) }, nil)
		return
	}
	t.write(t.note("put part %v", k),
		func(ns *State) (bool, string) {
			if ns.ev[k].st != evNone {
				return false, ""
			}
			ns.ev[k] = event{st: evOpen, wid: 9, dig: t.sc.parts[k], rcp: t.s.cfg}
			return true, ""
		}, put, put)
}

// readsHead names what stands for an event whose operation is superseded; before the claim only where that is
// weakened.
func (t turn) readsHead() {
	ns := *t.s
	x := &ns.w[t.i]
	h := t.s.head[t.at]
	early := t.a("coalesce-before-claim") && t.w.retry == 0
	x.retry = 0
	switch newer := h.rank > t.w.rank || t.a("coalesce-same") && h.rank >= t.w.rank; {
	case newer && t.sc.multi:
		x.by = h.ev
		x.bad |= badNewer
		t.next(x, wSettle)
	case newer:
		x.pc, x.out = wCoalesce, h.ev
	case early:
		x.pc = wClaim
	default:
		t.next(x, wSettle)
	}
	t.does(&ns, t.note("reads the head (event %v)", h.ev-1))
}
