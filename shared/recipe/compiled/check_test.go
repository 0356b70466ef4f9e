package compiled_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"engang/shared/recipe"
	"engang/shared/recipe/compiled"
)

const goodOutput = `{"summary": "A knitted jumper of pure merino wool, light and warm.", "tags": ["wool", "jumper"],
	"attributes": [{"name": "material", "value": "Merino  Wool", "unit": null, "source": "description"}], "missing": []}`

func cardInput(t testing.TB, c *compiled.Recipe) recipe.Input {
	t.Helper()
	in, err := c.Extract(decode(t, `{"name": "Tröja MER-001", "description": "<p>Knitted, 100 %<br>merino\nwool, 0.35 kg.</p>",
		"attributes": [{"name": "Size", "options": ["S", "M"]}, {"name": "Width", "options": [1500]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func TestCheckTakesAGoodOutput(t *testing.T) {
	c := compile(t, card())
	if got := c.Check([]byte(goodOutput), cardInput(t, c)); got.Unusable != "" || len(got.Flags) > 0 {
		t.Errorf("findings %+v, want none", got)
	}
}

// Nothing tells the two kinds of node apart: each level of the answer costs twice as much.
func TestCheckGivesUpOnWhatItCannotHoldInTime(t *testing.T) {
	r := card()
	r.Checks, r.Examples = nil, nil
	node := func(name string) string {
		return `{"type":"object","additionalProperties":false,"required":["` + name + `","child"],"properties":{"` + name + `":{"type":"string"},"child":{"$ref":"#/$defs/node"}}}`
	}
	r.Output.Schema = []byte(`{"type":"object","additionalProperties":false,"required":["root"],"properties":{"root":{"$ref":"#/$defs/node"}},
		"$defs":{"node":{"anyOf":[` + node("kind") + `,` + node("kind") + `,{"type":"null"}]}}}`)
	c := compile(t, r)
	for depth, want := range map[int]string{4: "", 60: "the output is nested in more ways than are looked at"} {
		got := c.Check([]byte(`{"root":`+strings.Repeat(`{"kind":"secret","child":`, depth)+"null"+strings.Repeat("}", depth)+"}"), recipe.Input{})
		if got.Unusable != want {
			t.Errorf("%d levels: %q, want %q", depth, got.Unusable, want)
		}
	}
}

func TestCheckCallsAnOutputUnusable(t *testing.T) {
	change := func(from, to string) string { return strings.Replace(goodOutput, from, to, 1) }
	tests := []struct{ name, output, want string }{
		{"nothing", "", "not one JSON value"},
		{"prose around the JSON", "Here you are: " + goodOutput, "not one JSON value"},
		{"two values", goodOutput + goodOutput, "not one JSON value"},
		{"a value that was cut off", goodOutput[:len(goodOutput)-3], "not one JSON value"},
		{"bytes that are not UTF-8", change("wool", "wo\xffl"), "not one JSON value"},
		{"a null", "null", `type at ""`},
		{"a missing property", change(`, "missing": []`, ""), `required at ""`},
		{"a property too many", change(`"tags"`, `"confidential": "confidential", "tags"`), `additionalProperties at ""`},
		{"a wrong type", change(`["wool", "jumper"]`, `"confidential"`), `type at "/tags"`},
		{"a value that is not allowed", change(`"material"`, `"confidential"`), `enum at "/attributes/0/name"`},
		{"too few items", change(`["wool", "jumper"]`, `[]`), `minItems at "/tags"`},
		{"a key twice, of which readers take different ones", change(`"tags"`, `"summary": "confidential", "tags"`), "a key twice"},
		{"a key twice within a list", change(`"unit": null`, `"unit": null, "unit": "kg"`), "a key twice"},
		{"an output that fits no item", change("A knitted", strings.Repeat("a", recipe.MaxOutputBytes)), "bytes, at most"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := compile(t, card())
			got := c.Check([]byte(test.output), cardInput(t, c))
			if !strings.Contains(got.Unusable, test.want) {
				t.Errorf("unusable %q, want it to say %q", got.Unusable, test.want)
			}
			if strings.Contains(got.Unusable, "confidential") {
				t.Errorf("%q repeats the output", got.Unusable)
			}
			if len(got.Flags) > 0 {
				t.Errorf("flags %q on an output that nothing can be made of", got.Flags)
			}
		})
	}
}

// Exact arithmetic on such a number takes all memory: this test would not end.
func TestCheckDoesNotCalculateWithMonstrousNumbers(t *testing.T) {
	r := only(map[string]recipe.Field{"a": {From: at("/a")}})
	r.Output.Schema = json.RawMessage(property(`{"type": "number", "multipleOf": 0.5}`))
	c := compile(t, r)
	for _, number := range []string{"1e999999999", "1E-999999999", "1e99999999999999999999", "1" + strings.Repeat("0", 401)} {
		if got := c.Check([]byte(`{"a": `+number+`}`), recipe.Input{}); !strings.Contains(got.Unusable, "out of range") {
			t.Errorf("%.12s: unusable %q, want out of range", number, got.Unusable)
		}
	}
	if got := c.Check([]byte(`{"a": 1.5e3}`), recipe.Input{}); got.Unusable != "" {
		t.Errorf("1.5e3: unusable %q", got.Unusable)
	}
}

func TestCheckHoldsFormats(t *testing.T) {
	r := only(map[string]recipe.Field{"a": {From: at("/a")}})
	r.Output.Schema = json.RawMessage(property(`{"type": "string", "format": "date"}`))
	c := compile(t, r)
	if got := c.Check([]byte(`{"a": "2026-02-30"}`), recipe.Input{}); !strings.Contains(got.Unusable, "format") {
		t.Errorf("unusable %q, want the format refused", got.Unusable)
	}
}

func TestCheckFlags(t *testing.T) {
	attribute := func(value, source string) string {
		return `{"name": "material", "value": "` + value + `", "unit": null, "source": "` + source + `"}`
	}
	output := func(summary, tags, attributes string) string {
		return `{"summary": "` + summary + `", "tags": [` + tags + `], "attributes": [` + attributes + `], "missing": []}`
	}
	fine := strings.Repeat("word ", 10)
	const quote = "/attributes/*: 1 of 1 not a quote from the input field that it names"
	tests := []struct {
		name   string
		output string
		want   []string
	}{
		{"a short summary", output("short", `"ab"`, ""), []string{"/summary: 1 of 1 not of length 40 to 320"}},
		{"characters are counted, not bytes", output(strings.Repeat("å", 320), `"ab"`, ""), nil},
		{"a long summary", output(strings.Repeat("å", 321), `"ab"`, ""), []string{"/summary: 1 of 1 not of length 40 to 320"}},
		{"one short tag of three", output(fine, `"ab", "c", "de"`, ""), []string{"/tags/*: 1 of 3 not of length 2 to 40"}},
		{"tags that differ by case and white space", output(fine, `"Warm Wool", "warm  wool ", "jumper"`, ""), []string{"/tags/*: 1 of 3 said twice"}},
		{"tags that differ by the kind of sigma", output(fine, `"ΟΔΟΣ", "οδος"`, ""), []string{"/tags/*: 1 of 2 said twice"}},
		{"a denied word in other case", output(fine, `"Best buy"`, ""), []string{"/tags/*: 1 of 1 with a denied word"}},
		{"a denied word with a sign", output(fine, `"the BEST!"`, ""), []string{"/tags/*: 1 of 1 with a denied word"}},
		{"a denied word hidden by a zero-width space", output(fine, `"the be\u200bst"`, ""), []string{"/tags/*: 1 of 1 with a denied word"}},
		{"a word that only begins like a denied one", output(fine, `"bestow", "asbest"`, ""), nil},
		{"all three at once", output("short", `"best", "BEST", "x"`, ""), []string{
			"/summary: 1 of 1 not of length 40 to 320", "/tags/*: 1 of 3 not of length 2 to 40", "/tags/*: 1 of 3 said twice", "/tags/*: 2 of 3 with a denied word"}},

		{"a quote over a line break, in other case", output(fine, `"ab"`, attribute("MERINO WOOL", "description")), nil},
		{"a quote of a part of a word", output(fine, `"ab"`, attribute("merino", "description")), nil},
		{"a quote from a list", output(fine, `"ab"`, attribute("m", "attributes")), nil},
		{"a quote of a number", output(fine, `"ab"`, attribute("1500", "attributes")), nil},
		{"a quote of a number with its unit", output(fine, `"ab"`, attribute("0.35 kg", "description")), nil},
		{"a quote that is in another field", output(fine, `"ab"`, attribute("merino", "name")), []string{quote}},
		{"a value of the model's own", output(fine, `"ab"`, attribute("cashmere", "description")), []string{quote}},
		{"a number cut out of a number", output(fine, `"ab"`, attribute("500", "attributes")), []string{quote}},
		{"the beginning of a number", output(fine, `"ab"`, attribute("150", "attributes")), []string{quote}},
		{"the decimals of a number", output(fine, `"ab"`, attribute("35", "description")), []string{quote}},
		{"the whole part of a number", output(fine, `"ab"`, attribute("0", "description")), []string{quote}},
		{"an empty quote", output(fine, `"ab"`, attribute("", "description")), []string{quote}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := compile(t, card())
			got := c.Check([]byte(test.output), cardInput(t, c))
			if diff := cmp.Diff(recipe.Findings{Flags: test.want}, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckFlagsAQuoteFromAFieldThatTheInputLacks(t *testing.T) {
	c := compile(t, card())
	in, err := c.Extract(map[string]any{"name": "Merino wool jumper"})
	if err != nil {
		t.Fatal(err)
	}
	want := recipe.Findings{Flags: []string{"/attributes/*: 1 of 1 not a quote from the input field that it names"}}
	if diff := cmp.Diff(want, c.Check([]byte(goodOutput), in)); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

func TestCheckFlagsAQuoteFromAFieldThatNoRecipeHas(t *testing.T) {
	r := only(map[string]recipe.Field{"a": {From: at("/a")}})
	r.Output.Schema = json.RawMessage(`{"type": "object", "additionalProperties": false, "required": ["value", "source"],
		"properties": {"value": {"type": ["string", "null"]}, "source": {"type": ["string", "null"]}}}`)
	r.Checks = []recipe.Check{{Path: *at(""), Quotes: &recipe.Quotes{Value: "value", In: "source"}}}
	c := compile(t, r)
	in, err := c.Extract(map[string]any{"a": "wool"})
	if err != nil {
		t.Fatal(err)
	}
	for output, flags := range map[string]int{
		`{"value": "wool", "source": "a"}`:    0,
		`{"value": "wool", "source": "b"}`:    1,
		`{"value": "wool", "source": null}`:   1,
		`{"value": null, "source": "nobody"}`: 0, // nothing is quoted
	} {
		if got := c.Check([]byte(output), in); len(got.Flags) != flags || got.Unusable != "" {
			t.Errorf("%s: findings %+v, want %d flags", output, got, flags)
		}
	}
}

func TestCheckDeniesWordsInScriptsWithoutSpaces(t *testing.T) {
	r := only(map[string]recipe.Field{"a": {From: at("/a")}})
	r.Output.Schema = json.RawMessage(property(`{"type": "string"}`))
	r.Checks = []recipe.Check{{Path: *at("/a"), Deny: []string{"最安"}}}
	c := compile(t, r)
	if got := c.Check([]byte(`{"a": "業界最安値"}`), recipe.Input{}); len(got.Flags) != 1 {
		t.Errorf("findings %+v, want one flag", got)
	}
}

func TestCompiledIsSafeForConcurrentUse(t *testing.T) {
	c := compile(t, card())
	payload := decode(t, `{"name": "Troja", "description": "<p>merino wool</p>"}`)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				in, err := c.Extract(payload)
				if err != nil {
					t.Error(err)
				}
				if got := c.Check([]byte(goodOutput), in); got.Unusable != "" || len(got.Flags) > 0 {
					t.Errorf("findings %+v, want none", got)
				}
			}
		})
	}
	group.Wait()
}
