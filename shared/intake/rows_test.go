package intake_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"engang/shared/config"
	"engang/shared/intake"
	"engang/shared/object"
	"engang/shared/problem"
	"engang/shared/secrets"
	"engang/shared/webhook"
)

// add makes an endpoint of a provider, with a secret of its form, and returns the secret.
func (w *world) add(name, provider string, change func(*config.Endpoint)) string {
	w.t.Helper()
	scheme, ok := webhook.Lookup(provider)
	if !ok {
		w.t.Fatalf("no scheme %s", provider)
	}
	secret := string(scheme.NewSecret([32]byte{1, 2, 3}).Reveal())
	e := config.Endpoint{Name: name, Scope: shop, Provider: provider, Secrets: []secrets.Ref{secrets.Ref("ssm:hooks/" + name + "/1")}}
	change(&e)
	w.endpoints[name] = e
	w.held[e.Secrets[0]] = secret
	return secret
}

// A secret was rotated since it was read: the delivery is signed with one that only a second look finds.
func TestARotatedSecretIsReadAgainWhenNoneFits(t *testing.T) {
	w := newWorld(t)
	w.held["ssm:hooks/woo-shop/1"] = "the-secret-of-yesterday"
	w.rotated = map[secrets.Ref]string{"ssm:hooks/woo-shop/1": wooSecret}
	if reply, err := w.deliver(w.woo("product.updated", product)); err != nil || reply.Status != intake.Accepted {
		t.Errorf("Deliver = %+v, %v", reply, err)
	}
}

// What no secret can be was put where one should stand: the sender is not told that it signs wrongly, and is
// taken as soon as it is put right.
func TestASecretThatIsSomethingElseIsOurFault(t *testing.T) {
	for _, wrong := range []string{"cs_0123456789abcdef0123456789abcdef01234567", "changeme"} {
		w := newWorld(t)
		w.held["ssm:hooks/woo-shop/1"] = wrong
		reply, err := w.deliver(w.woo("product.updated", product))
		if !errors.Is(err, webhook.ErrSecret) || problem.Of(err, "").Status != http.StatusServiceUnavailable || len(w.stored) != 0 {
			t.Errorf("%.3s: Deliver = %+v, %v; %d stored", wrong, reply, err, len(w.stored))
		}
		w.rotated = map[secrets.Ref]string{"ssm:hooks/woo-shop/1": wooSecret}
		if reply, err := w.deliver(w.woo("product.updated", product)); err != nil || reply.Status != intake.Accepted {
			t.Errorf("%.3s, put right: Deliver = %+v, %v", wrong, reply, err)
		}
	}
}

func TestAStoreThatCannotBeAskedAgainStillRefuses(t *testing.T) {
	w := newWorld(t)
	w.fail["renew"] = errors.New("throttled")
	d := w.woo("product.updated", product)
	d.Body = append(d.Body, ' ')
	if reply, err := w.deliver(d); !errors.Is(err, webhook.ErrSignature) || len(w.stored) != 0 {
		t.Errorf("Deliver = %+v, %v; %d stored", reply, err, len(w.stored))
	}
}

func TestScenario33EventOfTheOtherEnvironmentIsCountedAndNotStored(t *testing.T) {
	const body = `{"id":"evt_1","object":"event","type":"invoice.paid","created":1795982400,"livemode":true,"data":{"object":{"id":"in_1"}}}`
	for environment, want := range map[string]string{"test": intake.Ignored, "production": intake.Accepted} {
		t.Run(environment, func(t *testing.T) {
			w := newWorld(t)
			secret := w.add("pay", "stripe", func(e *config.Endpoint) {
				e.Scope = object.Scope{Tenant: "shop", Environment: environment}
				e.Events = map[string]config.EventRule{"invoice.paid": {Recipes: []string{"product-card"}}}
			})
			reply, err := w.deliver(w.sign("pay", "stripe", secret, webhook.Request{Header: http.Header{}, Body: []byte(body)}))
			if err != nil || reply.Status != want || (len(w.stored) == 1) != (want == intake.Accepted) {
				t.Errorf("Deliver = %+v, %v; %d stored", reply, err, len(w.stored))
			}
			if alarm := strings.Contains(strings.Join(w.metrics(), " "), "OtherEnvironment pay"); alarm != (want == intake.Ignored) {
				t.Errorf("metrics %v", w.metrics())
			}
		})
	}
}

