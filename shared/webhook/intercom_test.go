package webhook_test

import (
	"crypto/sha1"
	"crypto/sha256"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"engang/shared/webhook"
)

const intercomBody = `{"type":"notification_event","topic":"company.created","id":"notif_ccd8","app_id":"a86dr8yl","created_at":1795953598,"delivery_status":"pending","delivery_attempts":1,"delivered_at":0,"first_sent_at":1795953599,"data":{"type":"notification_event_data","item":{"type":"company","id":"531ee4","updated_at":1795953597}}}`

var _ = add(sample{
	provider: "intercom", secret: "3f2b1c9e-8a7d-4c6b-9e5f-1a2b3c4d5e6f", older: "0f1e2d3c-4b5a-4968-8776-655443322110", body: intercomBody,
	signature: "X-Hub-Signature",
	sum: func(req webhook.Request, key string) string {
		return "sha1=" + hexMAC(sha1.New, key, string(req.Body))
	},
	unfit: map[string]string{
		"access token":  "dG9rOmE0ODZlZjQ3X2E5YjNfNGM1ZF85ZThmXzAxMjM0NTY3ODlhYg==",
		"fewer than 32": "intercom-client-secret-example",
	},
})

func TestIntercomFacts(t *testing.T) {
	want := webhook.Fact{Type: "company.created", Key: "notif_ccd8", SenderID: "notif_ccd8", Kind: "company", ObjectID: "531ee4", Version: "2026-11-29T11:59:57Z"}
	for name, tt := range map[string]struct {
		old, new string
		change   func(*webhook.Fact)
	}{
		"a company":                   {"", "", func(*webhook.Fact) {}},
		"an object that says no time": {`"updated_at"`, `"at"`, func(f *webhook.Fact) { f.Version = "2026-11-29T11:59:58Z" }},
		"an id that is a number":      {`"531ee4"`, `531`, func(f *webhook.Fact) { f.ObjectID = "531" }},
		"an id that is no whole number": {`"531ee4"`, `5.31`, func(f *webhook.Fact) {
			f.Kind, f.ObjectID, f.Flaw = "", "", "the body has no object id where this kind of event has it"
		}},
		"an object that is not what it was": {`"item":{"type"`, `"item":{"kind"`, func(f *webhook.Fact) {
			f.Kind, f.ObjectID, f.Flaw = "", "", "neither the provider nor the endpoint's configuration says what object the event is about"
		}},
	} {
		if !strings.Contains(intercomBody, tt.old) {
			t.Fatalf("no %s", tt.old)
		}
		want := want
		tt.change(&want)
		got := identify(t, "intercom", posted(strings.Replace(intercomBody, tt.old, tt.new, 1)), webhook.Rule{})
		want.Digest = got.Digest
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	s := row(t, "intercom")
	if _, err := s.Identify(posted(`{}`), map[string]any{}, webhook.Rule{}, noon); !errors.Is(err, webhook.ErrMalformed) {
		t.Errorf("without a topic: %v", err)
	}
}

// A retry counts itself inside of the body: other bytes, another signature, the same event.
func TestIntercomRetries(t *testing.T) {
	retried := strings.NewReplacer(`"delivery_attempts":1`, `"delivery_attempts":2`, `"first_sent_at":1795953599`, `"first_sent_at":1795953660`, `"delivered_at":0`, `"delivered_at":1795953661`, `"pending"`, `"retry"`)
	for name, body := range map[string]string{"with an id": intercomBody, "without": strings.Replace(intercomBody, `"notif_ccd8"`, `null`, 1)} {
		first := identify(t, "intercom", posted(body), webhook.Rule{})
		again := identify(t, "intercom", posted(retried.Replace(body)), webhook.Rule{})
		if retried.Replace(body) == body || first != again {
			t.Errorf("%s: %+v, then %+v", name, first, again)
		}
		if other := identify(t, "intercom", posted(strings.Replace(body, "531ee4", "531ee5", 1)), webhook.Rule{}); other.Digest == first.Digest {
			t.Errorf("%s: another company has the same digest", name)
		}
	}
	var facts []webhook.Fact
	for _, v := range readVectors(t, "testdata/vectors.json") {
		if v.Provider == "intercom" && v.Expect == "valid" {
			fact, err := v.fact(t)
			if err != nil {
				t.Fatal(err)
			}
			facts = append(facts, fact)
		}
	}
	if len(facts) != 2 || facts[0] != facts[1] {
		t.Errorf("the retry among the vectors is another event: %+v", facts)
	}
}

func TestIntercomHandshakes(t *testing.T) {
	s := row(t, "intercom")
	if got := strings.Join(s.Methods(), " "); got != "POST HEAD" {
		t.Errorf("methods %s", got)
	}
	for method, want := range map[string]bool{http.MethodHead: true, http.MethodPost: false, http.MethodGet: false, "": false} {
		pong, ok := s.Handshake(webhook.Request{Method: method, Body: []byte(intercomBody)})
		if ok != want || ok && (pong.Status != "pong" || pong.Body != nil) {
			t.Errorf("%s: %v, %+v", method, ok, pong)
		}
	}
	for body, want := range map[string]bool{
		`{"type":"notification_event","topic":"ping","id":null,"data":{"item":{"type":"ping","message":"something"}}}`: true, intercomBody: false, `[]`: false,
	} {
		if _, ok := s.SignedHandshake(posted(body), decoded(t, []byte(body))); ok != want {
			t.Errorf("%.60s: %v", body, ok)
		}
	}
}

// The header is the one of WebSub, and of GitHub in former times.
func TestIntercomHeaders(t *testing.T) {
	s := row(t, "intercom")
	req, secret := signed(t, "intercom", intercomBody)
	good := req.Header.Get("X-Hub-Signature")
	for name, text := range map[string]string{
		"no prefix": good[5:], "a longer sum": "sha256=" + hexMAC(sha256.New, secret, intercomBody), "its sum under our prefix": "sha1=" + hexMAC(sha256.New, secret, intercomBody),
		"in upper case": "sha1=" + strings.ToUpper(good[5:]), "another prefix": "SHA1=" + good[5:], "cut short": good[:len(good)-2],
	} {
		if err := s.Verify(with(req, "X-Hub-Signature", text), held(secret), webhook.Expect{}, noon); !errors.Is(err, webhook.ErrSignature) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.Verify(req, held(secret), webhook.Expect{Source: "a86dr8yl"}, noon); err != nil {
		t.Error(err)
	}
	if err := s.Verify(req, held(secret), webhook.Expect{Source: "another"}, noon); !errors.Is(err, webhook.ErrSource) {
		t.Errorf("of another workspace: %v", err)
	}
}
