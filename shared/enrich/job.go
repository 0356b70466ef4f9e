package enrich

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"engang/shared/config"
	"engang/shared/document"
	"engang/shared/inbox"
	"engang/shared/operation"
	"engang/shared/pause"
	"engang/shared/recipe"
	"engang/shared/recipe/compiled"
	"engang/shared/spend"
	"engang/shared/telemetry"
)

// claimRounds bounds how often a claim is repeated because the operation changed between the refusal
// and the look at it.
const claimRounds = 4

// A job is one recipe of one event.
type job struct {
	*Worker
	ev       inbox.Event
	recipe   recipe.Recipe
	compiled *compiled.Recipe
	common   config.Common
	doc      any // the payload
	input    recipe.Input
	key      operation.Key

	probes   map[pause.Model]operation.AttemptID // granted to this event's recipes, by who asked; no call was made yet
	probing  operation.AttemptID                 // whose probe the call of this job is
	closings *[]pause.Closing                    // breakers to close when the event is ended
	reserved *spend.Reservation                  // for the call under way
}

// document reads and decodes the event's body.
func (w *Worker) document(ctx context.Context, ev inbox.Event) (any, error) {
	raw, err := w.Bodies.Read(ctx, ev.Body)
	if err != nil {
		return nil, fmt.Errorf("read body of event %s: %w", ev.ID, err)
	}
	doc, err := document.Decode(raw)
	if err != nil {
		return nil, fmt.Errorf("decode body of event %s: %w", ev.ID, err)
	}
	return doc, nil
}

// run brings one recipe to its end for this event.
func (j *job) run(ctx context.Context) (ending, error) {
	input, err := j.compiled.Extract(j.doc)
	if bad, ok := errors.AsType[*recipe.InputError](err); ok {
		return ending{parked: true, reason: j.recipe.Ref().String() + ": " + bad.Reason, category: operation.CategoryInvalidInput}, nil
	}
	if err != nil {
		return ending{}, fmt.Errorf("extract input of event %s: %w", j.ev.ID, err)
	}
	j.input = input
	j.key = operation.Key{Scope: j.ev.Scope, Object: j.ev.Object, Recipe: j.recipe.Ref(), Digest: input.Digest}
	ctx = telemetry.About(ctx, slog.String("operation", j.key.Short()))
	for range claimRounds {
		e, again, err := j.attempt(ctx)
		if err != nil || !again {
			return e, err
		}
	}
	return ending{}, &Later{After: j.jitter(time.Second), Why: "the operation keeps changing"}
}

// attempt claims the operation once and follows what the claim finds. The bool asks for another claim.
func (j *job) attempt(ctx context.Context) (ending, bool, error) {
	attempt := operation.AttemptID("att_" + j.NewID())
	if err := j.admitted(ctx, attempt); err != nil {
		return ending{}, false, err
	}
	now := j.Now() // before the write is sent: the lease never ends later than we think
	claim := operation.Claim{
		Key: j.key, Attempt: attempt, WriteID: j.NewID(), Event: j.ev.ID, Rank: j.ev.Rank,
		Now: now, Until: now.Add(j.Limits.Lease), Skew: j.Limits.Skew, Limit: j.attempts(),
	}
	lease, err := j.Store.Claim(ctx, claim)
	refused, isRefused := errors.AsType[*operation.RefusedError](err)
	switch {
	case isRefused:
		return j.refusedClaim(ctx, claim, refused.Stored)
	case err != nil:
		return ending{}, false, fmt.Errorf("claim operation %s: %w", j.key, err)
	}
	e, err := j.leased(ctx, lease)
	return e, false, err
}

