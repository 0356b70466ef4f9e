package webhook

import (
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"engang/shared/document"
)

const ghostSum = "X-Ghost-Signature"

// ghost signs the body and the time behind it. What has happened is said nowhere but in the address that
// was registered: an endpoint for each type. There is no id of an event; Ghost tries once, and takes a
// slow answer for none.
var ghost = Scheme{
	name:        "ghost",
	key:         func(secret []byte) (key, bool) { return hmacSHA256("", secret), true },
	proof:       ghostProof,
	messages:    func(r Request, p proof) []message { return []message{{r.Body, []byte(p.stamp)}} },
	window:      fiveMinutes,
	seal:        ghostSeal,
	eventKey:    ghostKey,
	digest:      rawDigest,
	kind:        ghostKind,
	idText:      ghostID,
	versionText: ghostText("/updated_at"),
	misfit:      ghostMisfit,
}

var ghostShape = pattern(`^sha256=([0-9a-f]{64}), t=([0-9]+)$`)

// ghostProof reads sum and time. Nothing stands between body and time in what is signed, and still no
// digit can change sides: a body with a digit behind its last bracket is no JSON.
func ghostProof(r Request) (proof, error) {
	text, err := only(r.Header, ghostSum)
	if err != nil {
		return proof{}, err
	}
	m := ghostShape().FindStringSubmatch(text)
	if m == nil {
		return proof{}, unreadable(ghostSum)
	}
	sum, _ := hex.DecodeString(m[1]) // the shape has seen to it
	t, _ := unixMillis(m[2])
	return proof{signatures: []signature{{sum: sum}}, stamp: m[2], at: t}, nil
}

func ghostSeal(r *Request, k key, now time.Time) {
	stamp := strconv.FormatInt(now.UnixMilli(), 10)
	r.Header.Set(ghostSum, "sha256="+hex.EncodeToString(k.sign(message{r.Body, []byte(stamp)}))+", t="+stamp)
}

// ghostKey is the body under the endpoint's type. A body without a version, which site.changed always
// has, is told from the next by its signed time.
func ghostKey(r reading) string {
	key := r.typ + "#" + document.Digest(r.content)
	if !r.versions {
		p, _ := ghostProof(r.Request)
		key += "#" + p.stamp
	}
	return key
}

// ghostMember is the one member of a body: what the object is, and what it was before.
func ghostMember(r reading) (name string, current, previous map[string]any) {
	body, _ := r.doc.(map[string]any)
	if len(body) != 1 {
		return "", nil, nil
	}
	for key, value := range body {
		name = key
		member, _ := value.(map[string]any)
		current, _ = member["current"].(map[string]any)
		previous, _ = member["previous"].(map[string]any)
	}
	return name, current, previous
}

// ghostText reads a text of the object, or of a deleted one of what it was.
func ghostText(pointer string) field {
	text := scalar(pointer)
	return func(r reading) string {
		_, current, previous := ghostMember(r)
		if len(current) == 0 {
			current = previous
		}
		return text(reading{doc: current})
	}
}

// ghostSite is what site.changed is about: its body is empty, and an endpoint has one site.
const ghostSite = "site"

func ghostOfSite(r reading) bool {
	body, ok := r.doc.(map[string]any)
	return ok && len(body) == 0 && r.typ == ghostSite+".changed"
}

func ghostKind(r reading) string {
	if ghostOfSite(r) {
		return ghostSite
	}
	name, _, _ := ghostMember(r)
	return name
}

func ghostID(r reading) string {
	if ghostOfSite(r) {
		return ghostSite
	}
	return ghostText("/id")(r)
}

// ghostMisfit compares the endpoint's type with the body: a delivery that was sent to one address may
// come to another with the same secret.
func ghostMisfit(r reading) string {
	kind, _, _ := strings.Cut(r.typ, ".")
	if !slices.Contains([]string{"post", "page", "tag", "member"}, kind) {
		return ""
	}
	name, current, _ := ghostMember(r)
	if deleted := strings.HasSuffix(r.typ, ".deleted"); name != kind || deleted != (len(current) == 0) {
		return "the event type that the endpoint stands for does not fit the body"
	}
	return ""
}
