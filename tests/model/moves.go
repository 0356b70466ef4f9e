package model

import (
	"fmt"
	"slices"

	"engang/shared/inbox"
	"engang/shared/lifecycle"
	"engang/shared/operation"
)

// Where an operation stands. The states are those of its lifecycle, and none beside.
const (
	opNone = iota
	opPending
	opRunning
	opCompleted
	opFailed
	opSuperseded
	opReview
	opRejected
)

// opTexts names the states of an operation as the domain does.
var opTexts = [...]operation.State{
	opPending: operation.Pending, opRunning: operation.Running, opCompleted: operation.Completed, opFailed: operation.Failed,
	opSuperseded: operation.Superseded, opReview: operation.Review, opRejected: operation.Rejected,
}

// evTexts names the states of an event as the domain does: how it was settled is a state of its own here.
var evTexts = [...]inbox.State{
	evOpen: inbox.Received, evDone: inbox.Settled, evParked: inbox.Parked, evUnsent: inbox.Parked,
	evDraft: inbox.Settled, evCoalesced: inbox.Settled, evCancelled: inbox.Settled,
}

// A move is a transition of the domain, in numbers: the guard of a write, and where it leads.
type move struct {
	name  string
	from  uint16 // bit per state
	to    uint16 // bit per state: an event's may be several here
	event bool
	at    int // its place among all moves
}

// The transitions that the steps make, from the domain's own tables.
var (
	moveClaim     = opMove(operation.Begin)
	moveComplete  = opMove(operation.Complete)
	moveRetry     = opMove(operation.Retry)
	moveGiveBack  = opMove(operation.Pause)
	moveDraft     = opMove(operation.Hold)
	moveFail      = opMove(operation.Fail)
	moveExhaust   = opMove(operation.Exhaust)
	moveSupersede = opMove(operation.Overtake)
	moveApprove   = opMove(operation.Approve)
	moveReject    = opMove(operation.Reject)
	moveSetAside  = opMove(operation.SetAside)
	moveRedriveOp = opMove(operation.Reopen)
	moveRenew     = opMove(operation.Renew)
	moveCancel    = opMove(operation.Cancel)
	moveDismiss   = opMove(operation.Dismiss)

	moveSettle   = evMove(inbox.Settle)
	movePark     = evMove(inbox.Park)
	movePush     = evMove(inbox.Push)
	moveRedrive  = evMove(inbox.Redrive)
	moveReopen   = evMove(inbox.Reopen)
	moveReplay   = evMove(inbox.Replay)
	moveDismissE = evMove(inbox.Dismiss)
	moveHandOver = evMove(inbox.HandOver)
	moveTakeUp   = evMove(inbox.TakeUp)
)

// outside names the transitions that no step makes, and why.
var outside = map[string]string{
	"event erase": "erasure of an object takes its work away; what it empties is not searched",
	"event empty": "the same of an event that is settled",
}

var moves []move // all that are declared above

func declare[S ~string](t lifecycle.Transition[S], texts []S, event bool) move {
	m := move{name: t.Name, event: event, at: len(moves)}
	for i, text := range texts {
		if text == "" {
			continue
		}
		if t.Allows(text) {
			m.from |= 1 << i
		}
		if t.To == text {
			m.to |= 1 << i
		}
	}
	moves = append(moves, m)
	return m
}

func opMove(t lifecycle.Transition[operation.State]) move { return declare(t, opTexts[:], false) }

func evMove(t lifecycle.Transition[inbox.State]) move { return declare(t, evTexts[:], true) }

// allows tells whether the transition may begin in a state.
func (m move) allows(st uint8) bool { return m.from>>st&1 == 1 }

// opStart is how the domain says that an operation is made.
var opStart = uint8(slices.Index(opTexts[:], operation.Lifecycle.Start))

// Reached says which transitions were taken, and from which states.
type Reached [64]uint16

// Merge adds what another search reached.
func (r *Reached) Merge(other Reached) {
	for i := range r {
		r[i] |= other[i]
	}
}

// move changes an operation's state by a transition.
func (c *protocol) move(q *op, m move) {
	c.reached[m.at] |= 1 << q.st
	for to := range uint8(len(opTexts)) {
		if m.to>>to&1 == 1 {
			q.st = to
		}
	}
}

// moveEvent changes an event's state by a transition; st says which of those that it leads to.
func (c *protocol) moveEvent(x *event, m move, st uint8) {
	c.reached[m.at] |= 1 << x.st
	if m.to>>st&1 == 0 {
		panic(fmt.Sprintf("transition %q does not lead to state %d", m.name, st))
	}
	x.st = st
}

// opWays and evWays hold, by state, a bit per state that some transition leads to.
var opWays, evWays = waysOf(operation.Lifecycle.Transitions, opTexts[:]), waysOf(inbox.Lifecycle.Transitions, evTexts[:])

func waysOf[S ~string](all []lifecycle.Transition[S], texts []S) []uint16 {
	ways := make([]uint16, len(texts))
	for _, t := range all {
		for from, a := range texts {
			for to, b := range texts {
				if a != "" && t.Allows(a) && t.To == b {
					ways[from] |= 1 << to
				}
			}
		}
	}
	return ways
}

// moved holds the change of a step against the domain's tables. An item begins as they say, and only the clean-up
// takes one away.
func (c *protocol) moved(from, to *State) string {
	for i := range from.op {
		a, b := from.op[i].st, to.op[i].st
		switch {
		case a == b, a == opNone && b == opStart, opWays[a]>>b&1 == 1:
		case b == opNone && to.budget.ttl < from.budget.ttl:
		default:
			return fmt.Sprintf("lifecycle: no transition of an operation leads from %q to %q", opTexts[a], opTexts[b])
		}
	}
	for i := range from.ev {
		a, b := from.ev[i].st, to.ev[i].st
		switch {
		case a == b, a == evNone && evTexts[b] == inbox.Lifecycle.Start, evWays[a]>>b&1 == 1:
		default:
			return fmt.Sprintf("lifecycle: no transition of an event leads from %q to %q", evTexts[a], evTexts[b])
		}
	}
	return ""
}
