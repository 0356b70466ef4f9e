package webhook_test

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"engang/shared/document"
	"engang/shared/secrets"
	"engang/shared/webhook"
)

// noon is the time of every test that does not say another.
var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

const (
	woo      = "woocommerce"
	standard = "standard-webhooks"
	openAI   = "openai"

	wooSecret      = "Zq3!t7rX0vB9mK2pLs8w"
	standardSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	openAISecret   = "whsec_RdvaYFYUXuIFuEbvZHwMfYFhUf7aMYjYcmM24+Aj40c="
)

func row(t testing.TB, provider string) webhook.Scheme {
	t.Helper()
	s, ok := webhook.Lookup(provider)
	if !ok {
		t.Fatalf("no row for %s", provider)
	}
	return s
}

func held(texts ...string) []secrets.Value {
	var all []secrets.Value
	for _, text := range texts {
		all = append(all, secrets.NewValue(text))
	}
	return all
}

// signed is a delivery of body as the provider sends it, with the provider's secret of these tests.
func signed(t testing.TB, provider, body string) (webhook.Request, string) {
	t.Helper()
	secret := samples[provider].secret
	return signedWith(t, provider, secret, body), secret
}

func signedWith(t testing.TB, provider, secret, body string) webhook.Request {
	t.Helper()
	sm := samples[provider]
	req := webhook.Request{Header: http.Header{}, Body: []byte(body), URL: sm.url}
	for name, value := range sm.header {
		req.Header.Set(name, value)
	}
	req, err := sm.scheme(t).Sign(req, secrets.NewValue(secret), noon)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// posted is a request with a body and pairs of header name and value.
func posted(body string, headers ...string) webhook.Request {
	req := webhook.Request{Method: http.MethodPost, Header: http.Header{}, Body: []byte(body)}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return req
}

// payload is a realistic body of a provider.
func payload(t testing.TB, file string) string {
	t.Helper()
	raw, err := os.ReadFile("testdata/payloads/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// with is a copy of a request with one header changed.
func with(req webhook.Request, name string, values ...string) webhook.Request {
	req.Header = req.Header.Clone()
	req.Header.Del(name)
	for _, v := range values {
		req.Header.Add(name, v)
	}
	return req
}

func decoded(t testing.TB, body []byte) any {
	t.Helper()
	doc, err := document.Decode(body)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// read is the document of a delivery.
func read(t testing.TB, s webhook.Scheme, req webhook.Request) any {
	t.Helper()
	doc, _, err := s.Document(req)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func identify(t testing.TB, provider string, req webhook.Request, rule webhook.Rule) webhook.Fact {
	t.Helper()
	s := row(t, provider)
	if sm, ok := samples[provider]; ok {
		s = sm.scheme(t)
	}
	fact, err := s.Identify(req, read(t, s, req), rule, noon)
	if err != nil {
		t.Fatal(err)
	}
	return fact
}

func pointer(t testing.TB, text string) *document.Pointer {
	t.Helper()
	p, err := document.ParsePointer(text)
	if err != nil {
		t.Fatal(err)
	}
	return &p
}

// mac is the sum that a sender would write, computed here without the code under test.
func mac(key, signedText string) string {
	h := hmac.New(sha256.New, []byte(key))
	h.Write([]byte(signedText))
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// A capture is one request that a running sender made.
type capture struct {
	Name    string
	Method  string
	Path    string
	Headers [][2]string
	Body    []byte `json:"body_base64"`
	Secret  string
	Now     int64
	Signed  bool
	Note    string
}

func (c capture) request(rename func(string) string) webhook.Request {
	h := http.Header{}
	for _, pair := range c.Headers {
		h.Add(rename(pair[0]), pair[1])
	}
	return webhook.Request{Method: c.Method, URL: "https://hooks.example.com" + c.Path, Header: h, Body: c.Body}
}

func same(name string) string { return name }

func captures(t testing.TB, file string) []capture {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	var all []capture
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, len(raw)+1)
	for lines.Scan() {
		var c capture
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	if err := lines.Err(); err != nil || len(all) == 0 {
		t.Fatalf("%s: %d captures, %v", file, len(all), err)
	}
	return all
}
