package webhook_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"engang/shared/webhook"
)

// Every request that a running WooCommerce 7.3 made, with the secret that it had then.
func TestEveryWooCommerceCapture(t *testing.T) {
	s := row(t, woo)
	pings, deliveries := 0, 0
	keys := map[string]string{} // event key by topic and body
	for _, c := range captures(t, "woocommerce.jsonl") {
		req := c.request(same)
		_, ping := s.Handshake(req)
		if ping == c.Signed {
			t.Errorf("%s: ping %v, signed %v", c.Name, ping, c.Signed)
		}
		if ping {
			pings++
			continue
		}
		deliveries++
		if err := s.Verify(req, held("an older secret", c.Secret), webhook.Expect{Source: "http://127.0.0.1:8081"}, time.Unix(c.Now, 0)); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
		req.Body[len(req.Body)/2] ^= 1
		if err := s.Verify(req, held(c.Secret), webhook.Expect{}, noon); !errors.Is(err, webhook.ErrSignature) {
			t.Errorf("%s: a changed body gave %v", c.Name, err)
		}
		req.Body[len(req.Body)/2] ^= 1
		keys[req.Header.Get("X-WC-Webhook-Topic")+" "+string(c.Body)] = checkWooFact(t, c, req).Key
	}
	if pings != 10 || deliveries < 30 {
		t.Errorf("%d pings and %d deliveries: the file is not what it was", pings, deliveries)
	}
	byKey := map[string]bool{}
	for _, key := range keys {
		byKey[key] = true
	}
	if len(byKey) != len(keys) {
		t.Errorf("%d different contents have %d event keys", len(keys), len(byKey))
	}
}

// checkWooFact holds a fact against what another reader of JSON finds in the body.
func checkWooFact(t *testing.T, c capture, req webhook.Request) webhook.Fact {
	t.Helper()
	fact := identify(t, woo, req, webhook.Rule{})
	var body struct {
		ID      json.Number
		Changed string `json:"date_modified_gmt"`
	}
	if err := json.Unmarshal(c.Body, &body); err != nil {
		t.Fatal(err)
	}
	topic := req.Header.Get("X-WC-Webhook-Topic")
	kind := strings.Split(topic, ".")[0]
	if kind == "action" { // {"action":…,"arg":24}: it names no object by itself
		kind = ""
	}
	if fact.Type != topic || fact.Kind != kind || fact.ObjectID != body.ID.String() || fact.Version != body.Changed {
		t.Errorf("%s: %+v", c.Name, fact)
	}
	if (fact.Flaw == "") != (kind != "") || fact.DeliveryID != req.Header.Get("X-WC-Webhook-Delivery-ID") {
		t.Errorf("%s: flaw %q, delivery id %q", c.Name, fact.Flaw, fact.DeliveryID)
	}
	return fact
}

// Six products in one batch call: six deliveries with one delivery id are six events.
func TestOneDeliveryIDOfABurstIsManyEvents(t *testing.T) {
	keys := map[string]bool{}
	n := 0
	for _, c := range captures(t, "woocommerce.jsonl") {
		if req := c.request(same); req.Header.Get("X-WC-Webhook-Delivery-ID") == "f30f46b10ac4a51f2029258d0afa1c7d" {
			n++
			keys[identify(t, woo, req, webhook.Rule{}).Key] = true
		}
	}
	if n != 6 || len(keys) != 6 {
		t.Errorf("%d deliveries with one id gave %d events", n, len(keys))
	}
}

// Weblate signs whole seconds and sends fractions; its secret has no prefix, its body has no type.
func TestEveryWeblateCapture(t *testing.T) {
	s := row(t, standard)
	all := captures(t, "weblate.jsonl")
	for _, c := range all {
		req := c.request(same)
		if !strings.Contains(req.Header.Get("Webhook-Timestamp"), ".") {
			t.Errorf("%s has no fraction: the file is not what it was", c.Name)
		}
		if err := s.Verify(req, held(c.Secret), webhook.Expect{}, time.Unix(c.Now, 0)); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
		late := with(req, "Webhook-Timestamp", "1795982921.9") // another second, which nobody signed
		if c.Now == 1795982920 {
			if err := s.Verify(late, held(c.Secret), webhook.Expect{}, noon); !errors.Is(err, webhook.ErrSignature) {
				t.Errorf("%s at another second: %v", c.Name, err)
			}
		}
		if _, err := s.Type(req, decoded(t, c.Body)); !errors.Is(err, webhook.ErrMalformed) {
			t.Errorf("%s: type without a type: %v", c.Name, err)
		}
	}
	if len(all) < 8 {
		t.Errorf("only %d captures", len(all))
	}
}
