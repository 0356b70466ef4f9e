package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"engang/shared/dynamo"
	"engang/shared/dynamo/dynamotest"
	"engang/shared/operation"
	"engang/shared/spend"
)

const dollar = operation.Money(1_000_000_000_000)

// reservation sets aside 3 of 10 dollars.
func reservation(who int) spend.Reservation {
	return spend.Reservation{
		Scope: shop, Recipe: "product-card", Day: "2026-11-29", Attempt: attemptID(who), Worst: 3 * dollar, Limit: 10 * dollar, Expires: later(86400),
	}
}

// correction says that it cost one picodollar more than a dollar.
func correction(who int) spend.Correction {
	return spend.Correction{Scope: shop, Recipe: "product-card", Day: "2026-11-29", Attempt: attemptID(who), Worst: 3 * dollar, Cost: dollar + 1}
}

func minute(who int) spend.Minute {
	return spend.Minute{Scope: shop, Recipe: "product-card", Minute: "2026-11-29T12:00", Attempt: attemptID(who), Limit: 1, Expires: later(3600)}
}

func spentIs(t *testing.T, table *dynamo.Table, sum operation.Money, reserved map[operation.AttemptID]operation.Money) {
	t.Helper()
	got, err := table.Spent(t.Context(), shop, "product-card", "2026-11-29")
	must(t, err)
	same(t, "day", spend.Day{Day: "2026-11-29", Sum: sum, Reserved: reserved}, got)
}

func spendContracts() []contract {
	return []contract{reserveContract(), correctContract(), minuteContract()}
}

// reserving is a reservation that differs from the first one's.
func reserving(change func(*spend.Reservation)) func(context.Context, *dynamo.Table) error {
	return func(ctx context.Context, table *dynamo.Table) error {
		r := reservation(0)
		change(&r)
		return table.Reserve(ctx, r)
	}
}

func reserveContract() contract {
	return contract{
		name: "W28 reserve", call: "W28", other: is(spend.ErrUsedUp),
		before: func(t *testing.T, _ dynamotest.DB, table *dynamo.Table) {
			r := reservation(100)
			r.Worst = 7 * dollar
			must(t, table.Reserve(t.Context(), r))
		},
		write: func(ctx context.Context, table *dynamo.Table, who int) error {
			return table.Reserve(ctx, reservation(who))
		},
		effect: func(t *testing.T, table *dynamo.Table, who int) {
			spentIs(t, table, 10*dollar, map[operation.AttemptID]operation.Money{attemptID(100): 7 * dollar, attemptID(who): 3 * dollar})
		},
		refused: map[string]func(context.Context, *dynamo.Table) error{
			"a call that may cost a picodollar too much": reserving(func(r *spend.Reservation) { r.Worst++ }),
			"a limit that is a picodollar too low":       reserving(func(r *spend.Reservation) { r.Limit-- }),
			"a call that may cost more than a whole day": reserving(func(r *spend.Reservation) { r.Day, r.Worst = "2026-11-30", r.Limit+1 }),
		},
	}
}

func correctContract() contract {
	return contract{
		name: "correction of what was spent", call: "correct spend", all: true, other: done,
		before: func(t *testing.T, _ dynamotest.DB, table *dynamo.Table) {
			must(t, table.Reserve(t.Context(), reservation(1)))
			must(t, table.Reserve(t.Context(), reservation(2)))
		},
		write: func(ctx context.Context, table *dynamo.Table, _ int) error { return table.Correct(ctx, correction(1)) },
		effect: func(t *testing.T, table *dynamo.Table, _ int) {
			spentIs(t, table, 4*dollar+1, map[operation.AttemptID]operation.Money{attemptID(2): 3 * dollar})
		},
		refused: map[string]func(context.Context, *dynamo.Table) error{
			"an attempt that reserved nothing": func(ctx context.Context, table *dynamo.Table) error { return table.Correct(ctx, correction(3)) },
			"a day that is gone": func(ctx context.Context, table *dynamo.Table) error {
				c := correction(1)
				c.Day = "2026-10-29"
				return table.Correct(ctx, c)
			},
		},
	}
}

