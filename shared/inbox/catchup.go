package inbox

import (
	"time"

	"engang/shared/object"
)

// A CatchUp is how far an endpoint's source was asked for what it failed to deliver. Its zero value: never yet.
type CatchUp struct {
	Since    time.Time // what changed before was asked for
	Cursor   string    // where a look that was begun goes on; empty: none was begun
	Due      time.Time // when somebody looks next; while one looks, when another may take over
	Revision int       // raised by each move; zero: nothing is stored
}

// A CatchUpMove puts another CatchUp in the place of the one that was read. It holds only while that one is
// stored, so that one of several who saw it goes on.
type CatchUpMove struct {
	Scope    object.Scope
	Endpoint string
	Seen     int     // revision that was read
	Next     CatchUp // its revision is Seen + 1, whatever stands there
	WriteID  string  // the same for all repeats
}
