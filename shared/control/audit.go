package control

import (
	"context"
	"errors"
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
	none := List[Act]{Items: []Act{}}
	if f.Object != "" {
		if _, err := object.ParseID(f.Object); err != nil {
			return none, err
		}
	}
	span = span.complete(c.d.Now())
	w, err := c.trail(scope, span)
	if err != nil {
		return none, err
	}
	chosen := actChoice{c: c, scope: scope, filter: f, of: map[inbox.EventID]string{}}
	return gather(ctx, w, span.Limit, chosen.acts)
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

func (x actChoice) acts(ctx context.Context, e audit.Entry) ([]Act, error) {
	if fits, err := x.fits(ctx, e); err != nil || !fits {
		return nil, err
	}
	return []Act{actOf(e)}, nil
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

// trailPage is how many acts are read at once.
const trailPage = 100

// trail goes through the audit log.
func (c *Control) trail(scope object.Scope, span Span) (*walk[audit.Entry], error) {
	return newWalk(span, func(ctx context.Context, day time.Time, after string) ([]audit.Entry, int, string, error) {
		acts, next, err := c.d.Store.Acts(ctx, scope, day, after, trailPage)
		return acts, len(acts), next, err
	}, func(e audit.Entry) (time.Time, string) { return e.At, e.ID })
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
