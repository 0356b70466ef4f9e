package webhook_test

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"engang/shared/secrets"
	"engang/shared/webhook"
)

// What we sign the official library takes, and the other way round, for a thousand random deliveries.
func TestTheStandardWebhooksLibraryAgrees(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	s := row(t, standard)
	for range 1000 {
		key := make([]byte, 24+random.IntN(41))
		body := make([]byte, random.IntN(400))
		for _, b := range [][]byte{key, body} {
			for i := range b {
				b[i] = byte(random.Uint32())
			}
		}
		secret := "whsec_" + base64.StdEncoding.EncodeToString(key)
		now := time.Unix(random.Int64N(4_000_000_000), random.Int64N(1e9))
		id := fmt.Sprintf("msg_%x", random.Uint64())
		library, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		given := webhook.Request{Header: http.Header{"Webhook-Id": {id}}, Body: body}
		ours, err := s.Sign(given, secrets.NewValue(secret), now)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := library.Sign(id, now, body)
		if err != nil || theirs != ours.Header.Get("Webhook-Signature") {
			t.Fatalf("signed differently: %v", err)
		}
		if err := library.VerifyIgnoringTimestamp(body, ours.Header); err != nil {
			t.Fatal(err)
		}
		if err := s.Verify(ours, held(secret), webhook.Expect{}, now); err != nil {
			t.Fatal(err)
		}
	}
}

// Where the library answers otherwise, it is on purpose, and here is why.
func TestWhereTheStandardWebhooksLibraryDisagrees(t *testing.T) {
	key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(standardSecret, "whsec_"))
	good := signedWith(t, standard, standardSecret, standardBody)
	stamp, sum := good.Header.Get("Webhook-Timestamp"), good.Header.Get("Webhook-Signature")
	resign := func(name, value string) webhook.Request {
		req := with(good, name, value)
		text := req.Header.Get("Webhook-Id") + "." + req.Header.Get("Webhook-Timestamp") + "." + standardBody
		return with(req, "Webhook-Signature", "v1,"+mac(string(key), text))
	}
	tests := []struct {
		name   string
		req    webhook.Request
		secret string
		ours   bool
		why    string
	}{
		{"empty secret", forge(t, standard, "whsec_"), "whsec_", false, "anyone could sign"},
		{"fractional time", with(good, "Webhook-Timestamp", stamp+".5"), standardSecret, true, "Weblate sends it, and other libraries take it"},
		{"time with a sign, signed without", with(good, "Webhook-Timestamp", "+"+stamp), standardSecret, false, "the text is signed, not the number"},
		{"time with idle zeros, signed without", with(good, "Webhook-Timestamp", "0"+stamp), standardSecret, false, "the text is signed, not the number"},
		{"time with idle zeros, signed as written", resign("Webhook-Timestamp", "0"+stamp), standardSecret, true, "the text is signed, not the number"},
		{"id with a dot", resign("Webhook-Id", "msg.1"), standardSecret, false, "id and time could swap characters"},
		{"headers joined by a comma", with(good, "Webhook-Signature", sum+","+sum), standardSecret, false, "one header, or none"},
		{"repeated header", with(good, "Webhook-Signature", sum, "v1,AAAA"), standardSecret, false, "one header, or none"},
	}
	for _, tt := range tests {
		library, err := standardwebhooks.NewWebhook(tt.secret)
		if err != nil {
			t.Fatal(err)
		}
		theirs := library.VerifyIgnoringTimestamp(tt.req.Body, tt.req.Header) == nil
		ours := row(t, standard).Verify(tt.req, held(tt.secret), webhook.Expect{}, noon) == nil
		if ours != tt.ours || theirs == ours {
			t.Errorf("%s (%s): we accept %v, the library %v", tt.name, tt.why, ours, theirs)
		}
	}
}
