package diagnose_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"engang/infra/engang/diagnose"
	"engang/shared/control"
	"engang/shared/secrets"
	"engang/shared/webhook"
)

// What goes wrong, how it is undone, and by whom it is done: each is named, and nothing else is.
var spoilt = []struct {
	name, provider string
	sent           func(p *parcel) // before it is signed
	spoil          func(p *parcel) // after it was captured
	causes         string          // found, by their words
	says           string
}{
	// The body.
	{"a newline at the end", "woocommerce", nil, func(p *parcel) { p.bytes(func(b []byte) []byte { return append(b, '\n') }) }, "body-newline-added", "one newline is taken from the end of the body"},
	{"a newline at the end", "stripe", nil, func(p *parcel) { p.bytes(func(b []byte) []byte { return append(b, '\n') }) }, "body-newline-added", "the capture added it"},
	{"a line end of Windows at the end", "github", nil, func(p *parcel) { p.bytes(func(b []byte) []byte { return append(b, "\r\n"...) }) }, "body-newline-added", "CR LF"},
	{"white space around", "linear", nil, func(p *parcel) { p.bytes(func(b []byte) []byte { return append([]byte("\n  "), b...) }) }, "body-newline-added", "both ends"},
	{"its newline is gone", "slack", func(p *parcel) { p.body += "\n" }, func(p *parcel) { p.bytes(bytes.TrimSpace) }, "body-newline-missing", "something took it away"},
	{"CR LF for LF", "zendesk", func(p *parcel) { p.body = strings.Replace(p.body, ",", ",\n", 3) }, func(p *parcel) { p.bytes(replaced("\n", "\r\n")) }, "body-crlf", "are LF"},
	{"LF for CR LF", "shopify", func(p *parcel) { p.body = strings.Replace(p.body, ",", ",\r\n", 3) }, func(p *parcel) { p.bytes(replaced("\r\n", "\n")) }, "body-crlf", "are CR LF"},
	{"a byte order mark", "woocommerce", nil, func(p *parcel) { p.bytes(func(b []byte) []byte { return append([]byte("\xef\xbb\xbf"), b...) }) }, "body-bom", "an editor"},
	{"base64 of a gateway", "woocommerce", nil, func(p *parcel) {
		p.bytes(func(b []byte) []byte { return []byte(base64.StdEncoding.EncodeToString(b)) })
	}, "body-base64", "isBase64Encoded"},
	{"base64 of a gateway", "mailgun", nil, func(p *parcel) {
		p.bytes(func(b []byte) []byte { return []byte(base64.StdEncoding.EncodeToString(b)) })
	}, "body-base64", "decoded from base64"},
	{"JSON of PHP, written anew by JavaScript", "woocommerce", nil, func(p *parcel) { p.bytes(rewritten(false, "")) }, "body-json", "escaped slashes and \\u escapes, as PHP does"},
	{"JSON of JavaScript, written anew by Go", "github", func(p *parcel) { p.body = `{"name":"Café <b>","zen":"a/b"}` }, func(p *parcel) { p.bytes(rewritten(true, "")) }, "body-json", "as JavaScript does"},
	{"JSON of Python, written anew", "standard-webhooks", func(p *parcel) { p.body = `{"type": "a.b", "data": {"name": "Caf\u00e9", "list": [1, 2, []]}}` }, func(p *parcel) { p.bytes(rewritten(false, "")) }, "body-json", "as Python does"},
	{"JSON on many lines, written on one", "stripe", func(p *parcel) {
		p.body = "{\n  \"id\": \"evt_1\",\n  \"data\": {\n    \"object\": {},\n    \"list\": [\n      1,\n      2.50\n    ]\n  },\n  \"type\": \"a.b\"\n}"
	}, func(p *parcel) { p.bytes(rewritten(false, "")) }, "body-json", "on many lines"},
	{"JSON inside of a JSON text", "intercom", nil, func(p *parcel) {
		p.bytes(func(b []byte) []byte {
			raw, _ := json.Marshal(string(b))
			return raw
		})
	}, "body-json-text", "taken out of the JSON text"},
	{"a form whose JSON was taken out", "github", func(p *parcel) { p.body = "payload=" + url.QueryEscape(p.body) }, func(p *parcel) {
		p.bytes(func(b []byte) []byte {
			fields, _ := url.ParseQuery(string(b))
			return []byte(fields.Get("payload"))
		})
	}, "body-form", "form field payload"},
	{"UTF-8 read as Latin-1", "lemonsqueezy", func(p *parcel) { p.body = strings.Replace(p.body, `"id":"1"`, `"id":"1","name":"Café"`, 1) }, func(p *parcel) { p.bytes(widened) }, "body-charset", "UTF-8 again"},
	{"packed by a proxy", "woocommerce", nil, func(p *parcel) { p.bytes(gzipped) }, "body-compressed", "unpacked"},
	{"something behind the body", "woocommerce", nil, func(p *parcel) {
		p.set("Content-Length", strconv.Itoa(len(p.body)))
		p.bytes(func(b []byte) []byte { return append(b, "--boundary--"...) })
	}, "body-cut", "Content-Length"},
	{"a body that was signed empty", "wordpress", func(p *parcel) { p.body = "" }, func(p *parcel) { p.bytes(func([]byte) []byte { return []byte("{}") }) }, "body-cut body-empty", "empty one"},
	{"no body in the capture", "woocommerce", nil, func(p *parcel) { p.bytes(func([]byte) []byte { return nil }) }, "body-empty", "the capture has no body"},
	{"no body in the capture, whose length is known", "stripe", nil, func(p *parcel) {
		p.set("Content-Length", strconv.Itoa(len(p.body)))
		p.bytes(func([]byte) []byte { return nil })
	}, "body-empty", "Content-Length says"},
	{"no body where it holds the signature", "mailgun", nil, func(p *parcel) { p.bytes(func([]byte) []byte { return nil }) }, "body-empty", "the capture has no body"},
	{"no body where a token proves the sender", "gitlab", func(p *parcel) { p.secret = "a-secret-token-of-gitlab" }, func(p *parcel) { p.bytes(func([]byte) []byte { return nil }) }, "body-empty", "the signature is right"},

	// The secret.
	{"a blank behind the secret", "woocommerce", nil, func(p *parcel) { p.holds(p.secret + " ") }, "secret-trimmed", "hooks/here/1 is used without the white space"},
	{"a line end in the sender's secret", "github", func(p *parcel) { p.secret += "\n" }, func(p *parcel) { p.holds(strings.TrimSpace(p.secret)) }, "secret-trimmed", "with a line end"},
	{"quotation marks around the secret", "slack", nil, func(p *parcel) { p.holds("zz-another-secret-zz", `"`+p.secret+`"`) }, "secret-quoted", "hooks/here/2"},
	{"a name before the secret", "paddle", nil, func(p *parcel) { p.holds("PADDLE_SECRET=" + p.secret) }, "secret-quoted", "name="},
	{"HTML escapes that the sender does not decode", "wordpress", func(p *parcel) { p.secret = "p&amp;ss&quot;word&#039;s" }, func(p *parcel) { p.holds(`p&ss"word's`) }, "secret-html", "HTML escapes"},
	{"HTML escapes that only the receiver decodes", "woocommerce", func(p *parcel) { p.secret = "p&amp;amp;ss&amp;quot;word" }, func(p *parcel) { p.holds("p&amp;ss&quot;word") }, "secret-html", "HTML escapes"},
	{"the bytes behind whsec_ at Stripe", "stripe", func(p *parcel) { p.secret = "0123456789abcdef0123456789abcdef01234567" }, func(p *parcel) { p.holds("whsec_" + base64.StdEncoding.EncodeToString([]byte(p.secret))) }, "secret-whsec", "as Standard Webhooks does"},
	{"the text of whsec_ at Standard Webhooks", "standard-webhooks", nil, func(p *parcel) {
		p.holds("whsec_" + strings.Repeat("QUJD", 11))
		p.resign("whsec_" + base64.StdEncoding.EncodeToString([]byte("whsec_"+strings.Repeat("QUJD", 11))))
	}, "secret-whsec", "as Stripe does"},
	{"whsec_ left off at Stripe", "stripe", nil, func(p *parcel) { p.holds(strings.TrimPrefix(p.secret, "whsec_")) }, "secret-whsec", "left off"},
	{"the base64 of Zendesk decoded", "zendesk", func(p *parcel) { p.secret = "bytes of the secret that somebody decoded" }, func(p *parcel) { p.holds(base64.StdEncoding.EncodeToString([]byte(p.secret))) }, "secret-whsec", "base64"},
	{"a prefix pasted into the secret", "github", nil, func(p *parcel) { p.holds("sha256=" + p.secret) }, "secret-quoted", "name="},
	{"a prefix of another kind pasted into the secret", "intercom", nil, func(p *parcel) { p.holds("v1," + p.secret) }, "secret-prefix", "without the prefix"},
	{"hex of the secret", "shopify", nil, func(p *parcel) { p.holds(hex.EncodeToString([]byte(p.secret))) }, "secret-encoded", "base64 or hex"},
	{"the secret of a slot that is not named", "woocommerce", nil, func(p *parcel) {
		p.other("hooks/here/2", nil)
		p.holds("zz-another-secret-zz")
	}, "secret-unnamed", "name ssm:hooks/here/2"},
	{"the secret of another endpoint", "calendly", nil, func(p *parcel) {
		p.other("hooks/there/1", &control.Endpoint{Name: "there", Environment: "test"})
		p.holds("zz-another-secret-zz")
	}, "secret-elsewhere", "hooks/there/1"},
	{"the secret of the other environment", "openai", nil, func(p *parcel) {
		p.other("hooks/live/1", &control.Endpoint{Name: "live", Environment: "production"})
		p.holds("whsec_" + strings.Repeat("QUJD", 11))
	}, "secret-environment", "which is of production"},
	{"the secret of the sender's test button", "zendesk", func(p *parcel) { p.secret = "dGhpc19zZWNyZXRfaXNfZm9yX3Rlc3Rpbmdfb25seQ==" }, func(p *parcel) { p.holds(strings.Repeat("zz-another-", 4)) }, "secret-public", "everybody knows"},
	{"a consumer secret in place of the webhook's", "woocommerce", nil, func(p *parcel) { p.holds("cs_0123456789abcdef0123456789abcdef01234567") }, "secret-kind", "consumer secret of the REST interface"},
	{"a consumer key in place of the webhook's secret", "woocommerce", nil, func(p *parcel) { p.holds("ck_0123456789abcdef0123456789abcdef01234567") }, "secret-kind", "consumer key of the REST interface"},
	{"a key of the API in place of Stripe's secret", "stripe", nil, func(p *parcel) { p.holds("sk_test_0123456789abcdef0123456789abcdef") }, "secret-kind", "secret key of the API"},
	{"no secret at all", "github", nil, func(p *parcel) { p.holds() }, "no-secret", "no secret in the store"},
	{"simply another secret", "ghost", nil, func(p *parcel) { p.holds("zz-another-secret-zz") }, "another-secret", "another secret"},

	// Headers.
	{"no signature", "github", nil, func(p *parcel) { p.rename("X-Hub-Signature-256", "") }, "header-missing", "X-Hub-Signature-256 is missing"},
	{"no time", "slack", nil, func(p *parcel) { p.rename("X-Slack-Request-Timestamp", "") }, "header-missing", "X-Slack-Request-Timestamp"},
	{"a renamed header", "woocommerce", nil, func(p *parcel) { p.rename("X-Wc-Webhook-Signature", "X-Original-X-WC-Webhook-Signature") }, "header-renamed", "X-Original-X-WC-Webhook-Signature is read as X-Wc-Webhook-Signature"},
	{"headers as CGI has them", "standard-webhooks", nil, func(p *parcel) {
		for _, name := range []string{"Webhook-Id", "Webhook-Timestamp", "Webhook-Signature"} {
			p.rename(name, "HTTP_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_")))
		}
	}, "header-renamed header-renamed header-renamed", "HTTP_WEBHOOK_ID is read as Webhook-Id"},
	{"a header of a name that says nothing", "lemonsqueezy", nil, func(p *parcel) { p.rename("X-Signature", "X-Proof") }, "header-renamed", "X-Proof is read as X-Signature"},
	{"twins in two cases", "shopify", nil, func(p *parcel) { p.add("x-shopify-hmac-sha256", p.value("X-Shopify-Hmac-Sha256")) }, "header-repeated", "in two cases of letters"},
	{"a header that stands twice with two values", "intercom", nil, func(p *parcel) { p.add("X-Hub-Signature", "sha1="+strings.Repeat("ab", 20)) }, "header-repeated", "stands more than once"},
	{"headers joined by a gateway", "woocommerce", nil, func(p *parcel) {
		p.set("X-Wc-Webhook-Signature", p.value("X-Wc-Webhook-Signature")+", "+p.value("X-Wc-Webhook-Signature"))
	}, "header-joined", "joined in header"},
	{"lists joined by a gateway", "svix", nil, func(p *parcel) {
		p.set("Svix-Signature", "v1,"+base64.StdEncoding.EncodeToString(make([]byte, 32))+","+p.value("Svix-Signature"))
	}, "header-joined", "joined in header"},
	{"pairs joined by a gateway", "stripe", nil, func(p *parcel) {
		p.set("Stripe-Signature", p.value("Stripe-Signature")+", "+p.value("Stripe-Signature"))
	}, "header-joined", "Stripe-Signature"},
	{"quotation marks around the signature", "zendesk", nil, func(p *parcel) { p.set("X-Zendesk-Webhook-Signature", `"`+p.value("X-Zendesk-Webhook-Signature")+`"`) }, "header-wrapped", "without the quotation marks"},
	{"escapes in the signature", "square", nil, func(p *parcel) {
		p.set("X-Square-Hmacsha256-Signature", url.QueryEscape(p.value("X-Square-Hmacsha256-Signature")))
	}, "header-wrapped", "escapes"},
	{"hex for base64", "woocommerce", nil, func(p *parcel) { p.set("X-Wc-Webhook-Signature", hexOf(p.value("X-Wc-Webhook-Signature"))) }, "signature-encoding", "as the provider writes it"},
	{"capital letters for small ones", "linear", nil, func(p *parcel) { p.set("Linear-Signature", strings.ToUpper(p.value("Linear-Signature"))) }, "signature-encoding", "Linear-Signature"},
	{"a prefix that is missing", "github", nil, func(p *parcel) {
		p.set("X-Hub-Signature-256", strings.TrimPrefix(p.value("X-Hub-Signature-256"), "sha256="))
	}, "signature-encoding", "X-Hub-Signature-256"},
	{"an empty signature", "gitea", nil, func(p *parcel) { p.set("X-Hub-Signature-256", "sha256=") }, "signature-empty", "no secret set"},
	{"a blank signature", "standard-webhooks", nil, func(p *parcel) { p.set("Webhook-Signature", "") }, "signature-empty", "no secret set"},
	{"a label and no signature", "stripe", nil, func(p *parcel) { p.set("Stripe-Signature", "t=1795953600,v1=") }, "signature-empty", "no secret set"},
	{"something else than a signature", "calendly", nil, func(p *parcel) { p.set("Calendly-Webhook-Signature", "[redacted]") }, "header-unreadable", "is not readable"},

	// Times.
	{"an hour and a bit old", "stripe", nil, func(p *parcel) { p.c.Now = noon.Add(80 * time.Minute) }, "time-stale", "4800 s before the arrival"},
	{"from a clock that is ahead", "slack", nil, func(p *parcel) { p.c.Now = noon.Add(-7 * time.Minute) }, "time-future", "420 s after the arrival"},
	{"from another time zone", "zendesk", nil, func(p *parcel) { p.c.Now = noon.Add(2*time.Hour + 3*time.Second) }, "time-zone", "whole number of hours"},
	{"signed in milliseconds", "slack", func(p *parcel) { p.at = time.Unix(noon.UnixMilli(), 0) }, nil, "time-unit", "milliseconds where seconds belong"},
	{"signed in milliseconds, and with another secret", "stripe", nil, func(p *parcel) {
		p.set("Stripe-Signature", strings.Replace(p.value("Stripe-Signature"), "t=1795953600", "t=1795953600000", 1))
		p.holds("whsec_" + strings.Repeat("QUJD", 11))
	}, "another-secret time-unit", "milliseconds where seconds belong"},
	{"milliseconds that a proxy made of seconds", "standard-webhooks", nil, func(p *parcel) { p.set("Webhook-Timestamp", p.value("Webhook-Timestamp")+"000") }, "time-unit", "Webhook-Timestamp is read in seconds"},
	{"milliseconds that a proxy made of seconds in a list", "paddle", nil, func(p *parcel) {
		p.set("Paddle-Signature", strings.Replace(p.value("Paddle-Signature"), "ts=1795953600", "ts=1795953600000", 1))
	}, "time-unit", "milliseconds where seconds belong"},
	{"seconds that a proxy made of milliseconds", "hubspot", nil, func(p *parcel) {
		p.set("X-Hubspot-Request-Timestamp", strings.TrimSuffix(p.value("X-Hubspot-Request-Timestamp"), "000"))
	}, "time-unit", "seconds where milliseconds belong"},
	{"a window of five seconds", "paddle", nil, func(p *parcel) { p.c.Now = noon.Add(6 * time.Second) }, "time-stale", "more than the 5 s"},

	// Addresses.
	{"a stage before the path", "square", func(p *parcel) { p.url = "https://hooks.example.com/prod/hooks/here" }, nil, "url-prefix", "public_url to the address that the sender has, to the letter: https://hooks.example.com/prod/hooks/here"},
	{"a path without the stage", "hubspot", func(p *parcel) { p.c.Endpoint.PublicURL = "https://hooks.example.com/prod/hooks/here" }, nil, "url-prefix", "https://hooks.example.com/hooks/here"},
	{"http for https", "twilio", func(p *parcel) { p.c.Endpoint.PublicURL = "http://hooks.example.com/hooks/here" }, nil, "url-scheme", "https://hooks.example.com/hooks/here"},
	{"a slash at the end", "square", func(p *parcel) { p.url += "/" }, nil, "url-slash", "hooks/here/"},
	{"a query that a proxy adds", "hubspot", nil, func(p *parcel) { p.c.Request.Target += "?via=proxy" }, "url-query", "another query"},
	{"another host", "twilio", func(p *parcel) { p.url = "https://other.example.com/hooks/here" }, func(p *parcel) { p.set("Host", "other.example.com") }, "url-host", "https://other.example.com/hooks/here"},
	{"another method", "hubspot", nil, func(p *parcel) { p.c.Request.Method = "GET" }, "method", "only POST is a delivery"},

	// Senders.
	{"a delivery of another provider", "woocommerce", func(p *parcel) { p.provider, p.header = "shopify", nil }, nil, "other-provider", "set provider: shopify"},
	{"a delivery of another provider with its own secret", "woocommerce", func(p *parcel) {
		p.provider, p.header, p.secret = "slack", nil, strings.Repeat("zz-another-", 4)
	}, nil, "other-provider", "it looks like a delivery of Slack"},
	{"a delivery of Svix to an endpoint of Standard Webhooks", "standard-webhooks", func(p *parcel) { p.provider = "svix" }, nil, "other-provider", "set provider: svix"},
	{"only the older signature of GitHub", "github", nil, func(p *parcel) {
		p.rename("X-Hub-Signature-256", "X-Hub-Signature")
		p.set("X-Hub-Signature", "sha1="+strings.Repeat("ab", 20))
	}, "legacy-only", "X-Hub-Signature with SHA-1"},
	{"only v0 of Stripe", "stripe", nil, func(p *parcel) {
		p.set("Stripe-Signature", strings.Replace(p.value("Stripe-Signature"), "v1=", "v0=", 1))
	}, "legacy-only", "v0"},
	{"Paddle Classic", "paddle", func(p *parcel) { p.body = "alert_id=1&p_signature=abc" }, func(p *parcel) { p.rename("Paddle-Signature", "") }, "legacy-only", "Paddle Classic"},
	{"a form of Mailgun's older webhooks", "mailgun", nil, func(p *parcel) {
		p.bytes(func([]byte) []byte { return []byte("timestamp=1&token=2&signature=3&event=delivered") })
	}, "unreadable", "forms are not taken"},
	{"another shop", "woocommerce", nil, func(p *parcel) {
		p.c.Endpoint.Source = "https://shop.example.com/"
		p.set("X-Wc-Webhook-Source", "https://other.example.com/")
	}, "source", "https://shop.example.com/"},

	// Two at once.
	{"a newline and a blank behind the secret", "woocommerce", nil, func(p *parcel) {
		p.holds(p.secret + " ")
		p.bytes(func(b []byte) []byte { return append(b, '\n') })
	}, "body-newline-added secret-trimmed", "and when the secret"},
	{"twins, and JSON written anew", "shopify", nil, func(p *parcel) {
		p.add("x-shopify-hmac-sha256", p.value("X-Shopify-Hmac-Sha256"))
		p.bytes(rewritten(false, ""))
	}, "header-repeated body-json", "and when the JSON"},
	{"a renamed header of an old delivery", "stripe", nil, func(p *parcel) {
		p.rename("Stripe-Signature", "X-Stripe-Signature")
		p.c.Now = noon.Add(80 * time.Minute)
	}, "header-renamed time-stale", "4800 s"},

	// What is signed and still no use.
	{"no JSON", "github", func(p *parcel) { p.body = "hello" }, nil, "body-unreadable", "cannot be read"},
	{"no topic", "woocommerce", nil, func(p *parcel) { p.rename("X-Wc-Webhook-Topic", "") }, "no-type", "what has happened"},
	{"a topic that came twice", "woocommerce", nil, func(p *parcel) { p.add("x-wc-webhook-topic", "product.updated") }, "header-repeated", "header X-Wc-Webhook-Topic stands there 2 times"},
	{"two topics", "shopify", nil, func(p *parcel) { p.add("X-Shopify-Topic", "products/create") }, "header-repeated", "with different values"},
	{"a topic that a gateway joined with itself", "woocommerce", nil, func(p *parcel) { p.set("X-Wc-Webhook-Topic", "product.updated,product.updated") }, "header-joined", "header X-Wc-Webhook-Topic"},
	{"an event's name that came twice", "github", nil, func(p *parcel) { p.add("X-GitHub-Event", "issues") }, "header-repeated", "X-Github-Event"},
	{"a source that came twice", "woocommerce", func(p *parcel) { p.header.Set("X-Wc-Webhook-Source", "https://shop.example.com/") }, func(p *parcel) {
		p.c.Endpoint.Source = "https://shop.example.com/"
		p.add("X-Wc-Webhook-Source", "https://shop.example.com/")
	}, "header-repeated", "X-Wc-Webhook-Source"},
	{"an error of the shop in place of the product", "woocommerce", func(p *parcel) {
		p.body = `{"code":"woocommerce_rest_product_invalid_id","message":"x","data":{"status":404}}`
		p.enable("product.updated")
	}, nil, "flaw", "an error of its REST interface"},
	{"a production event at a test endpoint", "stripe", func(p *parcel) {
		p.body = strings.Replace(p.body, `"livemode":false`, `"livemode":true`, 1)
		p.enable("invoice.paid")
	}, nil, "environment", "an event of production"},
}

