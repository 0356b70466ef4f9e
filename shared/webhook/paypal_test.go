package webhook_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"hash/crc32"
	"math/big"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/webhook"
)

const (
	payPalCapture = `{"id":"WH-58D3-8HN6","create_time":"2026-11-29T11:59:57.000Z","resource_type":"capture","event_type":"PAYMENT.CAPTURE.COMPLETED","resource":{"id":"3C67","update_time":"2026-11-29T11:59:56Z"}}`
	payPalLive    = "https://api.paypal.com/v1/notifications/certs/CERT-360caa42-fca2a594-a5cafa77"
)

func b64(raw []byte) string { return base64.StdEncoding.EncodeToString(raw) }

// payPalSigned is a signature as PayPal would make it with this key.
func payPalSigned(k *rsa.PrivateKey, id, at, webhookID, body string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s|%s|%s|%d", id, at, webhookID, crc32.ChecksumIEEE([]byte(body))))
	text, err := rsa.SignPKCS1v15(rand.Reader, k, crypto.SHA256, sum[:])
	if err != nil {
		panic(err)
	}
	return b64(text)
}

var _ = add(sample{
	provider: "paypal", secret: "4JH86294D6297924G", older: "7KX02213EY461122P", body: payPalCapture,
	expect:    webhook.Expect{Certificate: trialCertificate("paypal")},
	signature: "Paypal-Transmission-Sig", covered: []string{"Paypal-Transmission-Time", "Paypal-Transmission-Id", "Paypal-Auth-Algo"}, window: 4 * 24 * time.Hour,
	sum: func(req webhook.Request, key string) string {
		return payPalSigned(webhook.PayPalTrialKey(), req.Header.Get("Paypal-Transmission-Id"), req.Header.Get("Paypal-Transmission-Time"), key, string(req.Body))
	},
	badSecrets: map[string]string{"a bar in it": "4JH86294D|297924G", "white space": "4JH86294D 297924G", "too long": strings.Repeat("4JH86294D6297924G", 4)},
	unfit: map[string]string{
		"it is no id of a webhook": "AcWnMB9XO5bEHPqPHtnTtY4vG7N0Sfy3wF8iRz2pQxTu",
		"17 capital letters":       "4jh86294d6297924g",
		"everybody knows it":       "WEBHOOK_ID",
	},
})

func trialCertificate(provider string) []byte {
	s, _ := webhook.Lookup(provider)
	return s.TrialCertificate()
}

