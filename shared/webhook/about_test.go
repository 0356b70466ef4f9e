package webhook_test

import (
	"errors"
	"testing"
	"time"

	"engang/shared/webhook"
)

func TestEveryRowIsDescribed(t *testing.T) {
	titles := map[string]string{}
	for _, name := range webhook.Names() {
		a := row(t, name).About()
		if a.Title == name || a.Title == "" || a.Signs == "" {
			t.Errorf("%s is not described: %+v", name, a)
		}
		if other := titles[a.Title]; other != "" {
			t.Errorf("%s and %s have one title", name, other)
		}
		titles[a.Title] = name
	}
	if a := webhook.TypelessScheme().About(); a.Title != "typeless" || a.Signs == "" {
		t.Errorf("a row that nobody has described: %+v", a)
	}
}

func TestTheSignedTimeIsToldWhereThereIsOne(t *testing.T) {
	for _, name := range webhook.Names() {
		sm, ok := samples[name]
		if !ok {
			continue
		}
		s := sm.scheme(t)
		req, _ := signed(t, name, sm.body)
		at, ok := s.SignedAt(req)
		if s.Window() != sm.window || ok != (sm.window > 0) || ok && !at.Equal(noon) {
			t.Errorf("%s: window %s, signed at %s, %v", name, s.Window(), at, ok)
		}
	}
	if _, ok := row(t, "stripe").SignedAt(posted("{}", "Stripe-Signature", "v1=1")); ok {
		t.Error("a time that cannot be read is told")
	}
	if at, ok := row(t, "stripe").SignedAt(posted("{}", "Stripe-Signature", "t=1795953600,v1=7ba6fa1e02bd4a7bdbb31b0ee8fa9e1b1e4ae0ba3fa1d6f6f0b0c8d4d5e6f708")); !ok || !at.Equal(time.Unix(1795953600, 0)) {
		t.Errorf("the time of a wrong signature: %s, %v", at, ok)
	}
}

// What is published is refused everywhere, or at least never fit.
func TestPublicSecretsAreRefused(t *testing.T) {
	for _, name := range webhook.Names() {
		s := row(t, name)
		for i, secret := range s.PublicSecrets() {
			if err := s.CheckSecret(secret); !errors.Is(err, webhook.ErrSecret) {
				t.Errorf("%s: published secret %d: %v", name, i, err)
			}
		}
	}
}

func TestAHeaderThatCannotBeReadIsNamed(t *testing.T) {
	for value, fault := range map[string]string{"sha256=": "is not readable", " ": "is blank", "": "is missing"} {
		req := posted("{}")
		if value != "" {
			req.Header.Set("X-Hub-Signature-256", value)
		}
		err := row(t, "github").Verify(req, held("a secret of some length"), webhook.Expect{}, noon)
		var h *webhook.HeaderError
		if !errors.As(err, &h) || h.Name != "X-Hub-Signature-256" || h.Fault != fault || !errors.Is(err, webhook.ErrSignature) {
			t.Errorf("%q: %v", value, err)
		}
	}
}

// A signature that fits nothing is told from one that cannot be read.
func TestAMismatchIsNoHeaderFault(t *testing.T) {
	for _, name := range webhook.Names() {
		sm, ok := samples[name]
		if !ok {
			continue
		}
		req, _ := signed(t, name, sm.body)
		err := sm.scheme(t).Verify(req, held(sm.older), sm.expect, noon)
		var m *webhook.MismatchError
		if !errors.As(err, &m) || m.Keys == 0 || m.Signatures == 0 || !errors.Is(err, webhook.ErrSignature) {
			t.Errorf("%s with another secret: %v", name, err)
		}
	}
}
