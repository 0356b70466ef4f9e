package integration_test

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"engang/infra/local"
	"engang/shared/secrets"
	"engang/shared/webhook"
)

// subscription is an event of Stripe about one subscription.
func subscription(event, typ, status string, created int) string {
	return fmt.Sprintf(`{"id":%q,"object":"event","type":%q,"created":%d,"livemode":false,"pending_webhooks":1,"data":{"object":{"id":"sub_1","object":"subscription","status":%q}}}`,
		event, "customer.subscription."+typ, created, status)
}

func (s *system) stripe(body string) answer {
	s.t.Helper()
	return s.from("stripe", "billing", body)
}

const stripeSignature = "Stripe-Signature"

func TestCaseSTR02CommasInASignatureHeader(t *testing.T) {
	eachForCase(t, func(t *testing.T, s *system) {
		body := subscription("evt_1", "created", "active", 1795982400)
		signed := func(change func(header string) []string) *http.Request {
			r := s.signed("billing", "stripe", http.Header{}, body)
			r.Header[stripeSignature] = change(r.Header.Get(stripeSignature))
			return r
		}
		id := s.accept(s.send(signed(func(h string) []string { return []string{h + ",v0=" + strings.Repeat("0", 64)} })))
		for name, change := range map[string]func(string) []string{
			"twice, which the gateway joins with a comma": func(h string) []string { return []string{h, h} },
			"joined with a comma and a space":             func(h string) []string { return []string{h + ", " + h} },
			"joined with another that is forged":          func(h string) []string { return []string{"t=1,v1=" + strings.Repeat("0", 64), h} },
		} {
			for range 2 {
				if a := s.send(signed(change)); a.Code != http.StatusUnauthorized {
					t.Errorf("%s: %d %s", name, a.Code, a.Body)
				}
			}
		}
		s.repeated(id, s.send(signed(func(h string) []string { // while a secret is rolled there are two of a kind
			stamp, sum, _ := strings.Cut(h, ",")
			return []string{stamp + ",v1=" + strings.Repeat("0", 64) + "," + sum}
		})))
		s.rest()
	})
}

func TestCaseSTR04ToleranceIsOneSided(t *testing.T) {
	eachForCase(t, func(t *testing.T, s *system) {
		body := subscription("evt_1", "created", "active", 1795982400)
		at := func(off time.Duration) *http.Request {
			return s.signedAt("billing", "stripe", http.Header{}, body, time.Now().Add(off))
		}
		for _, off := range []time.Duration{time.Hour, -time.Hour, 310 * time.Second, -310 * time.Second} {
			s.refused(http.StatusUnauthorized, s.send(at(off)))
		}
		for _, stamp := range []string{"t=now,", "t=,", "", "t=1.5,", "t=-1,", "t=99999999999999999999,", "t=" + strconv.FormatInt(time.Now().UnixMilli(), 10) + ","} {
			r := at(0)
			_, sum, _ := strings.Cut(r.Header.Get(stripeSignature), ",")
			r.Header.Set(stripeSignature, stamp+sum)
			s.refused(http.StatusUnauthorized, s.send(r))
		}
		if left := s.stored(); len(left) != 0 || s.step() != 0 {
			t.Errorf("stored %v", left)
		}
		id := s.accept(s.send(at(290 * time.Second)))
		s.repeated(id, s.send(at(-290*time.Second)))
		s.rest()
	})
	noon, secret := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC), secrets.NewValue(local.Secret("stripe", "ssm:hooks/billing/1"))
	signed, err := schemeOf(t, "stripe").Sign(webhook.Request{Method: http.MethodPost, Header: http.Header{}, Body: []byte(`{}`)}, secret, noon)
	if err != nil {
		t.Fatal(err)
	}
	for off, want := range map[time.Duration]error{300 * time.Second: nil, 301 * time.Second: webhook.ErrTimestamp} {
		for _, now := range []time.Time{noon.Add(off), noon.Add(-off)} {
			if err := schemeOf(t, "stripe").Verify(signed, []secrets.Value{secret}, webhook.Expect{}, now); !errors.Is(err, want) {
				t.Errorf("judged at %s: %v, want %v", now, err, want)
			}
		}
	}
}

func TestCaseSTR06OlderCreatedOverwroteNewerUpdated(t *testing.T) {
	eachForCase(t, func(t *testing.T, s *system) {
		updated := s.accept(s.stripe(subscription("evt_2", "updated", "active", 1795982266)))
		s.settle()
		created := s.accept(s.stripe(subscription("evt_1", "created", "incomplete", 1795982265)))
		s.rest()
		s.outcomes(updated, "completed", created, "superseded")
		s.by("subscription:sub_1", updated)
		s.holdsOf("subscription:sub_1", 2, 2, 1, 1)
	})
}

// Nothing in the two says which is newer. The one that was stored later wins, whichever is worked on
// first: the answer follows from what is stored.
func TestCaseSTR07TwoEventsOfTheSameSecond(t *testing.T) {
	incomplete, active := subscription("evt_1", "created", "incomplete", 1795982265), subscription("evt_2", "updated", "active", 1795982265)
	for name, order := range map[string][2]string{"created first": {incomplete, active}, "updated first": {active, incomplete}} {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, the later one worked on first: %v", name, late), func(t *testing.T) {
				eachForCase(t, func(t *testing.T, s *system) {
					first := s.accept(s.stripe(order[0]))
					if !late {
						s.settle()
					}
					tick()
					second := s.accept(s.stripe(order[1]))
					if late {
						if _, err := s.Invoke(t.Context(), "enrichment", message(t, second)); err != nil {
							t.Fatal(err)
						}
					}
					s.rest()
					s.by("subscription:sub_1", second)
					s.outcomes(first, map[bool]string{false: "completed", true: "superseded"}[late], second, "completed")
				})
			})
		}
	}
}