func TestTheRightCauseIsNamed(t *testing.T) {
	causes, providers := map[string]bool{}, map[string]bool{}
	for _, c := range spoilt {
		t.Run(c.provider+", "+c.name, func(t *testing.T) {
			p := parcelOf(t, c.provider)
			if c.sent != nil {
				before := p.secret
				c.sent(p)
				if p.secret != before && p.provider == c.provider {
					p.holds(p.secret)
				}
			}
			p.capture()
			if c.spoil != nil {
				c.spoil(p)
			}
			r, people, programs := told(t, p.c)
			var found []string
			for _, f := range r.Found {
				found = append(found, f.Cause)
				causes[f.Cause] = true
			}
			providers[c.provider] = true
			if got := strings.Join(found, " "); got != c.causes || r.Sound {
				t.Errorf("found %q, want %q\n%s", got, c.causes, people)
			}
			if !strings.Contains(people, c.says) {
				t.Errorf("does not say %q:\n%s", c.says, people)
			}
			if strings.Contains(people+programs, "9999-") || strings.Contains(people+programs, "1970-") {
				t.Errorf("a date that no clock shows:\n%s", people)
			}
			kept(t, p, people+programs)
		})
	}
	if len(causes) < 12 || len(providers) < 6 {
		t.Errorf("only %d causes of %d providers", len(causes), len(providers))
	}
}

