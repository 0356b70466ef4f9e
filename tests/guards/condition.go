package main

import "strings"

// A clause is a condition of an expression, or a part of one.
type clause struct {
	text  string // without parentheses around it
	op    string // "AND" or "OR" between its parts; empty for a comparison
	parts []clause
}

// parse takes a condition apart. It knows the forms of expr.go: AND, OR, parentheses, comparisons, functions.
func parse(text string) clause {
	c := clause{text: unwrapped(strings.TrimSpace(text))}
	for _, op := range []string{"OR", "AND"} { // the one that binds less first
		parts := split(c.text, " "+op+" ")
		if len(parts) < 2 {
			continue
		}
		c.op = op
		for _, p := range parts {
			c.parts = append(c.parts, parse(p))
		}
		break
	}
	return c
}

// split cuts a text at a separator that stands in no parentheses.
func split(text, separator string) (parts []string) {
	depth, from := 0, 0
	for i := range len(text) {
		switch {
		case text[i] == '(':
			depth++
		case text[i] == ')':
			depth--
		case depth == 0 && strings.HasPrefix(text[i:], separator):
			parts = append(parts, text[from:i])
			from = i + len(separator)
		}
	}
	return append(parts, text[from:])
}

// unwrapped takes parentheses away that stand around the whole text.
func unwrapped(text string) string {
	for strings.HasPrefix(text, "(") && len(text) == closing(text)+1 {
		text = strings.TrimSpace(text[1 : len(text)-1])
	}
	return text
}

// closing is where the parenthesis closes that a text begins with.
func closing(text string) int {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth == 0 {
			return i
		}
	}
	return -1
}

// What holds for every item, and what for none. A part is taken out by these, since each value that is given must
// still be named: an expression that lacks one is refused before it is sent.
const (
	always = "(attribute_exists(#pk) OR attribute_not_exists(#pk))"
	never  = "(attribute_exists(#pk) AND attribute_not_exists(#pk))"
)

// A variant is an expression with one guard taken out.
type variant struct{ name, text string }

// variants are a condition without the whole of it, without each part that must hold, and without each alternative.
func (c clause) variants() []variant {
	all := []variant{{"refuses nothing", "(" + c.text + ") OR " + always}}
	return append(all, c.inner(func(text string) string { return text })...)
}

// inner are the variants of the parts; around puts one back to where it stood.
func (c clause) inner(around func(string) string) (all []variant) {
	for i, p := range c.parts {
		with := func(text string) string {
			texts := make([]string, len(c.parts))
			for n, other := range c.parts {
				texts[n] = "(" + other.text + ")"
			}
			texts[i] = "(" + text + ")"
			return around(strings.Join(texts, " "+c.op+" "))
		}
		if c.op == "AND" {
			all = append(all, variant{"without " + p.text, with("(" + p.text + ") OR " + always)})
		} else {
			all = append(all, variant{"never " + p.text, with("(" + p.text + ") AND " + never)})
		}
		all = append(all, p.inner(with)...)
	}
	return all
}
