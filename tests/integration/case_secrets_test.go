package integration_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"engang/infra/local"
	"engang/shared/config"
	"engang/shared/inbox"
	"engang/shared/intake"
	"engang/shared/object"
	"engang/shared/problem"
	"engang/shared/secrets"
	"engang/shared/webhook"
)

const wooOrdersSecret = secrets.Ref("ssm:hooks/woo-orders/1")

// The text of a secret has one meaning, that of WooCommerce: it takes five characters of HTML back once.
// What is signed with another reading of it is refused, and counted.
func TestCaseWOO05SecretShownDiffersFromTheStoredOne(t *testing.T) {
	const shown, stored = `k<9&Zq"3;rX0vB9mK2pLs8w`, `k&lt;9&amp;Zq&quot;3;rX0vB9mK2pLs8w`
	loggedForCase(t, func(t *testing.T, s *system, log *logbook) {
		signedWith := func(key, status string) *http.Request {
			body := order{id: 1, status: status}.body()
			mac := hmac.New(sha256.New, []byte(key))
			mac.Write([]byte(body))
			r := s.orderRequest("order.updated", body)
			r.Header.Set("X-Wc-Webhook-Signature", base64.StdEncoding.EncodeToString(mac.Sum(nil)))
			return r
		}
		for i, configured := range []string{shown, stored} {
			if err := s.PutSecret(t.Context(), wooOrdersSecret, configured); err != nil {
				t.Fatal(err)
			}
			s.accept(s.send(signedWith(shown, fmt.Sprint("sent ", i)))) // the shop's key, whichever form was pasted
			log.take()
			s.refused(http.StatusUnauthorized, s.send(signedWith(stored, "forged")))
			text := log.take()
			if !strings.Contains(text, webhook.ErrSignature.Error()) || !strings.Contains(text, `"endpoint":"woo-orders","SignatureRefused":1`) {
				t.Errorf("the log does not say and count it: %s", text)
			}
			quiet(t, "the log", text, shown, stored)
		}
	})
	made := schemeOf(t, "woocommerce").NewSecret([32]byte{7})
	if strings.ContainsAny(string(made.Reveal()), "&<>\"';") || schemeOf(t, "woocommerce").CheckSecret(made) != nil {
		t.Error("the secrets that we make are not of plain characters")
	}
}

func TestCaseWOO06ConsumerSecretInPlaceOfTheWebhooks(t *testing.T) {
	const consumer = "cs_0123456789abcdef0123456789abcdef01234567"
	for _, text := range []string{consumer, strings.Replace(consumer, "cs_", "ck_", 1)} {
		err := schemeOf(t, "woocommerce").CheckSecret(secrets.NewValue(text))
		if !errors.Is(err, webhook.ErrSecret) || !strings.Contains(err.Error(), "a consumer") || strings.Contains(err.Error(), text[3:]) {
			t.Errorf("where it is configured: %v", err)
		}
	}
	loggedForCase(t, func(t *testing.T, s *system, log *logbook) {
		s.holdsSecrets("woo-orders", wooOrdersSecret)
		body := order{id: 1, status: "processing"}.body()
		r := s.orderRequest("order.updated", body)
		if err := s.PutSecret(t.Context(), wooOrdersSecret, consumer); err != nil {
			t.Fatal(err)
		}
		log.take()
		s.unavailable(s.send(r)) // the shop signs rightly: the fault is ours
		quiet(t, "the log", log.take(), consumer[3:])
		if len(s.stored()) != 0 {
			t.Errorf("stored %v", s.stored())
		}
		if err := s.PutSecret(t.Context(), wooOrdersSecret, local.Secret("woocommerce", wooOrdersSecret)); err != nil {
			t.Fatal(err)
		}
		s.accept(s.order("order.updated", body))
		s.rest()
	})
}

