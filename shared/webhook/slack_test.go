package webhook_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	library "github.com/slack-go/slack"

	"engang/shared/document"
	"engang/shared/webhook"
)

const slackBody = `{"token":"t","team_id":"T0EX","api_app_id":"A0EX","event":{"type":"message","channel":"C0EX","user":"U0EX","text":"hi","ts":"1795953599.000100","event_ts":"1795953599.000100"},"type":"event_callback","event_id":"Ev0EX","event_time":1795953599}`

var slackSample = add(sample{
	provider: "slack", secret: "5f742231b10e8888abcd99eff1285a5c", older: "00112233445566778899aabbccddeeff", body: slackBody,
	signature: "X-Slack-Signature", covered: []string{"X-Slack-Request-Timestamp"}, window: 300 * time.Second,
	sum: func(req webhook.Request, key string) string {
		return "v0=" + hexMAC(sha256.New, key, "v0:"+req.Header.Get("X-Slack-Request-Timestamp")+":"+string(req.Body))
	},
	unfit: map[string]string{
		"token of a bot":     "xoxb-0123456789-0123456789-abcdefghijkl",
		"token of an app":    "xapp-1-A0123456789-0123456789-abcdefghijkl",
		"fewer than 32":      "5f742231b10e8888abcd",
		"everybody knows it": "8f742231b10e8888abcd99yyyzzz85a5",
	},
})

func slackForm(pairs ...string) string {
	values := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		values.Set(pairs[i], pairs[i+1])
	}
	return values.Encode()
}

