package problem_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"engang/shared/inbox"
	"engang/shared/problem"
)

// An act that is refused by an event says how the event stands, and what can be done about it.
func TestAnEventThatRefusesSaysHowItStands(t *testing.T) {
	for state, want := range map[inbox.State]string{
		inbox.Received: "The event is received, this act needs it otherwise, and nothing was done. It is being worked on.",
		inbox.Settled:  "The event is settled, this act needs it otherwise, and nothing was done. Its work is over: name the operation to have that done again.",
		inbox.Parked:   "The event is parked, this act needs it otherwise, and nothing was done. Look at it again before deciding.",
	} {
		err := fmt.Errorf("redrive: %w", &inbox.RefusedError{Stored: inbox.Event{ID: "evt_aaaaaaaaaaaaaaaa", State: state}})
		p := problem.Of(err, "")
		if p.Status != 409 || p.Detail != want {
			t.Errorf("%d %s", p.Status, p.Detail)
		}
		if diff := cmp.Diff(&problem.Standing{ID: "evt_aaaaaaaaaaaaaaaa", State: string(state)}, p.Stands); diff != "" {
			t.Error(diff)
		}
		if !errors.Is(err, inbox.ErrStale) || !strings.Contains(err.Error(), string(state)) {
			t.Errorf("%v", err)
		}
	}
}