func TestCaseOAW01SecretPastedWithAPrefix(t *testing.T) {
	sound := local.Secret("openai", "ssm:hooks/ai/1")
	for _, provider := range []string{"openai", "standard-webhooks", "svix"} {
		if err := schemeOf(t, provider).CheckSecret(secrets.NewValue(sound)); err != nil {
			t.Errorf("%s refuses what it issues: %v", provider, err)
		}
		for name, text := range map[string]string{
			"a signature's prefix": "v1," + sound, "in quotes": `"` + sound + `"`, "in single quotes": "'" + sound + "'", "a space": " " + sound, "a line end": sound + "\n",
			"half of it": sound[:20], "no base64": "whsec_" + strings.Repeat("?", 32), "nothing": "whsec_",
		} {
			err := schemeOf(t, provider).CheckSecret(secrets.NewValue(text))
			if !errors.Is(err, webhook.ErrSecret) || strings.Contains(err.Error(), sound[6:]) {
				t.Errorf("%s, %s: %v", provider, name, err)
			}
		}
	}
	loggedForCase(t, func(t *testing.T, s *system, log *logbook) {
		r := s.signed("crm", "standard-webhooks", http.Header{"Webhook-Id": {"msg_1"}}, contact)
		secret := local.Secret("standard-webhooks", "ssm:hooks/crm/1")
		for _, pasted := range []string{"v1," + secret, `"` + secret + `"`} {
			err := s.PutSecret(t.Context(), "ssm:hooks/crm/1", pasted)
			if err != nil {
				t.Fatal(err)
			}
			again := r.Clone(t.Context())
			if again.Body, err = r.GetBody(); err != nil {
				t.Fatal(err)
			}
			s.unavailable(s.send(again))
		}
		quiet(t, "the log", log.take())
		if len(s.stored()) != 0 {
			t.Errorf("stored %v", s.stored())
		}
	})
}

// A shelf is the parameter store, which counts how often it is asked; and a shop that keeps nothing.
type shelf struct {
	held  string
	asked int
}

func (v *shelf) Parameters(_ context.Context, paths []string) (map[string]secrets.Value, error) {
	v.asked++
	return map[string]secrets.Value{paths[0]: secrets.NewValue(v.held)}, nil
}

func (*shelf) Endpoint(_ context.Context, name string) (config.Endpoint, config.Pointer, error) {
	return config.Endpoint{
		Name: name, Scope: object.Scope{Tenant: "shop", Environment: "test"}, Provider: "woocommerce", Secrets: []secrets.Ref{wooOrdersSecret},
		Events: map[string]config.EventRule{"order.updated": {}},
	}, config.Pointer{}, nil
}

func (*shelf) Keep(context.Context, inbox.EventID, []byte) (inbox.Body, error) {
	return inbox.Body{}, nil
}
func (*shelf) Receive(context.Context, inbox.Event) (inbox.Receipt, error) {
	return inbox.Accepted, nil
}
func (*shelf) RecordConflict(context.Context, inbox.Conflict) error      { return nil }
func (*shelf) CountSeen(context.Context, inbox.EventID, time.Time) error { return nil }
func (*shelf) PutHead(context.Context, inbox.Head) error                 { return nil }
func (*shelf) Send(context.Context, inbox.Reference) error               { return nil }
func (*shelf) Drop(context.Context, inbox.Body) error                    { return nil }
func (*shelf) Certificate(context.Context, webhook.Scheme, webhook.Request) ([]byte, error) {
	return nil, nil
}

// A warm receiver takes what is signed with a new secret as soon as it may look again, long before its
// cache is old; and whoever sends wrong signatures makes it look four times a minute at most.
func TestCaseSEC02SecretReadOnlyAtColdStart(t *testing.T) {
	sideBySide(t)
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	v := &shelf{held: "the first secret"}
	in := intake.New(intake.Deps{
		Endpoints: v, Vault: secrets.NewCache(v, 5*time.Minute, clock), Signers: v, Bodies: v, Store: v, Queue: v,
		Log: slog.New(slog.DiscardHandler), Now: clock, NewID: func() string { return "w" },
	})
	deliver := func(secret string) error {
		t.Helper()
		r, err := schemeOf(t, "woocommerce").Sign(webhook.Request{Method: http.MethodPost, Header: wooTopic("order.updated"), Body: []byte(order{id: 1}.body())}, secrets.NewValue(secret), now)
		if err != nil {
			t.Fatal(err)
		}
		_, err = in.Deliver(t.Context(), intake.Delivery{Endpoint: "woo-orders", Request: r})
		return err
	}
	if err := deliver("the first secret"); err != nil || v.asked != 1 {
		t.Fatalf("%v, asked %d times", err, v.asked)
	}
	v.held = "the second secret"
	now = now.Add(20 * time.Second)
	if err := deliver("the second secret"); err != nil || v.asked != 2 {
		t.Errorf("rotated: %v, asked %d times", err, v.asked)
	}
	if err := deliver("the first secret"); problem.Of(err, "").Status != http.StatusUnauthorized {
		t.Errorf("the secret that is gone: %v", err)
	}
	before := v.asked
	for range 60 {
		for range 20 {
			if err := deliver("a guess of somebody"); problem.Of(err, "").Status != http.StatusUnauthorized {
				t.Fatalf("a guess: %v", err)
			}
		}
		now = now.Add(time.Second)
	}
	if n := v.asked - before; n > 4 {
		t.Errorf("1,200 wrong signatures in a minute made it ask %d times", n)
	}
	if err := deliver("the second secret"); err != nil {
		t.Errorf("after the flood: %v", err)
	}
}