func TestPayPalFacts(t *testing.T) {
	for _, tt := range []struct {
		name, body, cert string
		want             webhook.Fact
	}{
		{"a capture", payPalCapture, payPalLive, webhook.Fact{Type: "PAYMENT.CAPTURE.COMPLETED", Key: "WH-58D3-8HN6", SenderID: "WH-58D3-8HN6", Kind: "capture", ObjectID: "3C67",
			Version: "2026-11-29T11:59:56Z", Environment: webhook.Production}},
		{"of the sandbox", payPalCapture, "https://api.sandbox.paypal.com/v1/notifications/certs/CERT-1", webhook.Fact{Type: "PAYMENT.CAPTURE.COMPLETED", Key: "WH-58D3-8HN6", SenderID: "WH-58D3-8HN6",
			Kind: "capture", ObjectID: "3C67", Version: "2026-11-29T11:59:56Z", Environment: webhook.Test}},
		{"a dispute has its id elsewhere", `{"id":"WH-2","create_time":"2026-11-29T11:59:57.000Z","resource_type":"dispute","event_type":"CUSTOMER.DISPUTE.CREATED","resource":{"dispute_id":"PP-D-1"}}`, payPalLive,
			webhook.Fact{Type: "CUSTOMER.DISPUTE.CREATED", Key: "WH-2", SenderID: "WH-2", Kind: "dispute", ObjectID: "PP-D-1", Version: "2026-11-29T11:59:57.000Z", Environment: webhook.Production}},
		{"nothing of an object", `{"id":"WH-3","event_type":"X"}`, "https://example.com/", webhook.Fact{Type: "X", Key: "WH-3", SenderID: "WH-3",
			Flaw: "neither the provider nor the endpoint's configuration says what object the event is about"}},
	} {
		req := with(signedWith(t, "paypal", samples["paypal"].secret, tt.body), "Paypal-Cert-Url", tt.cert)
		got := identify(t, "paypal", req, webhook.Rule{})
		tt.want.Digest, tt.want.DeliveryID = got.Digest, req.Header.Get("Paypal-Transmission-Id")
		if diff := cmp.Diff(tt.want, got); diff != "" || got.DeliveryID == "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
	for _, body := range []string{`{"event_type":"X"}`, `{"id":"8PT597110X687430LKGECATA","event_type":"X"}`, `{"id":"WH-1"}`, `[]`} {
		if _, err := row(t, "paypal").Identify(posted(body), decoded(t, []byte(body)), webhook.Rule{}, noon); !errors.Is(err, webhook.ErrMalformed) {
			t.Errorf("%s: %v", body, err)
		}
	}
	got := identify(t, "paypal", posted(payload(t, "paypal-PAYMENT.CAPTURE.COMPLETED.json")), webhook.Rule{})
	if got.Kind != "capture" || got.ObjectID != "3C679366HH908993F" || got.Flaw != "" {
		t.Errorf("%+v", got)
	}
}

// A certificate is never fetched from an address that is not PayPal's own, whatever the delivery names,
// and such a delivery is refused also with the right certificate at hand.
func TestPayPalCertificateAddresses(t *testing.T) {
	s, sm := row(t, "paypal"), samples["paypal"]
	req := signedWith(t, "paypal", sm.secret, payPalCapture)
	const path = "/v1/notifications/certs/CERT-1"
	for address, ok := range map[string]bool{
		payPalLive: true, "https://api.sandbox.paypal.com" + path: true, "https://api-m.paypal.com" + path: true, "https://api-m.sandbox.paypal.com" + path: true,
		"http://api.paypal.com" + path: false, "HTTPS://api.paypal.com" + path: false, "https://API.paypal.com" + path: false, "//api.paypal.com" + path: false,
		"https://api.paypal.com.evil.example" + path: false, "https://evil.example/api.paypal.com" + path: false, "https://evilapi.paypal.com" + path: false, "https://api-paypal.com" + path: false,
		"https://www.paypal.com" + path: false, "https://paypal.com" + path: false, "https://api.paypal.com." + path: false, "https://api.paypal.com:443" + path: false, "https://api.paypal.com:8443" + path: false,
		"https://x@api.paypal.com" + path: false, "https://api.paypal.com@evil.example" + path: false, "https://api.paypal.com\\@evil.example" + path: false, "https://api.paypal.com%2eevil.example" + path: false,
		"https://api.paypal.com/v1/notifications/certs/": false, "https://api.paypal.com/v1/notifications/certs/../x": false, "https://api.paypal.com/v1/notifications/certs/.": false,
		"https://api.paypal.com/v1/notifications/certs/%2e%2e": false, "https://api.paypal.com/v1/oauth2/CERT-1": false, "https://api.paypal.com" + path + "?u=https://evil.example": false,
		"https://api.paypal.com" + path + "#x": false, "https://api.paypal.com" + path + "/x": false, "https://api.paypal.com" + path + "\n": false, " https://api.paypal.com" + path: false,
		"https://169.254.169.254" + path: false, "https://127.0.0.1" + path: false, "file:///etc/passwd": false, "": false,
		"https://api.paypal.com/v1/notifications/certs/" + strings.Repeat("C", 129): false,
	} {
		changed := with(req, "Paypal-Cert-Url", address)
		got, usable := s.CertificateURL(changed)
		if usable != ok || ok && got != address {
			t.Errorf("%q: %v", address, usable)
		}
		if err := s.Verify(changed, held(sm.secret), sm.expect, noon); (err == nil) != ok || err != nil && !errors.Is(err, webhook.ErrSignature) {
			t.Errorf("%q: %v", address, err)
		}
	}
	for name, changed := range map[string]webhook.Request{"none": with(req, "Paypal-Cert-Url"), "two": with(req, "Paypal-Cert-Url", payPalLive, payPalLive)} {
		if _, ok := s.CertificateURL(changed); ok || s.Verify(changed, held(sm.secret), sm.expect, noon) == nil {
			t.Errorf("%s of them", name)
		}
	}
}

func TestPayPalSignatures(t *testing.T) {
	s, sm := row(t, "paypal"), samples["paypal"]
	private, certificate := selfSigned(t)
	at := "2026-11-29T12:00:00Z"
	made := func(id, stamp, body string) webhook.Request {
		return posted(body, "PAYPAL-TRANSMISSION-ID", id, "PAYPAL-TRANSMISSION-TIME", stamp, "PAYPAL-AUTH-ALGO", "SHA256withRSA", "PAYPAL-CERT-URL", payPalLive,
			"PAYPAL-TRANSMISSION-SIG", payPalSigned(private, id, stamp, sm.secret, body))
	}
	good := made("69cd-1", at, payPalCapture)
	sha1 := with(good, "PAYPAL-AUTH-ALGO", "SHA1withRSA")
	for _, tt := range []struct {
		name, secret string
		req          webhook.Request
		certificate  []byte
		want         error
	}{
		{"as it should be", sm.secret, good, certificate, nil},
		{"of another webhook", sm.older, good, certificate, webhook.ErrSignature},
		{"under another certificate", sm.secret, good, sm.expect.Certificate, webhook.ErrSignature},
		{"no certificate", sm.secret, good, nil, webhook.ErrSignature},
		{"another algorithm", sm.secret, sha1, certificate, webhook.ErrSignature},
		{"the algorithm in another case", sm.secret, with(good, "PAYPAL-AUTH-ALGO", "sha256withrsa"), certificate, webhook.ErrSignature},
		{"no algorithm", sm.secret, with(good, "PAYPAL-AUTH-ALGO"), certificate, webhook.ErrSignature},
		{"an id with a bar, which would move time into it", sm.secret, made("a|b", at, payPalCapture), certificate, webhook.ErrSignature},
		{"a time with an offset", sm.secret, made("69cd-1", "2026-11-29T13:00:00+01:00", payPalCapture), certificate, nil},
		{"a time in seconds", sm.secret, made("69cd-1", "1795953600", payPalCapture), certificate, webhook.ErrSignature},
		{"a time without a zone", sm.secret, made("69cd-1", "2026-11-29T12:00:00", payPalCapture), certificate, webhook.ErrSignature},
		{"three days old, as its last try may be", sm.secret, made("69cd-1", "2026-11-26T12:00:00Z", payPalCapture), certificate, nil},
		{"a week old", sm.secret, made("69cd-1", "2026-11-22T12:00:00Z", payPalCapture), certificate, webhook.ErrTimestamp},
		{"a body that is empty", sm.secret, made("69cd-1", at, ""), certificate, nil},
		{"the sum in hex", sm.secret, with(good, "PAYPAL-TRANSMISSION-SIG", strings.Repeat("0a", 256)), certificate, webhook.ErrSignature},
		{"the sum with a line end", sm.secret, with(good, "PAYPAL-TRANSMISSION-SIG", good.Header.Get("PAYPAL-TRANSMISSION-SIG")+"\n"), certificate, webhook.ErrSignature},
	} {
		if err := s.Verify(tt.req, held(tt.secret), webhook.Expect{Certificate: tt.certificate}, noon); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// A key that can be broken is none, whoever has certified it.
func TestPayPalKeysThatAreTooShort(t *testing.T) {
	for bits, want := range map[int]error{1024: webhook.ErrSignature, 2048: nil} {
		private, err := rsa.GenerateKey(rand.Reader, bits)
		if err != nil {
			t.Fatal(err)
		}
		template := &x509.Certificate{SerialNumber: big.NewInt(1)}
		raw, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
		if err != nil {
			t.Fatal(err)
		}
		s, sm := row(t, "paypal"), samples["paypal"]
		req := signedWith(t, "paypal", sm.secret, payPalCapture)
		req.Header.Set("Paypal-Transmission-Sig", payPalSigned(private, req.Header.Get("Paypal-Transmission-Id"), req.Header.Get("Paypal-Transmission-Time"), sm.secret, payPalCapture))
		certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
		if err := s.Verify(req, held(sm.secret), webhook.Expect{Certificate: certificate}, noon); !errors.Is(err, want) {
			t.Errorf("%d bits: %v", bits, err)
		}
	}
	elliptic := issuer{t: t}.authority("x")
	req := signedWith(t, "paypal", samples["paypal"].secret, payPalCapture)
	if err := row(t, "paypal").Verify(req, held(samples["paypal"].secret), webhook.Expect{Certificate: bundle(elliptic)}, noon); !errors.Is(err, webhook.ErrSignature) {
		t.Errorf("another kind of key: %v", err)
	}
}

// The certificate that stands in while an endpoint is tried proves nothing anywhere else.
func TestTheTrialCertificateIsNeverTrusted(t *testing.T) {
	s := row(t, "paypal")
	text := s.TrialCertificate()
	if err := s.CheckCertificate(text, nil, noon); !errors.Is(err, webhook.ErrSignature) {
		t.Errorf("trusted: %v", err)
	}
	for i := range text {
		text[i] = 'x' // the caller's own copy
	}
	if string(s.TrialCertificate()) == string(text) {
		t.Error("a caller has changed it for all")
	}
	if row(t, woo).TrialCertificate() != nil {
		t.Error("a sender whose signature anybody with the secret can make has one")
	}
}

// FuzzPayPalAddress looks for an address that would be fetched and is not PayPal's, by a second reading.
func FuzzPayPalAddress(f *testing.F) {
	for _, text := range []string{payPalLive, "https://api-m.sandbox.paypal.com/v1/notifications/certs/C", "https://api.paypal.com@evil.example/v1/notifications/certs/C", "https://api.paypal.com%2eevil.example/", "http://api.paypal.com/v1/notifications/certs/C", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := row(t, "paypal").CertificateURL(posted("", "Paypal-Cert-Url", text))
		if !ok {
			return
		}
		u, err := url.Parse(got)
		if err != nil || u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Opaque != "" || u.Port() != "" || path.Clean(u.Path) != u.Path ||
			!slices.Contains([]string{"api.paypal.com", "api.sandbox.paypal.com", "api-m.paypal.com", "api-m.sandbox.paypal.com"}, u.Host) || !strings.HasPrefix(u.Path, "/v1/notifications/certs/") {
			t.Errorf("%q would be fetched", got)
		}
	})
}
