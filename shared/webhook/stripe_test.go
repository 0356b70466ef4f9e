package webhook_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	library "github.com/stripe/stripe-go/v85/webhook"

	"engang/shared/webhook"
)

const (
	stripeSecret = "whsec_5f0c8e1d2b7a4c69a3d8e7f60b1c2d3e4f5a6b7c"
	stripeBody   = `{"id":"evt_1SYx","object":"event","account":"acct_1","created":1795953597,"data":{"object":{"id":"in_1SYx","object":"invoice"}},"livemode":false,"pending_webhooks":1,"type":"invoice.paid"}`
	stripeThin   = `{"id":"evt_test_65R","object":"v2.core.event","type":"v1.billing.meter.error_report_triggered","livemode":true,"created":"2026-11-29T11:59:55.330Z","context":"acct_2","related_object":{"id":"mtr_1","type":"billing.meter","url":"/v1/billing/meters/mtr_1"},"reason":null}`
)

// hexMAC is the sum that a sender would write in hex, computed here without the code under test.
func hexMAC(newHash func() hash.Hash, key, signedText string) string {
	h := hmac.New(newHash, []byte(key))
	h.Write([]byte(signedText))
	return hex.EncodeToString(h.Sum(nil))
}

var _ = add(sample{
	provider: "stripe", secret: stripeSecret, older: "whsec_00112233445566778899aabbccddeeff0011223344", body: stripeBody,
	signature: "Stripe-Signature", window: 300 * time.Second,
	sum: func(req webhook.Request, key string) string {
		return fmt.Sprintf("t=%d,v1=%s", noon.Unix(), hexMAC(sha256.New, key, fmt.Sprintf("%d.%s", noon.Unix(), req.Body)))
	},
	unfit: map[string]string{
		"does not begin with whsec_": "5f0c8e1d2b7a4c69a3d8e7f60b1c2d3e4f5a6b7c5f0c8e1d",
		"it is base64":               "whsec_RdvaYFYUXuIFuEbvZHwMfYFhUf7aMYjYcmM24+Aj40c=",
		"secret key of the API":      "sk_live_0123456789abcdefghijklmnopqrstuv",
		"restricted key":             "rk_test_0123456789abcdefghijklmnopqrstuv",
		"publishable key":            "pk_live_0123456789abcdefghijklmnopqrstuv",
		"fewer than 38":              "whsec_0123456789abcdef",
		"nobody has filled in":       "whsec_...",
		"it has white space":         stripeSecret + "\n",
	},
})

func stripeRequest(body string) webhook.Request {
	return webhook.Request{Method: http.MethodPost, Body: []byte(body), Header: http.Header{"Stripe-Signature": {"t=1795953600,v1=" + strings.Repeat("0a", 32)}}}
}

