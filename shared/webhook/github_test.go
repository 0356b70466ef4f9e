package webhook_test

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	library "github.com/google/go-github/v89/github"

	"engang/shared/document"
	"engang/shared/webhook"
)

const gitIssue = `{"action":"opened","issue":{"id":3000000001,"number":42,"updated_at":"2026-11-29T11:59:58Z"},"repository":{"id":700000001,"full_name":"example-org/importer"},"organization":{"login":"example-org","id":800000001}}`

// hubSum is the header of GitHub and those that follow it.
func hubSum(req webhook.Request, key string) string {
	return "sha256=" + hexMAC(sha256.New, key, string(req.Body))
}

var gitUnfit = map[string]string{
	"personal access token": "ghp_0123456789abcdef0123456789abcdef0123",
	"a private key":         "-----BEGIN RSA PRIVATE KEY-----",
	"fewer than 16":         "hunter2",
	"everybody knows it":    "It's a Secret to Everybody",
}

var (
	gitHub = add(sample{
		provider: "github", secret: "hook-secret-hook-secret", older: "former-secret-of-the-hook", body: gitIssue, header: map[string]string{"X-GitHub-Event": "issues"},
		signature: "X-Hub-Signature-256", sum: hubSum, unfit: gitUnfit,
	})
	_ = add(sample{
		provider: "gitea", secret: "hook-secret-hook-secret", older: "former-secret-of-the-hook", body: gitIssue, header: map[string]string{"X-Gitea-Event": "issues"},
		signature: "X-Hub-Signature-256", sum: hubSum, unfit: gitUnfit, noVectors: "Gitea publishes none; requests of a running server stand in",
	})
	_ = add(sample{
		provider: "forgejo", secret: "hook-secret-hook-secret", older: "former-secret-of-the-hook", body: gitIssue, header: map[string]string{"X-Forgejo-Event": "issues"},
		signature: "X-Hub-Signature-256", sum: hubSum, unfit: gitUnfit, noVectors: "Forgejo publishes none; it shares Gitea's code and ours",
	})
)

func gitRequest(event, body string) webhook.Request {
	h := http.Header{}
	h.Set("X-GitHub-Event", event)
	h.Set("X-GitHub-Delivery", "0f6c1c60-cd4d-11f0-9d0c-000000000001")
	return webhook.Request{Method: http.MethodPost, Header: h, Body: []byte(body)}
}

