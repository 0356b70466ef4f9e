package control

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"engang/shared/audit"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
)

// Acts is the audit log, as far as reading it goes.
type Acts interface {
	// Acts lists the acts of a day (UTC), the newest first, those before the key after. Next is empty at the end of the day.
	Acts(ctx context.Context, scope object.Scope, day time.Time, after string, limit int) (acts []audit.Entry, next string, err error)
}

// An Act is what somebody did, or asked for and was refused, as it is kept in the audit log.
type Act struct {
	Kind        string     `json:"kind"` // "act"
	ID          string     `json:"id"`   // the same on every entry of one act
	Tenant      string     `json:"tenant"`
	Environment string     `json:"environment"`
	At          time.Time  `json:"at"`
	By          string     `json:"by"`
	Act         string     `json:"act"`    // "redrive", "show body", …; with what came of it: ", refused"
	Target      string     `json:"target"` // an object, an operation, an event, what was paused, …
	Reason      string     `json:"reason,omitempty"`
	ExpiresAt   *time.Time `json:"expires_at"`
}

// An ActFilter chooses acts. An empty field chooses all.
type ActFilter struct {
	Object string // "product:794": also acts on its operations, and on its events as long as they say whose they are
	Target string // what the act was on: whole, or an object or operation by a beginning of its name
}

// Audit lists what was done, the newest first. A page may be shorter than asked for, even empty, with more behind
// it: only an empty next is the end. It returns [object.ErrNoID] and [ErrCursor].
func (c *Control) Audit(ctx context.Context, scope object.Scope, f ActFilter, span Span) (List[Act], error) {
	list := List[Act]{Items: []Act{}}
	if f.Object != "" {
		if _, err := object.ParseID(f.Object); err != nil {
			return list, err
		}
	}
	span = span.complete(c.d.Now())
	w, err := c.trail(scope, span)
	if err != nil {
		return list, err
	}
	chosen := actChoice{c: c, scope: scope, filter: f, of: map[inbox.EventID]string{}}
	for len(list.Items) < span.Limit {
		e, ok, err := w.next(ctx)
		if err != nil {
			return list, err
		}
		if !ok {
			break
		}
		fits, err := chosen.fits(ctx, e)
		if err != nil {
			return list, err
		}
		if fits {
			list.Items = append(list.Items, actOf(e))
		}
	}
	list.Next = w.cursor()
	return list, nil
}

func actOf(e audit.Entry) Act {
	return Act{
		Kind: "act", ID: e.ID, Tenant: e.Scope.Tenant, Environment: e.Scope.Environment, At: e.At.UTC(), By: e.By, Act: e.Act, Target: e.Target, Reason: e.Reason,
		ExpiresAt: at(e.ExpiresAt),
	}
}

// An actChoice decides which acts fit a filter. Each event that acts are on is read once.
type actChoice struct {
	c      *Control
	scope  object.Scope
	filter ActFilter
	of     map[inbox.EventID]string
}

func (x actChoice) fits(ctx context.Context, e audit.Entry) (bool, error) {
	if x.filter.Target != "" && !begins(e.Target, x.filter.Target) {
		return false, nil
	}
	if x.filter.Object == "" || x.filter.Object == e.Target {
		return true, nil
	}
	text, _, _ := strings.Cut(e.Target, "/") // behind an event's id: which conflict
	if !inbox.IsEventID(text) {
		id, _, _, err := operation.ParseName(e.Target)
		return err == nil && id.String() == x.filter.Object, nil
	}
	id := inbox.EventID(text)
	if _, known := x.of[id]; !known {
		ev, err := x.c.d.Store.Event(ctx, id)
		if err != nil && !errors.Is(err, inbox.ErrNotFound) {
			return false, err
		}
		x.of[id] = ev.Object.String()
	}
	return x.of[id] == x.filter.Object, nil
}

// begins tells whether a name is the other one or a beginning of it that ends where a part of it ends. A digest may
// be cut anywhere.
func begins(name, with string) bool {
	_, _, digest, err := operation.ParseName(with)
	return name == with || strings.HasPrefix(name, with+"/") || err == nil && digest != "" && strings.HasPrefix(name, with)
}

// A trail goes through the audit log, day by day, from the newest act to the oldest.
type trail struct {
	acts   Acts
	scope  object.Scope
	since  time.Time
	day    time.Time // where the next page is read
	after  string
	place  string        // behind the act that was given last
	buffer []audit.Entry // read, and not given yet
	read   int
	done   bool
}

// trailPage is how many acts are read at once.
const trailPage = 100

func (c *Control) trail(scope object.Scope, span Span) (*trail, error) {
	w := &trail{acts: c.d.Store, scope: scope, since: span.Since.UTC(), day: midnight(span.Until), after: fmt.Sprintf("%013d#", span.Until.UnixMilli())}
	if span.After == "" {
		return w, nil
	}
	var err error
	w.day, w.after, err = readCursor(span.After)
	return w, err
}

// cursor says where the trail goes on; empty at its end.
func (w *trail) cursor() string {
	switch {
	case len(w.buffer) > 0:
		return w.place
	case w.done || w.day.Before(midnight(w.since)):
		return ""
	}
	return cursor(w.day, w.after)
}

// next gives the following act. There is none at the end, and when one look has read all that it may read.
func (w *trail) next(ctx context.Context) (audit.Entry, bool, error) {
	for len(w.buffer) == 0 {
		if w.done = w.done || w.day.Before(midnight(w.since)); w.done || w.read >= maxRead {
			return audit.Entry{}, false, nil
		}
		acts, after, err := w.acts.Acts(ctx, w.scope, w.day, w.after, trailPage)
		if err != nil {
			return audit.Entry{}, false, err
		}
		if w.buffer, w.after = acts, after; after == "" {
			w.day = w.day.AddDate(0, 0, -1)
		}
		w.read += listing + len(acts)
	}
	e := w.buffer[0]
	w.buffer = w.buffer[1:]
	if e.At.Before(w.since) {
		w.done, w.buffer = true, nil
		return audit.Entry{}, false, nil
	}
	w.place = cursor(midnight(e.At), fmt.Sprintf("%013d#%s", e.At.UnixMilli(), e.ID))
	return e, true, nil
}

// acts shows what was done to the object, as far back as its events are looked for.
func (x *exporter) acts(ctx context.Context) (full bool, err error) {
	at := x.journey.At
	page, err := x.Audit(ctx, x.scope, ActFilter{Object: x.id.String()}, Span{Since: at.Add(-reach), Until: at.Add(time.Millisecond), After: x.journey.Place, Limit: MaxLimit})
	if err != nil {
		return false, err
	}
	x.doc.Acts = append(x.doc.Acts, page.Items...)
	x.journey.Place = page.Next
	return page.Next != "", nil
}
