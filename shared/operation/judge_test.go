package operation_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
)

var now = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

const (
	skew = 5 * time.Second
	mine = operation.AttemptID("att_mine")
	him  = operation.AttemptID("att_him")
)

func claim() operation.Claim {
	return operation.Claim{Attempt: mine, WriteID: "w-mine", Rank: "r2", Now: now, Until: now.Add(100 * time.Second), Skew: skew, Limit: 5}
}

// TestJudgeClaim is infra/protocol.md section 4, the rows of W3. Where the condition of W3 would hold, the
// answer must be "claim again", and nowhere else: else a worker would wait for ever, or spin.
func TestJudgeClaim(t *testing.T) {
	running := func(o operation.Operation) operation.Operation {
		o.State = operation.Running
		return o
	}
	tests := []struct {
		name   string
		stored operation.Operation
		want   operation.Standing
		wait   time.Time
	}{
		{name: "own claim, its answer lost", stored: running(operation.Operation{WriteID: "w-mine", Owner: mine, LeaseEnd: now.Add(time.Minute)}), want: operation.Own},
		{name: "own claim, its lease over by now", stored: running(operation.Operation{WriteID: "w-mine", Owner: mine, LeaseEnd: now.Add(-time.Hour)}), want: operation.Own},
		{name: "own claim, the last one permitted", stored: running(operation.Operation{WriteID: "w-mine", Owner: mine, LeaseEnd: now.Add(-time.Hour), Claims: 5}), want: operation.Own},
		{name: "same write id of another attempt", stored: running(operation.Operation{WriteID: "w-mine", Owner: him, LeaseEnd: now.Add(time.Minute)}), want: operation.Busy, wait: now.Add(time.Minute + skew)},
		{name: "same attempt, another write id", stored: running(operation.Operation{WriteID: "w-his", Owner: mine, LeaseEnd: now.Add(time.Minute)}), want: operation.Busy, wait: now.Add(time.Minute + skew)},

		{name: "lease not over", stored: running(operation.Operation{Owner: him, LeaseEnd: now.Add(30 * time.Second)}), want: operation.Busy, wait: now.Add(30*time.Second + skew)},
		{name: "lease over by our clock, not for certain", stored: running(operation.Operation{Owner: him, LeaseEnd: now.Add(-skew + time.Millisecond)}), want: operation.Busy, wait: now.Add(time.Millisecond)},
		{name: "lease over exactly by the allowance", stored: running(operation.Operation{Owner: him, LeaseEnd: now.Add(-skew)}), want: operation.Busy, wait: now},
		{name: "lease not over, claims used up", stored: running(operation.Operation{Owner: him, LeaseEnd: now.Add(time.Second), Claims: 5}), want: operation.Busy, wait: now.Add(time.Second + skew)},
		{name: "lease over for certain", stored: running(operation.Operation{Owner: him, LeaseEnd: now.Add(-skew - time.Millisecond), Claims: 4}), want: operation.Again},
		{name: "lease over, claims used up", stored: running(operation.Operation{Owner: him, LeaseEnd: now.Add(-time.Minute), Claims: 5}), want: operation.UsedUp},

		{name: "pending, claims used up", stored: operation.Operation{State: operation.Pending, Claims: 5}, want: operation.UsedUp},
		{name: "pending, used up while backing off", stored: operation.Operation{State: operation.Pending, Claims: 5, NotBefore: now.Add(time.Minute)}, want: operation.UsedUp},
		{name: "pending, limit lowered meanwhile", stored: operation.Operation{State: operation.Pending, Claims: 9}, want: operation.UsedUp},
		{name: "backoff ahead", stored: operation.Operation{State: operation.Pending, Claims: 4, NotBefore: now.Add(time.Millisecond)}, want: operation.BackingOff, wait: now.Add(time.Millisecond)},
		{name: "backoff just over", stored: operation.Operation{State: operation.Pending, Claims: 4, NotBefore: now}, want: operation.Again},
		{name: "pending without a backoff", stored: operation.Operation{State: operation.Pending}, want: operation.Again},

		{name: "completed", stored: operation.Operation{State: operation.Completed, Rank: "r1"}, want: operation.Done},
		{name: "completed by a newer event", stored: operation.Operation{State: operation.Completed, Rank: "r3"}, want: operation.Done},
		{name: "failed", stored: operation.Operation{State: operation.Failed}, want: operation.Broken},
		{name: "a draft", stored: operation.Operation{State: operation.Review}, want: operation.WaitsForPerson},
		{name: "rejected", stored: operation.Operation{State: operation.Rejected}, want: operation.WaitsForPerson},
		{name: "superseded by something newer than mine", stored: operation.Operation{State: operation.Superseded, Rank: "r3"}, want: operation.Overtaken},
		{name: "superseded, my own event already", stored: operation.Operation{State: operation.Superseded, Rank: "r2"}, want: operation.Overtaken},
		{name: "superseded, and the content comes back newer", stored: operation.Operation{State: operation.Superseded, Rank: "r1"}, want: operation.Again},
		{name: "gone", stored: operation.Operation{}, want: operation.Again},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, wait := operation.JudgeClaim(tt.stored, claim())
			if got != tt.want || !wait.Equal(tt.wait) {
				t.Errorf("standing %d until %v, want %d until %v", got, wait, tt.want, tt.wait)
			}
			if claimable(tt.stored, claim()) != (got == operation.Again) && got != operation.Own {
				t.Errorf("W3's condition holds: %v, standing %d", claimable(tt.stored, claim()), got)
			}
		})
	}
}

