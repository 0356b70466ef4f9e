package operation

import "engang/shared/lifecycle"

// A State is where an operation stands. The texts are stored: never renamed, never reused.
type State string

// The states of an operation.
const (
	Pending    State = "pending"
	Running    State = "running"
	Completed  State = "completed"
	Review     State = "review"
	Failed     State = "failed"
	Rejected   State = "rejected"
	Superseded State = "superseded"
)

// The transitions of an operation. Its submission to a background job is not built.
var (
	Begin    = lifecycle.Transition[State]{Name: "claim", From: []State{Pending, Running, Superseded}, To: Running} // running: only over an expired lease; superseded: only for a newer version
	Complete = lifecycle.Transition[State]{Name: "complete", From: []State{Running}, To: Completed}
	Retry    = lifecycle.Transition[State]{Name: "retry", From: []State{Running}, To: Pending} // with a not-before time
	Pause    = lifecycle.Transition[State]{Name: "pause", From: []State{Running}, To: Pending} // the attempt is given back
	Hold     = lifecycle.Transition[State]{Name: "draft", From: []State{Running}, To: Review}
	Fail     = lifecycle.Transition[State]{Name: "fail", From: []State{Running}, To: Failed}
	Exhaust  = lifecycle.Transition[State]{Name: "exhaust", From: []State{Pending, Running}, To: Failed} // attempts used up; running: only over an expired lease
	Overtake = lifecycle.Transition[State]{Name: "supersede", From: []State{Running}, To: Superseded}
	Approve  = lifecycle.Transition[State]{Name: "approve", From: []State{Review}, To: Completed, Person: true}
	Reject   = lifecycle.Transition[State]{Name: "reject", From: []State{Review}, To: Rejected, Person: true}
	SetAside = lifecycle.Transition[State]{Name: "set aside", From: []State{Review}, To: Superseded, Person: true}            // a newer result is there
	Reopen   = lifecycle.Transition[State]{Name: "redrive", From: []State{Failed}, To: Pending, Person: true}                 // with a new budget
	Cancel   = lifecycle.Transition[State]{Name: "cancel", From: []State{Pending, Running, Review}, To: Failed, Person: true} // whoever works on it is fenced
	Dismiss  = lifecycle.Transition[State]{Name: "dismiss", From: []State{Failed}, To: Failed, Person: true}                  // off the review list, for good unless it is redriven by name
	Renew    = lifecycle.Transition[State]{Name: "renew", From: []State{Rejected}, To: Pending, Person: true}                 // with a new budget and without the refused output
)

// Lifecycle is the one statement of how an operation may move.
var Lifecycle = lifecycle.Machine[State]{
	Name:  "operation",
	Start: Running, // the claim that makes it is also its first attempt
	States: []lifecycle.State[State]{
		{Name: Pending, Means: "Waits for its not-before time; the next message or the reconciler claims it. An open event points at it."},
		{Name: Running, Means: "An attempt holds the lease; a crash leaves it so until the lease is over, then the next claim takes it over with a higher token."},
		{Name: Completed, Rest: true, Means: "The output is committed and never changes; a crash leaves the event open, and the next worker writes the result from here."},
		{Name: Review, Waiting: true, Means: "The output is a draft; a person approves, rejects or sets it aside."},
		{Name: Failed, Waiting: true, Means: "Given up with reason and category; a person redrives or dismisses it."},
		{Name: Rejected, Rest: true, Means: "A person refused the output; only a person opens it again."},
		{Name: Superseded, Rest: true, Means: "A newer version had its result first; taken up again when the same content comes back as a newer version."},
	},
	Transitions: []lifecycle.Transition[State]{Begin, Complete, Retry, Pause, Hold, Fail, Exhaust, Overtake, Approve, Reject, SetAside, Cancel, Dismiss, Reopen, Renew},
}
