package problem_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/inbox"
	"engang/shared/operation"
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
	for _, c := range []struct {
		state   inbox.State
		outcome inbox.Outcome
		then    string
	}{
		{inbox.Received, "", "It is being worked on."},
		{inbox.Parked, "", "Look at it again before deciding."},
		{inbox.Settled, inbox.Completed, "Its work is done, and there is nothing to do again; under a recipe that was raised since, `replay` does it."},
		{inbox.Settled, inbox.Superseded, "Its work is done, and there is nothing to do again; under a recipe that was raised since, `replay` does it."},
		{inbox.Settled, inbox.Cancelled, "Its work was cancelled: to have it done again, redrive its operation by name."},
		{inbox.Settled, inbox.Rejected, "Its output was rejected: to have the work done again, redrive its operation by name."},
		{inbox.Settled, inbox.InReview, "Its output waits for a decision: approve or reject its operation."},
		{inbox.Settled, inbox.Coalesced, "A newer event does its work: name that one, or its operation."},
		{inbox.Settled, inbox.Split, "The events that it held have their own work: name one of those."},
		{inbox.Settled, inbox.NoRecipe, "Nothing is to be done for it."},
	} {
		state := c.state
		err := fmt.Errorf("redrive: %w", &inbox.RefusedError{Stored: inbox.Event{ID: "evt_aaaaaaaaaaaaaaaa", State: state, Outcome: c.outcome}})
		p := problem.Of(err, "")
		if p.Status != 409 || p.Detail != fmt.Sprintf("The event is %s, this act needs it otherwise, and nothing was done. %s", state, c.then) {
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

// What a person has to say is called as the program calls it.
func TestARefusalForANewerDraftNamesTheFlag(t *testing.T) {
	if p := problem.Of(fmt.Errorf("approve: %w", operation.ErrNewerDraft), ""); !strings.Contains(p.Detail, "(`--although-newer`)") {
		t.Error(p.Detail)
	}
}
