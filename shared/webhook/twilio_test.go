package webhook_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	library "github.com/twilio/twilio-go/client"

	"engang/shared/document"
	"engang/shared/webhook"
)

const (
	twilioURL     = "https://hooks.example.com/hooks/twilio"
	twilioAccount = "AC00000000000000000000000000000001"
	twilioMessage = "SM00000000000000000000000000000001"
	twilioBody    = "AccountSid=" + twilioAccount + "&MessageSid=" + twilioMessage + "&MessageStatus=delivered&To=15005550001"
	twilioSum     = "X-Twilio-Signature"
)

// twilioMAC is the sum that Twilio would write, computed here without the code under test.
func twilioMAC(key, text string) string {
	h := hmac.New(sha1.New, []byte(key))
	h.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}

var twilioSample = add(sample{
	provider: "twilio", secret: "5f742231b10e8888abcd99eff1285a5c", older: "00112233445566778899aabbccddeeff", body: twilioBody, url: twilioURL,
	signature: twilioSum,
	sum: func(req webhook.Request, key string) string { // the fields of the sample are sorted already
		return twilioMAC(key, req.URL+strings.NewReplacer("=", "", "&", "").Replace(string(req.Body)))
	},
	unfit: map[string]string{
		"SID of an account": twilioAccount,
		"SID of an API key": "SK00000000000000000000000000000001",
		"fewer than 32":     "12345678901234567890",
	},
})

// twilioSigned is a delivery to an address that is signed over another, with this behind it.
func twilioSigned(address, body, signed string) webhook.Request {
	req := posted(body, twilioSum, twilioMAC(twilioSample.secret, signed))
	req.URL = address
	return req
}

