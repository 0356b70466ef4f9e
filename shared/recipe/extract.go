package recipe

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"engang/shared/document"
)

// MaxInputBytes is the largest input, as canonical JSON, that is sent to a model.
const MaxInputBytes = 256 << 10

// Extract takes the recipe's fields from a payload, which must consist of what [document.Decode]
// returns, and nothing else of it. The same payload always gives the same bytes and digest.
//
// A field that is absent, null or empty (an empty text, list or mapping) is left out, so that these
// are the same input. Texts lose control characters and characters that show nothing. A pointer with *
// gives a list. With as: text a text or number becomes plain text ([Field.As]); anything else that a
// field's form cannot take is left out.
//
// It fails with an [InputError] when a required field is left out, when no field at all is found, or
// when the input is larger than [MaxInputBytes]. The error names fields and pointers, never content.
func (c *Compiled) Extract(doc any) (Input, error) {
	fields := maps.Clone(c.consts)
	for name, f := range c.recipe.Input.Fields {
		if f.From == nil {
			continue
		}
		if v, ok := f.extract(doc); ok {
			fields[name] = v
		}
	}
	if err := c.missing(fields); err != nil {
		return Input{}, err
	}
	raw, err := document.Canonical(fields)
	if err != nil {
		return Input{}, &InputError{Reason: "the input cannot be written as JSON"}
	}
	if len(raw) > MaxInputBytes {
		return Input{}, &InputError{Reason: fmt.Sprintf("the input has %d bytes, at most %d are sent", len(raw), MaxInputBytes)}
	}
	return Input{Fields: fields, JSON: raw, Digest: document.Digest(raw)}, nil
}

func (c *Compiled) missing(fields map[string]any) error {
	var lacking []string
	for _, name := range slices.Sorted(slices.Values(c.recipe.Input.Required)) {
		if _, ok := fields[name]; !ok {
			lacking = append(lacking, fmt.Sprintf("%s (%s)", name, c.recipe.Input.Fields[name].From))
		}
	}
	switch {
	case len(lacking) > 0:
		return &InputError{Reason: "required but missing or empty in the payload: " + strings.Join(lacking, ", ")}
	case len(fields) == len(c.consts):
		return &InputError{Reason: "the payload has none of the recipe's fields"}
	}
	return nil
}

// extract is the field's value in a payload, and whether there is one.
func (f Field) extract(doc any) (any, bool) {
	found := f.From.All(doc)
	if len(found) == 0 {
		return nil, false
	}
	v := found[0]
	if f.From.Wild() {
		v = found
	}
	list, isList := v.([]any)
	if !isList {
		return f.form(v)
	}
	kept := []any{}
	for _, item := range list {
		if f.MaxItems > 0 && len(kept) == f.MaxItems {
			break
		}
		if item, ok := f.form(item); ok {
			kept = append(kept, item)
		}
	}
	return kept, len(kept) > 0
}

// form brings one value, or one item of a list, into the field's form.
func (f Field) form(v any) (any, bool) {
	switch {
	case len(f.Pick) > 0:
		object, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		picked := map[string]any{}
		for _, name := range f.Pick {
			if p, ok := f.clean(object[name]); ok {
				picked[name] = p
			}
		}
		return picked, len(picked) > 0
	case f.As == "text":
		text, ok := document.Text(v)
		if !ok {
			return nil, false
		}
		text = cut(plainText(text), f.Max)
		return text, text != ""
	}
	return f.clean(v)
}

// clean cleans every text inside a value, and tells whether anything is left.
func (f Field) clean(v any) (any, bool) {
	switch v := v.(type) {
	case nil:
		return nil, false
	case string:
		text := cut(visible(v), f.Max)
		return text, strings.TrimSpace(text) != ""
	case []any:
		all := []any{}
		for _, item := range v {
			if item, ok := f.clean(item); ok {
				all = append(all, item)
			}
		}
		return all, len(all) > 0
	case map[string]any:
		all := map[string]any{}
		for _, name := range slices.Backward(slices.Sorted(maps.Keys(v))) { // in order: of two names that look alike one always wins
			if item, ok := f.clean(v[name]); ok {
				all[visible(name)] = item
			}
		}
		return all, len(all) > 0
	}
	return v, true
}

// visible removes what a person would not see: control characters (line ends become \n), marks that
// turn the direction of text, zero-width spaces, byte order marks and tag characters, in which
// instructions can be hidden. The joiners that scripts and emoji need stay.
func visible(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r' || r == '\u0085' || r == '\u2028' || r == '\u2029':
			return '\n'
		case r == '\v' || r == '\f':
			return ' '
		case r == '\n' || r == '\t' || r == '\u200c' || r == '\u200d':
			return r
		case unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, s)
}

// cut shortens a text to most characters, the mark included: at a white space where there is one in its
// second half. Zero means no limit.
func cut(s string, most int) string {
	if most <= 0 || runes(s) <= most {
		return s
	}
	all := []rune(s)[:most]
	end := most - 1 // the mark is a character too
	for i := end; i > most/2; i-- {
		if unicode.IsSpace(all[i]) {
			end = i
			break
		}
	}
	return strings.TrimRightFunc(string(all[:end]), unicode.IsSpace) + "…"
}
