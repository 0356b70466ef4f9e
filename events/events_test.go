package events_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"engang/events"
	"engang/shared/config"
	"engang/shared/document"
	"engang/shared/secrets"
	"engang/shared/webhook"
)

var update = flag.Bool("update", false, "sign the samples of the table anew")

// signedAt is the second after what the payloads tell of.
var signedAt = time.Date(2026, 11, 29, 18, 0, 0, 0, time.UTC)

// made are the samples that are made of the payloads that the scheme table is tested with. Those of running
// senders stand beside them, as they came.
var made = []struct {
	provider, name string
	payload        string // under shared/webhook/testdata/payloads; empty: body
	body           string
	header         map[string]string
	endpoint       events.Endpoint
}{
	{provider: "calendly", name: "invitee.created", payload: "calendly-invitee.created.json"},
	{provider: "forgejo", name: "issues.opened", payload: "github-issues.opened.json", header: map[string]string{"X-Forgejo-Event": "issues", "X-Gitea-Event": "issues", "X-GitHub-Event": "issues"}},
	{provider: "generic", name: "order.created", body: `{"event":"order.created","sent_at":"2026-11-29T17:59:58Z","order":{"id":"4711","status":"new","total":"948.00","currency":"SEK","updated_at":"2026-11-29T17:59:57Z"}}`,
		endpoint: events.Endpoint{TypeAt: "/event", HMACHeader: "X-Signature", ObjectKind: "order", ObjectID: "/order/id"}},
	{provider: "ghost", name: "post.published", body: `{"post":{"current":{"id":"6b0c84ff6e7ccf4670b2efd6","title":"Autumn news","slug":"autumn-news","status":"published","visibility":"public","excerpt":"What is new in the shop.","updated_at":"2026-11-29T17:59:57.000Z","published_at":"2026-11-29T17:59:57.000Z"},"previous":{"status":"draft","updated_at":"2026-11-29T17:40:02.000Z","published_at":null}}}`,
		endpoint: events.Endpoint{Type: "post.published"}},
	{provider: "gitea", name: "issues.opened", payload: "github-issues.opened.json", header: map[string]string{"X-Gitea-Event": "issues", "X-GitHub-Event": "issues"}},
	{provider: "github", name: "issues.opened", payload: "github-issues.opened.json", header: map[string]string{"X-GitHub-Event": "issues", "User-Agent": "GitHub-Hookshot/1a2b3c4"}},
	{provider: "gitlab", name: "push", payload: "gitlab-push.json", header: map[string]string{"X-Gitlab-Event": "Push Hook", "X-Gitlab-Instance": "https://gitlab.example.com"}},
	{provider: "hubspot", name: "batch", payload: "hubspot-batch.json", endpoint: events.Endpoint{PublicURL: "https://hooks.example.com/hooks/hubspot"}},
	{provider: "intercom", name: "company.created", payload: "intercom-company.created.json"},
	{provider: "lemonsqueezy", name: "subscription_updated", payload: "lemonsqueezy-subscription_updated.json", header: map[string]string{"X-Event-Name": "subscription_updated"}},
	{provider: "linear", name: "Issue.update", payload: "linear-Issue.update.json", header: map[string]string{"Linear-Event": "Issue"}},
	{provider: "mailgun", name: "delivered", payload: "mailgun-delivered.json"},
	{provider: "openai", name: "batch.completed", payload: "openai-batch.completed.json"},
	{provider: "openai", name: "response.completed", payload: "openai-response.completed.json", header: map[string]string{"User-Agent": "OpenAI/1.0 (+https://platform.openai.com/docs/webhooks)"}},
	{provider: "paddle", name: "subscription.updated", payload: "paddle-subscription.updated.json"},
	{provider: "paypal", name: "PAYMENT.CAPTURE.COMPLETED", payload: "paypal-PAYMENT.CAPTURE.COMPLETED.json"},
	{provider: "shopify", name: "Product/update", payload: "shopify-events-Product.json", header: map[string]string{"Shopify-Topic": "Product", "Shopify-Action": "update", "Shopify-Shop-Domain": "example-shop.myshopify.com"}},
	{provider: "shopify", name: "flow/enrich-product", payload: "shopify-flow-action.json"},
	{provider: "shopify", name: "products/update", payload: "shopify-products-update.json", header: map[string]string{"X-Shopify-Topic": "products/update", "X-Shopify-Shop-Domain": "example-shop.myshopify.com", "X-Shopify-API-Version": "2026-10"}},
	{provider: "slack", name: "message", payload: "slack-event_callback.json"},
	{provider: "slack", name: "url_verification", payload: "slack-url_verification.json"},
	{provider: "square", name: "inventory.count.updated", payload: "square-inventory.count.updated.json", header: map[string]string{"Square-Environment": "Sandbox"}, endpoint: events.Endpoint{PublicURL: "https://hooks.example.com/hooks/square"}},
	{provider: "stripe", name: "invoice.paid", payload: "stripe-invoice.paid.json", header: map[string]string{"User-Agent": "Stripe/1.0 (+https://stripe.com/docs/webhooks)"}},
	{provider: "stripe", name: "v1.billing.meter.error_report_triggered", payload: "stripe-v2-thin-v1.billing.meter.error_report_triggered.json"},
	{provider: "svix", name: "invoice.paid", payload: "svix-message.json", endpoint: events.Endpoint{ObjectKind: "invoice", ObjectID: "/data/id"}},
	{provider: "twilio", name: "message.delivered", payload: "twilio-message-status.txt", endpoint: events.Endpoint{PublicURL: "https://hooks.example.com/hooks/twilio"}},
	{provider: "woocommerce", name: "order.created", payload: "woocommerce-order.created.json", header: map[string]string{"X-WC-Webhook-Topic": "order.created", "X-WC-Webhook-Source": "https://shop.example.com/"}},
	{provider: "wordpress", name: "post_updated", payload: "wordpress-post_updated.json", header: map[string]string{"X-WP-Webhook-Source": "https://blog.example.com/"}, endpoint: events.Endpoint{Type: "post_updated"}},
	{provider: "zendesk", name: "zen:event-type:ticket.status_changed", payload: "zendesk-ticket.status_changed.json"},
}

