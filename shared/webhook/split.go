package webhook

import (
	"encoding/json"
	"fmt"
	"strings"

	"engang/shared/document"
)

// SplitType is the event type of a delivery that holds many events. No sender uses it.
const SplitType = "split"

// MaxParts is how many events one delivery may hold.
const MaxParts = 1000

// A Batch is a delivery that holds many events.
type Batch struct {
	// Fact is that of the delivery as a whole: of type [SplitType], without an object, and with a key made
	// from what it says, so that a repeat of it is one. It has a flaw when there are no parts.
	Fact Fact

	// Parts are the events, each as a delivery of its own: the same request with the part's exact bytes as
	// body. [Scheme.Document], [Scheme.Type] and [Scheme.Identify] take them; [Scheme.Verify] does not.
	Parts []Request
}

// Split takes a verified delivery apart that holds many events. It tells false for one that is an event
// itself. A part that also comes alone, or in another delivery, is the same event.
//
// It does the same for the same content on every day, so that a worker can do again, from what is
// stored, what the receiver did: of the request it needs the body alone.
func (s Scheme) Split(req Request, doc any) (Batch, bool) {
	if s.split == nil {
		return Batch{}, false
	}
	parts, ok := s.split(doc, s.content(req))
	if !ok {
		return Batch{}, false
	}
	b := Batch{Fact: Fact{Type: SplitType}}
	if len(parts) <= MaxParts {
		for _, part := range parts {
			one := req
			one.Body = part
			b.Parts = append(b.Parts, one)
		}
	}
	switch {
	case len(parts) == 0:
		b.Fact.Flaw = "the delivery holds no event"
	case len(parts) > MaxParts:
		b.Fact.Flaw = fmt.Sprintf("the delivery holds more than %d events", MaxParts)
	}
	b.Fact.Digest = s.batchDigest(req, b.Parts)
	b.Fact.Key = SplitType + "#" + b.Fact.Digest
	return b, true
}

// batchDigest hashes the parts' digests, which leave out what changes on a retry.
func (s Scheme) batchDigest(req Request, parts []Request) string {
	if len(parts) == 0 {
		return document.Digest(s.content(req))
	}
	var sums strings.Builder
	for _, part := range parts {
		doc, err := document.Decode(part.Body)
		if err != nil { // not part of a document of ours
			doc = string(part.Body)
		}
		sums.WriteString(s.digest(reading{Request: part, doc: doc, content: part.Body}))
	}
	return document.Digest([]byte(sums.String()))
}

// elements takes a body apart that is an array: what stands in it, byte for byte.
func elements(doc any, content []byte) ([]json.RawMessage, bool) {
	if _, ok := doc.([]any); !ok {
		return nil, false
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(content, &parts); err != nil {
		return nil, false
	}
	return parts, true
}
