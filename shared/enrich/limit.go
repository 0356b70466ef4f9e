package enrich

import (
	"context"
	"errors"
	"fmt"
	"time"

	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/spend"
)

// Spending keeps recipes to their limits across all workers.
type Spending interface {
	Reserve(ctx context.Context, r spend.Reservation) error
	Correct(ctx context.Context, c spend.Correction) error
	TakeMinute(ctx context.Context, m spend.Minute) error
	Spent(ctx context.Context, scope object.Scope, recipe, day string) (spend.Day, error)
}

// kept is how long a day's or a minute's item stays after its end.
const kept = 40 * 24 * time.Hour

// limited holds a call that is about to be made against the recipe's limits, and ends the attempt where they do
// not allow it. Nothing was sent then: one event's limit fails the operation, a used-up minute or day gives the
// attempt back, and the event waits for the next one.
func (j *job) limited(ctx context.Context, lease operation.Lease) (stopped bool, e ending, err error) {
	if _, priced := j.common.Providers[j.recipe.Model.Provider].Prices[j.recipe.Model.Name]; !priced {
		return true, ending{}, j.unpriced(ctx, lease)
	}
	l := j.recipe.Limits
	worst := j.worst(lease)
	if spent := j.spent(lease, worst); l.USDPerEvent > 0 && spent+worst > l.USDPerEvent {
		a := operation.Attempt{Outcome: operation.Stopped, Category: operation.CategorySpendLimit,
			Reason: fmt.Sprintf("the next call may cost up to $%s, and $%s of the $%s for one event is spent", worst, spent, l.USDPerEvent)}
		e, err = j.fail(ctx, lease, a, a.Reason, a.Category)
		return true, e, err
	}
	if l.USDPerDay > 0 && worst > l.USDPerDay { // no day would ever have room for it
		a := operation.Attempt{Outcome: operation.Stopped, Category: operation.CategorySpendLimit,
			Reason: fmt.Sprintf("the next call may cost up to $%s, more than the $%s for a whole day", worst, l.USDPerDay)}
		e, err = j.fail(ctx, lease, a, a.Reason, a.Category)
		return true, e, err
	}
	now := j.Now()
	if most := l.CallsAMinute(); most > 0 {
		m := spend.Minute{Scope: j.key.Scope, Recipe: j.recipe.Name, Minute: spend.MinuteOf(now), Attempt: lease.Attempt, Limit: most, Expires: now.Add(time.Hour)}
		err := j.persist(ctx, func(ctx context.Context) error { return j.Store.TakeMinute(ctx, m) })
		if err != nil {
			return true, ending{}, j.usedUp(ctx, lease, err, held{spend.NextMinute(now).Add(j.jitter(time.Minute)), fmt.Sprintf("the recipe's %d calls a minute are used up", most)})
		}
	}
	if l.USDPerDay > 0 {
		r := spend.Reservation{Scope: j.key.Scope, Recipe: j.recipe.Name, Day: spend.DayOf(now), Attempt: lease.Attempt, Worst: worst, Limit: l.USDPerDay, Expires: now.Add(kept)}
		err := j.persist(ctx, func(ctx context.Context) error { return j.Store.Reserve(ctx, r) })
		if err != nil {
			return true, ending{}, j.usedUp(ctx, lease, err, j.untilAffordable(ctx, r, now))
		}
		j.reserved = &r
	}
	return false, ending{}, nil
}

// A held is until when work is held, and why.
type held struct {
	until time.Time
	why   string
}

// untilAffordable is when a refused reservation is worth another try: the next day, but soon where the day is only
// full of what calls under way have set aside, since most of it comes back.
func (j *job) untilAffordable(ctx context.Context, r spend.Reservation, now time.Time) held {
	h := held{spend.NextDay(now).Add(j.jitter(10 * time.Minute)), fmt.Sprintf("the recipe's $%s a day are used up", r.Limit)}
	day, err := j.Store.Spent(ctx, r.Scope, r.Recipe, r.Day)
	if err != nil {
		j.Log.WarnContext(ctx, "day not read", "recipe", j.recipe.Ref().String(), "err", err)
		return h
	}
	paid := day.Sum
	for _, aside := range day.Reserved {
		paid -= aside
	}
	if soon := now.Add(j.Limits.Pause); paid+r.Worst <= r.Limit && soon.Before(h.until) {
		return held{soon, fmt.Sprintf("what is left of the recipe's $%s a day is set aside for calls under way", r.Limit)}
	}
	return h
}

