package woocommerce_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"engang/shared/inbox"
	"engang/shared/woocommerce"
)

func TestAShopsWebhooksAreListed(t *testing.T) {
	var asked *http.Request
	target := shop(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r
		text(200, nil, `[{"id":3,"name":"x","status":"disabled","topic":"product.updated","delivery_url":"https://a.example.com/hooks/woo-shop","secret":"`+hush+`"}]`)(w, r)
	})
	got, err := woocommerce.New(http.DefaultClient, held).Webhooks(t.Context(), target)
	want := []woocommerce.Webhook{{Topic: "product.updated", Status: "disabled", DeliveryURL: "https://a.example.com/hooks/woo-shop"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	user, password, ok := asked.BasicAuth()
	if asked.Method != http.MethodGet || asked.URL.Path != "/wp-json/wc/v3/webhooks" || asked.URL.Query().Get("per_page") != "100" || !ok || user+":"+password != held["ssm:targets/shop"] {
		t.Errorf("asked %s %s", asked.Method, asked.URL)
	}
}

func TestAShopThatDoesNotListItsWebhooks(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		says   string
	}{
		{"its key may not", text(401, nil, hush), "does not accept the key"},
		{"it is no list", text(200, nil, `{"secret":"`+hush+`"}`), "sent no list"},
		{"it redirects", text(302, http.Header{"Location": {"https://elsewhere.example/"}}, ""), "redirects"},
	} {
		_, err := woocommerce.New(http.DefaultClient, held).Webhooks(t.Context(), shop(t, c.answer))
		if _, ok := errors.AsType[*inbox.SourceError](err); !ok || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), hush) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	gone := shop(t, nil)
	gone.Key = "ssm:targets/none"
	if _, err := woocommerce.New(http.DefaultClient, held).Webhooks(t.Context(), gone); err == nil {
		t.Error("asked without a key")
	}
	gone.BaseURL = "http://shop.example.com"
	if _, err := woocommerce.New(http.DefaultClient, held).Webhooks(t.Context(), gone); err == nil {
		t.Error("asked without TLS")
	}
}