func TestASoundDeliveryIsSaidToBeSound(t *testing.T) {
	for _, provider := range webhook.Names() {
		if provider == "generic" {
			continue
		}
		p := parcelOf(t, provider)
		p.capture()
		r, people, programs := told(t, p.c)
		if !r.Sound || r.Signature != diagnose.Matches || len(r.Found)+len(r.NotIt)+len(r.Do) > 0 || !strings.Contains(people, "nothing: it is sound") {
			t.Errorf("%s: %s", provider, people)
		}
		kept(t, p, people+programs)
	}
	p := parcelOf(t, "woocommerce")
	p.capture()
	p.c.Request.Body, p.c.Request.Headers = []byte("webhook_id=7"), nil
	if r, people, _ := told(t, p.c); !r.Sound || r.Signature != diagnose.NotNeeded || r.Event.Type != "ping" {
		t.Errorf("a ping: %s", people)
	}
}

func TestWhatASoundDeliveryIsAbout(t *testing.T) {
	for _, c := range []struct{ provider, enabled, says string }{
		{"woocommerce", "product.updated", "event       product.updated, product:11\n"},
		{"woocommerce", "product.created", "event       product.updated: not enabled at the endpoint, which ignores it\n"},
		{"stripe", "invoice.paid", "event       invoice.paid, invoice:in_1\n"},
		{"hubspot", "contact.creation", "event       1 event in one delivery\n"},
	} {
		p := parcelOf(t, c.provider)
		p.enable(c.enabled)
		p.capture()
		if r, people, _ := told(t, p.c); !r.Sound || !strings.Contains(people, c.says) {
			t.Errorf("%s: want %q:\n%s", c.provider, c.says, people)
		}
	}
	p := parcelOf(t, "woocommerce")
	p.c.Endpoint.Events = map[string]control.EventRule{"product.updated": {Ignore: true}}
	p.capture()
	if _, people, _ := told(t, p.c); !strings.Contains(people, "counts it and does nothing") {
		t.Errorf("ignored: %s", people)
	}
}

