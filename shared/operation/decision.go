package operation

import (
	"errors"
	"time"

	"engang/shared/inbox"
	"engang/shared/object"
)

// ErrNewerResult says that a draft cannot be approved because the object has a newer result.
var ErrNewerResult = errors.New("a newer version of the object has its result already")

// An Approval makes a draft that was looked at the result (W17). It holds only while the operation is in
// review with the digest and the rank that were looked at, and no newer result stands.
type Approval struct {
	Seen            Operation // as it was looked at: key, event, rank, output and digest are those of the result
	By              string
	Note            string // why
	WriteID         string // the same for all repeats
	Now             time.Time
	ExpiresAt       time.Time // of the operation
	ResultExpiresAt time.Time
}

// A Rejection refuses a draft that was looked at (W18). It holds only while the operation is in review with
// that digest.
type Rejection struct {
	Key     Key
	Digest  string
	By      string
	Note    string
	WriteID string
	Now     time.Time
}

// A SettingAside takes a draft off the review list because the object has a newer result (W19). It holds
// only while the operation is in review with that rank.
type SettingAside struct {
	Key       Key
	Rank      object.Rank
	WriteID   string
	ExpiresAt time.Time
}

// A Dismissal takes a failed operation off the review list (W27): nothing is to be done about it. Redriving it
// by name stays possible. It holds only for the failure that was looked at, and for the event that waited for it
// then, as that event stood: what came later nobody has seen.
type Dismissal struct {
	Key        Key
	Token      int64         // fencing token that was seen: a later failure has another
	Event      inbox.EventID // that waits for the operation, as it was seen
	EventGone  bool          // it is not kept any more, and nothing of it is compared
	Generation int           // of the event, as it was seen
	WithEvent  bool          // the event stands parked for this operation alone: it is dismissed too
	Beside     *Key          // another operation that needs the event, and must still need it; nil: none
	By         string
	Note       string
	WriteID    string
	Now        time.Time
	ExpiresAt  time.Time // of the operation

	EventExpiresAt time.Time
}

// Needs tells whether an operation still needs an event that is parked: it failed for it, and nobody has decided about
// that. What is in work does not: it was redriven for another event, which is open. A draft needs none: a decision about
// it is one about its output.
func (o Operation) Needs(event inbox.EventID) bool {
	return o.Event == event && o.State == Failed && !o.QueuedAt.IsZero()
}

// A Cancellation stops an operation that is not final. It holds only while the operation is pending, running
// or in review with the token that was seen. It raises the token: whoever works on it is fenced, and what somebody
// else saw before, or does again without knowing, is refused.
type Cancellation struct {
	Key       Key
	Token     int64
	By        string
	Note      string
	WriteID   string
	Now       time.Time
	ExpiresAt time.Time
}

// A Verdict says what a refused decision on a draft found (infra/protocol.md section 4, W17 and W18).
type Verdict int

// The verdicts.
const (
	DecidedByOther Verdict = iota // decided, set aside or cancelled by somebody: say by whom and when
	OwnDecision                   // our own decision, its answer was lost
	RankRaised                    // an echo raised the rank; the bytes are those looked at: decide again with that rank
	OtherDraft                    // another draft stands there, which needs its own decision
	StillThere                    // as it was looked at: what refused was not the operation
)

// JudgeDecision says what a refused decision means, from the stored operation: next is the state that the
// write would have left.
func JudgeDecision(stored, seen Operation, writeID string, next State) Verdict {
	switch {
	case stored.State == next && stored.WriteID == writeID:
		return OwnDecision
	case stored.State != Review:
		return DecidedByOther
	case stored.Digest != seen.Digest:
		return OtherDraft
	case stored.Rank != seen.Rank:
		return RankRaised
	}
	return StillThere
}

// A Waiting thing stands in the review list: a failed operation or a draft, a parked event, or a conflict of
// an event. One of Operation and Event is set.
type Waiting struct {
	Operation *Key
	Event     inbox.EventID
	Conflict  string // digest of the other fact; empty: the event itself is parked
	Since     time.Time
}