// claimable is the condition of W3, as infra/protocol.md section 3 says it.
func claimable(o operation.Operation, c operation.Claim) bool {
	switch o.State {
	case "":
		return true
	case operation.Pending:
		return !o.NotBefore.After(c.Now) && o.Claims < c.Limit
	case operation.Running:
		return o.LeaseEnd.Before(c.Past()) && o.Claims < c.Limit
	case operation.Superseded:
		return o.Rank < c.Rank
	}
	return false
}

// TestJudgeFinish is infra/protocol.md section 4, the rows of W4, and of W7, W8, W16 and W24.
func TestJudgeFinish(t *testing.T) {
	f := operation.Finish{WriteID: "w-mine", Lease: operation.Lease{Attempt: mine, Token: 2}}
	log := func(o operation.Outcome) []operation.Attempt {
		return []operation.Attempt{{ID: him, Outcome: operation.Transient}, {ID: mine, Outcome: o}}
	}
	tests := []struct {
		name   string
		stored operation.Operation
		next   operation.State
		want   operation.Aftermath
	}{
		{"completed by this very write", operation.Operation{State: operation.Completed, WriteID: "w-mine", Attempts: log(operation.Usable)}, operation.Completed, operation.OwnFinish},
		{"pending again by this very write", operation.Operation{State: operation.Pending, WriteID: "w-mine", Attempts: log(operation.Transient)}, operation.Pending, operation.OwnFinish},
		{"superseded by this very write, which records no attempt", operation.Operation{State: operation.Superseded, WriteID: "w-mine"}, operation.Superseded, operation.OwnFinish},
		{"own commit, then approved or raised by others", operation.Operation{State: operation.Completed, WriteID: "w-his", Attempts: log(operation.Usable)}, operation.Review, operation.Covered},
		{"own retry, then claimed by another", operation.Operation{State: operation.Running, WriteID: "w-his", Attempts: log(operation.Transient)}, operation.Pending, operation.Covered},
		{"own write id in another state", operation.Operation{State: operation.Running, WriteID: "w-mine", Attempts: log(operation.Transient)}, operation.Pending, operation.Covered},
		{"taken over and recorded as lost", operation.Operation{State: operation.Completed, WriteID: "w-his", Attempts: log(operation.Lost)}, operation.Completed, operation.LeaseLost},
		{"taken over, still running", operation.Operation{State: operation.Running, WriteID: "w-his"}, operation.Completed, operation.LeaseLost},
		{"completed by another", operation.Operation{State: operation.Completed, WriteID: "w-his", Attempts: []operation.Attempt{{ID: him, Outcome: operation.Usable}}}, operation.Completed, operation.LeaseLost},
		{"the item was removed", operation.Operation{}, operation.Completed, operation.LeaseLost},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := operation.JudgeFinish(tt.stored, f, tt.next); got != tt.want {
				t.Errorf("aftermath %d, want %d", got, tt.want)
			}
		})
	}
}

