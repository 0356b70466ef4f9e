package certificates_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"engang/shared/certificates"
	"engang/shared/webhook"
)

const address = "https://api.paypal.com/v1/notifications/certs/CERT-360caa42-fca2a594-1d93a270"

var now = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func payPal(t *testing.T) webhook.Scheme {
	t.Helper()
	s, ok := webhook.Lookup("paypal")
	if !ok {
		t.Fatal("no row for paypal")
	}
	return s
}

func delivery(url string) webhook.Request {
	return webhook.Request{Method: "POST", Header: http.Header{"Paypal-Cert-Url": {url}}, Body: []byte("{}")}
}

// issue makes a root and a certificate of this name under it, valid until the given time.
func issue(t *testing.T, name string, until time.Time) (*x509.CertPool, string) {
	t.Helper()
	rootKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	root := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "root"}, NotBefore: now.AddDate(-1, 0, 0), NotAfter: now.AddDate(5, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	raw, err := x509.CreateCertificate(rand.Reader, root, root, &rootKey.PublicKey, rootKey)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotBefore: now.AddDate(-1, 0, 0), NotAfter: until}
	raw, err = x509.CreateCertificate(rand.Reader, leaf, parsed, &rootKey.PublicKey, rootKey)
	if err != nil {
		t.Fatal(err)
	}
	return pool, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}))
}

// A site answers every request, and counts them.
type site struct {
	status int
	body   string
	err    error
	asked  atomic.Int32
}

func (s *site) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked.Add(1)
	if s.err != nil {
		return nil, s.err
	}
	h := http.Header{}
	if s.status/100 == 3 {
		h.Set("Location", "https://api.paypal.com/elsewhere")
	}
	return &http.Response{StatusCode: s.status, Header: h, Body: io.NopCloser(strings.NewReader(s.body)), Request: r}, nil
}

func TestACheckedCertificateIsFetchedOnce(t *testing.T) {
	roots, text := issue(t, "messageverificationcerts.paypal.com", now.AddDate(1, 0, 0))
	clock := now
	at := &site{status: 200, body: text}
	s := certificates.New(&http.Client{Transport: at}, roots, func() time.Time { return clock })
	for range 3 {
		if got, err := s.Certificate(t.Context(), payPal(t), delivery(address)); err != nil || string(got) != text {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	if at.asked.Load() != 1 {
		t.Errorf("fetched %d times", at.asked.Load())
	}
	clock = clock.Add(25 * time.Hour)
	if _, err := s.Certificate(t.Context(), payPal(t), delivery(address)); err != nil || at.asked.Load() != 2 {
		t.Errorf("after a day: %v, fetched %d times", err, at.asked.Load())
	}
}

func TestAForeignAddressIsNeverFetched(t *testing.T) {
	roots, text := issue(t, "messageverificationcerts.paypal.com", now.AddDate(1, 0, 0))
	at := &site{status: 200, body: text}
	s := certificates.New(&http.Client{Transport: at}, roots, func() time.Time { return now })
	for _, url := range []string{
		"", "http://api.paypal.com/v1/notifications/certs/CERT-1", "https://api.paypal.com.evil.example/v1/notifications/certs/CERT-1", "https://evil.example/?https://api.paypal.com/v1/notifications/certs/CERT-1",
		"https://api.paypal.com@evil.example/v1/notifications/certs/CERT-1", "https://169.254.169.254/latest/meta-data", "https://api.paypal.com:8443/v1/notifications/certs/CERT-1", "https://api.paypal.com/v1/notifications/certs/../../x",
	} {
		if got, err := s.Certificate(t.Context(), payPal(t), delivery(url)); got != nil || err != nil {
			t.Errorf("%s: %q, %v", url, got, err)
		}
	}
	if at.asked.Load() != 0 {
		t.Errorf("fetched %d times", at.asked.Load())
	}
}

func TestWhatIsNotTheSendersIsNotKept(t *testing.T) {
	name := "messageverificationcerts.paypal.com"
	good, fine := issue(t, name, now.AddDate(1, 0, 0))
	_, foreign := issue(t, name, now.AddDate(1, 0, 0)) // another root
	otherRoots, other := issue(t, "evil.example", now.AddDate(1, 0, 0))
	oldRoots, old := issue(t, name, now.Add(-time.Hour))
	tests := []struct {
		name  string
		roots *x509.CertPool
		site  *site
		want  error
	}{
		{"no answer", good, &site{err: errors.New("reset")}, certificates.ErrNotFetched},
		{"not found", good, &site{status: 404, body: fine}, certificates.ErrNotFetched},
		{"a redirect is not followed", good, &site{status: 302, body: fine}, certificates.ErrNotFetched},
		{"too much", good, &site{status: 200, body: strings.Repeat(fine, 200)}, certificates.ErrNotFetched},
		{"no certificate", good, &site{status: 200, body: "<html>"}, webhook.ErrSignature},
		{"another root", good, &site{status: 200, body: foreign}, webhook.ErrSignature},
		{"another name", otherRoots, &site{status: 200, body: other}, webhook.ErrSignature},
		{"run out", oldRoots, &site{status: 200, body: old}, webhook.ErrSignature},
		{"the one for trying", good, &site{status: 200, body: string(payPal(t).TrialCertificate())}, webhook.ErrSignature},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			clock := now
			s := certificates.New(&http.Client{Transport: tt.site}, tt.roots, func() time.Time { return clock })
			for range 2 { // nobody makes us ask all the time
				if got, err := s.Certificate(t.Context(), payPal(t), delivery(address)); got != nil || !errors.Is(err, tt.want) {
					t.Errorf("got %q, %v; want %v", got, err, tt.want)
				}
			}
			if n := tt.site.asked.Load(); n != 1 {
				t.Errorf("fetched %d times", n)
			}
			clock = clock.Add(2 * time.Minute)
			if _, err := s.Certificate(t.Context(), payPal(t), delivery(address)); !errors.Is(err, tt.want) || tt.site.asked.Load() != 2 {
				t.Errorf("later: %v, fetched %d times", err, tt.site.asked.Load())
			}
		})
	}
}

func TestASenderWithoutCertificatesNeedsNone(t *testing.T) {
	s := certificates.New(http.DefaultClient, nil, time.Now)
	row, _ := webhook.Lookup("stripe")
	if got, err := s.Certificate(t.Context(), row, delivery(address)); got != nil || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}
