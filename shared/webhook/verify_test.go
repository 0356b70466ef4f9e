package webhook_test

import (
	"encoding/base64"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"engang/shared/webhook"
)

const (
	wooBody      = `{"id":794,"name":"Tr\u00f6ja","permalink":"https:\/\/shop.example.com\/","date_modified_gmt":"2026-11-29T11:59:57"}`
	standardBody = `{"type":"contact.created","timestamp":"2026-11-29T11:59:57.344522Z","data":{"id":"1f81"}}`
	openAIBody   = `{"id":"evt_6929f0a0","object":"event","created_at":1795975197,"type":"batch.completed","data":{"id":"batch_6929"}}`
)

func TestEveryRowTakesWhatItSigned(t *testing.T) {
	if got := names(all); !slices.Equal(got, webhook.Names()) || len(samples) != len(got) {
		t.Fatalf("rows %v, samples %v", webhook.Names(), slices.Sorted(maps.Keys(samples)))
	}
	for _, name := range webhook.Names() {
		sm := samples[name]
		req, secret := signed(t, name, sm.body)
		if err := sm.scheme(t).Verify(req, held(secret), sm.expect, noon); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if sm.sum != nil && req.Header.Get(sm.signature) != sm.sum(req, sm.key(secret)) {
			t.Errorf("%s: another signature than the sender's", name)
		}
		if fact := identify(t, name, req, webhook.Rule{Kind: "thing", ID: pointer(t, "/id")}); fact.Key == "" || len(fact.Digest) != 64 {
			t.Errorf("%s: %+v", name, fact)
		}
	}
}

func TestAnyChangeOfWhatIsSignedIsRefused(t *testing.T) {
	for _, name := range webhook.Names() {
		sm := samples[name]
		s := sm.scheme(t)
		req, secret := signed(t, name, sm.body)
		refused := func(what string, at int, changed webhook.Request) {
			if err := s.Verify(changed, held(secret), sm.expect, noon); !errors.Is(err, webhook.ErrSignature) {
				t.Errorf("%s: %s changed at %d gave %v", name, what, at, err)
			}
		}
		from, to := 0, len(req.Body)
		if sm.within != [2]string{} {
			from = strings.Index(string(req.Body), sm.within[0])
			to = from + strings.Index(string(req.Body[from:]), sm.within[1]) + len(sm.within[1])
		}
		for i := from; i < to; i++ {
			for bit := range 8 {
				changed := req
				changed.Body = append([]byte(nil), req.Body...)
				changed.Body[i] ^= 1 << bit
				refused("body", i, changed)
			}
			shorter := req
			shorter.Body = append(append([]byte(nil), req.Body[:i]...), req.Body[i+1:]...)
			refused("body shortened", i, shorter)
		}
		if to == len(req.Body) {
			longer := req
			longer.Body = append(append([]byte(nil), req.Body...), '\n')
			refused("body with a line end", len(req.Body), longer)
		}
		for _, h := range append(slices.Clone(sm.covered), sm.signature) {
			text := req.Header.Get(h)
			if text == "" && h != "" {
				t.Errorf("%s signs no header %s", name, h)
			}
			for i := range text {
				for _, c := range []byte{text[i] ^ 1, text[i] ^ 0x20, '0', '.', ' '} {
					if c != text[i] {
						refused(h, i, with(req, h, text[:i]+string(rune(c))+text[i+1:]))
					}
				}
				refused(h+" shortened", i, with(req, h, text[:i]+text[i+1:]))
			}
		}
	}
}