// TestJudgeRaise is infra/protocol.md section 4, the rows of W10.
func TestJudgeRaise(t *testing.T) {
	since := time.Unix(1, 0)
	tests := []struct {
		name   string
		listed bool
		stored operation.Operation
		want   operation.Raising
	}{
		{"in the list with a newer event", true, operation.Operation{State: operation.Failed, Rank: "r3", Event: "evt_3", QueuedAt: since}, operation.NewerWaits},
		{"decided, with a newer event", false, operation.Operation{State: operation.Failed, Rank: "r3", Event: "evt_3"}, operation.KnownAlready},
		{"in the list again, which was decided when it was seen", false, operation.Operation{State: operation.Failed, Rank: "r2", QueuedAt: since}, operation.MovedOn},
		{"a draft, which is in the list without being news", false, operation.Operation{State: operation.Review, Rank: "r2", QueuedAt: since}, operation.KnownAlready},
		{"as seen, my rank already", false, operation.Operation{State: operation.Failed, Rank: "r2"}, operation.KnownAlready},
		{"as seen, a newer rank", false, operation.Operation{State: operation.Failed, Rank: "r3"}, operation.KnownAlready},
		{"as seen, an older rank: refused for another reason", false, operation.Operation{State: operation.Failed, Rank: "r1"}, operation.MovedOn},
		{"redriven meanwhile", false, operation.Operation{State: operation.Pending, Rank: "r3"}, operation.MovedOn},
		{"decided meanwhile", false, operation.Operation{State: operation.Rejected, Rank: "r2"}, operation.MovedOn},
		{"gone", false, operation.Operation{}, operation.MovedOn},
		{"in the list as seen", true, operation.Operation{State: operation.Failed, Rank: "r2", QueuedAt: since}, operation.KnownAlready},
		{"in the list, an older rank", true, operation.Operation{State: operation.Failed, Rank: "r1", QueuedAt: since}, operation.MovedOn},
		{"dismissed or cancelled since, an older rank", true, operation.Operation{State: operation.Failed, Rank: "r1"}, operation.DecidedSince},
		{"dismissed or cancelled since, my rank already", true, operation.Operation{State: operation.Failed, Rank: "r2"}, operation.DecidedSince},
		{"redriven since, and in no list therefore", true, operation.Operation{State: operation.Pending, Rank: "r2"}, operation.MovedOn},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := operation.Raise{Seen: operation.Failed, Listed: tt.listed, Rank: "r2"}
			if tt.stored.State == operation.Review {
				r.Seen = operation.Review
			}
			if got := operation.JudgeRaise(tt.stored, r); got != tt.want {
				t.Errorf("raising %v, want %v", got, tt.want)
			}
		})
	}
}

func TestRefusalSaysHowTheOperationStandsWithoutItsContent(t *testing.T) {
	err := fmt.Errorf("claim operation: %w", &operation.RefusedError{Stored: operation.Operation{
		Key:   operation.Key{Scope: object.Scope{Tenant: "shop"}, Object: object.ID{Kind: "customer", Value: "ann@example.com"}, Recipe: inbox.RecipeRef{Name: "r", Version: 1}},
		State: operation.Review, Token: 4, Output: []byte("secret text"),
	}})
	if !errors.Is(err, operation.ErrRefused) {
		t.Error("it is not ErrRefused")
	}
	if refused, ok := errors.AsType[*operation.RefusedError](err); !ok || refused.Stored.Token != 4 {
		t.Error("what is stored cannot be reached")
	}
	if text := err.Error(); !strings.Contains(text, "review") || !strings.Contains(text, "4") || strings.Contains(text, "secret") || strings.Contains(text, "ann") {
		t.Errorf("text %q", text)
	}
	if text := (&operation.RefusedError{}).Error(); !strings.Contains(text, "gone") {
		t.Errorf("text %q for an operation that is gone", text)
	}
}