// usedUp gives the attempt back (W24) where a limit is used up.
func (j *job) usedUp(ctx context.Context, lease operation.Lease, err error, h held) error {
	if !errors.Is(err, spend.ErrUsedUp) {
		return fmt.Errorf("keep to the limits of %s: %w", j.recipe.Ref(), err)
	}
	a := operation.Attempt{Outcome: operation.Stopped, Category: operation.CategorySpendLimit, Reason: h.why}
	if err := j.finish(ctx, j.Store.Pause, operation.Pending, operation.Finish{Lease: lease, NotBefore: h.until}, a); err != nil {
		return err
	}
	j.Log.WarnContext(ctx, "recipe's limit is used up", "recipe", j.recipe.Ref().String(), "reason", h.why, "until", h.until)
	return &heldError{h.until, h.why}
}

// unpriced gives the attempt back (W24) where nobody has said what the model costs: no limit could be kept, and no
// cost recorded. What is applied has prices; an event may wait for a recipe of former days whose model lost its own.
func (j *job) unpriced(ctx context.Context, lease operation.Lease) error {
	h := heldError{j.Now().Add(j.Limits.Pause), "the recipe's model has no price"}
	a := operation.Attempt{Outcome: operation.Stopped, Category: operation.CategoryConfiguration, Reason: h.why}
	if err := j.finish(ctx, j.Store.Pause, operation.Pending, operation.Finish{Lease: lease, NotBefore: j.Now()}, a); err != nil {
		return err
	}
	j.Log.ErrorContext(ctx, "event waits for a price", "recipe", j.recipe.Ref().String(), "model", j.model().String())
	return &h
}

// worst is the most that the next call can cost.
func (j *job) worst(lease operation.Lease) operation.Money {
	price := j.common.Providers[j.recipe.Model.Provider].Prices[j.recipe.Model.Name]
	return j.compiled.WorstCost(price, j.input, j.cap(lease))
}

// cap is how many tokens the answer may have: twice as many after one that was cut off.
func (j *job) cap(lease operation.Lease) int {
	tokens := j.recipe.Model.Options.MaxOutputTokens
	if truncatedBefore(lease.Before.Attempts) {
		tokens *= 2
	}
	return tokens
}

// spent is what the attempts of this budget cost: those since the operation was made or redriven. One that
// nobody recorded the end of may have cost the most that a call can.
func (j *job) spent(lease operation.Lease, worst operation.Money) (sum operation.Money) {
	log := lease.Log(operation.Attempt{})
	left := lease.Claims - 1
	for i := len(log) - 2; i >= 0 && left > 0; i-- {
		switch log[i].Outcome {
		case operation.Paused, operation.Stopped: // given back: not among the claims that count
			continue
		case operation.Lost:
			sum += worst
		default:
			sum += cost(log[i], worst)
		}
		left--
	}
	return sum
}

// cost is what a call cost, as far as it is known; else the most that it can have cost. What the provider
// refused, or never got, costs nothing; of a fault of its own nobody knows.
func cost(a operation.Attempt, worst operation.Money) operation.Money {
	switch {
	case a.Tokens != nil:
		return a.CostUSD
	case !a.Called, a.HTTPStatus >= 400 && a.HTTPStatus < 500:
		return 0
	}
	return worst
}

// accounted replaces what was set aside for the call by what it cost. If that fails, the day's sum stays too high
// until the day is over, never too low.
func (j *job) accounted(ctx context.Context, a operation.Attempt) {
	r := j.reserved
	if r == nil {
		return
	}
	j.reserved = nil
	paid := cost(a, r.Worst)
	if paid == r.Worst {
		return
	}
	c := spend.Correction{Scope: r.Scope, Recipe: r.Recipe, Day: r.Day, Attempt: r.Attempt, Worst: r.Worst, Cost: paid}
	if err := j.Store.Correct(ctx, c); err != nil {
		j.Log.WarnContext(ctx, "reservation stays until the day is over", "recipe", j.recipe.Ref().String(), "attempt", r.Attempt, "err", err)
	}
}
