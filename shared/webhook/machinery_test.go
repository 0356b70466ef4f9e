package webhook_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/document"
	"engang/shared/webhook"
)

func machinery(t *testing.T, s webhook.Scheme, body string, headers ...string) webhook.Request {
	t.Helper()
	req := webhook.Request{Header: http.Header{}, Body: []byte(body)}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	req, err := s.Sign(req, held("a secret of this test")[0], noon)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func TestADeliveryThatHoldsManyEvents(t *testing.T) {
	s := webhook.ListScheme()
	const first, second = `{"n":1,"type":"a.b","uuid":"x","at":1795953600.5,"try":0,"meta":{"sent":1,"by":"me"}}`, "{ \"type\":\"a.c\",\n\"n\": 2,\"try\":0, \"test_mode\":true }"
	req := machinery(t, s, " [\n"+first+" ,"+second+"]\n")
	batch, ok := s.Split(req, read(t, s, req))
	if !ok || len(batch.Parts) != 2 || string(batch.Parts[0].Body) != first || string(batch.Parts[1].Body) != second {
		t.Fatalf("%v, %d parts: %s", ok, len(batch.Parts), batch.Parts)
	}
	var facts []webhook.Fact
	for _, part := range batch.Parts {
		fact, err := s.Identify(part, read(t, s, part), webhook.Rule{}, noon)
		if err != nil {
			t.Fatal(err)
		}
		facts = append(facts, fact)
	}
	want := []webhook.Fact{
		{Type: "a.b", Key: "1", Kind: "a", ObjectID: "x", Version: "2026-11-29T12:00:00.5Z", Digest: facts[0].Digest},
		{Type: "a.c", Key: "2", Kind: "a", ObjectID: "2", Environment: webhook.Test, Digest: facts[1].Digest},
	}
	if diff := cmp.Diff(want, facts); diff != "" {
		t.Error(diff)
	}
	retried := strings.NewReplacer(`"try":0`, `"try":1`, `"sent":1`, `"sent":2`)
	again, _ := s.Split(machinery(t, s, "["+retried.Replace(first)+","+retried.Replace(second)+"]"), decoded(t, []byte("["+retried.Replace(first)+","+retried.Replace(second)+"]")))
	if again.Fact != batch.Fact || batch.Fact.Type != "split" || batch.Fact.Key != "split#"+batch.Fact.Digest || batch.Fact.Flaw != "" {
		t.Errorf("a retry of the whole: %+v, first %+v", again.Fact, batch.Fact)
	}
	for name, body := range map[string]string{
		"one part less": "[" + first + "]", "another order": "[" + second + "," + first + "]", "another content": "[" + first + "," + strings.Replace(second, "2", "3", 1) + "]",
		"another member beside a volatile one": "[" + strings.Replace(first, "me", "you", 1) + "," + second + "]",
	} {
		if other, ok := s.Split(machinery(t, s, body), decoded(t, []byte(body))); !ok || other.Fact.Key == batch.Fact.Key {
			t.Errorf("%s: %v, the same key", name, ok)
		}
	}
}

func TestDeliveriesThatHoldNoEventOrTooMany(t *testing.T) {
	s := webhook.ListScheme()
	for body, want := range map[string]string{
		`[]`:     "the delivery holds no event",
		` [ ] `:  "the delivery holds no event",
		`[1,[]]`: "",
		"[" + strings.Repeat("1,", webhook.MaxParts-1) + "1]": "",
		"[" + strings.Repeat("1,", webhook.MaxParts) + "1]":   "the delivery holds more than 1000 events",
	} {
		batch, ok := s.Split(webhook.Request{Body: []byte(body)}, decoded(t, []byte(body)))
		if !ok || batch.Fact.Flaw != want || (len(batch.Parts) == 0) != (want != "") || len(batch.Fact.Digest) != 64 {
			t.Errorf("%.20s: %v, %d parts, %+v", body, ok, len(batch.Parts), batch.Fact)
		}
	}
	for _, body := range []string{`{}`, `{"a":[1]}`, `"[]"`, `null`, `7`} {
		if _, ok := s.Split(webhook.Request{Body: []byte(body)}, decoded(t, []byte(body))); ok {
			t.Errorf("%s was taken apart", body)
		}
	}
	if _, ok := row(t, woo).Split(webhook.Request{Body: []byte(`[]`)}, []any{}); ok {
		t.Error("a row that sends one event a delivery takes one apart")
	}
}

func TestForms(t *testing.T) {
	tests := []struct{ name, body, want string }{
		{"fields", "b=2&a=1", `{"a":"1","b":"2"}`},
		{"the same, encoded otherwise", "b=%32&%61=1", `{"a":"1","b":"2"}`},
		{"plus and per cent", "a=x+y%2Bz%26", `{"a":"x y+z&"}`},
		{"nothing behind the sign", "a=&b=", `{"a":"","b":""}`},
		{"repeated", "a=1&b=3&a=2&a=", `{"a":["1","2",""],"b":"3"}`},
		{"another script", "a=%C3%A5", `{"a":"å"}`},
		{"no sign", "a", ""},
		{"empty pair", "a=1&&b=2", ""},
		{"empty", "", ""},
		{"semicolon", "a=1;b=2", ""},
		{"broken escape", "a=%4", ""},
		{"no UTF-8", "a=%ff", ""},
		{"as many fields as may be", strings.TrimSuffix(strings.Repeat("a=1&", 1000), "&"), `{"a":[` + strings.TrimSuffix(strings.Repeat(`"1",`, 1000), ",") + `]}`},
		{"one more", strings.Repeat("a=1&", 1000) + "a=1", ""},
	}
	for _, tt := range tests {
		doc, content, err := webhook.FormDocument([]byte(tt.body))
		if tt.want == "" {
			if !errors.Is(err, document.ErrMalformed) {
				t.Errorf("%s: %v", tt.name, err)
			}
			continue
		}
		if err != nil || string(content) != tt.want {
			t.Errorf("%s: %s, %v", tt.name, content, err)
			continue
		}
		if diff := cmp.Diff(decoded(t, content), doc); diff != "" {
			t.Errorf("%s: the document is not its content: %s", tt.name, diff)
		}
	}
}

// Who can change Content-Type must not be able to make a form of a JSON body, nor to add a field.
func TestAFormWithJSONInItIsOneField(t *testing.T) {
	s := webhook.FormScheme()
	for body, want := range map[string]string{
		"payload=%7B%22a%22%3A1%7D":          `{"a":1}`,
		"payload=%7b%22a%22%3a+1%7d":         `{"a": 1}`,
		`{"a":"&payload=%7B%22b%22%3A1%7D"}`: `{"a":"&payload=%7B%22b%22%3A1%7D"}`,
		"payload=%7B%7D&payload=%7B%7D":      "",
		"payload=%7B%7D&x=1":                 "",
		"x=1&payload=%7B%7D":                 "",
		"payload=":                           "",
		"payload=%7B":                        "",
		"payload=%7B%7D;x=1":                 "",
		"Payload=%7B%7D":                     "",
	} {
		_, content, err := s.Document(webhook.Request{Header: http.Header{"X-Shape": {"payload"}}, Body: []byte(body)})
		if string(content) != want || (err == nil) != (want != "") || err != nil && !errors.Is(err, document.ErrMalformed) {
			t.Errorf("%s: %s, %v", body, content, err)
		}
		if err != nil && strings.Contains(err.Error(), "%7B") {
			t.Errorf("the error repeats the body: %v", err)
		}
	}
}

// The encoding of a form is the attacker's to change where the fields are signed: it is the same event.
func TestAFormIsIdentifiedByWhatItSays(t *testing.T) {
	s := webhook.FormScheme()
	var facts []webhook.Fact
	for _, body := range []string{"type=a.b&object=7&sent=1795953600250", "object=%37&sent=1795953600250&type=a%2Eb"} {
		req := webhook.Request{Body: []byte(body)}
		fact, err := s.Identify(req, read(t, s, req), webhook.Rule{}, noon)
		if err != nil {
			t.Fatal(err)
		}
		facts = append(facts, fact)
	}
	want := webhook.Fact{Type: "a.b", Key: facts[0].Key, Digest: document.Digest([]byte(`{"object":"7","sent":"1795953600250","type":"a.b"}`)), Kind: "a", ObjectID: "7"}
	if diff := cmp.Diff([]webhook.Fact{want, want}, facts); diff != "" {
		t.Error(diff)
	}
	misfit := webhook.Request{Body: []byte("type=misfit.header&object=7&sent=1")}
	if fact, err := s.Identify(misfit, read(t, s, misfit), webhook.Rule{}, noon); err != nil || fact.Flaw != "it does not fit" || fact.ObjectID != "" {
		t.Errorf("%+v, %v", fact, err)
	}
}

func TestATimeInsideTheBodyIsJudgedAfterTheSignature(t *testing.T) {
	s := webhook.FormScheme()
	for body, want := range map[string]error{
		"sent=1795953600000": nil, "sent=1795953660000": nil, "sent=1795953540000": nil,
		"sent=1795953660001": webhook.ErrTimestamp, "sent=1795953539999": webhook.ErrTimestamp, "sent=1795953600": webhook.ErrTimestamp,
		"sent=" + strings.Repeat("9", 30): webhook.ErrTimestamp, "sent=-1": webhook.ErrSignature, "other=1": webhook.ErrSignature, "sent=1&sent=1": webhook.ErrSignature,
	} {
		req := machinery(t, s, body)
		if req.Header.Get("Content-Type") != "application/x-www-form-urlencoded" {
			t.Errorf("content type %v", req.Header)
		}
		if err := s.Verify(req, held("a secret of this test"), webhook.Expect{}, noon); !errors.Is(err, want) {
			t.Errorf("%s: %v", body, err)
		}
		if err := s.Verify(req, held("another secret of it"), webhook.Expect{}, noon); !errors.Is(err, webhook.ErrSignature) {
			t.Errorf("%s with another secret: %v", body, err)
		}
	}
	late := machinery(t, s, "sent=1")
	legacy, err := s.For(webhook.Endpoint{Legacy: true})
	if err != nil || legacy.Verify(late, held("a secret of this test"), webhook.Expect{}, noon) != nil {
		t.Errorf("as the endpoint asks: %v", err)
	}
	if err := s.Verify(late, held("a secret of this test"), webhook.Expect{}, noon); !errors.Is(err, webhook.ErrTimestamp) {
		t.Errorf("the row itself was changed: %v", err)
	}
	moved := machinery(t, s, "sent=1795953600000")
	moved.Header.Set("X-Own", "p:"+moved.Header.Get("X-Sum"))
	moved.Header.Del("X-Sum")
	own, err := s.For(webhook.Endpoint{HMAC: &webhook.HMAC{Header: "X-Own", Prefix: "p:", Encoding: "hex"}})
	if err != nil || own.Verify(moved, held("a secret of this test"), webhook.Expect{}, noon) != nil {
		t.Errorf("signed as the endpoint says: %v", err)
	}
	if _, err := s.For(webhook.Endpoint{HMAC: &webhook.HMAC{Header: "X-Own"}}); !errors.Is(err, webhook.ErrEndpoint) || !strings.Contains(err.Error(), "it is hex alone") {
		t.Errorf("signed as the row does not offer: %v", err)
	}
}

func TestTheSourceInABody(t *testing.T) {
	s := webhook.FormScheme()
	tests := []struct {
		body, header, want string
		ok                 bool
	}{
		{"account=one&sent=1795953600000", "", "one", true},
		{"account=one&sent=1795953600000", "", "two", false},
		{"sent=1795953600000", "", "one", false},
		{"account=one&account=one&sent=1795953600000", "", "one", false},
		{"account=one&sent=1795953600000", "two", "two", true},
		{"account=one&sent=1795953600000", "two", "one", false},
	}
	for _, tt := range tests {
		req := machinery(t, s, tt.body)
		if tt.header != "" {
			req.Header.Set("X-Account", tt.header)
		}
		err := s.Verify(req, held("a secret of this test"), webhook.Expect{Source: tt.want}, noon)
		if (err == nil) != tt.ok || err != nil && !errors.Is(err, webhook.ErrSource) {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}

func TestSignedHandshakes(t *testing.T) {
	s := webhook.FormScheme()
	ask := func(method, body string) (webhook.Pong, bool) {
		req := webhook.Request{Method: method, Body: []byte(body)}
		return s.SignedHandshake(req, read(t, s, req))
	}
	if pong, ok := ask(http.MethodPost, "challenge=x1"); !ok || string(pong.Body) != "x1" || pong.ContentType != "text/plain" || pong.Status != "pong" {
		t.Errorf("%v, %+v", ok, pong)
	}
	if _, ok := ask(http.MethodPost, "type=a.b"); ok {
		t.Error("an event was taken for a handshake")
	}
	if _, ok := ask(http.MethodGet, "challenge=x1"); ok {
		t.Error("a handshake by another method")
	}
	if _, ok := row(t, woo).SignedHandshake(webhook.Request{Method: http.MethodPost}, map[string]any{"challenge": "x"}); ok {
		t.Error("a row without one answers")
	}
}

func TestReplies(t *testing.T) {
	if diff := cmp.Diff(webhook.Reply{Status: 200}, row(t, woo).Reply()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(webhook.Reply{Status: 204, Empty: true}, webhook.ListScheme().Reply()); diff != "" {
		t.Error(diff)
	}
}

func TestWhatAnEndpointSays(t *testing.T) {
	s := webhook.TypelessScheme()
	if !s.NeedsType() || row(t, woo).NeedsType() {
		t.Error("who needs a type")
	}
	req := webhook.Request{Body: []byte(`{"id":"1","kind":"of.it","type":"own","list":[{"t":1}]}`)}
	doc := read(t, s, req)
	if _, err := s.Identify(req, doc, webhook.Rule{}, noon); !errors.Is(err, webhook.ErrMalformed) {
		t.Errorf("without a type: %v", err)
	}
	tests := []struct {
		name     string
		endpoint webhook.Endpoint
		want     string // "": refused
	}{
		{"fixed", webhook.Endpoint{Type: "post.added"}, "post.added"},
		{"elsewhere in the body", webhook.Endpoint{TypeAt: pointer(t, "/kind")}, "of.it"},
		{"both", webhook.Endpoint{Type: "x", TypeAt: pointer(t, "/kind")}, ""},
		{"the whole body", webhook.Endpoint{TypeAt: pointer(t, "")}, ""},
		{"anywhere", webhook.Endpoint{TypeAt: pointer(t, "/list/*/t")}, ""},
		{"not printable", webhook.Endpoint{Type: "a\nb"}, ""},
		{"too long", webhook.Endpoint{Type: strings.Repeat("a", 256)}, ""},
		{"older signatures of a sender without", webhook.Endpoint{Legacy: true}, ""},
		{"a signature of its own for a row that has one", webhook.Endpoint{HMAC: &webhook.HMAC{Header: "X"}}, ""},
	}
	for _, tt := range tests {
		as, err := s.For(tt.endpoint)
		if tt.want == "" {
			if !errors.Is(err, webhook.ErrEndpoint) {
				t.Errorf("%s: %v", tt.name, err)
			}
			continue
		}
		fact, err2 := as.Identify(req, doc, webhook.Rule{}, noon)
		if err != nil || err2 != nil || fact.Type != tt.want {
			t.Errorf("%s: %q, %v, %v", tt.name, fact.Type, err, err2)
		}
	}
	weblate, err := row(t, standard).For(webhook.Endpoint{Type: "translation"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range captures(t, "weblate.jsonl") {
		if got, err := weblate.Type(c.request(same), decoded(t, c.Body)); err != nil || got != "translation" {
			t.Errorf("%s: %q, %v", c.Name, got, err)
		}
	}
}

func TestSignedTimes(t *testing.T) {
	end := "9999-12-31T23:59:59Z"
	for unit, tests := range map[string]map[string]string{
		"seconds":      {"1795953600": "2026-11-29T12:00:00Z", "0": "1970-01-01T00:00:00Z", "1795953600250": end, strings.Repeat("9", 30): end, "": "", "-1": "", "+1": "", "1.5": "", "1e9": "", " 1": "", "0x1": ""},
		"milliseconds": {"1795953600250": "2026-11-29T12:00:00.25Z", "1795953600": "1970-01-21T18:52:33.6Z", strings.Repeat("9", 30): end, "253402300799001": end, "1.5": "", "-1": "", "": ""},
		"RFC 3339": {"2026-11-29T12:00:00Z": "2026-11-29T12:00:00Z", "2026-11-29T13:00:00.5+01:00": "2026-11-29T12:00:00.5Z", "2026-11-29T12:00:00": "", "2026-11-29": "",
			"1795953600": "", "": "", "0000-01-01T00:00:00Z": "", "2026-13-29T12:00:00Z": ""},
	} {
		for text, want := range tests {
			got, ok := webhook.SignedTimes[unit](text)
			if ok != (want != "") || ok && got.Format(time.RFC3339Nano) != want {
				t.Errorf("%s, %s: %v, %v", unit, text, got, ok)
			}
		}
	}
	for text, want := range map[string]string{
		"1795953600": "2026-11-29T12:00:00Z", "1795975199.000100": "2026-11-29T17:59:59.0001Z", "1795975199.000000001": "2026-11-29T17:59:59.000000001Z",
		"99999999999": "5138-11-16T09:46:39Z", "": "", "2026-11-29T12:00:00Z": "2026-11-29T12:00:00Z", "1795953600250": "1795953600250", "x": "x", "1.": "1.",
	} {
		if got := webhook.UnixVersion(text); got != want {
			t.Errorf("version of %s: %s", text, got)
		}
	}
}

func TestTermsOfSecrets(t *testing.T) {
	s := webhook.ListScheme()
	for text, want := range map[string]string{
		"a published secret":     "check list secret: it is published, so that everybody knows it",
		strings.Repeat("ab", 21): "check list secret: it has more than 40 characters; one that is sound looks like letters",
		"too short":              "it has fewer than 16 characters; one that is sound looks like letters",
		"long enough for this":   "",
	} {
		err := s.CheckSecret(held(text)[0])
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
