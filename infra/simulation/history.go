package simulation

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
)

// A history is what happened, line by line, and what it hashes to.
type history struct {
	keep     bool
	lines    []string
	sum      hash.Hash
	happened []string // what can be left out
}

// note adds a line: when, who, what, and what came of it.
func (w *world) note(a *actor, what, came string) {
	who := "the queue"
	if a != nil {
		who = a.name
	}
	line := fmt.Sprintf("%10.3fs  %-32s %s: %s", w.clock.Seconds(), who, what, came)
	w.add(line)
	if w.keep {
		w.lines = append(w.lines, line)
	}
}

// add adds to what the digest is of.
func (h *history) add(line string) {
	if h.sum == nil {
		h.sum = sha256.New()
	}
	fmt.Fprintln(h.sum, line)
}

func (h *history) digest() string {
	if h.sum == nil {
		return ""
	}
	return hex.EncodeToString(h.sum.Sum(nil))
}

// happens notes something that a seed has happen, unless it is to be left out.
func (w *world) happens(what string) bool {
	if w.Without[what] {
		return false
	}
	w.happened = append(w.happened, what)
	return true
}