func TestGitFacts(t *testing.T) {
	const repository = `"repository":{"id":7,"updated_at":"2026-11-29T11:00:00Z","pushed_at":1795953590}`
	for _, tt := range []struct {
		name, event, body string
		want              webhook.Fact // but for key, digest and delivery id
	}{
		{"an issue", "issues", gitIssue, webhook.Fact{Type: "issues.opened", Kind: "issue", ObjectID: "3000000001", Version: "2026-11-29T11:59:58Z"}},
		{"a comment is another object than its issue", "issue_comment", `{"action":"created","issue":{"id":7,"updated_at":"2026-11-29T11:59:59Z"},"comment":{"id":15,"updated_at":"2026-11-29T11:59:58Z"}}`,
			webhook.Fact{Type: "issue_comment.created", Kind: "issue_comment", ObjectID: "15", Version: "2026-11-29T11:59:58Z"}},
		{"a push is about the repository, whose push counts apart", "push", `{"ref":"refs/heads/main","before":"a","after":"b",` + repository + `}`,
			webhook.Fact{Type: "push", Kind: "repository", ObjectID: "7", Version: "2026-11-29T11:59:50Z"}},
		{"a repository that changed after its last push", "repository", `{"action":"edited",` + strings.Replace(repository, "11:00:00", "11:59:59", 1) + `}`,
			webhook.Fact{Type: "repository.edited", Kind: "repository", ObjectID: "7", Version: "2026-11-29T11:59:59Z"}},
		{"an event that has its own member", "check_run", `{"action":"completed","check_run":{"id":128,"completed_at":"2026-11-29T11:59:58Z"},` + repository + `}`,
			webhook.Fact{Type: "check_run.completed", Kind: "check_run", ObjectID: "128", Version: "2026-11-29T11:59:58Z"}},
		{"an event that has none is about the repository", "star", `{"action":"created","starred_at":"x",` + repository + `}`,
			webhook.Fact{Type: "star.created", Kind: "repository", ObjectID: "7", Version: "2026-11-29T11:59:50Z"}},
		{"a verdict of a review, as Gitea names it", "pull_request_approved", `{"action":"reviewed","pull_request":{"id":3,"updated_at":"2026-11-29T11:59:58Z"},"review":{"type":"x"}}`,
			webhook.Fact{Type: "pull_request_approved.reviewed", Kind: "pull_request", ObjectID: "3", Version: "2026-11-29T11:59:58Z"}},
		{"an organization alone", "organization", `{"action":"member_added","organization":{"id":8}}`, webhook.Fact{Type: "organization.member_added", Kind: "organization", ObjectID: "8"}},
		{"nothing that is known", "meta", `{"action":"deleted","hook_id":1}`, webhook.Fact{Type: "meta.deleted", Flaw: "neither the provider nor the endpoint's configuration says what object the event is about"}},
		{"an object without an id", "release", `{"action":"published","release":{}}`, webhook.Fact{Type: "release.published", Flaw: "the body has no object id where this kind of event has it"}},
		{"an id that is no whole number", "release", `{"action":"published","release":{"id":1.5}}`, webhook.Fact{Type: "release.published", Flaw: "the body has no object id where this kind of event has it"}},
	} {
		got := identify(t, "github", gitRequest(tt.event, tt.body), webhook.Rule{})
		tt.want.Digest = document.Digest([]byte(tt.body))
		tt.want.Key = tt.want.Type + "#" + tt.want.Digest
		tt.want.DeliveryID = "0f6c1c60-cd4d-11f0-9d0c-000000000001"
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

// The event's name is not signed: what a captured body can be renamed to must be what it is.
func TestGitEventsThatDoNotFitTheBody(t *testing.T) {
	bodies := map[string]string{
		"issues":        gitIssue,
		"issue_comment": `{"action":"created","issue":{"id":7},"comment":{"id":15}}`,
		"push":          `{"ref":"refs/heads/main","after":"b","repository":{"id":7}}`,
		"create":        `{"ref":"x","ref_type":"branch","master_branch":"main","repository":{"id":7}}`,
		"delete":        `{"ref":"x","ref_type":"branch","repository":{"id":7}}`,
		"pull_request":  `{"action":"opened","pull_request":{"id":3},"review":null,"repository":{"id":7}}`,
		"release":       `{"action":"published","release":{"id":3},"repository":{"id":7}}`,
	}
	for event, body := range bodies {
		for name := range bodies {
			got := identify(t, "github", gitRequest(name, body), webhook.Rule{})
			fits := name == event || name == "create" && event == "delete"
			if (got.Flaw == "") != fits || !fits && got.Flaw != "the event's name in header X-Github-Event, which is not signed, does not fit the body" {
				t.Errorf("%s as %s: %q", event, name, got.Flaw)
			}
		}
	}
	s := row(t, "github")
	for name, req := range map[string]webhook.Request{
		"no name": with(gitRequest("x", gitIssue), "X-GitHub-Event"), "two names": with(gitRequest("x", gitIssue), "X-GitHub-Event", "issues", "push"),
	} {
		if _, err := s.Identify(req, decoded(t, req.Body), webhook.Rule{}, noon); !errors.Is(err, webhook.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	fresh := identify(t, "github", with(gitRequest("issues", gitIssue), "X-GitHub-Delivery", "another"), webhook.Rule{})
	if first := identify(t, "github", gitRequest("issues", gitIssue), webhook.Rule{}); first.Key != fresh.Key || fresh.DeliveryID != "another" {
		t.Error("another delivery id makes another event")
	}
}

func TestGitSignatures(t *testing.T) {
	body := []byte(gitIssue)
	for name, tt := range map[string]struct {
		header http.Header
		ok     bool
	}{
		"as it should be":            {http.Header{"X-Hub-Signature-256": {hubSum(webhook.Request{Body: body}, gitHub.secret)}}, true},
		"no secret at the sender":    {http.Header{"X-Hub-Signature-256": {"sha256="}}, false},
		"the older header alone":     {http.Header{"X-Hub-Signature": {"sha1=" + hexMAC(sha1.New, gitHub.secret, gitIssue)}}, false},
		"the older sum in the newer": {http.Header{"X-Hub-Signature-256": {"sha1=" + hexMAC(sha1.New, gitHub.secret, gitIssue)}}, false},
		"no prefix":                  {http.Header{"X-Hub-Signature-256": {hexMAC(sha256.New, gitHub.secret, gitIssue)}}, false},
		"Gitea's own header alone":   {http.Header{"X-Gitea-Signature": {hexMAC(sha256.New, gitHub.secret, gitIssue)}}, false},
	} {
		for _, provider := range []string{"github", "gitea", "forgejo"} {
			err := row(t, provider).Verify(webhook.Request{Method: http.MethodPost, Header: tt.header, Body: body}, held(gitHub.secret), webhook.Expect{}, noon)
			if (err == nil) != tt.ok || err != nil && !errors.Is(err, webhook.ErrSignature) {
				t.Errorf("%s, %s: %v", provider, name, err)
			}
		}
	}
}

// A form is signed as bytes by GitHub and as the JSON in it by Gitea; neither takes what the other signs.
func TestGitForms(t *testing.T) {
	form := "payload=" + url.QueryEscape(gitIssue)
	sums := map[string]string{"github": hubSum(webhook.Request{Body: []byte(form)}, gitHub.secret), "gitea": hubSum(webhook.Request{Body: []byte(gitIssue)}, gitHub.secret)}
	sums["forgejo"] = sums["gitea"]
	for _, provider := range []string{"github", "gitea", "forgejo"} {
		s := row(t, provider)
		for signer, sum := range sums {
			req := with(gitRequest("issues", form), "X-Hub-Signature-256", sum)
			err := s.Verify(req, held(gitHub.secret), webhook.Expect{Source: "example-org/importer"}, noon)
			if ours := sums[provider] == sum; (err == nil) != ours {
				t.Errorf("%s, signed as %s does: %v", provider, signer, err)
			}
		}
		signed, err := s.Sign(gitRequest("issues", form), held(gitHub.secret)[0], noon)
		if err != nil || signed.Header.Get("X-Hub-Signature-256") != sums[provider] {
			t.Errorf("%s signs a form otherwise: %v", provider, err)
		}
		fact := identify(t, provider, gitRequest("issues", form), webhook.Rule{})
		if fact.ObjectID != "3000000001" || fact.Digest != document.Digest([]byte(gitIssue)) {
			t.Errorf("%s: %+v", provider, fact)
		}
	}
	// Gitea's form is not signed: another spelling of it is no other event, and a second field no event at all.
	s := row(t, "gitea")
	for body, ok := range map[string]bool{
		strings.ReplaceAll(form, "%22", `"`): true, strings.ReplaceAll(form, "%7B", "%7b"): true, form + "&x=1": false, form + "&" + form: false, "x=1&" + form: false,
	} {
		req := with(gitRequest("issues", body), "X-Hub-Signature-256", sums["gitea"])
		if err := s.Verify(req, held(gitHub.secret), webhook.Expect{}, noon); (err == nil) != ok {
			t.Errorf("%.30s…: %v", body, err)
		} else if ok && identify(t, "gitea", req, webhook.Rule{}).Key != identify(t, "gitea", gitRequest("issues", gitIssue), webhook.Rule{}).Key {
			t.Error("another spelling of the form is another event")
		}
	}
	// A JSON body with a form inside of a text stays what it is, whatever Content-Type says.
	inner := `{"action":"opened","issue":{"id":1,"body":"&payload=%7B%22action%22%3A%22forged%22%7D&"}}`
	req := with(gitRequest("issues", inner), "Content-Type", "application/x-www-form-urlencoded")
	if got := identify(t, "github", req, webhook.Rule{}); got.Type != "issues.opened" || got.ObjectID != "1" {
		t.Errorf("a form inside of JSON: %+v", got)
	}
}

func TestGitPings(t *testing.T) {
	const ping = `{"zen":"Keep it logically awesome.","hook_id":30,"hook":{"type":"Repository","id":30}}`
	for name, tt := range map[string]struct {
		event, body string
		want        bool
	}{
		"a ping": {"ping", ping, true}, "in a form": {"ping", "payload=" + url.QueryEscape(ping), true}, "an event named ping": {"ping", gitIssue, false},
		"a ping under another name": {"push", ping, false}, "no hook": {"ping", `{"zen":"x"}`, false}, "an array": {"ping", `[]`, false},
	} {
		for provider, pings := range map[string]bool{"github": true, "gitea": false, "forgejo": false} {
			s := row(t, provider)
			req := gitRequest(tt.event, tt.body)
			if _, ok := s.SignedHandshake(req, read(t, s, req)); ok != (tt.want && pings) {
				t.Errorf("%s, %s: %v", provider, name, ok)
			}
		}
	}
}

// Every request that a running Gitea 1.26 made: a form among them, and two edits in one second.
func TestEveryGiteaCapture(t *testing.T) {
	all := captures(t, "gitea.jsonl")
	keys := map[string][]string{}
	for _, provider := range []string{"gitea", "forgejo", "github"} {
		s, forms := row(t, provider), 0
		for _, c := range all {
			req := c.request(same)
			form := strings.HasPrefix(string(c.Body), "payload=")
			if form {
				forms++
			}
			if err := s.Verify(req, held("another secret", c.Secret), webhook.Expect{}, time.Unix(c.Now, 0)); (err == nil) != (!form || provider != "github") {
				t.Errorf("%s, %s: %v", provider, c.Name, err)
			}
			fact := identify(t, provider, req, webhook.Rule{})
			if name, _, _ := strings.Cut(c.Name, " "); fact.Type != name || fact.Flaw != "" || fact.Version == "" || fact.DeliveryID != req.Header.Get("X-Gitea-Delivery") {
				t.Errorf("%s, %s: %+v", provider, c.Name, fact)
			}
			if provider == "gitea" {
				keys[fact.Key] = append(keys[fact.Key], c.Name)
			}
			changed := req
			changed.Body = slices.Clone(req.Body)
			changed.Body[len(changed.Body)/2] ^= 1
			if err := s.Verify(changed, held(c.Secret), webhook.Expect{}, noon); !errors.Is(err, webhook.ErrSignature) {
				t.Errorf("%s, %s: a changed body gave %v", provider, c.Name, err)
			}
		}
		if forms != 1 {
			t.Errorf("%d forms: the file is not what it was", forms)
		}
	}
	if len(all) != 13 || len(keys) != 9 {
		t.Errorf("%d captures are %d events: %v", len(all), len(keys), keys)
	}
}

func TestTheGitHubLibraryAgrees(t *testing.T) {
	s := row(t, "github")
	for _, body := range []string{gitIssue, "payload=" + url.QueryEscape(gitIssue), "Hello, World!", ""} {
		req, err := s.Sign(gitRequest("issues", body), held(gitHub.secret)[0], noon)
		if err != nil {
			t.Fatal(err)
		}
		if err := library.ValidateSignature(req.Header.Get("X-Hub-Signature-256"), []byte(body), []byte(gitHub.secret)); err != nil {
			t.Errorf("%.10s: %v", body, err)
		}
	}
}

// The library's own reading of a delivery: it takes an empty secret for none demanded.
func TestVectorsAgainstTheGitHubLibrary(t *testing.T) {
	const name = "go-github v89.0.0 ValidatePayload"
	reasons := map[string]string{} // but for those that the vectors name there are none
	checked := 0
	for _, v := range readVectors(t, "testdata/vectors.json") {
		if v.Provider != "github" {
			continue
		}
		checked++
		h := v.request().Header
		content := h.Get("Content-Type")
		_, err := library.ValidatePayloadFromBody(content, strings.NewReader(v.Body), h.Get("X-Hub-Signature-256"), []byte(v.Secret))
		agrees := (err == nil) == (v.Expect == "valid")
		if excused := slices.Contains(v.LibraryDisagrees, name) || reasons[v.Name] != ""; agrees == excused {
			t.Errorf("%s: library says %v, expected: %s, listed as disagreeing: %v", v.Name, err, v.Expect, excused)
		}
	}
	if checked != 6 {
		t.Errorf("%d vectors were compared", checked)
	}
}

func TestGitPayloads(t *testing.T) {
	body := payload(t, "github-issues.opened.json")
	if got := identify(t, "github", gitRequest("issues", body), webhook.Rule{}); got.Type != "issues.opened" || got.ObjectID != "3000000001" || got.Version != "2026-11-29T17:59:58Z" {
		t.Errorf("%+v", got)
	}
	if !json.Valid([]byte(body)) {
		t.Error("no JSON")
	}
}
