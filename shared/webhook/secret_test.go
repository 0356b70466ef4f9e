package webhook_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"engang/shared/webhook"
)

// Whatever cannot be a secret refuses with ErrSecret, also a forgery that was made with just that.
func TestSecretsThatFailClosed(t *testing.T) {
	everywhere := map[string]string{
		"empty":                       "",
		"spaces":                      "   ",
		"a line end":                  "\n",
		"white space of all kinds":    " \t\r\n\u00a0",
		"nothing behind the prefix":   "whsec_",
		"dots behind the prefix":      "whsec_...",
		"one character over and over": "xxxxxxxxxxxxxxxxxxxxxxxx",
		"one character":               "-",
		"asterisks":                   "********",
		"a placeholder":               "changeme",
		"a placeholder, shouted":      "CHANGE-ME",
		"a placeholder with spaces":   " change me ",
		"a placeholder behind prefix": "whsec_REPLACE_ME",
		"what a template says":        "your-secret-here",
		"a template's brackets":       "<your secret>",
		"a variable of the shell":     "${WEBHOOK_SECRET}",
		"a variable without braces":   "$WEBHOOK_SECRET",
		"a variable of a template":    "{{ webhook.secret }}",
		"null as text":                "null",
	}
	only := map[string]map[string]string{
		woo: {}, // any other text is a secret
		standard: {
			"no base64":                          "this is no base64!",
			"base64 of nothing but zeros":        base64.StdEncoding.EncodeToString(make([]byte, 32)),
			"base64 for URLs":                    "whsec_" + base64.URLEncoding.EncodeToString([]byte("\xfb\xff\xfe secret of some bytes")),
			"public key one byte short":          "whpk_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("ab", 31)[:31])),
			"public key cut short":               "whpk_AAAA",
			"public key of zeros":                "whpk_" + base64.StdEncoding.EncodeToString(make([]byte, 32)),
			"private key of the wrong length":    "whsk_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("ab", 16))),
			"prefix of another case":             "WHSEC_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
			"space before the prefix":            " whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
			"a literal secret of another sender": "p&ss word",
		},
		openAI: {
			"under 24 bytes":              "whsec_" + base64.StdEncoding.EncodeToString([]byte("twenty-three bytes long")),
			"no base64 behind the prefix": "whsec_this is no base64!",
			"base64 without padding":      "whsec_RdvaYFYUXuIFuEbvZHwMfYFhUf7aMYjYcmM24+Aj40c",
			"base64 with a line end":      "whsec_c3ludGhldGljLXJvdGF0ZWQtc2VjcmV0LTAwMDE=\n",
			"base64 with idle bits":       "whsec_c3ludGhldGljLXJvdGF0ZWQtc2VjcmV0LTAwMDF=",
			"zeros behind the prefix":     "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 32)),
			"a public key":                "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=",
		},
	}
	for _, name := range webhook.Names() {
		good, secret := signed(t, name, bodies[name])
		for what, text := range merged(everywhere, only[name]) {
			forged := forge(t, name, text)
			for _, req := range []webhook.Request{good, forged} {
				if err := row(t, name).Verify(req, held(text), webhook.Expect{}, noon); !errors.Is(err, webhook.ErrSecret) {
					t.Errorf("%s, %s: %v", name, what, err)
				}
			}
			if _, err := row(t, name).Sign(good, held(text)[0], noon); !errors.Is(err, webhook.ErrSecret) {
				t.Errorf("%s signs with %s: %v", name, what, err)
			}
			// One usable secret among them is enough, and the broken one still proves nothing.
			if err := row(t, name).Verify(good, held(text, secret), webhook.Expect{}, noon); err != nil {
				t.Errorf("%s, %s beside a good one: %v", name, what, err)
			}
			if err := row(t, name).Verify(forged, held(text, secret), webhook.Expect{}, noon); !errors.Is(err, webhook.ErrSignature) {
				t.Errorf("%s, forged with %s beside a good one: %v", name, what, err)
			}
		}
		if err := row(t, name).Verify(good, nil, webhook.Expect{}, noon); !errors.Is(err, webhook.ErrSecret) {
			t.Errorf("%s without any secret: %v", name, err)
		}
		unsigned := with(good, signatureHeader[name])
		if err := row(t, name).Verify(unsigned, held(""), webhook.Expect{}, noon); !errors.Is(err, webhook.ErrSecret) {
			t.Errorf("%s, unsigned to an empty secret: %v", name, err)
		}
	}
}

func merged(a, b map[string]string) map[string]string {
	all := map[string]string{}
	for k, v := range a {
		all[k] = v
	}
	for k, v := range b {
		all[k] = v
	}
	return all
}

