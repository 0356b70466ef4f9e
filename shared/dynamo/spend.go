package dynamo

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/spend"
)

const reservationPrefix = "r_"

// reservation is the attribute that says that an attempt was counted.
func reservation(a operation.AttemptID) string { return reservationPrefix + string(a) }

// Reserve sets aside the worst that an attempt's call may cost (W28). The day's sum of all workers never passes
// the limit by it: else it returns [spend.ErrUsedUp], and nothing is set aside. An attempt reserves once,
// however often it asks.
func (t *Table) Reserve(ctx context.Context, r spend.Reservation) error {
	given := item{":worst": num(r.Worst), ":limit": num(r.Limit), ":room": num(r.Limit - r.Worst)}
	s := reserve.expiring(given, r.Expires).naming("#res", reservation(r.Attempt))
	if r.Worst > r.Limit { // the first one of a day finds no sum to compare with
		return fmt.Errorf("reserve for recipe %s: %w", r.Recipe, spend.ErrUsedUp)
	}
	return counted("reserve for recipe "+r.Recipe, r.Attempt, t.change(ctx, s, dayKey(r.Scope, r.Recipe, r.Day), given))
}

// TakeMinute counts an attempt's call against the recipe's calls per minute. It returns [spend.ErrUsedUp] when
// as many are counted as the limit allows. An attempt counts once, however often it asks.
func (t *Table) TakeMinute(ctx context.Context, m spend.Minute) error {
	given := item{":one": num(1), ":limit": num(m.Limit)}
	s := takeMinute.expiring(given, m.Expires).naming("#res", reservation(m.Attempt))
	if m.Limit < 1 { // the first one of a minute finds no count to compare with
		return fmt.Errorf("count call of recipe %s: %w", m.Recipe, spend.ErrUsedUp)
	}
	return counted("count call of recipe "+m.Recipe, m.Attempt, t.change(ctx, s, minuteKey(m.Scope, m.Recipe, m.Minute), given))
}

// counted makes a refused condition success where the attempt was counted already, else [spend.ErrUsedUp],
// and wraps what is something else.
func counted(act string, a operation.AttemptID, err error) error {
	if err == nil {
		return nil
	}
	if refused, ok := errors.AsType[*refusal](err); ok {
		if refused.stored[reservation(a)] != nil {
			return nil
		}
		err = spend.ErrUsedUp
	}
	return fmt.Errorf("%s: %w", act, err)
}

// Correct replaces a reservation by what the call cost. When that is done already, or the day's item is gone,
// there is nothing to do, and it returns nil.
func (t *Table) Correct(ctx context.Context, c spend.Correction) error {
	given := item{":difference": num(c.Cost - c.Worst), ":paid": num(c.Cost)}
	err := t.change(ctx, correct.naming("#res", reservation(c.Attempt)), dayKey(c.Scope, c.Recipe, c.Day), given)
	if _, refused := errors.AsType[*refusal](err); err != nil && !refused {
		return fmt.Errorf("correct spend of recipe %s: %w", c.Recipe, err)
	}
	return nil
}

// Spent reads what a recipe, in all its versions, has spent and reserved on a day, consistently.
func (t *Table) Spent(ctx context.Context, s object.Scope, recipe, day string) (spend.Day, error) {
	it, err := t.read(ctx, dayKey(s, recipe, day))
	if err != nil {
		return spend.Day{}, fmt.Errorf("read spend of recipe %s: %w", recipe, err)
	}
	r := &reader{it: it}
	d := spend.Day{Day: day, Sum: operation.Money(r.number("sum"))}
	for name := range it {
		attempt, ok := strings.CutPrefix(name, reservationPrefix)
		if !ok {
			continue
		}
		if d.Reserved == nil {
			d.Reserved = map[operation.AttemptID]operation.Money{}
		}
		d.Reserved[operation.AttemptID(attempt)] = operation.Money(r.number(name))
	}
	if r.err != nil {
		return spend.Day{}, fmt.Errorf("read spend of recipe %s: %w", recipe, r.err)
	}
	return d, nil
}
