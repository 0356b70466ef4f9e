package modelstub_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"engang/infra/modelstub"
	"engang/shared/operation"
	"engang/shared/recipe/compiled"
)

func TestAnswerConsistsOfTheInput(t *testing.T) {
	tests := []struct {
		name, payload, want string
	}{
		{
			name: "a product with an attribute", payload: sweater,
			want: `{"summary":"Tröja i merinoull. Stickad tröja, 100 % merinoull. Tröjor. Size. S. M. no","tags":["Tröja","merinoull"],` +
				`"attributes":[{"name":"size","value":"S","unit":null,"source":"attributes"}],"missing":[]}`,
		},
		{
			name: "markup and scripts in the name", payload: `{"name":"Mug / Åäö 漢字 🙂 <b>\"x\"</b>","description":"<p>line1<br />\nline2 \u2028 &amp; </p>\n","categories":[{"name":"Uncategorized"}],"attributes":[]}`,
			want: `{"summary":"Mug / Åäö 漢字 🙂 \"x\". line1 line2 &. Uncategorized. no","tags":["line1","line2"],` +
				`"attributes":[{"name":"brand","value":"Mug","unit":null,"source":"name"}],"missing":[]}`,
		},
		{
			name: "hardly anything", payload: `{"name":"Var"}`,
			want: `{"summary":"Var. no. Described by: name, language. Nothing else is known of it.","tags":["Var","no"],` +
				`"attributes":[{"name":"brand","value":"Var","unit":null,"source":"name"}],"missing":[]}`,
		},
		{
			name: "claims are left out", payload: `{"name":"Best mug, the CHEAPEST in the whole of the town","description":""}`,
			want: `{"summary":"mug, the in the whole of the town. no. Described by: name, language.","tags":["whole","town"],` +
				`"attributes":[{"name":"brand","value":"Best","unit":null,"source":"name"}],"missing":[]}`,
		},
	}
	b, c := newBench(t), card(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := input(t, c, tt.payload)
			a := b.call(t, c, in)
			if diff := cmp.Diff(tt.want, string(a.Output)); diff != "" {
				t.Errorf("output (-want +got), %s:\n%s", a.Reason, diff)
			}
			if f := c.Check(a.Output, in); f.Unusable != "" || len(f.Flags) > 0 {
				t.Errorf("the recipe's checks found %+v", f)
			}
			if again := b.call(t, c, in); string(again.Output) != string(a.Output) || again.ResponseID == a.ResponseID {
				t.Errorf("the same input gave %s, with response id %s after %s", again.Output, again.ResponseID, a.ResponseID)
			}
		})
	}
}

func TestUsageFollowsTheLengths(t *testing.T) {
	b, c := newBench(t), card(t)
	short := b.call(t, c, input(t, c, `{"name":"Mug"}`))
	long := b.call(t, c, input(t, c, `{"name":"Mug","description":"`+strings.Repeat("stone ", 600)+`"}`))
	if short.Tokens == nil || long.Tokens == nil {
		t.Fatalf("no usage: %+v, %+v", short.Attempt, long.Attempt)
	}
	if long.Tokens.Input-short.Tokens.Input < 800 || short.Tokens.Input < 100 {
		t.Errorf("%d input tokens for a short input, %d for a long one", short.Tokens.Input, long.Tokens.Input)
	}
	if short.Tokens.Reasoning == 0 || short.Tokens.Output <= short.Tokens.Reasoning {
		t.Errorf("tokens %+v: reasoning is a part of the output", *short.Tokens)
	}
	if short.ServiceTier != "default" || short.Model != "gpt-5.4-mini-2026-03-17" || !strings.HasPrefix(short.ResponseID, "resp_") || !strings.HasPrefix(short.RequestID, "req_") {
		t.Errorf("attempt %+v", short.Attempt)
	}
}

func TestOutputOverTheCapIsCutOff(t *testing.T) {
	b, c := newBench(t), card(t)
	p := c.Prompt(input(t, c, sweater))
	p.MaxOutputTokens = 40
	a := b.client.Call(t.Context(), b.to, p)
	if a.Outcome != operation.Truncated || a.Tokens == nil || a.Tokens.Output != 40 {
		t.Errorf("outcome %q, tokens %+v", a.Outcome, a.Tokens)
	}
	p.Reasoning, p.MaxOutputTokens = "high", 100 // less than it thinks
	if a = b.client.Call(t.Context(), b.to, p); a.Outcome != operation.Truncated || a.Tokens.Reasoning != 100 || !strings.Contains(a.Reason, "reasoning used up") {
		t.Errorf("outcome %q, %s, tokens %+v", a.Outcome, a.Reason, a.Tokens)
	}
}

