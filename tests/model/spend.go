package model

// What a call may cost at worst, and what one costs that was answered.
const (
	worstCost = 2
	callCost  = 1
)

// spends are the reservation before a call, and its correction after it.
func (t turn) spends() {
	switch {
	case t.w.pc == wCorrect:
		t.corrects()
	case t.a("reserve-by-read"):
		t.reservesByRead()
	default:
		t.reserves()
	}
}

// attempt is the bit of the reservation: one per claim.
func (t turn) attempt() uint8 {
	if t.a("reserve-by-operation") {
		return 1
	}
	return 1 << t.w.ser
}

// reserves is W28.
func (t turn) reserves() {
	w := t.w
	d := t.s.days[w.rsv-1]
	t.write(t.note("reserves for op %v in day %v (sum %v)", w.op, w.rsv, d.sum),
		func(ns *State) (bool, string) {
			d := &ns.days[w.rsv-1]
			again := d.res[w.op]&t.attempt() != 0
			if d.sum+worstCost > t.sc.limit || again && !t.a("reserve-twice") {
				return false, ""
			}
			d.sum += worstCost
			d.res[w.op] |= t.attempt()
			if again {
				return true, "spend: a repeat after a lost answer reserved once more"
			}
			return true, ""
		},
		func(ns *State) string {
			x := &ns.w[t.i]
			x.pc, x.retry, x.got = wCall, 0, 1
			return ""
		},
		func(ns *State) string {
			x := &ns.w[t.i]
			x.retry = 0
			if d.res[w.op]&t.attempt() != 0 { // reserved already: our own lost answer
				x.pc, x.got = wCall, 1
				return ""
			}
			t.usedUp(x)
			return ""
		})
}

// reservesByRead is weakened: the limit is judged by a read, not by the store.
func (t turn) reservesByRead() {
	ns := *t.s
	x := &ns.w[t.i]
	d := &ns.days[t.w.rsv-1]
	switch {
	case t.w.seen == 1:
		d.sum += worstCost
		d.res[t.w.op] |= t.attempt()
		x.pc, x.got, x.seen = wCall, 1, 0
	case d.sum+worstCost > t.sc.limit:
		t.usedUp(x)
	default:
		x.seen = 1
	}
	t.does(&ns, t.note("reads the day, then reserves"))
}

// usedUp gives the attempt back (W24); out says until when the event is pushed (W22).
func (t turn) usedUp(x *worker) {
	d := t.s.days[t.w.rsv-1]
	paid := d.sum
	for _, bits := range d.res {
		for ; bits != 0; bits &= bits - 1 {
			paid -= worstCost
		}
	}
	x.out = pushDay
	if paid+worstCost <= t.sc.limit {
		x.out = pushSoon
	}
	x.pc, x.rsv, x.got = wGiveBack, 0, 0
}

// pays is what the checks know of a call that begins: it may cost the worst. It counts for the day that it was
// reserved in.
func (t turn) pays(ns *State) string {
	if t.w.rsv == 0 {
		return ""
	}
	d := &ns.days[t.w.rsv-1]
	d.paid += worstCost
	ns.w[t.i].cost = worstCost
	return t.overspent(*d)
}

func (t turn) overspent(d day) string {
	if d.paid > t.sc.limit {
		return "spend: the calls of a day cost more than its limit"
	}
	return ""
}

// cost is what an answer says that the call cost.
func (t turn) cost(ns *State, cost uint8) {
	if t.w.rsv == 0 {
		return
	}
	ns.w[t.i].cost = cost
	ns.days[t.w.rsv-1].paid -= worstCost - cost
}

// corrects replaces the reservation by what the call cost. It is not repeated: without it the sum stays too high
// until the day is over.
func (t turn) corrects() {
	w := t.w
	after := func(ns *State) string {
		x := &ns.w[t.i]
		x.pc, x.retry = w.then, 0
		x.rsv, x.got, x.cost, x.then = 0, 0, 0, 0
		return ""
	}
	n := t.note("the reservation for op %v in day %v becomes %v", w.op, w.rsv, w.cost)
	t.write(n, func(ns *State) (bool, string) {
		d := &ns.days[w.rsv-1]
		if d.res[w.op]&t.attempt() == 0 && !t.a("correct-twice") {
			return false, ""
		}
		d.sum -= worstCost - w.cost
		d.res[w.op] &^= t.attempt()
		dueAgain(ns, pushSoon)
		return true, ""
	}, after, after)
	if t.s.budget.has(t.s.budget.lost) {
		ns := *t.s
		ns.budget.take(&ns.budget.lost)
		after(&ns)
		t.emit(&ns, n.and(" -> FAILS, the reservation stays"), true, "")
	}
}

// midnight is the end of a day. It comes where an event waits for it, or as a fault.
func (c *protocol) midnight(s *State) {
	if c.sc.limit == 0 {
		return
	}
	waited := false
	for _, x := range s.ev {
		waited = waited || x.st == evOpen && x.psh >= pushSoon
	}
	ns := *s
	if !waited {
		if !s.budget.has(s.budget.slow) {
			return
		}
		ns.budget.take(&ns.budget.slow)
	}
	for _, w := range s.w {
		if w.rsv == nDays { // no attempt lasts two days
			return
		}
	}
	ns.days = [nDays]day{{}, s.days[0]}
	dueAgain(&ns, pushSoon)
	dueAgain(&ns, pushDay)
	for i := range ns.w {
		if ns.w[i].rsv > 0 {
			ns.w[i].rsv++
		}
	}
	c.emit(&ns, say("time: a day is over"), !waited, "")
}

// dueAgain: what an event was pushed for has come about. Looking again before it has would change nothing.
func dueAgain(s *State, why uint8) {
	for i := range s.ev {
		if s.ev[i].psh == why {
			s.ev[i].psh = 0
		}
	}
}
