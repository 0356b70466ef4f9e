package webhook_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	library "github.com/PaddleHQ/paddle-go-sdk/v4"
	"github.com/google/go-cmp/cmp"

	"engang/shared/webhook"
)

const (
	paddleSecret       = "pdl_ntfset_01kb8abcdefghjkmnpqrstvwxy_4f5a6b7c8d9e0f1a2b3c4d5e6f708192"
	paddleSubscription = `{"event_id":"evt_01kb8","event_type":"subscription.updated","occurred_at":"2026-11-29T11:59:57.590857Z","notification_id":"ntf_01kb8","data":{"id":"sub_01kb8","updated_at":"2026-11-29T11:59:56.490000Z"}}`
)

var _ = add(sample{
	provider: "paddle", secret: paddleSecret, older: "pdl_ntfset_01kb8abcdefghjkmnpqrstvwxy_00112233445566778899aabbccddeeff", body: paddleSubscription,
	signature: "Paddle-Signature", window: 5 * time.Second,
	sum: func(req webhook.Request, key string) string {
		return fmt.Sprintf("ts=%d;h1=%s", noon.Unix(), hexMAC(sha256.New, key, fmt.Sprintf("%d:%s", noon.Unix(), req.Body)))
	},
	unfit: map[string]string{
		"a key of the API":                "pdl_live_apikey_01kb8abcdefghjkmnpqrstvwxy_4f5a6b7c8d9e0f1a",
		"a key of the sandbox's API":      "pdl_sdbx_apikey_01kb8abcdefghjkmnpqrstvwxy_4f5a6b7c8d9e0f1a",
		"a token for a browser":           "test_4f5a6b7c8d9e0f1a2b3c4d5e6f7081920",
		"does not begin with pdl_ntfset_": "4f5a6b7c8d9e0f1a2b3c4d5e6f7081924f5a6b7c8d9e0f1a",
		"fewer than 32":                   "pdl_ntfset_short",
		"everybody knows it":              "pdl_ntfset_01hsdn8d43dt7mezr1ef2jtbaw_hKkRiCGyyRhbFwIUuqiTBgI7gnWoV0Gr",
	},
})

func TestPaddleFacts(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		want       webhook.Fact
	}{
		{"a subscription", paddleSubscription, webhook.Fact{Type: "subscription.updated", Key: "evt_01kb8", SenderID: "evt_01kb8", DeliveryID: "ntf_01kb8",
			Kind: "subscription", ObjectID: "sub_01kb8", Version: "2026-11-29T11:59:56.490000Z"}},
		{"an object that does not say when it changed", `{"event_id":"evt_2","event_type":"price.created","occurred_at":"2026-11-29T11:59:57.590857Z","notification_id":"ntf_2","data":{"id":"pri_1"}}`,
			webhook.Fact{Type: "price.created", Key: "evt_2", SenderID: "evt_2", DeliveryID: "ntf_2", Kind: "price", ObjectID: "pri_1", Version: "2026-11-29T11:59:57.590857Z"}},
		{"no object", `{"event_id":"evt_3","event_type":"price.created"}`, webhook.Fact{Type: "price.created", Key: "evt_3", SenderID: "evt_3", Flaw: "the body has no object id at /data/id"}},
	} {
		got := identify(t, "paddle", signedWith(t, "paddle", paddleSecret, tt.body), webhook.Rule{})
		tt.want.Digest = got.Digest
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
	s := row(t, "paddle")
	for _, body := range []string{`{"event_type":"price.created"}`, `{"event_id":"ntf_1","event_type":"price.created"}`, `{"event_id":"evt_1"}`, `[]`} {
		if _, err := s.Identify(posted(body), decoded(t, []byte(body)), webhook.Rule{}, noon); !errors.Is(err, webhook.ErrMalformed) {
			t.Errorf("%s: %v", body, err)
		}
	}
	got := identify(t, "paddle", posted(payload(t, "paddle-subscription.updated.json")), webhook.Rule{})
	if got.Kind != "subscription" || got.ObjectID != "sub_01kb8example0000000000001" || got.Flaw != "" {
		t.Errorf("%+v", got)
	}
}

