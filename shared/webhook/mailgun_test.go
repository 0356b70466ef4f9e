package webhook_test

import (
	"crypto/sha256"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/document"
	"engang/shared/webhook"
)

const (
	mailgunToken = "a8ce0edb2dd8301dee6c2405235584e45aa91d1e9f979f3de0"
	mailgunEvent = `{"event":"delivered","id":"CPgfbmQMTCKtHW6uIWtuVe","timestamp":1795953598.779,"envelope":{"sender":"shop@mg.example.com"},"flags":{"is-test-mode":false},"message":{"headers":{"message-id":"1.EXAMPLE@mg.example.com"}}}`
)

// mailgunBody is a body with an event and a signature, of which nothing holds the two together.
func mailgunBody(event, stamp, token, sum string) string {
	return `{"event-data":` + event + `,"signature":{"signature":"` + sum + `","timestamp":"` + stamp + `","token":"` + token + `"}}`
}

var mailgunSample = add(sample{
	provider: "mailgun", secret: "0a1b2c3d4e5f60718293a4b5c6d7e8f9", older: "f9e8d7c6b5a493827160f5e4d3c2b1a0", body: mailgunBody(mailgunEvent, "", mailgunToken, ""),
	window: 300 * time.Second, within: [2]string{`"signature":{`, "}"},
	unfit: map[string]string{
		"public key":         "pubkey-5ogiflzbnjrljiky49qxsiozqef5jxp7",
		"everybody knows it": "key-3ax6xnjp29jd6fds4gc373sgvjxteol0",
		"fewer than 32":      "WEBHOOK_SIGNING_KEY",
	},
})

func TestMailgunSignsTimeAndToken(t *testing.T) {
	req, secret := signed(t, "mailgun", mailgunSample.body)
	want := mailgunBody(mailgunEvent, "1795953600", mailgunToken, hexMAC(sha256.New, secret, "1795953600"+mailgunToken))
	if diff := cmp.Diff(decoded(t, []byte(want)), decoded(t, req.Body)); diff != "" {
		t.Error(diff)
	}
	fresh := signedWith(t, "mailgun", secret, `{"event-data":`+mailgunEvent+`}`)
	again := signedWith(t, "mailgun", secret, `{"event-data":`+mailgunEvent+`}`)
	token := identify(t, "mailgun", fresh, webhook.Rule{}).Key
	if len(token) != 50 || string(again.Body) != string(fresh.Body) {
		t.Errorf("token %q, the same again: %v", token, string(again.Body) == string(fresh.Body))
	}
	if err := row(t, "mailgun").Verify(fresh, held(secret), webhook.Expect{}, noon); err != nil {
		t.Error(err)
	}
	for _, body := range []string{"", `[]`, "event=delivered&token=x"} {
		if err := row(t, "mailgun").Verify(signedWith(t, "mailgun", secret, body), held(secret), webhook.Expect{}, noon); !errors.Is(err, webhook.ErrSignature) {
			t.Errorf("%q: %v", body, err)
		}
	}
}

