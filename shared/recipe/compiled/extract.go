package compiled

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"engang/shared/document"
	"engang/shared/mask"
	"engang/shared/recipe"
)

// Extract takes the recipe's fields from a payload, which must consist of what [document.Decode]
// returns, and nothing else of it. The same payload always gives the same bytes and digest.
//
// A field that is absent, null or empty (an empty text, list or mapping) is left out, so that these
// are the same input. Texts lose control characters and characters that show nothing. A pointer with *
// gives a list. With as: text a text or number becomes plain text ([Field.As]); anything else that a
// field's form cannot take is left out. What the recipe masks is replaced in every text, in the names of
// properties and in whole numbers that can be nothing else, before a text is cut; constants are ours and stay.
//
// It fails with an [InputError] when the payload is one that the recipe refuses, when a required field is left
// out, when no field at all is found, or when the input is larger than [MaxInputBytes]. The error names fields
// and pointers, never content. Time and memory grow with the payload and the number of fields, whatever is in it.
func (c *Recipe) Extract(doc any) (recipe.Input, error) {
	for _, r := range c.refusals {
		if r.matches(doc) {
			return recipe.Input{}, &recipe.InputError{Reason: "the payload is one that the recipe refuses, by what it has at " + r.at.String()}
		}
	}
	fields := maps.Clone(c.consts)
	masked := 0
	for name, f := range c.recipe.Input.Fields {
		if f.From == nil {
			continue
		}
		t := taking{field: f, mask: c.mask}
		if v, ok := t.extract(doc); ok {
			fields[name] = v
		}
		masked += t.masked
	}
	if err := c.missing(fields); err != nil {
		return recipe.Input{}, err
	}
	raw, err := document.Canonical(fields)
	if err != nil {
		return recipe.Input{}, &recipe.InputError{Reason: "the input cannot be written as JSON"}
	}
	if len(raw) > recipe.MaxInputBytes {
		return recipe.Input{}, &recipe.InputError{Reason: fmt.Sprintf("the input has %d bytes, at most %d are sent", len(raw), recipe.MaxInputBytes)}
	}
	return recipe.Input{Fields: fields, JSON: raw, Digest: document.Digest(raw), Masked: masked}, nil
}

func (c *Recipe) missing(fields map[string]any) error {
	var lacking []string
	for _, name := range slices.Sorted(slices.Values(c.recipe.Input.Required)) {
		if _, ok := fields[name]; !ok {
			lacking = append(lacking, fmt.Sprintf("%s (%s)", name, c.recipe.Input.Fields[name].From))
		}
	}
	switch {
	case len(lacking) > 0:
		return &recipe.InputError{Reason: "required but missing or empty in the payload: " + strings.Join(lacking, ", ")}
	case len(fields) == len(c.consts):
		return &recipe.InputError{Reason: "the payload has none of the recipe's fields"}
	}
	return nil
}

// A taking takes one field from one payload.
type taking struct {
	field  recipe.Field
	mask   mask.Masker
	masked int
}

// extract is the field's value in a payload, and whether there is one.
func (t *taking) extract(doc any) (any, bool) {
	found := t.field.From.All(doc)
	if len(found) == 0 {
		return nil, false
	}
	v := found[0]
	if t.field.From.Wild() {
		v = found
	}
	list, isList := v.([]any)
	if !isList {
		return t.form(v)
	}
	kept := []any{}
	for _, item := range list {
		if t.field.MaxItems > 0 && len(kept) == t.field.MaxItems {
			break
		}
		if item, ok := t.form(item); ok {
			kept = append(kept, item)
		}
	}
	return kept, len(kept) > 0
}

// form brings one value, or one item of a list, into the field's form.
func (t *taking) form(v any) (any, bool) {
	switch {
	case len(t.field.Pick) > 0:
		object, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		picked := map[string]any{}
		for _, name := range t.field.Pick {
			if p, ok := t.clean(object[name]); ok {
				picked[name] = p
			}
		}
		return picked, len(picked) > 0
	case t.field.As == "text":
		text, ok := document.Text(v)
		if !ok {
			return nil, false
		}
		text = t.text(plainText(text))
		return text, text != ""
	}
	return t.clean(v)
}

// clean cleans every text inside a value, and tells whether anything is left.
func (t *taking) clean(v any) (any, bool) {
	switch v := v.(type) {
	case nil:
		return nil, false
	case string:
		text := t.text(visible(v))
		return text, strings.TrimSpace(text) != ""
	case json.Number:
		if placeholder := t.mask.Number(v.String()); placeholder != "" {
			t.masked++
			return placeholder, true
		}
		return v, true
	case []any:
		all := []any{}
		for _, item := range v {
			if item, ok := t.clean(item); ok {
				all = append(all, item)
			}
		}
		return all, len(all) > 0
	case map[string]any:
		all := map[string]any{}
		for _, name := range slices.Backward(slices.Sorted(maps.Keys(v))) { // in order: of two names that look alike one always wins
			if item, ok := t.clean(v[name]); ok {
				all[t.masking(visible(name))] = item
			}
		}
		return all, len(all) > 0
	}
	return v, true
}

// masking masks a text and counts.
func (t *taking) masking(text string) string {
	text, n := t.mask.Text(text)
	t.masked += n
	return text
}

// text masks a text and then cuts it: what is cut in two could not be found any more. A cut can also make what
// was no number before one, of the digits that are left; where its placeholder has no room, more is cut off.
func (t *taking) text(s string) string {
	s = t.masking(s)
	for most := t.field.Max; ; most /= 2 {
		s = cut(s, most)
		masked, n := t.mask.Text(s)
		if n == 0 {
			return s
		}
		if most <= 0 || runes(masked) <= t.field.Max {
			t.masked += n
			return masked
		}
	}
}

// visible removes what a person would not see: control characters (line ends become \n), marks that
// turn the direction of text, zero-width spaces, byte order marks and tag characters, in which
// instructions can be hidden. The joiners that scripts and emoji need stay.
func visible(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case ' ' <= r && r <= '~': // nearly all that there is
			return r
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
	if most <= 0 || len(s) <= most || runes(s) <= most {
		return s
	}
	end, n := 0, 0
	atSpace := 0
	for i, r := range s {
		if n > most/2 && n < most && unicode.IsSpace(r) {
			atSpace = i
		}
		if n == most-1 { // the mark is a character too
			end = i
			break
		}
		n++
	}
	if atSpace > 0 {
		end = atSpace
	}
	return strings.TrimRightFunc(s[:end], unicode.IsSpace) + "…"
}
