package modelstub

import (
	"encoding/json"
	"slices"
	"strings"
)

// A quote is a text that stands literally in a field of the input.
type quote struct {
	field string
	label string // what the input calls it, where it does
	value string
}

// source says whether an object is to quote the input: one of its properties names input fields, and
// another one is a free text. It returns the first quote, which may hold nothing, or nil for other objects.
func (w *writer) source(n *node) *quote {
	if _, ok := w.fieldProperty(n); !ok || !slices.ContainsFunc(n.Properties, func(p property) bool { return p.node.follow(w.root).free() }) {
		return nil
	}
	if all := w.quotes(n); len(all) > 0 {
		return &all[0]
	}
	return &quote{}
}

// fieldProperty is the property whose choices are names of input fields: all of them, or some where the
// property itself says that it names a source.
func (w *writer) fieldProperty(n *node) (property, bool) {
	for _, p := range n.Properties {
		choices := p.node.follow(w.root).choices()
		unknown := func(c string) bool { _, ok := w.in.fields[c]; return !ok }
		missing := len(slices.DeleteFunc(slices.Clone(choices), func(c string) bool { return !unknown(c) }))
		named := p.name == "source" || p.name == "field"
		if len(choices) > 0 && (missing == 0 || named && missing < len(choices)) {
			return p, true
		}
	}
	return property{}, false
}

// quotes are what an object of this shape can quote: pairs of name and value whose name is a choice of the
// shape, else the first word of the first field that has one.
func (w *writer) quotes(n *node) []quote {
	field, _ := w.fieldProperty(n)
	allowed := field.node.follow(w.root).choices()
	var all []quote
	for _, name := range allowed {
		pairs(w.in.fields[name], func(label, value string) {
			if _, ok := w.labelled(n, field.name, label); ok {
				all = append(all, quote{name, label, value})
			}
		})
	}
	if len(all) > 0 {
		return all
	}
	for _, name := range w.in.names {
		if !slices.Contains(allowed, name) {
			continue
		}
		for _, t := range texts(w.in.fields[name]) {
			for _, word := range split(t) {
				return []quote{{field: name, value: word}}
			}
		}
	}
	return nil
}

// pairs calls f for each object with a name and something like a value beneath v.
func pairs(v any, f func(label, value string)) {
	switch v := v.(type) {
	case []any:
		for _, child := range v {
			pairs(child, f)
		}
	case map[string]any:
		label, _ := v["name"].(string)
		for _, key := range []string{"value", "option", "options"} {
			if all := texts(v[key]); label != "" && len(all) > 0 {
				f(label, all[0])
				return
			}
		}
	}
}

// labelled finds the choice of the object, outside its field property, that a label means.
func (w *writer) labelled(n *node, except, label string) (string, bool) {
	for _, p := range n.Properties {
		if p.name == except {
			continue
		}
		for _, c := range p.node.follow(w.root).choices() {
			if strings.EqualFold(c, label) {
				return c, true
			}
		}
	}
	return "", false
}

// quoting writes a property of an object that quotes, or returns nil where the quote has no word on it.
func (w *writer) quoting(p property, q *quote) json.RawMessage {
	if q == nil || q.field == "" {
		return nil
	}
	n := p.node.follow(w.root)
	choices := n.choices()
	switch {
	case n.free() && w.bare:
		return text("")
	case n.free():
		return text(q.value)
	case slices.Contains(choices, q.field):
		return text(q.field)
	}
	for _, c := range choices {
		if q.label != "" && strings.EqualFold(c, q.label) {
			return text(c)
		}
	}
	return nil
}
