package model

// plain carries out what is no store call of its own.
func (c *protocol) plain(s *State) {
	for i := range s.w {
		c.routes(&s.w[i])
		if s.w[i].pc == wReturn { // message back with a delay of what is left of the lease
			if k := held(s, i); k >= 0 {
				s.m[k].h = mDelayed
			}
			idle(s, i)
		}
	}
	for i, m := range s.m { // a delayed message may be received as soon as its operation is not leased
		if m.ev == 0 || m.h != mDelayed {
			continue
		}
		x := s.ev[m.ev-1]
		o := s.op[c.operation(m.ev-1, x.dig, max(x.rcp, 1))]
		if c.sc.multi {
			if second := s.op[c.operation(m.ev-1, x.dig, 2)]; second.st == opRunning && second.exp == 0 {
				o = second
			}
		}
		if x.st != evOpen || o.st != opRunning || o.exp == 1 {
			s.m[i].h = mVisible
		}
	}
	inOrder(s)
}

// inOrder sorts the messages: they have no names.
func inOrder(s *State) {
	for i := 1; i < nMessages; i++ {
		for j := i; j > 0 && s.m[j].key() > s.m[j-1].key(); j-- {
			s.m[j], s.m[j-1] = s.m[j-1], s.m[j]
		}
	}
}

// routes puts the correction of a reservation, and the end of a probe, where a worker is done with its call.
func (c *protocol) routes(w *worker) {
	switch w.pc {
	case wSettle, wDraftSettle, wReturn, wNotice, wPush, wDelete:
		if w.rsv != 0 {
			w.then, w.pc = w.pc, wCorrect
			return
		}
	}
	if w.probe == 2 && (w.pc == wDelete || w.pc == wReturn) && !c.a("as-written") {
		w.then, w.pc = w.pc, wClose
	}
}

// same makes states equal that differ by the names of workers, persons and reconcilers or by the places of messages.
func (c *protocol) same(s *State) {
	c.plain(s)
	if s.w[1].less(&s.w[0]) || s.w[1] == s.w[0] && secondFirst(s) {
		s.w[0], s.w[1] = s.w[1], s.w[0]
		swap := func(x *uint8) {
			if *x == 1 || *x == 2 {
				*x = 3 - *x
			}
		}
		for i := range s.op {
			swap(&s.op[i].wid)
		}
		for i := range s.m {
			swap(&s.m[i].h)
		}
		swap(&s.br.own)
	}
	if p, q := s.p[0], s.p[1]; q.key() < p.key() {
		s.p[0], s.p[1] = q, p
		for i := range s.op {
			if x := s.op[i].wid; x == writeOf(0) || x == writeOf(1) {
				s.op[i].wid = writeOf(0) + writeOf(1) - x
			}
		}
	}
	if a, b := s.rec[0], s.rec[1]; b.key() < a.key() {
		s.rec[0], s.rec[1] = b, a
	}
	inOrder(s) // who has one may have changed its name
}

// secondFirst decides between workers that differ by what they hold alone.
func secondFirst(s *State) bool {
	for _, m := range s.m {
		if m.h == 1 || m.h == 2 {
			return m.h == 2
		}
	}
	for _, q := range s.op {
		if q.wid == 1 || q.wid == 2 {
			return q.wid == 2
		}
	}
	return s.br.own == 2
}

func (m message) key() int { return int(m.ev)<<16 | int(m.rc)<<8 | int(m.h) }

func (r sweep) key() int { return int(r.pc)<<16 | int(r.ev)<<8 | int(r.ok) }

func (p person) key() int {
	return ((int(p.pc)<<8|int(p.op))<<8|int(p.out))<<16 | int(p.rank)<<8 | int(p.retry)
}

// less orders workers; any order serves.
func (w *worker) less(v *worker) bool {
	if w.pc != v.pc {
		return w.pc < v.pc
	}
	for _, d := range [...]int{
		int(w.ev) - int(v.ev), int(w.gen) - int(v.gen), int(w.op) - int(v.op), int(w.tok) - int(v.tok), int(w.ser) - int(v.ser),
		int(w.retry) - int(v.retry), int(w.rank) - int(v.rank), int(w.out) - int(v.out), int(w.own) - int(v.own), int(w.seen) - int(v.seen),
		int(w.rcp) - int(v.rcp), int(w.bad) - int(v.bad), int(w.probe) - int(v.probe), int(w.by) - int(v.by), int(w.was) - int(v.was),
		int(w.on) - int(v.on), int(w.old) - int(v.old), int(w.oldSt) - int(v.oldSt), int(w.oldGen) - int(v.oldGen),
		int(w.fls) - int(v.fls), int(w.rsv) - int(v.rsv), int(w.got) - int(v.got), int(w.cost) - int(v.cost), int(w.then) - int(v.then),
	} {
		if d != 0 {
			return d < 0
		}
	}
	return false
}
