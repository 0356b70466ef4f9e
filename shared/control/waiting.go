package control

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"engang/shared/config"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
)

// ReviewList is what waits for a person, and how it is taken off the list. A dismissal of an operation is
// refused with an error that wraps [operation.ErrRefused] or [inbox.ErrStale], one of an event with
// [inbox.ErrStale], when it does not wait there any more as it was looked at.
type ReviewList interface {
	// Reviews lists what waits, the longest first, of all tenants and environments; it may be a moment old.
	Reviews(ctx context.Context, after string, limit int) (waiting []operation.Waiting, next string, err error)
	Dismiss(ctx context.Context, d operation.Dismissal) error
	DismissEvent(ctx context.Context, d inbox.Dismissal) error
}

// The kinds of what waits for a person.
const (
	KindDraft    = "draft"    // an output that waits for a decision
	KindFailed   = "failed"   // an operation that was given up
	KindParked   = "parked"   // an event that could not become an operation
	KindConflict = "conflict" // a delivery with the key of an event and another fact in it
)

// ReviewKinds are the words that [ReviewFilter].Kind takes.
func ReviewKinds() []string { return []string{KindDraft, KindFailed, KindParked, KindConflict} }

// A ReviewFilter chooses what waits for a person. An empty field chooses all.
type ReviewFilter struct {
	Kind  string
	Owner string    // first group of the recipe's review
	Older time.Time // only what waits since before this
}

// Review lists what waits for a person, the longest first. A page may be shorter than asked for, even empty,
// with more behind it: only an empty next is the end. Of the span, place and limit count. A kind that there
// is not is a [problem.QueryError].
func (c *Control) Review(ctx context.Context, scope object.Scope, f ReviewFilter, span Span) (List[Waiting], error) {
	list := List[Waiting]{Items: []Waiting{}}
	if err := oneOf("kind", f.Kind, ReviewKinds()); err != nil {
		return list, err
	}
	place, err := readPlace(span.After)
	if err != nil {
		return list, err
	}
	span = span.complete(c.d.Now())
	for read := 0; len(list.Items) < span.Limit && read < maxRead; {
		found, next, err := c.d.Store.Reviews(ctx, place, span.Limit-len(list.Items))
		if err != nil {
			return list, err
		}
		young := slices.IndexFunc(found, func(w operation.Waiting) bool { return !f.Older.IsZero() && !w.Since.Before(f.Older) })
		if young >= 0 { // and so is all that comes behind it
			found, next = found[:young], ""
		}
		items, err := c.waiting(ctx, scope, found)
		if err != nil {
			return list, err
		}
		list.Items = append(list.Items, slices.DeleteFunc(items, func(w Waiting) bool { return !f.fits(w) })...)
		if place = next; place == "" {
			break
		}
		read += listing + len(found)
	}
	list.Next = base64.RawURLEncoding.EncodeToString([]byte(place))
	return list, nil
}

// readPlace reads where the list goes on: behind a time, and what waits since then. Empty: at its begin. The table looks
// between the two ends of the list, and takes nothing that is beyond them.
func readPlace(text string) (string, error) {
	place, err := base64.RawURLEncoding.DecodeString(text)
	ms, _, cut := strings.Cut(string(place), "#")
	_, noTime := strconv.ParseUint(ms, 10, 64)
	if err != nil || text != "" && (!cut || noTime != nil || len(ms) != len("1764417600000")) {
		return "", ErrCursor
	}
	return string(place), nil
}

func (f ReviewFilter) fits(w Waiting) bool {
	return (f.Kind == "" || f.Kind == w.Kind) && (f.Owner == "" || f.Owner == w.Owner)
}

// waiting reads what a page of the list names, side by side. What belongs to others is left out, and so is
// what does not wait any more: the list may be old.
func (c *Control) waiting(ctx context.Context, scope object.Scope, list []operation.Waiting) ([]Waiting, error) {
	found, faults := make([]*Waiting, len(list)), make([]error, len(list))
	sideBySide(len(list), func(i int) { found[i], faults[i] = c.waits(ctx, scope, list[i]) })
	var items []Waiting
	for _, w := range found {
		if w != nil {
			items = append(items, *w)
		}
	}
	return items, errors.Join(faults...)
}

