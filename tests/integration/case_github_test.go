package integration_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"engang/shared/control"
	"engang/shared/webhook"
)

func issue(id int, title string) string {
	return fmt.Sprintf(`{"action":"opened","issue":{"id":%d,"number":42,"title":%q,"state":"open","updated_at":"2026-11-29T17:59:58Z"},"repository":{"id":700000001,"full_name":"example-org/importer"}}`, id, title)
}

func (s *system) github(endpoint, delivery, body string) answer {
	s.t.Helper()
	return s.from("github", endpoint, body, "X-Github-Event", "issues", "X-Github-Delivery", delivery)
}

const guid = "72d3162e-cc78-11e3-81ab-4c9367dc0958"

func TestCaseDED02ManualRedeliveryIsInvisible(t *testing.T) {
	eachForCase(t, func(t *testing.T, s *system) {
		id := s.accept(s.github("importer", guid, issue(3000000001, "Import fails")))
		s.settle()
		before, first := s.Record().Counts(), s.event(id)
		tick()
		s.repeated(id, s.github("importer", guid, issue(3000000001, "Import fails")))
		if cost := s.since(before); cost["send event"] != 0 || cost["model call"] != 0 {
			t.Errorf("a redelivery cost %v", cost)
		}
		s.rest()
		s.holdsOf("issue:3000000001", 1, 1, 1, 1)
		if e := s.event(id); first.Deliveries != 1 || e.Deliveries != 2 || e.LastSeenAt == nil || !e.LastSeenAt.After(first.ReceivedAt) {
			t.Errorf("an operator does not see the redelivery: %+v", e)
		}
		var would, did control.Replayed
		s.done(&would, "replay", "--since", "1h", "--endpoint", "importer", "--dry-run")
		s.done(&did, "replay", "--since", "1h", "--endpoint", "importer", "--reason", "asked for by hand")
		s.rest()
		if would.Finished != 1 || would.WouldRun != 0 || did.Finished != 1 || did.Sent != 0 || s.calls() != 1 {
			t.Errorf("a replay would do %+v, and did %+v; %d calls", would, did, s.calls())
		}
	})
	r := webhook.Request{Method: http.MethodPost, Header: http.Header{"X-Github-Event": {"issues"}}, Body: []byte(issue(1, "x"))}
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	if keys := keysOf(t, "github", r, at, at.AddDate(0, 0, 3)); keys[0] != keys[1] {
		t.Errorf("three days later it is another event: %v", keys)
	}
}

func TestCaseDED03SameDeliveryTwoPayloads(t *testing.T) {
	eachForCase(t, func(t *testing.T, s *system) {
		one := s.accept(s.github("importer", guid, issue(3000000001, "Import fails")))
		other := s.accept(s.github("importer-docs", guid, issue(3000000002, "Import is not explained")))
		s.settle()
		same := s.accept(s.github("importer-docs", guid, issue(3000000001, "Import fails"))) // another endpoint has another event of it
		s.settle()
		third := s.accept(s.github("importer", guid, issue(3000000003, "Export fails"))) // the header is not signed: it drops nothing
		s.rest()
		for object, id := range map[string]string{"issue:3000000002": other, "issue:3000000003": third} {
			s.by(object, id)
		}
		s.outcomes(one, "completed", other, "completed", same, "completed", third, "completed")
		for _, id := range []string{one, other, same, third} {
			if e := s.event(id); e.DeliveryID != guid || e.Deliveries != 1 || len(e.Conflicts) != 0 {
				t.Errorf("event %+v", e)
			}
		}
	})
}
