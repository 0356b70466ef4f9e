package webhook_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/document"
	"engang/shared/webhook"
)

const (
	gitLabBody    = `{"object_kind":"issue","event_type":"issue","project":{"id":15},"object_attributes":{"id":301,"iid":23,"updated_at":"2026-11-29 11:59:58 UTC","action":"open"}}`
	gitLabPush    = `{"object_kind":"push","event_name":"push","before":"95790bf8","after":"da156088","project_id":15,"project":{"id":15}}`
	gitLabSigning = "whsec_dGVzdHRlc3R0ZXN0dGVzdHRlc3R0ZXN0dGVzdHRlc3Q="
	gitLabToken   = "gl-token-0123456789"
)

var _ = add(sample{
	provider: "gitlab", secret: gitLabSigning, older: "whsec_c3ludGhldGljLXJvdGF0ZWQtc2VjcmV0LTAwMDE=", body: gitLabBody,
	signature: "Webhook-Signature", covered: []string{"Webhook-Timestamp", "Webhook-Id"}, window: 300 * time.Second, lists: true,
	sum: standardSum("Webhook-"), keyOf: decodedKey,
	badSecrets: map[string]string{
		"no base64 behind the prefix": "whsec_this is no base64!",
		"zeros behind the prefix":     "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
		"half of a key pair":          "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=",
		"the other half":              "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==",
	},
	unfit: map[string]string{
		"personal access token": "glpat-0123456789abcdefghij",
		"fewer than 16":         "hunter2",
		"fewer than 24 bytes":   "whsec_dHdlbnR5LXRocmVlIGJ5dGVzIGxvbmc=",
		"not of the form":       "whsec_this is no base64!",
	},
})