// forge signs a delivery by hand with what an attacker would try: the text itself, or what its base64
// stands for.
func forge(t *testing.T, name, text string) webhook.Request {
	t.Helper()
	req, _ := signed(t, name, bodies[name])
	if name == woo {
		return with(req, signatureHeader[woo], mac(text, wooBody))
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, "whsec_"))
	key := string(raw)
	if err != nil {
		key = text
	}
	signedText := req.Header.Get("Webhook-Id") + "." + req.Header.Get("Webhook-Timestamp") + "." + bodies[name]
	return with(req, "Webhook-Signature", "v1,"+mac(key, signedText))
}

func TestSecretsAsTheirSendersMeanThem(t *testing.T) {
	key := string([]byte("\x45\xdb\xda\x60\x56\x14\x5e\xe2\x05\xb8\x46\xef\x64\x7c\x0c\x7d\x81\x61\x51\xfe\xda\x31\x88\xd8\x72\x63\x36\xe3\xe0\x23\xe3\x47"))
	encoded := base64.StdEncoding.EncodeToString([]byte(key))
	tests := []struct {
		name, provider, secret, key string
	}{
		{"prefix and base64", standard, "whsec_" + encoded, key},
		{"bare base64, as Weblate issues it", standard, encoded, key},
		{"prefix and base64", openAI, "whsec_" + encoded, key},
		{"without the prefix the bytes themselves, though they look like base64", openAI, encoded, encoded},
		{"exactly 24 bytes", openAI, standardSecret, "1\xf2\x90\xf6\xbf\x06)\x8a\xabO\x08\xd4<?\b,\xf6H\xa3b\xda-\xa4\xb0"},
		{"text as it is", woo, wooSecret, wooSecret},
		{"spaces at the ends count", woo, " lead and trail ", " lead and trail "},
		{"a random secret that begins and ends with brackets", woo, "<5f-V#k|x>", "<5f-V#k|x>"},
		{"named entities", woo, "a&amp;b&lt;c&gt;d&quot;e", `a&b<c>d"e`},
		{"decimal entities, with and without zeros", woo, "&#38;&#038;&#00038;&#39;&#034;&#60;&#062;", `&&&'"<>`},
		{"hexadecimal entities of either case", woo, "&#x26;&#X26;&#x0022;&#x27;", `&&"'`},
		{"decoded once, not twice", woo, "&amp;lt;&amp;amp;&#038;quot;", "&lt;&amp;&quot;"},
		{"entities that are none of the five stay", woo, "&apos;&copy;&#x3c;&#65;&AMP;&amp", "&apos;&copy;&#x3c;&#65;&AMP;&amp"},
		{"bytes that are no UTF-8 stay", woo, "\xff\xfe&amp;\x80", "\xff\xfe&\x80"},
	}
	for _, tt := range tests {
		req := signedWith(t, tt.provider, tt.secret, bodies[tt.provider])
		want := mac(tt.key, wooBody)
		if tt.provider != woo {
			want = "v1," + mac(tt.key, req.Header.Get("Webhook-Id")+"."+req.Header.Get("Webhook-Timestamp")+"."+bodies[tt.provider])
		}
		if got := req.Header.Get(signatureHeader[tt.provider]); got != want {
			t.Errorf("%s, %s: signed with another key", tt.provider, tt.name)
		}
		if err := row(t, tt.provider).Verify(with(req, signatureHeader[tt.provider], want), held(tt.secret), webhook.Expect{}, noon); err != nil {
			t.Errorf("%s, %s: %v", tt.provider, tt.name, err)
		}
	}
}

func TestSeveralSecretsWhileOneRotates(t *testing.T) {
	older := map[string]string{woo: "RotatedSecret2", standard: "whsec_c3ludGhldGljLXJvdGF0ZWQtc2VjcmV0LTAwMDE=", openAI: "whsec_c3ludGhldGljLXJvdGF0ZWQtc2VjcmV0LTAwMDE="}
	for _, name := range webhook.Names() {
		s := row(t, name)
		req, newer := signed(t, name, bodies[name])
		for what, all := range map[string][]string{"newer first": {newer, older[name]}, "older first": {older[name], newer}, "twice the same": {newer, newer}} {
			if err := s.Verify(req, held(all...), webhook.Expect{}, noon); err != nil {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
		if err := s.Verify(req, held(older[name]), webhook.Expect{}, noon); !errors.Is(err, webhook.ErrSignature) {
			t.Errorf("%s, retired secret: %v", name, err)
		}
		if name == woo {
			continue
		}
		// The sender signs with both while it rotates; a receiver that has either takes it.
		other := signedWith(t, name, older[name], bodies[name])
		both := with(req, "Webhook-Signature", req.Header.Get("Webhook-Signature")+" "+other.Header.Get("Webhook-Signature"))
		for _, secret := range []string{newer, older[name]} {
			if err := s.Verify(both, held(secret), webhook.Expect{}, noon); err != nil {
				t.Errorf("%s, two signatures: %v", name, err)
			}
		}
	}
}
