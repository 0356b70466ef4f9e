package problem

import (
	"errors"
	"fmt"
	"time"

	"engang/shared/inbox"
)

// overBy is what can be done with a settled event whose work came to no result.
var overBy = map[inbox.Outcome]string{
	inbox.Rejected:  "Its output was rejected: to have the work done again, redrive its operation by name.",
	inbox.Cancelled: "Its work was cancelled: to have it done again, redrive its operation by name.",
	inbox.InReview:  "Its output waits for a decision: approve or reject its operation.",
	inbox.NoRecipe:  "Nothing is to be done for it.",
	inbox.Split:     "The events that it held have their own work: name one of those.",
	inbox.Coalesced: "A newer event does its work: name that one, or its operation.",
}

// eventStanding says how the event stands where an act was refused, and what can be done with one that stands so.
func eventStanding(p *Problem, err error) {
	e, ok := errors.AsType[*inbox.RefusedError](err)
	if !ok || e.Stored.State == "" {
		return
	}
	ev := e.Stored
	p.Stands = &Standing{ID: string(ev.ID), State: string(ev.State), ObjectVersion: ev.Rank.Version().String()}
	then := "Look at it again before deciding."
	switch {
	case !ev.Erased.IsZero():
		then = fmt.Sprintf("It was erased at %s: nothing is left that could be done again.", ev.Erased.UTC().Format(time.RFC3339))
	case ev.State == inbox.Received:
		then = "It is being worked on."
	case ev.State == inbox.Settled:
		then = overBy[ev.Outcome]
		if then == "" {
			then = "Its work is done, and there is nothing to do again; under a recipe that was raised since, `replay` does it."
		}
	}
	p.Detail = fmt.Sprintf("The event is %s, this act needs it otherwise, and nothing was done. %s", ev.State, then)
}
