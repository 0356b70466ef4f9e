package integration_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"time"

	"engang/shared/secrets"
	"engang/shared/webhook"
)

// wooTopic is the header that says what happened; it is not signed.
func wooTopic(topic string) http.Header { return http.Header{"X-Wc-Webhook-Topic": {topic}} }

// wooRequest is a good product.updated, changed.
func wooRequest(change ...func(*http.Request)) func(*system) *http.Request {
	return wooBody("product.updated", product{ID: 794, Name: hush}.Body(), change...)
}

func wooBody(topic, body string, change ...func(*http.Request)) func(*system) *http.Request {
	return func(s *system) *http.Request {
		return changed(s.signed("woo-shop", "woocommerce", wooTopic(topic), body), change)
	}
}

const contact = `{"type":"contact.created","timestamp":"2026-11-29T11:59:58Z","data":{"id":"c-1","company":"` + hush + `","interest":"oak"}}`

// crmRequest is a good contact.created, changed.
func crmRequest(change ...func(*http.Request)) func(*system) *http.Request {
	return crmBody(contact, change...)
}

func crmBody(body string, change ...func(*http.Request)) func(*system) *http.Request {
	return func(s *system) *http.Request {
		return changed(s.signed("crm", "standard-webhooks", http.Header{"Webhook-Id": {"msg_1"}}, body), change)
	}
}

// crmSigned is signed at another time.
func crmSigned(off time.Duration) func(*system) *http.Request {
	return func(s *system) *http.Request {
		return s.signedAt("crm", "standard-webhooks", http.Header{"Webhook-Id": {"msg_1"}}, contact, time.Now().Add(off))
	}
}

func changed(r *http.Request, change []func(*http.Request)) *http.Request {
	for _, c := range change {
		c(r)
	}
	return r
}

func method(name string) func(*http.Request) { return func(r *http.Request) { r.Method = name } }

// header sets a header to these values, each on a line of its own; none: it is taken off.
func header(name string, values ...string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header[name] = values
		if len(values) == 0 {
			delete(r.Header, name)
		}
	}
}

// twice sends a header two times.
func twice(name string) func(*http.Request) {
	return func(r *http.Request) { r.Header[name] = []string{r.Header.Get(name), r.Header.Get(name)} }
}

// otherBody sends other bytes than were signed.
func otherBody(r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	raw = append(raw, ' ')
	r.Body, r.ContentLength, r.GetBody = io.NopCloser(bytes.NewReader(raw)), int64(len(raw)), nil
}

// forged is signed by who does not know the secret.
func forged(provider, secret string) func(*http.Request) {
	return func(r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(raw))
		scheme, _ := webhook.Lookup(provider)
		signed, err := scheme.Sign(webhook.Request{Method: r.Method, Header: r.Header, Body: raw}, secrets.NewValue(secret), time.Now())
		if err != nil {
			panic(err)
		}
		r.Header = signed.Header
	}
}

// A delivery is one request and what must become of it.
type delivery struct {
	name    string
	request func(*system) *http.Request
	code    int
	kind    string            // what the problem document's type ends with
	status  string            // of an answer 200
	header  map[string]string // of the answer
	why     error             // the log says it, the answer does not
	front   bool              // the front itself answers, no function runs
	encoded string            // what the gateway says is the body in base64, past the front
}

const otherSecret = "whsec_b3RoZXItc2VjcmV0LTMyLWJ5dGVzLWxvbmctISE="