// scheme is the provider's row as the sample's endpoint uses it.
func scheme(t *testing.T, provider string, e events.Endpoint) webhook.Scheme {
	t.Helper()
	row, ok := webhook.Lookup(provider)
	if !ok {
		t.Fatalf("no row for %s", provider)
	}
	own := config.Endpoint{Type: e.Type}
	if e.TypeAt != "" {
		p, err := document.ParsePointer(e.TypeAt)
		if err != nil {
			t.Fatal(err)
		}
		own.TypeAt = &p
	}
	if e.HMACHeader != "" {
		own.HMAC = &config.HMAC{Header: e.HMACHeader, Encoding: "hex"}
	}
	s, err := row.For(own.Adds())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Every sample is what its provider sends: signed with the stated secret at the stated time, of the stated
// type, about an object.
func TestSamplesAreWhatTheirProvidersSend(t *testing.T) {
	if *update { // they are built in: the next run reads them
		sign(t)
		return
	}
	all, err := events.Samples()
	if err != nil {
		t.Fatal(err)
	}
	providers := map[string]bool{}
	for _, sample := range all {
		t.Run(sample.Name(), func(t *testing.T) {
			providers[sample.Provider] = true
			s := scheme(t, sample.Provider, sample.Endpoint)
			req := webhook.Request{Method: sample.Method, Header: sample.Header, Body: sample.Body, URL: sample.Endpoint.PublicURL}
			if sample.Query != "" {
				req.URL += "?" + sample.Query
			}
			if _, ping := s.Handshake(req); ping {
				return
			}
			expect := webhook.Expect{}
			if s.TrialCertificate() != nil {
				expect.Certificate = s.TrialCertificate()
			}
			if err := s.Verify(req, []secrets.Value{secrets.NewValue(sample.Secret)}, expect, sample.SignedAt); err != nil {
				t.Fatal(err)
			}
			if err := s.Verify(req, []secrets.Value{s.NewSecret([32]byte{1, 2, 3})}, expect, sample.SignedAt); !errors.Is(err, webhook.ErrSignature) {
				t.Errorf("another secret: %v", err)
			}
			doc, _, err := s.Document(req)
			if err != nil {
				t.Fatal(err)
			}
			if _, ping := s.SignedHandshake(req, doc); ping {
				return
			}
			parts := []webhook.Request{req}
			if batch, ok := s.Split(req, doc); ok {
				if parts = batch.Parts; sample.Case != "batch" || len(parts) < 2 {
					t.Errorf("%d parts", len(parts))
				}
			}
			for _, part := range parts {
				identify(t, s, part, sample)
			}
		})
	}
	for _, provider := range webhook.Names() {
		if !providers[provider] {
			t.Errorf("%s has no sample", provider)
		}
	}
}

func identify(t *testing.T, s webhook.Scheme, req webhook.Request, sample events.Sample) {
	t.Helper()
	doc, _, err := s.Document(req)
	if err != nil {
		t.Fatal(err)
	}
	rule := webhook.Rule{Kind: sample.Endpoint.ObjectKind}
	if sample.Endpoint.ObjectID != "" {
		p, err := document.ParsePointer(sample.Endpoint.ObjectID)
		if err != nil {
			t.Fatal(err)
		}
		rule.ID = &p
	}
	fact, err := s.Identify(req, doc, rule, sample.SignedAt)
	if err != nil {
		t.Fatal(err)
	}
	if fact.Flaw != "" || fact.ObjectID == "" || sample.Case != "batch" && fact.Type != sample.Case {
		t.Errorf("fact %+v", fact)
	}
}

// sign writes the samples of the table.
func sign(t *testing.T) {
	t.Helper()
	for _, m := range made {
		body := []byte(m.body)
		if m.payload != "" {
			raw, err := os.ReadFile("../shared/webhook/testdata/payloads/" + m.payload)
			if err != nil {
				t.Fatal(err)
			}
			body = bytes.TrimSpace(raw)
		}
		s := scheme(t, m.provider, m.endpoint)
		secret := s.NewSecret(sha256.Sum256([]byte("sample of " + m.provider)))
		req := webhook.Request{Method: http.MethodPost, Header: http.Header{"Accept": {"*/*"}}, Body: body, URL: m.endpoint.PublicURL}
		for name, value := range m.header {
			req.Header.Set(name, value)
		}
		req, err := s.Sign(req, secret, signedAt)
		if err != nil {
			t.Fatalf("%s: %v", m.provider, err)
		}
		sample := events.Sample{Provider: m.provider, Case: m.name, Secret: string(secret.Reveal()), SignedAt: signedAt, Endpoint: m.endpoint}
		name := m.provider + "-" + strings.NewReplacer(".", "-", "/", "-", ":", "-").Replace(strings.TrimPrefix(m.name, "zen:event-type:")) + ".json"
		if err := os.WriteFile(filepath.Join("receiver", name), event(t, sample, req), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// event is what the gateway makes of a request.
func event(t *testing.T, sample events.Sample, req webhook.Request) []byte {
	t.Helper()
	const host = "a1b2c3d4e5.execute-api.eu-north-1.amazonaws.com"
	path := "/hooks/" + sample.Provider
	headers := map[string]string{"host": host, "content-length": "", "x-forwarded-for": "192.0.2.10", "x-forwarded-port": "443", "x-forwarded-proto": "https"}
	for name, values := range req.Header {
		headers[strings.ToLower(name)] = strings.Join(values, ",")
	}
	raw, _ := json.Marshal(len(req.Body))
	headers["content-length"] = string(raw)
	body, encoded := string(req.Body), !utf8.Valid(req.Body) || !strings.HasPrefix(headers["content-type"], "application/json")
	if encoded {
		body = base64.StdEncoding.EncodeToString(req.Body)
	}
	_, query, _ := strings.Cut(req.URL, "?")
	agent := headers["user-agent"]
	if agent == "" {
		agent = sample.Provider + "-webhooks/1"
		headers["user-agent"] = agent
	}
	doc := struct {
		Sample          events.Sample     `json:"sample"`
		Version         string            `json:"version"`
		RouteKey        string            `json:"routeKey"`
		RawPath         string            `json:"rawPath"`
		RawQueryString  string            `json:"rawQueryString"`
		Headers         map[string]string `json:"headers"`
		RequestContext  map[string]any    `json:"requestContext"`
		PathParameters  map[string]string `json:"pathParameters"`
		Body            string            `json:"body"`
		IsBase64Encoded bool              `json:"isBase64Encoded"`
	}{
		Sample: sample, Version: "2.0", RouteKey: "ANY /hooks/{endpoint}", RawPath: path, RawQueryString: query, Headers: headers,
		RequestContext: map[string]any{
			"accountId": "123456789012", "apiId": "a1b2c3d4e5", "domainName": host, "domainPrefix": "a1b2c3d4e5",
			"http":      map[string]string{"method": req.Method, "path": path, "protocol": "HTTP/1.1", "sourceIp": "192.0.2.10", "userAgent": agent},
			"requestId": "JKJaXmPLvHcESHA=", "routeKey": "ANY /hooks/{endpoint}", "stage": "$default",
			"time": sample.SignedAt.Format("02/Jan/2006:15:04:05 -0700"), "timeEpoch": sample.SignedAt.UnixMilli(),
		},
		PathParameters: map[string]string{"endpoint": sample.Provider}, Body: body, IsBase64Encoded: encoded,
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(doc); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestSamplesHaveNamesOfTheirOwn(t *testing.T) {
	all, err := events.Samples()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range all {
		if names = append(names, s.Name()); s.Method == "" || len(s.Header) == 0 || s.Body == nil {
			t.Errorf("%s: %+v", s.File, s)
		}
	}
	slices.Sort(names)
	if unique := slices.Compact(slices.Clone(names)); len(unique) != len(names) {
		t.Errorf("names %q", names)
	}
}
