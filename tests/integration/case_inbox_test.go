package integration_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"engang/infra/local"
	"engang/infra/local/wire"
	"engang/shared/document"
	"engang/shared/secrets"
)

func TestCaseDED01MarkedSeenBeforeDispatch(t *testing.T) {
	sideBySide(t)
	troubled(t, func(t *testing.T, s *system, all *trouble) {
		killed, failed := product{ID: 1, Name: "Chair"}, product{ID: 2, Name: "Table"}
		all.is(once("W1 put event", wire.After, wire.Kill)) // stored, and the process dies
		if a := s.product(killed); a.Code < 500 {
			t.Errorf("answered %d %s", a.Code, a.Body)
		}
		all.is(nil)
		if s.step() != 0 {
			t.Fatal("something was sent")
		}
		again := s.product(killed) // a repeat of what was never sent is a duplicate, and sends it
		if again.Status != "duplicate" || s.step() != 1 || s.event(again.Event).Outcome != "completed" {
			t.Errorf("answered %d %s, event %+v", again.Code, again.Body, s.event(again.Event))
		}
		all.is(every("send event", wire.Before, wire.Fail))
		id := s.accept(s.product(failed)) // it is stored: the reconciler sends what nobody repeats
		all.is(nil)
		if s.step() != 0 {
			t.Fatal("something was sent")
		}
		s.rest()
		if e := s.event(id); e.Outcome != "completed" || e.Sends != 1 || s.calls() != 2 {
			t.Errorf("event %+v, %d calls", e, s.calls())
		}
	})
}

// paper delivers a signed body of the sender without a row.
func (s *system) paper(body string) answer {
	s.t.Helper()
	mac := hmac.New(sha256.New, []byte(local.Secret("generic", secrets.Ref("ssm:hooks/papers/1"))))
	mac.Write([]byte(body))
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.URL()+"/hooks/papers", strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Papers-Signature", hex.EncodeToString(mac.Sum(nil)))
	return s.send(r)
}

func paper(title, created string) string {
	return fmt.Sprintf(`{"event":"document.signed","createdAt":%q,"payload":{"id":7,"title":%q}}`, created, title)
}

func TestCaseDED06BodyHashCannotTellARepeatFromARetry(t *testing.T) {
	eachForCase(t, func(t *testing.T, s *system) {
		var ids []string
		for i, status := range []string{"on-hold", "processing", "on-hold"} {
			o := order{id: 1201, status: status, modified: fmt.Sprintf("2026-11-29T1%d:00:00", i)}
			ids = append(ids, s.accept(s.order("order.updated", o.body())))
			s.settle()
		}
		s.outcomes(ids[0], "completed", ids[1], "completed", ids[2], "completed")
		s.by("order:1201", ids[2])
		s.holdsOf("order:1201", 3, 2, 1, 2)

		// Nothing in these tells the third from a retry of the first: that is what it is taken for, that day.
		first := s.accept(s.paper(paper("Offer", "")))
		s.settle()
		second := s.accept(s.paper(paper("Contract", "")))
		s.settle()
		s.repeated(first, s.paper(paper("Offer", "")))
		s.rest()
		s.by("document:7", second)
	})
}

func TestCaseDED07RetriesCarryAFreshTimestampAndNoID(t *testing.T) {
	eachForCase(t, func(t *testing.T, s *system) {
		company := func(attempt, sent int) string {
			return fmt.Sprintf(`{"type":"notification_event","topic":"company.created","id":"notif_1","created_at":1795975198,"delivery_attempts":%d,"first_sent_at":%d,"data":{"item":{"type":"company","id":"531e","name":"Example","updated_at":1795975198}}}`, attempt, sent)
		}
		id := s.accept(s.from("intercom", "desk", company(1, 1795975199)))
		s.settle()
		s.repeated(id, s.from("intercom", "desk", company(2, 1795975260)))
		if e := s.event(id); len(e.Conflicts) != 0 || string(s.body(id)) != company(1, 1795975199) {
			t.Errorf("event %+v, body %s", e, s.body(id))
		}
		if a := s.from("intercom", "desk", strings.Replace(company(3, 1795975320), "Example", "Other", 1)); a.Status != "conflict" || a.Event != id {
			t.Errorf("another fact: %d %s", a.Code, a.Body)
		}
		// Of a sender that nobody knows no member can be left out: two events, and the work is done once.
		first := s.accept(s.paper(paper("Offer", "2026-11-29T12:00:00Z")))
		s.settle()
		second := s.accept(s.paper(paper("Offer", "2026-11-29T12:05:00Z")))
		s.rest()
		s.outcomes(first, "completed", second, "completed")
		s.holdsOf("document:7", 2, 1, 1, 2)
		if !strings.Contains(string(s.body(second)), "12:05:00") {
			t.Errorf("the body is not kept as it was sent: %s", s.body(second))
		}
	})
}

