package webhook_test

import (
	"strings"
	"testing"

	"engang/shared/webhook"
)

// The topic is not signed. Every body that a running shop sent fits its own topic, and once it says more than an id, no
// topic of another kind.
func TestEveryWooCommerceCaptureFitsItsTopicAlone(t *testing.T) {
	const unfit = "the topic, which is not signed, does not fit the body"
	kinds := map[string]int{}
	for _, c := range captures(t, "woocommerce.jsonl") {
		req := c.request(same)
		topic := req.Header.Get("X-WC-Webhook-Topic")
		own, what, _ := strings.Cut(topic, ".")
		if topic == "" || own == "action" {
			continue
		}
		bare := what == "deleted"
		if !bare {
			kinds[own]++
		}
		for _, kind := range []string{"product", "order", "coupon", "customer"} {
			for _, happened := range []string{".created", ".updated", ".deleted"} {
				fact := identify(t, woo, with(req, "X-WC-Webhook-Topic", kind+happened), webhook.Rule{})
				want := ""
				if kind != own && !bare {
					want = unfit
				}
				if fact.Flaw != want || (fact.ObjectID == "") != (want != "") || fact.Key == "" {
					t.Errorf("%s of %s as %s: %+v", c.Name, topic, kind+happened, fact)
				}
			}
		}
	}
	if len(kinds) != 4 {
		t.Errorf("objects of the kinds %v: the file is not what it was", kinds)
	}
}

// A false alarm would park what is right: only what is certain is a misfit.
func TestBodiesOfWooCommerceThatMayBeWhatTheTopicSays(t *testing.T) {
	tests := []struct{ name, topic, body, flaw string }{
		{"a few members of a product", "product.updated", `{"id":7,"name":"Chair"}`, ""},
		{"an order whose plugin writes a sku", "order.updated", `{"id":7,"sku":"A1","regular_price":"9","line_items":[]}`, ""},
		{"a product that a plugin gives items and a number", "product.updated", `{"id":7,"sku":"A1","line_items":[],"number":"7"}`, ""},
		{"one member of another kind alone", "order.updated", `{"id":7,"sku":"A1"}`, ""},
		{"two members of another kind", "order.updated", `{"id":7,"sku":"A1","regular_price":"9"}`, "fit"},
		{"what a plugin calls a subscription is like an order", "subscription.updated", `{"id":7,"line_items":[],"order_key":"wc_order_x"}`, ""},
		{"an order of old", "order.created", payload(t, "woocommerce-order.created.json"), ""},
		{"a product of the newest shop", "product.updated", payload(t, "woocommerce-product.updated.json"), ""},
		{"that product as an order", "order.updated", payload(t, "woocommerce-product.updated.json"), "fit"},
		{"that order as a product", "product.updated", payload(t, "woocommerce-order.created.json"), "fit"},
		{"that order as a customer", "customer.updated", payload(t, "woocommerce-order.created.json"), "fit"},
		{"a deletion", "coupon.deleted", `{"id":7}`, ""},
	}
	for _, tt := range tests {
		fact := identify(t, woo, wooRequest(tt.topic, tt.body), webhook.Rule{})
		if (fact.Flaw != "") != (tt.flaw != "") || !strings.Contains(fact.Flaw, tt.flaw) {
			t.Errorf("%s: %+v", tt.name, fact)
		}
	}
}