func TestGitLabFacts(t *testing.T) {
	for _, tt := range []struct {
		name string
		req  webhook.Request
		want webhook.Fact
	}{
		{"signed", posted(gitLabBody, "Webhook-Id", "f5e5", "Webhook-Timestamp", "1795953600", "Webhook-Signature", "v1,"+mac("a", "b"), "X-Gitlab-Event-UUID", "13792a34", "Idempotency-Key", "other"),
			webhook.Fact{Type: "issue.open", Key: "f5e5", SenderID: "f5e5", DeliveryID: "13792a34", Kind: "issue", ObjectID: "301", Version: "2026-11-29T11:59:58Z"}},
		{"beside a token", posted(gitLabBody, "X-Gitlab-Token", "x", "Idempotency-Key", "f5e5"),
			webhook.Fact{Type: "issue.open", Key: "f5e5", SenderID: "f5e5", Kind: "issue", ObjectID: "301", Version: "2026-11-29T11:59:58Z"}},
		{"of a server that has no key for retries", posted(gitLabBody, "X-Gitlab-Token", "x"),
			webhook.Fact{Type: "issue.open", Key: "issue.open#" + document.Digest([]byte(gitLabBody)), Kind: "issue", ObjectID: "301", Version: "2026-11-29T11:59:58Z"}},
		{"a push, whose commit is no version", posted(gitLabPush, "X-Gitlab-Token", "x", "Idempotency-Key", "k"),
			webhook.Fact{Type: "push", Key: "k", SenderID: "k", Kind: "project", ObjectID: "15"}},
		{"a job", posted(`{"object_kind":"build","build_id":1977,"project_id":380}`, "X-Gitlab-Token", "x", "Idempotency-Key", "k"),
			webhook.Fact{Type: "build", Key: "k", SenderID: "k", Kind: "job", ObjectID: "1977"}},
		{"a note in the newer way to write times", posted(`{"object_kind":"note","object_attributes":{"id":9,"action":"create","updated_at":"2026-11-29T11:59:58.123Z"}}`, "X-Gitlab-Token", "x", "Idempotency-Key", "k"),
			webhook.Fact{Type: "note.create", Key: "k", SenderID: "k", Kind: "note", ObjectID: "9", Version: "2026-11-29T11:59:58.123Z"}},
		{"a hook of the system", posted(`{"event_name":"project_create","project_id":74,"updated_at":"2026-11-29T11:59:58Z"}`, "X-Gitlab-Token", "x", "Idempotency-Key", "k"),
			webhook.Fact{Type: "project_create", Key: "k", SenderID: "k", Kind: "project", ObjectID: "74", Version: "2026-11-29T11:59:58Z"}},
		{"an object without an id", posted(`{"object_kind":"issue","object_attributes":{}}`, "X-Gitlab-Token", "x", "Idempotency-Key", "k"),
			webhook.Fact{Type: "issue", Key: "k", SenderID: "k", Flaw: "the body has no object id where this kind of event has it"}},
	} {
		got := identify(t, "gitlab", tt.req, webhook.Rule{})
		tt.want.Digest = got.Digest
		if diff := cmp.Diff(tt.want, got); diff != "" || len(got.Digest) != 64 {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
	req := posted(`{"custom":"template"}`, "X-Gitlab-Token", "x", "X-Gitlab-Event", "Push Hook")
	if _, err := row(t, "gitlab").Identify(req, decoded(t, req.Body), webhook.Rule{}, noon); !errors.Is(err, webhook.ErrMalformed) {
		t.Errorf("a template that says no type: %v", err)
	}
}

// What carries a signature has to pass it; what carries none is as good as its token.
func TestGitLabTokensAndSignatures(t *testing.T) {
	s := row(t, "gitlab")
	signed := signedWith(t, "gitlab", gitLabSigning, gitLabBody)
	byToken := signedWith(t, "gitlab", gitLabToken, gitLabBody)
	tampered := func(r webhook.Request) webhook.Request {
		r.Body = []byte(strings.Replace(gitLabBody, "301", "302", 1))
		return r
	}
	both := with(signed, "X-Gitlab-Token", gitLabToken)
	for _, tt := range []struct {
		name string
		req  webhook.Request
		held []string
		want error
	}{
		{"token", byToken, []string{gitLabToken}, nil},
		{"token beside another", byToken, []string{"another-token-0123", gitLabToken}, nil},
		{"another token", byToken, []string{"gl-token-0123456780"}, webhook.ErrSignature},
		{"a longer token", byToken, []string{gitLabToken + "0"}, webhook.ErrSignature},
		{"token, and a signing token is held", byToken, []string{gitLabSigning}, webhook.ErrSignature},
		{"the signing token sent as a token", with(byToken, "X-Gitlab-Token", gitLabSigning), []string{gitLabSigning}, webhook.ErrSignature},
		{"two tokens", with(byToken, "X-Gitlab-Token", gitLabToken, gitLabToken), []string{gitLabToken}, webhook.ErrSignature},
		{"no token", with(byToken, "X-Gitlab-Token"), []string{gitLabToken}, webhook.ErrSignature},
		{"blank token", with(byToken, "X-Gitlab-Token", " "), []string{gitLabToken}, webhook.ErrSignature},
		{"a token has no time to be stale", byToken, []string{gitLabToken}, nil},
		{"a token proves nothing about the body", tampered(byToken), []string{gitLabToken}, nil},
		{"signature", signed, []string{gitLabSigning}, nil},
		{"signature, and only a token is held", both, []string{gitLabToken}, webhook.ErrSignature},
		{"signature and token", both, []string{gitLabSigning, gitLabToken}, nil},
		{"wrong signature beside the right token", tampered(both), []string{gitLabSigning, gitLabToken}, webhook.ErrSignature},
		{"empty signature beside the right token", with(both, "Webhook-Signature", ""), []string{gitLabSigning, gitLabToken}, webhook.ErrSignature},
		{"signature without an id beside the right token", with(both, "Webhook-Id"), []string{gitLabSigning, gitLabToken}, webhook.ErrSignature},
	} {
		now := noon
		if strings.Contains(tt.name, "stale") {
			now = noon.AddDate(1, 0, 0)
		}
		if err := s.Verify(tt.req, held(tt.held...), webhook.Expect{}, now); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if byToken.Header.Get("Idempotency-Key") == "" || byToken.Header.Get("Webhook-Signature") != "" || signed.Header.Get("Idempotency-Key") != signed.Header.Get("Webhook-Id") {
		t.Errorf("signed otherwise than GitLab does: %v, %v", byToken.Header, signed.Header)
	}
	if err := s.CheckSecret(held(gitLabToken)[0]); err != nil {
		t.Error(err)
	}
	from := with(signed, "X-Gitlab-Instance", "https://gitlab.example.com")
	for source, ok := range map[string]bool{"https://gitlab.example.com/": true, "https://gitlab.example.org": false} {
		if err := s.Verify(from, held(gitLabSigning), webhook.Expect{Source: source}, noon); (err == nil) != ok {
			t.Errorf("from %s: %v", source, err)
		}
	}
}

func TestGitLabPayloads(t *testing.T) {
	got := identify(t, "gitlab", posted(payload(t, "gitlab-push.json"), "X-Gitlab-Token", "x"), webhook.Rule{})
	if got.Type != "push" || got.Kind != "project" || got.ObjectID != "15" || got.Flaw != "" {
		t.Errorf("%+v", got)
	}
}
