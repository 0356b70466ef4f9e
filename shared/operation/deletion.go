package operation

import (
	"engang/shared/inbox"
	"engang/shared/object"
)

// A Deletion removes what is kept of an object: operations, recorded attempts, results and heads. What belongs
// to an event that is kept stays, and so does what such an event takes over meanwhile.
type Deletion struct {
	Scope  object.Scope
	Object object.ID
	Keep   []inbox.EventID // newer work, which the deletion is not about
}

// Deleted counts what a [Deletion] did.
type Deleted struct {
	Items int // that are gone
	Kept  int // that belong to events that are kept
}
