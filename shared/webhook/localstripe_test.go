package webhook_test

import (
	"errors"
	"testing"
	"time"

	"engang/shared/webhook"
)

// Every request that a running localstripe 1.15 made. It imitates Stripe's signature and proves nothing
// about Stripe, but for the form of the header.
func TestEveryLocalstripeCapture(t *testing.T) {
	s, keys := row(t, "stripe"), map[string]bool{}
	all := captures(t, "localstripe.jsonl")
	for _, c := range all {
		req, at := c.request(same), time.Unix(c.Now, 0)
		if err := s.Verify(req, held(c.Secret), webhook.Expect{}, at); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
		if err := s.Verify(req, held(c.Secret), webhook.Expect{}, at.Add(10*time.Minute)); !errors.Is(err, webhook.ErrTimestamp) {
			t.Errorf("%s ten minutes later: %v", c.Name, err)
		}
		if err := s.Verify(req, held(stripeSecret), webhook.Expect{}, at); !errors.Is(err, webhook.ErrSignature) {
			t.Errorf("%s with another secret: %v", c.Name, err)
		}
		fact := identify(t, "stripe", req, webhook.Rule{})
		if fact.Type != c.Name || fact.Flaw != "" || fact.ObjectID == "" || fact.Version == "" {
			t.Errorf("%s: %+v", c.Name, fact)
		}
		keys[fact.Key] = true
	}
	if len(all) < 10 || len(keys) != len(all) {
		t.Errorf("%d captures of %d events: the file is not what it was", len(all), len(keys))
	}
}