// A sender without a row of its own, and an older signature that an endpoint may take.
func TestWhatTheEndpointAddsToItsProvider(t *testing.T) {
	p := parcelOf(t, "generic")
	p.c.Endpoint.HMAC = hmac("X-Sum", "sha256=", "X-Time")
	p.c.Endpoint.TypeAt = "/type"
	p.capture()
	p.set("X-Sum", strings.TrimPrefix(p.value("X-Sum"), "sha256="))
	if r, people, _ := told(t, p.c); len(r.Found) != 1 || r.Found[0].Cause != "signature-encoding" || r.Timestamp.SignedAt == nil {
		t.Errorf("%s", people)
	}
	p = parcelOf(t, "hubspot")
	p.c.Request.Body = []byte(p.body)
	p.c.Request.Headers = nil
	p.add("X-HubSpot-Signature", v1Of(p.secret, p.body))
	p.add("X-HubSpot-Signature-Version", "v1")
	if r, people, _ := told(t, p.c); len(r.Found) != 1 || r.Found[0].Cause != "legacy-only" || !strings.Contains(people, "legacy: true") {
		t.Errorf("%s", people)
	}
	p.c.Endpoint.Legacy = true
	if r, people, _ := told(t, p.c); !r.Sound {
		t.Errorf("%s", people)
	}
	for _, e := range []control.Endpoint{{Provider: "magento"}, {Provider: "stripe", Legacy: true}, {Provider: "stripe", TypeAt: "type"}} {
		if _, err := diagnose.Explain(diagnose.Case{Endpoint: e}); !errors.Is(err, diagnose.ErrEndpoint) {
			t.Errorf("%+v: %v", e, err)
		}
	}
}

