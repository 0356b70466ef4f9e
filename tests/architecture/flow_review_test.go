package architecture_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// review decides about what waits: a draft is approved, and a failure dismissed.
func (f flow) review(t *testing.T, contact string) {
	t.Helper()
	for id, fault := range map[string]string{"c_draft": "model:missing", "c_failed": "model:refusal"} {
		f.faults(t, fault)
		event := f.deliver(t, "crm", strings.Replace(contact, "c_1", id, 1), "msg_"+id, "accepted")
		f.work(t)
		f.wait(t, event, map[string]string{"c_draft": "settled", "c_failed": "parked"}[id])
	}
	var list struct {
		Items []struct{ Kind, ID, Object, Digest string }
	}
	if err := json.Unmarshal(f.send(t, http.MethodGet, "/api/review", http.Header{}, nil), &list); err != nil {
		t.Fatal(err)
	}
	decided := 0
	for _, w := range list.Items {
		switch w.Object {
		case "contact:c_draft":
			f.api(t, http.MethodPost, "/api/review/approve", `{"id":"`+w.ID+`","digest":"`+w.Digest+`","reason":"reads well"}`)
		case "contact:c_failed":
			f.api(t, http.MethodPost, "/api/review/dismiss", `{"id":"`+w.ID+`","reason":"a test"}`)
		default:
			continue
		}
		decided++
	}
	if decided != 2 {
		t.Fatalf("waiting %+v", list.Items)
	}
}
