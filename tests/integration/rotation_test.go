package integration_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"engang/infra/engang/program"
	"engang/infra/local"
	"engang/shared/secrets"
	"engang/shared/webhook"
)

const (
	formerSecret = "former-Kq7vT2mW9xLd4Rz8"
	newSecret    = "newer-Hb3nY6pJ1sGc5Fu0"
)

// naming is a configuration whose endpoint names these slots.
func naming(t testing.TB, slots string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rotation.yaml")
	text := "version: 1\ntenant: shop\nenvironment: test\nendpoints:\n  turning:\n    provider: woocommerce\n    secrets: " + slots + "\n    events:\n      product.updated: {recipes: []}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// engang gives a command of the operator program, with a secret on its standard input, and demands its
// exit code.
func (s *system) engang(code int, secret string, args ...string) {
	s.t.Helper()
	var out bytes.Buffer
	got := program.Run(s.t.Context(), program.Env{
		Args: append(args, "--target", s.URL()), Stdin: strings.NewReader(secret), Stdout: &out, Stderr: &out,
		Getenv: func(string) string { return "" }, Now: time.Now, HTTP: client, Command: "engang",
	})
	if got != code {
		s.t.Errorf("engang %s: exit %d, want %d: %s", strings.Join(args, " "), got, code, &out)
	}
	if text := out.String(); strings.Contains(text, formerSecret) || strings.Contains(text, newSecret) {
		s.t.Errorf("engang %s shows a secret", strings.Join(args, " "))
	}
}

// turning delivers a product to the endpoint, signed with this secret.
func (s *system) turning(id int, secret string) (answer, error) {
	scheme, _ := webhook.Lookup("woocommerce")
	h := http.Header{"X-Wc-Webhook-Topic": {"product.updated"}}
	req, err := scheme.Sign(webhook.Request{Header: h, Body: []byte(product{ID: id, Name: "Oak table"}.Body())}, secrets.NewValue(secret), time.Now())
	if err != nil {
		return answer{}, err
	}
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.URL()+"/hooks/turning", bytes.NewReader(req.Body))
	if err != nil {
		return answer{}, err
	}
	r.Header = req.Header
	return s.try(r)
}

func TestScenario22SecretRotation(t *testing.T) {
	sideBySide(t)
	onEach(t, func(t *testing.T, begin func(local.Options) *system) {
		log := &logbook{to: t.Output()}
		s := begin(local.Options{Speed: calm, Log: log, ConfigFiles: []string{naming(t, "[ssm:hooks/turning/1]")}})
		s.engang(0, formerSecret+"\n", "secret", "set", "turning", "--replace")
		n := 0
		passes := func(when string, former, newer bool) {
			t.Helper()
			for secret, want := range map[string]bool{formerSecret: former, newSecret: newer} {
				n++
				a, err := s.turning(n, secret)
				if err != nil {
					t.Fatal(err)
				}
				if got := a.Code == http.StatusOK && a.Status == "accepted"; got != want || !got && a.Code != http.StatusUnauthorized {
					t.Errorf("%s: signed with the %s secret: %d %s", when, strings.Split(secret, "-")[0], a.Code, a.Body)
				}
			}
		}
		passes("before", true, false)
		s.engang(0, newSecret, "secret", "rotate", "turning")
		passes("before the slot is named", true, false)
		s.engang(4, "", "secret", "retire", "turning", "--early") // it would leave none
		s.apply(naming(t, "[ssm:hooks/turning/2, ssm:hooks/turning/1]"))
		passes("with two", true, true)
		s.engang(4, "", "secret", "retire", "turning")
		passes("in the overlap", true, true)
		s.engang(0, "", "secret", "retire", "turning", "--early")
		passes("after the former one is retired", false, true)
		s.apply(naming(t, "[ssm:hooks/turning/2]"))
		passes("after its slot is taken out", false, true)
		s.Restart()
		passes("in a fresh environment", false, true)
		s.rest()
		if got := len(s.items().Events()); got != 9 {
			t.Errorf("%d events are stored, want one for each delivery that was taken", got)
		}
		if text := log.take(); strings.Contains(text, formerSecret) || strings.Contains(text, newSecret) || !strings.Contains(text, "signature") {
			t.Error("the log shows a secret, or says nothing of what was refused")
		}
	})
}

// A sender goes on while the operator rotates: it is told to change its secret once both are taken, and
// the former one is removed once it has.
func TestScenario22OverlapInTheMiddleOfAThousandDeliveries(t *testing.T) {
	sideBySide(t)
	const deliveries, senders = 1000, 8
	each(t, local.Options{Speed: calm, ConfigFiles: []string{naming(t, "[ssm:hooks/turning/1]")}}, func(t *testing.T, s *system) {
		s.engang(0, formerSecret, "secret", "set", "turning", "--replace")
		var turn sync.RWMutex // held to change the secret at the sender, between two deliveries
		secret := formerSecret
		signed := map[string]*atomic.Int64{formerSecret: {}, newSecret: {}}
		var sent, done atomic.Int64
		reached := make([]chan struct{}, deliveries+1)
		for i := range reached {
			reached[i] = make(chan struct{})
		}
		var all sync.WaitGroup
		for range senders {
			all.Go(func() {
				for id := int(sent.Add(1)); id <= deliveries; id = int(sent.Add(1)) {
					turn.RLock()
					a, err := s.turning(id, secret)
					signed[secret].Add(1)
					turn.RUnlock()
					if err != nil || a.Code != http.StatusOK || a.Status != "accepted" {
						t.Errorf("delivery %d: %d %s, %v", id, a.Code, a.Body, err)
					}
					close(reached[done.Add(1)])
				}
			})
		}
		<-reached[200]
		s.engang(0, newSecret, "secret", "rotate", "turning")
		<-reached[300]
		s.apply(naming(t, "[ssm:hooks/turning/2, ssm:hooks/turning/1]"))
		<-reached[500]
		turn.Lock()
		secret = newSecret
		turn.Unlock()
		<-reached[700]
		s.engang(0, "", "secret", "retire", "turning", "--early")
		<-reached[800]
		s.apply(naming(t, "[ssm:hooks/turning/2]"))
		all.Wait()
		s.rest()
		settled := 0
		for _, e := range s.items().Events() {
			if e["st"] == "settled" {
				settled++
			}
		}
		if settled != deliveries || signed[formerSecret].Load() < 400 || signed[newSecret].Load() < 400 {
			t.Errorf("%d of %d events are settled; %d were signed with the former secret, %d with the new one", settled, deliveries, signed[formerSecret].Load(), signed[newSecret].Load())
		}
		if a, err := s.turning(deliveries+1, formerSecret); err != nil || a.Code != http.StatusUnauthorized {
			t.Errorf("afterwards with the former secret: %d, %v", a.Code, err)
		}
	})
}
