package control

import (
	"time"

	"engang/shared/operation"
)

// A Waiting is what waits for a person.
type Waiting struct {
	Kind          string    `json:"kind"` // "draft", "failed", "parked" or "conflict"
	ID            string    `json:"id"`   // of the operation or the event; of a conflict the event's and the digest
	Object        string    `json:"object,omitempty"`
	ObjectVersion string    `json:"object_version"`
	Recipe        string    `json:"recipe,omitempty"` // with its version; of an event all of them
	Reason        string    `json:"reason"`
	Category      string    `json:"category,omitempty"`
	AgeS          int64     `json:"age_s"` // seconds that it has waited
	OpenedAt      time.Time `json:"opened_at"`
	Owner         string    `json:"owner,omitempty"`  // group whose list it is on
	Digest        string    `json:"digest,omitempty"` // of the draft, of the event's fact, or of the other fact
	Event         string    `json:"event,omitempty"`  // that waits
	Seen          string    `json:"seen,omitempty"`   // says which failure this is, for a dismissal
}

// Decided is what a decision came to.
type Decided struct {
	Kind          string    `json:"kind"`     // "decision"
	ID            string    `json:"id"`       // of the operation, the event or the conflict
	Decision      string    `json:"decision"` // "approved", "rejected" or "dismissed"
	Already       bool      `json:"already"`  // it had been decided so before, by whom By says
	By            string    `json:"by"`
	At            time.Time `json:"at"`
	Note          string    `json:"note,omitempty"`
	Object        string    `json:"object,omitempty"`
	ObjectVersion string    `json:"object_version"`
	Recipe        string    `json:"recipe,omitempty"`
	Digest        string    `json:"digest,omitempty"` // of the draft

	writeID string // of the decision
}

// decidedOf makes the document of a decision on a draft.
func decidedOf(o operation.Operation, already bool) Decided {
	word := "approved"
	if o.State == operation.Rejected {
		word = "rejected"
	}
	return ruling(o, word, *o.Decision, already)
}

// dismissedOf makes the document of a dismissed operation.
func dismissedOf(o operation.Operation, already bool) Decided {
	return ruling(o, "dismissed", *o.Dismissed, already)
}

func ruling(o operation.Operation, word string, d operation.Decision, already bool) Decided {
	return Decided{
		Kind: "decision", ID: o.Key.String(), Decision: word, Already: already, By: d.By, At: d.At.UTC(), Note: d.Note,
		Object: o.Key.Object.String(), ObjectVersion: o.Rank.Version().String(), Recipe: o.Key.Recipe.String(), Digest: digest(o.Digest), writeID: o.WriteID,
	}
}
