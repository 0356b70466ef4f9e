package integration_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"engang/infra/local"
	"engang/shared/control"
	"engang/shared/dynamo/dynamotest/invariants"
)

// A failing is what a failure comes to. Attempts are "outcome category status", one for each call.
type failing struct {
	faults   []string // of the stub, in this order
	attempts []string
	state    string // of the operation
	event    string // how the event ended: parked, or the outcome of a settled one
	reason   string // of the operation, where it has one
	category string
	claims   int    // counted against the limit
	opens    bool   // the model's breaker
	review   string // what stands in the review list at the end: "operation", or nothing
}

// The rows of infra/design.md section 7 that a model can cause.
var failings = map[string]failing{
	// Transient: the same operation again, each try an attempt.
	"rate limit, with Retry-After":       {[]string{"429"}, []string{"transient transient 429", "usable  200"}, "completed", "completed", "", "", 2, false, ""},
	"server error":                       {[]string{"500"}, []string{"transient transient 500", "usable  200"}, "completed", "completed", "", "", 2, false, ""},
	"throttling, since it is overloaded": {[]string{"503"}, []string{"transient transient 503", "usable  200"}, "completed", "completed", "", "", 2, false, ""},
	"time-out at the provider's front":   {[]string{"timeout"}, []string{"transient transient 504", "usable  200"}, "completed", "completed", "", "", 2, false, ""},
	"no answer within the deadline":      {[]string{"hang"}, []string{"transient transient 0", "usable  200"}, "completed", "completed", "", "", 2, false, ""},
	// The wire holds an answer back until all of it is there: deployed, its status is known.
	"an answer not over at the deadline":   {[]string{"drip"}, []string{"transient transient 0", "usable  200"}, "completed", "completed", "", "", 2, false, ""},
	"connection reset":                     {[]string{"reset"}, []string{"transient transient 0", "usable  200"}, "completed", "completed", "", "", 2, false, ""},
	"connection reset while it is read":    {[]string{"torn"}, []string{"transient transient 200", "usable  200"}, "completed", "completed", "", "", 2, false, ""},
	"answer that is no whole document":     {[]string{"malformed"}, []string{"transient transient 200", "usable  200"}, "completed", "completed", "", "", 2, false, ""},
	"several of them":                      {[]string{"500", "429", "timeout"}, []string{"transient transient 500", "transient transient 429", "transient transient 504", "usable  200"}, "completed", "completed", "", "", 4, false, ""},
	"more of them than there are attempts": {[]string{"500", "503", "reset", "torn", "429"}, []string{"transient transient 500", "transient transient 503", "transient transient 0", "transient transient 200", "transient transient 429"}, "failed", "parked", "5 attempts used up; the last: the provider's rate limit is reached", "transient", 5, false, "operation"},

	// Provider paused: the attempt is given back, the event waits in the open index, a probe closes the breaker.
	"quota used up":                {[]string{"quota"}, []string{"paused provider paused 429", "usable  200"}, "completed", "completed", "", "", 1, true, ""},
	"invalid key":                  {[]string{"key"}, []string{"paused provider paused 401", "usable  200"}, "completed", "completed", "", "", 1, true, ""},
	"unknown or retired model":     {[]string{"model"}, []string{"paused provider paused 404", "usable  200"}, "completed", "completed", "", "", 1, true, ""},
	"wrong region of residency":    {[]string{"region"}, []string{"paused provider paused 401", "usable  200"}, "completed", "completed", "", "", 1, true, ""},
	"a schema that it refuses":     {[]string{"form"}, []string{"paused configuration 400", "usable  200"}, "completed", "completed", "", "", 1, true, ""},
	"paused after a passing fault": {[]string{"500", "key"}, []string{"transient transient 500", "paused provider paused 401", "usable  200"}, "completed", "completed", "", "", 2, true, ""},

	// Unusable output: failed at once, except a truncated one, which has one more try.
	"refusal":                         {[]string{"refusal"}, []string{"unusable unusable output 200"}, "failed", "parked", "refusal", "unusable output", 1, false, "operation"},
	"content filter":                  {[]string{"filter"}, []string{"unusable unusable output 200"}, "failed", "parked", "the provider's content filter stopped the output", "unusable output", 1, false, "operation"},
	"not the schema":                  {[]string{"schema"}, []string{"unusable unusable output 200"}, "failed", "parked", "the output does not fit the schema", "unusable output", 1, false, "operation"},
	"an answer without end":           {[]string{"endless"}, []string{"unusable unusable output 200"}, "failed", "parked", "the answer is larger than what is read", "unusable output", 1, false, "operation"},
	"truncated once":                  {[]string{"length"}, []string{"truncated unusable output 200", "usable  200"}, "completed", "completed", "", "", 2, false, ""},
	"truncated twice":                 {[]string{"length", "length"}, []string{"truncated unusable output 200", "truncated unusable output 200"}, "failed", "parked", "cut off by the length limit twice", "unusable output", 2, false, "operation"},
	"only reasoning, until the limit": {[]string{"empty"}, []string{"truncated unusable output 200", "usable  200"}, "completed", "completed", "", "", 2, false, ""},

	// A check of ours: a draft, never published by itself, and nobody is told that something is wrong.
	"what was asked for is missing": {[]string{"missing"}, []string{"flagged  200"}, "review", "review", "/summary", "", 1, false, "operation"},
	"usage not reported":            {[]string{"nousage"}, []string{"usable  200"}, "completed", "completed", "", "", 1, false, ""},
}

