package compiled_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"engang/shared/recipe/compiled"
)

// property is a schema with one property a of the given schema.
func property(schema string) string {
	return fmt.Sprintf(`{"type": "object", "additionalProperties": false, "required": ["a"], "properties": {"a": %s}}`, schema)
}

func compileSchema(schema string) error {
	r := card()
	r.Checks = nil
	r.Output.Schema = json.RawMessage(schema)
	_, err := compiled.New(r)
	return err
}

func TestStrictSchemaTakes(t *testing.T) {
	tests := []struct{ name, schema string }{
		{"every type", `{"type": "object", "additionalProperties": false, "required": ["a", "b", "c", "d", "e", "f"], "properties": {
			"a": {"type": "string"}, "b": {"type": "number"}, "c": {"type": "integer"}, "d": {"type": "boolean"}, "e": {"type": "null"}, "f": {"type": "array", "items": {"type": "string"}}}}`},
		{"an optional property, as a type or null", property(`{"type": ["string", "null"]}`)},
		{"anyOf below the root", property(`{"anyOf": [{"type": "string"}, {"type": "integer"}], "description": "either"}`)},
		{"a list that holds itself", `{"type": "object", "additionalProperties": false, "required": ["a"], "properties": {"a": {"type": "array", "items": {"$ref": "#"}}}}`},
		{"definitions in a circle", `{"type": "object", "additionalProperties": false, "required": ["a"], "properties": {"a": {"$ref": "#/$defs/x"}},
			"$defs": {"x": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/y"}]}, "y": {"type": "object", "additionalProperties": false, "required": ["x"], "properties": {"x": {"$ref": "#/$defs/x"}}}}}`},
		{"pattern and format", property(`{"type": "string", "pattern": "^[a-z]+$", "format": "email"}`)},
		{"limits of numbers", property(`{"type": "number", "multipleOf": 0.01, "minimum": 0, "exclusiveMaximum": 100}`)},
		{"limits of lists", property(`{"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "integer", "enum": [1, 2]}}`)},
		{"a description and a title", property(`{"type": "string", "description": "what", "title": "A"}`)},
		{"ten levels", nested(10)},
		{"five thousand properties", wide(5000)},
		{"a thousand enum values", property(enum(1000, "v"))},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if err := compileSchema(test.schema); err != nil {
				t.Errorf("refused:\n%v", err)
			}
		})
	}
}