func minuteContract() contract {
	taking := func(change func(*spend.Minute)) func(context.Context, *dynamo.Table) error {
		return func(ctx context.Context, table *dynamo.Table) error {
			m := minute(0)
			change(&m)
			return table.TakeMinute(ctx, m)
		}
	}
	return contract{
		name: "call of a minute", call: "take minute", other: is(spend.ErrUsedUp),
		before: func(t *testing.T, _ dynamotest.DB, table *dynamo.Table) {
			must(t, table.TakeMinute(t.Context(), minute(100)))
		},
		write: func(ctx context.Context, table *dynamo.Table, who int) error {
			m := minute(who)
			m.Limit = 2
			return table.TakeMinute(ctx, m)
		},
		effect: func(t *testing.T, table *dynamo.Table, who int) {
			m := minute(who)
			m.Attempt, m.Limit = attemptID(101), 2
			if err := table.TakeMinute(t.Context(), m); !errors.Is(err, spend.ErrUsedUp) {
				t.Errorf("after two calls a third met %v", err)
			}
		},
		refused: map[string]func(context.Context, *dynamo.Table) error{
			"a limit that is reached":  taking(func(*spend.Minute) {}),
			"a limit of no calls":      taking(func(m *spend.Minute) { m.Minute, m.Limit = "2026-11-29T12:01", 0 }),
			"a limit that was lowered": taking(func(m *spend.Minute) { m.Limit = -1 }),
		},
	}
}

// Of many workers as many are granted as the limit has room for, and what calls did not cost is room again.
func TestManyWorkersKeepToTheLimit(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		var granted []int
		errs := dynamotest.AtOnce(func(i int) error { return table.Reserve(t.Context(), reservation(i)) })
		for i, err := range errs {
			switch {
			case err == nil:
				granted = append(granted, i)
			case !errors.Is(err, spend.ErrUsedUp):
				t.Fatal(err)
			}
		}
		if len(granted) != 3 {
			t.Fatalf("granted %v: 3 times 3 of 10 dollars", granted)
		}
		for _, err := range dynamotest.AtOnce(func(i int) error { return table.Correct(t.Context(), correction(granted[i%2])) }) {
			must(t, err)
		}
		spentIs(t, table, 5*dollar+2, map[operation.AttemptID]operation.Money{attemptID(granted[2]): 3 * dollar})
		must(t, table.Reserve(t.Context(), reservation(1000)))
		if err := table.Reserve(t.Context(), reservation(1001)); !errors.Is(err, spend.ErrUsedUp) {
			t.Errorf("over the limit: %v", err)
		}
	})
}

// A recipe's day is its own: no other recipe, day or scope uses it up.
func TestADayIsOneRecipes(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		for i, change := range []func(*spend.Reservation){
			func(*spend.Reservation) {}, func(r *spend.Reservation) { r.Recipe = "product" }, func(r *spend.Reservation) { r.Day = "2026-11-28" },
			func(r *spend.Reservation) { r.Scope.Environment = "production" },
		} {
			r := reservation(i)
			r.Worst = r.Limit
			change(&r)
			if err := table.Reserve(t.Context(), r); err != nil {
				t.Errorf("%+v: %v", r, err)
			}
		}
		spentIs(t, table, 10*dollar, map[operation.AttemptID]operation.Money{attemptID(0): 10 * dollar})
	})
}

// Sixty-four calls at once in a minute of twenty: twenty.
func TestAMinuteTakesAsManyCallsAsItsLimit(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(nil)
		taken := 0
		for _, err := range dynamotest.AtOnce(func(i int) error {
			m := minute(i)
			m.Limit = 20
			return table.TakeMinute(t.Context(), m)
		}) {
			switch {
			case err == nil:
				taken++
			case !errors.Is(err, spend.ErrUsedUp):
				t.Fatal(err)
			}
		}
		same(t, "calls", "20", fmt.Sprint(taken))
	})
}

// An attempt that asks again, because the answer was lost, counts once, though there is room for twice.
func TestAnAttemptCountsOnce(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		table := db.Open(&dynamotest.Fault{Applied: true, N: 2})
		must(t, table.Reserve(t.Context(), reservation(1)))
		m := minute(1)
		m.Limit = 2
		table = db.Open(&dynamotest.Fault{Applied: true, N: 2})
		must(t, table.TakeMinute(t.Context(), m))
		for range 3 {
			must(t, table.Reserve(t.Context(), reservation(1)))
			must(t, table.TakeMinute(t.Context(), m))
		}
		spentIs(t, table, 3*dollar, map[operation.AttemptID]operation.Money{attemptID(1): 3 * dollar})
		m.Attempt = attemptID(2)
		must(t, table.TakeMinute(t.Context(), m))
	})
}