// The rows of the table of answers and of what can be wrong with a delivery. None may leave anything behind.
var refused = []delivery{
	{name: "signed with another secret", request: wooRequest(forged("woocommerce", "local-wrong-secret")), code: 401, kind: "not-verified", why: webhook.ErrSignature},
	{name: "another body than was signed", request: wooRequest(otherBody), code: 401, kind: "not-verified", why: webhook.ErrSignature},
	{name: "no signature", request: wooRequest(header("X-Wc-Webhook-Signature")), code: 401, kind: "not-verified", why: webhook.ErrSignature},
	{name: "a blank signature", request: wooRequest(header("X-Wc-Webhook-Signature", "")), code: 401, kind: "not-verified", why: webhook.ErrSignature},
	{name: "a signature of white space", request: wooRequest(header("X-Wc-Webhook-Signature", " \t ")), code: 401, kind: "not-verified", why: webhook.ErrSignature},
	{name: "the right signature twice", request: wooRequest(twice("X-Wc-Webhook-Signature")), code: 401, kind: "not-verified", why: webhook.ErrSignature},
	{name: "a signature that is no base64", request: wooRequest(header("X-Wc-Webhook-Signature", hush+"!")), code: 401, kind: "not-verified", why: webhook.ErrSignature},
	{name: "no JSON and not signed", request: wooBody("product.updated", hush, header("X-Wc-Webhook-Signature")), code: 401, kind: "not-verified", why: webhook.ErrSignature},
	{name: "a type that is not enabled and not signed", request: wooBody("order.created", "{}", otherBody), code: 401, kind: "not-verified", why: webhook.ErrSignature},
	{name: "Standard Webhooks, another secret", request: crmRequest(forged("standard-webhooks", otherSecret)), code: 401, kind: "not-verified", why: webhook.ErrSignature},
	{name: "Standard Webhooks, no signature", request: crmRequest(header("Webhook-Signature")), code: 401, kind: "not-verified", why: webhook.ErrSignature},
	{name: "Standard Webhooks, no id", request: crmRequest(header("Webhook-Id")), code: 401, kind: "not-verified", why: webhook.ErrSignature},
	{name: "Standard Webhooks, no timestamp", request: crmRequest(header("Webhook-Timestamp")), code: 401, kind: "not-verified", why: webhook.ErrSignature},
	{name: "Standard Webhooks, another id than was signed", request: crmRequest(header("Webhook-Id", "msg_2")), code: 401, kind: "not-verified", why: webhook.ErrSignature},
	{name: "Standard Webhooks, a timestamp in words", request: crmRequest(header("Webhook-Timestamp", "now")), code: 401, kind: "not-verified", why: webhook.ErrSignature},
	{name: "Standard Webhooks, the signature on two lines", request: crmRequest(twice("Webhook-Signature")), code: 401, kind: "not-verified", why: webhook.ErrSignature},
	{name: "stale", request: crmSigned(-6 * time.Minute), code: 401, kind: "not-verified", why: webhook.ErrTimestamp},
	{name: "from the future", request: crmSigned(6 * time.Minute), code: 401, kind: "not-verified", why: webhook.ErrTimestamp},

	{name: "an endpoint that does not exist", request: wooRequest(func(r *http.Request) { r.URL.Path = "/hooks/no-shop" }), code: 404, kind: "not-configured"},
	{name: "a name that no endpoint can have", request: wooRequest(func(r *http.Request) { r.URL.Path = "/hooks/" + hush + " " }), code: 404, kind: "not-configured"},
	{name: "no endpoint", request: wooRequest(func(r *http.Request) { r.URL.Path = "/hooks/" }), code: 404, front: true},
	{name: "an address that is no hook", request: wooRequest(func(r *http.Request) { r.URL.Path = "/hooks/woo-shop/more" }), code: 404, front: true},

	{name: "PUT", request: wooRequest(method("PUT")), code: 405, kind: "method-not-allowed", header: map[string]string{"Allow": "POST, GET"}},
	{name: "DELETE", request: wooRequest(method("DELETE")), code: 405, kind: "method-not-allowed", header: map[string]string{"Allow": "POST, GET"}},
	{name: "PATCH", request: wooRequest(method("PATCH")), code: 405, kind: "method-not-allowed", header: map[string]string{"Allow": "POST, GET"}},
	{name: "OPTIONS", request: wooRequest(method("OPTIONS")), code: 405, kind: "method-not-allowed", header: map[string]string{"Allow": "POST, GET"}},
	{name: "a GET that is no ping", request: wooRequest(method("GET")), code: 405, kind: "method-not-allowed", header: map[string]string{"Allow": "POST, GET"}},
	{name: "GET where nothing pings", request: crmRequest(method("GET")), code: 405, kind: "method-not-allowed", header: map[string]string{"Allow": "POST"}},
	{name: "HEAD", request: crmRequest(method("HEAD")), code: 405, kind: "method-not-allowed", header: map[string]string{"Allow": "POST"}},

	{name: "over the endpoint's limit", request: wooBody("product.updated", sized(512<<10+1)), code: 413, kind: "too-large"},
	{name: "over the usual limit", request: crmBody(sized(1<<20 + 1)), code: 413, kind: "too-large"},
	{name: "over the limit and not signed", request: wooBody("product.updated", sized(512<<10+1), otherBody), code: 413, kind: "too-large"},
	{name: "over what a function takes", request: wooBody("product.updated", sized(6<<20)), code: 413, front: true},
	{name: "over what a function takes, in base64", request: wooBody("product.updated", sized(4_800_000), header("Content-Type", "application/octet-stream")), code: 413, front: true},
	{name: "headers over the front's limit", request: wooRequest(header("X-Padding", strings.Repeat("x", 10_240))), code: 431, front: true},

	{name: "broken base64", request: wooRequest(), encoded: "eyJpZCI6MX0", code: 400, kind: "malformed"},
	{name: "JSON that claims to be base64", request: wooRequest(), encoded: `{"id":794,"name":"` + hush + `"}`, code: 400, kind: "malformed"},
	{name: "not UTF-8", request: wooBody("product.updated", "{\"id\":794,\"name\":\"\xff"+hush+"\"}"), code: 400, kind: "malformed"},
	{name: "not UTF-8, as octets", request: wooBody("product.updated", "\xfe\xff"+hush, header("Content-Type", "application/octet-stream")), code: 400, kind: "malformed"},
	{name: "no JSON", request: wooBody("product.updated", "id=794&name="+hush), code: 400, kind: "malformed"},
	{name: "no body", request: wooBody("product.updated", ""), code: 400, kind: "malformed"},
	{name: "JSON that ends too soon", request: wooBody("product.updated", `{"id":794,"name":"`+hush), code: 400, kind: "malformed"},
	{name: "two JSON documents", request: wooBody("product.updated", `{"id":794}{"name":"`+hush+`"}`), code: 400, kind: "malformed"},
	{name: "nested one level too deep", request: wooBody("product.updated", nested(257)), code: 400, kind: "malformed"},
	{name: "1 MiB of nesting", request: crmBody(strings.Repeat("[", 1<<19) + strings.Repeat("]", 1<<19)), code: 400, kind: "malformed"},
	{name: "1 MiB of nesting that never ends", request: crmBody(strings.Repeat(`{"a":`, (1<<20)/5)), code: 400, kind: "malformed"},
	{name: "no event type", request: wooRequest(header("X-Wc-Webhook-Topic")), code: 400, kind: "malformed"},
	{name: "Standard Webhooks, no event type", request: crmBody(`{"data":{"id":"` + hush + `"}}`), code: 400, kind: "malformed"},

	{name: "a type that is ignored on purpose", request: wooBody("product.deleted", `{"id":794,"name":"`+hush+`"}`), code: 200, status: "ignored"},
	{name: "a type that nobody named", request: wooBody(hush+".created", `{"id":794}`), code: 200, status: "ignored"},
	{name: "Standard Webhooks, a type that nobody named", request: crmBody(`{"type":"` + hush + `","data":{}}`), code: 200, status: "ignored"},
	{name: "WooCommerce's ping", request: wooPing(http.MethodPost), code: 200, status: "pong"},
	{name: "WooCommerce's ping behind a redirect", request: wooPing(http.MethodGet), code: 200, status: "pong"},
}

// nested is a product with so many levels of JSON.
func nested(levels int) string {
	return product{ID: 794, Name: hush, Extra: `,"meta":` + strings.Repeat("[", levels-1) + strings.Repeat("]", levels-1)}.Body()
}

// sized is JSON of this many bytes.
func sized(n int) string {
	const begin, end = `{"id":794,"name":"` + hush + `","x":"`, `"}`
	return begin + strings.Repeat("x", n-len(begin)-len(end)) + end
}

// wooPing is what WooCommerce sends when a webhook is saved: a form, no header of its own, no signature.
func wooPing(method string) func(*system) *http.Request {
	return func(s *system) *http.Request {
		r, err := http.NewRequestWithContext(s.t.Context(), method, s.URL()+"/hooks/woo-shop", strings.NewReader("webhook_id=4"))
		if err != nil {
			s.t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		return r
	}
}
