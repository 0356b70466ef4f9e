package inbox

import "engang/shared/lifecycle"

// A State is where an event stands. The texts are stored: never renamed, never reused.
type State string

// The states of an event.
const (
	Received State = "received"
	Settled  State = "settled"
	Parked   State = "parked"
)

// An Outcome says how an event was settled. The texts are stored.
type Outcome string

// The outcomes of a settled event.
const (
	Completed  Outcome = "completed"  // its result, or a newer one, stands
	Superseded Outcome = "superseded" // a newer version of the object had its result already
	InReview   Outcome = "review"     // its output is a draft that waits for a decision
	Rejected   Outcome = "rejected"   // a person refused this output before
	Coalesced  Outcome = "coalesced"  // a newer event does its work: one inside the quiet period, or one that waits for the same failed operation
	Split      Outcome = "split"      // it held other events: those that its endpoint asks for are stored, and the reason says what is not
	NoRecipe   Outcome = "no recipe"  // nothing is to be done for it
	Cancelled  Outcome = "cancelled"  // a person stopped its work
)

// The transitions of an event. Each reopening (Redrive, Replay, TakeUp) raises the generation.
var (
	Settle   = lifecycle.Transition[State]{Name: "settle", From: []State{Received}, To: Settled}
	Park     = lifecycle.Transition[State]{Name: "park", From: []State{Received}, To: Parked}
	Push     = lifecycle.Transition[State]{Name: "push", From: []State{Received}, To: Received}
	HandOver = lifecycle.Transition[State]{Name: "hand over", From: []State{Parked}, To: Settled}                                 // a newer event waits for the failed operation in its place
	TakeUp   = lifecycle.Transition[State]{Name: "take up again", From: []State{Parked}, To: Received}                            // the same of an event with several recipes: what the others came to is found out anew
	Redrive  = lifecycle.Transition[State]{Name: "redrive", From: []State{Parked, Settled, Received}, To: Received, Person: true} // together with its operation, whose state decides
	Reopen   = lifecycle.Transition[State]{Name: "reopen", From: []State{Parked}, To: Received, Person: true}                     // parked without an operation
	Dismiss  = lifecycle.Transition[State]{Name: "dismiss", From: []State{Parked}, To: Parked, Person: true}                      // off the review list
	Replay   = lifecycle.Transition[State]{Name: "replay", From: []State{Settled}, To: Received, Person: true}                    // under a raised recipe
	Erase    = lifecycle.Transition[State]{Name: "erase", From: []State{Received, Parked}, To: Settled, Person: true}             // emptied, as cancelled; nothing opens it again
	Empty    = lifecycle.Transition[State]{Name: "empty", From: []State{Settled}, To: Settled, Person: true}                      // the same, once it is settled
)

// Lifecycle is the one statement of how an event may move.
var Lifecycle = lifecycle.Machine[State]{
	Name:  "event",
	Start: Received,
	States: []lifecycle.State[State]{
		{Name: Received, Means: "Stored and not settled: it stands in the open index, and a worker or the reconciler moves it on; a crash leaves it there."},
		{Name: Settled, Rest: true, Means: "All that it asked for is done or decided; it leaves the table event_days later."},
		{Name: Parked, Waiting: true, Means: "Set aside with a reason; a person redrives or dismisses it, or a newer event waits in its place."},
	},
	Transitions: []lifecycle.Transition[State]{Settle, Park, Push, HandOver, TakeUp, Redrive, Reopen, Dismiss, Replay, Erase, Empty},
}
