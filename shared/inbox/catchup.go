package inbox

import (
	"strconv"
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

// A Search asks a source which of its objects have changed. They come the longest unchanged first, those of one
// second in an order that does not change.
type Search struct {
	Kind  string    // of the objects: "product"
	After time.Time // last changed later than this second
	Skip  int       // objects passed over
	Size  int       // at most so many
}

// A Finding is an object as its source gives it.
type Finding struct {
	ChangedAt time.Time // as the source says, in whole seconds
	Body      []byte    // the bytes that the source would have delivered
}

// Findings are one page of a source's answer.
type Findings struct {
	Objects []Finding
	More    bool      // there are objects behind this page
	Now     time.Time // what the source takes for the time; zero: it does not say
}

// A SourceError says that a source did not answer as it should. It repeats nothing that the source wrote.
type SourceError struct {
	Reason     string        // ours
	Status     int           // of HTTP; zero: there was no answer
	RetryAfter time.Duration // for so long the source wants to be left alone; zero: it does not say
	TooMuch    bool          // the page is larger, or takes longer, than we wait for: a smaller one may do
}

// Error says what the source did.
func (e *SourceError) Error() string {
	if e.Status == 0 {
		return "the source " + e.Reason
	}
	return "the source answered " + strconv.Itoa(e.Status) + ": it " + e.Reason
}

// A Fetched object came from its source on our own question, since its delivery may have been lost.
type Fetched struct {
	Endpoint string
	Type     string    // as the source would have reported it: "product.updated"
	Body     []byte    // the bytes that it would have delivered
	At       time.Time // before the question
}