func TestOneSignatureHeaderExactly(t *testing.T) {
	for _, name := range names(withHeader) {
		sm := samples[name]
		s, h := sm.scheme(t), sm.signature
		req, secret := signed(t, name, sm.body)
		good := req.Header.Get(h)
		tests := map[string][]string{
			"missing":                      nil,
			"empty":                        {""},
			"blank":                        {"  "},
			"repeated, both right":         {good, good},
			"repeated, one wrong":          {good, "v1,AAAA"},
			"joined by a proxy":            {good + ", " + good},
			"joined without a space":       {good + "," + good},
			"hex instead of base64":        {strings.Repeat("0a", 32)},
			"url-safe alphabet":            {strings.NewReplacer("+", "-", "/", "_").Replace(good) + "-"},
			"without its last character":   {good[:len(good)-1]},
			"base64 instead of hex":        {strings.Repeat("QUJD", 11)[:43] + "="},
			"too long":                     {good + "AAAA"},
			"quoted":                       {`"` + good + `"`},
			"a line end inside":            {good[:20] + "\n" + good[20:]},
			"only the label":               {"v1,"},
			"only the sum of a labelled":   {strings.TrimPrefix(good, "v1,") + "x"},
			"a known label, garbage":       {"v1,garbage"},
			"an unknown label":             {"v2," + strings.TrimPrefix(good, "v1,")},
			"the label of the other kind":  {"v1a," + strings.TrimPrefix(good, "v1,")},
			"sixteen and one more of them": {strings.TrimSpace(strings.Repeat("v1,"+strings.TrimPrefix(good, "v1,")+" ", 17))},
		}
		for what, values := range tests {
			if err := s.Verify(with(req, h, values...), held(secret), sm.expect, noon); !errors.Is(err, webhook.ErrSignature) {
				t.Errorf("%s, signature header %s: %v", name, what, err)
			}
		}
	}
}

// The answer does not tell what was wrong; the log does.
func TestErrorsTellTheLogWhatWasWrong(t *testing.T) {
	for _, name := range names(withHeader) {
		sm := samples[name]
		s, h := sm.scheme(t), sm.signature
		req, secret := signed(t, name, sm.body)
		good := req.Header.Get(h)
		tests := map[string]error{
			"header " + h + " is missing":          s.Verify(with(req, h), held(secret), sm.expect, noon),
			"header " + h + " is repeated":         s.Verify(with(req, h, good, good), held(secret), sm.expect, noon),
			"header " + h + " is blank":            s.Verify(with(req, h, " "), held(secret), sm.expect, noon),
			"header " + h + " is not readable":     s.Verify(with(req, h, "garbage"), held(secret), sm.expect, noon),
			"none of 2 keys made one of 1 signatu": s.Verify(with(req, h, signedWith(t, name, sm.older, sm.body).Header.Get(h)), held(secret, secret), sm.expect, noon),
			"2 configured: no usable secret":       s.Verify(req, held("", "changeme"), sm.expect, noon),
		}
		for want, err := range tests {
			if err == nil || !strings.Contains(err.Error(), "verify "+name+" delivery: ") || !strings.Contains(err.Error(), want) {
				t.Errorf("want %q, got %v", want, err)
			}
		}
	}
}

