package document

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Pointer names a place in a document: RFC 6901, with "*" for every element of an array. The zero
// Pointer names the whole document.
type Pointer struct {
	text  string
	steps []string
}

// escapes takes the two escapes out in one pass, so that what is left of one never makes another: "~~01" has a bare ~.
var escapes = strings.NewReplacer("~0", "", "~1", "")

// ParsePointer reads "/categories/*/name". It refuses what does not begin with a slash, except "".
func ParsePointer(text string) (Pointer, error) {
	if text == "" {
		return Pointer{}, nil
	}
	if text[0] != '/' {
		return Pointer{}, fmt.Errorf("pointer %q does not begin with a slash", text)
	}
	steps := strings.Split(text[1:], "/")
	for i, s := range steps {
		if strings.Contains(escapes.Replace(s), "~") {
			return Pointer{}, fmt.Errorf("pointer %q has a ~ that is neither ~0 nor ~1", text)
		}
		steps[i] = strings.ReplaceAll(strings.ReplaceAll(s, "~1", "/"), "~0", "~")
	}
	return Pointer{text: text, steps: steps}, nil
}

// String is the pointer as it was written.
func (p Pointer) String() string { return p.text }

// Steps are the unescaped names between the slashes; none for the whole document.
func (p Pointer) Steps() []string { return slices.Clone(p.steps) }

// UnmarshalText reads a pointer, as [ParsePointer].
func (p *Pointer) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePointer(string(text))
	return err
}

// MarshalText writes the pointer as it was read.
func (p Pointer) MarshalText() ([]byte, error) { return []byte(p.text), nil }

// Wild tells whether the pointer can name more than one place.
func (p Pointer) Wild() bool {
	for _, s := range p.steps {
		if s == "*" {
			return true
		}
	}
	return false
}

// Find returns the first value at the pointer. A null is found.
func (p Pointer) Find(v any) (any, bool) {
	all := p.All(v)
	if len(all) == 0 {
		return nil, false
	}
	return all[0], true
}

// All returns every value at the pointer, in document order.
func (p Pointer) All(v any) []any {
	at := []any{v}
	for _, step := range p.steps {
		var next []any
		for _, v := range at {
			next = append(next, children(v, step)...)
		}
		at = next
	}
	return at
}

func children(v any, step string) []any {
	switch v := v.(type) {
	case map[string]any:
		if child, ok := v[step]; ok {
			return []any{child}
		}
	case []any:
		if step == "*" {
			return v
		}
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(v) && strconv.Itoa(i) == step {
			return []any{v[i]}
		}
	}
	return nil
}

// Text is a scalar as text: a string as it is, a number as it was written. Anything else is no text.
func Text(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	}
	return "", false
}
