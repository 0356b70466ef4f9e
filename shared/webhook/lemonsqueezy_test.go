package webhook_test

import (
	"crypto/sha256"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"engang/shared/document"
	"engang/shared/webhook"
)

const lemonSubscription = `{"data":{"attributes":{"store_id":2,"updated_at":"2026-11-29T11:59:57.000000Z"},"id":"1001","type":"subscriptions"},"meta":{"event_name":"subscription_updated","test_mode":true}}`

var _ = add(sample{
	provider: "lemonsqueezy", secret: "4f5a6b7c8d9e0f1a2b3c4d5e6f708192", older: "00112233445566778899", body: lemonSubscription,
	signature: "X-Signature",
	sum:       func(req webhook.Request, key string) string { return hexMAC(sha256.New, key, string(req.Body)) },
	unfit: map[string]string{
		"more than 40":     "4f5a6b7c8d9e0f1a2b3c4d5e6f7081924f5a6b7c8",
		"fewer than 16":    "sixchr",
		"a key of the API": "eyJ0eXAiOiJKV1QiLCJhbGciOiJSUzI1NiJ9",
		"16 to 40":         "short",
	},
})

func TestLemonSqueezyFacts(t *testing.T) {
	digest := document.Digest([]byte(lemonSubscription)) // it is canonical as it stands
	key := `{"data":{"attributes":{"store_id":2,"test_mode":false},"id":"7","type":"license-keys"},"meta":{"event_name":"license_key_created"}}`
	bare := `{"meta":{"event_name":"x"}}`
	for _, tt := range []struct {
		name, body string
		want       webhook.Fact
	}{
		{"a subscription", lemonSubscription, webhook.Fact{Type: "subscription_updated", Key: "subscription_updated#" + digest, Digest: digest,
			Kind: "subscription", ObjectID: "1001", Version: "2026-11-29T11:59:57.000000Z", Environment: webhook.Test}},
		{"an object without a version: the received day is in the key", key, webhook.Fact{Type: "license_key_created", Key: "license_key_created#" + document.Digest([]byte(key)) + "#2026-11-29",
			Digest: document.Digest([]byte(key)), Kind: "license-key", ObjectID: "7", Environment: webhook.Production}},
		{"no object", bare, webhook.Fact{Type: "x", Key: "x#" + document.Digest([]byte(bare)) + "#2026-11-29", Digest: document.Digest([]byte(bare)),
			Flaw: "neither the provider nor the endpoint's configuration says what object the event is about"}},
	} {
		got := identify(t, "lemonsqueezy", posted(tt.body, "X-Event-Name", "order_created"), webhook.Rule{})
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
	got := identify(t, "lemonsqueezy", posted(payload(t, "lemonsqueezy-subscription_updated.json")), webhook.Rule{})
	if got.Kind != "subscription" || got.ObjectID != "1001" || got.Flaw != "" {
		t.Errorf("%+v", got)
	}
	if _, err := row(t, "lemonsqueezy").Type(posted(`{}`, "X-Event-Name", "order_created"), decoded(t, []byte(`{}`))); !errors.Is(err, webhook.ErrMalformed) {
		t.Errorf("a name in the unsigned header alone: %v", err)
	}
}

// Whether a retry comes with another webhook_id, nobody says: it is the same event either way.
func TestLemonSqueezyRetries(t *testing.T) {
	first := identify(t, "lemonsqueezy", posted(lemonSubscription), webhook.Rule{})
	again := identify(t, "lemonsqueezy", posted(strings.Replace(lemonSubscription, `"test_mode"`, `"webhook_id":"x","test_mode"`, 1)), webhook.Rule{})
	other := identify(t, "lemonsqueezy", posted(strings.Replace(lemonSubscription, "57.000000Z", "58.000000Z", 1)), webhook.Rule{})
	if again != first || other.Key == first.Key {
		t.Errorf("%+v, again %+v, later %+v", first, again, other)
	}
}

func TestLemonSqueezyStores(t *testing.T) {
	s, secret := row(t, "lemonsqueezy"), samples["lemonsqueezy"].secret
	for store, ok := range map[string]bool{"2": true, "3": false} {
		if err := s.Verify(signedWith(t, "lemonsqueezy", secret, lemonSubscription), held(secret), webhook.Expect{Source: store}, noon); (err == nil) != ok {
			t.Errorf("store %s: %v", store, err)
		}
	}
}
