package webhook_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"engang/shared/webhook"
)

// An issuer makes certificates for the tests of chains.
type issuer struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func (by issuer) issue(template x509.Certificate) issuer {
	by.t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		by.t.Fatal(err)
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	if template.NotAfter.IsZero() {
		template.NotBefore, template.NotAfter = noon.AddDate(-1, 0, 0), noon.AddDate(1, 0, 0)
	}
	parent, signer := by.cert, by.key
	if parent == nil {
		parent, signer = &template, k
	}
	raw, err := x509.CreateCertificate(rand.Reader, &template, parent, k.Public(), signer)
	if err != nil {
		by.t.Fatal(err)
	}
	c, err := x509.ParseCertificate(raw)
	if err != nil {
		by.t.Fatal(err)
	}
	return issuer{by.t, c, k}
}

func (by issuer) authority(name string) issuer {
	return by.issue(x509.Certificate{Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
}

func (by issuer) named(names ...string) issuer {
	return by.issue(x509.Certificate{Subject: pkix.Name{CommonName: names[0]}, DNSNames: names[1:]})
}

func bundle(all ...issuer) []byte {
	var text []byte
	for _, one := range all {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: one.cert.Raw})...)
	}
	return text
}

func TestCertificateChains(t *testing.T) {
	root := issuer{t: t}.authority("root")
	between, stranger := root.authority("between"), issuer{t: t}.authority("stranger")
	const live, sandbox = "messageverificationcerts.paypal.com", "messageverificationcerts.sandbox.paypal.com"
	good := between.named(live)
	old := between.issue(x509.Certificate{Subject: pkix.Name{CommonName: live}, NotBefore: noon.AddDate(-2, 0, 0), NotAfter: noon.AddDate(-1, 0, 0)})
	early := between.issue(x509.Certificate{Subject: pkix.Name{CommonName: live}, NotBefore: noon.AddDate(0, 0, 1), NotAfter: noon.AddDate(1, 0, 0)})
	for _, tt := range []struct {
		name   string
		text   []byte
		reason string // "": taken
	}{
		{"as it should be", bundle(good, between), ""},
		{"with the root in it", bundle(good, between, root), ""},
		{"straight from the root", bundle(root.named(live)), ""},
		{"of the sandbox", bundle(between.named(sandbox), between), ""},
		{"the name among others", bundle(between.named("x", "www.example.com", live), between), ""},
		{"the name in capitals", bundle(between.named(strings.ToUpper(live)), between), ""},
		{"for servers, as such certificates are", bundle(between.issue(x509.Certificate{Subject: pkix.Name{CommonName: live}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}), between), ""},
		{"without what leads to the root", bundle(good), "no chain leads"},
		{"of a stranger", bundle(stranger.named(live), stranger), "no chain leads"},
		{"signed by itself", bundle(issuer{t: t}.named(live)), "no chain leads"},
		{"signed by what may not sign", bundle(between.named("x").named(live), between), "no chain leads"},
		{"run out", bundle(old, between), "it has run out"},
		{"not yet valid", bundle(early, between), "it has run out"},
		{"in another name", bundle(between.named("api.paypal.com"), between), "another name"},
		{"in a name that ends alike", bundle(between.named("x."+live), between), "another name"},
		{"in a name that begins alike", bundle(between.named(live+".evil.example"), between), "another name"},
		{"for any name of PayPal's", bundle(between.named("*.paypal.com", "*.paypal.com"), between), "another name"},
		{"the sender's own behind another", bundle(between, good), "another name"},
		{"nothing", nil, "not PEM"},
		{"no PEM", []byte("certificate"), "not PEM"},
		{"something behind it", append(bundle(good, between), "x"...), "not PEM"},
		{"a line end behind it", append(bundle(good, between), '\n'), ""},
		{"PEM of something else", pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: good.cert.Raw}), "not PEM"},
		{"PEM of nothing", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")}), "not PEM"},
		{"more than a chain has", bundle(good, between, root, root, root, root, root, root, root, root, root), "not PEM"},
	} {
		roots := x509.NewCertPool()
		roots.AddCert(root.cert)
		err := row(t, "paypal").CheckCertificate(tt.text, roots, noon)
		if (err == nil) != (tt.reason == "") || err != nil && (!errors.Is(err, webhook.ErrSignature) || !strings.Contains(err.Error(), tt.reason)) {
			t.Errorf("%s: %v", tt.name, err)
		}
		if err := row(t, woo).CheckCertificate(tt.text, roots, noon); !errors.Is(err, webhook.ErrSignature) {
			t.Errorf("%s, for a sender that has none: %v", tt.name, err)
		}
	}
}

// A certificate is judged at the given time, whatever the clock says.
func TestCertificatesRunOut(t *testing.T) {
	root := issuer{t: t}.authority("root")
	roots := x509.NewCertPool()
	roots.AddCert(root.cert)
	text := bundle(root.named("messageverificationcerts.paypal.com"))
	for _, tt := range []struct {
		at   time.Time
		want error
	}{
		{noon.AddDate(-1, 0, 0), nil}, {noon.AddDate(-1, 0, -1), webhook.ErrSignature}, {noon.AddDate(1, 0, 0), nil}, {noon.AddDate(1, 0, 1), webhook.ErrSignature},
	} {
		if err := row(t, "paypal").CheckCertificate(text, roots, tt.at); !errors.Is(err, tt.want) {
			t.Errorf("at %v: %v", tt.at, err)
		}
	}
}

// FuzzCertificates holds that nothing is trusted under no root, whatever is fetched.
func FuzzCertificates(f *testing.F) {
	trial := row(f, "paypal").TrialCertificate()
	for _, text := range [][]byte{trial, append(trial, trial...), trial[:200], []byte("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----"), nil} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := row(t, "paypal").CheckCertificate(text, x509.NewCertPool(), noon); !errors.Is(err, webhook.ErrSignature) {
			t.Errorf("taken: %v", err)
		}
	})
}
