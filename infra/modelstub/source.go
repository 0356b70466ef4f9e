package modelstub

import (
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"engang/shared/document"
)

// A source is the input of a call, as far as the stub makes use of it.
type source struct {
	fields map[string]any
	names  []string // of the fields that hold text, in reading order
	texts  []string // of these fields, in reading order, without markup
}

// first are the fields that say what the input is about; the others follow by name.
var first = []string{"name", "title", "subject", "description", "text", "body", "message", "categories"}

// unsaid are words that a check of a recipe is likely to deny: claims, not facts.
var unsaid = []string{"best", "cheapest", "cheap", "free", "guaranteed", "perfect", "unique", "amazing", "ultimate"}

var markup = regexp.MustCompile(`<[^<>]*>`)

func newSource(input string) *source {
	s := &source{}
	v, err := document.Decode([]byte(input))
	s.fields, _ = v.(map[string]any)
	if err != nil || s.fields == nil {
		s.fields = map[string]any{"text": input}
	}
	place := func(name string) int {
		if i := slices.Index(first, name); i >= 0 {
			return i
		}
		return len(first)
	}
	names := slices.SortedFunc(maps.Keys(s.fields), func(a, b string) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), strings.Compare(a, b))
	})
	for _, name := range names {
		leaves := texts(s.fields[name])
		if len(leaves) > 0 {
			s.names = append(s.names, name)
		}
		for _, leaf := range leaves {
			if plain := strings.Join(strings.Fields(markup.ReplaceAllString(leaf, " ")), " "); plain != "" {
				s.texts = append(s.texts, plain)
			}
		}
	}
	return s
}

// texts are the texts within a value, in document order; those of an object by name.
func texts(v any) []string {
	var all []string
	switch v := v.(type) {
	case string:
		if strings.TrimSpace(v) != "" {
			return []string{v}
		}
	case []any:
		for _, child := range v {
			all = append(all, texts(child)...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			all = append(all, texts(v[key])...)
		}
	}
	return all
}

// scalar is the field of a name where it is a plain value.
func (s *source) scalar(name string) (any, bool) {
	switch v := s.fields[name].(type) {
	case string:
		return v, strings.TrimSpace(v) != ""
	case json.Number, bool:
		return v, true
	}
	return nil, false
}

// says tells whether a text is one of the words, or the whole of one of the texts.
func (s *source) says(text string) bool {
	for _, t := range s.texts {
		if strings.EqualFold(t, text) || slices.ContainsFunc(split(t), func(w string) bool { return strings.EqualFold(w, text) }) {
			return true
		}
	}
	return false
}

// words are the input's words that can stand alone: no two equal but for case, longer ones first.
func (s *source) words() []string {
	var long, short []string
	seen := map[string]bool{}
	for _, t := range s.texts {
		for _, w := range split(t) {
			folded := strings.ToLower(w)
			n := utf8.RuneCountInString(w)
			if n < 2 || n > 40 || seen[folded] || slices.Contains(unsaid, folded) || !strings.ContainsFunc(w, unicode.IsLetter) {
				continue
			}
			seen[folded] = true
			if n >= 4 {
				long = append(long, w)
			} else {
				short = append(short, w)
			}
		}
	}
	return append(long, short...)
}

func split(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' })
}

// The length of a summary, in characters: what most recipes are likely to ask for.
const (
	leastSummary = 40
	mostSummary  = 240
	mostTitle    = 60
)

// summary says what the input says, in its own words.
func (s *source) summary() string {
	var said []string
	for _, t := range s.texts {
		if t = strings.TrimRight(t, ". "); t != "" && !slices.Contains(said, t) {
			said = append(said, t)
		}
	}
	text := cut(honest(strings.Join(said, ". ")), mostSummary)
	if utf8.RuneCountInString(text) < leastSummary {
		text = strings.TrimSpace(text + ". Described by: " + strings.Join(s.names, ", ") + ".")
	}
	for utf8.RuneCountInString(text) < leastSummary {
		text += " Nothing else is known of it."
	}
	return text
}

// honest leaves out words that make claims.
func honest(text string) string {
	return strings.Join(slices.DeleteFunc(strings.Fields(text), func(w string) bool {
		return slices.ContainsFunc(split(w), func(part string) bool { return slices.Contains(unsaid, strings.ToLower(part)) })
	}), " ")
}

// title is a short text on what the input is about.
func (s *source) title() string {
	if len(s.texts) == 0 {
		return "Untitled"
	}
	return cut(honest(s.texts[0]), mostTitle)
}

// cut shortens a text to a number of characters, at a word where there is one.
func cut(text string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	short := string(runes[:limit])
	if i := strings.LastIndexByte(short, ' '); i > 0 {
		short = short[:i]
	}
	return short
}
