package compiled_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"engang/shared/operation"
	"engang/shared/recipe"
)

func TestFlags(t *testing.T) {
	flags := map[string]string{"missing": "not_empty", "summary": "empty", "unit": "empty", "cost_usd": "> 0.01"}
	r := card()
	r.Checks = nil
	r.Policy, r.Review = recipe.PolicyReviewOnFlag, &recipe.Review{Flags: flags}
	r.Output.Schema = json.RawMessage(`{"type": "object", "additionalProperties": false, "required": ["summary", "missing", "unit"], "properties": {
		"summary": {"type": "string"}, "missing": {"type": "array", "items": {"type": "string"}}, "unit": {"anyOf": [{"type": "number"}, {"type": "null"}]}}}`)
	c := compile(t, r)
	const cent = operation.Money(10_000_000_000)
	tests := []struct {
		name, output string
		cost         operation.Money
		want         []string
	}{
		{"nothing to say", `{"summary": "a mug", "missing": [], "unit": 0}`, cent, nil},
		{"something is missing", `{"summary": "a mug", "missing": ["size"], "unit": 1}`, 0, []string{"missing is not empty"}},
		{"a text of white space", `{"summary": " \n", "missing": [], "unit": 1}`, 0, []string{"summary is empty"}},
		{"a null", `{"summary": "a mug", "missing": [], "unit": null}`, 0, []string{"unit is empty"}},
		{"the least more than a cent", `{"summary": "a mug", "missing": [], "unit": 1}`, cent + 1, []string{"it cost $0.010001, flagged when > 0.01"}},
		{"all at once, in the order of their names", `{"summary": "", "missing": ["a"], "unit": null}`, 2 * cent,
			[]string{"it cost $0.020000, flagged when > 0.01", "missing is not empty", "summary is empty", "unit is empty"}},
		{"an output that nothing can be made of", `{`, 0, []string{"missing is not empty", "summary is empty", "unit is empty"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, c.Flags([]byte(tt.output), tt.cost)); diff != "" {
				t.Errorf("flags (-want +got):\n%s", diff)
			}
		})
	}
	if got := compile(t, card()).Flags([]byte(goodOutput), 1<<60); len(got) != 0 {
		t.Errorf("flags %q of a recipe that has none", got)
	}
}

// The bound is held against what the provider could count at most: a token for each byte.
func TestWorstCostIsAtLeastWhatACallCosts(t *testing.T) {
	c := compile(t, card())
	in := cardInput(t, c)
	price := operation.Price{Input: 400_000, Cached: 40_000, CacheWrite: 500_000, Output: 1_600_000, Tiers: map[string]operation.Price{"priority": {Input: 800_000, Output: 3_200_000}}}
	sent := int64(len(card().Instructions) + len(cardSchema) + len(in.JSON) + len("product_card"))
	worst := c.WorstCost(price, in, 1200)
	for name, tokens := range map[string]operation.Tokens{
		"nothing from the cache":      {Input: sent, Output: 1200},
		"everything written to it":    {Input: sent, CacheWrite: sent, Output: 1200},
		"everything read from it":     {Input: sent, Cached: sent, Output: 1200},
		"reasoning and nothing else":  {Input: sent, Output: 1200, Reasoning: 1200},
		"a frame around what is sent": {Input: sent + 100, CacheWrite: sent + 100, Output: 1200},
	} {
		if cost := price.Cost(tokens); cost > worst {
			t.Errorf("%s: %s, more than %s", name, cost, worst)
		}
	}
	if twice := c.WorstCost(price, in, 2400); twice-worst != 1200*1_600_000 {
		t.Errorf("1200 more tokens cost %d more", twice-worst)
	}
	larger := in
	larger.JSON = append(append([]byte(nil), in.JSON...), "0123456789"...)
	if more := c.WorstCost(price, larger, 1200); more-worst != 10*500_000 {
		t.Errorf("ten more bytes cost %d more", more-worst)
	}
	r := card()
	r.Model.Options.ServiceTier = ""
	if any := compile(t, r).WorstCost(price, in, 1200); any <= worst {
		t.Errorf("the provider may choose the dearer tier, and the worst is %s", any)
	}
}