// deep is a contact with a value of its own three levels down.
func deep(inner string) string {
	return `{"type":"contact.created","timestamp":"2026-11-29T11:59:58Z","data":{"id":"c-9","company":"Oak","more":` + inner + `}}`
}

func TestCaseIDM04KeyOrderChangesTheHash(t *testing.T) {
	eachForCase(t, func(t *testing.T, s *system) {
		id := s.accept(s.contact("msg_1", deep(`{"a":{"b":[1,2],"c":1.0},"d":"x"}`)))
		s.settle()
		s.repeated(id, s.contact("msg_1", deep(`{"d":"x","a":{"c":1.0,"b":[1,2]}}`)))
		s.repeated(id, s.contact("msg_1", deep("{ \"d\":\"\\u0078\",\n\"a\":{\"c\":1.0,\"b\":[ 1, 2 ]}}")))
		for name, inner := range map[string]string{
			"another order in an array":                              `{"a":{"b":[2,1],"c":1.0},"d":"x"}`,
			"a number written in another way, which is another text": `{"a":{"b":[1,2],"c":1},"d":"x"}`,
		} {
			if a := s.contact("msg_1", deep(inner)); a.Status != "conflict" || a.Event != id {
				t.Errorf("%s: %d %s", name, a.Code, a.Body)
			}
		}
		// The same of what a recipe reads: an operation is named by its content.
		attributes := func(list string) string {
			return `{"id":7,"name":"Chair","date_modified_gmt":"2026-11-29T12:00:00","attributes":[` + list + `]}`
		}
		for i, list := range []string{
			`{"name":"Material","options":["oak","elm"]}`, `{"options":["oak","elm"],"name":"Material"}`, `{"name":"Material","options":["elm","oak"]}`,
		} {
			s.accept(s.updated(attributes(list)))
			s.settle()
			if n, want := len(s.object("product:7").Operations), max(1, i); n != want {
				t.Errorf("%d operations after %s, want %d", n, list, want)
			}
		}
		s.rest()
	})
}

// A mismatch is seen where the engine sends the stored item with the refusal, where it does not, while the
// event is open and once it is settled, and when the answer to the put was lost.
func TestCaseIDM05PayloadCheckSkippedOnTheFastPath(t *testing.T) {
	sideBySide(t)
	troubled(t, func(t *testing.T, s *system, all *trouble) {
		other := func(n int) string { return strings.Replace(contact, "oak", fmt.Sprint("elm ", n), 1) }
		mismatch := func(id string, n int) {
			t.Helper()
			if a := s.contact("msg_1", other(n)); a.Code != http.StatusOK || a.Status != "conflict" || a.Event != id {
				t.Errorf("answered %d %s", a.Code, a.Body)
			}
			if e := s.event(id); len(e.Conflicts) != n || e.Deliveries != 1 {
				t.Errorf("%d conflicts after %d, %d deliveries", len(e.Conflicts), n, e.Deliveries)
			}
		}
		id := s.accept(s.contact("msg_1", contact))
		mismatch(id, 1)
		s.settle()
		mismatch(id, 2)
		all.is(once("W1 put event", wire.After, wire.Fail))
		mismatch(id, 3)
		all.is(nil)
		s.rest()
		if e := s.event(id); e.Outcome != "completed" || s.calls() != 1 || string(s.body(id)) != contact {
			t.Errorf("event %+v, %d calls", e, s.calls())
		}
		listed := 0
		for _, i := range s.stored() {
			if strings.HasPrefix(i["sk"], "CONFLICT#") && i["oq"] == "review" {
				listed++
			}
		}
		if listed != 3 {
			t.Errorf("%d conflicts stand in the review list", listed)
		}
	})
}

func TestCaseSIG02JSONEncoderRewritesHTML(t *testing.T) {
	eachWithEar(t, nil, func(t *testing.T, s *system, e *ear) {
		const note, escaped = `5 > 3 & <b>`, `5 \u003e 3 \u0026 \u003cb\u003e`
		for i, text := range []string{note, escaped} {
			body := order{id: 1201, status: "processing", extra: `,"note":"` + text + `","n":1.50` + strings.Repeat(" ", i)}.body()
			id := s.accept(s.order("order.updated", body))
			s.settle()
			if ev := s.event(id); ev.Digest != "sha256:"+document.Digest([]byte(body)) || string(s.body(id)) != body {
				t.Errorf("event %+v is not of the bytes that were sent: %s", ev, s.body(id))
			}
		}
		s.rest()
		if heard := e.heard(); len(heard) != 1 || !strings.Contains(heard[0], note) {
			t.Errorf("the model was asked about %q, want once and unescaped", heard)
		}
		doc, err := document.Decode([]byte(`{"note":"` + escaped + `","n":1.50}`))
		if err != nil {
			t.Fatal(err)
		}
		if again, err := document.Canonical(doc); err != nil || string(again) != `{"n":1.50,"note":"`+note+`"}` {
			t.Errorf("the canonical form is %s, %v", again, err)
		}
	})
}
