package modelstub

import (
	"bytes"
	"encoding/json"
	"math"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
)

// A style spoils an output on purpose.
type style struct {
	bare    bool // free texts are empty and lists as short as allowed
	without int  // so many of the root's properties are left away
}

// A writer walks a schema and writes a value for it from the input.
type writer struct {
	root *node
	in   *source
	style
}

// deepest is where a schema that demands itself without end is given up.
const deepest = 24

// write makes the output for a request: one JSON text with the properties in the schema's order.
func write(req *request, s style) string {
	root := new(node)
	if err := json.Unmarshal(req.Schema, root); err != nil {
		panic(err) // it was linted
	}
	w := &writer{root: root, in: newSource(req.Input), style: s}
	return string(w.object(root, w.source(root), 0))
}

// value writes a value for a node that stands under a name.
func (w *writer) value(n *node, name string, depth int) json.RawMessage {
	if n = n.follow(w.root); depth > deepest {
		return text(nil)
	}
	if n.Const != nil {
		return *n.Const
	}
	if len(n.AnyOf) > 0 {
		return w.either(n.AnyOf, name, depth)
	}
	known, found := w.in.scalar(name)
	switch {
	case n.Enum != nil:
		return text(w.choose(n))
	case n.is("object"):
		return w.object(n, w.source(n), depth)
	case n.is("array"):
		return w.list(n, depth)
	case n.is("boolean"):
		if b, ok := known.(bool); ok {
			return text(b)
		}
		return orNullText(n, text(false))
	case n.is("number"), n.is("integer"):
		if num, ok := known.(json.Number); ok && w.number(n, num) != nil {
			return w.number(n, num)
		}
		return orNullText(n, w.number(n, ""))
	}
	if s, ok := known.(string); found && ok && n.free() && !w.bare {
		return text(s)
	}
	return orNullText(n, w.words(n, name))
}

// orNullText is null where the schema lets us say that nothing is known.
func orNullText(n *node, otherwise json.RawMessage) json.RawMessage {
	if n.nullable() {
		return text(nil)
	}
	return otherwise
}

// either takes null where it may, else the first branch.
func (w *writer) either(branches []*node, name string, depth int) json.RawMessage {
	for _, b := range branches {
		if slices.Contains(b.follow(w.root).Type, "null") {
			return text(nil)
		}
	}
	return w.value(branches[0], name, depth+1)
}

// choose takes the value of an enum that the input names, else null, else the last: general words
// ("other", "none") tend to stand there.
func (w *writer) choose(n *node) any {
	for _, c := range n.choices() {
		if w.in.says(c) {
			return c
		}
	}
	if slices.Contains(n.Enum, nil) {
		return nil
	}
	return n.Enum[len(n.Enum)-1]
}

// object writes an object; quoted is not nil where it is to quote the input.
func (w *writer) object(n *node, quoted *quote, depth int) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	props := n.Properties
	if depth == 0 && w.without > 0 {
		props = props[min(w.without, len(props)):]
	}
	for i, p := range props {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(text(p.name))
		b.WriteByte(':')
		if v := w.quoting(p, quoted); v != nil {
			b.Write(v)
			continue
		}
		b.Write(w.value(p.node, p.name, depth+1))
	}
	b.WriteByte('}')
	return b.Bytes()
}

// list writes an array: as many items as the input gives reason for, within the bounds.
func (w *writer) list(n *node, depth int) json.RawMessage {
	items := n.Items.follow(w.root)
	least, most := n.MinItems, math.MaxInt
	if n.MaxItems != nil {
		most = *n.MaxItems
	}
	var all []json.RawMessage
	switch {
	case items.is("object") && w.source(items) != nil:
		for _, q := range w.quotes(items) {
			all = append(all, w.object(items, &q, depth+1))
		}
	case items.Enum != nil:
		all = w.named(items)
	case items.free() && least > 0:
		all = w.tags(least)
	}
	if w.bare {
		most = least
	}
	for len(all) < least { // an identical item more: the schema language knows no unique items
		all = append(all, w.value(items, "", depth+1))
	}
	all = all[:min(len(all), most)]
	return slices.Concat(json.RawMessage("["), bytes.Join(raws(all), []byte(",")), json.RawMessage("]"))
}

func raws(all []json.RawMessage) [][]byte {
	plain := make([][]byte, len(all))
	for i, r := range all {
		plain[i] = r
	}
	return plain
}

// named are the choices that the input names.
func (w *writer) named(items *node) []json.RawMessage {
	var all []json.RawMessage
	for _, c := range items.choices() {
		if w.in.says(c) {
			all = append(all, text(c))
		}
	}
	return all
}

// tags are words of the input: two, or more where more are asked for.
func (w *writer) tags(least int) []json.RawMessage {
	var all []json.RawMessage
	words := append(w.in.words(), w.in.names...)
	for i := range max(least, 2) {
		word := "tag-" + strconv.Itoa(i+1)
		if i < len(words) {
			word = words[i]
		}
		all = append(all, text(word))
	}
	return all
}

// number writes a number within the bounds: the one given where it is, else the least that is allowed.
// It returns nil for a given one that is not allowed.
func (w *writer) number(n *node, given json.Number) json.RawMessage {
	low, high := math.Inf(-1), math.Inf(1)
	step := 0.0
	if n.is("integer") {
		step = 1
	}
	if n.MultipleOf != nil {
		step = *n.MultipleOf
	}
	raise := func(p *float64, by float64) {
		if p != nil {
			low = max(low, *p+by)
		}
	}
	raise(n.Minimum, 0)
	raise(n.ExclusiveMinimum, max(step, 1e-6))
	if n.Maximum != nil {
		high = *n.Maximum
	}
	if n.ExclusiveMaximum != nil {
		high = min(high, *n.ExclusiveMaximum-max(step, 1e-6))
	}
	if given != "" {
		v, err := given.Float64()
		if err != nil || v < low || v > high || (step > 0 && math.Mod(v, step) != 0) {
			return nil
		}
		return json.RawMessage(given)
	}
	v := min(max(0, low), high)
	if step > 0 {
		v = math.Ceil(v/step) * step
	}
	return text(v)
}

// formatted are valid texts of each format.
var formatted = map[string]string{
	"date-time": "2026-01-01T00:00:00Z", "date": "2026-01-01", "time": "00:00:00Z", "duration": "PT1H",
	"email": "nobody@example.com", "hostname": "example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1",
	"uuid": "00000000-0000-4000-8000-000000000000",
}

// words writes a text.
func (w *writer) words(n *node, name string) json.RawMessage {
	switch {
	case n.Format != "":
		return text(formatted[n.Format])
	case n.Pattern != "":
		return text(matching(n.Pattern))
	case w.bare:
		return text("")
	case slices.Contains([]string{"title", "subject", "headline", "label", "name", "topic"}, name):
		return text(w.in.title())
	case name == "": // an item of a list
		return text(w.in.title())
	}
	return text(w.in.summary())
}

// matching is a shortest text for a pattern, or "" where it is none that Go can read.
func matching(pattern string) string {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return ""
	}
	var b strings.Builder
	spell(&b, re.Simplify())
	return b.String()
}

func spell(b *strings.Builder, re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		b.WriteRune(re.Rune[0])
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('a')
	case syntax.OpAlternate, syntax.OpPlus:
		spell(b, re.Sub[0])
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			spell(b, sub)
		}
	}
}

// text is a value as JSON, without escapes that are only for HTML.
func text(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // plain values only
	}
	return bytes.TrimSpace(b.Bytes())
}
