package integration_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"engang/infra/local"
	"engang/shared/control"
)

// A failing is what some kind of failure of the model comes to. Attempts are "outcome category status".
type failing struct {
	faults   []string // of the stub, in this order
	attempts []string
	state    string // of the operation
	event    string // how the event ended: parked, or the outcome of a settled one
	reason   string // of the operation, where it has one
	category string
	claims   int // counted against the limit
	sends    int // that the reconciler must have made; zero: any number
}

// The rows of design.md section 7 that a model can cause.
var failings = map[string]failing{
	// Transient: the same operation again, each try an attempt.
	"rate limit, with Retry-After":     {[]string{"429"}, []string{"transient transient 429", "usable  200"}, "completed", "completed", "", "", 2, 0},
	"server error":                     {[]string{"500"}, []string{"transient transient 500", "usable  200"}, "completed", "completed", "", "", 2, 0},
	"time-out at the provider's front": {[]string{"timeout"}, []string{"transient transient 504", "usable  200"}, "completed", "completed", "", "", 2, 0},
	"no answer within the deadline":    {[]string{"hang"}, []string{"transient transient 0", "usable  200"}, "completed", "completed", "", "", 2, 0},
	"connection reset":                 {[]string{"reset"}, []string{"transient transient 0", "usable  200"}, "completed", "completed", "", "", 2, 0},
	"answer broken off":                {[]string{"malformed"}, []string{"transient transient 200", "usable  200"}, "completed", "completed", "", "", 2, 0},
	"several of them":                  {[]string{"500", "429", "timeout"}, []string{"transient transient 500", "transient transient 429", "transient transient 504", "usable  200"}, "completed", "completed", "", "", 4, 0},

	// Provider paused: the attempt is given back, the event waits in the open index.
	"quota used up": {[]string{"quota"}, []string{"paused provider paused 429", "usable  200"}, "completed", "completed", "", "", 1, 1},
	"invalid key":   {[]string{"key"}, []string{"paused provider paused 401", "usable  200"}, "completed", "completed", "", "", 1, 1},
	"unknown model": {[]string{"model"}, []string{"paused provider paused 404", "usable  200"}, "completed", "completed", "", "", 1, 1},

	// Unusable output: failed at once, except a truncated one, which has one more try.
	"refusal":                         {[]string{"refusal"}, []string{"unusable unusable output 200"}, "failed", "parked", "refusal", "unusable output", 1, 0},
	"content filter":                  {[]string{"filter"}, []string{"unusable unusable output 200"}, "failed", "parked", "the provider's content filter stopped the output", "unusable output", 1, 0},
	"not the schema":                  {[]string{"schema"}, []string{"unusable unusable output 200"}, "failed", "parked", "the output", "unusable output", 1, 0},
	"truncated once":                  {[]string{"length"}, []string{"truncated unusable output 200", "usable  200"}, "completed", "completed", "", "", 2, 0},
	"truncated twice":                 {[]string{"length", "length"}, []string{"truncated unusable output 200", "truncated unusable output 200"}, "failed", "parked", "cut off by the length limit twice", "unusable output", 2, 0},
	"only reasoning, until the limit": {[]string{"empty"}, []string{"truncated unusable output 200", "usable  200"}, "completed", "completed", "", "", 2, 0},

	// A check of ours: a draft, never published by itself, and nobody is told that something is wrong.
	"what was asked for is missing": {[]string{"missing"}, []string{"flagged  200"}, "review", "review", "/summary", "", 1, 0},
	"usage not reported":            {[]string{"nousage"}, []string{"usable  200"}, "completed", "completed", "", "", 1, 0},
}

func TestScenario17ModelFailures(t *testing.T) {
	eachCase(t, failings, func(f failing) local.Options {
		if strings.HasPrefix(f.attempts[0], "paused") {
			return local.Options{Speed: 60} // the pause lasts five seconds
		}
		return local.Options{Speed: 20}
	}, testFailing)
}

func testFailing(t *testing.T, s *system, f failing) {
	for _, kind := range f.faults {
		if err := s.Stub().Fail(kind, 1); err != nil {
			t.Fatal(err)
		}
	}
	id := s.accept(s.product(oldChair))
	s.rest()
	o := s.object("product:794")
	if len(o.Operations) != 1 {
		t.Fatalf("operations %+v", o.Operations)
	}
	op, e := o.Operations[0], s.event(id)
	if got, claims := attemptsOf(&op); !slices.Equal(got, f.attempts) || claims != f.claims {
		t.Errorf("%d claims, attempts %q, want %d, %q", claims, got, f.claims, f.attempts)
	}
	if op.State != f.state || !strings.HasPrefix(op.Reason, f.reason) || (op.Reason == "") != (f.reason == "") || op.Category != f.category {
		t.Errorf("operation is %s, %q, %q", op.State, op.Reason, op.Category)
	}
	if s.calls() != len(f.attempts) || e.Sends < f.sends {
		t.Errorf("%d calls, %d sends by the reconciler, want %d and at least %d", s.calls(), e.Sends, len(f.attempts), f.sends)
	}
	f.checkEnd(t, s, e, op)
	f.checkCost(t, op)
}