func TestStandardHeadersThatCannotBeTrusted(t *testing.T) {
	for _, name := range []string{standard, openAI} {
		key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(standardSecret, "whsec_"))
		// resigned is a request whose sum is right for its id and time, so that only their form can refuse it.
		resigned := func(id, stamp string) webhook.Request {
			h := http.Header{}
			h.Set("Webhook-Id", id)
			h.Set("Webhook-Timestamp", stamp)
			h.Set("Webhook-Signature", "v1,"+mac(string(key), id+"."+stamp+"."+standardBody))
			return webhook.Request{Method: http.MethodPost, Header: h, Body: []byte(standardBody)}
		}
		stamp := "1795953600" // noon
		tests := []struct {
			name string
			req  webhook.Request
			want error
		}{
			{"as it should be", resigned("msg_1", stamp), nil},
			{"id with a dot", resigned("msg.1", stamp), webhook.ErrSignature},
			{"id of 256 characters", resigned(strings.Repeat("m", 256), stamp), webhook.ErrSignature},
			{"id with a control character", resigned("msg\x01", stamp), webhook.ErrSignature},
			{"id missing", with(resigned("msg_1", stamp), "Webhook-Id"), webhook.ErrSignature},
			{"id repeated", with(resigned("msg_1", stamp), "Webhook-Id", "msg_1", "msg_1"), webhook.ErrSignature},
			{"time missing", with(resigned("msg_1", stamp), "Webhook-Timestamp"), webhook.ErrSignature},
			{"time repeated", with(resigned("msg_1", stamp), "Webhook-Timestamp", stamp, stamp), webhook.ErrSignature},
			{"time with a sign", resigned("msg_1", "+"+stamp), webhook.ErrSignature},
			{"negative time", resigned("msg_1", "-1"), webhook.ErrSignature},
			{"time in hex", resigned("msg_1", "0x6b0b6f40"), webhook.ErrSignature},
			{"time with an exponent", resigned("msg_1", "1.7e9"), webhook.ErrSignature},
			{"time as a date", resigned("msg_1", "2026-11-29T12:00:00Z"), webhook.ErrSignature},
			{"time with a bare dot", resigned("msg_1", stamp+"."), webhook.ErrSignature},
			{"time with white space", resigned("msg_1", " "+stamp), webhook.ErrSignature},
			{"time with idle zeros, signed as written", resigned("msg_1", "00"+stamp), nil},
			{"fraction, signed as written", resigned("msg_1", stamp+".451687"), nil},
			{"fraction, whole seconds signed", with(resigned("msg_1", stamp), "Webhook-Timestamp", stamp+".451687"), nil},
			{"whole seconds, fraction signed", with(resigned("msg_1", stamp+".451687"), "Webhook-Timestamp", stamp), webhook.ErrSignature},
			{"time beyond all integers", resigned("msg_1", strings.Repeat("9", 40)), webhook.ErrTimestamp},
			{"time beyond all years", resigned("msg_1", "9223372036854775807"), webhook.ErrTimestamp},
			{"time zero", resigned("msg_1", "0"), webhook.ErrTimestamp},
		}
		for _, tt := range tests {
			err := row(t, name).Verify(tt.req, held(standardSecret), webhook.Expect{}, noon)
			if !errors.Is(err, tt.want) {
				t.Errorf("%s, %s: %v", name, tt.name, err)
			}
		}
	}
}

func TestTheWindowIsJudgedAfterTheSignature(t *testing.T) {
	for _, name := range names(withWindow) {
		sm := samples[name]
		s := sm.scheme(t)
		req, secret := signed(t, name, sm.body)
		tests := []struct {
			name string
			now  time.Duration // after the signed time
			want error
		}{
			{"at once", 0, nil},
			{"as old as may be", sm.window, nil},
			{"a nanosecond more", sm.window + 1, webhook.ErrTimestamp},
			{"as far ahead as may be", -sm.window, nil},
			{"a nanosecond more ahead", -sm.window - 1, webhook.ErrTimestamp},
			{"a century old", 100 * 365 * 24 * time.Hour, webhook.ErrTimestamp},
		}
		for _, tt := range tests {
			if err := s.Verify(req, held(secret), sm.expect, noon.Add(tt.now)); !errors.Is(err, tt.want) {
				t.Errorf("%s, %s: %v", name, tt.name, err)
			}
			// An unsigned time says nothing: the same with a wrong secret is never a matter of time.
			if err := s.Verify(req, held(sm.older), sm.expect, noon.Add(tt.now)); !errors.Is(err, webhook.ErrSignature) {
				t.Errorf("%s, %s, with another secret: %v", name, tt.name, err)
			}
		}
	}
	for _, name := range names(func(s sample) bool { return s.window == 0 }) {
		req, secret := signed(t, name, samples[name].body)
		if err := samples[name].scheme(t).Verify(req, held(secret), samples[name].expect, noon.AddDate(10, 0, 0)); err != nil {
			t.Errorf("%s signs no time, and yet: %v", name, err)
		}
	}
}

