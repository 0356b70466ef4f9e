package webhook_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"engang/shared/document"
	"engang/shared/webhook"
)

const (
	squareURL  = "https://hooks.example.com/hooks/square"
	squareBody = `{"merchant_id":"ML1","type":"payment.updated","event_id":"6a8f5f28-1","created_at":"2026-11-29T11:59:58.124Z","data":{"type":"payment","id":"KkAk","object":{"payment":{"id":"KkAk","version":4,"updated_at":"2026-11-29T11:59:58Z"}}}}`
)

var squareSample = add(sample{
	provider: "square", secret: "Jbyy-6BLbLP4rfOWS72Ex", older: "Kczz_7CMcMQ5sgPXT83Fyg", body: squareBody, url: squareURL,
	signature: "X-Square-Hmacsha256-Signature",
	sum:       func(req webhook.Request, key string) string { return mac(key, req.URL+string(req.Body)) },
	unfit: map[string]string{
		"access token":             "EAAAEOuLQObrVwJvCvoio3H13b8Ssqz1ighmTBKZvIENW9qxirHGHkqsGcP",
		"secret of an application": "sq0csp-0123456789abcdefghijklmnopqrstuvwxyzABCDEFG",
		"id of an application":     "sq0idp-0123456789abcdefghij",
		"in the sandbox":           "sandbox-sq0csp-0123456789abcdefghijklmnopqrstuvwxyz",
		"fewer than 22":            "Jbyy-6BLbLP4rfOWS72E",
		"everybody knows it":       "Ibxx_5AKakO-3qeNVR61Dw",
	},
})

func TestSquareFacts(t *testing.T) {
	digest := func(body string) string { return document.Digest([]byte(body)) }
	noID := `{"merchant_id":"ML1","type":"payment.updated","created_at":"2026-11-29T11:59:58.124Z","data":{"type":"payment","id":"KkAk"}}`
	for _, tt := range []struct {
		name, body, environment string
		want                    webhook.Fact
	}{
		{"a payment", squareBody, "Production", webhook.Fact{Type: "payment.updated", Key: "6a8f5f28-1", SenderID: "6a8f5f28-1", Kind: "payment", ObjectID: "KkAk", Version: "2026-11-29T11:59:58.124Z", Environment: webhook.Production}},
		{"an object without a version", payload(t, "square-inventory.count.updated.json"), "Sandbox", webhook.Fact{Type: "inventory.count.updated", Key: "6a8f5f28-0000-4000-8000-000000000001",
			SenderID: "6a8f5f28-0000-4000-8000-000000000001", Kind: "inventory_counts", ObjectID: "84fbd844-0000-4000-8000-000000000001", Version: "2026-11-29T17:59:58.124Z", Environment: webhook.Test}},
		{"an event without an id", noID, "", webhook.Fact{Type: "payment.updated", Key: "payment.updated#" + digest(noID), Kind: "payment", ObjectID: "KkAk", Version: "2026-11-29T11:59:58.124Z"}},
		{"two objects, of which none is meant", strings.Replace(squareBody, `"object":{`, `"object":{"order":{"version":9},`, 1), "sandbox", webhook.Fact{Type: "payment.updated", Key: "6a8f5f28-1",
			SenderID: "6a8f5f28-1", Kind: "payment", ObjectID: "KkAk", Version: "2026-11-29T11:59:58.124Z"}},
		{"a version that is none", strings.Replace(squareBody, `"version":4`, `"version":4.5`, 1), "", webhook.Fact{Type: "payment.updated", Key: "6a8f5f28-1", SenderID: "6a8f5f28-1", Kind: "payment", ObjectID: "KkAk", Version: "2026-11-29T11:59:58.124Z"}},
		{"nothing that it is about", `{"type":"x","event_id":"e1"}`, "", webhook.Fact{Type: "x", Key: "e1", SenderID: "e1", Flaw: "neither the provider nor the endpoint's configuration says what object the event is about"}},
	} {
		req := posted(tt.body)
		if tt.environment != "" {
			req.Header.Set("Square-Environment", tt.environment)
		}
		tt.want.Digest = digest(tt.body)
		if diff := cmp.Diff(tt.want, identify(t, "square", req, webhook.Rule{})); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

// Square's own libraries take a delivery without a body for valid, whatever is signed.
func TestSquareWithoutABody(t *testing.T) {
	s := row(t, "square")
	req := signedWith(t, "square", squareSample.secret, "")
	if err := s.Verify(req, held(squareSample.secret), webhook.Expect{}, noon); !errors.Is(err, webhook.ErrSignature) || !strings.Contains(err.Error(), "there is no body") {
		t.Errorf("rightly signed: %v", err)
	}
	bare := with(req, squareSample.signature, mac("nobody's", ""))
	if err := s.Verify(bare, held(squareSample.secret), webhook.Expect{}, noon); !errors.Is(err, webhook.ErrSignature) {
		t.Errorf("signed by anybody: %v", err)
	}
}

func TestSquareSignsItsAddress(t *testing.T) {
	s := row(t, "square")
	if !s.SignsURL() {
		t.Error("nobody would give it the address")
	}
	req, secret := signed(t, "square", squareBody)
	for _, url := range []string{"", squareURL + "/", squareURL + "?", squareURL + "?a=1", "https://hooks.example.com:443/hooks/square", "http://hooks.example.com/hooks/square", "https://HOOKS.example.com/hooks/square", squareURL + squareBody[:1]} {
		other := req
		other.URL = url
		if err := s.Verify(other, held(secret), webhook.Expect{}, noon); !errors.Is(err, webhook.ErrSignature) {
			t.Errorf("sent to %s: %v", url, err)
		}
	}
	moved := req // the body's beginning counted to the address: the sum is the same, and the rest is no JSON
	moved.URL, moved.Body = req.URL+squareBody[:20], req.Body[20:]
	if err := s.Verify(moved, held(secret), webhook.Expect{}, noon); err != nil {
		t.Errorf("the sum is another: %v", err)
	}
	for i := 1; i < len(squareBody); i++ {
		moved.Body = []byte(squareBody[i:])
		if doc, _, err := s.Document(moved); err == nil {
			if _, err := s.Identify(moved, doc, webhook.Rule{}, noon); !errors.Is(err, webhook.ErrMalformed) {
				t.Errorf("the body from byte %d on can be worked on", i)
			}
		}
	}
}

func TestSquareNamesTheMerchantAndTries(t *testing.T) {
	s := row(t, "square")
	req, secret := signed(t, "square", squareBody)
	if err := s.Verify(req, held(secret), webhook.Expect{Source: "ML1"}, noon); err != nil {
		t.Error(err)
	}
	if err := s.Verify(req, held(secret), webhook.Expect{Source: "ML2"}, noon); !errors.Is(err, webhook.ErrSource) {
		t.Errorf("another merchant: %v", err)
	}
	vectors := readVectors(t, "testdata/vectors.json")
	i := slices.IndexFunc(vectors, func(v vector) bool { return v.Provider == "square" && v.Name == "published-valid" })
	for body, want := range map[string]bool{vectors[i].Body: true, squareBody: false, `[]`: false} {
		if _, ok := s.SignedHandshake(posted(body), decoded(t, []byte(body))); ok != want {
			t.Errorf("%.60s: handshake %v", body, ok)
		}
	}
}