// checkEnd holds event, result, review and notice against the end that was meant.
func (f failing) checkEnd(t *testing.T, s *system, e control.Event, op control.Operation) {
	t.Helper()
	end := e.Outcome
	if e.State == "parked" {
		end = "parked"
	}
	if end != f.event || (op.Result != nil) != (f.event == "completed") || (op.Review != nil) != (f.event != "completed") {
		t.Errorf("event %s, result %+v, review %+v, want %s", end, op.Result, op.Review, f.event)
	}
	if f.event != "parked" {
		if letters := s.deadLetters(); len(letters) != 0 {
			t.Errorf("%d dead letters", len(letters))
		}
		return
	}
	if e.Reason != op.Reason || e.Category != op.Category || !slices.Equal(e.Operations, []string{op.ID}) {
		t.Errorf("event %+v", e)
	}
	s.notice(e.ID, op.ID, op.Reason, op.Category)
}

// checkCost holds that every answered call is recorded with its tokens, also a useless one.
func (f failing) checkCost(t *testing.T, op control.Operation) {
	t.Helper()
	for i, a := range op.Attempts {
		answered := a.HTTPStatus == 200 && f.faults[min(i, len(f.faults)-1)] != "malformed" || i >= len(f.faults)
		if known := a.Tokens != nil && a.CostUSD != nil; known != (answered && !slices.Contains(f.faults, "nousage")) {
			t.Errorf("attempt %d has tokens %+v, cost %v", i+1, a.Tokens, a.CostUSD)
		}
		if a.Called == nil || !*a.Called || a.StartedAt == nil || a.EndedAt == nil || a.RequestDigest == "" {
			t.Errorf("attempt %+v", a)
		}
	}
}

// attemptsOf are the attempts that made a call, and the claims for them. On a busy machine a worker may
// give its lease up before the call, by its own clock: such an attempt is taken out.
func attemptsOf(op *control.Operation) (list []string, claims int) {
	claims = op.Claims
	op.Attempts = slices.DeleteFunc(op.Attempts, func(a control.Attempt) bool {
		given := a.Outcome == "lost" && a.Called == nil
		if given {
			claims--
		}
		return given
	})
	for _, a := range op.Attempts {
		list = append(list, fmt.Sprintf("%s %s %d", a.Outcome, a.Category, a.HTTPStatus))
	}
	return list, claims
}

// A rate limit's Retry-After is kept to, however short our own backoff is: longer than a message is
// hidden, so that the event waits in the open index.
func TestARateLimitIsWaitedFor(t *testing.T) {
	each(t, local.Options{Speed: 100}, func(t *testing.T, s *system) {
		if err := s.Stub().Fail("429", 1); err != nil {
			t.Fatal(err)
		}
		id := s.accept(s.product(oldChair))
		for s.calls() == 0 {
			s.step()
		}
		op, e := s.object("product:794").Operations[0], s.event(id)
		if got, _ := attemptsOf(&op); len(got) != 1 || op.Attempts[0].RetryAfterMS != 1000 || op.Attempts[0].RateLimits == "" {
			t.Fatalf("attempts %+v", op.Attempts)
		}
		if due := op.Attempts[0].EndedAt.Add(time.Second).Truncate(time.Millisecond); op.State != "pending" || op.DueAt.Before(due) || e.State != "received" || e.DueAt.Before(due) {
			t.Errorf("operation %s until %s, event %s until %s, the provider asked for %s", op.State, op.DueAt, e.State, e.DueAt, due)
		}
		s.rest()
		if e := s.event(id); e.Sends == 0 || s.calls() != 2 {
			t.Errorf("%d sends by the reconciler, %d calls", e.Sends, s.calls())
		}
	})
}

// A truncated output is asked for once more with a larger cap, and costs what both calls cost.
func TestATruncatedAnswerCostsBothCalls(t *testing.T) {
	each(t, local.Options{Speed: calm}, func(t *testing.T, s *system) {
		if err := s.Stub().Fail("empty", 1); err != nil { // uses the whole cap up
			t.Fatal(err)
		}
		s.accept(s.product(oldChair))
		s.rest()
		op := s.object("product:794").Operations[0]
		a := op.Attempts
		if len(a) != 2 || a[0].Tokens.Output != 1200 || a[0].RequestDigest == a[1].RequestDigest || op.CostUSD != *a[0].CostUSD+*a[1].CostUSD || *a[1].CostUSD == 0 {
			t.Errorf("attempts %+v, cost %s", a, op.CostUSD)
		}
	})
}

// Whatever passes by itself is tried within the limit; then the work is set aside with its reason, and
// put back it is done with a new budget: one result.
func TestScenario18RetriesExhausted(t *testing.T) {
	each(t, local.Options{Speed: 20}, func(t *testing.T, s *system) {
		if err := s.Stub().Fail("500", 5); err != nil {
			t.Fatal(err)
		}
		id := s.accept(s.product(oldChair))
		s.rest()
		op := s.object("product:794").Operations[0]
		const reason = "5 attempts used up; the last: the provider reports a fault of its own"
		if op.State != "failed" || op.Reason != reason || op.Category != "transient" || op.Claims != 5 || len(op.Attempts) != 5 || s.calls() != 5 {
			t.Errorf("%d calls, operation %+v", s.calls(), op)
		}
		if e := s.event(id); e.State != "parked" || e.Reason != reason || e.Category != "transient" || e.ExpiresAt != nil {
			t.Errorf("event %+v", e)
		}
		letter := s.notice(id, op.ID, reason, "transient")

		s.redrive(letter)
		s.rest()
		o := s.object("product:794")
		op = o.Operations[0]
		if op.State != "completed" || op.Claims != 1 || len(op.Attempts) != 6 || op.FencingToken != 6 || len(o.Results) != 1 || s.calls() != 6 {
			t.Errorf("%d calls, operation %+v, results %+v", s.calls(), op, o.Results)
		}
		if e := s.event(id); e.Outcome != "completed" || e.Generation != 1 {
			t.Errorf("event %+v", e)
		}
	})
}
