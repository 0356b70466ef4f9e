package diagnose_test

import (
	"os"
	"path/filepath"
	"testing"

	"engang/events"
	"engang/infra/engang/capture"
	"engang/infra/engang/diagnose"
	"engang/shared/config"
	"engang/shared/control"
	"engang/shared/secrets"
)

// Every delivery that this repository keeps is sound at its time, and is not one byte later.
func TestEverySampleIsSound(t *testing.T) {
	samples, err := events.Samples()
	if err != nil || len(samples) < 20 {
		t.Fatalf("%d samples, %v", len(samples), err)
	}
	for _, s := range samples {
		raw, err := os.ReadFile(filepath.Join("../../../events", s.File))
		if err != nil {
			t.Fatal(err)
		}
		all, err := capture.Parse(raw)
		if err != nil || len(all) != 1 {
			t.Fatalf("%s: %d requests, %v", s.File, len(all), err)
		}
		e := control.Endpoint{Name: "here", Provider: s.Provider, Environment: "test", PublicURL: s.Endpoint.PublicURL, Type: s.Endpoint.Type, TypeAt: s.Endpoint.TypeAt}
		if s.Endpoint.HMACHeader != "" {
			e.HMAC = &config.HMAC{Header: s.Endpoint.HMACHeader, Encoding: "hex"}
		}
		c := diagnose.Case{Endpoint: e, Request: all[0], Now: s.SignedAt, Secrets: []diagnose.Secret{{Name: "hooks/here/1", Value: secrets.NewValue(s.Secret)}}}
		scheme, err := diagnose.SchemeOf(e)
		if err != nil {
			t.Fatal(err)
		}
		c.Certificate = scheme.TrialCertificate()
		if s.Secret == "" { // a ping without a signature
			c.Secrets = nil
		}
		r, people, _ := told(t, c)
		if !r.Sound {
			t.Errorf("%s: %s", s.File, people)
		}
		if r.Signature != diagnose.Matches || s.Provider == "mailgun" || s.Provider == "gitlab" { // no byte of the event is signed there
			continue
		}
		c.Request.Body = append(c.Request.Body[:len(c.Request.Body):len(c.Request.Body)], ' ')
		if r, people, _ := told(t, c); r.Sound {
			t.Errorf("%s with a byte more: %s", s.File, people)
		}
	}
}
