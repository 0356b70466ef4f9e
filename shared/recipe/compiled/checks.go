package compiled

import (
	"fmt"
	"slices"
	"strings"

	"engang/shared/recipe"
)

// A checkSite is where in a recipe a check stands, and what it can refer to.
type checkSite struct {
	at      string
	outline outline
	input   recipe.Fields
}

// checkCheck refuses a check that can never match the output, or that does not fit what it finds.
func checkCheck(s checkSite, c recipe.Check, faults *Faults) {
	faults.check(c.Length != nil || c.Unique != "" || len(c.Deny) > 0 || c.Quotes != nil, s.at, "the check checks nothing", "say length, unique, deny or quotes")
	found := s.outline.at(c.Path.Steps())
	if s.outline.root != nil && len(found) == 0 {
		faults.add(s.at+"/path", "the path leads nowhere in the output schema", "point at a property of the output")
		return
	}
	fits := func(kinds ...string) bool {
		return s.outline.root == nil || slices.ContainsFunc(found, func(node map[string]any) bool {
			return slices.ContainsFunc(kinds, func(k string) bool { return hasType(node, k) })
		})
	}
	if c.Length != nil {
		least, most := c.Length[0], c.Length[1]
		faults.check(least >= 0 && most >= least, s.at+"/length", "the lengths are not least and most", "write [least, most]")
		faults.check(fits("string", "array"), s.at+"/length", "neither a text nor a list is there", "point at a text or a list")
	}
	if c.Unique != "" {
		faults.check(c.Unique == "fold", s.at+"/unique", "unknown comparison", "use fold (case and white space do not count)")
		faults.check(c.Path.Wild(), s.at+"/unique", "the path names one place", "point at the items, with * for each")
		faults.check(fits("string", "number", "integer"), s.at+"/unique", "neither texts nor numbers are there", "point at texts")
	}
	for i, word := range c.Deny {
		faults.check(strings.TrimSpace(word) != "", fmt.Sprintf("%s/deny/%d", s.at, i), "an empty word", "name the word")
	}
	faults.check(len(c.Deny) == 0 || fits("string"), s.at+"/deny", "no text is there", "point at a text")
	if c.Quotes != nil {
		s.quotes(*c.Quotes, found, faults)
	}
}

func (s checkSite) quotes(q recipe.Quotes, found []map[string]any, faults *Faults) {
	if s.outline.root == nil {
		return
	}
	at := s.at + "/quotes"
	property := func(part, name string) {
		ok := slices.ContainsFunc(found, func(node map[string]any) bool {
			_, ok := childSchema(node, name)
			return ok && hasType(node, "object")
		})
		faults.check(ok, at+"/"+part, "the object at the path has no such property", "name a property of the object that the path points at")
	}
	property("value", q.Value)
	property("in", q.In)
	for _, node := range found {
		child, ok := childSchema(node, q.In)
		if !ok {
			continue
		}
		for _, named := range s.outline.alternatives(child, map[string]bool{}) {
			list, _ := named["enum"].([]any)
			for _, v := range list {
				name, isText := v.(string)
				_, known := s.input.Fields[name]
				faults.check(!isText || known, at+"/in", "the schema allows a name there that is no input field", "make the enum a list of input fields")
			}
		}
	}
}
