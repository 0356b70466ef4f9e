package intake

import (
	"context"
	"fmt"
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
	rule     config.EventRule
	received time.Time
}

// identify makes the event of a delivery. One that cannot be worked on is an event all the same, with
// the reason on it: refusing it would make the sender switch its webhook off.
func (in *Intake) identify(ctx context.Context, s source, d delivered) (inbox.Event, error) {
	fact, err := s.scheme.Identify(d.request, d.doc, ruleOf(d.rule), d.received)
	if err != nil {
		return inbox.Event{}, err
	}
	recipes, missing := s.pointer.Refs(d.rule.Recipes)
	if len(missing) > 0 {
		return inbox.Event{}, fmt.Errorf("endpoint %s asks for recipes that are not live (%s): %w",
			s.endpoint.Name, strings.Join(missing, ", "), problem.ErrUnavailable)
	}
	ev := inbox.Event{
		ID:         inbox.NewEventID(s.endpoint.Scope, s.endpoint.Name, fact.Key),
		Scope:      s.endpoint.Scope,
		Endpoint:   s.endpoint.Name,
		Provider:   s.endpoint.Provider,
		Type:       fact.Type,
		ReceivedAt: d.received,
		DeliveryID: fact.DeliveryID,
		SenderID:   fact.SenderID,
		Digest:     fact.Digest,
		Recipes:    recipes,
		WriteID:    in.NewID(),
		DueAt:      d.received.Add(in.Limits.OpenAge),
		Reason:     fact.Flaw,
	}
	if ev.Reason == "" {
		if ev.Object, err = object.NewID(fact.Kind, fact.ObjectID); err != nil {
			ev.Reason = "the object id is not usable" // the error may repeat what stands in the payload
		}
	}
	if ev.Reason != "" {
		ev.Category = string(operation.CategoryInvalidInput)
	}
	version, err := versionOf(fact, d.received)
	if err != nil {
		in.Log.WarnContext(ctx, "object version not usable", "event_id", ev.ID, "endpoint", ev.Endpoint, "err", err)
	}
	ev.Rank = object.NewRank(version, d.received, fact.Key)
	return ev, nil
}

func ruleOf(r config.EventRule) webhook.Rule {
	rule := webhook.Rule{Version: r.Version}
	if r.Object != nil {
		rule.Kind, rule.ID = r.Object.Kind, &r.Object.ID
	}
	return rule
}

// versionOf is the object's version: that of the payload, else the signed time of the event, else the
// time it was received. An error comes with the version that is used instead.
func versionOf(f webhook.Fact, received time.Time) (object.Version, error) {
	var unusable error
	if f.Version != "" {
		v, err := object.ParseVersion(f.Version)
		if err == nil {
			return v, nil
		}
		unusable = err
	}
	at := received
	if !f.SignedAt.IsZero() {
		at = f.SignedAt
	}
	v, _ := object.VersionAt(at) // inside the signature's window, or of our own clock: no year that has no text
	return v, unusable
}