// One event goes to every destination, and again by hand, as another notification.
func TestPaddleNotificationsOfOneEvent(t *testing.T) {
	first := identify(t, "paddle", posted(paddleSubscription), webhook.Rule{})
	again := identify(t, "paddle", posted(strings.Replace(paddleSubscription, "ntf_01kb8", "ntf_01kb9", 1)), webhook.Rule{})
	other := identify(t, "paddle", posted(strings.Replace(paddleSubscription, "sub_01kb8", "sub_01kb9", 1)), webhook.Rule{})
	if first.Key != again.Key || first.Digest != again.Digest || first.DeliveryID == again.DeliveryID || other.Key != first.Key || other.Digest == first.Digest {
		t.Errorf("%+v, again %+v, other %+v", first, again, other)
	}
}

func TestPaddleHeaders(t *testing.T) {
	s := row(t, "paddle")
	req := signedWith(t, "paddle", paddleSecret, paddleSubscription)
	text := req.Header.Get("Paddle-Signature")
	stamp, sum, _ := strings.Cut(text, ";")
	wrong := "h1=" + strings.Repeat("0a", 32)
	for header, want := range map[string]error{
		text: nil, stamp + ";" + wrong + ";" + sum: nil, stamp + ";" + sum + ";" + wrong: nil, sum + ";" + stamp: nil, stamp + ";h2=x;" + sum: nil,
		stamp + strings.Repeat(";"+wrong, 15) + ";" + sum: nil,
		stamp + strings.Repeat(";"+wrong, 16) + ";" + sum: webhook.ErrSignature,
		stamp + ";" + wrong:                       webhook.ErrSignature,
		stamp + "," + sum:                         webhook.ErrSignature,
		stamp + "; " + sum:                        webhook.ErrSignature,
		stamp + ";" + sum + "," + sum:             webhook.ErrSignature,
		stamp + ";" + stamp + ";" + sum:           webhook.ErrSignature,
		stamp + ";h1=" + strings.ToUpper(sum[3:]): webhook.ErrSignature,
		text + ";":                                webhook.ErrSignature,
		"t" + stamp + ";" + sum:                   webhook.ErrSignature,
	} {
		if err := s.Verify(with(req, "Paddle-Signature", header), held(paddleSecret), webhook.Expect{}, noon); !errors.Is(err, want) {
			t.Errorf("%q: %v", header, err)
		}
	}
}

func paddleAccepts(req webhook.Request, secret string) bool {
	r := &http.Request{Header: req.Header, Body: io.NopCloser(bytes.NewReader(req.Body))}
	ok, err := library.NewWebhookVerifier(secret).Verify(r)
	return ok && err == nil
}

// What we sign the official library takes. It signs nothing itself.
func TestThePaddleLibraryAgrees(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	s := row(t, "paddle")
	for range 300 {
		body := make([]byte, random.IntN(300))
		for i := range body {
			body[i] = byte(random.Uint32())
		}
		secret, now := fmt.Sprintf("pdl_ntfset_%032x", random.Uint64()), time.Unix(random.Int64N(4_000_000_000), 0)
		req, err := s.Sign(webhook.Request{Body: body}, held(secret)[0], now)
		if err != nil || !paddleAccepts(req, secret) {
			t.Fatalf("the library refuses what we sign: %v", err)
		}
		req.Body = append(req.Body, 'x')
		if s.Verify(req, held(secret), webhook.Expect{}, now) == nil || paddleAccepts(req, secret) {
			t.Fatal("another body was accepted")
		}
	}
}

// The library takes one sum only and keeps no window; it takes an empty secret, as anyone may sign with.
func TestVectorsAgainstThePaddleLibrary(t *testing.T) {
	checked := 0
	for _, v := range readVectors(t, "testdata/vectors.json") {
		if v.Provider != "paddle" {
			continue
		}
		checked++
		excused := slices.Contains(v.LibraryDisagrees, "paddle-go-sdk v4.1.0")
		if accepted := paddleAccepts(v.request(), v.Secret); (accepted == (v.Expect == "valid")) == excused {
			t.Errorf("%s: library accepted: %v, expected: %s, listed as disagreeing: %v", v.Name, accepted, v.Expect, excused)
		}
	}
	if checked != 5 {
		t.Errorf("%d vectors were compared", checked)
	}
	forged := forge(t, "paddle", "")
	if !paddleAccepts(forged, "") {
		t.Error("the library has learnt to refuse an empty secret: this comment is out of date")
	}
}
