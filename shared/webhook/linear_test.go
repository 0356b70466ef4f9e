package webhook_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/document"
	"engang/shared/webhook"
)

const linearIssue = `{"action":"update","type":"Issue","createdAt":"2026-11-29T11:59:57.000Z","data":{"id":"2174add1","updatedAt":"2026-11-29T11:59:56.500Z"},"organizationId":"dc84","webhookTimestamp":1795953600000,"webhookId":"42e3"}`

var _ = add(sample{
	provider: "linear", secret: "lin_wh_4f5a6b7c8d9e0f1a2b3c4d5e6f708192", older: "lin_wh_00112233445566778899aabbccddeeff", body: linearIssue,
	signature: "Linear-Signature", window: time.Minute,
	sum: func(req webhook.Request, key string) string { return hexMAC(sha256.New, key, string(req.Body)) },
	unfit: map[string]string{
		"a key of the API":           "lin_api_0123456789abcdef0123456789abcdef",
		"an access token":            "lin_oauth_0123456789abcdef0123456789abcdef",
		"which begins with lin_wh_":  "lin_wh_short",
		"fewer than 16":              "lin_wh_",
		"as a signature does":        "v1,lin_wh_4f5a6b7c8d9e0f1a2b3c4d5e6f708192",
		"in quotation marks":         `"lin_wh_4f5a6b7c8d9e0f1a2b3c4d5e6f708192"`,
		"white space at an end":      "lin_wh_4f5a6b7c8d9e0f1a2b3c4d5e6f708192 ",
		"another control character ": "lin_wh_4f5a6b7c8d9e0f1a\x002b3c4d5e6f708192",
	},
})

