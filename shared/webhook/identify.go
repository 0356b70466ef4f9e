package webhook

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"engang/shared/document"
	"engang/shared/object"
)

// Type is what the sender says has happened. It returns an error that wraps [ErrMalformed] when the
// delivery does not say it once, in at most 255 printable ASCII characters without a comma.
func (s Scheme) Type(req Request, doc any) (string, error) {
	text := ""
	if s.eventType != nil {
		text = s.eventType(reading{Request: req, doc: doc})
	}
	if !printable(text) || strings.Contains(text, ",") { // a comma joins a header that came twice: no sender's type has one
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
	r := reading{Request: req, doc: doc, content: s.content(req), typ: text, received: received}
	own := s.ownVersion(r)
	r.versions = own != ""
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
	if s.environment != nil {
		fact.Environment = s.environment(r)
	}
	var undated string
	fact.Version, undated = s.objectVersion(r, rule, own)
	if fact.Kind, fact.ObjectID, fact.Flaw = s.object(r, rule); fact.Flaw == "" && undated != "" {
		fact.Kind, fact.ObjectID, fact.Flaw = "", "", undated
	}
	return fact, nil
}

// ownVersion is the object's version as the row finds it; "" where it does not.
func (s Scheme) ownVersion(r reading) string {
	if s.versionText != nil {
		return s.versionText(r)
	}
	text, _ := textAt(r.doc, s.version)
	return text
}

// signedTime is the time that the signature covers; zero where it covers none.
func (s Scheme) signedTime(req Request) time.Time {
	switch {
	case s.window == 0:
		return time.Time{}
	case s.signedAt != nil:
		t, _ := s.signedAt(req)
		return t
	}
	p, _ := s.proof(req)
	return p.at
}

// content is the JSON text of a delivery whose document has been read.
func (s Scheme) content(req Request) []byte {
	if s.document == nil {
		return req.Body
	}
	if s.text != nil {
		if content, ok := s.text(req); ok {
			return content
		}
	}
	_, content, err := s.document(req)
	if err != nil { // the document did not come from here: the bytes still tell two facts apart
		return req.Body
	}
	return content
}

// fitsKeys keeps a kind, which may come from an unsigned header, to what fits our keys: 1 to 64 letters, digits,
// dots, dashes and underscores.
func fitsKeys(kind string) bool {
	other := func(r rune) bool {
		return !('A' <= r && r <= 'Z' || 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '_' || r == '.' || r == '-')
	}
	return kind != "" && len(kind) <= 64 && !strings.ContainsFunc(kind, other)
}

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
	if s.misfit != nil {
		if flaw := s.misfit(r); flaw != "" {
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
	own := rule.ID == nil && s.idText != nil
	switch {
	case kind == "" || at.String() == "" && !own:
		return "", "", "neither the provider nor the endpoint's configuration says what object the event is about"
	case !fitsKeys(kind):
		return "", "", "the kind of object is not usable"
	}
	if own {
		id, flaw = ownID(s.idText(r), kind)
	} else {
		id, flaw = objectID(r.doc, at, kind)
	}
	if flaw == "" && !legible(id) {
		flaw = "the object id has a control character, or one that no text may have"
	}
	if flaw != "" {
		return "", "", flaw
	}
	return kind, id, ""
}

// legible keeps an id, which becomes part of an operation's name, to what a message of a queue can hold and a person
// can read: no control character, nothing that is no character, and nothing that is no text.
func legible(id string) bool {
	odd := func(r rune) bool { return unicode.IsControl(r) || r == 0xfffe || r == 0xffff }
	return utf8.ValidString(id) && !strings.ContainsFunc(id, odd)
}

// ownID takes an id that the row has put together.
func ownID(text, kind string) (id, flaw string) {
	if text == "" {
		return "", "the body has no object id where this kind of event has it"
	}
	if _, err := object.NewID(kind, text); err != nil {
		return "", fmt.Sprintf("the object id is longer than %d bytes", object.MaxIDBytes)
	}
	return text, ""
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