// whyPaused is what a breaker must say, by the fault that opened it: a person mends each in another place.
var whyPaused = map[string]string{"quota": "quota or budget", "key": "does not accept the API key", "model": "does not know the model", "region": "does not serve this region", "form": "refuses the form"}

func TestScenario17ModelFailures(t *testing.T) {
	eachCase(t, failings, func(f failing) local.Options {
		if f.opens {
			return local.Options{Speed: 60} // the pause lasts five seconds
		}
		return local.Options{Speed: 20}
	}, testFailing)
}

func testFailing(t *testing.T, s *system, f failing) {
	for _, kind := range f.faults {
		s.fails(kind, 1)
	}
	id := s.accept(s.product(oldChair))
	f.checkHeld(t, s, id)
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
	if s.calls() != len(f.attempts) {
		t.Errorf("%d calls, want %d", s.calls(), len(f.attempts))
	}
	f.checkEnd(t, s, e, op)
	f.checkCost(t, op)
}

// checkHeld works until the breaker opens, if it is to, and holds what waits then: nothing is claimed, no attempt is
// counted, no message is left whose receive count would grow, and the event is in the open index. A probe closes it.
func (f failing) checkHeld(t *testing.T, s *system, id string) {
	t.Helper()
	for s.calls() < len(f.faults) && s.breaker()["st"] == "" {
		if s.step() == 0 {
			time.Sleep(10 * time.Millisecond)
		}
	}
	b := s.breaker()
	if got := b["st"] == "open"; got != f.opens {
		t.Fatalf("the breaker is %q after %d calls, opens: %v", b["st"], s.calls(), f.opens)
	}
	if !f.opens {
		return
	}
	if why := whyPaused[f.faults[s.calls()-1]]; why == "" || !strings.Contains(b["why"], why) {
		t.Errorf("the breaker says %q, want %q", b["why"], why)
	}
	op, e := s.object("product:794").Operations[0], s.event(id)
	if _, claims := attemptsOf(&op); op.State != "pending" || claims != f.claims-1 || e.State != "received" || e.DueAt == nil || e.DueAt.Before(time.Now()) || s.step() != 0 {
		t.Errorf("operation %s with %d claims, event %s until %v, or a message is left", op.State, claims, e.State, e.DueAt)
	}
	s.settle()
	if st := s.breaker()["st"]; st != "closed" || s.event(id).Sends == 0 {
		t.Errorf("the breaker is %s when all is done, the event was sent %d times by the reconciler", st, s.event(id).Sends)
	}
}

// breaker is the only breaker there is; empty where there is none.
func (s *system) breaker() invariants.Item {
	s.t.Helper()
	for _, i := range s.items() {
		if i["sk"] == "BREAKER" {
			return i
		}
	}
	return nil
}

// inReview names what stands in the review list: "operation", "event", or both.
func (s *system) inReview() string {
	s.t.Helper()
	var all []string
	for _, i := range s.items() {
		if i["oq"] == "review" {
			kind := "event"
			if strings.HasPrefix(i["sk"], "O#") {
				kind = "operation"
			}
			all = append(all, kind)
		}
	}
	return strings.Join(all, ", ")
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
	if got := s.inReview(); got != f.review {
		t.Errorf("in review stands %q, want %q", got, f.review)
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
		answered := i >= len(f.faults) || a.HTTPStatus == 200 && !slices.Contains([]string{"malformed", "torn", "drip", "endless"}, f.faults[i])
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
		s.fails("429", 1)
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
		s.fails("empty", 1) // uses the whole cap up
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
		s.fails("500", 5)
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
