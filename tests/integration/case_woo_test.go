package integration_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"engang/infra/local"
	"engang/infra/local/wire"
	"engang/shared/secrets"
	"engang/shared/webhook"
)

func TestCaseWOO01SameWebhookFiringSeveralTimes(t *testing.T) {
	eachForCase(t, func(t *testing.T, s *system) {
		o := order{id: 1201, status: "processing"}
		id := s.accept(s.order("order.updated", o.body(), "X-Wc-Webhook-Delivery-Id", "d1"))
		s.repeated(id, s.order("order.updated", o.body(), "X-Wc-Webhook-Delivery-Id", "d2"))
		s.settle()
		tick()
		s.repeated(id, s.order("order.updated", o.body(), "X-Wc-Webhook-Delivery-Id", "d3"))
		s.rest()
		s.holdsOf(o.object(), 1, 1, 1, 1)
		if e := s.event(id); e.Deliveries != 3 || e.LastSeenAt == nil || !e.LastSeenAt.After(e.ReceivedAt) || e.DeliveryID != "d1" {
			t.Errorf("an operator sees %+v", e)
		}
	})
}

func TestCaseWOO02CreatedAndUpdatedCarryTheSameData(t *testing.T) {
	eachForCase(t, func(t *testing.T, s *system) {
		o := order{id: 1201, status: "processing"}
		created := s.accept(s.order("order.created", o.body(), "X-Wc-Webhook-Id", "11"))
		s.settle()
		r := s.orderRequest("order.updated", o.body(), "X-Wc-Webhook-Id", "12")
		forged("woocommerce", local.Secret("woocommerce", "ssm:hooks/woo-orders/2"))(r) // the other webhook has a secret of its own
		updated := s.accept(s.send(r))
		s.rest()
		s.outcomes(created, "completed", updated, "completed")
		s.holdsOf(o.object(), 2, 1, 1, 1)
		s.by(o.object(), updated)
		if op := s.object(o.object()).Operations[0]; len(op.Events) != 2 || strings.Contains(op.ID, "order.") {
			t.Errorf("operation %+v, want one for both, without a topic in its name", op)
		}
	})
}

// A key made of the delivery id would take the second order for a repeat of the first.
func TestCaseWOO03DeliveryIDIsAHashOfWebhookAndSecond(t *testing.T) {
	eachForCase(t, func(t *testing.T, s *system) {
		const same = "f30f46b10ac4a51f2029258d0afa1c7d"
		one, two := order{id: 1001, status: "processing"}, order{id: 1002, status: "processing"}
		first := s.accept(s.order("order.updated", one.body(), "X-Wc-Webhook-Id", "27", "X-Wc-Webhook-Delivery-Id", same))
		second := s.accept(s.order("order.updated", two.body(), "X-Wc-Webhook-Id", "27", "X-Wc-Webhook-Delivery-Id", same))
		s.repeated(first, s.order("order.updated", one.body(), "X-Wc-Webhook-Id", "27", "X-Wc-Webhook-Delivery-Id", "of the next second"))
		s.rest()
		s.by(one.object(), first)
		s.by(two.object(), second)
		if first == second || s.event(first).DeliveryID != same || s.event(second).DeliveryID != same || s.calls() != 2 {
			t.Errorf("events %s and %s, %d calls", first, second, s.calls())
		}
	})
}

func TestCaseWOO04PingWithOnlyAWebhookID(t *testing.T) {
	eachForCase(t, func(t *testing.T, s *system) {
		form := func(body string) answer {
			t.Helper()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/hooks/woo-orders", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			return s.send(r)
		}
		before := s.Record().Counts()
		for range 3 {
			if a := form("webhook_id=12"); a.Code != http.StatusOK || a.Body != `{"status":"pong"}` {
				t.Errorf("answered %d %s", a.Code, a.Body)
			}
		}
		if asked := s.asked(before); len(asked) != 1 || asked[0] != "read config" {
			t.Errorf("a ping led to %v", asked)
		}
		for _, other := range []string{"webhook_id=", "webhook_id=x", "webhook_id=12&x=1", "x=1&webhook_id=12", "webhook_id=12\n", " webhook_id=12", "{}", order{id: 1}.body(), "x"} {
			s.refused(http.StatusUnauthorized, form(other))
		}
		if left := s.stored(); len(left) != 0 || s.step() != 0 || s.calls() != 0 {
			t.Errorf("stored %v", left)
		}
	})
}

