package compiled

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"engang/shared/document"
)

const (
	maxRefusals     = 20
	maxPatternChars = 200
)

// A refusal is one line of refuse_if.
type refusal struct {
	at    document.Pointer
	parts []string // of the pattern, between its stars
}

// checkRefusals reads refuse_if.
func checkRefusals(rules map[string]string, faults *Faults) (read []refusal) {
	const at = "/input/refuse_if"
	faults.check(len(rules) <= maxRefusals, at, fmt.Sprintf("more than %d patterns", maxRefusals), "keep those that a sender really sends")
	for _, pointer := range slices.Sorted(maps.Keys(rules)) {
		here, pattern := under(at, pointer), rules[pointer]
		p, err := document.ParsePointer(pointer)
		faults.check(err == nil && strings.Trim(pointer, "/") != "", here, "no pointer to a place in the payload", "write a pointer such as /code")
		faults.check(pattern != "" && runes(pattern) <= maxPatternChars, here, fmt.Sprintf("an empty pattern, or one of more than %d characters", maxPatternChars), "write the text that is refused, with * for any text")
		read = append(read, refusal{at: p, parts: strings.Split(pattern, "*")})
	}
	return read
}

// matches tells whether the payload holds what is refused.
func (r refusal) matches(doc any) bool {
	return slices.ContainsFunc(r.at.All(doc), func(v any) bool {
		text, ok := document.Text(v)
		switch v := v.(type) {
		case nil:
			return false
		case bool:
			text, ok = fmt.Sprint(v), true
		}
		if !ok { // a list or a mapping, of which only * says something
			return strings.Join(r.parts, "") == ""
		}
		return like(text, r.parts)
	})
}

// like tells whether a text is the parts in their order, with anything between them. Each part is looked for
// once, from left to right: taking the first place that fits leaves the most for those that follow.
func like(text string, parts []string) bool {
	first, last := parts[0], parts[len(parts)-1]
	if len(parts) == 1 {
		return text == first
	}
	rest, ok := strings.CutPrefix(text, first)
	if !ok {
		return false
	}
	if rest, ok = strings.CutSuffix(rest, last); !ok {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		if _, rest, ok = strings.Cut(rest, part); !ok {
			return false
		}
	}
	return true
}
