package diagnose_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"engang/infra/engang/capture"
	"engang/infra/engang/diagnose"
	"engang/infra/engang/text"
	"engang/shared/control"
	"engang/shared/secrets"
	"engang/shared/webhook"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// A parcel is a delivery before it is captured, as a test changes it.
type parcel struct {
	t        *testing.T
	provider string
	secret   string // that the sender signs with
	body     string
	header   http.Header
	url      string
	at       time.Time // of signing

	c diagnose.Case
}

// The same product, as each sender writes it, with what programs write differently.
const product = `{"id":11,"type":"product.updated","name":"Caf\u00e9 <b>","url":"https:\/\/x.example\/a","date_modified_gmt":"2026-11-29T11:59:58","tags":[],"meta":{"a":1.50,"b":null}}`

var bodies = map[string]string{
	"stripe":       `{"id":"evt_1","type":"invoice.paid","created":1795953590,"livemode":false,"data":{"object":{"object":"invoice","id":"in_1"}}}`,
	"slack":        `{"type":"event_callback","event_id":"Ev1","team_id":"T1","event":{"type":"message","channel":"C1","ts":"1795953590.000100"}}`,
	"hubspot":      `[{"eventId":1,"subscriptionType":"contact.creation","portalId":1,"appId":1,"occurredAt":1795953590000,"subscriptionId":1,"attemptNumber":0,"objectId":7}]`,
	"twilio":       `AccountSid=AC00000000000000000000000000000001&Body=a+b&MessageSid=SM00000000000000000000000000000001&MessageStatus=delivered&SmsStatus=delivered&To=%2B4712345678`,
	"mailgun":      `{"event-data":{"id":"e1","event":"delivered","timestamp":1795953590.5,"message":{"headers":{"message-id":"m1@x.example"}}}}`,
	"zendesk":      `{"id":"z1","type":"zen:event-type:ticket.status_changed","subject":"zen:ticket:7","account_id":1,"time":"2026-11-29T11:59:58Z","detail":{"id":"7","updated_at":"2026-11-29T11:59:58Z"}}`,
	"linear":       `{"action":"update","type":"Issue","createdAt":"2026-11-29T11:59:58Z","data":{"id":"i1","updatedAt":"2026-11-29T11:59:58Z"},"webhookTimestamp":1795953600000}`,
	"ghost":        `{"post":{"current":{"id":"p1","updated_at":"2026-11-29T11:59:58.000Z"},"previous":{}}}`,
	"square":       `{"event_id":"s1","type":"inventory.count.updated","merchant_id":"M1","created_at":"2026-11-29T11:59:58Z","data":{"type":"inventory","id":"i1","object":{"inventory_counts":[]}}}`,
	"wordpress":    `{"id":7,"post_modified":"2026-11-29 11:59:58"}`,
	"intercom":     `{"type":"notification_event","id":"notif_1","topic":"company.created","app_id":"a1","created_at":1795953590,"data":{"item":{"type":"company","id":"7"}}}`,
	"paddle":       `{"event_id":"evt_1","event_type":"subscription.updated","occurred_at":"2026-11-29T11:59:58Z","notification_id":"ntf_1","data":{"id":"sub_1"}}`,
	"calendly":     `{"event":"invitee.created","created_at":"2026-11-29T11:59:58.000000Z","payload":{"uri":"https://api.calendly.com/x/1"}}`,
	"lemonsqueezy": `{"meta":{"event_name":"subscription_updated","test_mode":true},"data":{"type":"subscriptions","id":"1","attributes":{"updated_at":"2026-11-29T11:59:58.000000Z"}}}`,
	"paypal":       `{"id":"WH-1","event_type":"PAYMENT.CAPTURE.COMPLETED","resource_type":"capture","create_time":"2026-11-29T11:59:58Z","resource":{"id":"c1"}}`,
	"openai":       `{"id":"evt_1","type":"response.completed","created_at":1795953590,"data":{"id":"resp_1"}}`,
}

