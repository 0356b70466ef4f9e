package operation

import (
	"time"

	"engang/shared/object"
)

// A Deletion removes what is kept of an object: operations, recorded attempts, results and heads. What belongs
// to an event that was received later stays, and so does what such an event takes over meanwhile.
type Deletion struct {
	Scope  object.Scope
	Object object.ID
	Until  time.Time // what was received later is newer work, which the deletion is not about
}

// Deleted counts what a [Deletion] did.
type Deleted struct {
	Items   int // that are gone
	Stopped int // of these, operations that were not at their end
	Kept    int // that belong to events that were received later
}
