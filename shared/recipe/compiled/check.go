package compiled

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"engang/shared/document"
	"engang/shared/recipe"
)

// Check holds an output against the recipe. Findings.Unusable says why nothing can be made of it: it is
// not one JSON value, a key is doubled, or it does not fit the schema. Otherwise Findings.Flags has one
// entry for each check of the recipe that did not pass. Neither repeats any of the output.
func (c *Recipe) Check(output []byte, in recipe.Input) recipe.Findings {
	v, reason := c.read(output)
	if reason != "" {
		return recipe.Findings{Unusable: reason}
	}
	var flags []string
	q := newQuotes(in)
	for _, check := range c.recipe.Checks {
		flags = append(flags, run(check, v, q)...)
	}
	return recipe.Findings{Flags: flags}
}

// read decodes an output, or says why it is unusable.
func (c *Recipe) read(output []byte) (v any, reason string) {
	if len(output) > recipe.MaxOutputBytes {
		return nil, fmt.Sprintf("the output has %d bytes, at most %d are kept", len(output), recipe.MaxOutputBytes)
	}
	v, err := document.Decode(output)
	switch {
	case err != nil:
		return nil, "the output is not one JSON value"
	case doubledKey(output):
		return nil, "the output has a key twice in one object"
	case !calculable(v):
		return nil, "the output holds a number that is out of range"
	}
	if !c.outline.affordable(v) {
		return nil, "the output is nested in more ways than are looked at"
	}
	if err := c.schema.Validate(v); err != nil {
		return nil, "the output does not fit the schema: " + violation(err)
	}
	return v, ""
}

// doubledKey tells whether an object has a key twice: readers disagree on which one counts. The text
// must be valid JSON.
func doubledKey(raw []byte) bool {
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	type level struct {
		keys  map[string]bool // nil in a list
		value bool            // the next token is a value
	}
	stack := []level{{}}
	for {
		token, err := d.Token()
		if err != nil {
			return false
		}
		top := &stack[len(stack)-1]
		if delim, ok := token.(json.Delim); ok && (delim == '}' || delim == ']') {
			stack = stack[:len(stack)-1]
			continue
		}
		if key, ok := token.(string); ok && top.keys != nil && !top.value {
			if top.keys[key] {
				return true
			}
			top.keys[key], top.value = true, true
			continue
		}
		top.value = false
		switch token {
		case json.Delim('{'):
			stack = append(stack, level{keys: map[string]bool{}})
		case json.Delim('['):
			stack = append(stack, level{})
		}
	}
}

// calculable tells whether every number in a value is ordinary.
func calculable(v any) bool {
	switch v := v.(type) {
	case json.Number:
		return ordinary(v)
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { return !calculable(item) })
	case map[string]any:
		for _, item := range v {
			if !calculable(item) {
				return false
			}
		}
	}
	return true
}

// violation names the first place and rule that an output broke. Places are made of the schema's own
// names, since unknown ones are refused where they stand.
func violation(err error) string {
	e, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return "it cannot be checked"
	}
	for len(e.Causes) > 0 {
		e = e.Causes[0]
	}
	rule := "the schema"
	if path := e.ErrorKind.KeywordPath(); len(path) > 0 {
		rule = path[0]
	}
	return fmt.Sprintf("%s at %q", rule, under("", e.InstanceLocation...))
}

// run returns what a check has against an output, one flag per rule.
func run(c recipe.Check, output any, from quotes) (flags []string) {
	found := c.Path.All(output)
	flag := func(bad int, format string, args ...any) {
		if bad > 0 {
			flags = append(flags, fmt.Sprintf("%s: %d of %d %s", c.Path, bad, len(found), fmt.Sprintf(format, args...)))
		}
	}
	count := func(bad func(any) bool) (n int) {
		for _, v := range found {
			if bad(v) {
				n++
			}
		}
		return n
	}
	if c.Length != nil {
		flag(count(func(v any) bool { return wrongLength(v, *c.Length) }), "not of length %d to %d", c.Length[0], c.Length[1])
	}
	if c.Unique == "fold" {
		seen := map[string]bool{}
		flag(count(func(v any) bool { return seenBefore(v, seen) }), "said twice")
	}
	if len(c.Deny) > 0 {
		flag(count(func(v any) bool { return holdsWord(v, c.Deny) }), "with a denied word")
	}
	if c.Quotes != nil {
		flag(count(func(v any) bool { return !from.hold(*c.Quotes, v) }), "not a quote from the input field that it names")
	}
	return flags
}

func wrongLength(v any, limits [2]int) bool {
	var n int
	switch v := v.(type) {
	case string:
		n = runes(v)
	case []any:
		n = len(v)
	default:
		return false // a null, where the schema allows one
	}
	return n < limits[0] || n > limits[1]
}

func seenBefore(v any, seen map[string]bool) bool {
	text, ok := document.Text(v)
	if !ok {
		return false
	}
	folded := fold(text)
	if seen[folded] {
		return true
	}
	seen[folded] = true
	return false
}

func holdsWord(v any, words []string) bool {
	text, ok := v.(string)
	return ok && slices.ContainsFunc(words, func(word string) bool {
		return contains(fold(text), fold(word), splitsWord)
	})
}

// quotes are the texts of an input that an output may quote, folded once: an answer may quote thousands of times.
type quotes struct {
	in     recipe.Input
	folded map[string][]string // by field
}

func newQuotes(in recipe.Input) quotes { return quotes{in, map[string][]string{}} }

// hold tells whether the object's value occurs in the input field that the object names.
func (from quotes) hold(q recipe.Quotes, object any) bool {
	properties, ok := object.(map[string]any)
	if !ok || properties[q.Value] == nil {
		return true // nothing is quoted
	}
	value, ok := document.Text(properties[q.Value])
	name, named := properties[q.In].(string)
	if !ok || !named || fold(value) == "" {
		return false
	}
	value = fold(value)
	return slices.ContainsFunc(from.field(name), func(text string) bool { return contains(text, value, splitsNumber) })
}

func (from quotes) field(name string) []string {
	texts, known := from.folded[name]
	if !known {
		texts = foldedTexts(from.in.Fields[name])
		from.folded[name] = texts
	}
	return texts
}

// foldedTexts are the texts and numbers of a value, folded.
func foldedTexts(v any) (all []string) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			all = append(all, foldedTexts(item)...)
		}
		return all
	case map[string]any:
		for _, item := range v {
			all = append(all, foldedTexts(item)...)
		}
		return all
	}
	if text, ok := document.Text(v); ok {
		all = append(all, fold(text))
	}
	return all
}
