package webhook

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"engang/shared/document"
	"engang/shared/object"
)

// maxName is the longest event type or sender's id that is taken.
const maxName = 255

// A reading is a delivery while it is identified.
type reading struct {
	Request
	doc      any // the decoded body
	typ      string
	received time.Time
	versions bool // the row's own version is in the body
}

// A field finds one text in a delivery. It returns "" when it is not there.
type field func(reading) string

// Type is what the sender says has happened. It returns an error that wraps [ErrMalformed] when the
// delivery does not say it once, in at most 255 printable ASCII characters.
func (s Scheme) Type(req Request, doc any) (string, error) {
	text := s.eventType(reading{Request: req, doc: doc})
	if !printable(text) {
		return "", fmt.Errorf("read type of %s delivery: %w", s.name, ErrMalformed)
	}
	return text, nil
}

// Identify says which event a verified delivery is about. The document is the decoded body; what the
// rule says goes before the provider's own row; received is when this delivery arrived, which enters the
// event key only where a body has no version of its own.
//
// It returns an error that wraps [ErrMalformed] when type or event key cannot be known. A body that
// cannot be worked on is no error: the sender would switch its webhook off. The fact then has a Flaw,
// and no object.
func (s Scheme) Identify(req Request, doc any, rule Rule, received time.Time) (Fact, error) {
	text, err := s.Type(req, doc)
	if err != nil {
		return Fact{}, err
	}
	_, versions := textAt(doc, s.version)
	r := reading{Request: req, doc: doc, typ: text, received: received, versions: versions}
	fact := Fact{Type: text, Key: s.eventKey(r), Digest: s.digest(r)}
	if fact.Key == "" {
		return Fact{}, fmt.Errorf("read key of %s delivery: %w", s.name, ErrMalformed)
	}
	if s.deliveryID != nil {
		fact.DeliveryID = bounded(s.deliveryID(r))
	}
	if s.senderID != nil {
		fact.SenderID = bounded(s.senderID(r))
	}
	if s.window > 0 {
		if p, err := s.proof(req); err == nil {
			fact.SignedAt = p.at
		}
	}
	fact.Kind, fact.ObjectID, fact.Flaw = s.object(r, rule)
	at := s.version
	if rule.Version != nil {
		at = *rule.Version
	}
	fact.Version, _ = textAt(doc, at)
	return fact, nil
}

// kindShape keeps a kind, which may come from an unsigned header, to what fits our keys.
var kindShape = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// object finds what the event is about, or says why nothing can be done for it.
func (s Scheme) object(r reading, rule Rule) (kind, id, flaw string) {
	body, ok := r.doc.(map[string]any)
	if !ok {
		return "", "", "the body is " + shape(r.doc) + " where one object is expected"
	}
	if s.flaw != nil {
		if flaw := s.flaw(body); flaw != "" {
			return "", "", flaw
		}
	}
	kind, at := rule.Kind, s.id
	if kind == "" && s.kind != nil {
		kind = s.kind(r)
	}
	if rule.ID != nil {
		at = *rule.ID
	}
	switch {
	case kind == "" || at.String() == "":
		return "", "", "neither the provider nor the endpoint's configuration says what object the event is about"
	case !kindShape.MatchString(kind):
		return "", "", "the kind of object is not usable"
	}
	id, flaw = objectID(r.doc, at, kind)
	if flaw != "" {
		return "", "", flaw
	}
	return kind, id, ""
}

