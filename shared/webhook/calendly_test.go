package webhook_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/webhook"
)

const calendlyInvitee = `{"created_at":"2026-11-29T11:59:57.000000Z","created_by":"https://api.calendly.com/users/A","event":"invitee.created","payload":{"created_at":"2026-11-29T11:59:55.000000Z","updated_at":"2026-11-29T11:59:56.000000Z","uri":"https://api.calendly.com/scheduled_events/G/invitees/A"}}`

var _ = add(sample{
	provider: "calendly", secret: "4f5a6b7c8d9e0f1a2b3c4d5e6f708192", older: "00112233445566778899aabbccddeeff", body: calendlyInvitee,
	signature: "Calendly-Webhook-Signature", window: 3 * time.Minute,
	sum: func(req webhook.Request, key string) string {
		return fmt.Sprintf("t=%d,v1=%s", noon.Unix(), hexMAC(sha256.New, key, fmt.Sprintf("%d.%s", noon.Unix(), req.Body)))
	},
	unfit: map[string]string{
		"an access token":      "eyJraWQiOiIxY2UxZTEzNjE3ZGNm",
		"an address":           "https://hooks.example.com/hooks/calendly",
		"fewer than 16":        "short",
		"nobody has filled in": "your-secret",
	},
})

func TestCalendlyFacts(t *testing.T) {
	moved := strings.NewReplacer("invitee.created", "invitee.canceled", "invitees/A", "invitees/B").Replace(calendlyInvitee)
	for _, tt := range []struct {
		name, body string
		want       webhook.Fact
	}{
		{"an invitee", calendlyInvitee, webhook.Fact{Type: "invitee.created", Kind: "invitee", ObjectID: "https://api.calendly.com/scheduled_events/G/invitees/A",
			Version: "2026-11-29T11:59:56.000000Z"}},
		{"one that moved is two", moved, webhook.Fact{Type: "invitee.canceled", Kind: "invitee", ObjectID: "https://api.calendly.com/scheduled_events/G/invitees/B",
			Version: "2026-11-29T11:59:56.000000Z"}},
		{"a form that was filled in", `{"event":"routing_form_submission.created","created_at":"2026-11-29T11:59:57.000000Z","payload":{"uri":"https://api.calendly.com/routing_form_submissions/R"}}`,
			webhook.Fact{Type: "routing_form_submission.created", Kind: "routing_form_submission", ObjectID: "https://api.calendly.com/routing_form_submissions/R",
				Version: "2026-11-29T11:59:57.000000Z"}},
		{"no object", `{"event":"user.updated","created_at":"2026-11-29T11:59:57.000000Z"}`, webhook.Fact{Type: "user.updated", Version: "2026-11-29T11:59:57.000000Z",
			Flaw: "the body has no object id at /payload/uri"}},
	} {
		req := signedWith(t, "calendly", samples["calendly"].secret, tt.body)
		got := identify(t, "calendly", req, webhook.Rule{})
		tt.want.Digest, tt.want.Key = got.Digest, tt.want.Type+"#"+got.Digest
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
		again := strings.Replace(tt.body, `{"`, `{ "`, 1) // the same, written anew
		if fact := identify(t, "calendly", signedWith(t, "calendly", samples["calendly"].secret, again), webhook.Rule{}); fact != got {
			t.Errorf("%s: written anew it is %+v", tt.name, fact)
		}
	}
}

// The window is narrower than that of the senders with the same form of header, and nobody signs where
// the subscription was made without a key.
func TestCalendlyHeaders(t *testing.T) {
	s, secret := row(t, "calendly"), samples["calendly"].secret
	req := signedWith(t, "calendly", secret, calendlyInvitee)
	text := req.Header.Get("Calendly-Webhook-Signature")
	stamp, sum, _ := strings.Cut(text, ",")
	other := strings.Repeat("0a", 32)
	for header, want := range map[string]error{
		text: nil, sum + "," + stamp: nil, stamp + ",v1=" + other + "," + sum: nil,
		stamp + ",v1=" + other: webhook.ErrSignature, stamp: webhook.ErrSignature, sum: webhook.ErrSignature,
		stamp + ";" + sum: webhook.ErrSignature, stamp + ", " + sum: webhook.ErrSignature, strings.ToUpper(text): webhook.ErrSignature,
		stamp + "000," + sum: webhook.ErrSignature,
	} {
		if err := s.Verify(with(req, "Calendly-Webhook-Signature", header), held(secret), webhook.Expect{}, noon); !errors.Is(err, want) {
			t.Errorf("%q: %v", header, err)
		}
	}
	if err := s.Verify(posted(calendlyInvitee), held(secret), webhook.Expect{}, noon); !errors.Is(err, webhook.ErrSignature) {
		t.Errorf("no signature at all: %v", err)
	}
	for source, ok := range map[string]bool{"https://api.calendly.com/users/A": true, "https://api.calendly.com/users/B": false} {
		if err := s.Verify(req, held(secret), webhook.Expect{Source: source}, noon); (err == nil) != ok {
			t.Errorf("made by %s: %v", source, err)
		}
	}
}

func TestCalendlyPayload(t *testing.T) {
	got := identify(t, "calendly", signedWith(t, "calendly", samples["calendly"].secret, payload(t, "calendly-invitee.created.json")), webhook.Rule{})
	if got.Kind != "invitee" || got.ObjectID != "https://api.calendly.com/scheduled_events/GBGBDCAADAEDCRZ2/invitees/AAAAAAAAAAAAAAAA" || got.Flaw != "" {
		t.Errorf("%+v", got)
	}
}
