package webhook_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/document"
	"engang/shared/webhook"
)

const (
	zendeskBody  = `{"type":"zen:event-type:ticket.status_changed","account_id":12514403,"id":"2b24ef10","time":"2026-11-29T11:59:58Z","subject":"zen:ticket:35436","detail":{"id":"35436","updated_at":"2026-11-29T11:59:57Z","type":"QUESTION"},"event":{}}`
	zendeskStamp = "X-Zendesk-Webhook-Signature-Timestamp"
)

var zendeskSample = add(sample{
	provider: "zendesk", secret: "c3ludGhldGljIHNlY3JldCBvZiBhIHdlYmhvb2s=", older: "YW4gb2xkZXIgc2VjcmV0IG9mIGEgd2ViaG9vaw==", body: zendeskBody,
	signature: "X-Zendesk-Webhook-Signature", covered: []string{zendeskStamp}, window: 300 * time.Second,
	sum: func(req webhook.Request, key string) string {
		return mac(key, req.Header.Get(zendeskStamp)+string(req.Body))
	},
	unfit: map[string]string{
		"everybody knows it": "dGhpc19zZWNyZXRfaXNfZm9yX3Rlc3Rpbmdfb25seQ==",
		"fewer than 32":      "zd-signing-secret-example",
	},
})

