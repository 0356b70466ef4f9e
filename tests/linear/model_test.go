// Package linear holds what many workers and persons saw at once of one operation, its event and its result against
// what one after the other could have seen: each history must be linearizable. The order of one after the other is
// said by the domain: the lifecycles, the rule of tokens, ranks and generations. No condition of the store is read.
package linear_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"engang/shared/inbox"
	"engang/shared/lifecycle"
	"engang/shared/object"
	"engang/shared/operation"
)

// An item is what an operation is, as far as anybody can see. The zero item is not there.
type item struct {
	State     operation.State
	Token     int64
	Owner     operation.AttemptID
	Until     int64 // end of the lease, in milliseconds
	Claims    int
	NotBefore int64
	WriteID   string
	Event     inbox.EventID
	Rank      object.Rank
	Digest    string
	Log       string
	Listed    bool // for a person
}

func itemOf(o operation.Operation) item {
	if o.State == "" {
		return item{}
	}
	return item{o.State, o.Token, o.Owner, millis(o.LeaseEnd), o.Claims, millis(o.NotBefore), o.WriteID, o.Event, o.Rank, o.Digest, logOf(o.Attempts), !o.QueuedAt.IsZero()}
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// logOf is a log of attempts as one text.
func logOf(all []operation.Attempt) string {
	var b strings.Builder
	for _, a := range all {
		fmt.Fprintf(&b, "%d %s %s;", a.FencingToken, a.ID, a.Outcome)
	}
	return b.String()
}

// An event is what the operation's event is.
type event struct {
	State      inbox.State
	Generation int
	Outcome    inbox.Outcome
	Recipes    string
}

func eventOf(e inbox.Event) event {
	return event{e.State, e.Generation, e.Outcome, recipes(e.Recipes)}
}

func recipes(refs []inbox.RecipeRef) string { return fmt.Sprint(refs) }

// A result is what the object's result is. The zero result is not there.
type result struct {
	Rank   object.Rank
	Digest string
}

// A state is all three.
type state struct {
	Item   item
	Event  event
	Result result
}

// A reason is what an act was told.
type reason string

const (
	granted        reason = ""
	byOperation    reason = "the operation does not stand so"
	byResult       reason = "a newer result is there"
	byEvent        reason = "the event does not stand so"
	done           reason = "done already" // refused, and it stands as this act leaves it
	refusedSomehow reason = "refused"      // nobody was told why
	onlyLookedAt   reason = "a look"
	outsideOfModel reason = "forbidden" // an error that nothing here explains
)

// An act is one thing that somebody does.
type act interface {
	fmt.Stringer
	// on is what it makes of a state, or why it is refused.
	on(s state) (state, reason)
	// ours tells whether a state is as this very act left it.
	ours(s state) bool
}

// An outcome is what somebody was told.
type outcome struct {
	Why   reason
	Saw   any   // what was there: an item, an event, a result; nil where it was not said
	Token int64 // of a lease that was granted
}

// model is the specification: every act takes effect at one moment between its begin and its end, or does not.
func model() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return state{Event: event{State: inbox.Lifecycle.Start, Recipes: recipes(former)}} },
		Step: func(at, did, told any) (bool, any) { return step(at.(state), did.(act), told.(outcome)) },
	}
}

// step gives the state behind an act, if it may have been told this.
func step(s state, did act, told outcome) (bool, any) {
	next, why := did.on(s)
	switch told.Why {
	case onlyLookedAt:
		return told.Saw == s.part(told.Saw), s
	case done:
		return did.ours(s) && (told.Token == 0 || told.Token == s.Item.Token), s
	case refusedSomehow:
		return why != granted, s
	case granted:
		return why == granted && (told.Token == 0 || told.Token == next.Item.Token), next
	}
	return why == told.Why && (told.Saw == nil || told.Saw == s.part(told.Saw)), s
}

// part is the part of a state that is of the kind of what was seen.
func (s state) part(saw any) any {
	switch saw.(type) {
	case item:
		return s.Item
	case event:
		return s.Event
	}
	return s.Result
}

// may tells whether a transition leads away from a state.
func may[S ~string](t lifecycle.Transition[S], from S) bool { return slices.Contains(t.From, from) }
