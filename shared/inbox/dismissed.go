package inbox

import "time"

// A Dismissed says who took an event, or a conflict of one, off the review list, when and why.
type Dismissed struct {
	By   string
	At   time.Time
	Note string
}
