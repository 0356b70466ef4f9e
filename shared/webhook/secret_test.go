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
		"a sentence of a template":    "YOUR_WEBHOOK_SECRET_GOES_HERE",
		"a sentence with a name":      "your-stripe-signing-secret",
		"a sentence in brackets":      "[insert your shared secret here]",
		"a sentence without spaces":   "putYourSecretHere",
		"a placeholder with a number": "changeme123",
		"a mask behind a prefix":      "whsec_xxxxYOURSECRETxxxx",
	}
	for _, name := range names(withSum) {
		sm := samples[name]
		good, secret := signed(t, name, sm.body)
		for what, text := range merged(everywhere, sm.badSecrets) {
			forged := forge(t, name, text)
			for _, req := range []webhook.Request{good, forged} {
				if err := sm.scheme(t).Verify(req, held(text), sm.expect, noon); !errors.Is(err, webhook.ErrSecret) {
					t.Errorf("%s, %s: %v", name, what, err)
				}
			}
			if _, err := sm.scheme(t).Sign(good, held(text)[0], noon); !errors.Is(err, webhook.ErrSecret) {
				t.Errorf("%s signs with %s: %v", name, what, err)
			}
			// One usable secret among them is enough, and the broken one still proves nothing.
			if err := sm.scheme(t).Verify(good, held(text, secret), sm.expect, noon); err != nil {
				t.Errorf("%s, %s beside a good one: %v", name, what, err)
			}
			if err := sm.scheme(t).Verify(forged, held(text, secret), sm.expect, noon); !errors.Is(err, webhook.ErrSignature) {
				t.Errorf("%s, forged with %s beside a good one: %v", name, what, err)
			}
		}
		if err := sm.scheme(t).Verify(good, nil, sm.expect, noon); !errors.Is(err, webhook.ErrSecret) {
			t.Errorf("%s without any secret: %v", name, err)
		}
		unsigned := with(good, sm.signature)
		if err := sm.scheme(t).Verify(unsigned, held(""), sm.expect, noon); !errors.Is(err, webhook.ErrSecret) {
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

// forge signs a delivery by hand with what an attacker would try: the text itself, or what the row makes
// of it.
func forge(t *testing.T, name, text string) webhook.Request {
	t.Helper()
	sm := samples[name]
	req, _ := signed(t, name, sm.body)
	return with(req, sm.signature, sm.sum(req, sm.key(text)))
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
		{"words that say nothing of a template", woo, "a shop secret of the test", "a shop secret of the test"},
		{"a word of templates beside others", woo, "your-hammer-and-a-pan", "your-hammer-and-a-pan"},
		{"named entities", woo, "a&amp;b&lt;c&gt;d&quot;e", `a&b<c>d"e`},
		{"decimal entities, with and without zeros", woo, "&#38;&#038;&#00038;&#39;&#034;&#60;&#062;", `&&&'"<>`},
		{"hexadecimal entities of either case", woo, "&#x26;&#X26;&#x0022;&#x27;", `&&"'`},
		{"decoded once, not twice", woo, "&amp;lt;&amp;amp;&#038;quot;", "&lt;&amp;&quot;"},
		{"entities that are none of the five stay", woo, "&apos;&copy;&#x3c;&#65;&AMP;&amp", "&apos;&copy;&#x3c;&#65;&AMP;&amp"},
		{"bytes that are no UTF-8 stay", woo, "\xff\xfe&amp;\x80", "\xff\xfe&\x80"},
	}
	for _, tt := range tests {
		req := signedWith(t, tt.provider, tt.secret, samples[tt.provider].body)
		want := mac(tt.key, wooBody)
		if tt.provider != woo {
			want = "v1," + mac(tt.key, req.Header.Get("Webhook-Id")+"."+req.Header.Get("Webhook-Timestamp")+"."+samples[tt.provider].body)
		}
		if got := req.Header.Get(samples[tt.provider].signature); got != want {
			t.Errorf("%s, %s: signed with another key", tt.provider, tt.name)
		}
		if err := row(t, tt.provider).Verify(with(req, samples[tt.provider].signature, want), held(tt.secret), webhook.Expect{}, noon); err != nil {
			t.Errorf("%s, %s: %v", tt.provider, tt.name, err)
		}
	}
}

func TestSeveralSecretsWhileOneRotates(t *testing.T) {
	for _, name := range names(withHeader) {
		sm := samples[name]
		s := sm.scheme(t)
		req, newer := signed(t, name, sm.body)
		for what, all := range map[string][]string{"newer first": {newer, sm.older}, "older first": {sm.older, newer}, "twice the same": {newer, newer}} {
			if err := s.Verify(req, held(all...), sm.expect, noon); err != nil {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
		if err := s.Verify(req, held(sm.older), sm.expect, noon); !errors.Is(err, webhook.ErrSignature) {
			t.Errorf("%s, retired secret: %v", name, err)
		}
		if !sm.lists {
			continue
		}
		// The sender signs with both while it rotates; a receiver that has either takes it.
		other := signedWith(t, name, sm.older, sm.body)
		both := with(req, sm.signature, req.Header.Get(sm.signature)+" "+other.Header.Get(sm.signature))
		for _, secret := range []string{newer, sm.older} {
			if err := s.Verify(both, held(secret), sm.expect, noon); err != nil {
				t.Errorf("%s, two signatures: %v", name, err)
			}
		}
	}
}

// The parameter store keeps text: other bytes would come back as others.
func TestASecretThatIsNoTextIsNotConfigured(t *testing.T) {
	for _, name := range webhook.Names() {
		made := string(row(t, name).NewSecret([32]byte([]byte("0123456789abcdefghijklmnopqrstuv"))).Reveal())
		for _, text := range []string{made + "\xff", "\xff" + made, made[:8] + "\xc3\x28" + made[8:], made + "\xed\xa0\x80"} {
			if err := row(t, name).CheckSecret(held(text)[0]); !errors.Is(err, webhook.ErrSecret) || !strings.Contains(err.Error(), "UTF-8") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestSecretsThatMustNotBeConfigured(t *testing.T) {
	for _, name := range webhook.Names() {
		sm := samples[name]
		s := sm.scheme(t)
		made := s.NewSecret([32]byte([]byte("0123456789abcdefghijklmnopqrstuv")))
		if err := s.CheckSecret(made); err != nil {
			t.Errorf("%s refuses what it makes: %v", name, err)
		}
		if err := s.CheckSecret(held(sm.older)[0]); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for reason, text := range merged(sm.unfit, map[string]string{"nobody has filled in": ""}) {
			err := s.CheckSecret(held(text)[0])
			if !errors.Is(err, webhook.ErrSecret) || !strings.Contains(err.Error(), reason) || len(text) > 8 && strings.Contains(err.Error(), text) {
				t.Errorf("%s, want %q: %v", name, reason, err)
			}
			if public := reason == "everybody knows it"; errors.Is(err, webhook.ErrPublicSecret) != public {
				t.Errorf("%s, public %v: %v", name, public, err)
			}
		}
		for _, text := range sm.badSecrets {
			if err := s.CheckSecret(held(text)[0]); !errors.Is(err, webhook.ErrSecret) {
				t.Errorf("%s takes what cannot verify: %v", name, err)
			}
		}
	}
}

// Something else was put where the secret should be: what does not fit it is our fault, not the sender's.
func TestSecretsThatAreSomethingElse(t *testing.T) {
	for _, tt := range []struct{ provider, text string }{
		{woo, "cs_0123456789abcdef0123456789abcdef01234567"},
		{woo, "ck_0123456789abcdef0123456789abcdef01234567"},
		{woo, `"` + wooSecret + `"`},
		{openAI, "'" + openAISecret + "'"},
		{"stripe", "sk_test_0123456789abcdef0123456789abcdef"},
		{"github", "ghp_0123456789abcdef0123456789abcdef0123"},
	} {
		sm := samples[tt.provider]
		s := sm.scheme(t)
		good, secret := signed(t, tt.provider, sm.body)
		if err := s.Verify(good, held(tt.text), sm.expect, noon); !errors.Is(err, webhook.ErrSecret) || strings.Contains(err.Error(), tt.text[:3]) {
			t.Errorf("%s with what begins as %.4s: %v", tt.provider, tt.text, err)
		}
		if err := s.Verify(good, held(tt.text, secret), sm.expect, noon); err != nil {
			t.Errorf("%s, beside a good one: %v", tt.provider, err)
		}
		if err := s.Verify(good, held(tt.text, sm.older), sm.expect, noon); !errors.Is(err, webhook.ErrSignature) {
			t.Errorf("%s, beside one that can be a secret and does not fit: %v", tt.provider, err)
		}
		if err := s.Verify(with(good, sm.signature), held(tt.text), sm.expect, noon); !errors.Is(err, webhook.ErrSignature) {
			t.Errorf("%s, unsigned: %v", tt.provider, err)
		}
		used := signedWith(t, tt.provider, tt.text, sm.body)
		if err := s.Verify(used, held(tt.text), sm.expect, noon); err != nil {
			t.Errorf("%s, in use all the same: %v", tt.provider, err)
		}
	}
}
