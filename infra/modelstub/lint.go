package modelstub

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The limits of strict schemas.
const (
	maxLevels     = 10
	maxProperties = 5_000
	maxEnums      = 1_000
	maxNameChars  = 120_000
)

// allowed is every keyword of the strict subset.
var allowed = []string{
	"$defs", "$ref", "additionalProperties", "anyOf", "const", "description", "enum", "exclusiveMaximum",
	"exclusiveMinimum", "format", "items", "maxItems", "maximum", "minItems", "minimum", "multipleOf", "pattern",
	"properties", "required", "title", "type", "$schema",
}

var formats = []string{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}

// lint says why a schema is refused in strict mode, or "". It is written apart from our own compiler of
// recipes on purpose: what that lets through must also pass here.
func lint(raw json.RawMessage) string {
	var root map[string]any
	if json.Unmarshal(raw, &root) != nil {
		return "schema must be a JSON Schema of 'type: \"object\"'."
	}
	if root["type"] != "object" || root["anyOf"] != nil {
		return "schema must be a JSON Schema of 'type: \"object\"', without 'anyOf' at its root."
	}
	l := linter{root: root}
	l.schema(root, nil, 0)
	switch {
	case l.why != "":
		return l.why
	case l.properties > maxProperties:
		return fmt.Sprintf("at most %d properties.", maxProperties)
	case l.enums > maxEnums:
		return fmt.Sprintf("at most %d enum values.", maxEnums)
	case l.chars > maxNameChars:
		return fmt.Sprintf("at most %d characters of names and enum values.", maxNameChars)
	}
	return ""
}

type linter struct {
	root                     map[string]any
	why                      string
	properties, enums, chars int
}

func (l *linter) refuse(at []string, format string, args ...any) {
	if l.why == "" {
		quoted := make([]string, len(at))
		for i, step := range at {
			quoted[i] = "'" + step + "'"
		}
		l.why = fmt.Sprintf("In context=(%s), ", strings.Join(quoted, ", ")) + fmt.Sprintf(format, args...)
	}
}

func (l *linter) schema(v any, at []string, level int) {
	s, ok := v.(map[string]any)
	if !ok {
		l.refuse(at, "schema must be an object.")
		return
	}
	if level > maxLevels {
		l.refuse(at, "at most %d levels of nesting.", maxLevels)
		return
	}
	for key := range s {
		if !slices.Contains(allowed, key) {
			l.refuse(at, "'%s' is not permitted.", key)
		}
	}
	if ref, ok := s["$ref"].(string); ok {
		if _, found := resolve(l.root, ref); !found {
			l.refuse(at, "reference can only point to definitions defined at the top level of the schema.")
		}
		return
	}
	l.keywords(s, at)
	if props, ok := s["properties"].(map[string]any); ok || typed(s, "object") {
		l.object(s, props, at, level)
	}
	if items, ok := s["items"]; ok {
		l.schema(items, append(slices.Clone(at), "items"), level+1)
	} else if typed(s, "array") {
		l.refuse(at, "array schema missing items.")
	}
	l.each(s["anyOf"], append(slices.Clone(at), "anyOf"), level)
	if defs, ok := s["$defs"].(map[string]any); ok {
		for name, def := range defs {
			l.chars += len(name)
			l.schema(def, append(slices.Clone(at), "$defs", name), 0)
		}
	}
}

func (l *linter) keywords(s map[string]any, at []string) {
	if s["type"] == nil && s["anyOf"] == nil && s["enum"] == nil && s["const"] == nil {
		l.refuse(at, "schema must have a 'type' key.")
	}
	if f, ok := s["format"].(string); ok && !slices.Contains(formats, f) {
		l.refuse(at, "'%s' is not a valid format.", f)
	}
	values, _ := s["enum"].([]any)
	if s["enum"] != nil && len(values) == 0 {
		l.refuse(at, "enum must not be empty.")
	}
	l.enums += len(values)
	for _, v := range values {
		text, _ := v.(string)
		l.chars += len(text)
	}
}

func (l *linter) object(s, props map[string]any, at []string, level int) {
	if s["additionalProperties"] != false {
		l.refuse(at, "'additionalProperties' is required to be supplied and to be false.")
	}
	required, _ := s["required"].([]any)
	for name, prop := range props {
		l.properties++
		l.chars += len(name)
		if !slices.Contains(required, any(name)) {
			l.refuse(at, "'required' is required to be supplied and to be an array including every key in properties. Missing '%s'.", name)
		}
		l.schema(prop, append(slices.Clone(at), "properties", name), level+1)
	}
	if len(required) > len(props) {
		l.refuse(at, "Extra required key supplied.")
	}
}

func (l *linter) each(v any, at []string, level int) {
	list, _ := v.([]any)
	for _, s := range list {
		l.schema(s, at, level+1)
	}
}

func typed(s map[string]any, name string) bool {
	list, _ := s["type"].([]any)
	return s["type"] == name || slices.Contains(list, any(name))
}

// resolve finds "#" and "#/$defs/name".
func resolve(root map[string]any, ref string) (any, bool) {
	if ref == "#" {
		return root, true
	}
	name, ok := strings.CutPrefix(ref, "#/$defs/")
	defs, _ := root["$defs"].(map[string]any)
	def, found := defs[name]
	return def, ok && found
}
