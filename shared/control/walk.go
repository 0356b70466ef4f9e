package control

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"engang/shared/inbox"
	"engang/shared/object"
)

// Limits of one look, so that it ends well within the function's time.
const (
	DefaultLimit = 50
	MaxLimit     = 500
	maxRead      = 1_000 // events read for one page, whatever fits of them
	listing      = 4     // what a query of the list index counts as, so that a long time without events has an end too
	parallel     = 8
	usualSpan    = 3 * 24 * time.Hour
)

// A Span is a time and a place in it where a list goes on.
type Span struct {
	Since time.Time // zero: three days ago
	Until time.Time // zero: now
	After string    // next of the page before; empty for the first
	Limit int       // zero: [DefaultLimit]; at most [MaxLimit]
}

// ErrCursor says that a text is no place in a list, or none where this act goes on.
var ErrCursor = errors.New("not a cursor of this list or act")

// complete fills in what was left open.
func (s Span) complete(now time.Time) Span {
	if s.Since.IsZero() {
		s.Since = now.Add(-usualSpan)
	}
	if s.Until.IsZero() || s.Until.After(now) {
		s.Until = now.Add(time.Minute) // a receiver's clock may be ahead of ours
	}
	if s.Limit <= 0 {
		s.Limit = DefaultLimit
	}
	s.Limit = min(s.Limit, MaxLimit)
	return s
}

// A walk goes through an index by time, day by day, from the newest item to the oldest.
type walk[T any] struct {
	page   pager[T]
	when   func(T) (at time.Time, id string)
	since  time.Time
	day    time.Time // where the next page is read
	after  string
	place  string // behind the item that was given last
	buffer []T    // read, and not given yet
	read   int
	done   bool
}

// A pager reads the items behind a place of a day, tells how many it has looked at, and the next place; empty: the day
// has no more.
type pager[T any] func(ctx context.Context, day time.Time, after string) (items []T, looked int, next string, err error)

func newWalk[T any](span Span, page pager[T], when func(T) (time.Time, string)) (*walk[T], error) {
	w := &walk[T]{page: page, when: when, since: span.Since.UTC(), day: midnight(span.Until), after: fmt.Sprintf("%013d#", span.Until.UnixMilli())}
	if span.After == "" {
		return w, nil
	}
	var err error
	w.day, w.after, err = readCursor(span.After)
	return w, err
}

// A loader reads the events of a page, in the order asked for. One that is gone meanwhile is left out.
type loader func(ctx context.Context, ids []inbox.EventID) ([]Event, error)

// walk goes through the events of a span.
func (c *Control) walk(scope object.Scope, span Span) (*walk[Event], error) {
	return c.walkWith(scope, span, min(max(span.Limit, 25), 100), c.read)
}

func (c *Control) walkWith(scope object.Scope, span Span, size int, load loader) (*walk[Event], error) {
	return newWalk(span, func(ctx context.Context, day time.Time, after string) ([]Event, int, string, error) {
		ids, next, err := c.d.Store.Listed(ctx, scope, day, after, size)
		if err != nil {
			return nil, 0, "", err
		}
		events, err := load(ctx, ids)
		return events, len(ids), next, err
	}, func(e Event) (time.Time, string) { return e.ReceivedAt, e.ID })
}

func midnight(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

func cursor(day time.Time, after string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(day.Format(time.DateOnly) + "|" + after))
}

// readCursor reads a place: a day, and a key of it; empty for all of the day.
func readCursor(text string) (time.Time, string, error) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return time.Time{}, "", ErrCursor
	}
	date, after, _ := strings.Cut(string(raw), "|")
	day, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return time.Time{}, "", ErrCursor
	}
	return day, after, nil
}

// cursor says where the walk goes on; empty at its end.
func (w *walk[T]) cursor() string {
	switch {
	case len(w.buffer) > 0:
		return w.place
	case w.done || w.day.Before(midnight(w.since)):
		return ""
	}
	return cursor(w.day, w.after)
}

// next gives the following item. There is none at the end of the span, and when one look has read all
// that it may read: then [walk.cursor] is not empty.
func (w *walk[T]) next(ctx context.Context) (T, bool, error) {
	var none T
	for len(w.buffer) == 0 {
		if w.done = w.done || w.day.Before(midnight(w.since)); w.done || w.read >= maxRead {
			return none, false, nil
		}
		items, looked, after, err := w.page(ctx, w.day, w.after)
		if err != nil {
			return none, false, err
		}
		if w.buffer, w.after = items, after; after == "" {
			w.day = w.day.AddDate(0, 0, -1)
		}
		w.read += listing + looked
	}
	x := w.buffer[0]
	w.buffer = w.buffer[1:]
	at, id := w.when(x)
	if at.Before(w.since) {
		w.done, w.buffer = true, nil
		return none, false, nil
	}
	w.place = cursor(midnight(at), fmt.Sprintf("%013d#%s", at.UnixMilli(), id))
	return x, true, nil
}

// gather lists what a walk comes to and what is chosen of it, until there is enough of it.
func gather[T, L any](ctx context.Context, w *walk[T], enough int, choose func(context.Context, T) ([]L, error)) (List[L], error) {
	list := List[L]{Items: []L{}}
	for len(list.Items) < enough {
		x, ok, err := w.next(ctx)
		if err != nil {
			return list, err
		}
		if !ok {
			break
		}
		chosen, err := choose(ctx, x)
		if err != nil {
			return list, err
		}
		list.Items = append(list.Items, chosen...)
	}
	list.Next = w.cursor()
	return list, nil
}

// read is a [loader] of events with all that stands beside them.
func (c *Control) read(ctx context.Context, ids []inbox.EventID) ([]Event, error) {
	found, faults := make([]*Event, len(ids)), make([]error, len(ids))
	sideBySide(len(ids), func(i int) {
		e, seen, conflicts, err := c.d.Store.Deliveries(ctx, ids[i])
		switch {
		case errors.Is(err, inbox.ErrNotFound):
		case err != nil:
			faults[i] = err
		default:
			doc := eventOf(e, seen, conflicts)
			found[i] = &doc
		}
	})
	var events []Event
	for _, e := range found {
		if e != nil {
			events = append(events, *e)
		}
	}
	return events, errors.Join(faults...)
}
