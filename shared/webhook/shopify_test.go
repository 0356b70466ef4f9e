package webhook_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"engang/shared/document"
	"engang/shared/webhook"
)

const (
	shopifyProduct = `{"admin_graphql_api_id":"gid://shopify/Product/9554194432293","id":9554194432293,"title":"Merino sweater","updated_at":"2026-11-29T12:59:57+01:00"}`
	shopifyFlow    = `{"shop_id":"800000001","shopify_domain":"example-shop.myshopify.com","action_run_id":"b631","action_definition_id":"enrich","handle":"enrich-product","properties":{"note":"x","product_id":"gid://shopify/Product/9554194432293"}}`
	shopifyThin    = `{"topic":"Product","action":"update","data":{"product":{"id":"gid://shopify/Product/9554194432293"}}}`
)

var _ = add(sample{
	provider: "shopify", secret: "8f0c1d2e3b4a59687766554433221100", older: "00112233445566778899aabbccddeeff", body: shopifyProduct,
	header:    map[string]string{"X-Shopify-Topic": "products/update", "X-Shopify-Shop-Domain": "example-shop.myshopify.com"},
	signature: "X-Shopify-Hmac-Sha256",
	sum:       func(req webhook.Request, key string) string { return mac(key, string(req.Body)) },
	unfit: map[string]string{
		"access token of the Admin API": "shpat_0123456789abcdef0123456789abcdef",
		"access token of a custom app":  "shpca_0123456789abcdef0123456789abcdef",
		"fewer than 32":                 "0123456789abcdef012345678",
		"the client secret of the app":  "short",
		"nobody has filled in":          "YOUR-SECRET",
		"in quotation marks":            "'8f0c1d2e3b4a59687766554433221100'",
		"fewer than 32 characters; one": "test_secret_key",
	},
})

