package integration_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"engang/infra/local"
	"engang/shared/secrets"
	"engang/shared/webhook"
)

// shopOrder is an order of Shopify with as many digits as they have.
func shopOrder(paid, updated string) string {
	return fmt.Sprintf(`{"id":820982911946154508,"admin_graphql_api_id":"gid://shopify/Order/820982911946154508","financial_status":%q,"total_price":"199.00","updated_at":%q}`, paid, updated)
}

const shopOrderID = "order:820982911946154508"

func (s *system) shopify(topic, body, webhookID string) answer {
	s.t.Helper()
	return s.from("shopify", "listing", body, "X-Shopify-Topic", topic, "X-Shopify-Webhook-Id", webhookID, "X-Shopify-Shop-Domain", "example.myshopify.com")
}

func TestCaseSHO01IdenticalOrdersAtTheSameMoment(t *testing.T) {
	for _, c := range []struct {
		name string
		id   func(i int) string
	}{
		{"the webhook id is the same", func(int) string { return "w1" }},
		{"each has a webhook id of its own", func(i int) string { return fmt.Sprint("w", i) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachForCase(t, func(t *testing.T, s *system) {
				answers, faults := make([]answer, 5), make([]error, 5)
				requests := make([]*http.Request, 5)
				for i := range requests {
					h := http.Header{"X-Shopify-Topic": {"orders/create"}, "X-Shopify-Webhook-Id": {c.id(i)}}
					requests[i] = s.signed("listing", "shopify", h, shopOrder("paid", "2026-11-29T12:00:00Z"))
				}
				atOnce(5, func(i int) { answers[i], faults[i] = s.try(requests[i]) })
				counts := map[string]int{}
				for i, a := range answers {
					if faults[i] != nil || a.Code != http.StatusOK || a.Event != answers[0].Event {
						t.Errorf("answered %d %s, %v", a.Code, a.Body, faults[i])
					}
					counts[a.Status]++
				}
				if counts["accepted"] != 1 || counts["duplicate"] != 4 {
					t.Errorf("answers %v", counts)
				}
				s.putFirst()
				s.rest()
				s.holdsOf(shopOrderID, 1, 1, 1, 1)
				if o := s.object(shopOrderID); o.Deliveries != 5 {
					t.Errorf("%d deliveries", o.Deliveries)
				}
			})
		})
	}
}

// putFirst demands that nothing is asked of the table about an event before the one conditional put: there
// is nothing between a look and a write.
func (s *system) putFirst() {
	s.t.Helper()
	first := map[string]string{}
	for _, c := range s.Record().Calls() {
		if c.Function == "receiver" && c.Service == "dynamodb" && c.Name != "read config" && first[c.Invocation] == "" {
			first[c.Invocation] = c.Name
		}
	}
	for _, name := range first {
		if name != "W1 put event" {
			s.t.Errorf("a receiver began with %q", name)
		}
	}
	if len(first) == 0 {
		s.t.Error("no receiver wrote anything")
	}
}

func TestCaseSHO02UpdatedBeforeCreate(t *testing.T) {
	eachForCase(t, func(t *testing.T, s *system) {
		updated := s.accept(s.shopify("orders/updated", shopOrder("paid", "2026-11-29T12:00:01Z"), "w1"))
		s.settle()
		created := s.accept(s.shopify("orders/create", shopOrder("pending", "2026-11-29T12:00:00Z"), "w2"))
		s.rest()
		s.outcomes(updated, "completed", created, "superseded")
		s.by(shopOrderID, updated)
		s.holdsOf(shopOrderID, 2, 2, 1, 1)
		if letters := s.deadLetters(); len(letters) != 0 {
			t.Errorf("%d dead letters", len(letters))
		}
	})
}