func TestCaseWOO07SignatureHeaderArrivesBlank(t *testing.T) {
	loggedForCase(t, func(t *testing.T, s *system, log *logbook) {
		r := s.orderRequest("order.updated", order{id: 1, status: hush}.body())
		r.Header.Set("X-Wc-Webhook-Signature", "")
		s.refused(http.StatusUnauthorized, s.send(r))
		text := log.take()
		lines := deliveries(t, text)
		if len(lines) != 1 || !strings.Contains(fmt.Sprint(lines[0]["err"]), "X-Wc-Webhook-Signature is blank") || !strings.Contains(text, `"SignatureRefused":1`) {
			t.Errorf("the log does not say and count it: %s", text)
		}
		quiet(t, "the log", text)
		if left := s.stored(); len(left) != 0 || s.step() != 0 {
			t.Errorf("stored %v", left)
		}
	})
}

func TestCaseWOO08VerifierAcceptsAnEmptySecret(t *testing.T) {
	eachForCase(t, func(t *testing.T, s *system) {
		body := order{id: 1, status: "processing"}.body()
		s.holdsSecrets("woo-orders", "ssm:hooks/woo-orders/1")
		if err := s.PutSecret(t.Context(), "ssm:hooks/woo-orders/1", ""); err == nil {
			t.Error("the parameter store takes an empty secret")
		}
		for _, empty := range []string{" ", "   ", "\n"} {
			if err := s.PutSecret(t.Context(), "ssm:hooks/woo-orders/1", empty); err != nil {
				t.Fatal(err)
			}
			for _, key := range []string{"", empty} {
				mac := hmac.New(sha256.New, []byte(key))
				mac.Write([]byte(body))
				r := s.orderRequest("order.updated", body)
				r.Header.Set("X-Wc-Webhook-Signature", base64.StdEncoding.EncodeToString(mac.Sum(nil)))
				s.unavailable(s.send(r))
			}
			s.unavailable(s.order("order.updated", body)) // nor is what the shop signs verified
		}
		if left := s.stored(); len(left) != 0 || s.step() != 0 {
			t.Errorf("stored %v", left)
		}
		for _, text := range []string{"", " ", "short", "changeme"} { // refused where it is configured
			if err := schemeOf(t, "woocommerce").CheckSecret(secrets.NewValue(text)); err == nil {
				t.Errorf("%q may be configured", text)
			}
		}
	})
}

// What we owe a shop that gives up after a few failures: 503 and nothing acknowledged while the store is
// throttled, and the first delivery after it is taken. Nobody can send again what the shop never does.
func TestCaseWOO09WebhookSwitchedOffAfterFailures(t *testing.T) {
	sideBySide(t)
	troubled(t, func(t *testing.T, s *system, all *trouble) {
		all.is(every("W1 put event", wire.Before, wire.Fail))
		answers, faults := make([]answer, 7), make([]error, 7)
		requests := make([]*http.Request, 7)
		for i := range requests {
			requests[i] = s.signed("woo-shop", "woocommerce", wooTopic("product.updated"), product{ID: 1 + i, Name: "Chair"}.Body())
		}
		atOnce(7, func(i int) { answers[i], faults[i] = s.try(requests[i]) })
		for i, a := range answers {
			if faults[i] != nil {
				t.Fatal(faults[i])
			}
			s.unavailable(a)
		}
		all.is(nil)
		if left := s.stored(); len(left) != 0 {
			t.Errorf("stored %v", left)
		}
		s.accept(s.product(product{ID: 9, Name: "Chair"}))
		s.rest()
	})
}

func TestCaseWOO10RedirectsLoseEventsInSilence(t *testing.T) {
	eachForCase(t, func(t *testing.T, s *system) {
		body := order{id: 1, status: "processing"}.body()
		for _, path := range []string{
			"", "/", "/hooks", "/hooks/", "/hooks/woo-orders", "/hooks/woo-orders/", "/hooks//woo-orders", "//hooks/woo-orders", "/hooks/./woo-orders",
			"/hooks/x/../woo-orders", "/HOOKS/woo-orders", "/hooks/Woo-Orders", "/hooks/woo-orders?x=//y", "/hooks/woo%2Dorders", "/hooks/none", "/api", "/local",
		} {
			for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodHead, http.MethodPut} {
				r := s.orderRequest("order.updated", body)
				target, err := http.NewRequestWithContext(t.Context(), method, s.URL()+path, r.Body)
				if err != nil {
					t.Fatal(err)
				}
				target.Header = r.Header
				a, err := s.try(target) // fails where it is redirected
				if err != nil || a.Code >= 300 && a.Code < 400 || a.Code == http.StatusGone {
					t.Errorf("%s %q: %d, %v", method, path, a.Code, err)
				}
			}
		}
		probe := s.orderRequest("order.updated", body)
		probe.Header.Del("X-Wc-Webhook-Signature")
		s.refused(http.StatusUnauthorized, s.send(probe)) // what a probe of a registered address must see
		s.rest()
		if n := len(s.items().Events()); n != 1 {
			t.Errorf("%d events, want the one of the right address", n)
		}
	})
}

