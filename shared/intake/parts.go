package intake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"engang/shared/document"
	"engang/shared/inbox"
	"engang/shared/webhook"
)

// A Splitter makes the events of a delivery that holds many. It is safe for concurrent use.
type Splitter struct {
	Endpoints Endpoints
	Bodies    Bodies
	OpenAge   time.Duration // from the put of a part until the reconciler looks after it
	Log       *slog.Logger
	Now       func() time.Time
	NewID     func() string
	Speed     float64 // divides quiet periods; zero: they are as long as the recipe says
}

// Parts is every event in the batch that the endpoint asks for, ready to be stored: the same key and
// digest as if the part came alone, whatever crashed before. Types that are not enabled when it is taken
// apart, and events of the other environment, are left out: that is told, and logged.
//
// A part that is no event at all does not keep the others waiting: the error then wraps [inbox.ErrPart] and
// comes with the events of all other parts.
func (sp *Splitter) Parts(ctx context.Context, ev inbox.Event, raw []byte) (inbox.Parts, error) {
	s, err := lookUp(ctx, sp.Endpoints, ev.Endpoint)
	if err != nil {
		return inbox.Parts{}, fmt.Errorf("split event %s: %w", ev.ID, err)
	}
	doc, err := document.Decode(raw)
	if err != nil {
		return inbox.Parts{}, fmt.Errorf("split event %s: %w", ev.ID, err)
	}
	batch, ok := s.scheme.Split(webhook.Request{Method: "POST", Body: raw}, doc)
	if !ok || batch.Fact.Flaw != "" {
		return inbox.Parts{}, fmt.Errorf("split event %s: it holds no events: %w", ev.ID, inbox.ErrPart)
	}
	var all inbox.Parts
	left := map[string]int{}
	bad := 0
	for _, part := range batch.Parts {
		child, without, err := sp.part(ctx, s, ev, part)
		switch {
		case errors.Is(err, webhook.ErrMalformed), errors.Is(err, document.ErrMalformed):
			bad++
		case err != nil:
			return inbox.Parts{}, fmt.Errorf("split event %s: %w", ev.ID, err)
		case without != "":
			left[without]++
		default:
			all.Events = append(all.Events, child)
		}
	}
	all.LeftOut = told(left, len(batch.Parts))
	if bad > 0 {
		return all, fmt.Errorf("%d of %d parts: %w", bad, len(batch.Parts), inbox.ErrPart)
	}
	return all, nil
}

// told says what was left out of so many parts, the most frequent first.
func told(left map[string]int, parts int) string {
	const most = 5
	why := slices.SortedFunc(maps.Keys(left), func(a, b string) int { return cmp.Or(cmp.Compare(left[b], left[a]), cmp.Compare(a, b)) })
	n := 0
	for i, reason := range why {
		n += left[reason]
		why[i] = fmt.Sprintf("%d %s", left[reason], reason)
	}
	if len(why) > most {
		why = append(why[:most], "more of other types")
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("left out of %d events: %s", parts, strings.Join(why, ", "))
}

// part makes one event, or says why the endpoint does not ask for it.
func (sp *Splitter) part(ctx context.Context, s source, parent inbox.Event, req webhook.Request) (ev inbox.Event, without string, err error) {
	doc, err := document.Decode(req.Body)
	if err != nil {
		return inbox.Event{}, "", err
	}
	kind, err := s.scheme.Type(req, doc)
	if err != nil {
		return inbox.Event{}, "", err
	}
	rule, named := s.endpoint.Events[kind]
	if !named || rule.Ignore {
		sp.Log.InfoContext(ctx, "part left out: its type is not enabled", "event_id", parent.ID, "endpoint", parent.Endpoint)
		if !named { // whatever a sender writes there is told nobody
			return inbox.Event{}, "of types that the endpoint does not name", nil
		}
		return inbox.Event{}, "of the type " + kind + ", which the endpoint ignores", nil
	}
	m := maker{newID: sp.NewID, log: sp.Log, speed: sp.Speed}
	ev, fact, err := m.event(ctx, s, delivered{request: req, doc: doc, content: req.Body, rule: rule, received: parent.ReceivedAt})
	if err != nil {
		return inbox.Event{}, "", err
	}
	if s.elsewhere(fact) {
		sp.Log.WarnContext(ctx, "part left out: it is of the other environment", "event_id", parent.ID, "endpoint", parent.Endpoint)
		return inbox.Event{}, "of the other environment", nil
	}
	ev.DueAt = ev.DueAfter(sp.Now().UTC().Truncate(time.Millisecond), sp.OpenAge)
	ev.DeliveryID = parent.DeliveryID
	ev.Body, err = sp.Bodies.Keep(ctx, ev.ID, req.Body)
	return ev, "", err
}
