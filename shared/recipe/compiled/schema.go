package compiled

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The limits of strict structured output.
const (
	maxProperties = 5_000
	maxLevels     = 10
	maxEnumValues = 1_000
	maxNameChars  = 120_000 // of property and definition names and enum values together
)

var (
	kinds   = []string{"string", "number", "integer", "boolean", "object", "array", "null"}
	formats = []string{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}

	// keywords is the subset of JSON Schema that strict mode takes, and the types each needs.
	keywords = map[string][]string{
		"type": nil, "enum": nil, "anyOf": nil, "$ref": nil, "$defs": nil, "description": nil, "title": nil,
		"properties": {"object"}, "required": {"object"}, "additionalProperties": {"object"},
		"items": {"array"}, "minItems": {"array"}, "maxItems": {"array"},
		"pattern": {"string"}, "format": {"string"},
		"multipleOf": {"number", "integer"}, "minimum": {"number", "integer"}, "maximum": {"number", "integer"},
		"exclusiveMinimum": {"number", "integer"}, "exclusiveMaximum": {"number", "integer"},
	}
)

// An outline is an output schema that was read: for looking up where a path leads.
type outline struct{ root map[string]any }

// A schemaReader walks a schema once and counts what strict mode limits.
type schemaReader struct {
	defs       map[string]any
	faults     *Faults
	properties int
	values     int
	chars      int
}

// readSchema holds a schema against the subset for strict: true.
func readSchema(at string, root map[string]any, faults *Faults) outline {
	r := &schemaReader{faults: faults}
	defs, ok := root["$defs"].(map[string]any)
	faults.check(ok || root["$defs"] == nil, at+"/$defs", "$defs is no mapping", "map names to schemas")
	r.defs = defs
	faults.check(root["type"] == "object", at, "the root is not of type object", "write type: object; a list goes into a property")
	faults.check(root["anyOf"] == nil, at+"/anyOf", "anyOf at the root", "move it into a property")
	r.node(at, root, true)
	if p, _ := root["properties"].(map[string]any); len(p) == 0 && root["type"] == "object" {
		faults.add(at, "the output has no properties", "say what the model is to answer")
	}
	for _, name := range slices.Sorted(maps.Keys(defs)) {
		r.chars += runes(name)
		r.child(under(at+"/$defs", name), defs[name])
	}
	faults.check(r.properties <= maxProperties, at, fmt.Sprintf("%d properties, at most %d", r.properties, maxProperties), "make the schema smaller")
	faults.check(r.values <= maxEnumValues, at, fmt.Sprintf("%d enum values, at most %d", r.values, maxEnumValues), "make the lists shorter, or check values after the call")
	faults.check(r.chars <= maxNameChars, at, fmt.Sprintf("%d characters of names and enum values, at most %d", r.chars, maxNameChars), "shorten them")
	o := outline{root: root}
	if levels := o.levels(root, map[string]int{"#": 0}); levels > maxLevels {
		faults.add(at, fmt.Sprintf("nested %d levels deep, at most %d", levels, maxLevels), "flatten the schema")
	}
	return o
}

func (r *schemaReader) child(at string, v any) {
	node, ok := v.(map[string]any)
	if !ok {
		r.faults.add(at, "no schema", "write a mapping with a type")
		return
	}
	r.node(at, node, false)
}

func (r *schemaReader) node(at string, node map[string]any, root bool) {
	types := r.types(at, node)
	for _, key := range slices.Sorted(maps.Keys(node)) {
		r.keyword(at, key, node, types)
	}
	r.faults.check(root || node["$defs"] == nil, at+"/$defs", "$defs below the root", "move the definitions to the root")
	switch ref, anyOf := node["$ref"], node["anyOf"]; {
	case ref != nil:
		r.ref(at, ref)
		r.faults.check(len(node) == 1, at, "$ref with other keywords beside it", "let $ref stand alone")
	case anyOf != nil:
		r.anyOf(at+"/anyOf", anyOf)
		r.faults.check(len(types) == 0, at, "anyOf beside a type", "write the type into each branch")
	default:
		r.faults.check(len(types) > 0, at, "no type", "write a type, anyOf or $ref")
	}
	if slices.Contains(types, "object") {
		r.object(at, node)
	}
	if slices.Contains(types, "array") {
		r.array(at, node)
	}
}

func (r *schemaReader) types(at string, node map[string]any) []string {
	var types []string
	switch t := node["type"].(type) {
	case nil:
	case string:
		types = []string{t}
	case []any:
		for _, v := range t {
			s, _ := v.(string)
			r.faults.check(!slices.Contains(types, s), at+"/type", "a type is named twice", "name it once")
			types = append(types, s)
		}
		r.faults.check(len(t) > 0, at+"/type", "an empty list of types", "name a type")
	default:
		r.faults.add(at+"/type", "the type is neither a name nor a list of names", "write a type such as string")
	}
	for _, t := range types {
		if !slices.Contains(kinds, t) {
			r.faults.add(at+"/type", "unknown type", "use one of "+strings.Join(kinds, ", "))
			break
		}
	}
	return types
}

