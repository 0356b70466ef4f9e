package intake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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
// digest as if the part came alone, whatever crashed before. Types that are not enabled, and events of the
// other environment, are left out and logged.
//
// A part that is no event at all does not keep the others waiting: the error then wraps [inbox.ErrPart] and
// comes with the events of all other parts.
func (sp *Splitter) Parts(ctx context.Context, ev inbox.Event, raw []byte) ([]inbox.Event, error) {
	s, err := lookUp(ctx, sp.Endpoints, ev.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("split event %s: %w", ev.ID, err)
	}
	doc, err := document.Decode(raw)
	if err != nil {
		return nil, fmt.Errorf("split event %s: %w", ev.ID, err)
	}
	batch, ok := s.scheme.Split(webhook.Request{Method: "POST", Body: raw}, doc)
	if !ok || batch.Fact.Flaw != "" {
		return nil, fmt.Errorf("split event %s: it holds no events: %w", ev.ID, inbox.ErrPart)
	}
	var all []inbox.Event
	bad := 0
	for _, part := range batch.Parts {
		child, wanted, err := sp.part(ctx, s, ev, part)
		switch {
		case errors.Is(err, webhook.ErrMalformed), errors.Is(err, document.ErrMalformed):
			bad++
		case err != nil:
			return nil, fmt.Errorf("split event %s: %w", ev.ID, err)
		case wanted:
			all = append(all, child)
		}
	}
	if bad > 0 {
		return all, fmt.Errorf("%d of %d parts: %w", bad, len(batch.Parts), inbox.ErrPart)
	}
	return all, nil
}

// part makes one event, unless the endpoint does not ask for it.
func (sp *Splitter) part(ctx context.Context, s source, parent inbox.Event, req webhook.Request) (inbox.Event, bool, error) {
	doc, err := document.Decode(req.Body)
	if err != nil {
		return inbox.Event{}, false, err
	}
	kind, err := s.scheme.Type(req, doc)
	if err != nil {
		return inbox.Event{}, false, err
	}
	rule, named := s.endpoint.Events[kind]
	if !named || rule.Ignore {
		sp.Log.InfoContext(ctx, "part left out: its type is not enabled", "event_id", parent.ID, "endpoint", parent.Endpoint)
		return inbox.Event{}, false, nil
	}
	m := maker{newID: sp.NewID, log: sp.Log, speed: sp.Speed}
	ev, fact, err := m.event(ctx, s, delivered{request: req, doc: doc, content: req.Body, rule: rule, received: parent.ReceivedAt})
	if err != nil {
		return inbox.Event{}, false, err
	}
	if s.elsewhere(fact) {
		sp.Log.WarnContext(ctx, "part left out: it is of the other environment", "event_id", parent.ID, "endpoint", parent.Endpoint)
		return inbox.Event{}, false, nil
	}
	ev.DueAt = ev.DueAfter(sp.Now().UTC().Truncate(time.Millisecond), sp.OpenAge)
	ev.DeliveryID = parent.DeliveryID
	ev.Body, err = sp.Bodies.Keep(ctx, ev.ID, req.Body)
	return ev, true, err
}