func TestShopifyFacts(t *testing.T) {
	raw := func(body string) string { return document.Digest([]byte(body)) }
	deleted := `{"id":9554194432293}`
	tests := []struct {
		name string
		req  webhook.Request
		want webhook.Fact
	}{
		{"a product", posted(shopifyProduct, "X-Shopify-Topic", "products/update", "X-Shopify-Hmac-Sha256", "x", "X-Shopify-Webhook-Id", "w1", "X-Shopify-Event-Id", "e1"),
			webhook.Fact{Type: "products/update", Key: "products/update#" + raw(shopifyProduct), DeliveryID: "w1", SenderID: "e1", Kind: "product", ObjectID: "9554194432293", Version: "2026-11-29T12:59:57+01:00"}},
		{"a deletion has no version: the received day is in the key", posted(deleted, "X-Shopify-Topic", "products/delete"),
			webhook.Fact{Type: "products/delete", Key: "products/delete#" + raw(deleted) + "#2026-11-29", Kind: "product", ObjectID: "9554194432293"}},
		{"an action of Flow is about the same object", posted(shopifyFlow, "X-Shopify-Hmac-Sha256", "x"),
			webhook.Fact{Type: "flow/enrich-product", Key: "flow#b631", SenderID: "b631", Kind: "product", ObjectID: "9554194432293"}},
		{"an action of Flow under a topic that somebody added", posted(shopifyFlow, "X-Shopify-Hmac-Sha256", "x", "X-Shopify-Topic", "orders/create"),
			webhook.Fact{Type: "flow/enrich-product", Key: "flow#b631", SenderID: "b631", Kind: "product", ObjectID: "9554194432293"}},
		{"Events", posted(shopifyThin, "Shopify-Topic", "Product", "Shopify-Action", "update", "Shopify-Hmac-Sha256", "x", "Shopify-Webhook-Id", "w2", "Shopify-Event-Id", "e2"),
			webhook.Fact{Type: "Product/update", Key: "Product/update#" + raw(shopifyThin) + "#w2", DeliveryID: "w2", SenderID: "e2", Kind: "product", ObjectID: "9554194432293"}},
		{"Events under another action than the signed one", posted(shopifyThin, "Shopify-Topic", "Order", "Shopify-Action", "delete", "Shopify-Hmac-Sha256", "x", "Shopify-Webhook-Id", "w2"),
			webhook.Fact{Type: "Product/update", Key: "Product/update#" + raw(shopifyThin) + "#w2", DeliveryID: "w2", Kind: "product", ObjectID: "9554194432293"}},
		{"a webhook whose body has a topic, and is none of Events", posted(`{"id":5,"topic":"x","data":{},"updated_at":"2026-11-29T12:00:00Z"}`, "X-Shopify-Topic", "products/update", "X-Shopify-Webhook-Id", "w3"),
			webhook.Fact{Type: "products/update", Key: "products/update#" + raw(`{"id":5,"topic":"x","data":{},"updated_at":"2026-11-29T12:00:00Z"}`), DeliveryID: "w3", Kind: "product", ObjectID: "5", Version: "2026-11-29T12:00:00Z"}},
		{"an order that was placed to try the shop", posted(`{"id":1,"test":true,"updated_at":"2026-11-29T12:00:00Z"}`, "X-Shopify-Topic", "orders/create"),
			webhook.Fact{Type: "orders/create", Key: "orders/create#" + raw(`{"id":1,"test":true,"updated_at":"2026-11-29T12:00:00Z"}`), Kind: "order", ObjectID: "1", Version: "2026-11-29T12:00:00Z", Environment: webhook.Test}},
		{"an order that was not: what the shop is, nobody says", posted(`{"id":1,"test":false,"updated_at":"2026-11-29T12:00:00Z"}`, "X-Shopify-Topic", "orders/create"),
			webhook.Fact{Type: "orders/create", Key: "orders/create#" + raw(`{"id":1,"test":false,"updated_at":"2026-11-29T12:00:00Z"}`), Kind: "order", ObjectID: "1", Version: "2026-11-29T12:00:00Z"}},
		{"the shop itself", posted(`{"id":5,"updated_at":"2026-11-29T12:00:00Z"}`, "X-Shopify-Topic", "app/uninstalled"),
			webhook.Fact{Type: "app/uninstalled", Key: "app/uninstalled#" + raw(`{"id":5,"updated_at":"2026-11-29T12:00:00Z"}`), Kind: "shop", ObjectID: "5", Version: "2026-11-29T12:00:00Z"}},
		{"a theme, whose topic is short", posted(`{"admin_graphql_api_id":"gid://shopify/OnlineStoreTheme/7","updated_at":"2026-11-29T12:00:00Z"}`, "X-Shopify-Topic", "themes/publish"),
			webhook.Fact{Type: "themes/publish", Key: "themes/publish#" + raw(`{"admin_graphql_api_id":"gid://shopify/OnlineStoreTheme/7","updated_at":"2026-11-29T12:00:00Z"}`), Kind: "online_store_theme", ObjectID: "7", Version: "2026-11-29T12:00:00Z"}},
	}
	for _, tt := range tests {
		got := identify(t, "shopify", tt.req, webhook.Rule{})
		tt.want.Digest = raw(string(tt.req.Body))
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

// Topic, shop and ids are unsigned: what they can be changed to must not be taken for what it is not.
func TestShopifyHeadersThatDoNotFitTheBody(t *testing.T) {
	const misfit = "the topic, which is not signed, does not fit the body"
	for topic, want := range map[string]string{
		"products/update": "", "products/create": "", "app/uninstalled": misfit, "orders/create": misfit, "collections/update": misfit, "shop/update": misfit, "themes/update": misfit,
	} {
		if got := identify(t, "shopify", posted(shopifyProduct, "X-Shopify-Topic", topic), webhook.Rule{}); got.Flaw != want || (got.ObjectID == "") != (want != "") {
			t.Errorf("%s: %+v", topic, got)
		}
	}
	if got := identify(t, "shopify", posted(strings.ReplaceAll(shopifyProduct, "Product", "Widget"), "X-Shopify-Topic", "products/update"), webhook.Rule{}); got.Flaw != misfit {
		t.Errorf("something else under products: %+v", got)
	}
	s := row(t, "shopify")
	for name, req := range map[string]webhook.Request{
		"a webhook under the names of Events": posted(shopifyProduct, "Shopify-Topic", "products/update", "Shopify-Hmac-Sha256", "x", "Shopify-Webhook-Id", "fresh"),
		"no topic":                            posted(shopifyProduct),
		"two topics":                          {Header: http.Header{"X-Shopify-Topic": {"products/update", "products/create"}}, Body: []byte(shopifyProduct)},
		"an action without a handle":          posted(`{"action_run_id":"1"}`, "X-Shopify-Topic", "products/update"),
	} {
		if _, err := s.Identify(req, read(t, s, req), webhook.Rule{}, noon); !errors.Is(err, webhook.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	key := func(headers ...string) string {
		return identify(t, "shopify", posted(shopifyProduct, headers...), webhook.Rule{}).Key
	}
	if a, b := key("X-Shopify-Topic", "products/update", "X-Shopify-Webhook-Id", "1"), key("X-Shopify-Topic", "products/update", "X-Shopify-Webhook-Id", "2"); a != b {
		t.Error("another delivery id makes another event")
	}
}

func TestShopifyFlowActionsThatNameNoOneObject(t *testing.T) {
	for name, body := range map[string]string{
		"two products": strings.Replace(shopifyFlow, `"note":"x"`, `"other_id":"gid://shopify/Product/1"`, 1),
		"none":         strings.Replace(shopifyFlow, "gid:", "id:", 1),
		"no list":      strings.Replace(shopifyFlow, `"properties":{`, `"others":{`, 1),
	} {
		got := identify(t, "shopify", posted(body), webhook.Rule{})
		if got.Key != "flow#b631" || got.ObjectID != "" || got.Flaw == "" {
			t.Errorf("%s: %+v", name, got)
		}
		got = identify(t, "shopify", posted(body), webhook.Rule{Kind: "product", ID: pointer(t, "/properties/product_id")})
		if name != "no list" && got.ObjectID == "" {
			t.Errorf("%s, as the endpoint says: %+v", name, got)
		}
	}
}

// One secret signs for all shops of an app, so that the shop has to be checked: in the body too, where
// that says it.
func TestShopifyShops(t *testing.T) {
	s := row(t, "shopify")
	secret := samples["shopify"].secret
	tests := []struct {
		name, body, header, want string
		ok                       bool
	}{
		{"as the header says", shopifyProduct, "a.myshopify.com", "a.myshopify.com", true},
		{"another in the header", shopifyProduct, "b.myshopify.com", "a.myshopify.com", false},
		{"nowhere", shopifyProduct, "", "a.myshopify.com", false},
		{"in the body of an action", shopifyFlow, "", "example-shop.myshopify.com", true},
		{"a header that somebody added to an action", shopifyFlow, "a.myshopify.com", "a.myshopify.com", false},
		{"in both", shopifyFlow, "example-shop.myshopify.com", "example-shop.myshopify.com", true},
		{"a word that only looks like it", `{"id":1,"title":"shopping"}`, "a.myshopify.com", "a.myshopify.com", true},
	}
	for _, tt := range tests {
		req, err := s.Sign(posted(tt.body), held(secret)[0], noon)
		if err != nil {
			t.Fatal(err)
		}
		if tt.header != "" {
			req.Header.Set("X-Shopify-Shop-Domain", tt.header)
		}
		if err := s.Verify(req, held(secret), webhook.Expect{Source: tt.want}, noon); (err == nil) != tt.ok || err != nil && !errors.Is(err, webhook.ErrSource) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	twice := with(signedWith(t, "shopify", secret, shopifyProduct), "X-Shopify-Shop-Domain", "a.myshopify.com", "b.myshopify.com")
	if err := s.Verify(twice, held(secret), webhook.Expect{Source: "a.myshopify.com"}, noon); !errors.Is(err, webhook.ErrSource) {
		t.Errorf("two shops: %v", err)
	}
}

// The same sum stands in a header of another name when it is one of Events.
func TestShopifySumsOfEvents(t *testing.T) {
	s, secret := row(t, "shopify"), samples["shopify"].secret
	req, err := s.Sign(posted(shopifyThin, "Shopify-Topic", "Product"), held(secret)[0], noon)
	if err != nil || req.Header.Get("Shopify-Hmac-Sha256") == "" || req.Header.Get("X-Shopify-Hmac-Sha256") != "" || req.Header.Get("Shopify-Webhook-Id") == "" {
		t.Fatalf("%v, %v", req.Header, err)
	}
	if err := s.Verify(req, held(secret), webhook.Expect{}, noon); err != nil {
		t.Error(err)
	}
	both := with(req, "X-Shopify-Hmac-Sha256", mac("another", shopifyThin))
	if err := s.Verify(both, held(secret), webhook.Expect{}, noon); !errors.Is(err, webhook.ErrSignature) {
		t.Errorf("a wrong sum beside the right one: %v", err)
	}
}

// U+2028 as six characters, and other escapes, are signed as they stand.
func TestShopifyBodiesAreSignedAsBytes(t *testing.T) {
	body := strings.Replace(shopifyProduct, "Merino", `\u20281\u20282\u2029 \/`, 1)
	s, secret := row(t, "shopify"), samples["shopify"].secret
	req := signedWith(t, "shopify", secret, body)
	if err := s.Verify(req, held(secret), webhook.Expect{}, noon); err != nil {
		t.Error(err)
	}
	req.Body = []byte(strings.ReplaceAll(body, `\u2028`, "\u2028"))
	if err := s.Verify(req, held(secret), webhook.Expect{}, noon); !errors.Is(err, webhook.ErrSignature) {
		t.Errorf("the same JSON in other bytes: %v", err)
	}
}

func TestShopifyPayloads(t *testing.T) {
	for file, want := range map[string]string{
		"shopify-products-update.json": "products/update product:9554194432293", "shopify-flow-action.json": "flow/enrich-product product:9554194432293",
		"shopify-events-Product.json": "Product/update product:9554194432293",
	} {
		got := identify(t, "shopify", posted(payload(t, file), "X-Shopify-Topic", "products/update"), webhook.Rule{})
		if text := got.Type + " " + got.Kind + ":" + got.ObjectID; text != want || got.Flaw != "" {
			t.Errorf("%s: %s, %+v", file, text, got)
		}
	}
}
