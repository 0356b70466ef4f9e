package webhook_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"testing"

	"engang/shared/webhook"
)

// The certificate is as good as whoever fetched it has checked; the address decides what may be fetched.
func TestCertificates(t *testing.T) {
	private, certificate := selfSigned(t)
	_, another := selfSigned(t)
	s := webhook.CertifiedScheme(private)
	const address = "https://certs.example.com/1"
	good := machinery(t, s, `{"id":1}`, "X-Cert", address)
	tampered := good
	tampered.Body = []byte(`{"id":2}`)
	tests := []struct {
		name   string
		req    webhook.Request
		secret string
		cert   []byte
		want   error
	}{
		{"as it should be", good, "a secret of this test", certificate, nil},
		{"another secret", good, "another secret of it", certificate, webhook.ErrSignature},
		{"another body", tampered, "a secret of this test", certificate, webhook.ErrSignature},
		{"another certificate", good, "a secret of this test", another, webhook.ErrSignature},
		{"no certificate", good, "a secret of this test", nil, webhook.ErrSignature},
		{"no PEM", good, "a secret of this test", []byte("certificate"), webhook.ErrSignature},
		{"PEM of something else", good, "a secret of this test", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")}), webhook.ErrSignature},
		{"an address of somebody else", with(good, "X-Cert", "https://certs.example.com.evil.example/1"), "a secret of this test", certificate, webhook.ErrSignature},
		{"no address", with(good, "X-Cert"), "a secret of this test", certificate, webhook.ErrSignature},
		{"no secret", good, "", certificate, webhook.ErrSecret},
	}
	for _, tt := range tests {
		if err := s.Verify(tt.req, held(tt.secret), webhook.Expect{Certificate: tt.cert}, noon); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if got, ok := s.CertificateURL(good); !ok || got != address {
		t.Errorf("address %q, %v", got, ok)
	}
	if _, ok := s.CertificateURL(with(good, "X-Cert", "https://127.0.0.1/1")); ok {
		t.Error("an address of somebody else would be fetched")
	}
	if _, ok := row(t, woo).CertificateURL(good); ok {
		t.Error("a row without a certificate has one fetched")
	}
}

func selfSigned(t *testing.T) (*rsa.PrivateKey, []byte) {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	return private, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
}