func TestSlackFacts(t *testing.T) {
	event := func(inner string) string {
		return `{"team_id":"T0EX","type":"event_callback","event_id":"Ev1","event":` + inner + `}`
	}
	command := slackForm("command", "/stock", "channel_id", "C1", "user_id", "U1", "team_id", "T0EX", "trigger_id", "1.2.a", "text", "")
	click := `{"type":"block_actions","team":{"id":"T0EX"},"user":{"id":"U1"},"channel":{"id":"C1"},"container":{"message_ts":"1795953599.000200","channel_id":"C1"},"trigger_id":"1.2.b","actions":[{"action_ts":"1795953600.5"}]}`
	canonical := func(text string) string {
		b, err := document.Canonical(decoded(t, []byte(text)))
		if err != nil {
			t.Fatal(err)
		}
		return document.Digest(b)
	}
	for _, tt := range []struct {
		name, body string
		want       webhook.Fact
	}{
		{"a message", slackBody, webhook.Fact{Type: "message", Key: "Ev0EX", SenderID: "Ev0EX", Kind: "message", ObjectID: "C0EX/1795953599.000100", Version: "2026-11-29T11:59:59.0001Z"}},
		{"a change is about the message that was changed", event(`{"type":"message","subtype":"message_changed","channel":"C1","ts":"1795953600.1","event_ts":"1795953600.1","message":{"ts":"1795953599.000100"}}`),
			webhook.Fact{Type: "message", Key: "Ev1", SenderID: "Ev1", Kind: "message", ObjectID: "C1/1795953599.000100", Version: "2026-11-29T12:00:00.1Z"}},
		{"so is a deletion", event(`{"type":"message","subtype":"message_deleted","channel":"C1","ts":"1795953600.2","deleted_ts":"1795953599.000100","event_ts":"1795953600.2"}`),
			webhook.Fact{Type: "message", Key: "Ev1", SenderID: "Ev1", Kind: "message", ObjectID: "C1/1795953599.000100", Version: "2026-11-29T12:00:00.2Z"}},
		{"and a reaction", event(`{"type":"reaction_added","user":"U1","item":{"type":"message","channel":"C1","ts":"1795953599.000100"},"event_ts":"1795953600.3"}`),
			webhook.Fact{Type: "reaction_added", Key: "Ev1", SenderID: "Ev1", Kind: "message", ObjectID: "C1/1795953599.000100", Version: "2026-11-29T12:00:00.3Z"}},
		{"a channel that is an object", event(`{"type":"channel_created","channel":{"id":"C1","name":"x"},"event_ts":"1795953600.3"}`),
			webhook.Fact{Type: "channel_created", Key: "Ev1", SenderID: "Ev1", Kind: "channel", ObjectID: "C1", Version: "2026-11-29T12:00:00.3Z"}},
		{"a user", event(`{"type":"team_join","user":{"id":"U1"},"event_ts":"1795953600.3"}`),
			webhook.Fact{Type: "team_join", Key: "Ev1", SenderID: "Ev1", Kind: "user", ObjectID: "U1", Version: "2026-11-29T12:00:00.3Z"}},
		{"a command", command, webhook.Fact{Type: "slash_command", Key: "slash_command#" + canonical(`{"channel_id":"C1","command":"/stock","team_id":"T0EX","text":"","trigger_id":"1.2.a","user_id":"U1"}`), Kind: "channel", ObjectID: "C1"}},
		{"a click on a message", slackForm("payload", click), webhook.Fact{Type: "block_actions", Key: "block_actions#" + document.Digest([]byte(click)), Kind: "message", ObjectID: "C1/1795953599.000200", Version: "2026-11-29T12:00:00.5Z"}},
		{"too many events", `{"type":"app_rate_limited","team_id":"T0EX","minute_rate_limited":1795953600}`, webhook.Fact{Type: "app_rate_limited", Key: "app_rate_limited#" + document.Digest([]byte(`{"type":"app_rate_limited","team_id":"T0EX","minute_rate_limited":1795953600}`)),
			Flaw: "neither the provider nor the endpoint's configuration says what object the event is about"}},
	} {
		req := posted(tt.body)
		req, err := row(t, "slack").Sign(req, held(slackSample.secret)[0], noon)
		if err != nil {
			t.Fatal(err)
		}
		if err := row(t, "slack").Verify(req, held(slackSample.secret), webhook.Expect{Source: "T0EX"}, noon); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if err := row(t, "slack").Verify(req, held(slackSample.secret), webhook.Expect{Source: "T0OTHER"}, noon); !errors.Is(err, webhook.ErrSource) {
			t.Errorf("%s, of another workspace: %v", tt.name, err)
		}
		got := identify(t, "slack", req, webhook.Rule{})
		tt.want.Digest = got.Digest
		if diff := cmp.Diff(tt.want, got); diff != "" || len(got.Digest) != 64 {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
	if diff := cmp.Diff(webhook.Reply{Status: 200, Empty: true}, row(t, "slack").Reply()); diff != "" {
		t.Error(diff)
	}
}

func TestSlackChallenges(t *testing.T) {
	s := row(t, "slack")
	for body, want := range map[string]string{
		payload(t, "slack-url_verification.json"):     "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P",
		`{"type":"event_callback","challenge":"abc"}`: "",
		`{"type":"url_verification","challenge":""}`:  "",
		`{"type":"url_verification","challenge":7}`:   "",
		`[]`: "",
	} {
		pong, ok := s.SignedHandshake(posted(body), decoded(t, []byte(body)))
		if string(pong.Body) != want || ok != (want != "") || ok && (pong.ContentType != "text/plain" || pong.Status != "pong") {
			t.Errorf("%.30s: %+v, %v", body, pong, ok)
		}
		if _, unsigned := s.Handshake(posted(body)); unsigned {
			t.Error("a challenge was answered before its signature was looked at")
		}
	}
	if got := identify(t, "slack", posted(payload(t, "slack-event_callback.json")), webhook.Rule{}); got.Type != "message" || got.ObjectID != "C0EXAMPLE1/1795975199.000100" {
		t.Errorf("%+v", got)
	}
}

// A retry may be told to another set of installations; what happened is the same.
func TestSlackDigestsOfARetry(t *testing.T) {
	body := payload(t, "slack-event_callback.json")
	digest := func(old, new string) string {
		if !strings.Contains(body, old) {
			t.Fatalf("no %s", old)
		}
		return identify(t, "slack", posted(strings.Replace(body, old, new, 1), "X-Slack-Retry-Num", "1"), webhook.Rule{}).Digest
	}
	first := digest("stock", "stock")
	if digest("U0EXAMPLE2", "U0EXAMPLE3") != first || digest("deprecated", "other") != first || digest("stock", "stack") == first {
		t.Error("digest of a retry")
	}
}

func TestSlackHeaders(t *testing.T) {
	s := row(t, "slack")
	req := signedWith(t, "slack", slackSample.secret, slackBody)
	good := req.Header.Get("X-Slack-Signature")
	resigned := func(stamp string) webhook.Request {
		return with(with(req, "X-Slack-Request-Timestamp", stamp), "X-Slack-Signature", "v0="+hexMAC(sha256.New, slackSample.secret, "v0:"+stamp+":"+slackBody))
	}
	for name, tt := range map[string]struct {
		req  webhook.Request
		want error
	}{
		"as it should be":    {req, nil},
		"without version":    {with(req, "X-Slack-Signature", good[3:]), webhook.ErrSignature},
		"another version":    {with(req, "X-Slack-Signature", "v1="+good[3:]), webhook.ErrSignature},
		"in upper case":      {with(req, "X-Slack-Signature", "v0="+strings.ToUpper(good[3:])), webhook.ErrSignature},
		"cut short":          {with(req, "X-Slack-Signature", good[:len(good)-2]), webhook.ErrSignature},
		"no time":            {with(req, "X-Slack-Request-Timestamp"), webhook.ErrSignature},
		"two times":          {with(req, "X-Slack-Request-Timestamp", "1795953600", "1795953600"), webhook.ErrSignature},
		"with a sign":        {resigned("+1795953600"), webhook.ErrSignature},
		"a fraction":         {resigned("1795953600.5"), webhook.ErrSignature},
		"milliseconds":       {resigned("1795953600000"), webhook.ErrTimestamp},
		"beyond all numbers": {resigned(strings.Repeat("9", 40)), webhook.ErrTimestamp},
		"a colon that moves": {with(with(req, "X-Slack-Request-Timestamp", "1795953600:"+slackBody[:1]), "X-Slack-Signature", good), webhook.ErrSignature},
	} {
		if err := s.Verify(tt.req, held(slackSample.secret), webhook.Expect{}, noon); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Content-Type is not signed: a body is what it is.
func TestSlackBodiesAreWhatTheyAre(t *testing.T) {
	s := row(t, "slack")
	for body, want := range map[string]string{
		`{"a":"&command=/x&type=y"}`:         `{"a":"&command=/x&type=y"}`,
		" \n[1]":                             " \n[1]",
		"command=%2Fx&a=1":                   `{"a":"1","command":"/x"}`,
		"payload=%7B%22type%22%3A%22a%22%7D": `{"type":"a"}`,
		"payload=%7B%7D&command=%2Fx":        `{"command":"/x","payload":"{}"}`, // no payload alone: fields
		"payload=nojson":                     "",
		"{":                                  "",
		"":                                   "",
		"nothing":                            "",
	} {
		for _, content := range []string{"application/json", "application/x-www-form-urlencoded"} {
			_, got, err := s.Document(posted(body, "Content-Type", content))
			if string(got) != want || (err == nil) != (want != "") || err != nil && !errors.Is(err, document.ErrMalformed) {
				t.Errorf("%q as %s: %s, %v", body, content, got, err)
			}
		}
	}
}

func slackLibrary(v http.Header, secret string, body []byte) error {
	sv, err := library.NewSecretsVerifier(v, secret)
	if err != nil {
		return err
	}
	if _, err := sv.Write(body); err != nil {
		return err
	}
	return sv.Ensure()
}

func TestTheSlackLibraryAgrees(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	s := row(t, "slack")
	for range 300 {
		body := make([]byte, random.IntN(300))
		for i := range body {
			body[i] = byte(random.Uint32())
		}
		secret, now := fmt.Sprintf("%032x", random.Uint64()), time.Now()
		ours, err := s.Sign(webhook.Request{Body: body}, held(secret)[0], now)
		if err != nil {
			t.Fatal(err)
		}
		if err := slackLibrary(ours.Header, secret, body); err != nil {
			t.Fatal(err)
		}
		if err := s.Verify(ours, held(secret), webhook.Expect{}, now); err != nil {
			t.Fatal(err)
		}
	}
}

// The library reads the time of day itself, so that old vectors are all too old for it: what it makes of
// them but for that is seen by signing them again now.
func TestVectorsAgainstTheSlackLibrary(t *testing.T) {
	const name = "slack-go v0.36.0"
	checked := 0
	for _, v := range readVectors(t, "testdata/vectors.json") {
		if v.Provider != "slack" || v.Expect == "stale" {
			continue
		}
		checked++
		now := time.Now()
		req, err := row(t, "slack").Sign(v.request(), held(v.Secret)[0], now)
		if err != nil {
			t.Fatal(err)
		}
		secret := v.Secret
		if v.Expect == "invalid" { // it was signed with another
			secret = strings.Replace(v.Secret, "boo", "bb8", 1)
		}
		accepted := slackLibrary(req.Header, secret, req.Body) == nil
		if agrees, excused := accepted == (v.Expect == "valid"), slices.Contains(v.LibraryDisagrees, name); agrees == excused {
			t.Errorf("%s: library accepted: %v, expected: %s", v.Name, accepted, v.Expect)
		}
	}
	if checked != 4 {
		t.Errorf("%d vectors were compared", checked)
	}
}