// refusedClaim goes by what the claim found (infra/protocol.md section 4, W3).
func (j *job) refusedClaim(ctx context.Context, c operation.Claim, stored operation.Operation) (ending, bool, error) {
	standing, until := operation.JudgeClaim(stored, c)
	var e ending
	var err error
	switch standing {
	case operation.Busy:
		return ending{}, false, &Later{After: max(until.Sub(j.Now()), 0) + j.jitter(time.Second), Why: "another attempt holds the lease"}
	case operation.BackingOff:
		return ending{}, false, j.wait(until, "not before its time")
	case operation.UsedUp:
		return j.exhaust(ctx, stored)
	case operation.Done:
		e, err = j.publish(ctx, stored.Output, stored.Digest)
	case operation.Broken:
		e, err = j.failedBefore(ctx, stored)
	case operation.WaitsForPerson:
		e, err = j.waiting(ctx, stored.State)
	case operation.Overtaken:
		e, err = j.overtaken(ctx)
	default: // Again; Own is answered by the store itself
		return ending{}, true, nil
	}
	return e, false, err
}

// leased works under a lease: the result may show that nothing is to be done, else the one call is made.
func (j *job) leased(ctx context.Context, lease operation.Lease) (ending, error) {
	j.measureTaken(ctx, lease)
	result, found, err := j.Store.Result(ctx, j.key.Scope, j.key.Object, j.key.Recipe)
	if err != nil {
		return ending{}, fmt.Errorf("read result of %s: %w", j.key, err)
	}
	newer, err := j.newer(ctx)
	if err != nil {
		return ending{}, err
	}
	switch {
	case found && result.Rank.Newer(j.ev.Rank):
		return j.superseded(ctx, lease)
	case newer != "":
		return j.coalesced(ctx, lease, newer)
	case found && result.Operation == j.key: // our operation's item had been cleaned up
		return j.complete(ctx, lease, operation.Attempt{Outcome: operation.Usable, Reason: "the output was kept in the result"}, result.Output)
	case !found && operation.Outlived(lease.Before.Attempts, j.ev.ReceivedAt, j.Now(), j.resultLife()):
		why := fmt.Sprintf("older than the %d days that results are kept: a newer version may have had its result since; save the object once more in its source and redrive this after it, or dismiss it", j.common.ResultDays)
		return j.fail(ctx, lease, operation.Attempt{Outcome: operation.Stopped, Category: operation.CategoryInvalidInput, Reason: why}, why, operation.CategoryInvalidInput)
	case len(lease.Before.Output) > 0: // a draft that was set aside, or cancelled and redriven: it is paid for
		return j.hold(ctx, lease, operation.Attempt{Outcome: operation.Usable, Reason: "the draft was kept"}, lease.Before.Output, j.flaws(lease.Before.Output, j.compiled.Check(lease.Before.Output, j.input).Flags, j.spent(lease, 0)))
	}
	if err := j.inTime(ctx, lease); err != nil {
		return ending{}, err
	}
	if stopped, e, err := j.limited(ctx, lease); stopped {
		return e, err
	}
	if err := j.inTime(ctx, lease); err != nil { // keeping to the limits may have taken long
		j.accounted(ctx, operation.Attempt{})
		return ending{}, err
	}
	j.probed()
	answer := j.call(ctx, lease)
	e, err := j.answered(ctx, lease, answer)
	j.accounted(ctx, answer.Attempt)
	return e, err
}

// inTime tells whether a call and its finish fit into what is left of the lease and of the function's time. Giving
// up by the own clock is allowed; the lease runs out by itself.
func (j *job) inTime(ctx context.Context, lease operation.Lease) error {
	if lease.Until.Sub(j.Now()) >= j.Limits.Call+j.Limits.Finish && j.room(ctx) {
		return nil
	}
	return &Later{After: max(lease.Until.Add(j.Limits.Skew).Sub(j.Now()), 0), Why: "no room for a call in what is left of the lease"}
}

// attempts is how many claims the operation may have: the recipe's own limit, else the function's.
func (j *job) attempts() int {
	if n := j.recipe.Limits.Attempts; n > 0 {
		return n
	}
	return j.Limits.Attempts
}