// A shop that sends for ever to an address that is gone, or with a secret that is: each costs nothing that
// is paid for.
func TestCaseWOO16FloodFromARetiredWebhook(t *testing.T) {
	eachForCase(t, func(t *testing.T, s *system) {
		const flood = 150
		body := `{"code":"woocommerce_rest_product_invalid_id","message":"gone","data":{"status":404}}`
		before := s.Record().Counts()
		for range flood {
			r := s.orderRequest("order.updated", body)
			r.URL.Path = "/hooks/woo-retired"
			s.refused(http.StatusNotFound, s.send(r))
		}
		if cost := s.since(before); len(cost) != 1 || cost["read config"] != 1 {
			t.Errorf("%d deliveries to an address that is gone cost %v", flood, cost)
		}
		s.order("order.updated", "{}") // the caches know the endpoint and its secrets
		s.rest()
		before, stored := s.Record().Counts(), len(s.stored())
		for range flood {
			r := s.orderRequest("order.updated", body)
			forged("woocommerce", "the-secret-of-last-year")(r)
			s.refused(http.StatusUnauthorized, s.send(r))
		}
		if cost := s.since(before); len(cost) != 0 || len(s.stored()) != stored || s.step() != 0 {
			t.Errorf("%d deliveries signed with an old secret cost %v", flood, cost)
		}
	})
}

func TestCaseWOO17TrashLooksLikeDelete(t *testing.T) {
	eachForCase(t, func(t *testing.T, s *system) {
		o := order{id: 1001, status: "processing", modified: earlierInTheDay}
		first := s.accept(s.order("order.updated", o.body()))
		s.settle()
		trashed := s.accept(s.order("order.deleted", `{"id":1001}`))
		s.settle()
		s.repeated(trashed, s.order("order.deleted", `{"id":1001}`))
		s.outcomes(trashed, "no recipe")
		s.holdsOf(o.object(), 2, 1, 1, 1)
		s.by(o.object(), first) // nothing of its history is gone

		o.status, o.modified = "completed", laterInTheDay // restored in silence, then changed
		second := s.accept(s.order("order.updated", o.body()))
		s.rest()
		s.by(o.object(), second)
		s.holdsOf(o.object(), 3, 2, 1, 2)
		if e := s.event(trashed); e.Type != "order.deleted" || e.Object != o.object() {
			t.Errorf("the deletion is kept as %+v", e)
		}
	})
	deletion := webhook.Request{Method: http.MethodPost, Header: wooTopic("order.deleted"), Body: []byte(`{"id":1001}`)}
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	if keys := keysOf(t, "woocommerce", deletion, at, at.Add(time.Hour), at.AddDate(0, 1, 0)); keys[0] != keys[1] || keys[0] == keys[2] {
		t.Errorf("keys %v: the second deletion, a month later, is another event", keys)
	}
}

func TestCaseWOO18DateModifiedDoesNotMoveForMetadata(t *testing.T) {
	eachForCase(t, func(t *testing.T, s *system) {
		o := order{id: 1201, status: "processing", extra: `,"meta_data":[]`}
		first := s.accept(s.order("order.updated", o.body()))
		s.settle()
		o.extra = `,"meta_data":[{"id":1,"key":"gift","value":"yes"}]`
		second := s.accept(s.order("order.updated", o.body()))
		s.rest()
		s.outcomes(first, "completed", second, "completed")
		s.by(o.object(), second)
		s.holdsOf(o.object(), 2, 1, 1, 1) // the recipe does not read what changed
		tick()
		o.status = "completed"
		third := s.accept(s.order("order.updated", o.body()))
		s.rest()
		s.by(o.object(), third)
		s.holdsOf(o.object(), 3, 2, 1, 2)
	})
}
