// Package inbox is the domain of what senders report: deliveries, and the events they are about.
//
// An event is stored once, by one conditional put, before its delivery is acknowledged. It is open
// until it is settled or parked ([Lifecycle]). Every delivery of the same fact has the same event key
// and so the same [EventID]; what a delivery that meets a stored event means is decided by [Judge].
package inbox

import (
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"engang/shared/object"
)

// ErrNotFound says that the event is not stored, or not visible yet: a worker tries again and never drops it.
var ErrNotFound = errors.New("event not found")

// ErrStale says that a write was refused because the event was settled, parked or reopened meanwhile.
var ErrStale = errors.New("event changed meanwhile")

// ErrPart says that a part of a delivery that holds many events is none that can be known again: it
// lacks its type or its key.
var ErrPart = errors.New("a part without a usable event type or key")

// An EventID names an event for ever: "evt_" and 16 characters made from tenant, environment,
// endpoint and event key, so that the sender's own id finds the event without an index.
type EventID string

// NewEventID computes the id of the event with this key.
func NewEventID(scope object.Scope, endpoint, key string) EventID {
	h := sha256.New()
	for _, part := range []string{scope.Tenant, scope.Environment, endpoint, key} {
		h.Write([]byte(strconv.Itoa(len(part)) + ":" + part)) // lengths keep ("ab","c") and ("a","bc") apart
	}
	return EventID("evt_" + strings.ToLower(base32.StdEncoding.EncodeToString(h.Sum(nil))[:16]))
}

// IsEventID tells whether text has the shape of an event id.
func IsEventID(text string) bool {
	rest, ok := strings.CutPrefix(text, "evt_")
	return ok && len(rest) == 16 && strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// A RecipeRef names one immutable version of a recipe, written "product-card@3".
type RecipeRef struct {
	Name    string
	Version int
}

// String is "name@version".
func (r RecipeRef) String() string { return r.Name + "@" + strconv.Itoa(r.Version) }

// ParseRecipeRef reads "name@version".
func ParseRecipeRef(text string) (RecipeRef, error) {
	name, version, _ := strings.Cut(text, "@")
	n, err := strconv.Atoi(version)
	if name == "" || err != nil || n < 1 || strconv.Itoa(n) != version { // one spelling: refs are keys
		return RecipeRef{}, fmt.Errorf("recipe %q is not name@version", text)
	}
	return RecipeRef{Name: name, Version: n}, nil
}

// MarshalText makes a RecipeRef a plain string in JSON.
func (r RecipeRef) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads what [RecipeRef.MarshalText] wrote.
func (r *RecipeRef) UnmarshalText(text []byte) (err error) {
	*r, err = ParseRecipeRef(string(text))
	return err
}

// A Body is where the exact bytes of the first delivery are: packed beside the event when small, else
// under a key of the bucket, written before the event.
type Body struct {
	Packed []byte // compressed; empty when Key is set
	Key    string // of the bucket
	Bytes  int    // length before packing
}

// An Event is what is stored of a fact that a sender reported.
type Event struct {
	ID         EventID
	Scope      object.Scope
	Endpoint   string
	Provider   string
	Type       string    // the sender's own word: "product.updated"
	Object     object.ID // zero when the payload names none; then Reason says why
	ReceivedAt time.Time // of the first delivery, when it was stored
	DeliveryID string    // the sender's id of the first delivery: for search, never trusted
	SenderID   string    // the sender's id of the event: for search
	Digest     string    // of the fact, without what changes on a retry
	Rank       object.Rank
	Recipes    []RecipeRef // fixed at the put, so that every worker does the same work
	Body       Body
	Batch      bool // it holds other events, each to be stored as its own; without an object
	CaughtUp   bool // fetched from its source: no delivery had brought it

	Quiet map[string]time.Duration // quiet periods by recipe name; only while it is being stored

	State      State
	WriteID    string // of the put
	Generation int    // raised by each reopening
	Sends      int    // by the reconciler, since the last sign of life
	DueAt      time.Time
	DueKey     string // the due time as it is stored; pushing and parking by the reconciler name it

	Outcome    Outcome  // once settled
	Operations []string // what it was settled or parked with
	Reason     string   // why it is parked, or at the put: why it cannot be worked on
	Category   string
	EndedAt    time.Time
	Dismissed  *Dismissed // a parked one that a person took off the review list
	ExpiresAt  time.Time
	Erased     time.Time // its body, its object and the sender's ids were taken away then, for good
}

// Seen counts the deliveries of an event after the first. The number is not exact: a repeat after a
// lost answer counts twice.
type Seen struct {
	Count   int
	FirstAt time.Time
	LastAt  time.Time
}

// Parts is what a delivery that holds many events comes to.
type Parts struct {
	Events  []Event
	LeftOut string // what of it is no event of the endpoint's, in words of ours; empty: nothing is
}

// A Conflict is a delivery with the key of a stored event and another fact in it. It changes nothing
// and waits for a person; its body is not kept.
type Conflict struct {
	Event      EventID
	Digest     string
	At         time.Time
	DeliveryID string
	Dismissed  *Dismissed // a person took it off the review list
}

// A Receipt says what a delivery turned out to be.
type Receipt int

// The receipts.
const (
	Accepted      Receipt = iota // a new event, stored by this delivery
	DuplicateOpen                // a repeat of an event that is not settled: it is enqueued again
	Duplicate                    // a repeat of an event that is settled or parked
	Conflicting                  // the key of a stored event with another fact; nothing names the body that came with it
	Reread                       // the same, of the very body that the stored event names: how its sender is read has changed since
	Forgotten                    // the key of an event that was erased: nothing that it brings is to be kept
)

// Judge says what a delivery means whose put was refused, from the event that is stored and from what the delivery
// brought: the write id of its put, its digest, and the key of its body, if that is in the bucket. It is our own put
// whose answer was lost, another fact under the same key, or a repeat (infra/protocol.md section 4, W1). Whatever comes
// under the key of an erased event is a repeat of which nothing is kept.
func Judge(stored Event, writeID, digest, bodyKey string) Receipt {
	switch {
	case stored.WriteID == writeID:
		return Accepted
	case !stored.Erased.IsZero():
		return Forgotten
	case stored.Digest != digest && bodyKey != "" && stored.Body.Key == bodyKey:
		return Reread
	case stored.Digest != digest:
		return Conflicting
	case stored.State == Received:
		return DuplicateOpen
	}
	return Duplicate
}

// An Ending is what a worker writes when an event's work is over: settled with an outcome, or parked
// with a reason. It carries the generation that the worker read; a reopened event refuses it.
type Ending struct {
	Event      EventID
	Scope      object.Scope // when parked with operations
	Generation int
	Parked     bool
	Outcome    Outcome  // when settled
	Operations []string // empty: no operation exists (only when parked)
	Reason     string   // when parked; names the newer event when coalesced; says what was left out when split
	Category   string   // when parked
	At         time.Time
	ExpiresAt  time.Time // when settled
}

// Unsent is what parks an event that was sent to the queue too often without a sign of life. It holds
// only while the event is open, due at DueKey and sent Limit times.
type Unsent struct {
	ID     EventID
	DueKey string
	Limit  int
	Reason string
	At     time.Time
}
