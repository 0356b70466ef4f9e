package references_test

import (
	"strings"
	"testing"

	"engang/infra/engang/references"
	"engang/shared/config"
	"engang/shared/recipe"
	"engang/shared/recipe/compiled"
)

func TestKeysOfTargetsAreWhatTheyHaveToBe(t *testing.T) {
	for name, c := range map[string]struct{ key, says string }{
		"a sound one":                  {"ck_0123456789abcdef:cs_0123456789abcdef", ""},
		"nothing":                      {"", "leads to nothing"},
		"white space":                  {"  ", "it is empty"},
		"a space":                      {"ck_0123456789abcdef: cs_0123456789abcdef", "white space inside"},
		"a line end":                   {"ck_0123456789abcdef:cs_0123456789abcdef\n", "white space at an end"},
		"half of one":                  {"ck_0123456789abcdef", "joined by a colon"},
		"the other half first":         {"cs_0123456789abcdef:ck_0123456789abcdef", "joined by a colon"},
		"nothing behind its beginning": {"ck_:cs_", "joined by a colon"},
		"three parts":                  {"ck_0:cs_0:1", "joined by a colon"},
		"the secret of a webhook":      {sound, "the secret of a webhook"},
	} {
		s := store{"hooks/pay/1": sound, "hooks/pay/2": "whsec_ffffffffffffffff0123456789abcdef", "hooks/shop/1": "a-shop-secret-of-the-test", "models/openai": "sk-0123456789"}
		if c.key != "" {
			s["targets/shop"] = c.key
		}
		all := set("test")
		all.Common.Targets = map[string]config.Target{"shop": {Kind: "woocommerce", BaseURL: "https://shop.example.com", Key: "ssm:targets/shop"}}
		found, err := references.Check(t.Context(), s, all, nil)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case c.says == "" && len(found.Faults) > 0:
			t.Errorf("%s: %v", name, found.Faults)
		case c.says != "" && (len(found.Faults) != 1 || found.Faults[0].At != "/targets/shop/key" || !strings.Contains(found.Faults[0].Reason, c.says) || found.Faults[0].Remedy == ""):
			t.Errorf("%s: %v", name, found.Faults)
		}
		if c.key != "" && strings.TrimSpace(c.key) != "" && strings.Contains(found.Faults.Error(), strings.TrimSpace(c.key)) {
			t.Errorf("%s: a fault repeats it", name)
		}
	}
}

// A recipe that refuses what its sender always sends would park every event.
func TestWhatIsRefusedIsHeldAgainstWhatIsSent(t *testing.T) {
	for name, c := range map[string]struct {
		pointer, pattern string
		fault            bool
	}{
		"a REST error, which no sample is": {"/code", "woocommerce_rest_*", false},
		"what every product has":           {"/id", "*", true},
		"the name of another product":      {"/name", "Chair*", false},
	} {
		all := set("test")
		all.Endpoints = []config.Endpoint{{Name: "shop", Provider: "woocommerce", Events: map[string]config.EventRule{"product.updated": {Recipes: []string{"card"}}, "product.created": {Recipes: []string{"card"}}}}}
		all.Recipes = []recipe.Recipe{{
			Name: "card", Version: 1, Instructions: "Be short.", Policy: recipe.PolicyDraft,
			Input:  recipe.Fields{Fields: map[string]recipe.Field{"name": {From: pointer(t, "/name")}}, RefuseIf: map[string]string{c.pointer: c.pattern}},
			Model:  recipe.Model{Provider: "openai", Name: "gpt-5.4-mini-2026-03-17", Mode: "direct", Options: recipe.Options{MaxOutputTokens: 100}},
			Output: recipe.Output{Name: "card", Schema: []byte(`{"type":"object","additionalProperties":false,"required":["a"],"properties":{"a":{"type":"string"}}}`)},
		}}
		if _, err := compiled.New(all.Recipes[0]); err != nil {
			t.Fatal(err)
		}
		found := references.Samples(all)
		if c.fault != (len(found.Faults) == 1 && found.Faults[0].At == "/recipes/card/input/refuse_if") || !c.fault && len(found.Faults) > 0 {
			t.Errorf("%s: %v", name, found.Faults)
		}
	}
}