// Two secrets are taken while the sender changes from one to the other, and the old one no longer once it
// is retired, also by functions that have read it.
func TestCaseSHO03OldSecretStillUsedAfterRevocation(t *testing.T) {
	loggedForCase(t, func(t *testing.T, s *system, log *logbook) {
		signedWith := func(n, id int) *http.Request {
			body := shopOrder("paid", fmt.Sprintf("2026-11-29T12:00:%02dZ", id))
			r := s.signed("listing", "shopify", http.Header{"X-Shopify-Topic": {"orders/updated"}}, body)
			forged("shopify", local.Secret("shopify", secrets.Ref(fmt.Sprintf("ssm:hooks/listing/%d", n))))(r)
			return r
		}
		s.accept(s.send(signedWith(1, 1)))
		s.accept(s.send(signedWith(2, 2)))
		s.holdsSecrets("listing", "ssm:hooks/listing/1")
		log.take()
		s.refused(http.StatusUnauthorized, s.send(signedWith(2, 3)))
		if text := log.take(); !strings.Contains(text, webhook.ErrSignature.Error()) || !strings.Contains(text, `"SignatureRefused":1`) {
			t.Errorf("the log does not say and count it: %s", text)
		}
		s.accept(s.send(signedWith(1, 4)))
		if n := len(s.items().Events()); n != 3 {
			t.Errorf("%d events", n)
		}
	})
}

// What is verified and kept is what was sent, whatever separates its lines; the model sees a line end in
// that place, and every other character.
func TestCaseSHO05LineSeparatorsInAPayload(t *testing.T) {
	const title = "Merino\u20281\u20282 sweater \u20283\u20284"
	escaped := strings.ReplaceAll(title, "\u2028", `\u2028`)
	for name, written := range map[string]string{"escaped": escaped, "as they are": title} {
		t.Run(name, func(t *testing.T) {
			eachWithEar(t, nil, func(t *testing.T, s *system, e *ear) {
				body := `{"id":9554194432293,"title":"` + written + `","vendor":"a\/b","updated_at":"2026-11-29T18:59:57+01:00"}`
				id := s.accept(s.shopify("products/update", body, "w1"))
				s.rest()
				if ev := s.event(id); ev.Outcome != "completed" || !bytes.Equal(s.body(id), []byte(body)) {
					t.Errorf("event %+v, body %q", ev, s.body(id))
				}
				var input struct{ Title, Vendor string }
				heard := e.heard()
				if len(heard) != 1 || json.Unmarshal([]byte(heard[0]), &input) != nil || input.Title != strings.ReplaceAll(title, "\u2028", "\n") || input.Vendor != "a/b" {
					t.Errorf("the model was asked about %q", heard)
				}
			})
		})
	}
}

func TestCaseSHO07SameOrderAgainAfterAFastAnswer(t *testing.T) {
	eachForCase(t, func(t *testing.T, s *system) {
		body := shopOrder("paid", "2026-11-29T12:00:00Z")
		id := s.accept(s.shopify("orders/create", body, "w1"))
		s.settle()
		for i := range 4 {
			before := s.Record().Counts()
			s.repeated(id, s.shopify("orders/create", body, fmt.Sprint("w", i+2)))
			cost := s.since(before)
			delete(cost, "read event") // of an engine that does not send the item with a refusal
			if len(cost) != 2 || cost["W1 put event"] != 1 || cost["SEEN"] != 1 {
				t.Errorf("copy %d cost %v", i+2, cost)
			}
		}
		s.rest()
		s.holdsOf(shopOrderID, 1, 1, 1, 1)
		if e := s.event(id); e.Deliveries != 5 || e.ExpiresAt == nil || e.ExpiresAt.Before(time.Now().AddDate(0, 0, 29)) {
			t.Errorf("event %+v, want it kept for longer than a sender repeats", e)
		}
	})
	order := webhook.Request{Method: http.MethodPost, Header: http.Header{"X-Shopify-Topic": {"orders/create"}}, Body: []byte(shopOrder("paid", "2026-11-29T12:00:00Z"))}
	at := time.Date(2026, 11, 29, 20, 0, 0, 0, time.UTC)
	if keys := keysOf(t, "shopify", order, at, at.Add(8*time.Hour), at.AddDate(0, 0, 3)); keys[0] != keys[1] || keys[0] != keys[2] {
		t.Errorf("the key changes with the time: %v", keys)
	}
}