func TestTheKeyPicksTheAlgorithm(t *testing.T) {
	const (
		// Published by svix for its own test: both halves belong together.
		private = "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg=="
		public  = "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4="
	)
	s := row(t, standard)
	byPair := signedWith(t, standard, private, standardBody)
	bySecret := signedWith(t, standard, standardSecret, standardBody)
	publicBytes, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(public, "whpk_"))
	text := byPair.Header.Get("Webhook-Id") + "." + byPair.Header.Get("Webhook-Timestamp") + "." + standardBody
	both := with(bySecret, "Webhook-Signature", bySecret.Header.Get("Webhook-Signature")+" "+byPair.Header.Get("Webhook-Signature"))
	tests := []struct {
		name   string
		req    webhook.Request
		secret string
		want   error
	}{
		{"public key checks what its private half signed", byPair, public, nil},
		{"public key and a shared secret's signature", bySecret, public, webhook.ErrSignature},
		{"shared secret and a key pair's signature", byPair, standardSecret, webhook.ErrSignature},
		{"both signatures, shared secret", both, standardSecret, nil},
		{"both signatures, public key", both, public, nil},
		{"HMAC made with the public key", with(byPair, "Webhook-Signature", "v1,"+mac(string(publicBytes), text)), public, webhook.ErrSignature},
		{"HMAC made with the public key's text", with(byPair, "Webhook-Signature", "v1,"+mac(public, text)), public, webhook.ErrSignature},
		{"the private half, which a receiver must not hold", byPair, private, webhook.ErrSecret},
	}
	for _, tt := range tests {
		if err := s.Verify(tt.req, held(tt.secret), webhook.Expect{}, noon); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	tampered := byPair
	tampered.Body = []byte(strings.Replace(standardBody, "1f81", "1f82", 1))
	if err := s.Verify(tampered, held(public), webhook.Expect{}, noon); !errors.Is(err, webhook.ErrSignature) {
		t.Errorf("tampered body: %v", err)
	}
	for _, half := range []string{public, private} {
		if err := row(t, openAI).Verify(bySecret, held(half), webhook.Expect{}, noon); !errors.Is(err, webhook.ErrSecret) {
			t.Errorf("openai with half of a key pair: %v", err)
		}
	}
}