func TestStrictSchemaRefuses(t *testing.T) {
	tests := []struct{ name, schema, at, reason string }{
		{"a root that is a list", `{"type": "array", "items": {"type": "string"}}`, "", "root is not of type object"},
		{"anyOf at the root", `{"type": "object", "additionalProperties": false, "required": [], "properties": {}, "anyOf": [{"type": "string"}]}`, "/anyOf", "at the root"},
		{"a root without properties", `{"type": "object", "additionalProperties": false, "required": [], "properties": {}}`, "", "no properties"},
		{"an object that is open", property(`{"type": "object", "required": ["b"], "properties": {"b": {"type": "string"}}}`), "/properties/a", "additionalProperties"},
		{"an object that is open on purpose", property(`{"type": "object", "additionalProperties": true, "required": [], "properties": {}}`), "/properties/a", "additionalProperties"},
		{"a property that is optional", property(`{"type": "object", "additionalProperties": false, "required": [], "properties": {"b": {"type": "string"}}}`), "/properties/a/properties/b", "not in required"},
		{"a required property that is not there", property(`{"type": "object", "additionalProperties": false, "required": ["c"], "properties": {}}`), "/properties/a/required/0", "no property"},
		{"an open object in a definition that nothing uses", `{"type": "object", "additionalProperties": false, "required": ["a"], "properties": {"a": {"type": "string"}}, "$defs": {"x": {"type": "object", "properties": {}}}}`, "/$defs/x", "additionalProperties"},
		{"a type of ours", property(`{"type": "text"}`), "/properties/a/type", "unknown type"},
		{"a type twice", property(`{"type": ["string", "string"]}`), "/properties/a/type", "named twice"},
		{"no type in a list of types", property(`{"type": []}`), "/properties/a/type", "empty list"},
		{"a type that is no name", property(`{"type": 5}`), "/properties/a/type", "neither a name"},
		{"a type beside anyOf", property(`{"type": "string", "anyOf": [{"type": "string"}]}`), "/properties/a", "anyOf beside a type"},
		{"anyOf without branches", property(`{"anyOf": []}`), "/properties/a/anyOf", "no branches"},
		{"a description that is no text", property(`{"type": "string", "description": 5}`), "/properties/a/description", "no text"},
		{"half an item", property(`{"type": "array", "minItems": 1.5, "items": {"type": "string"}}`), "/properties/a/minItems", "whole number"},
		{"an enum of lists", property(`{"type": "array", "items": {"type": "string"}, "enum": [["b"]]}`), "/properties/a/enum/0", "a list or a mapping"},
		{"an object that says nothing of its properties", property(`{"type": "object", "additionalProperties": false, "required": []}`), "/properties/a", "no properties"},
		{"a required property twice", property(`{"type": "object", "additionalProperties": false, "required": ["b", "b"], "properties": {"b": {"type": "string"}}}`), "/properties/a/required/1", "named twice"},
		{"definitions that are a list", `{"type": "object", "additionalProperties": false, "required": ["a"], "properties": {"a": {"type": "string"}}, "$defs": []}`, "/$defs", "no mapping"},
		{"no type", property(`{"description": "what"}`), "/properties/a", "no type"},
		{"no schema", property(`true`), "/properties/a", "no schema"},
		{"a list of anything", property(`{"type": "array"}`), "/properties/a", "no items"},
		{"items the wrong way round", property(`{"type": "array", "minItems": 3, "maxItems": 2, "items": {"type": "string"}}`), "/properties/a", "minItems is above"},
		{"an unknown format", property(`{"type": "string", "format": "iban"}`), "/properties/a/format", "unknown format"},
		{"a pattern that cannot be checked", property(`{"type": "string", "pattern": "(?=a)b"}`), "/properties/a/pattern", "regular expression"},
		{"a pattern on a number", property(`{"type": "number", "pattern": "1"}`), "/properties/a/pattern", "does not belong"},
		{"multiples of nothing", property(`{"type": "number", "multipleOf": 0.0}`), "/properties/a/multipleOf", "above zero"},
		{"a number that takes all memory", property(`{"type": "number", "maximum": 1e999999999}`), "/properties/a/maximum", "ordinary"},
		{"an enum without values", property(`{"type": "string", "enum": []}`), "/properties/a/enum", "no values"},
		{"an enum value of another type", property(`{"type": "string", "enum": ["a", 1]}`), "/properties/a/enum/1", "declared type"},
		{"a reference to a file", property(`{"$ref": "file:///etc/passwd"}`), "/properties/a/$ref", "leads nowhere"},
		{"a reference to nothing", property(`{"$ref": "#/$defs/nothing"}`), "/properties/a/$ref", "leads nowhere"},
		{"a reference into a property", property(`{"$ref": "#/properties/a"}`), "/properties/a/$ref", "leads nowhere"},
		{"a reference with company", property(`{"$ref": "#", "description": "x"}`), "/properties/a", "other keywords beside"},
		{"definitions below the root", property(`{"type": "string", "$defs": {}}`), "/properties/a/$defs", "below the root"},
		{"eleven levels", nested(11), "", "levels deep"},
		{"eleven levels through definitions", `{"type": "object", "additionalProperties": false, "required": ["a"], "properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": ` + nested(10) + `}}`, "", "levels deep"},
		{"5001 properties", wide(5001), "", "5001 properties"},
		{"1001 enum values", property(enum(1001, "v")), "", "1001 enum values"},
		{"too many characters of enum values", property(enum(13, strings.Repeat("x", 10_000))), "", "characters of names"},
	}
	for _, keyword := range []string{
		"allOf", "oneOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "uniqueItems", "default", "patternProperties",
		"minLength", "maxLength", "const", "$id", "$schema", "$anchor", "$dynamicRef", "prefixItems", "contains", "propertyNames", "unevaluatedProperties", "examples",
	} {
		tests = append(tests, struct{ name, schema, at, reason string }{
			"the keyword " + keyword, property(fmt.Sprintf(`{"type": "string", %q: []}`, keyword)), "/properties/a/" + keyword, "does not take the keyword",
		})
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := compileSchema(test.schema)
			faults, _ := errors.AsType[compiled.Faults](err)
			if !has(faults, "/output/schema"+test.at, test.reason) {
				t.Errorf("no fault at %q that says %q, but:\n%v", test.at, test.reason, err)
			}
		})
	}
}

// nested is a schema of n levels of objects and lists.
func nested(n int) string {
	if n == 1 {
		return property(`{"type": "string"}`)
	}
	return property(nested(n - 1))
}

// wide is a schema with n properties.
func wide(n int) string {
	var names, props []string
	for i := range n {
		names = append(names, fmt.Sprintf(`"p%d"`, i))
		props = append(props, fmt.Sprintf(`"p%d": {"type": "null"}`, i))
	}
	return fmt.Sprintf(`{"type": "object", "additionalProperties": false, "required": [%s], "properties": {%s}}`, strings.Join(names, ","), strings.Join(props, ","))
}

func enum(n int, prefix string) string {
	var values []string
	for i := range n {
		values = append(values, fmt.Sprintf("%q", fmt.Sprint(prefix, i)))
	}
	return fmt.Sprintf(`{"type": "string", "enum": [%s]}`, strings.Join(values, ","))
}
