package webhook_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/document"
	"engang/shared/secrets"
	"engang/shared/webhook"
)

// An object that came by webhook as well must be the same event, or each sweep would store it again.
func TestWhatIsFetchedIsTheEventThatWouldHaveBeenDelivered(t *testing.T) {
	scheme, _ := webhook.Lookup("woocommerce")
	body := []byte(`{"id":794,"name":"Chair","date_modified_gmt":"2026-11-29T11:59:58"}`)
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for _, eventType := range scheme.Changes() {
		t.Run(eventType, func(t *testing.T) {
			delivered, err := scheme.Sign(webhook.Request{Header: http.Header{"X-Wc-Webhook-Topic": {eventType}}, Body: body}, secrets.NewValue("a-secret-of-the-shop"), at)
			if err != nil {
				t.Fatal(err)
			}
			fetched, err := scheme.Fetched(eventType, body)
			if err != nil {
				t.Fatal(err)
			}
			want, got := identified(t, scheme, delivered, at), identified(t, scheme, fetched, at.Add(time.Hour))
			want.DeliveryID = "" // nobody delivered it
			if diff := cmp.Diff(want, got); diff != "" || got.Type != eventType || got.ObjectID != "794" {
				t.Errorf("fact (-delivered +fetched):\n%s", diff)
			}
			if err := scheme.Verify(fetched, []secrets.Value{secrets.NewValue("a-secret-of-the-shop")}, webhook.Expect{}, at); !errors.Is(err, webhook.ErrSignature) {
				t.Errorf("what was fetched passes for a delivery: %v", err)
			}
		})
	}
}

func identified(t *testing.T, s webhook.Scheme, req webhook.Request, at time.Time) webhook.Fact {
	t.Helper()
	doc, err := document.Decode(req.Body)
	if err != nil {
		t.Fatal(err)
	}
	fact, err := s.Identify(req, doc, webhook.Rule{}, at)
	if err != nil {
		t.Fatal(err)
	}
	return fact
}

func TestNothingElseCanBeFetched(t *testing.T) {
	for _, provider := range webhook.Names() {
		scheme, _ := webhook.Lookup(provider)
		if asked := len(scheme.Changes()) > 0; asked != (provider == "woocommerce") {
			t.Errorf("%s: can be asked: %v", provider, asked)
		}
		for _, eventType := range []string{"customer.updated", "product.deleted", "", "x"} {
			if _, err := scheme.Fetched(eventType, []byte(`{}`)); !errors.Is(err, webhook.ErrMalformed) {
				t.Errorf("%s %q: %v", provider, eventType, err)
			}
		}
	}
}
