package inbox

import (
	"time"

	"engang/shared/object"
)

// A Head names the newest stored event of an object that a recipe with a quiet period waits for (W21). It is
// written after the event and before its message, and only ever by a newer one: an event that finds a newer
// head is coalesced, since the newer one does its work.
type Head struct {
	Scope     object.Scope
	Object    object.ID
	Recipe    string // whatever its version
	Rank      object.Rank
	Event     EventID
	ExpiresAt time.Time
}

// A Dismissal takes a parked event, or a conflict of an event, off the review list (W27). An event that was
// parked with its operation does not stand there itself: it goes when that one is dismissed, so that it can
// leave the table too.
type Dismissal struct {
	Event     EventID
	Conflict  string // digest of the other fact; empty: the event itself
	By        string
	Note      string
	Now       time.Time
	ExpiresAt time.Time

	Generation int // of the event, as it was seen: one that was opened since is not what was looked at
}
