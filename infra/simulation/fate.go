package simulation

import (
	"fmt"
	"strings"
	"time"
)

// What a step can meet.
const (
	noFault     = ""
	dieBefore   = "killed before it"
	dieAfter    = "killed after it took effect"
	loseRequest = "request lost"
	loseAnswer  = "answer lost"
	throttle    = "refused: too many requests"
	stallBefore = "stalled before it"
	stallAfter  = "stalled after it took effect"
)

// faults are what fate chooses from.
var faults = []string{dieBefore, dieAfter, dieAfter, loseRequest, loseAnswer, loseAnswer, throttle, stallBefore, stallAfter}

// stalls are how long a step may take. The longer ones outlast a lease.
var stalls = []time.Duration{2 * time.Second, 20 * time.Second, 60 * time.Second, 102 * time.Second, 112 * time.Second, 125 * time.Second}

// pastLease are stalls that end at about the time at which another has taken the lease over.
var pastLease = []time.Duration{95 * time.Second, 103 * time.Second, 106 * time.Second, 110 * time.Second, 120 * time.Second}

// A fate is what a step meets.
type fate struct {
	kind string
	long time.Duration
}

// String says it for the history.
func (f fate) String() string {
	if f.long > 0 {
		return fmt.Sprintf("%s for %s", f.kind, f.long)
	}
	return f.kind
}

func (f fate) after() string {
	if f.kind == noFault || f.kind == stallBefore {
		return ""
	}
	return "; " + f.String()
}

func (f fate) err() error {
	if f.kind == throttle {
		return errThrottled
	}
	return errLost
}

// fate throws what a step meets. Its name says whose which step it is, and takes it out of a history.
func (w *world) fate(a *actor, c call) fate {
	rate := w.rate
	if strings.HasPrefix(c.name, "read ") || strings.HasPrefix(c.name, "query ") {
		rate /= 3
	}
	sleepy := w.scene.crowded && (c.name == "model call" || c.name == "W4 complete" || c.name == "W16 draft")
	if sleepy {
		rate = 200
	}
	if w.calm() || !w.dice.chance(rate, "fault of "+a.name, a.steps) {
		return fate{}
	}
	f := fate{kind: faults[w.dice.below(len(faults), "kind of "+a.name, a.steps)]}
	long := stalls
	if sleepy {
		f.kind, long = []string{stallBefore, stallAfter}[w.dice.below(2, "kind of "+a.name, a.steps)], pastLease
	}
	if f.kind == stallBefore || f.kind == stallAfter {
		f.long = long[w.dice.below(len(long), "stall of "+a.name, a.steps)]
	}
	if !w.happens(fmt.Sprintf("fault of %s at %d: %s, %s", a.name, a.steps, c.name, f)) {
		return fate{}
	}
	w.counts.count(f.kind)
	a.faults++
	return f
}
