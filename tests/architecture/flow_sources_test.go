package architecture_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"engang/shared/config"
	"engang/shared/object"
)

// sources makes the reconciler ask a shop for what was never delivered, and listen for senders that are silent.
func (f flow) sources(t *testing.T) {
	t.Helper()
	asked, chair := 0, fmt.Sprintf(`[{"id":7,"name":"Chair","description":%q,"date_modified_gmt":%q}]`, noise(40_000), time.Now().UTC().Format("2006-01-02T15:04:05"))
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("X-WP-Total", "1")
		_, _ = w.Write([]byte(chair))
	}))
	defer shop.Close()
	set := f.sys.Config()
	set.Endpoints, set.Recipes = slices.Clone(set.Endpoints), slices.Clone(set.Recipes)
	set.Common.Targets = map[string]config.Target{"shop": {Kind: "woocommerce", BaseURL: shop.URL, Key: "ssm:targets/shop"}}
	for i := range set.Endpoints {
		set.Endpoints[i].SilentAfterSeconds = 86_400
		if set.Endpoints[i].Provider == "woocommerce" {
			set.Endpoints[i].CatchUp = &config.CatchUp{Target: "shop", EverySeconds: 1}
		}
	}
	for i := range set.Recipes {
		if set.Recipes[i].Name == "product-card" { // heads are written for quiet periods
			set.Recipes[i].Version, set.Recipes[i].QuietSeconds = set.Recipes[i].Version+1, 1
		}
	}
	if err := f.sys.PutSecret(t.Context(), "ssm:targets/shop", "ck_local:cs_local"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.sys.Apply(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	f.deliver(t, "crm", `{"type":"contact.created","timestamp":"2026-11-29T12:00:00Z","data":{"id":"c_heard"}}`, "msg_heard", "accepted")
	f.signed(t, "woocommerce", "woo-shop", http.Header{"X-Wc-Webhook-Topic": {"product.updated"}}, `{"id":8,"name":"Stool","date_modified_gmt":"2026-11-29T11:59:58"}`, "accepted")
	f.reconcile(t)
	f.erase(t, object.ID{Kind: "product", Value: "7"})
	time.Sleep(100 * time.Millisecond) // a second of the system's clock and more
	f.reconcile(t)                     // finds the erased one once more, and keeps nothing of it
	if asked != 2 {
		t.Fatalf("the shop was asked %d times", asked)
	}
}

// erase exports an object and then erases it.
func (f flow) erase(t *testing.T, id object.ID) {
	t.Helper()
	f.api(t, http.MethodPost, "/api/export", fmt.Sprintf(`{"object":%q,"reason":"a request"}`, id))
	f.api(t, http.MethodPost, "/api/erase", fmt.Sprintf(`{"object":%q,"reason":"a request"}`, id))
}
