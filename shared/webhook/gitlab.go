package webhook

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
	"time"
)

const (
	gitLabToken    = "X-Gitlab-Token"
	gitLabSender   = "X-Gitlab-Instance"
	gitLabEventID  = "X-Gitlab-Event-Uuid"
	gitLabRetryKey = "Idempotency-Key"
)

// labelToken is the secret itself in a header, which proves who sends and nothing about the body.
const labelToken = "token"

// gitLab has two ways, told apart by the secret: a signing token (whsec_, since 19.0) signs as Standard
// Webhooks does; a secret token is sent as it is. A delivery that carries a signature has to pass it,
// whatever token stands beside.
var gitLab = Scheme{
	name: "gitlab",
	key:  gitLabKey,
	terms: secretTerms{
		form:   "a signing token, which is whsec_ and the base64 of 32 bytes, or a secret token of at least 16 characters",
		not:    []otherSecret{{"glpat-", "a personal access token"}, {"gldt-", "a deploy token"}, {"glptt-", "a trigger token"}},
		reason: gitLabReason,
		make:   whsecTerms.make,
	},
	proof:       gitLabProof,
	messages:    gitLabMessages,
	window:      fiveMinutes,
	source:      sourceIn(gitLabSender),
	seal:        gitLabSeal,
	eventType:   gitLabType,
	eventKey:    first(gitLabID, typeAndBody),
	digest:      valueDigest,
	deliveryID:  header(gitLabEventID), // shared by hooks that follow from one another
	senderID:    gitLabID,
	kind:        gitLabKind,
	idText:      gitLabObjectID,
	versionText: gitLabVersion,
}

func gitLabKey(secret []byte) (key, bool) {
	text := string(secret)
	for _, prefix := range prefixes {
		if strings.HasPrefix(text, prefix) {
			k, ok := standardKey(secret)
			return k, ok && prefix == "whsec_"
		}
	}
	want := sha256.Sum256(secret)
	return key{
		label: labelToken,
		sign:  func(message) []byte { return secret },
		expect: func(message) func([]byte) bool {
			return func(token []byte) bool {
				got := sha256.Sum256(token) // of one length, whatever was sent
				return subtle.ConstantTimeCompare(got[:], want[:]) == 1
			}
		},
	}, true
}

func gitLabReason(text string) string {
	if !strings.HasPrefix(text, "whsec_") {
		return ""
	}
	return whsecReason(text)
}

// gitLabSigned tells whether a delivery carries a signature, be it an empty one.
func gitLabSigned(h http.Header) bool {
	return len(h.Values(standardSignatures)) > 0 || len(h.Values(gitLabToken)) == 0
}

func gitLabProof(r Request) (proof, error) {
	if gitLabSigned(r.Header) {
		return standardProof(r)
	}
	token, err := only(r.Header, gitLabToken)
	if err != nil {
		return proof{}, err
	}
	return proof{untimed: true, signatures: []signature{{label: labelToken, sum: []byte(token)}}}, nil
}

func gitLabMessages(r Request, p proof) []message {
	if p.untimed {
		return []message{nil}
	}
	return standardMessages(r, p)
}

func gitLabSeal(r *Request, k key, now time.Time) {
	if k.label != labelToken {
		standardSeal("")(r, k, now)
		missing(r.Header, gitLabRetryKey, r.Header.Get(standardID))
		return
	}
	sum := sha256.Sum256(append([]byte(now.UTC().Format(time.RFC3339Nano)), r.Body...))
	missing(r.Header, gitLabRetryKey, hexOf(sum[:16]))
	r.Header.Set(gitLabToken, string(k.sign(nil)))
}

// gitLabID stays over retries and is signed where anything is; beside a token nothing is, and GitLab's
// word for it is as good as its body. Older servers have none.
func gitLabID(r reading) string {
	if gitLabSigned(r.Header) {
		return bounded(header(standardID)(r))
	}
	return bounded(header(gitLabRetryKey)(r))
}

// gitLabType is the body's own word, with the action, as people write both: "merge_request.open".
func gitLabType(r reading) string {
	event := gitLabEvent(r)
	if action := at("/object_attributes/action")(r); event != "" && action != "" {
		return event + "." + action
	}
	return event
}

// gitLabObjects are the events whose object is not what they are named after, or has its id elsewhere.
var gitLabObjects = map[string]struct {
	kind string
	id   field
}{
	"push":              {"project", scalar("/project_id")},
	"tag_push":          {"project", scalar("/project_id")},
	"repository_update": {"project", scalar("/project_id")},
	"wiki_page":         {"project", scalar("/project/id")},
	"build":             {"job", scalar("/build_id")},
	"deployment":        {"deployment", scalar("/deployment_id")},
	"release":           {"release", scalar("/id")},
	"project_create":    {"project", scalar("/project_id")},
	"project_destroy":   {"project", scalar("/project_id")},
	"project_rename":    {"project", scalar("/project_id")},
	"project_transfer":  {"project", scalar("/project_id")},
	"project_update":    {"project", scalar("/project_id")},
	"user_create":       {"user", scalar("/user_id")},
	"user_destroy":      {"user", scalar("/user_id")},
	"user_rename":       {"user", scalar("/user_id")},
}

func gitLabEvent(r reading) string {
	return first(at("/object_kind"), at("/event_name"), at("/event_type"))(r)
}

func gitLabKind(r reading) string {
	event := gitLabEvent(r)
	if known, ok := gitLabObjects[event]; ok {
		return known.kind
	}
	return event
}

// gitLabObjectID is where this kind of event has it.
func gitLabObjectID(r reading) string {
	id := scalar("/object_attributes/id")
	if known, ok := gitLabObjects[gitLabEvent(r)]; ok {
		id = known.id
	}
	return wholeID(id)(r)
}

// gitLabVersion is when the object changed, which older servers write as "2026-11-29 11:59:58 UTC". A
// commit's name says nothing about order, so that a push has none.
func gitLabVersion(r reading) string {
	text := first(at("/object_attributes/updated_at"), at("/updated_at"))(r)
	if t, err := time.Parse("2006-01-02 15:04:05 MST", text); err == nil && strings.HasSuffix(text, " UTC") {
		return t.UTC().Format(time.RFC3339Nano)
	}
	return text
}
