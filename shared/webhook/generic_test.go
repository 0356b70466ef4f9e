package webhook_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/document"
	"engang/shared/webhook"
)

const genericBody = `{"happened":"thing.changed","thing":{"id":"t1","rev":7}}`

var _ = add(sample{
	provider: "generic", secret: "4f5a6b7c8d9e0f1a2b3c", older: "00112233445566778899", body: genericBody,
	endpoint:  webhook.Endpoint{Type: "thing.changed", HMAC: &webhook.HMAC{Header: "x-signature", Prefix: "sha256=", Encoding: "hex", TimeHeader: "x-timestamp"}},
	signature: "X-Signature", covered: []string{"X-Timestamp"}, window: 300 * time.Second,
	sum: func(req webhook.Request, key string) string {
		return "sha256=" + hexMAC(sha256.New, key, req.Header.Get("X-Timestamp")+"."+string(req.Body))
	},
	unfit: map[string]string{"fewer than 16": "short", "nobody has filled in": "changeme"},
})

// Until the endpoint has said how, nothing is signed and nothing verifies.
func TestGenericWithoutAnEndpoint(t *testing.T) {
	s, secret := row(t, "generic"), held(samples["generic"].secret)
	req, _ := signed(t, "generic", genericBody)
	if err := s.Verify(req, secret, webhook.Expect{}, noon); !errors.Is(err, webhook.ErrSignature) {
		t.Errorf("verified: %v", err)
	}
	if _, err := s.Sign(webhook.Request{Body: []byte(genericBody)}, secret[0], noon); !errors.Is(err, webhook.ErrSecret) {
		t.Errorf("signed: %v", err)
	}
	if _, err := s.For(webhook.Endpoint{Type: "thing.changed"}); !errors.Is(err, webhook.ErrEndpoint) {
		t.Errorf("an endpoint that does not say: %v", err)
	}
	if err := s.CheckSecret(secret[0]); err != nil || !s.NeedsType() {
		t.Errorf("%v, needs a type: %v", err, s.NeedsType())
	}
}

func TestGenericWaysToSign(t *testing.T) {
	for _, tt := range []struct {
		name   string
		hmac   webhook.HMAC
		signed string // what is signed before the body
		text   func(sum string) string
	}{
		{"bare hex", webhook.HMAC{Header: "X-Sum", Encoding: "hex"}, "", func(sum string) string { return sum }},
		{"hex behind a prefix", webhook.HMAC{Header: "x-sum", Prefix: "v1,", Encoding: "hex"}, "", func(sum string) string { return "v1," + sum }},
		{"a prefix with a space", webhook.HMAC{Header: "Authorization", Prefix: "HMAC ", Encoding: "hex"}, "", func(sum string) string { return "HMAC " + sum }},
		{"base64", webhook.HMAC{Header: "X-Sum", Encoding: "base64"}, "", base64OfHex},
		{"base64 with a time", webhook.HMAC{Header: "X-Sum", Prefix: "sig=", Encoding: "base64", TimeHeader: "X-At", Window: time.Hour}, "1795953600.", func(sum string) string { return "sig=" + base64OfHex(sum) }},
	} {
		s, err := row(t, "generic").For(webhook.Endpoint{HMAC: &tt.hmac, TypeAt: pointer(t, "/happened")})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		secret := samples["generic"].secret
		req, err := s.Sign(webhook.Request{Body: []byte(genericBody)}, held(secret)[0], noon)
		if want := tt.text(hexMAC(sha256.New, secret, tt.signed+genericBody)); err != nil || req.Header.Get(tt.hmac.Header) != want {
			t.Errorf("%s: %v, %v", tt.name, req.Header, err)
		}
		now := noon
		if tt.hmac.TimeHeader == "" {
			now = noon.AddDate(10, 0, 0)
		} else if err := s.Verify(req, held(secret), webhook.Expect{}, noon.Add(tt.hmac.Window+1)); !errors.Is(err, webhook.ErrTimestamp) {
			t.Errorf("%s, later: %v", tt.name, err)
		}
		if err := s.Verify(req, held(secret), webhook.Expect{}, now); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		text := req.Header.Get(tt.hmac.Header)
		wrong := []string{"", text + text, strings.TrimPrefix(text, tt.hmac.Prefix) + "=", strings.ToUpper(text), "x" + text, text + "\n", " " + text}
		if tt.hmac.Prefix != "" {
			wrong = append(wrong, strings.TrimPrefix(text, tt.hmac.Prefix))
		}
		for _, other := range wrong {
			if err := s.Verify(with(req, tt.hmac.Header, other), held(secret), webhook.Expect{}, noon); !errors.Is(err, webhook.ErrSignature) {
				t.Errorf("%s, %q: %v", tt.name, other, err)
			}
		}
	}
}

func base64OfHex(sum string) string {
	raw, _ := hex.DecodeString(sum)
	return base64.StdEncoding.EncodeToString(raw)
}

