package webhook

import (
	"fmt"

	"engang/shared/document"
)

// version finds how new the object is, as the rule or the row says, or says why nobody can know. An object's versions
// are of one kind, since a number is older than any time: what should be there and is not must not be ranked by another
// kind, and stay the newest for ever. Own is what the row has found.
func (s Scheme) objectVersion(r reading, rule Rule, own string) (text, flaw string) {
	switch counted := s.counted != nil && s.counted(r.typ); {
	case rule.Version != nil && !s.itsVersion(*rule.Version):
		text, ok := textAt(r.doc, *rule.Version)
		if !ok {
			return "", fmt.Sprintf("the body has no version at %s", *rule.Version)
		}
		return text, ""
	case counted && rule.Kind != "": // how far a message has come says nothing about its sender
		return "", ""
	case own == "" && s.dated != nil && s.dated(r):
		return "", "the body has no version where this kind of event has it"
	case own == "":
		return "", ""
	case digits(own) != counted:
		return own, "the object's version is of another kind than the sender's other versions of it"
	}
	return own, ""
}

// itsVersion tells whether a place is the one where the row finds the version: a rule that names it changes nothing,
// and a body without one may be normal.
func (s Scheme) itsVersion(at document.Pointer) bool {
	return s.versionText == nil && s.version.String() != "" && at.String() == s.version.String()
}

// always is of a row whose every body has a version: one without is not what the sender sends.
func always(reading) bool { return true }

// bodyTime is the time that the Standard Webhooks specification recommends for a body: that of the event. The signed
// one is that of the try. What is no time there, in a body that is the sender's own, is something else.
func bodyTime(r reading) string {
	text := unixVersion(scalar("/timestamp"))(r)
	if _, ok := isoTime(text); !ok {
		return ""
	}
	return text
}

// Kind is what the objects of an event type are where the type alone says it; "" where the body does.
func (s Scheme) Kind(eventType string) string {
	if s.kind == nil {
		return ""
	}
	r := reading{typ: eventType, doc: map[string]any{}}
	kind := s.kind(r)
	if s.Counts(eventType) { // a row that counts makes its types of the kind and what happened
		kind = upToFirstDot(r)
	}
	if !fitsKeys(kind) {
		return ""
	}
	return kind
}

// Counts tells whether the row's versions of such events' own objects are whole numbers. They are times everywhere else,
// and so is what stands in for one that is missing: when the event was received.
func (s Scheme) Counts(eventType string) bool { return s.counted != nil && s.counted(eventType) }

// InUTC is where the time stands in UTC that stands at a place by the source's own clock, which goes through an hour
// twice: such a time orders nothing. It tells false for a place that is not known for that.
func (s Scheme) InUTC(at document.Pointer) (string, bool) {
	utc, ok := s.local[at.String()]
	return utc, ok
}

// Worldwide tells whether the sender's ids name one object wherever they come from: two of its sources never have one
// id for two objects.
func (s Scheme) Worldwide() bool { return s.worldwide }