// A large body is looked at as any other is, in a time that a person waits; only two causes at once are
// not all tried.
func TestALargeBodyIsLookedAtToo(t *testing.T) {
	p := parcelOf(t, "woocommerce")
	p.body = `{"id":1,"text":"` + strings.Repeat("a/é<", 200<<10) + `"}`
	p.capture()
	p.holds("zz-another-secret-zz", p.secret+"\n")
	r, people, programs := told(t, p.c)
	if len(r.Found) != 1 || r.Found[0].Cause != "secret-trimmed" || len(r.NotIt) < 15 {
		t.Errorf("%s", people)
	}
	p.holds("zz-another-secret-zz", "zz-one-more-secret-zz")
	p.body = strings.Repeat(p.body, 3)
	p.capture()
	if r, people, _ := told(t, p.c); r.Sound || len(r.Found) != 1 || r.Found[0].Cause != "another-secret" {
		t.Errorf("%s", people)
	}
	if len(programs) > 4096 {
		t.Errorf("%d bytes", len(programs))
	}
}

func (p *parcel) enable(typ string) {
	p.c.Endpoint.Events = map[string]control.EventRule{typ: {Recipes: []string{"r@1"}}}
}

// other puts the sender's secret where it is not the endpoint's.
func (p *parcel) other(name string, owner *control.Endpoint) {
	p.c.Others = append(p.c.Others, diagnose.Secret{Name: name, Value: secrets.NewValue(p.secret), Owner: owner})
}

// resign makes the sender sign with another secret, and captures that.
func (p *parcel) resign(secret string) {
	p.secret = secret
	p.capture()
}