// waits reads one thing that waits; nil if it does not, or belongs to others.
func (c *Control) waits(ctx context.Context, scope object.Scope, w operation.Waiting) (*Waiting, error) {
	if w.Operation != nil {
		if w.Operation.Scope != scope {
			return nil, nil
		}
		o, err := c.d.Store.Operation(ctx, *w.Operation)
		if errors.Is(err, operation.ErrNotFound) || err == nil && o.QueuedAt.IsZero() {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return c.operationWaits(ctx, o)
	}
	e, _, conflicts, err := c.d.Store.Deliveries(ctx, w.Event)
	if errors.Is(err, inbox.ErrNotFound) || err == nil && e.Scope != scope {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return c.eventWaits(ctx, e, conflicts, w)
}

func (c *Control) operationWaits(ctx context.Context, o operation.Operation) (*Waiting, error) {
	kind, seen := KindFailed, seenOperation(o)
	if o.State == operation.Review {
		kind, seen = KindDraft, ""
	}
	owner, err := c.owner(ctx, o.Key.Scope, o.Key.Recipe)
	if err != nil {
		return nil, err
	}
	return &Waiting{
		Kind: kind, ID: o.Key.String(), Object: o.Key.Object.String(), ObjectVersion: o.Rank.Version().String(), Recipe: o.Key.Recipe.String(),
		Reason: o.Reason, Category: string(o.Category), AgeS: c.age(o.QueuedAt), OpenedAt: o.QueuedAt.UTC(), Owner: owner, Digest: digest(o.Digest), Event: string(o.Event), Seen: seen,
	}, nil
}

func (c *Control) eventWaits(ctx context.Context, e inbox.Event, conflicts []inbox.Conflict, w operation.Waiting) (*Waiting, error) {
	owner, err := c.owner(ctx, e.Scope, e.Recipes...)
	if err != nil {
		return nil, err
	}
	doc := Waiting{
		Kind: KindParked, ID: string(e.ID), Object: e.Object.String(), ObjectVersion: e.Rank.Version().String(), Recipe: strings.Join(refs(e.Recipes), ", "),
		Reason: e.Reason, Category: e.Category, AgeS: c.age(w.Since), OpenedAt: w.Since.UTC(), Owner: owner, Digest: digest(e.Digest), Event: string(e.ID),
	}
	if w.Conflict == "" {
		if e.State != inbox.Parked || e.Dismissed != nil {
			return nil, nil
		}
		doc.Seen = seenEvent(e)
		return &doc, nil
	}
	if !slices.ContainsFunc(conflicts, func(x inbox.Conflict) bool { return x.Digest == w.Conflict && x.Dismissed == nil }) {
		return nil, nil
	}
	doc.Kind, doc.ID, doc.Digest = KindConflict, conflictName(e.ID, w.Conflict), digest(w.Conflict)
	doc.Reason, doc.Category = "another fact under the key of this event; nothing was done with it", ""
	return &doc, nil
}

// conflictName is how people name a conflict: its event, and the digest of the other fact.
func conflictName(id inbox.EventID, digest string) string { return string(id) + "/" + digest }

func (c *Control) age(since time.Time) int64 {
	return max(int64(c.d.Now().Sub(since)/time.Second), 0)
}

// owner is the group that decides about a recipe's drafts: of several recipes, the first that names one.
// Where none does, or what was applied cannot be read back, it is nobody's.
func (c *Control) owner(ctx context.Context, scope object.Scope, recipes ...inbox.RecipeRef) (string, error) {
	for _, ref := range recipes {
		compiled, err := c.d.Endpoints.Recipe(ctx, scope, ref)
		switch {
		case errors.Is(err, config.ErrUnknown), errors.Is(err, config.ErrUnreadable):
			continue
		case err != nil:
			return "", fmt.Errorf("find the owner of %s: %w", ref, err)
		}
		if r := compiled.Recipe().Review; r != nil && len(r.By) > 0 {
			return r.By[0], nil
		}
	}
	return "", nil
}

// owned adds to the document of an operation that waits whose list it is on.
func (c *Control) owned(ctx context.Context, o operation.Operation, doc Operation) (Operation, error) {
	if doc.Review == nil {
		return doc, nil
	}
	var err error
	doc.Review.Owner, err = c.owner(ctx, o.Key.Scope, o.Key.Recipe)
	return doc, err
}