func TestTwilioSignsFieldsAndAddress(t *testing.T) {
	s := row(t, "twilio")
	const host = "https://hooks.example.com"
	for name, tt := range map[string]struct {
		req  webhook.Request
		want error
	}{
		"sorted by name": {twilioSigned(twilioURL, "b=2&a=1&aa=0", twilioURL+"a1aa0b2"), nil},
		"a name that begins another, by its name":   {twilioSigned(twilioURL, "ab=1&a=c", twilioURL+"acab1"), nil},
		"and not by name and value":                 {twilioSigned(twilioURL, "ab=1&a=c", twilioURL+"ab1ac"), webhook.ErrSignature},
		"escapes are undone":                        {twilioSigned(twilioURL, "From=%2B1&Body=a+b%26c%3Dd", twilioURL+"Bodya b&c=dFrom+1"), nil},
		"in another script":                         {twilioSigned(twilioURL, "Body=%C3%A5", twilioURL+"Bodyå"), nil},
		"every value of a repeated name":            {twilioSigned(twilioURL, "a=2&b=0&a=1", twilioURL+"a1a2b0"), nil},
		"and not its first alone":                   {twilioSigned(twilioURL, "a=2&b=0&a=1", twilioURL+"a2b0"), webhook.ErrSignature},
		"each of them once":                         {twilioSigned(twilioURL, "a=1&a=1", twilioURL+"a1"), nil},
		"nothing behind the sign":                   {twilioSigned(twilioURL, "a=&b=1", twilioURL+"ab1"), nil},
		"with the default port":                     {twilioSigned(twilioURL, "a=1", host+":443/hooks/twilioa1"), nil},
		"without the default port":                  {twilioSigned(host+":443/hooks/twilio", "a=1", twilioURL+"a1"), nil},
		"with a port of its own":                    {twilioSigned(host+":8443/hooks/twilio", "a=1", host+":8443/hooks/twilioa1"), nil},
		"without it":                                {twilioSigned(host+":8443/hooks/twilio", "a=1", twilioURL+"a1"), nil},
		"with the default in its place":             {twilioSigned(host+":8443/hooks/twilio", "a=1", host+":443/hooks/twilioa1"), webhook.ErrSignature},
		"with another port":                         {twilioSigned(twilioURL, "a=1", host+":80/hooks/twilioa1"), webhook.ErrSignature},
		"without encryption":                        {twilioSigned("http://hooks.example.com/x?a", "a=1", "http://hooks.example.com:80/x?aa1"), nil},
		"user and password":                         {twilioSigned("https://me:123@hooks.example.com/x", "a=1", "https://me:123@hooks.example.com:443/xa1"), nil},
		"no path":                                   {twilioSigned(host, "a=1", host+":443a1"), nil},
		"a query right behind the host":             {twilioSigned(host+"?x=:1", "a=1", host+":443?x=:1a1"), nil},
		"what follows # stays with the sender":      {twilioSigned(twilioURL+"#rc=2&rp=all", "a=1", twilioURL+"a1"), nil},
		"another address":                           {twilioSigned(twilioURL+"/", "a=1", twilioURL+"a1"), webhook.ErrSignature},
		"no address":                                {twilioSigned("", "a=1", twilioURL+"a1"), webhook.ErrSignature},
		"another field":                             {twilioSigned(twilioURL, "a=1&b=2", twilioURL+"a1"), webhook.ErrSignature},
		"no body":                                   {twilioSigned(twilioURL, "", twilioURL), webhook.ErrSignature},
		"no form":                                   {twilioSigned(twilioURL, "a;b=1", twilioURL+"a;b1"), webhook.ErrSignature},
		"fields that are read as JSON":              {twilioSigned(twilioURL, `{"a":"b=c"}`, twilioURL+`{"a":"bc"}`), webhook.ErrSignature},
		"fields that are read as JSON behind space": {twilioSigned(twilioURL, ` {"a":"b=c"}`, twilioURL+` {"a":"bc"}`), webhook.ErrSignature},
	} {
		if err := s.Verify(tt.req, held(twilioSample.secret), webhook.Expect{}, noon); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !s.SignsURL() {
		t.Error("nobody would give it the address")
	}
}

func TestTwilioBodiesThatAreNoForm(t *testing.T) {
	s := row(t, "twilio")
	body := payload(t, "twilio-message-status.json")
	hash := "bodySHA256=" + document.Digest([]byte(body))
	of := func(query, body string) webhook.Request {
		return twilioSigned(twilioURL+query, body, twilioURL+query)
	}
	for name, tt := range map[string]struct {
		req  webhook.Request
		want error
	}{
		"its hash in the address":             {of("?"+hash, body), nil},
		"behind other fields":                 {of("?a=1&"+hash, body), nil},
		"with a port":                         {twilioSigned(twilioURL+"?"+hash, body, "https://hooks.example.com:443/hooks/twilio?"+hash), nil},
		"another body":                        {of("?"+hash, body+" "), webhook.ErrSignature},
		"no body":                             {of("?"+hash, ""), webhook.ErrSignature},
		"the hash is not signed":              {twilioSigned(twilioURL+"?"+hash, body, twilioURL), webhook.ErrSignature},
		"no hash":                             {of("", body), webhook.ErrSignature},
		"an empty hash":                       {of("?bodySHA256=", body), webhook.ErrSignature},
		"a hash in upper case":                {of("?bodySHA256="+strings.ToUpper(hash[11:]), body), webhook.ErrSignature},
		"a hash that is cut short":            {of("?"+hash[:len(hash)-2], body), webhook.ErrSignature},
		"a hash before something else":        {of("?"+hash+"&a=1", body), webhook.ErrSignature},
		"two hashes":                          {of("?"+hash+"&"+hash, body), webhook.ErrSignature},
		"a hash behind #":                     {twilioSigned(twilioURL+"#"+hash, body, twilioURL), webhook.ErrSignature},
		"a form whose hash is in the address": {of("?bodySHA256="+document.Digest([]byte(twilioBody)), twilioBody), nil},
		"a form whose fields are signed too":  {twilioSigned(twilioURL+"?"+hash, "a=1", twilioURL+"?"+hash+"a1"), webhook.ErrSignature},
	} {
		if err := s.Verify(tt.req, held(twilioSample.secret), webhook.Expect{}, noon); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for address, want := range map[string]string{twilioURL: twilioURL + "?" + hash, twilioURL + "?a=1": twilioURL + "?a=1&" + hash, twilioURL + "?" + hash: twilioURL + "?" + hash, twilioURL + "#rc=2": twilioURL + "?" + hash} {
		req, err := s.Sign(webhook.Request{URL: address, Body: []byte(body)}, held(twilioSample.secret)[0], noon)
		if err != nil || req.URL != want || req.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %s, %v, %v", address, req.URL, req.Header, err)
		}
		if err := s.Verify(req, held(twilioSample.secret), webhook.Expect{Source: twilioAccount}, noon); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	form := signedWith(t, "twilio", twilioSample.secret, twilioBody)
	if form.Header.Get("Content-Type") != "application/x-www-form-urlencoded" || form.URL != twilioURL || form.Header.Get("I-Twilio-Idempotency-Token") == "" {
		t.Errorf("a form: %s, %v", form.URL, form.Header)
	}
	if diff := cmp.Diff(webhook.Reply{Status: 200, Body: []byte(`<?xml version="1.0" encoding="UTF-8"?><Response/>`), ContentType: "text/xml"}, s.Reply()); diff != "" {
		t.Error(diff)
	}
}

func TestTwilioFacts(t *testing.T) {
	id := func(prefix string) string { return prefix + strings.Repeat("0a", 16) }
	const none = "neither the provider nor the endpoint's configuration says what object the event is about"
	event := `{"specversion":"1.0","type":"com.twilio.messaging.message.delivered","source":"/2010-04-01/Accounts/` + twilioAccount + `/Messages/x","id":"EZ1","time":"2026-11-29T11:59:58.000Z","data":{"messageSid":"x"}}`
	for _, tt := range []struct{ name, body, typ, kind, object, version string }{
		{"a message that is sent", twilioBody, "message.delivered", "message", twilioMessage, "5"},
		{"one that was not yet", strings.Replace(twilioBody, "delivered", "sent", 1), "message.sent", "message", twilioMessage, "4"},
		{"one that came in", "SmsStatus=received&Body=hi&NumMedia=1&MessageSid=" + id("MM"), "message.received", "message", id("MM"), "4"},
		{"a name of former times", "SmsStatus=sending&SmsSid=" + id("SM"), "message.sending", "message", id("SM"), "3"},
		{"a status that is new", "MessageStatus=lost&MessageSid=" + id("SM"), "message.lost", "", "", ""},
		{"as JSON", payload(t, "twilio-message-status.json"), "message.delivered", "message", twilioMessage, "5"},
		{"a call", "CallStatus=in-progress&CallSid=" + id("CA"), "call.in-progress", "call", id("CA"), "4"},
		{"a call that says nothing", "Digits=1&CallSid=" + id("CA"), "call", "", "", ""},
		{"a recording of a call", "RecordingStatus=completed&CallStatus=completed&RecordingSid=" + id("RE") + "&CallSid=" + id("CA"), "recording.completed", "recording", id("RE"), "5"},
		{"its text", "TranscriptionStatus=failed&TranscriptionSid=" + id("TR") + "&RecordingSid=" + id("RE"), "transcription.failed", "transcription", id("TR"), "5"},
		{"a conference", "StatusCallbackEvent=participant-join&SequenceNumber=7&ConferenceSid=" + id("CF") + "&CallSid=" + id("CA"), "conference.participant-join", "conference", id("CF"), "7"},
		{"a conversation", "EventType=onMessageAdded&ConversationSid=" + id("CH") + "&MessageSid=" + id("IM"), "conversation.onMessageAdded", "conversation", id("CH"), ""},
		{"an event of Event Streams", event, "com.twilio.messaging.message.delivered", "", "", "2026-11-29T11:59:58.000Z"},
	} {
		req := posted(tt.body, "I-Twilio-Idempotency-Token", "token")
		got := identify(t, "twilio", req, webhook.Rule{})
		want := webhook.Fact{Type: tt.typ, Kind: tt.kind, ObjectID: tt.object, Version: tt.version, DeliveryID: "token", Key: got.Key, Digest: got.Digest}
		switch {
		case tt.kind == "" && tt.body == event:
			want.Flaw, want.Key, want.SenderID = none, "EZ1", "EZ1"
		case tt.kind == "": // ranked by a time beside numbers it would be the newest for ever
			want.Flaw = "the body has no version where this kind of event has it"
		}
		if diff := cmp.Diff(want, got); diff != "" || len(got.Digest) != 64 {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
	s := row(t, "twilio")
	for _, body := range []string{"property=value&boolean=true", "CallSid=CA1234567890ABCDE", "MessageSid=" + twilioMessage + "MessageStatusdelivered", "MessageSid=" + twilioMessage + "&MessageStatus=a%0Ab", "MessageSid=" + twilioMessage + "&MessageSid=" + id("SM"), `[]`, `{"type":"x","id":"EZ1"}`} {
		req := posted(body)
		if fact, err := s.Identify(req, read(t, s, req), webhook.Rule{}, noon); !errors.Is(err, webhook.ErrMalformed) {
			t.Errorf("%s: %+v, %v", body, fact, err)
		}
	}
}

func TestTwilioEventStreams(t *testing.T) {
	s := row(t, "twilio")
	event := func(id, account string) string {
		return `{"specversion":"1.0","type":"com.twilio.x","source":"/Accounts/` + account + `/x","id":"` + id + `","data":{}}`
	}
	other := "AC" + strings.Repeat("0b", 16)
	for body, want := range map[string]bool{
		"[" + event("EZ1", twilioAccount) + "," + event("EZ2", twilioAccount) + "]": true,
		"[" + event("EZ1", twilioAccount) + "," + event("EZ2", other) + "]":         false,
		"[" + event("EZ1", "") + "]": false,
	} {
		req := signedWith(t, "twilio", twilioSample.secret, body)
		err := s.Verify(req, held(twilioSample.secret), webhook.Expect{Source: twilioAccount}, noon)
		if (err == nil) != want || err != nil && !errors.Is(err, webhook.ErrSource) {
			t.Errorf("%s: %v", body, err)
		}
		batch, ok := s.Split(req, read(t, s, req))
		if !ok || identify(t, "twilio", batch.Parts[0], webhook.Rule{}).Key != "EZ1" {
			t.Errorf("%s: %v, %d parts", body, ok, len(batch.Parts))
		}
	}
}

// The encoding of a form is not signed, and so is no part of the event.
func TestTwilioFormsThatSayTheSame(t *testing.T) {
	s := row(t, "twilio")
	req, secret := signed(t, "twilio", twilioBody)
	first := identify(t, "twilio", req, webhook.Rule{})
	pairs := strings.Split(twilioBody, "&")
	slices.Reverse(pairs)
	for name, body := range map[string]string{
		"another order": strings.Join(pairs, "&"), "escapes": strings.Replace(twilioBody, "delivered", "%64elivered", 1), "a field twice": twilioBody + "&" + pairs[0],
	} {
		other := req
		other.Body = []byte(body)
		other = with(other, "I-Twilio-Idempotency-Token", "another")
		if err := s.Verify(other, held(secret), webhook.Expect{}, noon); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got := identify(t, "twilio", other, webhook.Rule{})
		if got.Key != first.Key || got.Digest != first.Digest {
			t.Errorf("%s: another event: %+v, %+v", name, first, got)
		}
	}
	if got := identify(t, "twilio", posted(strings.Replace(twilioBody, "delivered", "sent", 1)), webhook.Rule{}); got.Key == first.Key {
		t.Error("what happened then is the same event")
	}
}

// Names and values run together in what is signed: whoever has one delivery can cut it otherwise. What
// comes of it is a conflict with the first, or nothing.
func TestTwilioFormsThatAreCutOtherwise(t *testing.T) {
	s := row(t, "twilio")
	const address = twilioURL + "?a=1"
	original := webhook.Request{URL: address, Body: []byte("AccountSid=" + twilioAccount + "&Body=pay+nothing&MessageSid=" + twilioMessage + "&MessageStatus=delivered")}
	original, err := s.Sign(original, held(twilioSample.secret)[0], noon)
	if err != nil {
		t.Fatal(err)
	}
	first := identify(t, "twilio", original, webhook.Rule{})
	for name, cut := range map[string]struct {
		query, body string
		verified    bool
	}{
		"a name that takes its value in":       {"?a=1", "AccountSid=" + twilioAccount + "&Bodypay+=nothing&MessageSid=" + twilioMessage + "&MessageStatus=delivered", true},
		"a value that takes a field in":        {"?a=1", "AccountSid=" + twilioAccount + "Bodypay+nothing&MessageSid=" + twilioMessage + "&MessageStatus=delivered", true},
		"one field of all":                     {"?a=1", "AccountSid=" + twilioAccount + "Bodypay+nothingMessageSid" + twilioMessage + "MessageStatusdelivered", true},
		"a query that takes fields in":         {"?a=1AccountSid" + twilioAccount, "Body=pay+nothing&MessageSid=" + twilioMessage + "&MessageStatus=delivered", true},
		"a query that takes parts of names in": {"?a=1AccountSid" + twilioAccount + "B", "ody=pay+nothing&MessageSid=" + twilioMessage + "&MessageStatus=delivered", false},
	} {
		forged := original
		forged.URL, forged.Body = twilioURL+cut.query, []byte(cut.body)
		if err := s.Verify(forged, held(twilioSample.secret), webhook.Expect{}, noon); (err == nil) != cut.verified {
			t.Errorf("%s: %v", name, err)
		}
		fact, err := s.Identify(forged, read(t, s, forged), webhook.Rule{}, noon)
		switch {
		case errors.Is(err, webhook.ErrMalformed):
		case err != nil || cut.verified && (fact.Key != first.Key || fact.Digest == first.Digest):
			t.Errorf("%s: %+v, %v", name, fact, err)
		}
	}
}

func twilioLibrary(req webhook.Request, secret string) bool {
	v := library.NewRequestValidator(secret)
	return v.ValidateBody(req.URL, req.Body, req.Header.Get(twilioSum))
}

func TestTheTwilioLibraryAgrees(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	s := row(t, "twilio")
	letters := []rune("abcXYZ019 +&=%å/?#")
	text := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteRune(letters[random.IntN(len(letters))])
		}
		return b.String()
	}
	for range 300 {
		secret := fmt.Sprintf("%032x", random.Uint64())
		values := url.Values{}
		for range 1 + random.IntN(6) {
			values.Set("N"+text(random.IntN(4)), text(random.IntN(20)))
		}
		body := values.Encode()
		if random.IntN(3) == 0 {
			body = `{"a":"` + text(5) + `"}`
		}
		address := twilioURL + []string{"", "?x=1", "?x=%20&y="}[random.IntN(3)]
		ours, err := s.Sign(webhook.Request{URL: address, Body: []byte(body)}, held(secret)[0], noon)
		if err != nil {
			t.Fatal(err)
		}
		if !twilioLibrary(ours, secret) {
			t.Fatalf("the library refuses %s to %s", body, ours.URL)
		}
		if err := s.Verify(ours, held(secret), webhook.Expect{}, noon); err != nil {
			t.Fatal(err)
		}
	}
	checked := 0
	for _, v := range readVectors(t, "testdata/vectors.json") {
		if v.Provider != "twilio" {
			continue
		}
		checked++
		if accepted := twilioLibrary(v.request(), v.Secret); accepted != (v.Expect == "valid") {
			t.Errorf("%s: the library accepted: %v, expected: %s", v.Name, accepted, v.Expect)
		}
	}
	if checked != 5 {
		t.Errorf("%d vectors were compared", checked)
	}
}

// Where the library answers otherwise, it is on purpose, and here is why.
func TestWhereTheTwilioLibraryDisagrees(t *testing.T) {
	s := row(t, "twilio")
	body := `{"a":1}`
	hash := "bodySHA256=" + document.Digest([]byte(body))
	for _, tt := range []struct {
		name, why string
		req       webhook.Request
		ours      bool
	}{
		{"every value of a repeated field", "the library reads the first alone", twilioSigned(twilioURL, "a=1&a=2", twilioURL+"a1a2"), true},
		{"the first value alone", "the second would be anybody's", twilioSigned(twilioURL, "a=1&a=2", twilioURL+"a1"), false},
		{"JSON that is signed as a form", "it would be read as JSON", twilioSigned(twilioURL, `{"a":"b=c"}`, twilioURL+`{"a":"bc"}`), false},
		{"no body", "it says nothing", twilioSigned(twilioURL, "", twilioURL), false},
		{"a hash before other fields", "text that was cut into the query could hold one", twilioSigned(twilioURL+"?"+hash+"&a=1", body, twilioURL+"?"+hash+"&a=1"), false},
	} {
		ours := s.Verify(tt.req, held(twilioSample.secret), webhook.Expect{}, noon) == nil
		if theirs := twilioLibrary(tt.req, twilioSample.secret); ours != tt.ours || theirs == ours {
			t.Errorf("%s (%s): we accept %v, the library %v", tt.name, tt.why, ours, theirs)
		}
	}
}
