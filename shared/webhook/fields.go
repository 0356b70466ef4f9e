package webhook

import (
	"encoding/json"
	"maps"
	"strings"
	"time"

	"engang/shared/document"
)

// maxName is the longest event type or sender's id that is taken.
const maxName = 255

// A reading is a delivery while it is identified.
type reading struct {
	Request
	doc      any    // the decoded body
	content  []byte // the JSON text of it: the body, or what was made of a form
	typ      string
	received time.Time
	versions bool // the row's own version is in the body
}

// A field finds one text in a delivery. It returns "" when it is not there.
type field func(reading) string

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

// scalar reads a text of the body, or a number as it is written.
func scalar(pointer string) field {
	p := pointerTo(pointer)
	return func(r reading) string {
		text, _ := textAt(r.doc, p)
		return text
	}
}

// wholeID takes a number only if it is written as a whole one, and any text.
func wholeID(f field) field {
	return func(r reading) string {
		id := f(r)
		if fractional().MatchString(id) {
			return ""
		}
		return id
	}
}

var fractional = pattern(`^-?[0-9]+[.eE][-+0-9.eE]+$`)

// whole reads a text of the body, or a number that is written as a whole one.
func whole(pointer string) field {
	p := pointerTo(pointer)
	return func(r reading) string {
		v, _ := p.Find(r.doc)
		if n, ok := v.(json.Number); ok && strings.ContainsAny(n.String(), ".eE") {
			return ""
		}
		text, _ := document.Text(v)
		return text
	}
}

// live reads a flag that is true in production, as livemode.
func live(pointer string) field { return flagged(pointer, Production, Test) }

// testing reads a flag that is true in a test, as test_mode.
func testing(pointer string) field { return flagged(pointer, Test, Production) }

func flagged(pointer, yes, no string) field {
	p := pointerTo(pointer)
	return func(r reading) string {
		v, _ := p.Find(r.doc)
		flag, ok := v.(bool)
		switch {
		case !ok:
			return ""
		case flag:
			return yes
		}
		return no
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

// rawDigest hashes the bytes as sent; of a form, the JSON in it.
func rawDigest(r reading) string { return document.Digest(r.content) }

// valueDigest hashes what the body says. A sender that writes its JSON anew for each try may order keys
// and white space differently; that is no other fact.
func valueDigest(r reading) string {
	b, err := document.Canonical(r.doc)
	if err != nil { // not from document.Decode: the bytes still tell two facts apart
		b = r.content
	}
	return document.Digest(b)
}

// digestWithout hashes what the body says but for members that change on a retry.
func digestWithout(pointers ...string) field {
	var volatile [][]string
	for _, text := range pointers {
		volatile = append(volatile, pointerTo(text).Steps())
	}
	return func(r reading) string {
		for _, steps := range volatile {
			r.doc = without(r.doc, steps)
		}
		return valueDigest(r)
	}
}

// without is a copy of a document that lacks one member; what is not on the way to it is shared.
func without(doc any, steps []string) any {
	members, ok := doc.(map[string]any)
	if !ok || len(steps) == 0 {
		return doc
	}
	child, ok := members[steps[0]]
	if !ok {
		return doc
	}
	less := maps.Clone(members)
	if len(steps) == 1 {
		delete(less, steps[0])
	} else {
		less[steps[0]] = without(child, steps[1:])
	}
	return less
}

// typeAndBody is the event key of a sender whose ids are not signed: what happened, and the bytes. A
// body without a version of its own takes the day in, else the second deletion of an object that came
// back would be a repeat for ever. The price: on another day, be it a retry across midnight (UTC) or what
// somebody has captured, the same body is a new event, and the newest, since nothing in it says otherwise.
func typeAndBody(r reading) string {
	key := typeAndContent(r)
	if !r.versions {
		key += "#" + r.received.UTC().Format(time.DateOnly)
	}
	return key
}

// typeAndContent is the same of a sender whose bodies all hold a time, or are about what happens once.
func typeAndContent(r reading) string { return r.typ + "#" + document.Digest(r.content) }

// typeAndFact is the event key of a sender without ids whose bodies may hold what changes on a retry: what
// happened, and what the digest says of it. As in typeAndBody, and at the same price, a body without a version
// takes the day in.
func typeAndFact(digest field) field {
	return func(r reading) string {
		key := r.typ + "#" + digest(r)
		if !r.versions {
			key += "#" + r.received.UTC().Format(time.DateOnly)
		}
		return key
	}
}

// pointerTo parses a pointer of a row; a fault in one shows at start, and in every test.
func pointerTo(text string) document.Pointer {
	p, err := document.ParsePointer(text)
	if err != nil {
		panic("webhook: " + err.Error())
	}
	return p
}