// parcelOf makes a delivery of a provider, and an endpoint that takes it.
func parcelOf(t *testing.T, provider string) *parcel {
	t.Helper()
	scheme, ok := webhook.Lookup(provider)
	if !ok {
		t.Fatalf("no provider %s", provider)
	}
	p := &parcel{
		t: t, provider: provider, secret: string(scheme.NewSecret([32]byte{1, 2, 3, 4, 5, 6, 7, 8, 9}).Reveal()), body: product, header: http.Header{}, at: noon,
		c: diagnose.Case{Now: noon, Endpoint: control.Endpoint{Name: "here", Provider: provider, Tenant: "shop", Environment: "test"}},
	}
	if body, ok := bodies[provider]; ok {
		p.body = body
	}
	if scheme.SignsURL() {
		p.url = "https://hooks.example.com/hooks/here"
		p.c.Endpoint.PublicURL = p.url
	}
	switch provider {
	case "woocommerce":
		p.header.Set("X-Wc-Webhook-Topic", "product.updated")
	case "github", "gitea", "forgejo":
		p.header.Set("X-Github-Event", "issues")
	case "shopify":
		p.header.Set("X-Shopify-Topic", "products/update")
	case "gitlab":
		p.body = `{"object_kind":"push","project_id":7}`
	case "ghost":
		p.c.Endpoint.Type = "post.edited"
	case "wordpress":
		p.c.Endpoint.Type = "post.updated"
	}
	p.c.Secrets = []diagnose.Secret{{Name: "hooks/here/1", Value: secrets.NewValue(p.secret)}}
	p.c.Certificate = scheme.TrialCertificate()
	return p
}

// holds makes the endpoint have these secrets, and not the sender's.
func (p *parcel) holds(texts ...string) {
	p.c.Secrets = nil
	for i, text := range texts {
		p.c.Secrets = append(p.c.Secrets, diagnose.Secret{Name: "hooks/here/" + string(rune('1'+i)), Value: secrets.NewValue(text)})
	}
}

// signed is the delivery as its sender makes it.
func (p *parcel) signed() webhook.Request {
	p.t.Helper()
	e := p.c.Endpoint
	e.Provider, e.PublicURL = p.provider, p.url
	scheme, err := diagnose.SchemeOf(e)
	if err != nil {
		p.t.Fatal(err)
	}
	if p.provider != p.c.Endpoint.Provider {
		scheme, _ = webhook.Lookup(p.provider)
	}
	req, err := scheme.Sign(webhook.Request{Method: http.MethodPost, URL: p.url, Header: p.header, Body: []byte(p.body)}, secrets.NewValue(p.secret), p.at)
	if err != nil {
		p.t.Fatal(err)
	}
	return req
}

// capture is it as it is captured, unspoilt.
func (p *parcel) capture() {
	p.t.Helper()
	req := p.signed()
	p.c.Request = capture.Request{Format: capture.RawHTTP, Method: req.Method, Target: "/hooks/here", Body: req.Body}
	for _, name := range slices.Sorted(keys(req.Header)) {
		for _, v := range req.Header[name] {
			p.c.Request.Headers = append(p.c.Request.Headers, capture.Header{Name: name, Value: v})
		}
	}
}

func keys(h http.Header) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for name := range h {
			if !yield(name) {
				return
			}
		}
	}
}

// The changes below are made to what was captured.

func (p *parcel) value(name string) string { return p.c.Request.Header().Get(name) }

func (p *parcel) set(name, value string) {
	for i, h := range p.c.Request.Headers {
		if strings.EqualFold(h.Name, name) {
			p.c.Request.Headers[i].Value = value
			return
		}
	}
	p.add(name, value)
}

func (p *parcel) add(name, value string) {
	p.c.Request.Headers = append(p.c.Request.Headers, capture.Header{Name: name, Value: value})
}

func (p *parcel) rename(from, to string) {
	value := p.value(from)
	p.c.Request.Headers = slices.DeleteFunc(p.c.Request.Headers, func(h capture.Header) bool { return strings.EqualFold(h.Name, from) })
	if to != "" {
		p.add(to, value)
	}
}

func (p *parcel) bytes(change func([]byte) []byte) { p.c.Request.Body = change(p.c.Request.Body) }

// told is the report, also as a person and as a program see it.
func told(t *testing.T, c diagnose.Case) (r diagnose.Report, forPeople, forPrograms string) {
	t.Helper()
	r, err := diagnose.Explain(c)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := r.Write(&b, text.Clock{}); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return r, b.String(), string(raw)
}
