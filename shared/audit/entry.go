// Package audit is the domain of what persons did: every act on stored work, and every look at content,
// leaves one entry that is never changed.
package audit

import (
	"errors"
	"time"

	"engang/shared/object"
)

// An Entry says who did what to which thing, when and why. It holds no payload and no output.
type Entry struct {
	Scope     object.Scope `json:"scope"`
	At        time.Time    `json:"at"`
	ID        string       `json:"id"` // unique; the same on every repeat of one act
	By        string       `json:"by"` // identity of the person, or of what acts for one
	Act       string       `json:"act"`
	Target    string       `json:"target"`
	Reason    string       `json:"reason,omitempty"`
	ExpiresAt time.Time    `json:"expires_at,omitzero"` // zero: kept without end
}

// ErrOther says that another act is recorded under the time and the id of this one.
var ErrOther = errors.New("another act is recorded there")

// Same tells whether two entries say the same: who did what to which thing, when and why. How long they are kept is
// not of it.
func (e Entry) Same(other Entry) bool { return e.said() == other.said() }

// said is what an entry says, with its time as it is kept.
func (e Entry) said() Entry {
	e.At, e.ExpiresAt = e.At.UTC().Truncate(time.Millisecond), time.Time{}
	return e
}
