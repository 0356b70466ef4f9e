package intake

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"engang/shared/config"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/problem"
	"engang/shared/webhook"
)

// delivered is a verified delivery of an enabled type.
type delivered struct {
	request  webhook.Request
	doc      any
	content  []byte // the JSON text that the document was read from: what is kept
	rule     config.EventRule
	received time.Time
}

// A maker makes events of what was delivered.
type maker struct {
	newID func() string
	log   *slog.Logger
	speed float64 // divides quiet periods; zero: they are as long as the recipe says
}

// event makes the event of a delivery, without a due time. One that cannot be worked on is an event all the same, with
// the reason on it: refusing it would make the sender switch its webhook off.
func (m maker) event(ctx context.Context, s source, d delivered) (inbox.Event, webhook.Fact, error) {
	fact, err := s.scheme.Identify(d.request, d.doc, ruleOf(d.rule), d.received)
	if err != nil {
		return inbox.Event{}, webhook.Fact{}, err
	}
	recipes, missing := s.pointer.Refs(d.rule.Recipes)
	if len(missing) > 0 {
		return inbox.Event{}, webhook.Fact{}, fmt.Errorf("endpoint %s asks for recipes that are not live (%s): %w",
			s.endpoint.Name, strings.Join(missing, ", "), problem.ErrUnavailable)
	}
	ev := m.plain(s, fact, d.received)
	ev.Recipes = recipes
	if ev.Reason == "" {
		if ev.Object, err = object.NewID(fact.Kind, fact.ObjectID); err != nil {
			ev.Reason = "the object id is not usable" // the error may repeat what stands in the payload
		}
	}
	version, err := versionOf(fact.Version, d.received)
	if err != nil { // what cannot be ordered must not replace what can
		m.log.WarnContext(ctx, "object version not usable", "event_id", ev.ID, "endpoint", ev.Endpoint, "err", err)
		ev.Object, ev.Reason = object.ID{}, cmp.Or(ev.Reason, "the object's version is not readable")
	}
	if ev.Reason != "" {
		ev.Category = string(operation.CategoryInvalidInput)
	}
	ev.Rank = object.NewRank(version, d.received, fact.Key)
	ev.Quiet = m.quiet(s.pointer, recipes)
	return ev, fact, nil
}

// quiet is the quiet periods of the recipes that have one.
func (m maker) quiet(p config.Pointer, refs []inbox.RecipeRef) map[string]time.Duration {
	var all map[string]time.Duration
	for _, ref := range refs {
		period := time.Duration(p.Quiet[ref.Name]) * time.Second
		if m.speed > 0 {
			period = time.Duration(float64(period) / m.speed)
		}
		if period <= 0 {
			continue
		}
		if all == nil {
			all = map[string]time.Duration{}
		}
		all[ref.Name] = period
	}
	return all
}

// plain is what an event has whatever it is about.
func (m maker) plain(s source, fact webhook.Fact, received time.Time) inbox.Event {
	return inbox.Event{
		ID:         inbox.NewEventID(s.endpoint.Scope, s.endpoint.Name, fact.Key),
		Scope:      s.endpoint.Scope,
		Endpoint:   s.endpoint.Name,
		Provider:   s.endpoint.Provider,
		Type:       fact.Type,
		ReceivedAt: received,
		DeliveryID: fact.DeliveryID,
		SenderID:   fact.SenderID,
		Digest:     fact.Digest,
		WriteID:    m.newID(),
		Reason:     fact.Flaw,
	}
}

// batch makes the event of a delivery that holds many: a worker stores each of them.
func (m maker) batch(s source, fact webhook.Fact, d delivered) inbox.Event {
	ev := m.plain(s, fact, d.received)
	ev.Batch = true
	if ev.Reason != "" {
		ev.Category = string(operation.CategoryInvalidInput)
	}
	version, _ := versionOf("", d.received) // of a time of ours: it cannot fail
	ev.Rank = object.NewRank(version, d.received, fact.Key)
	return ev
}

func ruleOf(r config.EventRule) webhook.Rule {
	rule := webhook.Rule{Version: r.Version}
	if r.Object != nil {
		rule.Kind, rule.ID = r.Object.Kind, &r.Object.ID
	}
	return rule
}

// noDate begins what WordPress writes for an object that was never modified.
const noDate = "0000-00-00"

// versionOf is the object's version: that of the payload, else the time it was received. The signed time is that of the
// try, not of the event: it would make the newest of an old delivery that comes once more. An error comes with the
// version that is used instead.
func versionOf(text string, received time.Time) (object.Version, error) {
	var unusable error
	if text != "" && !strings.HasPrefix(text, noDate) {
		v, err := object.ParseVersion(text)
		if err == nil {
			return v, nil
		}
		unusable = err
	}
	v, _ := object.VersionAt(received) // of our own clock: no year that has no text
	return v, unusable
}