func (r *schemaReader) keyword(at, key string, node map[string]any, types []string) {
	needs, known := keywords[key]
	here := under(at, key)
	if !known {
		r.faults.add(here, "strict structured output does not take the keyword "+strconv.Quote(key), "leave it out; lengths and all else are said in checks")
		return
	}
	fits := needs == nil || slices.ContainsFunc(needs, func(t string) bool { return slices.Contains(types, t) })
	r.faults.check(fits, here, key+" does not belong to this type", "it needs type "+strings.Join(needs, " or "))
	switch v := node[key]; key {
	case "description", "title":
		_, ok := v.(string)
		r.faults.check(ok, here, "no text", "write a text")
	case "enum":
		r.enum(here, v, types)
	case "pattern":
		s, ok := v.(string)
		_, err := regexp.Compile(s)
		r.faults.check(ok && err == nil, here, "the pattern is no regular expression that can be checked here", "use RE2 syntax: no look-around, no back references")
	case "format":
		s, _ := v.(string)
		r.faults.check(slices.Contains(formats, s), here, "unknown format", "use one of "+strings.Join(formats, ", "))
	case "minItems", "maxItems":
		n, ok := wholeNumber(v)
		r.faults.check(ok && n >= 0, here, "no whole number from 0 up", "write a number of items")
	case "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		n, ok := v.(json.Number)
		r.faults.check(ok && ordinary(n), here, "no ordinary number", "write a number")
		r.faults.check(key != "multipleOf" || !ok || strings.Trim(n.String(), "0.") != "" && n.String()[0] != '-', here, "not above zero", "write a number above zero")
	}
}

func (r *schemaReader) enum(at string, v any, types []string) {
	list, ok := v.([]any)
	r.faults.check(ok && len(list) > 0, at, "no values", "list at least one value")
	r.values += len(list)
	for i, item := range list {
		here := under(at, strconv.Itoa(i))
		kind := kindOf(item)
		r.chars += runes(fmt.Sprint(item))
		r.faults.check(kind != "object" && kind != "array", here, "an enum value that is a list or a mapping", "list texts, numbers, booleans or null")
		matches := slices.Contains(types, kind) || kind == "integer" && slices.Contains(types, "number")
		r.faults.check(len(types) == 0 || matches, here, "the value is not of the declared type", "change the value or the type")
	}
}

func (r *schemaReader) ref(at string, v any) {
	s, _ := v.(string)
	name, local := strings.CutPrefix(s, "#/$defs/")
	name = strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~")
	_, there := r.defs[name]
	r.faults.check(s == "#" || local && there, at+"/$ref", "the reference leads nowhere", "refer to #/$defs/NAME at the root of this schema, or to #")
}

func (r *schemaReader) anyOf(at string, v any) {
	list, ok := v.([]any)
	r.faults.check(ok && len(list) > 0, at, "no branches", "list at least one schema")
	for i, branch := range list {
		r.child(under(at, strconv.Itoa(i)), branch)
	}
}

func (r *schemaReader) object(at string, node map[string]any) {
	r.faults.check(node["additionalProperties"] == false, at, "additionalProperties: false is missing", "strict mode needs it on every object")
	props, ok := node["properties"].(map[string]any)
	r.faults.check(ok, at, "no properties", "name the properties")
	var required []string
	list, _ := node["required"].([]any)
	for i, v := range list {
		s, ok := v.(string)
		_, known := props[s]
		here := under(at+"/required", strconv.Itoa(i))
		r.faults.check(ok && known, here, "no property has this name", "name one of the properties")
		r.faults.check(!slices.Contains(required, s), here, "named twice", "name it once")
		required = append(required, s)
	}
	for _, name := range slices.Sorted(maps.Keys(props)) {
		r.properties++
		r.chars += runes(name)
		here := under(at+"/properties", name)
		r.faults.check(slices.Contains(required, name), here, "the property is not in required", `strict mode needs all of them there; an optional one has type [T, "null"]`)
		r.child(here, props[name])
	}
}

func (r *schemaReader) array(at string, node map[string]any) {
	if node["items"] == nil {
		r.faults.add(at, "no items", "say what the list holds")
		return
	}
	r.child(at+"/items", node["items"])
	least, ok1 := wholeNumber(node["minItems"])
	most, ok2 := wholeNumber(node["maxItems"])
	r.faults.check(!ok1 || !ok2 || least <= most, at, "minItems is above maxItems", "swap them")
}

// refuseLoading keeps schemas from reading files.
type refuseLoading struct{}

func (refuseLoading) Load(string) (any, error) { return nil, errors.New("schemas are self-contained") }

func compileSchema(root map[string]any) (*jsonschema.Schema, error) {
	const name = "urn:engang:output"
	c := jsonschema.NewCompiler()
	c.UseLoader(refuseLoading{})
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	if err := c.AddResource(name, root); err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	s, err := c.Compile(name)
	if err != nil {
		return nil, fmt.Errorf("compile schema: %w", err)
	}
	return s, nil
}
