package integration_test

import (
	"net/http"
	"testing"

	"engang/infra/local"
	"engang/shared/config"
)

const contactBatch = `[{"eventId":1,"subscriptionId":11,"portalId":62515,"appId":54321,"occurredAt":1795982400000,"subscriptionType":"contact.creation","attemptNumber":0,"objectId":123},
{"eventId":2,"subscriptionId":11,"portalId":62515,"appId":54321,"occurredAt":1795982400001,"subscriptionType":"contact.creation","attemptNumber":0,"objectId":124},
{"eventId":3,"subscriptionId":12,"portalId":62515,"appId":54321,"occurredAt":1795982400002,"subscriptionType":"contact.deletion","attemptNumber":0,"objectId":9}]`

const contactAlone = `[{"eventId":1,"subscriptionId":11,"portalId":62515,"appId":54321,"occurredAt":1795982400000,"subscriptionType":"contact.creation","attemptNumber":0,"objectId":123}]`

// A request makes the same signed request each time.
type request func(s *system) *http.Request

// batchOf is a delivery of HubSpot, signed over the address that it knows.
func batchOf(body string) request {
	return func(s *system) *http.Request {
		return s.signed("hub", "hubspot", http.Header{}, body)
	}
}

func TestADeliveryOfManyEventsIsWorkedOnEventByEvent(t *testing.T) {
	o := local.Options{Speed: calm, ConfigFiles: []string{"../../infra/local.yaml", "testdata/batch.yaml"}}
	each(t, o, func(t *testing.T, s *system) {
		id := s.accept(s.send(batchOf(contactBatch)(s)))
		s.accept(s.send(batchOf(contactAlone)(s))) // another delivery, of which the one event is the same
		s.rest()
		if a := s.send(batchOf(contactBatch)(s)); a.Status != "duplicate" || a.Event != id {
			t.Errorf("answered %d %s", a.Code, a.Body)
		}
		s.rest()
		if e := s.event(id); e.State != "settled" || e.Outcome != "split" || e.Reason != "left out of 3 events: 1 of the type contact.deletion, which the endpoint ignores" {
			t.Errorf("batch %+v", e)
		}
		for _, contact := range []string{"contact:123", "contact:124"} {
			if o := s.object(contact); len(o.Events) != 1 || len(o.Operations) != 1 || len(o.Results) != 1 {
				t.Errorf("%s: %+v", contact, o)
			}
		}
		if events := s.items().Events(); len(events) != 4 || s.calls() != 2 {
			t.Errorf("%d events, %d calls; want two deliveries and two contacts", len(events), s.calls())
		}
	})
}

// What was stored for its type is taken apart under the configuration of that time: of a type that is ignored by then
// nothing is stored, and the delivery says so.
func TestATypeThatIsIgnoredWhileADeliveryWaitsIsToldWithIt(t *testing.T) {
	o := local.Options{Speed: calm, ConfigFiles: []string{"../../infra/local.yaml", "testdata/batch.yaml"}}
	each(t, o, func(t *testing.T, s *system) {
		id := s.accept(s.send(batchOf(contactBatch)(s)))
		set := s.Config()
		for _, e := range set.Endpoints {
			if e.Name == "hub" {
				e.Events["contact.creation"] = config.EventRule{Ignore: true}
			}
		}
		if _, err := s.Apply(t.Context(), set); err != nil {
			t.Fatal(err)
		}
		s.rest()
		want := "left out of 3 events: 2 of the type contact.creation, which the endpoint ignores, 1 of the type contact.deletion, which the endpoint ignores"
		if e := s.event(id); e.Outcome != "split" || e.Reason != want || len(s.items().Events()) != 1 {
			t.Errorf("delivery %s %q, %d events", e.Outcome, e.Reason, len(s.items().Events()))
		}
	})
}
