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
func Outlived(log []Attempt, received, now time.Time, kept time.Duration) bool {
	var newest time.Time
	if !received.IsZero() {
		newest = received.Add(-lateness)
	}
	for _, a := range log {
		if a.Called && a.StartedAt.After(newest) {
			newest = a.StartedAt
		}
	}
	return !newest.IsZero() && !now.Before(newest.Add(kept-looksBefore))
}
