package control

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
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

// ErrCursor says that a text is no place in a list.
var ErrCursor = errors.New("not a cursor of this list")

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

// A walker goes through the list index, day by day, from the newest event to the oldest.
type walker struct {
	store  Store
	load   func(ctx context.Context, ids []inbox.EventID) ([]Event, error)
	scope  object.Scope
	since  time.Time
	page   int
	day    time.Time // where the next page is read
	after  string
	place  string  // behind the event that was given last
	buffer []Event // read, and not given yet
	read   int
	done   bool
}

func (c *Control) walk(scope object.Scope, span Span) (*walker, error) {
	w := &walker{store: c.d.Store, scope: scope, since: span.Since.UTC(), page: min(max(span.Limit, 25), 100)}
	w.load = func(ctx context.Context, ids []inbox.EventID) ([]Event, error) { return read(ctx, w.store, ids) }
	w.day, w.after = midnight(span.Until), fmt.Sprintf("%013d#", span.Until.UnixMilli())
	if span.After == "" {
		return w, nil
	}
	var err error
	w.day, w.after, err = readCursor(span.After)
	return w, err
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
func (w *walker) cursor() string {
	switch {
	case len(w.buffer) > 0:
		return w.place
	case w.done || w.day.Before(midnight(w.since)):
		return ""
	}
	return cursor(w.day, w.after)
}

// next gives the following event. There is none at the end of the span, and when one look has read all
// that it may read: then [walker.cursor] is not empty.
func (w *walker) next(ctx context.Context) (Event, bool, error) {
	for len(w.buffer) == 0 {
		if w.done = w.done || w.day.Before(midnight(w.since)); w.done || w.read >= maxRead {
			return Event{}, false, nil
		}
		if err := w.fill(ctx); err != nil {
			return Event{}, false, err
		}
	}
	e := w.buffer[0]
	w.buffer = w.buffer[1:]
	if e.ReceivedAt.Before(w.since) {
		w.done, w.buffer = true, nil
		return Event{}, false, nil
	}
	w.place = cursor(midnight(e.ReceivedAt), fmt.Sprintf("%013d#%s", e.ReceivedAt.UnixMilli(), e.ID))
	return e, true, nil
}

func (w *walker) fill(ctx context.Context) error {
	ids, after, err := w.store.Listed(ctx, w.scope, w.day, w.after, w.page)
	if err != nil {
		return err
	}
	if w.after = after; after == "" {
		w.day = w.day.AddDate(0, 0, -1)
	}
	w.read += listing + len(ids)
	w.buffer, err = w.load(ctx, ids)
	return err
}

// read reads events side by side, in the order asked for. One that is gone meanwhile is left out.
func read(ctx context.Context, store Store, ids []inbox.EventID) ([]Event, error) {
	found, faults := make([]*Event, len(ids)), make([]error, len(ids))
	var all sync.WaitGroup
	slots := make(chan struct{}, parallel)
	for i, id := range ids {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			e, seen, conflicts, err := store.Deliveries(ctx, id)
			switch {
			case errors.Is(err, inbox.ErrNotFound):
			case err != nil:
				faults[i] = err
			default:
				doc := eventOf(e, seen, conflicts)
				found[i] = &doc
			}
		})
	}
	all.Wait()
	var events []Event
	for _, e := range found {
		if e != nil {
			events = append(events, *e)
		}
	}
	return events, errors.Join(faults...)
}