func TestGenericTimes(t *testing.T) {
	s, secret := samples["generic"].scheme(t), samples["generic"].secret
	for stamp, want := range map[string]error{
		"1795953600": nil, "1795953300": nil, "1795953299": webhook.ErrTimestamp, "01795953600": nil, "1795953600000": webhook.ErrTimestamp, "0": webhook.ErrTimestamp,
		strings.Repeat("9", 40): webhook.ErrTimestamp, "1795953600.5": webhook.ErrSignature, "-1795953600": webhook.ErrSignature, "+1795953600": webhook.ErrSignature,
		"2026-11-29T12:00:00Z": webhook.ErrSignature, "１": webhook.ErrSignature, "": webhook.ErrSignature,
	} {
		req := posted(genericBody, "X-Timestamp", stamp, "X-Signature", "sha256="+hexMAC(sha256.New, secret, stamp+"."+genericBody))
		if err := s.Verify(req, held(secret), webhook.Expect{}, noon); !errors.Is(err, want) {
			t.Errorf("%q: %v", stamp, err)
		}
	}
	req, _ := signed(t, "generic", genericBody)
	for name, changed := range map[string]webhook.Request{"no time": with(req, "X-Timestamp"), "two times": with(req, "X-Timestamp", "1795953600", "1795953600")} {
		if err := s.Verify(changed, held(secret), webhook.Expect{}, noon); !errors.Is(err, webhook.ErrSignature) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestGenericEndpointsThatCannotBe(t *testing.T) {
	good := webhook.HMAC{Header: "X-Sum", Prefix: "sha256=", Encoding: "hex", TimeHeader: "X-At", Window: 24 * time.Hour}
	for reason, change := range map[string]func(*webhook.HMAC){
		"":                                func(*webhook.HMAC) {},
		"header is missing or no name of": func(h *webhook.HMAC) { h.Header = "" },
		"missing or no name of a header":  func(h *webhook.HMAC) { h.Header = "X Sum" },
		"or no name of a header":          func(h *webhook.HMAC) { h.Header = "X-Sum:" },
		"time's header is no name of a":   func(h *webhook.HMAC) { h.TimeHeader = "X-Åt" },
		"stand in one header":             func(h *webhook.HMAC) { h.TimeHeader = "x-sum" },
		"begins with no space":            func(h *webhook.HMAC) { h.Prefix = " sha256=" },
		"printable ASCII":                 func(h *webhook.HMAC) { h.Prefix = "sha256=\n" },
		"at most 64 characters":           func(h *webhook.HMAC) { h.Prefix = strings.Repeat("x", 65) },
		"neither hex nor base64":          func(h *webhook.HMAC) { h.Encoding = "HEX" },
		"hex nor base64":                  func(h *webhook.HMAC) { h.Encoding = "" },
		"no time that is signed":          func(h *webhook.HMAC) { h.TimeHeader = "" },
		"not between zero and 24h":        func(h *webhook.HMAC) { h.Window = 24*time.Hour + 1 },
		"the window is not":               func(h *webhook.HMAC) { h.Window = -1 },
	} {
		h := good
		change(&h)
		_, err := row(t, "generic").For(webhook.Endpoint{Type: "x", HMAC: &h})
		if (err == nil) != (reason == "") || err != nil && (!errors.Is(err, webhook.ErrEndpoint) || !strings.Contains(err.Error(), reason)) {
			t.Errorf("%s: %v", reason, err)
		}
	}
	if _, err := row(t, "generic").For(webhook.Endpoint{Type: "x", HMAC: &good, Legacy: true}); !errors.Is(err, webhook.ErrEndpoint) {
		t.Errorf("older signatures: %v", err)
	}
}

func TestGenericFacts(t *testing.T) {
	sum := document.Digest([]byte(genericBody))
	want := webhook.Fact{Type: "thing.changed", Key: "thing.changed#" + sum + "#2026-11-29", Digest: sum, Kind: "thing", ObjectID: "t1", Version: "7"}
	req, _ := signed(t, "generic", genericBody)
	rule := webhook.Rule{Kind: "thing", ID: pointer(t, "/thing/id"), Version: pointer(t, "/thing/rev")}
	if diff := cmp.Diff(want, identify(t, "generic", req, rule)); diff != "" {
		t.Error(diff)
	}
	again := with(req, "X-Timestamp", fmt.Sprint(noon.Unix()+60)) // a retry, signed anew
	if fact := identify(t, "generic", again, rule); fact.Key != want.Key {
		t.Errorf("a retry: %+v", fact)
	}
	without := identify(t, "generic", req, webhook.Rule{})
	if without.ObjectID != "" || without.Flaw == "" {
		t.Errorf("no rule: %+v", without)
	}
}

// FuzzGenericHeaders looks for headers that are accepted although the sum in them is not right, and the
// other way round, by a second reading.
func FuzzGenericHeaders(f *testing.F) {
	secret := samples["generic"].secret
	good, _ := signed(f, "generic", genericBody)
	f.Add(good.Header.Get("X-Timestamp"), good.Header.Get("X-Signature"), genericBody)
	f.Add("1795953600", strings.ToUpper(good.Header.Get("X-Signature")), genericBody)
	f.Add("", "sha256=", "")
	f.Add("1795953600", "sha256="+hexMAC(sha256.New, secret, "1795953600."), "")
	s := samples["generic"].scheme(f)
	f.Fuzz(func(t *testing.T, stamp, text, body string) {
		req := webhook.Request{Method: http.MethodPost, Header: http.Header{"X-Timestamp": {stamp}, "X-Signature": {text}}, Body: []byte(body)}
		err := s.Verify(req, held(secret), webhook.Expect{}, noon)
		right := text == "sha256="+hexMAC(sha256.New, secret, stamp+"."+body)
		if err == nil && !right || right && errors.Is(err, webhook.ErrSignature) && isDigits(stamp) {
			t.Errorf("right: %v, answer: %v", right, err)
		}
	})
}
