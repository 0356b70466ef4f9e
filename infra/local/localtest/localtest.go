// Package localtest runs the local system for the length of a test, and signs what senders send to it.
package localtest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"testing"
	"time"

	"engang/infra/local"
	"engang/shared/secrets"
	"engang/shared/webhook"
)

// Start starts a system that ends with the test. It fails the test where one of the two does not go well.
func Start(t testing.TB, o local.Options) *local.System {
	t.Helper()
	s, err := local.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 20*time.Second)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return s
}

// A Delivery is what a sender sends to an endpoint of the local system.
type Delivery struct {
	Endpoint string
	Provider string
	Header   http.Header // beside what the signature adds
	Body     string
	Slot     string    // of the endpoint's secret; empty: the first
	At       time.Time // when it was signed; zero: now
}

// Request makes the signed request to the system at an address.
func (d Delivery) Request(ctx context.Context, address string) (*http.Request, error) {
	scheme, ok := webhook.Lookup(d.Provider)
	if !ok {
		return nil, fmt.Errorf("no provider %s", d.Provider)
	}
	secret := secrets.NewValue(local.Secret(d.Provider, secrets.Ref("ssm:hooks/"+d.Endpoint+"/"+cmp.Or(d.Slot, "1"))))
	at := d.At
	if at.IsZero() {
		at = time.Now()
	}
	h := http.Header{}
	maps.Copy(h, d.Header)
	h.Set("Content-Type", "application/json")
	known := "https://hooks.example.com/hooks/" + d.Endpoint // its public_url, for senders that sign it
	signed, err := scheme.Sign(webhook.Request{Method: http.MethodPost, URL: known, Header: h, Body: []byte(d.Body)}, secret, at)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address+"/hooks/"+d.Endpoint, bytes.NewReader(signed.Body))
	if err != nil {
		return nil, err
	}
	r.Header = signed.Header
	return r, nil
}