func TestASignedChallengeIsAnsweredAndNotStored(t *testing.T) {
	w := newWorld(t)
	secret := w.add("chat", "slack", func(e *config.Endpoint) { e.Events = map[string]config.EventRule{"url_verification": {}} })
	d := w.sign("chat", "slack", secret, webhook.Request{Header: http.Header{}, Body: []byte(`{"type":"url_verification","challenge":"c-4711"}`)})
	reply, err := w.deliver(d)
	if err != nil || reply.Status != "pong" || !strings.Contains(string(reply.Answer.Body), "c-4711") || len(w.stored) != 0 {
		t.Errorf("Deliver = %+v, %v; %d stored", reply, err, len(w.stored))
	}
	d.Body = []byte(strings.Replace(string(d.Body), "c-4711", "c-4712", 1))
	if reply, err := w.deliver(d); !errors.Is(err, webhook.ErrSignature) {
		t.Errorf("an unsigned challenge was answered: %+v, %v", reply, err)
	}
}

// Gitea posts JSON inside a form: what is kept is the JSON, so that the worker reads a document.
func TestOfAFormTheDocumentIsKept(t *testing.T) {
	w := newWorld(t)
	secret := w.add("git", "gitea", func(e *config.Endpoint) {
		e.Events = map[string]config.EventRule{"push": {Recipes: []string{"product-card"}}}
	})
	const json = `{"ref":"refs/heads/main","before":"aa","after":"bb","repository":{"id":5,"full_name":"o/r"}}`
	form := "payload=" + strings.NewReplacer("{", "%7B", "}", "%7D", `"`, "%22", ":", "%3A", ",", "%2C", "/", "%2F").Replace(json)
	d := w.sign("git", "gitea", secret, webhook.Request{Header: http.Header{"X-Gitea-Event": {"push"}, "X-Github-Event": {"push"}, "Content-Type": {"application/x-www-form-urlencoded"}}, Body: []byte(form)})
	reply, err := w.deliver(d)
	if err != nil || reply.Status != intake.Accepted {
		t.Fatalf("Deliver = %+v, %v", reply, err)
	}
	if ev := w.only(); ev.Body.Bytes != len(json) {
		t.Errorf("%d bytes are kept, want the %d of the document", ev.Body.Bytes, len(json))
	}
}

func TestWhatAnEndpointLacksIsNotTheSendersFault(t *testing.T) {
	for name, change := range map[string]func(*config.Endpoint){
		"a provider of another version": func(e *config.Endpoint) { e.Provider = "nobody" },
		"a row that cannot be adjusted": func(e *config.Endpoint) { e.HMAC = &config.HMAC{Header: "X-Sum", Encoding: "hex"} },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			d := w.woo("product.updated", product)
			e := w.endpoints["woo-shop"]
			change(&e)
			w.endpoints["woo-shop"] = e
			if reply, err := w.deliver(d); !errors.Is(err, problem.ErrUnavailable) || len(w.stored) != 0 {
				t.Errorf("Deliver = %+v, %v", reply, err)
			}
		})
	}
}

func TestAnEndpointsOwnTypeNamesEveryEvent(t *testing.T) {
	w := newWorld(t)
	secret := w.add("weblate", "standard-webhooks", func(e *config.Endpoint) {
		e.Type = "component.changed"
		e.Events = map[string]config.EventRule{"component.changed": {}}
	})
	d := w.sign("weblate", "standard-webhooks", secret, webhook.Request{Header: http.Header{"Webhook-Id": {"m1"}}, Body: []byte(`{"change_id":1}`)})
	if reply, err := w.deliver(d); err != nil || reply.Status != intake.Accepted || w.only().Type != "component.changed" {
		t.Errorf("Deliver = %+v, %v", reply, err)
	}
}

// PayPal signs under a certificate: without one nothing is acknowledged, and one that is not PayPal's is a
// forged delivery.
func TestACertificateThatCannotBeHad(t *testing.T) {
	paypal, _ := webhook.Lookup("paypal")
	for name, tc := range map[string]struct {
		certificate []byte
		fail        error
		want        error
		status      string
	}{
		"the sender's":    {paypal.TrialCertificate(), nil, nil, intake.Accepted},
		"none":            {nil, nil, webhook.ErrSignature, ""},
		"not reachable":   {nil, errors.New("reset"), problem.ErrUnavailable, ""},
		"somebody else's": {nil, webhook.ErrSignature, webhook.ErrSignature, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.certificate, w.fail["certificate"] = tc.certificate, tc.fail
			secret := w.add("pay", "paypal", func(e *config.Endpoint) { e.Events = map[string]config.EventRule{"PAYMENT.CAPTURE.COMPLETED": {}} })
			body := `{"id":"WH-1","event_type":"PAYMENT.CAPTURE.COMPLETED","resource_type":"capture","create_time":"2026-11-29T19:59:00Z","resource":{"id":"c1"}}`
			reply, err := w.deliver(w.sign("pay", "paypal", secret, webhook.Request{Header: http.Header{}, Body: []byte(body)}))
			if !errors.Is(err, tc.want) || reply.Status != tc.status || (len(w.stored) == 1) != (tc.want == nil) {
				t.Errorf("Deliver = %+v, %v", reply, err)
			}
		})
	}
}