// loose is a recipe with another schema and no checks.
func loose(t *testing.T, schema string) *compiled.Recipe {
	t.Helper()
	r := card(t).Recipe()
	r.Output.Schema, r.Checks = json.RawMessage(schema), nil
	c, err := compiled.New(r)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAnswerFitsEverySchemaThatRecipesMayHave(t *testing.T) {
	tests := []struct{ name, schema string }{
		{"a text", `{"type":"string"}`},
		{"a text or null", `{"type":["string","null"]}`},
		{"a whole number in bounds", `{"type":"integer","minimum":3,"maximum":9}`},
		{"a whole number above a bound", `{"type":"integer","exclusiveMinimum":3}`},
		{"a number below zero", `{"type":"number","maximum":-2}`},
		{"a number between open bounds", `{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1}`},
		{"a multiple", `{"type":"integer","multipleOf":7,"minimum":10}`},
		{"a truth", `{"type":"boolean"}`},
		{"nothing", `{"type":"null"}`},
		{"an enum of numbers", `{"type":"integer","enum":[5,7]}`},
		{"an enum", `{"type":"string","enum":["high","low"]}`},
		{"an enum or null", `{"type":["string","null"],"enum":["high",null]}`},
		{"one of several", `{"anyOf":[{"type":"integer"},{"type":"string"}]}`},
		{"one of several, or null", `{"anyOf":[{"$ref":"#"},{"type":"null"}]}`},
		{"a list of texts, three at least", `{"type":"array","minItems":3,"items":{"type":"string"}}`},
		{"a long list of texts", `{"type":"array","minItems":60,"maxItems":60,"items":{"type":"string"}}`},
		{"a list of numbers", `{"type":"array","minItems":2,"items":{"type":"number","minimum":1}}`},
		{"a list of choices", `{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string","enum":["wool","steel","stone"]}}`},
		{"a list of lists", `{"type":"array","minItems":1,"items":{"type":"array","minItems":2,"items":{"type":"string"}}}`},
		{"a list that must be empty", `{"type":"array","maxItems":0,"items":{"type":"string"}}`},
		{"a list of itself", `{"type":"array","items":{"$ref":"#"}}`},
		{"an object", `{"type":"object","additionalProperties":false,"required":["name","n"],"properties":{"name":{"type":"string"},"n":{"type":"integer"}}}`},
		{"an object that quotes", `{"type":"object","additionalProperties":false,"required":["text","source"],"properties":{"text":{"type":"string"},"source":{"type":"string","enum":["name","description"]}}}`},
		{"more quotes than the input has", `{"type":"array","minItems":4,"items":{"type":"object","additionalProperties":false,"required":["text","source"],"properties":{"text":{"type":"string"},"source":{"type":"string","enum":["name","description"]}}}}`},
		{"a date", `{"type":"string","format":"date"}`},
		{"a time with its date", `{"type":"string","format":"date-time"}`},
		{"a time", `{"type":"string","format":"time"}`},
		{"a duration", `{"type":"string","format":"duration"}`},
		{"an address of mail", `{"type":"string","format":"email"}`},
		{"a host", `{"type":"string","format":"hostname"}`},
		{"an address of version 4", `{"type":"string","format":"ipv4"}`},
		{"an address of version 6", `{"type":"string","format":"ipv6"}`},
		{"an identifier", `{"type":"string","format":"uuid"}`},
		{"a pattern", `{"type":"string","pattern":"^[A-Z]{2}-[0-9]+(x|y)?$"}`},
		{"a pattern of choices", `{"type":"string","pattern":"^(red|blue).*!$"}`},
	}
	b := newBench(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := loose(t, fmt.Sprintf(`{"type":"object","additionalProperties":false,"required":["z","a"],"properties":{"z":%s,"a":{"type":"string"}}}`, tt.schema))
			for _, payload := range []string{sweater, `{"name":"x"}`, `{"name":"-"}`} {
				in := input(t, c, payload)
				a := b.call(t, c, in)
				if f := c.Check(a.Output, in); a.Outcome != operation.Usable || f.Unusable != "" {
					t.Errorf("outcome %q, %s%s: %s", a.Outcome, a.Reason, f.Unusable, a.Output)
				}
				if !strings.HasPrefix(string(a.Output), `{"z":`) {
					t.Errorf("properties out of the schema's order: %s", a.Output)
				}
				b.fail(t, "missing", 1)
				if a := b.call(t, c, in); c.Check(a.Output, in).Unusable != "" {
					t.Errorf("with missing items it no longer fits: %s", a.Output)
				}
			}
		})
	}
}

func TestAnswerTakesOverWhatTheInputHasUnderTheSameName(t *testing.T) {
	c := loose(t, `{"type":"object","additionalProperties":false,"required":["language","name","mood"],"properties":{
		"language":{"type":["string","null"]},"name":{"type":"string"},"mood":{"type":["string","null"]}}}`)
	in := input(t, c, sweater)
	a := newBench(t).call(t, c, in)
	if want := `{"language":"no","name":"Tröja i merinoull","mood":null}`; string(a.Output) != want {
		t.Errorf("output %s, want %s", a.Output, want)
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add(sweater)
	f.Add(`{"name":"Mug / Åäö 漢字 🙂 <b>\"x\"</b>","description":"<p>a<br>b</p>"}`)
	f.Add(`{"name":"<","attributes":[{"name":"size","options":[""]}]}`)
	f.Fuzz(func(t *testing.T, payload string) {
		c := card(t)
		var doc any
		if json.Unmarshal([]byte(payload), &doc) != nil {
			t.Skip("no payload")
		}
		in, err := c.Extract(doc)
		if err != nil {
			t.Skip("no input")
		}
		out := modelstub.Answer(c.Prompt(in))
		if f := c.Check(out, in); f.Unusable != "" {
			t.Errorf("%s for %s: %s", f.Unusable, in.JSON, out)
		}
	})
}