func TestLinearFacts(t *testing.T) {
	fact := func(body string) string {
		return document.Digest([]byte(strings.NewReplacer(`,"webhookTimestamp":1795953600000`, "", `,"webhookId":"42e3"`, "").Replace(body)))
	}
	sorted := `{"action":"update","createdAt":"2026-11-29T11:59:57.000Z","data":{"id":"2174add1","updatedAt":"2026-11-29T11:59:56.500Z"},"organizationId":"dc84","type":"Issue"}`
	removed := `{"action":"remove","createdAt":"2026-11-29T11:59:58.000Z","data":{"id":"c1"},"type":"IssueLabel"}`
	plain := `{"type":"Ping","webhookTimestamp":1795953600000}`
	for _, tt := range []struct {
		name, body string
		want       webhook.Fact
	}{
		{"an issue", linearIssue, webhook.Fact{Type: "Issue.update", Key: "Issue.update#" + fact(sorted), Digest: fact(sorted), DeliveryID: "d1",
			Kind: "issue", ObjectID: "2174add1", Version: "2026-11-29T11:59:56.500Z"}},
		{"a deletion is as new as the event", strings.Replace(removed, "}", `},"webhookTimestamp":1795953600000,"x":{}`, 1), webhook.Fact{Type: "IssueLabel.remove",
			DeliveryID: "d1", Kind: "issue_label", ObjectID: "c1", Version: "2026-11-29T11:59:58.000Z"}},
		{"a body without a version: the received day is in the key", plain, webhook.Fact{Type: "Ping", Key: "Ping#" + document.Digest([]byte(`{"type":"Ping"}`)) + "#2026-11-29",
			DeliveryID: "d1", Flaw: "the body has no object id at /data/id"}},
	} {
		got := identify(t, "linear", posted(tt.body, "Linear-Delivery", "d1", "Linear-Event", "Project"), webhook.Rule{})
		if tt.want.Digest == "" {
			tt.want.Digest = got.Digest
		}
		if tt.want.Key == "" {
			tt.want.Key = got.Type + "#" + got.Digest
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

// Whether a retry has a new time, nobody says: it is the same event either way, by whichever webhook.
func TestLinearRetries(t *testing.T) {
	first := identify(t, "linear", posted(linearIssue), webhook.Rule{})
	for _, tt := range []struct {
		old, new string
		same     bool
	}{
		{"1795953600000", "1795953660000", true},
		{"42e3", "42e4", true},
		{"update", "create", false},
		{":56.500Z", ":56.501Z", false},
		{"dc84", "dc85", false},
	} {
		again := identify(t, "linear", posted(strings.Replace(linearIssue, tt.old, tt.new, 1)), webhook.Rule{})
		if (again.Key == first.Key) != tt.same || (again.Digest == first.Digest) != tt.same {
			t.Errorf("%s instead of %s: the same event %v", tt.new, tt.old, again.Key == first.Key)
		}
	}
}

// The time is signed in the body; the header that repeats it is not.
func TestLinearTimes(t *testing.T) {
	s, secret := row(t, "linear"), samples["linear"].secret
	for stamp, want := range map[string]error{
		`1795953600000`: nil, `"1795953600000"`: nil, `1795953660000`: nil, `1795953660001`: webhook.ErrTimestamp, `1795953539999`: webhook.ErrTimestamp,
		`1795953600`: webhook.ErrTimestamp, `99999999999999999999999`: webhook.ErrTimestamp,
		`1795953600000.0`: webhook.ErrSignature, `1.7959536e12`: webhook.ErrSignature, `-1795953600000`: webhook.ErrSignature, `null`: webhook.ErrSignature, `[]`: webhook.ErrSignature, `"2026-11-29T12:00:00Z"`: webhook.ErrSignature,
	} {
		body := strings.Replace(linearIssue, "1795953600000", stamp, 1)
		req := posted(body, "Linear-Signature", hexMAC(sha256.New, secret, body), "Linear-Timestamp", "1795953600000")
		if err := s.Verify(req, held(secret), webhook.Expect{}, noon); !errors.Is(err, want) {
			t.Errorf("%s: %v", stamp, err)
		}
	}
	for _, body := range []string{`{"type":"Issue"}`, `[]`, `null`, `not JSON`, ``} {
		req := posted(body, "Linear-Signature", hexMAC(sha256.New, secret, body), "Linear-Timestamp", fmt.Sprint(noon.UnixMilli()))
		if err := s.Verify(req, held(secret), webhook.Expect{}, noon); !errors.Is(err, webhook.ErrSignature) {
			t.Errorf("%s with a time in the header alone: %v", body, err)
		}
	}
	for source, ok := range map[string]bool{"dc84": true, "dc85": false} {
		if err := s.Verify(signedWith(t, "linear", secret, linearIssue), held(secret), webhook.Expect{Source: source}, noon); (err == nil) != ok {
			t.Errorf("organization %s: %v", source, err)
		}
	}
}

// A sample of last year is signed as one of now; what cannot hold a time is signed as it is.
func TestLinearSamplesAreOfNow(t *testing.T) {
	s, secret := row(t, "linear"), held(samples["linear"].secret)
	now := noon.Add(400 * 24 * time.Hour)
	given := []byte(linearIssue)
	req, err := s.Sign(webhook.Request{Body: given}, secret[0], now)
	if err != nil || string(given) != linearIssue {
		t.Fatalf("%v, the given body is %s", err, given)
	}
	if err := s.Verify(req, secret, webhook.Expect{}, now); err != nil || req.Header.Get("Linear-Delivery") == "" {
		t.Errorf("%v, %v", err, req.Header)
	}
	if req, err := s.Sign(webhook.Request{Body: []byte("[1]")}, secret[0], now); err != nil || string(req.Body) != "[1]" {
		t.Errorf("%s, %v", req.Body, err)
	}
}

func TestLinearPayload(t *testing.T) {
	got := identify(t, "linear", posted(payload(t, "linear-Issue.update.json")), webhook.Rule{})
	if got.Type != "Issue.update" || got.Kind != "issue" || got.ObjectID != "2174add1-0000-4000-8000-000000000001" || got.Flaw != "" {
		t.Errorf("%+v", got)
	}
}
