package problem

import (
	"errors"
	"fmt"
	"time"

	"engang/shared/inbox"
)

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
		then = "Its work is over: name the operation to have that done again."
	}
	p.Detail = fmt.Sprintf("The event is %s, this act needs it otherwise, and nothing was done. %s", ev.State, then)
}