func TestStripeFacts(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		want       webhook.Fact
	}{
		{"a snapshot", stripeBody, webhook.Fact{Type: "invoice.paid", Key: "evt_1SYx", SenderID: "evt_1SYx", Kind: "invoice", ObjectID: "in_1SYx",
			Version: "2026-11-29T11:59:57Z", Environment: webhook.Test}},
		{"a thin one", stripeThin, webhook.Fact{Type: "v1.billing.meter.error_report_triggered", Key: "evt_test_65R", SenderID: "evt_test_65R", Kind: "billing.meter", ObjectID: "mtr_1",
			Version: "2026-11-29T11:59:55.330Z", Environment: webhook.Production}},
		{"an object without an id", `{"id":"evt_2","type":"balance.available","created":1795953597,"data":{"object":{"object":"balance"}}}`, webhook.Fact{Type: "balance.available", Key: "evt_2",
			SenderID: "evt_2", Version: "2026-11-29T11:59:57Z", Flaw: "the body has no object id where this kind of event has it"}},
		{"no object at all", `{"id":"evt_3","type":"x"}`, webhook.Fact{Type: "x", Key: "evt_3", SenderID: "evt_3",
			Flaw: "neither the provider nor the endpoint's configuration says what object the event is about"}},
	} {
		got := identify(t, "stripe", stripeRequest(tt.body), webhook.Rule{})
		tt.want.Digest = got.Digest
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
	s := row(t, "stripe")
	for _, body := range []string{`{"type":"invoice.paid"}`, `{"id":"in_1","type":"invoice.paid"}`, `{"id":"evt_1"}`, `[]`} {
		if _, err := s.Identify(stripeRequest(body), decoded(t, []byte(body)), webhook.Rule{}, noon); !errors.Is(err, webhook.ErrMalformed) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// pending_webhooks counts down while an event's deliveries come in; nothing else may differ.
func TestStripeDigestsOfARetry(t *testing.T) {
	first := identify(t, "stripe", stripeRequest(stripeBody), webhook.Rule{})
	again := identify(t, "stripe", stripeRequest(strings.Replace(stripeBody, `"pending_webhooks":1`, `"pending_webhooks":0`, 1)), webhook.Rule{})
	other := identify(t, "stripe", stripeRequest(strings.Replace(stripeBody, "in_1SYx", "in_2SYx", 1)), webhook.Rule{})
	if first.Digest != again.Digest || first.Digest == other.Digest || first.Key != other.Key {
		t.Errorf("digests of first, retry and forgery: %s, %s, %s", first.Digest, again.Digest, other.Digest)
	}
}

func TestStripeHeaders(t *testing.T) {
	s := row(t, "stripe")
	good := signedWith(t, "stripe", stripeSecret, stripeBody).Header.Get("Stripe-Signature")
	stamp, sum, _ := strings.Cut(good, ",")
	wrong := "v1=" + strings.Repeat("0a", 32)
	for header, want := range map[string]error{
		good:                            nil,
		sum + "," + stamp:               nil, // the order is nobody's promise
		stamp + "," + wrong + "," + sum: nil,
		stamp + ",v1=nothex," + sum:     nil,
		stamp + "," + sum + ",v0=x":     nil,
		stamp + ",v0=" + sum[3:]:        webhook.ErrSignature,
		sum:                             webhook.ErrSignature,
		stamp:                           webhook.ErrSignature,
		stamp + "," + stamp + "," + sum: webhook.ErrSignature,
		"t=" + "," + sum:                webhook.ErrSignature,
		"t=-1," + sum:                   webhook.ErrSignature,
		stamp + ".5," + sum:             webhook.ErrSignature,
		"t=0" + stamp[2:] + "," + sum:   webhook.ErrSignature,
		stamp + ", " + sum:              webhook.ErrSignature,
		strings.ToUpper(good):           webhook.ErrSignature,
		stamp + ",v1=" + strings.ToUpper(sum[3:]):         webhook.ErrSignature,
		stamp + strings.Repeat(","+wrong, 15) + "," + sum: nil,
		stamp + strings.Repeat(","+wrong, 16) + "," + sum: webhook.ErrSignature,
		good + ",":  webhook.ErrSignature,
		"," + good:  webhook.ErrSignature,
		good + "\n": webhook.ErrSignature,
	} {
		req := stripeRequest(stripeBody)
		req.Header.Set("Stripe-Signature", header)
		if err := s.Verify(req, held(stripeSecret), webhook.Expect{}, noon); !errors.Is(err, want) {
			t.Errorf("%q: %v", header, err)
		}
	}
	for source, ok := range map[string]bool{"acct_1": true, "acct_2": false} {
		req := signedWith(t, "stripe", stripeSecret, stripeBody)
		if err := s.Verify(req, held(stripeSecret), webhook.Expect{Source: source}, noon); (err == nil) != ok {
			t.Errorf("account %s: %v", source, err)
		}
	}
	for body, want := range map[string]bool{`{"id":"evt_1","type":"v2.core.event_destination.ping"}`: true, stripeBody: false, `[]`: false} {
		if _, ok := s.SignedHandshake(stripeRequest(body), decoded(t, []byte(body))); ok != want {
			t.Errorf("%s is a ping: %v", body, ok)
		}
	}
}

// What we sign the official library takes, and the other way round.
func TestTheStripeLibraryAgrees(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	s := row(t, "stripe")
	for range 500 {
		body := make([]byte, random.IntN(300))
		for i := range body {
			body[i] = byte(random.Uint32())
		}
		secret := fmt.Sprintf("whsec_%032x", random.Uint64())
		now := time.Now()
		ours, err := s.Sign(webhook.Request{Body: body}, held(secret)[0], now)
		if err != nil {
			t.Fatal(err)
		}
		if err := library.ValidatePayload(body, ours.Header.Get("Stripe-Signature"), secret); err != nil {
			t.Fatal(err)
		}
		theirs := library.GenerateTestSignedPayload(&library.UnsignedPayload{Payload: body, Secret: secret, Timestamp: now})
		if err := s.Verify(with(ours, "Stripe-Signature", theirs.Header), held(secret), webhook.Expect{}, now); err != nil {
			t.Fatal(err)
		}
	}
}

func TestVectorsAgainstTheStripeLibrary(t *testing.T) {
	const name = "stripe-go v85.0.0 ValidatePayload"
	checked := 0
	for _, v := range readVectors(t, "testdata/vectors.json") {
		if v.Provider != "stripe" || strings.HasPrefix(v.Name, "stale") {
			continue // the library reads the time of day itself: only a time that it never refuses can be compared
		}
		checked++
		accepted := library.ValidatePayloadIgnoringTolerance([]byte(v.Body), v.request().Header.Get("Stripe-Signature"), v.Secret) == nil
		if agrees, excused := accepted == (v.Expect == "valid"), slices.Contains(v.LibraryDisagrees, name); agrees == excused {
			t.Errorf("%s: library accepted: %v, expected: %s, listed as disagreeing: %v", v.Name, accepted, v.Expect, excused)
		}
	}
	if checked != 7 {
		t.Errorf("%d vectors were compared", checked)
	}
}