// call makes the one model call of an attempt.
func (j *job) call(ctx context.Context, lease operation.Lease) operation.Answer {
	provider := j.common.Providers[j.recipe.Model.Provider]
	prompt := j.compiled.Prompt(j.input)
	prompt.MaxOutputTokens = j.cap(lease)
	limit := j.Limits.Call
	if own := time.Duration(j.recipe.Model.Options.TimeoutSeconds) * time.Second; own > 0 {
		limit = min(limit, own)
	}
	callCtx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if n := j.input.Masked; n > 0 {
		j.Log.InfoContext(ctx, "personal data masked", "recipe", j.recipe.Ref().String(), "pieces", n)
	}
	answer := j.Model.Call(callCtx, provider, prompt)
	price := provider.Prices[j.recipe.Model.Name].For(answer.ServiceTier)
	if answer.Tokens != nil {
		answer.CostUSD, answer.PriceAsOf = price.Cost(*answer.Tokens), price.AsOf
	}
	answer.EndedAt = j.Now()
	return answer
}

func truncatedBefore(attempts []operation.Attempt) bool {
	for _, a := range attempts {
		if a.Outcome == operation.Truncated {
			return true
		}
	}
	return false
}

// answered goes by the outcome of the call.
func (j *job) answered(ctx context.Context, lease operation.Lease, answer operation.Answer) (ending, error) {
	a := answer.Attempt
	if a.Outcome != operation.Paused && a.Outcome != operation.Transient {
		j.served()
	}
	switch a.Outcome {
	case operation.Usable:
		return j.checked(ctx, lease, a, answer.Output)
	case operation.Transient:
		a.BackoffMax = j.backoffBound(lease.Claims)
		a.Backoff = max(j.jitter(a.BackoffMax), a.RetryAfter)
		return j.again(ctx, lease, a, a.Backoff)
	case operation.Truncated:
		if truncatedBefore(lease.Before.Attempts) {
			return j.fail(ctx, lease, a, "cut off by the length limit twice", operation.CategoryUnusableOutput)
		}
		return j.again(ctx, lease, a, 0)
	case operation.Paused:
		return j.pause(ctx, lease, a)
	}
	return j.fail(ctx, lease, a, a.Reason, a.Category)
}

// checked holds a usable answer against the recipe.
func (j *job) checked(ctx context.Context, lease operation.Lease, a operation.Attempt, output []byte) (ending, error) {
	found := j.compiled.Check(output, j.input)
	switch {
	case found.Unusable != "":
		a.Outcome, a.Category, a.Reason = operation.Unusable, operation.CategoryUnusableOutput, found.Unusable
		return j.fail(ctx, lease, a, found.Unusable, operation.CategoryUnusableOutput)
	case len(found.Flags) > 0:
		a.Outcome, a.Reason = operation.Flagged, joined(found.Flags)
	}
	spent := j.spent(lease, 0) + a.CostUSD
	flagged := len(found.Flags) > 0 || j.recipe.Policy == recipe.PolicyReviewOnFlag && len(j.compiled.Flags(output, spent)) > 0
	if flagged || j.recipe.Policy != recipe.PolicyAuto && j.recipe.Policy != recipe.PolicyReviewOnFlag {
		return j.hold(ctx, lease, a, output, j.flaws(output, found.Flags, spent))
	}
	return j.complete(ctx, lease, a, output)
}

// flaws says why an output is a draft: the checks that it did not pass, else the policy and the flags that it raises.
func (j *job) flaws(output []byte, failed []string, spent operation.Money) string {
	if len(failed) > 0 {
		return joined(failed)
	}
	raised := j.compiled.Flags(output, spent)
	if j.recipe.Policy == recipe.PolicyReviewOnFlag && len(raised) > 0 {
		return joined(raised)
	}
	return joined(append([]string{"policy draft"}, raised...))
}

// backoffBound is what the random wait after a passing failure stays below: it doubles with each claim.
func (j *job) backoffBound(claims int) time.Duration {
	bound := j.Limits.BackoffBase
	for i := 1; i < claims && bound < j.Limits.BackoffMax; i++ {
		bound *= 2
	}
	return min(bound, j.Limits.BackoffMax)
}
