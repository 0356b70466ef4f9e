package compiled

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// target is the definition that a reference names, or nil.
func (o outline) target(ref string) map[string]any {
	if ref == "#" {
		return o.root
	}
	defs, _ := o.root["$defs"].(map[string]any)
	name := strings.ReplaceAll(strings.ReplaceAll(strings.TrimPrefix(ref, "#/$defs/"), "~1", "/"), "~0", "~")
	node, _ := defs[name].(map[string]any)
	return node
}

// alternatives is a schema without $ref and anyOf: each thing that may stand there. A reference is
// followed once, so that references in a circle end.
func (o outline) alternatives(node map[string]any, followed map[string]bool) []map[string]any {
	if ref, ok := node["$ref"].(string); ok {
		if followed[ref] {
			return nil
		}
		followed[ref] = true
		return o.alternatives(o.target(ref), followed)
	}
	list, ok := node["anyOf"].([]any)
	if !ok {
		return []map[string]any{node}
	}
	var all []map[string]any
	for _, branch := range list {
		if b, ok := branch.(map[string]any); ok {
			all = append(all, o.alternatives(b, followed)...)
		}
	}
	return all
}

// at is what may stand at a path, one schema for each alternative; none when the path leads nowhere.
func (o outline) at(steps []string) []map[string]any {
	if o.root == nil {
		return nil
	}
	here := o.alternatives(o.root, map[string]bool{})
	for _, step := range steps {
		var next []map[string]any
		for _, node := range here {
			if child, ok := childSchema(node, step); ok {
				next = append(next, o.alternatives(child, map[string]bool{})...)
			}
		}
		here = next
	}
	return here
}

func childSchema(node map[string]any, step string) (map[string]any, bool) {
	if props, ok := node["properties"].(map[string]any); ok {
		if child, ok := props[step].(map[string]any); ok {
			return child, true
		}
	}
	_, err := strconv.ParseUint(step, 10, 31)
	if step != "*" && err != nil {
		return nil, false
	}
	child, ok := node["items"].(map[string]any)
	return child, ok
}

// levels counts how deep objects and lists are nested; a recursive reference adds nothing.
func (o outline) levels(node map[string]any, known map[string]int) int {
	if ref, ok := node["$ref"].(string); ok {
		n, seen := known[ref]
		if !seen {
			known[ref] = 0
			n = o.levels(o.target(ref), known)
			known[ref] = n
		}
		return n
	}
	deepest := 0
	visit := func(v any) {
		if child, ok := v.(map[string]any); ok {
			deepest = max(deepest, o.levels(child, known))
		}
	}
	if props, ok := node["properties"].(map[string]any); ok {
		for _, name := range slices.Sorted(maps.Keys(props)) { // always the same way round a circle
			visit(props[name])
		}
	}
	visit(node["items"])
	if list, ok := node["anyOf"].([]any); ok {
		for _, child := range list {
			visit(child)
		}
	}
	if hasType(node, "object") || hasType(node, "array") {
		deepest++
	}
	return deepest
}

// hasType tells whether a schema allows a type.
func hasType(node map[string]any, kind string) bool {
	if list, ok := node["type"].([]any); ok {
		return slices.Contains(list, any(kind))
	}
	return node["type"] == kind
}

// kindOf is the JSON Schema type of a decoded value.
func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		if _, ok := wholeNumber(v); ok {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	}
	return "object"
}

func wholeNumber(v any) (int, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	i, err := strconv.Atoi(n.String())
	return i, err == nil
}

// ordinary tells whether a number can be calculated with: exact arithmetic on 1e999999999 would take
// all memory, and the schema library's arithmetic is exact.
func ordinary(n json.Number) bool {
	text := n.String()
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		exponent, err := strconv.Atoi(text[i+1:])
		if err != nil || exponent > 308 || exponent < -308 {
			return false
		}
	}
	return len(text) <= 400
}