// objectID reads an id that our keys can hold. Its reasons name the place, never what stands there.
func objectID(doc any, at document.Pointer, kind string) (id, flaw string) {
	all := at.All(doc)
	switch {
	case len(all) == 0:
		return "", fmt.Sprintf("the body has no object id at %s", at)
	case len(all) > 1:
		return "", fmt.Sprintf("the body has more than one object id at %s", at)
	}
	id, ok := document.Text(all[0])
	if !ok {
		return "", fmt.Sprintf("the object id at %s is %s, neither text nor number", at, shape(all[0]))
	}
	if _, number := all[0].(json.Number); number && strings.ContainsAny(id, ".eE") {
		return "", fmt.Sprintf("the object id at %s is not a whole number", at)
	}
	if strings.TrimSpace(id) == "" {
		return "", fmt.Sprintf("the object id at %s is empty", at)
	}
	if _, err := object.NewID(kind, id); err != nil {
		return "", fmt.Sprintf("the object id at %s is longer than %d bytes", at, object.MaxIDBytes)
	}
	return id, ""
}

// textAt is the text or number at a pointer; the zero pointer names nothing here.
func textAt(doc any, at document.Pointer) (string, bool) {
	if at.String() == "" {
		return "", false
	}
	v, ok := at.Find(doc)
	if !ok {
		return "", false
	}
	text, ok := document.Text(v)
	return text, ok && text != ""
}

// shape is what a JSON value is, without what it says.
func shape(v any) string {
	switch v.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "an array"
	case string:
		return "a text"
	case json.Number:
		return "a number"
	case bool:
		return "true or false"
	}
	return "null"
}

func printable(text string) bool {
	if text == "" || len(text) > maxName || strings.TrimSpace(text) != text {
		return false
	}
	return strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) < 0
}

// bounded drops an id that is too long or not printable: it is for search, and nothing depends on it.
func bounded(text string) string {
	if !printable(text) {
		return ""
	}
	return text
}

// header reads a header that stands once.
func header(name string) field {
	return func(r reading) string {
		text, err := only(r.Header, name)
		if err != nil {
			return ""
		}
		return text
	}
}

// at reads a text of the body.
func at(pointer string) field {
	p := pointerTo(pointer)
	return func(r reading) string {
		v, _ := p.Find(r.doc)
		text, _ := v.(string)
		return text
	}
}

// prefixed takes a text only if it begins as the sender's ids do and is fit to be kept.
func prefixed(prefix string, f field) field {
	return func(r reading) string {
		if text := f(r); strings.HasPrefix(text, prefix) && printable(text) {
			return text
		}
		return ""
	}
}

// first takes the first text that is there.
func first(fields ...field) field {
	return func(r reading) string {
		for _, f := range fields {
			if text := f(r); text != "" {
				return text
			}
		}
		return ""
	}
}

// upToFirstDot is the beginning of the event type: "product" of "product.updated".
func upToFirstDot(r reading) string {
	before, _, _ := strings.Cut(r.typ, ".")
	return before
}

// upToLastDot is the event type without what happened: "fine_tuning.job" of "fine_tuning.job.failed".
func upToLastDot(r reading) string {
	return r.typ[:max(strings.LastIndexByte(r.typ, '.'), 0)]
}

// rawDigest hashes the bytes as sent.
func rawDigest(r reading) string { return document.Digest(r.Body) }

// valueDigest hashes what the body says. A sender that writes its JSON anew for each try may order keys
// and white space differently; that is no other fact.
func valueDigest(r reading) string {
	b, err := document.Canonical(r.doc)
	if err != nil { // not from document.Decode: the bytes still tell two facts apart
		b = r.Body
	}
	return document.Digest(b)
}

// typeAndBody is the event key of a sender whose ids are not signed: what happened, and the bytes. A
// body without a version of its own takes the day in, else the second deletion of an object that came
// back would be a repeat for ever.
func typeAndBody(r reading) string {
	key := r.typ + "#" + document.Digest(r.Body)
	if !r.versions {
		key += "#" + r.received.UTC().Format(time.DateOnly)
	}
	return key
}

// pointerTo parses a pointer of a row; a fault in one shows at start, and in every test.
func pointerTo(text string) document.Pointer {
	p, err := document.ParsePointer(text)
	if err != nil {
		panic("webhook: " + err.Error())
	}
	return p
}