func TestMailgunFacts(t *testing.T) {
	got := identify(t, "mailgun", posted(mailgunBody(mailgunEvent, "1795953600", mailgunToken, strings.Repeat("0a", 32))), webhook.Rule{})
	want := webhook.Fact{Type: "delivered", Key: mailgunToken, SenderID: "CPgfbmQMTCKtHW6uIWtuVe", Kind: "message", ObjectID: "1.EXAMPLE@mg.example.com",
		Version: "2026-11-29T11:59:58.779Z", Environment: webhook.Production, Digest: document.Digest([]byte(`{"event-data":` + canonical(t, mailgunEvent) + `}`))}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	fact, err := row(t, "mailgun").Identify(posted("{}"), decoded(t, []byte(`{"event-data":{"event":"opened"},"signature":{"token":"t"}}`)), webhook.Rule{}, noon)
	if err != nil || fact.Flaw != "the body has no object id at /event-data/message/headers/message-id" || fact.Environment != "" {
		t.Errorf("%+v, %v", fact, err)
	}
	for _, body := range []string{`{"event-data":{"event":"opened"}}`, `{"event-data":{"event":"opened"},"signature":{"token":"a\u0000"}}`, `{"signature":{"token":"t"}}`, `[]`} {
		if _, err := row(t, "mailgun").Identify(posted(body), decoded(t, []byte(body)), webhook.Rule{}, noon); !errors.Is(err, webhook.ErrMalformed) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func canonical(t *testing.T, text string) string {
	t.Helper()
	b, err := document.Canonical(decoded(t, []byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Nothing of an event is signed. Who has one signature can write any event beside it, and gets a conflict
// with the delivery that came under it, which is no work.
func TestMailgunEventsThatAreForged(t *testing.T) {
	s := row(t, "mailgun")
	req, secret := signed(t, "mailgun", mailgunSample.body)
	first := identify(t, "mailgun", req, webhook.Rule{})
	for name, tt := range map[string]struct{ old, new string }{
		"another event": {`"delivered"`, `"complained"`}, "another id": {"CPgfbmQMTCKtHW6uIWtuVe", "other"}, "another object": {"1.EXAMPLE", "2.EXAMPLE"}, "more beside": {`{"event-data"`, `{"x":1,"event-data"`},
	} {
		forged := posted(strings.Replace(string(req.Body), tt.old, tt.new, 1))
		if err := s.Verify(forged, held(secret), webhook.Expect{}, noon); err != nil {
			t.Errorf("%s: %v, although nobody could tell", name, err)
		}
		if got := identify(t, "mailgun", forged, webhook.Rule{}); got.Key != first.Key || got.Digest == first.Digest {
			t.Errorf("%s: key %s, digest %s: no conflict with %+v", name, got.Key, got.Digest, first)
		}
	}
	retry, err := s.Sign(posted(string(req.Body)), held(secret)[0], noon.Add(time.Hour)) // the same token under another time
	if err != nil {
		t.Fatal(err)
	}
	if got := identify(t, "mailgun", retry, webhook.Rule{}); got.Key != first.Key || got.Digest != first.Digest {
		t.Errorf("signed again: %+v", got)
	}
}

func TestMailgunSignaturesThatCannotBeRead(t *testing.T) {
	s := row(t, "mailgun")
	secret := mailgunSample.secret
	sum := func(key, stamp, token string) string { return hexMAC(sha256.New, key, stamp+token) }
	body := func(stamp, token string) string {
		return mailgunBody(mailgunEvent, stamp, token, sum(secret, stamp, token))
	}
	good := body("1795953600", mailgunToken)
	beside := func(own, parent string) string {
		return strings.Replace(mailgunBody(mailgunEvent, "1795953600", mailgunToken, own), `"timestamp":"`, `"parent-signature":"`+parent+`","timestamp":"`, 1)
	}
	right, wrong := sum(secret, "1795953600", mailgunToken), strings.Repeat("0a", 32)
	digitFirst := "7" + mailgunToken[1:]
	for name, tt := range map[string]struct {
		body string
		want error
	}{
		"as it should be":                          {good, nil},
		"time as a number":                         {strings.Replace(good, `"1795953600"`, `1795953600`, 1), nil},
		"the account's own beside a subaccount's":  {beside(wrong, right), nil},
		"a subaccount's beside the account's":      {beside(right, wrong), nil},
		"neither":                                  {beside(wrong, wrong), webhook.ErrSignature},
		"a parent that is no text":                 {strings.Replace(beside(right, "x"), `"x"`, `7`, 1), nil},
		"in upper case":                            {strings.Replace(good, right, strings.ToUpper(right), 1), webhook.ErrSignature},
		"no signature":                             {`{"event-data":` + mailgunEvent + `}`, webhook.ErrSignature},
		"another token":                            {strings.Replace(good, mailgunToken, "b"+mailgunToken[1:], 1), webhook.ErrSignature},
		"no token":                                 {body("1795953600", ""), webhook.ErrSignature},
		"a token with white space":                 {body("1795953600", " a"), webhook.ErrSignature},
		"time with a fraction":                     {body("1795953600.5", mailgunToken), webhook.ErrSignature},
		"time with an exponent":                    {strings.Replace(good, `"1795953600"`, `1.7959536e9`, 1), webhook.ErrSignature},
		"a digit that moved from token to time":    {mailgunBody(mailgunEvent, "17959536007", digitFirst[1:], sum(secret, "1795953600", digitFirst)), webhook.ErrTimestamp},
		"a digit that moved from time to token":    {mailgunBody(mailgunEvent, "179595360", "0"+digitFirst, sum(secret, "1795953600", digitFirst)), webhook.ErrTimestamp},
		"the signature where only a second reads":  {`{"signature":{},` + good[1:], nil}, // one reader: the last one counts, here and for the event
		"a form of former times":                   {"timestamp=1795953600&token=" + mailgunToken + "&signature=" + right + "&event=delivered", webhook.ErrSignature},
		"a form with parts":                        {"--x\r\nContent-Disposition: form-data; name=\"token\"\r\n\r\n" + mailgunToken + "\r\n--x--\r\n", webhook.ErrSignature},
		"nothing":                                  {"", webhook.ErrSignature},
		"an array":                                 {"[" + good + "]", webhook.ErrSignature},
		"a signature that is an array of that one": {strings.Replace(strings.Replace(good, `"signature":{`, `"signature":[{`, 1), `"}}`, `"}]}`, 1), webhook.ErrSignature},
	} {
		err := s.Verify(posted(tt.body), held(secret), webhook.Expect{}, noon)
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && (strings.Contains(err.Error(), mailgunToken) || strings.Contains(err.Error(), right)) {
			t.Errorf("%s: the error repeats the body: %v", name, err)
		}
	}
	if err := s.Verify(posted(good), held("", "changeme"), webhook.Expect{}, noon); !errors.Is(err, webhook.ErrSecret) {
		t.Errorf("no usable secret: %v", err)
	}
	if err := s.Verify(posted(mailgunBody(mailgunEvent, "1795953600", mailgunToken, sum("", "1795953600", mailgunToken))), held("", secret), webhook.Expect{}, noon); !errors.Is(err, webhook.ErrSignature) {
		t.Errorf("forged with an empty key beside a good one: %v", err)
	}
}

func TestMailgunNamesTheDomain(t *testing.T) {
	s := row(t, "mailgun")
	named := strings.Replace(mailgunEvent, `"event":`, `"domain":{"name":"mail.example.com"},"event":`, 1)
	for name, tt := range map[string]struct {
		event, want string
		ok          bool
	}{
		"the sender's": {mailgunEvent, "mg.example.com", true}, "another": {mailgunEvent, "mg.example.org", false},
		"said by name": {named, "mail.example.com", true}, "which goes before the sender": {named, "mg.example.com", false}, "none": {`{"event":"opened"}`, "mg.example.com", false},
	} {
		req := signedWith(t, "mailgun", mailgunSample.secret, `{"event-data":`+tt.event+`}`)
		err := s.Verify(req, held(mailgunSample.secret), webhook.Expect{Source: tt.want}, noon)
		if (err == nil) != tt.ok || err != nil && !errors.Is(err, webhook.ErrSource) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
