package configfile

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"engang/infra"
	"engang/shared/config"
)

// laterKeys are keys that are named and not built yet, by the place in the schema where they belong.
var laterKeys = map[string][]string{
	"":              {"effects"},
	"/$defs/recipe": {"effects"},
}

// namedPlaces are the places in a file whose names a schema judges. The library's own report of where a
// bad name stands is overwritten by what it looks at next.
var namedPlaces = map[string]string{
	"/properties/endpoints/propertyNames":                               "/endpoints",
	"/properties/recipes/propertyNames":                                 "/recipes",
	"/properties/targets/propertyNames":                                 "/targets",
	"/$defs/endpoint/properties/events/propertyNames":                   "/endpoints/*/events",
	"/$defs/recipe/properties/input/properties/fields/propertyNames":    "/recipes/*/input/fields",
	"/$defs/recipe/properties/input/properties/refuse_if/propertyNames": "/recipes/*/input/refuse_if",
}

var tellableKey = regexp.MustCompile(`^[A-Za-z0-9_.$-]{1,40}$`)

// A shape is the published schema, ready to hold files against.
type shape struct {
	schema *jsonschema.Schema
	raw    map[string]any
}

var loadShape = sync.OnceValues(func() (*shape, error) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(infra.ConfigSchema))
	if err != nil {
		return nil, fmt.Errorf("read configuration schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("urn:engang:config", v); err != nil {
		return nil, fmt.Errorf("read configuration schema: %w", err)
	}
	compiled, err := c.Compile("urn:engang:config")
	if err != nil {
		return nil, fmt.Errorf("compile configuration schema: %w", err)
	}
	return &shape{schema: compiled, raw: v.(map[string]any)}, nil
})

// check holds a file against the schema and notes every fault.
func (s *shape) check(root *node, faults *Faults) {
	err := s.schema.Validate(root.plain())
	e, ok := errors.AsType[*jsonschema.ValidationError](err)
	if err != nil && !ok {
		faults.add(root, "", "the file cannot be held against the schema", "report this")
	}
	if ok {
		s.leaves(root, e, faults)
	}
}

// leaves notes the faults at the ends of the library's tree: the schema has no alternatives, so each of
// them counts.
func (s *shape) leaves(root *node, e *jsonschema.ValidationError, faults *Faults) {
	_, fragment, _ := strings.Cut(e.SchemaURL, "#")
	if k, ok := e.ErrorKind.(*kind.PropertyNames); ok {
		s.badName(root, fragment, k.Property, faults)
		return
	}
	for _, cause := range e.Causes {
		s.leaves(root, cause, faults)
	}
	if len(e.Causes) > 0 {
		return
	}
	here := root.at(e.InstanceLocation)
	at := pointer(e.InstanceLocation...)
	if k, ok := e.ErrorKind.(*kind.AdditionalProperties); ok {
		for _, name := range slices.Sorted(slices.Values(k.Properties)) {
			s.unknownKey(here, at, place{fragment, name}, faults)
		}
		return
	}
	reason, remedy := s.say(e.ErrorKind)
	if _, formed := s.lookup(fragment)["pattern"]; remedy == "" || formed && remedy == quoted { // quoted, it would be refused for its form
		remedy = s.describe(fragment)
	}
	faults.add(here, at, reason, remedy)
}

// quoted is what to do where a text stands as something else.
const quoted = "quote it if it is text"

// say turns a broken rule into words, without the value that broke it.
func (s *shape) say(k jsonschema.ErrorKind) (reason, remedy string) {
	switch k := k.(type) {
	case *kind.Type:
		want := strings.Join(wording(k.Want), " or ")
		switch {
		case k.Got == "null":
			return "no value, where " + want + " is meant", ""
		case slices.Contains(k.Want, "string"): // also a mapping: the library makes one of ssm:hooks/a/1 within braces
			return fmt.Sprintf("%s, where %s is meant", wording([]string{k.Got})[0], want), quoted
		}
		return fmt.Sprintf("%s, where %s is meant", wording([]string{k.Got})[0], want), ""
	case *kind.Required:
		return "missing: " + strings.Join(k.Missing, ", "), "add it"
	case *kind.Enum:
		allowed := make([]string, len(k.Want))
		for i, v := range k.Want {
			allowed[i] = fmt.Sprint(v)
		}
		return "not one of the values that are built", "use " + strings.Join(allowed, " or ")
	case *kind.Pattern:
		return "not of the form that is meant here", ""
	case *kind.Minimum, *kind.Maximum:
		return "a number out of range", ""
	case *kind.MinItems, *kind.MinProperties:
		return "too few entries", ""
	case *kind.MaxItems, *kind.MaxProperties:
		return "too many entries", ""
	case *kind.MinLength:
		return "an empty text", ""
	case *kind.MaxLength:
		return "a text that is too long", ""
	case *kind.UniqueItems:
		return "the same entry twice", "write it once"
	}
	return "against the schema: " + strings.Join(k.KeywordPath(), " "), ""
}

var words = map[string]string{"string": "text", "object": "a mapping", "array": "a list", "integer": "a whole number", "number": "a number", "boolean": "a boolean", "null": "nothing"}

func wording(types []string) []string {
	all := make([]string, len(types))
	for i, t := range types {
		all[i] = words[t]
	}
	return all
}

// A place is a name, and where in the schema it would belong.
type place struct{ fragment, name string }

func (s *shape) unknownKey(parent *node, at string, p place, faults *Faults) {
	fault := Fault{File: parent.file, Line: parent.line, At: at, Reason: "unknown key", Remedy: "leave it out", beside: true}
	for _, e := range parent.keys {
		if e.name == p.name {
			fault.File, fault.Line = e.value.file, e.line
		}
	}
	switch {
	case slices.Contains(laterKeys[p.fragment], p.name):
		fault.Reason, fault.Remedy = fmt.Sprintf("the key %s is not built yet", p.name), "leave it out until it is"
	case tellableKey.MatchString(p.name) && !config.IsSecret(p.name):
		fault.Reason = "unknown key " + strconv.Quote(p.name)
		fallthrough
	default:
		if known := s.knownKeys(p.fragment); known != "" {
			fault.Remedy = "known here: " + known
		}
	}
	*faults = append(*faults, fault)
}

func (s *shape) badName(root *node, fragment, name string, faults *Faults) {
	for _, parent := range root.all(steps(namedPlaces[fragment])) {
		for _, e := range parent.keys {
			if e.name == name {
				*faults = append(*faults, Fault{
					File: e.value.file, Line: e.line, At: namedPlaces[fragment], beside: true,
					Reason: "a name that is not of the form that is meant here", Remedy: s.describe(fragment),
				})
			}
		}
	}
}

// describe is the schema's own text about a place.
func (s *shape) describe(fragment string) string {
	here := s.lookup(fragment)
	text, _ := here["description"].(string)
	if ref, ok := here["$ref"].(string); ok && text == "" {
		text, _ = s.lookup(strings.TrimPrefix(ref, "#"))["description"].(string)
	}
	if text == "" {
		text = "see the schema"
	}
	return strings.TrimSuffix(text, ".")
}

func (s *shape) knownKeys(fragment string) string {
	properties, _ := s.lookup(fragment)["properties"].(map[string]any)
	return strings.Join(slices.Sorted(maps.Keys(properties)), ", ")
}

func (s *shape) lookup(fragment string) map[string]any {
	at := any(s.raw)
	for _, step := range steps(fragment) {
		object, _ := at.(map[string]any)
		at = object[step]
	}
	object, _ := at.(map[string]any)
	return object
}
