package problem_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/inbox"
	"engang/shared/pause"
	"engang/shared/problem"
)

func TestAnErasedEventSaysThatNothingIsLeft(t *testing.T) {
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	p := problem.Of(&inbox.RefusedError{Stored: inbox.Event{ID: "evt_aaaaaaaaaaaaaaaa", State: inbox.Settled, Erased: at}}, "")
	want := "The event is settled, this act needs it otherwise, and nothing was done. It was erased at 2026-11-29T12:00:00Z: nothing is left that could be done again."
	if p.Status != 409 || p.Detail != want {
		t.Errorf("%d %s", p.Status, p.Detail)
	}
}

// Whoever meets a pause that ends later is told whose it is, why, until when, and how it ends.
func TestALongerPauseSaysWhoseItIs(t *testing.T) {
	begun := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	end := begun.Add(time.Hour)
	for _, c := range []struct {
		until time.Time
		says  string
		ends  *time.Time
	}{
		{time.Time{}, "everything is paused by ann since 2026-11-29T12:00:00Z, until it is resumed: incident 12. A pause that ends sooner would cut that one short, and nothing was done. If that is what is meant, `resume` ends it first.", nil},
		{end, "everything is paused by ann since 2026-11-29T12:00:00Z, until 2026-11-29T13:00:00Z: incident 12. A pause that ends sooner would cut that one short, and nothing was done. If that is what is meant, `resume` ends it first.", &end},
	} {
		stored := pause.Pause{Target: pause.Target{Kind: pause.Everything}, Until: c.until, By: "ann", Reason: "incident 12", At: begun}
		p := problem.Of(fmt.Errorf("pause: %w", &pause.LongerError{Stored: stored}), "")
		if p.Status != 409 || p.Detail != c.says {
			t.Errorf("%d %s", p.Status, p.Detail)
		}
		if diff := cmp.Diff(&problem.Standing{ID: "everything", State: "paused", By: "ann", At: &begun, Note: "incident 12", Until: c.ends}, p.Stands); diff != "" {
			t.Error(diff)
		}
	}
}

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
