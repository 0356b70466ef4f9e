// Package spend is the domain of keeping to a recipe's limits before money is spent: dollars a day and
// calls a minute, across all workers.
//
// Before a call its worst cost is reserved in the day's item; after it the reservation is replaced by what
// the call cost. A worker that dies between leaves its reservation standing until the day is over: the limit
// may then be reached early, never late. A day and a minute are those of UTC.
package spend

import (
	"errors"
	"time"

	"engang/shared/object"
	"engang/shared/operation"
)

// ErrUsedUp says that a limit does not allow the call now.
var ErrUsedUp = errors.New("the limit is used up")

// A Reservation sets aside the worst that a call may cost (W28). It is granted while the day's sum with it
// stays within the limit; the same attempt asks once, however often it repeats.
type Reservation struct {
	Scope   object.Scope
	Recipe  string // all versions of a recipe share a day
	Day     string
	Attempt operation.AttemptID
	Worst   operation.Money
	Limit   operation.Money
	Expires time.Time // when the day's item can go
}

// A Correction replaces a reservation by what the call cost. Repeating it changes nothing.
type Correction struct {
	Scope   object.Scope
	Recipe  string
	Day     string
	Attempt operation.AttemptID
	Worst   operation.Money // as it was reserved
	Cost    operation.Money
}

// A Minute counts one call against a recipe's calls per minute.
type Minute struct {
	Scope   object.Scope
	Recipe  string
	Minute  string
	Attempt operation.AttemptID
	Limit   int
	Expires time.Time
}

// A Day is what is known of a recipe's day.
type Day struct {
	Day      string
	Sum      operation.Money                         // spent and reserved
	Reserved map[operation.AttemptID]operation.Money // of it, by attempts that have not reported
}

// DayOf names a moment's day.
func DayOf(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// NextDay is when the day after a moment begins.
func NextDay(t time.Time) time.Time { return t.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1) }

// MinuteOf names a moment's minute.
func MinuteOf(t time.Time) string { return t.UTC().Format("2006-01-02T15:04") }

// NextMinute is when the minute after a moment begins.
func NextMinute(t time.Time) time.Time { return t.UTC().Truncate(time.Minute).Add(time.Minute) }
