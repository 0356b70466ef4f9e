package operation

import (
	"errors"
	"time"
)

// ErrOutlived says that a draft is older than results are kept: a newer version may have had its result since, which
// is not kept any more.
var ErrOutlived = errors.New("it is older than results are kept")

const (
	// lateness is how long after a newer version a delivery of an older one is expected to come at most. Senders that
	// repeat give up within days.
	lateness = 30 * 24 * time.Hour

	// looksBefore covers the time between a look at the result and the start of its attempt by another clock.
	looksBefore = time.Hour
)

// Outlived tells whether a newer version may have had its result, and lost it to its age, since an operation was last
// known to be the newest. A missing result says nothing then. The operation was looked at together with the result
// before each of its calls; received is when the event came that it stands for, zero where that is not known; kept is
// how long results live. An attempt of which nobody recorded the end does not count: it is not known to have looked.
//
// What was never called is as old as its event. What was called is as old as its last call, or as the event of the
// same content that came after it, less the time that senders are late by, or half of that in which results live.
func Outlived(log []Attempt, received, now time.Time, kept time.Duration) bool {
	var called time.Time
	for _, a := range log {
		if a.Called && a.StartedAt.After(called) {
			called = a.StartedAt
		}
	}
	newest := received
	if !called.IsZero() {
		newest = called
		if again := received.Add(-min(lateness, kept/2)); !received.IsZero() && again.After(called) {
			newest = again
		}
	}
	return !newest.IsZero() && !now.Before(newest.Add(kept-min(looksBefore, kept/2)))
}
