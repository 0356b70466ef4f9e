package webhook_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"engang/shared/document"
	"engang/shared/webhook"
)

const wordPressPost = `{"post_id":"1234","post":{"ID":1234,"post_type":"post","post_title":"H\u00f6st","post_modified_gmt":"2026-11-29 11:59:57"}}`

var _ = add(sample{
	provider: "wordpress", secret: "4f5a6b7c8d9e0f1a2b3c", older: "00112233445566778899", body: wordPressPost, endpoint: webhook.Endpoint{Type: "post.updated"},
	header:    map[string]string{"X-WP-Webhook-Source": "https://blog.example.com/"},
	signature: "X-Wp-Webhook-Signature",
	sum:       func(req webhook.Request, key string) string { return mac(key, string(req.Body)) },
	unfit:     map[string]string{"fewer than 16": "short", "an address": "https://hooks.example.com/hooks/blog", "you chose": "changeme"},
})

func TestWordPressFacts(t *testing.T) {
	sum := func(body string) string { return document.Digest([]byte(body)) }
	for _, tt := range []struct {
		name, body string
		rule       webhook.Rule
		want       webhook.Fact
	}{
		{"a post", wordPressPost, webhook.Rule{}, webhook.Fact{Key: "post.updated#" + sum(wordPressPost), Kind: "post", ObjectID: "1234", Version: "2026-11-29 11:59:57"}},
		{"a post without more", `{"post":{"ID":7,"post_type":"page"}}`, webhook.Rule{}, webhook.Fact{Key: "post.updated#" + sum(`{"post":{"ID":7,"post_type":"page"}}`) + "#2026-11-29", Kind: "page", ObjectID: "7"}},
		{"a user, of whom only the endpoint knows", `{"data":{"ID":"3"}}`, webhook.Rule{Kind: "user", ID: pointer(t, "/data/ID")},
			webhook.Fact{Key: "post.updated#" + sum(`{"data":{"ID":"3"}}`) + "#2026-11-29", Kind: "user", ObjectID: "3"}},
		{"a user", `{"data":{"ID":"3"}}`, webhook.Rule{}, webhook.Fact{Key: "post.updated#" + sum(`{"data":{"ID":"3"}}`) + "#2026-11-29",
			Flaw: "neither the provider nor the endpoint's configuration says what object the event is about"}},
		{"no id", `{"post":{"ID":1.5,"post_type":"post"}}`, webhook.Rule{}, webhook.Fact{Key: "post.updated#" + sum(`{"post":{"ID":1.5,"post_type":"post"}}`) + "#2026-11-29",
			Flaw: "the body has no object id where this kind of event has it"}},
	} {
		got := identify(t, "wordpress", posted(tt.body), tt.rule)
		tt.want.Type, tt.want.Digest = "post.updated", sum(tt.body)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
	if !row(t, "wordpress").NeedsType() {
		t.Error("the plugin says what has happened")
	}
	got := identify(t, "wordpress", posted(payload(t, "wordpress-post_updated.json")), webhook.Rule{})
	if got.Kind != "post" || got.ObjectID != "1234" || got.Flaw != "" {
		t.Errorf("%+v", got)
	}
}

// Of a form the plugin signs what it was made from: no sum over its bytes is the sender's, and one that
// fits all the same is of no use.
func TestWordPressTakesJSONAlone(t *testing.T) {
	s, secret := samples["wordpress"].scheme(t), samples["wordpress"].secret
	for _, body := range []string{"post_id=1234&post%5BID%5D=1234", "<data><post_id>1234</post_id></data>", ""} {
		asPlugin := posted(body, "X-WP-Webhook-Signature", mac(secret, wordPressPost))
		if err := s.Verify(asPlugin, held(secret), webhook.Expect{}, noon); !errors.Is(err, webhook.ErrSignature) {
			t.Errorf("%q: %v", body, err)
		}
		fits := posted(body, "X-WP-Webhook-Signature", mac(secret, body))
		if _, _, err := s.Document(fits); !errors.Is(err, document.ErrMalformed) {
			t.Errorf("%q is read: %v", body, err)
		}
	}
	for source, ok := range map[string]bool{"https://blog.example.com": true, "https://other.example.com": false} {
		if err := s.Verify(signedWith(t, "wordpress", secret, wordPressPost), held(secret), webhook.Expect{Source: source}, noon); (err == nil) != ok {
			t.Errorf("source %s: %v", source, err)
		}
	}
}
