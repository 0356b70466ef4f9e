package webhook

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
)

const gitHubSum = "X-Hub-Signature-256"

// A gitHost is one of the servers that send what GitHub does, each under header names of its own as well.
type gitHost struct {
	name    string
	headers []string // before "-Event" and "-Delivery", the host's own first
	json    bool     // of a form, the JSON inside is signed, and not the form
}

// Forms are signed differently: GitHub signs the bytes that it sends, Gitea and Forgejo the JSON that
// they put into the form.
var (
	gitHub  = gitHost{name: "github", headers: []string{"X-Github"}}.scheme()
	gitea   = gitHost{name: "gitea", headers: []string{"X-Gitea", "X-Github"}, json: true}.scheme()
	forgejo = gitHost{name: "forgejo", headers: []string{"X-Forgejo", "X-Gitea", "X-Github"}, json: true}.scheme()
)

// scheme signs body or JSON alone, with the secret's own text. The event's name and the delivery's id are
// unsigned headers. A secret that is not set gives "sha256=" and no digest: no signature. The older
// X-Hub-Signature, with SHA-1, proves nothing here.
func (g gitHost) scheme() Scheme {
	s := Scheme{
		name: g.name,
		key:  func(secret []byte) (key, bool) { return hmacSHA256("", secret), true },
		terms: secretTerms{not: []otherSecret{
			{"ghp_", "a personal access token"}, {"github_pat_", "a personal access token"}, {"gho_", "an access token"},
			{"ghs_", "an access token of an app"}, {"ghu_", "an access token of a user"}, {"-----BEGIN", "a private key"},
		}},
		proof:       prefixedHex(gitHubSum, "sha256=", sha256.Size),
		messages:    bodyAlone,
		source:      sourceIn("", "/repository/full_name", "/organization/login"),
		document:    payloadOrJSON,
		text:        func(r Request) ([]byte, bool) { return payloadOrBody(r.Body), true },
		eventType:   g.eventType,
		eventKey:    typeAndContent,
		digest:      rawDigest,
		deliveryID:  g.header("-Delivery"),
		kind:        gitKind,
		idText:      gitID,
		versionText: gitVersion,
		worldwide:   !g.json, // there are many servers of the others
		misfit:      g.misfit,
	}
	if g.json { // the JSON, also where it stands in a form
		s.messages = func(r Request, _ proof) []message { return []message{{payloadOrBody(r.Body)}} }
	} else {
		s.greeting = g.ping
	}
	s.seal = func(r *Request, k key, now time.Time) {
		sum := sha256.Sum256(append([]byte(now.UTC().Format(time.RFC3339Nano)), r.Body...))
		text := hex.EncodeToString(sum[:16])
		missing(r.Header, g.headers[0]+"-Delivery", strings.Join([]string{text[:8], text[8:12], text[12:16], text[16:20], text[20:]}, "-"))
		r.Header.Set(gitHubSum, "sha256="+hex.EncodeToString(k.sign(s.messages(*r, proof{})[0])))
	}
	return s
}

// header reads one of the host's headers, under its own name or those of the hosts that it follows.
func (g gitHost) header(name string) field {
	var fields []field
	for _, prefix := range g.headers {
		fields = append(fields, header(prefix+name))
	}
	return first(fields...)
}

func (g gitHost) event(r reading) string { return g.header("-Event")(r) }

// eventType is the event's name with the action, as people write both: "issues.opened".
func (g gitHost) eventType(r reading) string {
	event := g.event(r)
	if action := at("/action")(r); event != "" && action != "" {
		return event + "." + action
	}
	return event
}

// ping knows what GitHub sends when a webhook is made. The body has to be one as well: the event's name
// is not signed.
func (g gitHost) ping(r Request, doc any) (Pong, bool) {
	body := reading{Request: r, doc: doc}
	return Pong{Status: "pong"}, g.event(body) == "ping" && at("/zen")(body) != "" && scalar("/hook_id")(body) != ""
}

// A gitObject is where the object of an event stands in the body, and what must stand there or must not:
// the event's name is not signed, the body is.
type gitObject struct {
	member  string
	kind    string
	without []string // members that show another event
}

var gitObjects = map[string]gitObject{
	"issues":                      {member: "issue", kind: "issue", without: []string{"comment"}},
	"issue_comment":               {member: "comment", kind: "issue_comment"},
	"pull_request":                {member: "pull_request", kind: "pull_request", without: []string{"comment", "review"}},
	"pull_request_review":         {member: "review", kind: "pull_request_review"},
	"pull_request_review_comment": {member: "comment", kind: "pull_request_review_comment"},
	"commit_comment":              {member: "comment", kind: "commit_comment", without: []string{"issue", "pull_request"}},
	"discussion":                  {member: "discussion", kind: "discussion", without: []string{"comment"}},
	"discussion_comment":          {member: "comment", kind: "discussion_comment"},
	"release":                     {member: "release", kind: "release"},
	"fork":                        {member: "forkee", kind: "repository"},
	"push":                        {member: "repository", kind: "repository", without: []string{"action", "ref_type", "issue"}},
	"create":                      {member: "repository", kind: "repository", without: []string{"action", "after"}},
	"delete":                      {member: "repository", kind: "repository", without: []string{"action", "after", "master_branch", "sha"}},
	"repository":                  {member: "repository", kind: "repository"},
}

// gitEvent is the event's name of a type, which may hold an action.
func gitEvent(r reading) string {
	event, _, _ := strings.Cut(r.typ, ".")
	return event
}

// gitFind is where the object stands: where the event's name says, or in the member of that name, or it
// is the repository or the organization.
func gitFind(r reading) (member map[string]any, kind string) {
	body, _ := r.doc.(map[string]any)
	event := gitEvent(r)
	if known, ok := gitObjects[event]; ok {
		member, _ = body[known.member].(map[string]any)
		return member, known.kind
	}
	for _, name := range []string{event, "pull_request", "repository", "organization"} {
		if member, ok := body[name].(map[string]any); ok && scalar("/id")(reading{doc: member}) != "" && (name != "pull_request" || strings.HasPrefix(event, name)) {
			return member, name
		}
	}
	return nil, ""
}

func gitKind(r reading) string {
	_, kind := gitFind(r)
	return kind
}

func gitID(r reading) string {
	member, _ := gitFind(r)
	return wholeID(scalar("/id"))(reading{doc: member})
}

// gitVersion is when the object changed; of a repository the later of that and of its last push, which
// GitHub counts apart. A commit's name says nothing about order.
func gitVersion(r reading) string {
	member, kind := gitFind(r)
	if member == nil {
		return ""
	}
	object := reading{doc: member}
	changed := first(at("/updated_at"), at("/submitted_at"), at("/completed_at"), at("/published_at"), at("/started_at"), at("/created_at"))(object)
	if kind != "repository" {
		return changed
	}
	times := []string{changed, unixVersion(scalar("/pushed_at"))(object)}
	slices.SortFunc(times, func(a, b string) int {
		x, _ := isoTime(a)
		y, _ := isoTime(b)
		return x.Compare(y)
	})
	return times[1]
}

// misfit compares the event's name with the body.
func (g gitHost) misfit(r reading) string {
	body, _ := r.doc.(map[string]any)
	known, ok := gitObjects[gitEvent(r)]
	if !ok {
		return ""
	}
	_, has := body[known.member].(map[string]any)
	for _, name := range known.without {
		has = has && body[name] == nil
	}
	if !has {
		return fmt.Sprintf("the event's name in header %s-Event, which is not signed, does not fit the body", g.headers[0])
	}
	return ""
}
