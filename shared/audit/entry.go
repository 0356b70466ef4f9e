// Package audit is the domain of what persons did: every act on stored work, and every look at content,
// leaves one entry that is never changed.
package audit

import (
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