func TestTheSourceIsWhatIsConfigured(t *testing.T) {
	s := row(t, woo)
	const header = "X-WC-Webhook-Source"
	req, secret := signed(t, woo, wooBody)
	tests := []struct {
		name string
		req  webhook.Request
		want string
		err  error
	}{
		{"none demanded", req, "", nil},
		{"the same", req, "https://shop.example.com/", nil},
		{"without the slash at the end", req, "https://shop.example.com", nil},
		{"another shop", req, "https://other.example.com/", webhook.ErrSource},
		{"a shop whose name begins alike", req, "https://shop.example.co", webhook.ErrSource},
		{"missing", with(req, header), "https://shop.example.com/", webhook.ErrSource},
		{"repeated", with(req, header, "https://shop.example.com/", "https://other.example.com/"), "https://shop.example.com/", webhook.ErrSource},
		{"another shop and a wrong signature", with(req, samples[woo].signature, mac("x", "y")), "https://other.example.com/", webhook.ErrSignature},
	}
	for _, tt := range tests {
		if err := s.Verify(tt.req, held(secret), webhook.Expect{Source: tt.want}, noon); !errors.Is(err, tt.err) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	// A row whose sender names no source refuses all where one is demanded: said by NamesSource, so that
	// such a configuration can be refused.
	other, secret := signed(t, standard, standardBody)
	err := row(t, standard).Verify(other, held(secret), webhook.Expect{Source: "https://shop.example.com/"}, noon)
	if !errors.Is(err, webhook.ErrSource) || row(t, standard).NamesSource() || !s.NamesSource() {
		t.Errorf("source demanded of a sender that names none: %v", err)
	}
}

func TestErrorsHoldNoValue(t *testing.T) {
	for _, name := range names(withHeader) {
		sm := samples[name]
		s, h := sm.scheme(t), sm.signature
		req, secret := signed(t, name, strings.Replace(sm.body, `{`, `{"x":"CANARY",`, 1))
		req.Header.Set("X-WC-Webhook-Source", "https://CANARY.example.com/")
		var errs []error
		for _, r := range []webhook.Request{
			with(req, h), with(req, h, "CANARY"), with(req, h, "v1,CANARY"), with(req, h, "v1,"+mac("CANARY", "")), with(req, h, mac("CANARY", "")),
			with(req, "Webhook-Timestamp", "CANARY"), with(req, "Webhook-Id", "CANARY.1"), with(req, "Webhook-Id", "CANARY"),
		} {
			errs = append(errs, s.Verify(r, held(secret), sm.expect, noon))
		}
		errs = append(errs,
			s.Verify(req, held("whsec_CANARY!", "whpk_CANARY"), sm.expect, noon),
			s.Verify(req, held(secret), webhook.Expect{Source: "https://CANARY.example.org/"}, noon),
			s.Verify(req, held(secret), sm.expect, noon.AddDate(1, 0, 0)))
		_, err := s.Identify(webhook.Request{Header: http.Header{"X-Wc-Webhook-Topic": {"CANARY\x00"}}}, map[string]any{"type": "CANARY\x00"}, webhook.Rule{}, noon)
		_, err2 := s.Sign(req, held("whpk_CANARY")[0], noon)
		told := 0
		for _, err := range append(errs, err, err2) {
			if err == nil {
				continue
			}
			told++
			if strings.Contains(err.Error(), "CANARY") || strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if told < 6 {
			t.Errorf("%s: only %d of the cases failed", name, told)
		}
	}
}

func TestHandshakes(t *testing.T) {
	tests := []struct {
		name     string
		provider string
		method   string
		body     string
		want     bool
	}{
		{"ping", woo, http.MethodPost, "webhook_id=12", true},
		{"ping that followed a redirect", woo, http.MethodGet, "webhook_id=12", true},
		{"ping by a method that nobody sends", woo, http.MethodPut, "webhook_id=12", false},
		{"no number", woo, http.MethodPost, "webhook_id=", false},
		{"no digits", woo, http.MethodPost, "webhook_id=1a", false},
		{"a line end after it", woo, http.MethodPost, "webhook_id=12\n", false},
		{"something before it", woo, http.MethodPost, "x&webhook_id=12", false},
		{"something after it", woo, http.MethodPost, "webhook_id=12&x=1", false},
		{"digits of another script", woo, http.MethodPost, "webhook_id=١٢", false},
		{"a product", woo, http.MethodPost, wooBody, false},
		{"nothing", woo, http.MethodPost, "", false},
		{"a sender without a ping", standard, http.MethodPost, "webhook_id=12", false},
		{"a sender without a ping", openAI, http.MethodGet, "", false},
	}
	for _, tt := range tests {
		pong, ok := row(t, tt.provider).Handshake(webhook.Request{Method: tt.method, Body: []byte(tt.body)})
		if ok != tt.want || ok && (pong.Status != "pong" || pong.Body != nil) {
			t.Errorf("%s, %s: %v, %+v", tt.provider, tt.name, ok, pong)
		}
	}
	for name, want := range map[string]string{woo: "POST GET", standard: "POST", openAI: "POST"} {
		if got := strings.Join(row(t, name).Methods(), " "); got != want {
			t.Errorf("methods of %s: %s", name, got)
		}
	}
	if _, ok := webhook.Lookup("nobody"); ok {
		t.Error("there is a row for nobody")
	}
}
