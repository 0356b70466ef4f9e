// Package wire is the network between the functions and what they call: the one place where the local
// system counts calls, breaks them, and kills the invocation that makes them.
//
// A call is named by the code that makes it (telemetry.WithCall). It is judged twice: before it is
// sent, and after its answer has come, when it has taken effect and nobody knows yet.
package wire

import (
	"context"
	"errors"
	"sync/atomic"
)

// ErrKilled is what a call of a killed invocation gets. Its process is gone: nothing is sent any more.
var ErrKilled = errors.New("the invocation was killed")

// ErrBroken is what a call gets that was made to fail: not sent, or sent with its answer lost.
var ErrBroken = errors.New("connection reset")

// An Invocation is one run of a function. Killing it is what a crash of the process is: its context
// ends, and no later call of it leaves the machine.
type Invocation struct {
	Function string // "receiver", "enrichment", "reconciler", "console"
	ID       string
	dead     atomic.Bool
	end      context.CancelFunc
}

type key struct{}

// Begin makes an invocation and the context that it runs with.
func Begin(ctx context.Context, function, id string) (context.Context, *Invocation) {
	i := &Invocation{Function: function, ID: id}
	ctx, i.end = context.WithCancel(ctx)
	return context.WithValue(ctx, key{}, i), i
}

// From is the invocation that a context belongs to, or nil.
func From(ctx context.Context) *Invocation {
	i, _ := ctx.Value(key{}).(*Invocation)
	return i
}

// Kill ends the invocation where it stands. It may be called more than once and from anywhere.
func (i *Invocation) Kill() {
	i.dead.Store(true)
	i.end()
}

// Killed tells whether the invocation was killed.
func (i *Invocation) Killed() bool { return i.dead.Load() }

// End releases the invocation's context.
func (i *Invocation) End() { i.end() }

// A Phase says when a call is judged.
type Phase int

// The phases.
const (
	Before Phase = iota // nothing was sent
	After               // it took effect, and its answer is not known yet
)

// String is "before" or "after".
func (p Phase) String() string {
	if p == Before {
		return "before"
	}
	return "after"
}

// A Verdict says what becomes of a call.
type Verdict int

// The verdicts.
const (
	Pass Verdict = iota
	Kill         // the invocation dies here
	Fail         // the caller gets an error: before the call nothing was done, after it the answer is lost
)

// A Call is one try of one outside call.
type Call struct {
	Name       string // given by the code: "W3 claim"; "" where none was given
	Service    string // "dynamodb", "sqs", "s3", "ssm", "model"
	Function   string
	Invocation string
	ID         string // the same for every try of one call
	Try        int    // 1 for the first
}

// A Judge decides about every call, before and after. It must be safe for concurrent use.
type Judge func(Call, Phase) Verdict
