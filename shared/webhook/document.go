package webhook

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"engang/shared/document"
)

// Document reads what a delivery says: its JSON, also where the sender writes a form. The content is the
// JSON text that the document was read from, which is what is kept of the delivery: the body itself, or
// what was made of a form.
//
// It returns an error that wraps [document.ErrMalformed] and repeats nothing of the body. Only a
// verified delivery is worth reading.
func (s Scheme) Document(req Request) (doc any, content []byte, err error) {
	if s.document != nil {
		doc, content, err = s.document(req)
	} else {
		content = req.Body
		doc, err = document.Decode(content)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read %s delivery: %w", s.name, err)
	}
	return doc, content, nil
}

// maxFields bounds the work that one form can ask for.
const maxFields = 1000

// A formField is one pair of a form, in the order in which it was sent.
type formField struct{ name, value string }

// formFields reads a form strictly. What a lenient reader makes of a broken escape or a semicolon would
// differ from what the sender signed.
func formFields(body []byte) ([]formField, error) {
	if len(body) == 0 {
		return nil, fmt.Errorf("an empty form: %w", document.ErrMalformed)
	}
	pairs := strings.Split(string(body), "&")
	if len(pairs) > maxFields {
		return nil, fmt.Errorf("a form of more than %d fields: %w", maxFields, document.ErrMalformed)
	}
	fields := make([]formField, len(pairs))
	for i, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		for _, text := range []*string{&name, &value} {
			plain, err := url.QueryUnescape(*text)
			if err != nil || !ok || strings.Contains(*text, ";") || !utf8.ValidString(plain) {
				return nil, fmt.Errorf("no form: %w", document.ErrMalformed)
			}
			*text = plain
		}
		fields[i] = formField{name, value}
	}
	return fields, nil
}

// formDocument makes an object of a form, as objectOf does.
func formDocument(body []byte) (any, []byte, error) {
	fields, err := formFields(body)
	if err != nil {
		return nil, nil, err
	}
	return objectOf(fields)
}

// objectOf makes an object of fields: a text for each, an array of texts where a name is repeated. The
// content has sorted keys, so that it does not depend on how the form was encoded.
func objectOf(fields []formField) (any, []byte, error) {
	doc := map[string]any{}
	for _, f := range fields {
		switch had := doc[f.name].(type) {
		case nil:
			doc[f.name] = f.value
		case string:
			doc[f.name] = []any{had, f.value}
		case []any:
			doc[f.name] = append(had, f.value)
		}
	}
	content, err := document.Canonical(doc)
	return doc, content, err
}

// bracketed tells JSON from a form by the body itself: Content-Type is not signed, and the name of a field
// begins otherwise.
func bracketed(body []byte) bool {
	body = bytes.TrimLeft(body, " \t\r\n")
	return len(body) > 0 && (body[0] == '{' || body[0] == '[')
}

// payloadField is the JSON text of a form that is the one field payload and nothing else. Whether a body
// is such a form is told by the body alone: Content-Type is not signed, and a JSON body read as a form
// could hold what its author likes.
func payloadField(body []byte) ([]byte, bool) {
	if !bytes.HasPrefix(body, []byte("payload=")) {
		return nil, false
	}
	fields, err := formFields(body)
	if err != nil || len(fields) != 1 {
		return nil, false
	}
	return []byte(fields[0].value), true
}

// payloadOrBody is the JSON text of such a form, or the body.
func payloadOrBody(body []byte) []byte {
	if content, ok := payloadField(body); ok {
		return content
	}
	return body
}

// payloadOrJSON reads a body that is JSON, or a form with JSON in its one field payload.
func payloadOrJSON(r Request) (any, []byte, error) {
	content := payloadOrBody(r.Body)
	doc, err := document.Decode(content)
	return doc, content, err
}
