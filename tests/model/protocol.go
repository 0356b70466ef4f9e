package model

import (
	"fmt"
	"strings"

	"engang/tests/model/explore"
)

// A protocol is a scenario under infra/protocol.md, or under one weakened form of it.
type protocol struct {
	sc      Scenario
	tx      bool   // W4, W5 and W6 in one transaction first, one by one as fallback
	other   string // name of what is weakened or done otherwise, "" for nothing
	slots   int    // messages that the queue holds
	reached Reached
	out     explore.Emit[State, note]
}

// a tells whether something is weakened, or done in another permitted way.
func (c *protocol) a(name string) bool { return c.other == name }

// A note says what a step did. It is put into words only when a trace is told.
type note struct {
	text   string
	args   [5]uint8
	n      int
	worker uint8 // + 1; 0: not a worker's step
	end    string
}

// none is shown for an index that stands for nothing.
const none = 255

func say(text string, args ...uint8) note {
	n := note{text: text, n: len(args)}
	copy(n.args[:], args)
	return n
}

func (n note) and(end string) note {
	n.end += end
	return n
}

// String puts the note into words.
func (n note) String() string {
	var args []any
	for _, a := range n.args[:n.n] {
		if a == none {
			args = append(args, "none")
			continue
		}
		args = append(args, a)
	}
	text := fmt.Sprintf(strings.ReplaceAll(n.text, "%c", "content %d"), args...) + n.end
	if n.worker > 0 {
		return fmt.Sprintf("worker %d: %s", n.worker-1, text)
	}
	return text
}

func (c *protocol) emit(ns *State, n note, fault bool, broken string) { c.out(ns, n, fault, broken) }

// does is a step that is no fault and breaks nothing.
func (c *protocol) does(ns *State, n note) { c.out(ns, n, false, "") }

// crashes is the crash of whoever stands in the state, where one is left. It is the last step made of ns.
func (c *protocol) crashes(ns *State, n note) {
	if ns.budget.has(ns.budget.crash) {
		ns.budget.take(&ns.budget.crash)
		c.emit(ns, n, true, "")
	}
}

// unanswered is a write that took effect although its writer never learns of it, where an answer is left to lose. It is
// the last step made of ns.
func (c *protocol) unanswered(ns *State, n note, broken string) {
	if ns.budget.has(ns.budget.lost) {
		ns.budget.take(&ns.budget.lost)
		c.emit(ns, n.and(" -> took effect, ANSWER LOST"), true, broken)
	}
}

// steps are all that can be taken in a state.
func (c *protocol) steps(s *State, emit explore.Emit[State, note]) {
	before := c.out
	c.out = emit
	c.receivers(s)
	for i := range s.w {
		c.worker(s, i)
	}
	c.queue(s)
	c.time(s)
	if c.sc.sweeps == 2 {
		c.sweepers(s)
	} else {
		c.reconciler(s)
	}
	c.operator(s)
	c.decides(s)
	c.stops(s)
	c.dismisses(s)
	c.out = before
}

// operation is the index of the operation that an event asks for.
func (c *protocol) operation(e, dig, recipe uint8) uint8 {
	switch {
	case c.sc.shared && recipe == 1:
		return 0
	case c.sc.recipes == 2:
		return (recipe-1)*2 + dig
	}
	return c.sc.obj[e]*2 + dig
}

// asked is the operation that one of the two recipes of an event asks for.
func (c *protocol) asked(e, recipe uint8) uint8 {
	for _, a := range c.sc.arrivals {
		if a.ev == e {
			return c.operation(e, a.dig, recipe)
		}
	}
	panic("no delivery of this event")
}

func (c *protocol) result(e, recipe uint8) uint8 {
	if c.sc.recipes == 2 {
		return recipe - 1
	}
	return c.sc.obj[e]
}

func (c *protocol) recipeOf(o uint8) uint8 {
	if c.sc.recipes == 2 {
		return o/2 + 1
	}
	return 1
}

// rank is object version, then receive stamp, then event key: one sortable value.
func (c *protocol) rank(s *State, e uint8) uint8 {
	if c.a("result-version-only") {
		return c.sc.ver[e] << 4
	}
	return c.trueRank(s, e)
}

func (c *protocol) trueRank(s *State, e uint8) uint8 {
	return c.sc.ver[e]<<4 | s.ev[e].stamp<<2 | e
}

var one = [3][]uint8{nil, {1}, {2}}

var both = []uint8{1, 2}

// asks are the recipe versions whose results an event asks for.
func (c *protocol) asks(x event) []uint8 {
	if c.sc.multi {
		return both
	}
	return one[x.rcp]
}

func (c *protocol) send(s *State, e uint8) {
	for i := range s.m[:c.slots] {
		if s.m[i].ev == 0 {
			s.m[i] = message{e + 1, 0, mVisible}
			return
		}
	}
	for i := range s.m { // no room: one more copy of a message that is there already adds nothing new
		if s.m[i].ev == e+1 {
			return
		}
	}
	panic("the model's queue is too small")
}

func held(s *State, w int) int {
	for i := range s.m {
		if s.m[i].ev != 0 && s.m[i].h == uint8(w)+1 {
			return i
		}
	}
	return -1
}

// forgets takes a write id off the operations: whoever wrote under it can never present it again.
func (s *State) forgets(wid uint8) {
	for o := range s.op {
		if s.op[o].wid == wid {
			s.op[o].wid = 9
		}
	}
}

// idle ends a worker's turn.
func idle(s *State, w int) {
	s.forgets(uint8(w) + 1)
	s.w[w] = worker{}
}

func underLease(pc uint8) bool {
	switch pc {
	case wReadResult, wCalling, wTx, wComplete, wRetry, wFail, wSupersede, wHolderWrite, wDraft, wOpen, wGiveBack, wReserve, wCall:
		return true
	}
	return false
}

// holderLives tells whether a process that lives has the lease of an operation.
func holderLives(s *State, o int) bool {
	q := s.op[o]
	for _, w := range s.w {
		if w.pc != wIdle && w.op == uint8(o) && w.ser == q.ser && w.ser != 0 && underLease(w.pc) {
			return true
		}
		// the claim took effect, its answer was lost, the holder has not looked yet
		if w.pc == wClaim && w.op == uint8(o) && w.own == q.ser && w.own != 0 {
			return true
		}
	}
	return s.stop.own != 0 && s.stop.op == uint8(o) && s.stop.own == q.ser
}

// busy tells whether anybody has an event in hand, or a message of it is under way.
func (c *protocol) busy(s *State, e uint8) bool {
	for _, m := range s.m {
		if m.ev == e+1 {
			return true
		}
	}
	for _, w := range s.w {
		if w.pc != wIdle && w.ev == e || w.pc == wSplitSend && w.out == e {
			return true
		}
	}
	if s.opPc != 0 && s.opEv == e {
		return true
	}
	for i, d := range c.sc.arrivals {
		if d.ev == e && (s.d[i].pc == dSend || s.d[i].pc == dHead) {
			return true
		}
	}
	for _, r := range s.rec {
		if r.pc == 2 && r.ev == e {
			return true
		}
	}
	return false
}
