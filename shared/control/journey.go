package control

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"engang/shared/audit"
	"engang/shared/document"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
)

// reach is how far back an object's events are looked for when nothing of it may be left: further than any
// event is kept that is settled. An older one that is open or parked is found where work names it.
const reach = 3 * 366 * 24 * time.Hour

// longest is how long one act may take, page by page.
const longest = 7 * 24 * time.Hour

// An errand is what a journey is made for, and by whom.
type errand struct {
	Scope  object.Scope `json:"scope"`
	Act    string       `json:"act"`
	Object string       `json:"object"`
	By     string       `json:"by"`
}

// A journey is one act on everything that is held of an object, which takes several calls. It goes with the
// caller as a cursor, so that it can be gone on with after an interruption. A caller may write a cursor as well: what
// it says is taken for nothing but a place, and only within the errand that the call itself names.
type journey struct {
	Of    errand    `json:"of"`
	ID    string    `json:"id"` // of the one audit entry of the act
	At    time.Time `json:"at"` // when it began: what is received later is not meant
	Stage string    `json:"stage"`
	Place string    `json:"place,omitempty"` // of the walk through the events
	Index int       `json:"index,omitempty"`
	Busy  time.Time `json:"busy,omitzero"`   // until when something may be under way
	Again bool      `json:"again,omitempty"` // the walk is not the first
	Since time.Time `json:"since,omitzero"`  // what was received before then, the first walk has come to
}

// begin starts a journey, or reads where one goes on: one of the same errand. The cursor of a former version that
// named none is refused.
func (c *Control) begin(of errand, after string) (journey, error) {
	now := c.d.Now().UTC().Truncate(time.Millisecond)
	if after == "" {
		return journey{Of: of, ID: c.d.NewID(), At: now}, nil
	}
	var j journey
	raw, err := base64.RawURLEncoding.DecodeString(after)
	if err != nil || document.Unmarshal(raw, &j) != nil || j.Of != of || j.ID == "" || j.Index < 0 {
		return journey{}, ErrCursor
	}
	if j.At.After(now) || now.Sub(j.At) > longest { // its audit entry would stand where nobody looks
		return journey{}, ErrCursor
	}
	return j, nil
}

func (j journey) cursor() (string, error) {
	raw, err := json.Marshal(j)
	if err != nil {
		return "", fmt.Errorf("write cursor: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(raw), nil
}

// recordJourney records the act once, however many calls it takes: each writes the same entry. A journey whose entry
// says anything else is not the one that began it: nothing of it is done.
func (c *Control) recordJourney(ctx context.Context, j journey, reason string) error {
	err := c.record(ctx, audit.Entry{Scope: j.Of.Scope, At: j.At, ID: j.ID, By: j.Of.By, Act: j.Of.Act, Target: j.Of.Object, Reason: reason})
	if errors.Is(err, audit.ErrOther) {
		return fmt.Errorf("%w: %w", ErrCursor, err)
	}
	return err
}

// walkAll goes through all events that may be of an object, from a place on.
func (c *Control) walkAll(scope object.Scope, j journey) (*walk[Event], error) {
	since := j.At.Add(-reach)
	if j.Again && j.Since.After(since) {
		since = j.Since
	}
	return c.walk(scope, Span{Since: since, Until: j.At.Add(time.Minute), After: j.Place, Limit: MaxLimit})
}

// whole reads an event with what stands beside it; false where it is gone.
func (c *Control) whole(ctx context.Context, id inbox.EventID) (inbox.Event, Event, bool, error) {
	e, seen, conflicts, err := c.d.Store.Deliveries(ctx, id)
	if errors.Is(err, inbox.ErrNotFound) {
		return inbox.Event{}, Event{}, false, nil
	}
	if err != nil {
		return inbox.Event{}, Event{}, false, err
	}
	return e, eventOf(e, seen, conflicts), true, nil
}

// named are the events that the work names, each once.
func (all collection) named() []inbox.EventID {
	var ids []inbox.EventID
	add := func(id inbox.EventID) {
		if id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for _, o := range all.ops {
		add(o.Event)
	}
	for _, r := range all.results {
		add(r.Event)
	}
	return ids
}

// cancellable tells whether an operation is not at its end.
func cancellable(o operation.Operation) bool {
	return o.State == operation.Pending || o.State == operation.Running || o.State == operation.Review
}
