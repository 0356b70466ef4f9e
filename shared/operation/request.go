package operation

import (
	"fmt"
	"time"

	"engang/shared/inbox"
	"engang/shared/object"
)

// A RefusedError says that the store refused a write because the operation does not stand as the write
// demands, and how it stands. [JudgeClaim] and [JudgeFinish] say what that means.
type RefusedError struct {
	Stored Operation // without a state when the item was gone before it could be read
}

// Error says how the operation stands, without any of its content.
func (e *RefusedError) Error() string {
	if e.Stored.State == "" {
		return "refused: the operation is gone"
	}
	return fmt.Sprintf("refused: the operation is %s with fencing token %d", e.Stored.State, e.Stored.Token)
}

// An Exhaustion gives up an operation whose claims are used up while none of its attempts reported an end.
type Exhaustion struct {
	Key     Key
	WriteID string
	Now     time.Time
	Skew    time.Duration // the largest difference between two of our clocks
	Limit   int           // claims allowed in all
	Reason  string
}

// Past is the latest end of a lease that is over for certain, whoever's clock wrote it.
func (e Exhaustion) Past() time.Time { return e.Now.Add(-e.Skew) }

// A Raise makes a newer event the one that waits for an operation that failed, is in review or was
// rejected, so that what a person decides takes effect with the newest rank.
type Raise struct {
	Key    Key
	Seen   State // the state that the claim met; another one refuses
	Listed bool  // what failed is news: only while it stands in the review list, nobody has dismissed or cancelled it
	Rank   object.Rank
	Event  inbox.EventID

	// Of what failed and is news:
	Before    inbox.EventID // that waited for it, as the operation was seen
	Older     *inbox.Event  // that event, as it was read, where it is an older one; nil: it is not, or is not kept any more
	Now       time.Time
	ExpiresAt time.Time // of the older event, if it is settled
	Due       time.Time // of the older event, if it is worked on again
}

// A Raising says what a refused raise found (infra/protocol.md section 4, W10).
type Raising int

// The raisings.
const (
	MovedOn      Raising = iota // redriven or decided meanwhile: the event starts over
	DecidedSince                // a person dismissed or cancelled what the worker took for news
	KnownAlready                // an event at least as new waits for it; of what is news this very one
	NewerWaits                  // a newer event waits for what failed, and does this one's work
)

// JudgeRaise says what a refused raise means, from the stored operation.
func JudgeRaise(stored Operation, r Raise) Raising {
	switch {
	case stored.State != r.Seen:
		return MovedOn
	case r.Listed && stored.QueuedAt.IsZero():
		return DecidedSince
	case !r.Listed && r.Seen == Failed && !stored.QueuedAt.IsZero(): // redriven, and failed again
		return MovedOn
	case r.Rank.Newer(stored.Rank):
		return MovedOn
	case r.Listed && stored.Event != r.Event:
		return NewerWaits
	}
	return KnownAlready
}

// A Redrive opens an operation again, with a new budget, and with it the event that waits for it. It
// names what the person saw; anything that happened since refuses it.
type Redrive struct {
	Key     Key
	Seen    State             // [Failed] or [Rejected]; a rejected one loses the refused output
	Token   int64             // fencing token that was seen
	Event   inbox.EventID     // that waits for the operation
	Recipes []inbox.RecipeRef // of that event, as it was looked at; nil: whatever they are
	WriteID string            // of the act: the same on every repeat
	Now     time.Time
	Due     time.Time // when the reconciler sends the event, if nobody else does
}

// A Losing is the recorded attempt of a worker that was fenced after its call: it has the cost that the
// lost attempt in the operation lacks.
type Losing struct {
	Key     Key
	Attempt Attempt
}