func TestZendeskFacts(t *testing.T) {
	const trigger = `{"id":"7","type":"question","subject":"zen:ticket:1","ticket":{"id":9}}`
	digest := document.Digest([]byte(trigger))
	for _, tt := range []struct {
		name, body string
		endpoint   webhook.Endpoint
		rule       webhook.Rule
		want       webhook.Fact
	}{
		{"an event", zendeskBody, webhook.Endpoint{}, webhook.Rule{}, webhook.Fact{Type: "zen:event-type:ticket.status_changed", Key: "2b24ef10", SenderID: "2b24ef10",
			Kind: "ticket", ObjectID: "35436", Version: "2026-11-29T11:59:57Z"}},
		{"an event without a time of the object", strings.Replace(zendeskBody, `"updated_at"`, `"at"`, 1), webhook.Endpoint{}, webhook.Rule{}, webhook.Fact{Type: "zen:event-type:ticket.status_changed", Key: "2b24ef10", SenderID: "2b24ef10",
			Kind: "ticket", ObjectID: "35436", Version: "2026-11-29T11:59:58Z"}},
		{"an event without a subject", `{"type":"zen:event-type:x","id":"1","time":"2026-11-29T11:59:58Z"}`, webhook.Endpoint{}, webhook.Rule{}, webhook.Fact{Type: "zen:event-type:x", Key: "1", SenderID: "1", Version: "2026-11-29T11:59:58Z",
			Flaw: "neither the provider nor the endpoint's configuration says what object the event is about"}},
		{"what a trigger sends has a type, id and subject of the customer's own", trigger, webhook.Endpoint{Type: "ticket.updated"}, webhook.Rule{Kind: "ticket", ID: pointer(t, "/ticket/id")},
			webhook.Fact{Type: "ticket.updated", Key: "ticket.updated#" + digest + "#2026-11-29T12:00:00Z", Kind: "ticket", ObjectID: "9"}},
		{"the same, with the type in the body", trigger, webhook.Endpoint{TypeAt: pointer(t, "/type")}, webhook.Rule{},
			webhook.Fact{Type: "question", Key: "question#" + digest + "#2026-11-29T12:00:00Z", Flaw: "neither the provider nor the endpoint's configuration says what object the event is about"}},
	} {
		s, err := row(t, "zendesk").For(tt.endpoint)
		if err != nil {
			t.Fatal(err)
		}
		req := with(signedWith(t, "zendesk", zendeskSample.secret, tt.body), "X-Zendesk-Webhook-Invocation-Id", "01KB8E")
		got, err := s.Identify(req, read(t, s, req), tt.rule, noon.Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		tt.want.Digest, tt.want.DeliveryID = got.Digest, "01KB8E"
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
	s := row(t, "zendesk")
	for _, body := range []string{trigger, `{"event":"ticket.updated","id":123}`, `[]`, `{"type":"zen:event-type:` + strings.Repeat("x", 250) + `"}`} {
		if _, err := s.Identify(posted(body), decoded(t, []byte(body)), webhook.Rule{}, noon); !errors.Is(err, webhook.ErrMalformed) {
			t.Errorf("%.40s without a type of the endpoint's: %v", body, err)
		}
	}
}

// Who holds a captured event cannot make another of it by what is not signed.
func TestZendeskKeysHoldNothingUnsigned(t *testing.T) {
	first := identify(t, "zendesk", signedWith(t, "zendesk", zendeskSample.secret, zendeskBody), webhook.Rule{})
	other := identify(t, "zendesk", posted(strings.Replace(zendeskBody, `,"account_id"`, `, "account_id"`, 1), "X-Zendesk-Webhook-Invocation-Id", "x", zendeskStamp, "2026-11-29T12:01:00Z"), webhook.Rule{})
	if first.Key != other.Key || first.Digest != other.Digest {
		t.Errorf("%+v, %+v", first, other)
	}
}

func TestZendeskTimes(t *testing.T) {
	s := row(t, "zendesk")
	resigned := func(stamp, body string) webhook.Request {
		return posted(body, zendeskStamp, stamp, zendeskSample.signature, mac(zendeskSample.secret, stamp+body))
	}
	for name, tt := range map[string]struct {
		req  webhook.Request
		want error
	}{
		"as it should be":                 {resigned("2026-11-29T12:00:00Z", zendeskBody), nil},
		"with a fraction":                 {resigned("2026-11-29T12:00:00.123Z", zendeskBody), nil},
		"in another zone":                 {resigned("2026-11-29T13:00:00+01:00", zendeskBody), nil},
		"without a body":                  {resigned("2026-11-29T12:00:00Z", ""), nil},
		"without a zone":                  {resigned("2026-11-29T12:00:00", "Z"+zendeskBody), webhook.ErrSignature},
		"a character of the body with it": {resigned("2026-11-29T12:00:00Z{", zendeskBody[1:]), webhook.ErrSignature},
		"unix seconds":                    {resigned("1795953600", zendeskBody), webhook.ErrSignature},
		"beyond all years":                {resigned("10000-01-01T00:00:00Z", zendeskBody), webhook.ErrSignature},
		"missing":                         {with(resigned("2026-11-29T12:00:00Z", zendeskBody), zendeskStamp), webhook.ErrSignature},
		"repeated":                        {with(resigned("2026-11-29T12:00:00Z", zendeskBody), zendeskStamp, "2026-11-29T12:00:00Z", "2026-11-29T12:00:00Z"), webhook.ErrSignature},
		"an hour old":                     {resigned("2026-11-29T11:00:00Z", zendeskBody), webhook.ErrTimestamp},
	} {
		if err := s.Verify(tt.req, held(zendeskSample.secret), webhook.Expect{}, noon); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestZendeskNamesTheAccount(t *testing.T) {
	s := row(t, "zendesk")
	const header = "X-Zendesk-Account-Id"
	event := signedWith(t, "zendesk", zendeskSample.secret, zendeskBody)
	trigger := signedWith(t, "zendesk", zendeskSample.secret, `{"account_id":"12514403"}`)
	for name, tt := range map[string]struct {
		req webhook.Request
		ok  bool
	}{
		"an event": {event, true},
		"an event under another account's header":  {with(event, header, "1"), true},
		"another account's event under our header": {with(signedWith(t, "zendesk", zendeskSample.secret, strings.Replace(zendeskBody, "12514403", "1", 1)), header, "12514403"), false},
		"a trigger":                                    {with(trigger, header, "12514403"), true},
		"a trigger of another account":                 {with(trigger, header, "1"), false},
		"a trigger that leaves the header out":         {trigger, false},
		"a trigger whose header stands there twice":    {with(trigger, header, "12514403", "12514403"), false},
		"a delivery without a body, under our account": {with(signedWith(t, "zendesk", zendeskSample.secret, ""), header, "12514403"), true},
	} {
		err := s.Verify(tt.req, held(zendeskSample.secret), webhook.Expect{Source: "12514403"}, noon)
		if (err == nil) != tt.ok || err != nil && !errors.Is(err, webhook.ErrSource) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
