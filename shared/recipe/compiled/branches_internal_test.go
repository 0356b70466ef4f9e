package compiled

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"engang/shared/document"
	"engang/shared/recipe"
)

func outlineOf(t *testing.T, schema string) outline {
	t.Helper()
	v, err := document.Decode([]byte(schema))
	if err != nil {
		t.Fatal(err)
	}
	root, ok := v.(map[string]any)
	if !ok {
		t.Fatal("no mapping")
	}
	var faults Faults
	o := readSchema("", root, &faults)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return o
}

// node is an object with a kind and a child, closed as strict mode wants it.
func node(kind, child string) string {
	return `{"type":"object","additionalProperties":false,"required":["kind","child"],"properties":{"kind":` + kind + `,"child":` + child + `}}`
}

func tree(branches string) string {
	return `{"type":"object","additionalProperties":false,"required":["root"],"properties":{"root":{"$ref":"#/$defs/node"}},"$defs":{"node":{"anyOf":[` + branches + `]},
	"text":` + node(`{"type":"string","enum":["text","title"]}`, `{"$ref":"#/$defs/node"}`) + `,"list":` + node(`{"type":"string","enum":["list"]}`, `{"type":"array","items":{"$ref":"#/$defs/node"}}`) + `}}`
}

var trees = map[string]string{
	"references":         tree(`{"$ref":"#/$defs/text"},{"$ref":"#/$defs/list"},{"type":"null"}`),
	"nothing in between": tree(`{"type":"null"},` + node(`{"type":"string","enum":["a"]}`, `{"type":"null"}`) + `,{"type":"string"},` + node(`{"type":"string","enum":["b"]}`, `{"$ref":"#/$defs/node"}`)),
	"a kind twice":       tree(`{"$ref":"#/$defs/text"},` + node(`{"type":"string","enum":["text"]}`, `{"type":"null"}`) + `,{"type":"null"}`),
	"no enum":            tree(node(`{"type":"string"}`, `{"$ref":"#/$defs/node"}`) + `,` + node(`{"type":"string","enum":["text"]}`, `{"type":"null"}`) + `,{"type":"null"}`),
	"numbers":            tree(node(`{"type":"number","enum":[1]}`, `{"type":"null"}`) + `,` + node(`{"type":"number","enum":[1.0]}`, `{"$ref":"#/$defs/node"}`) + `,{"type":"null"}`),
	"one object":         tree(`{"$ref":"#/$defs/list"},{"type":"null"}`),
	"an object or null":  tree(`{"type":["object","null"],"additionalProperties":false,"required":["kind"],"properties":{"kind":{"type":"string","enum":["z"]}}},{"$ref":"#/$defs/text"},{"$ref":"#/$defs/list"}`),
}

// anything is a value that some of the trees take.
func anything(r *rand.Rand, depth int) any {
	if depth == 0 || r.IntN(6) == 0 {
		return []any{nil, "text", json.Number("1"), true, map[string]any{}}[r.IntN(5)]
	}
	kind := []any{"text", "title", "list", "a", "b", "z", "other", json.Number("1"), json.Number("1.0"), nil}[r.IntN(10)]
	var child any = anything(r, depth-1)
	if r.IntN(2) == 0 {
		child = []any{child, anything(r, depth-1)}
	}
	object := map[string]any{"kind": kind, "child": child}
	if r.IntN(12) == 0 {
		delete(object, []string{"kind", "child"}[r.IntN(2)])
	}
	if r.IntN(12) == 0 {
		object["more"] = "x"
	}
	return object
}

func TestADecisionTakesTheSameOutputs(t *testing.T) {
	for name, schema := range trees {
		t.Run(name, func(t *testing.T) {
			o := outlineOf(t, schema)
			plain, err := compileSchema(o.root)
			if err != nil {
				t.Fatal(err)
			}
			decided, err := compileSchema(o.decided())
			if err != nil {
				t.Fatal(err)
			}
			r := rand.New(rand.NewPCG(1, 2))
			var taken, refused int
			for range 3_000 {
				v := map[string]any{"root": anything(r, 1+r.IntN(4))}
				want, got := plain.Validate(v) == nil, decided.Validate(v) == nil
				if want != got {
					t.Fatalf("%v is taken %v, decided %v", v, want, got)
				}
				if taken++; !want {
					taken, refused = taken-1, refused+1
				}
			}
			if taken < 20 || refused < 20 {
				t.Errorf("%d taken, %d refused", taken, refused)
			}
		})
	}
}

func nested(depth int) any {
	var v any
	for i := range depth {
		v = map[string]any{"kind": []any{"text", "title"}[i%2], "child": v}
	}
	return map[string]any{"root": v}
}

// Where nothing tells two kinds of node apart, an answer costs twice as much for each level: after twenty of them a
// worker would be stopped over it, and its call would be paid for once more.
func TestAnOutputThatCannotBeHeldInTimeIsUnusable(t *testing.T) {
	text := `{"type":"string","enum":["text","title"]}`
	told := outlineOf(t, trees["references"])
	untold := outlineOf(t, tree(node(`{"type":"string"}`, `{"$ref":"#/$defs/node"}`)+`,`+node(text, `{"$ref":"#/$defs/node"}`)+`,{"type":"null"}`))
	for _, tt := range []struct {
		name  string
		o     outline
		depth int
		want  bool
	}{{"told apart", told, 200, true}, {"not told apart", untold, 8, true}, {"not told apart, and deep", untold, 40, false}} {
		if got := tt.o.affordable(nested(tt.depth)); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
	schema, err := compileSchema(told.decided())
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(nested(200)); err != nil {
		t.Error(err)
	}
}

// An answer may quote thousands of times from an input of hundreds of kilobytes.
func TestAFieldThatIsQuotedIsFoldedOnce(t *testing.T) {
	in := recipe.Input{Fields: map[string]any{"text": []any{"One  TWO", map[string]any{"more": "Three"}, json.Number("4.50"), nil}}}
	q := newQuotes(in)
	if diff := cmp.Diff([]string{"one two", "three", "4.50"}, q.field("text")); diff != "" {
		t.Error(diff)
	}
	in.Fields["text"] = "something else"
	if got := q.field("text"); len(got) != 3 {
		t.Errorf("looked at again: %q", got)
	}
}
