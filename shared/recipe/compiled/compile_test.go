package compiled_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"engang/shared/document"
	"engang/shared/recipe"
	"engang/shared/recipe/compiled"
)

func TestCompileTakesTheRecipeOfTheDocumentation(t *testing.T) {
	want := card()
	got := compile(t, want).Recipe()
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(document.Pointer{})); diff != "" {
		t.Errorf("the compiled recipe differs (-want +got):\n%s", diff)
	}
}

// A change makes the recipe of the documentation one that is refused.
type change struct {
	name   string
	make   func(*recipe.Recipe)
	at     string
	reason string
}

func field(f recipe.Field) func(*recipe.Recipe) {
	return func(r *recipe.Recipe) { r.Input.Fields["name"] = f }
}

func check(c recipe.Check) func(*recipe.Recipe) {
	return func(r *recipe.Recipe) { r.Checks = []recipe.Check{c} }
}

// reviewed gives the recipe a review, and the policy that looks at it.
func reviewed(review recipe.Review) func(*recipe.Recipe) {
	return func(r *recipe.Recipe) { r.Policy, r.Review = recipe.PolicyReviewOnFlag, &review }
}

func refuseIf(pointer, pattern string) func(*recipe.Recipe) {
	return func(r *recipe.Recipe) { r.Input.RefuseIf = map[string]string{pointer: pattern} }
}

func examples(outputs ...string) func(*recipe.Recipe) {
	return func(r *recipe.Recipe) {
		for _, output := range outputs {
			r.Examples = append(r.Examples, json.RawMessage(output))
		}
	}
}

var changes = []change{
	{"a name with an @, which separates name and version", func(r *recipe.Recipe) { r.Name = "card@3" }, "", "the name is"},
	{"a name with a space", func(r *recipe.Recipe) { r.Name = "product card" }, "", "the name is"},
	{"a name with a slash, which separates object and recipe", func(r *recipe.Recipe) { r.Name = "a/b" }, "", "the name is"},
	{"a name with a hash, which separates parts of keys", func(r *recipe.Recipe) { r.Name = "a#b" }, "", "the name is"},
	{"a name of 65 characters", func(r *recipe.Recipe) { r.Name = strings.Repeat("a", 65) }, "", "the name is"},
	{"no name", func(r *recipe.Recipe) { r.Name = "" }, "", "the name is"},
	{"version 0", func(r *recipe.Recipe) { r.Version = 0 }, "/version", "whole number"},
	{"a version of seven digits, which would not sort in keys", func(r *recipe.Recipe) { r.Version = 1_000_000 }, "/version", "whole number"},
	{"no instructions", func(r *recipe.Recipe) { r.Instructions = " \n" }, "/instructions", "no instructions"},
	{"an unknown policy", func(r *recipe.Recipe) { r.Policy = "yolo" }, "/policy", "unknown policy"},
	{"no policy", func(r *recipe.Recipe) { r.Policy = "" }, "/policy", "unknown policy"},
	{"review-on-flag without a review", func(r *recipe.Recipe) { r.Policy = "review-on-flag" }, "/policy", "without a flag"},
	{"review-on-flag without a flag", reviewed(recipe.Review{By: []string{"catalogue"}}), "/review/flags", "without a flag"},
	{"flags that nothing looks at", func(r *recipe.Recipe) { r.Review = &recipe.Review{Flags: map[string]string{"missing": "not_empty"}} }, "/review/flags", "does not look at"},
	{"a flag of what no output has", reviewed(recipe.Review{Flags: map[string]string{"mising": "not_empty"}}), "/review/flags/mising", "no such property"},
	{"a flag of an unknown rule", reviewed(recipe.Review{Flags: map[string]string{"missing": "long"}}), "/review/flags/missing", "unknown rule"},
	{"a flag that is always raised", func(r *recipe.Recipe) {
		r.Output.Schema, r.Checks = json.RawMessage(property(`{"type": "boolean"}`)), nil
		r.Policy, r.Review = recipe.PolicyReviewOnFlag, &recipe.Review{Flags: map[string]string{"a": "not_empty"}}
	}, "/review/flags/a", "never empty"},
	{"a cost without a sign", reviewed(recipe.Review{Flags: map[string]string{"cost_usd": "0.01"}}), "/review/flags/cost_usd", "no bound"},
	{"a cost below", reviewed(recipe.Review{Flags: map[string]string{"cost_usd": "< 0.01"}}), "/review/flags/cost_usd", "no bound"},
	{"a cost that is too exact", reviewed(recipe.Review{Flags: map[string]string{"cost_usd": "> 0.0000001"}}), "/review/flags/cost_usd", "no bound"},
	{"a cost of nothing", reviewed(recipe.Review{Flags: map[string]string{"cost_usd": "> 0"}}), "/review/flags/cost_usd", "a bound of nothing"},
	{"a property that is called as the cost is", func(r *recipe.Recipe) {
		r.Output.Schema, r.Checks = json.RawMessage(strings.ReplaceAll(property(`{"type": "string"}`), `"a"`, `"cost_usd"`)), nil
		r.Policy, r.Review = recipe.PolicyReviewOnFlag, &recipe.Review{Flags: map[string]string{"cost_usd": "> 0.01"}}
	}, "/review/flags/cost_usd", "cannot be told"},
	{"too many flags", func(r *recipe.Recipe) {
		flags := map[string]string{}
		for i := range 21 {
			flags[fmt.Sprint("f", i)] = "empty"
		}
		reviewed(recipe.Review{Flags: flags})(r)
	}, "/review/flags", "more than 20"},
	{"a person in place of a group", reviewed(recipe.Review{By: []string{"ola@example.com"}}), "/review/by/0", "not the name of a group"},
	{"a group twice", reviewed(recipe.Review{By: []string{"a", "a"}}), "/review/by/1", "twice"},
	{"eleven groups", reviewed(recipe.Review{By: strings.Split("a b c d e f g h i j k", " ")}), "/review/by", "more than 10"},
	{"days below nothing", reviewed(recipe.Review{Days: -1}), "/review/days", "out of range"},

	{"a quiet period of two days", func(r *recipe.Recipe) { r.QuietSeconds = 48 * 3600 }, "/quiet_period", "more than a day"},
	{"a quiet period below nothing", func(r *recipe.Recipe) { r.QuietSeconds = -1 }, "/quiet_period", "quiet period"},
	{"sixteen attempts", func(r *recipe.Recipe) { r.Limits.Attempts = 16 }, "/limits/attempts", "out of range"},
	{"an event below nothing", func(r *recipe.Recipe) { r.Limits.USDPerEvent = -1 }, "/limits/usd_per_event", "below nothing"},
	{"a day below nothing", func(r *recipe.Recipe) { r.Limits.USDPerDay = -1 }, "/limits/usd_per_day", "below nothing"},
	{"an event that costs more than a day", func(r *recipe.Recipe) { r.Limits.USDPerEvent, r.Limits.USDPerDay = 2, 1 }, "/limits/usd_per_event", "more than a whole day"},
	{"calls below nothing", func(r *recipe.Recipe) { r.Limits.PerMinute = -1 }, "/limits/per_minute", "below nothing"},

	{"an unknown kind of personal data", func(r *recipe.Recipe) { r.Input.Mask = []string{"email", "name"} }, "/input/mask/1", "unknown kind"},
	{"a kind named twice", func(r *recipe.Recipe) { r.Input.Mask = []string{"email", "email"} }, "/input/mask/1", "twice"},
	{"a refusal of the whole body", refuseIf("", "*"), "/input/refuse_if/", "no pointer"},
	{"a refusal at a slash", refuseIf("/", "*"), "/input/refuse_if/~1", "no pointer"},
	{"a refusal at no pointer", refuseIf("code", "*"), "/input/refuse_if/code", "no pointer"},
	{"a refusal of an empty pattern", refuseIf("/code", ""), "/input/refuse_if/~1code", "an empty pattern"},
	{"a refusal of a long pattern", refuseIf("/code", strings.Repeat("a", 201)), "/input/refuse_if/~1code", "an empty pattern"},
	{"too many refusals", func(r *recipe.Recipe) {
		r.Input.RefuseIf = map[string]string{}
		for i := range 21 {
			r.Input.RefuseIf[fmt.Sprint("/", i)] = "x"
		}
	}, "/input/refuse_if", "more than 20"},
	{"a person without a purpose", field(recipe.Field{From: at("/a"), Personal: &recipe.Personal{Basis: "contract"}}), "/input/fields/name/personal", "purpose or basis"},
	{"a person without a basis", field(recipe.Field{From: at("/a"), Personal: &recipe.Personal{Purpose: "a greeting", Basis: " "}}), "/input/fields/name/personal", "purpose or basis"},
	{"a constant about a person", field(recipe.Field{Const: json.RawMessage("1"), Personal: &recipe.Personal{Purpose: "a", Basis: "b"}}), "/input/fields/name", "constant"},

	{"an example outside the schema", examples(`{"summary": "x"}`), "/examples/0", "required at"},
	{"an example that is no JSON", examples("", "no"), "/examples/1", "not one JSON value"},
	{"an example that a check refuses", examples(strings.Replace(goodOutput, `"jumper"`, `"BEST"`, 1)), "/examples/0", "a denied word"},
	{"too many examples", examples(strings.Split(strings.Repeat(goodOutput+"|", 20)+goodOutput, "|")...), "/examples", "more than 20"},
	{"a recipe that fits no item", func(r *recipe.Recipe) { r.Instructions = strings.Repeat("a", recipe.MaxBytes) }, "", "bytes, at most"},

	{"another provider", func(r *recipe.Recipe) { r.Model.Provider = "acme" }, "/model/provider", "unknown provider"},
	{"no model", func(r *recipe.Recipe) { r.Model.Name = "" }, "/model/name", "no model"},
	{"a model alias", func(r *recipe.Recipe) { r.Model.Name = "gpt-5.4-mini" }, "/model/name", "alias"},
	{"a mode that comes later", func(r *recipe.Recipe) { r.Model.Mode = "background" }, "/model/mode", "not built yet"},
	{"no mode", func(r *recipe.Recipe) { r.Model.Mode = "" }, "/model/mode", "unknown mode"},
	{"an unknown reasoning effort", func(r *recipe.Recipe) { r.Model.Options.Reasoning = "hard" }, "/model/options/reasoning", "unknown"},
	{"an unknown service tier", func(r *recipe.Recipe) { r.Model.Options.ServiceTier = "gold" }, "/model/options/service_tier", "unknown"},
	{"no room for an answer", func(r *recipe.Recipe) { r.Model.Options.MaxOutputTokens = 15 }, "/model/options/max_output_tokens", "less than 16"},
	{"more room than any model takes", func(r *recipe.Recipe) { r.Model.Options.MaxOutputTokens = 1_000_001 }, "/model/options/max_output_tokens", "more than"},
	{"a timeout above the function's room", func(r *recipe.Recipe) { r.Model.Options.TimeoutSeconds = 76 }, "/model/options/timeout", "no room"},

	{"no fields", func(r *recipe.Recipe) { r.Input = recipe.Fields{}; r.Checks = nil }, "/input/fields", "no fields"},
	{"more fields than an input has", func(r *recipe.Recipe) {
		for i := range recipe.MaxFields {
			r.Input.Fields[fmt.Sprint("f", i)] = recipe.Field{From: at("/a")}
		}
	}, "/input/fields", "more than 200 fields"},
	{"constants alone", func(r *recipe.Recipe) {
		r.Input = recipe.Fields{Fields: map[string]recipe.Field{"a": {Const: json.RawMessage("1")}}}
	}, "/input/fields", "no field comes from the payload"},
	{"the whole body", field(recipe.Field{From: at("")}), "/input/fields/name", "whole body"},
	{"a slash alone", field(recipe.Field{From: at("/")}), "/input/fields/name", "whole body"},
	{"every item of a list that is the body", field(recipe.Field{From: at("/*")}), "/input/fields/name", "whole body"},
	{"a field from nowhere", field(recipe.Field{As: "text"}), "/input/fields/name", "neither from nor const"},
	{"an unknown form", field(recipe.Field{From: at("/a"), As: "markdown"}), "/input/fields/name/as", "unknown form"},
	{"text with pick", field(recipe.Field{From: at("/a"), As: "text", Pick: []string{"b"}}), "/input/fields/name/as", "exclude"},
	{"one character, which is the mark of a cut", field(recipe.Field{From: at("/a"), Max: 1}), "/input/fields/name/max", "less than 2"},
	{"minus one item", field(recipe.Field{From: at("/a"), MaxItems: -1}), "/input/fields/name/max_items", "less than one"},
	{"a property picked twice", field(recipe.Field{From: at("/a"), Pick: []string{"b", "b"}}), "/input/fields/name/pick/1", "twice"},
	{"a property without name", field(recipe.Field{From: at("/a"), Pick: []string{""}}), "/input/fields/name/pick/0", "empty"},
	{"a constant with a pointer", field(recipe.Field{From: at("/a"), Const: json.RawMessage("1")}), "/input/fields/name", "constant"},
	{"a constant that is no JSON", field(recipe.Field{Const: json.RawMessage("no")}), "/input/fields/name/const", "no JSON"},
	{"a field name with a space", func(r *recipe.Recipe) { r.Input.Fields["a b"] = recipe.Field{From: at("/a")} }, "/input/fields/a b", "the field's name"},
	{"a required field that is not there", func(r *recipe.Recipe) { r.Input.Required = []string{"nmae"} }, "/input/required/0", "no field"},
	{"a required field named twice", func(r *recipe.Recipe) { r.Input.Required = []string{"name", "name"} }, "/input/required/1", "twice"},
	{"a required constant", func(r *recipe.Recipe) { r.Input.Required = []string{"language"} }, "/input/required/0", "constant"},

	{"an output name with a dot", func(r *recipe.Recipe) { r.Output.Name = "a.b" }, "/output/name", "the name is"},
	{"no schema", func(r *recipe.Recipe) { r.Output.Schema = nil }, "/output/schema", "no JSON object"},

	{"a check of nothing", check(recipe.Check{Path: *at("/summary")}), "/checks/0", "checks nothing"},
	{"a check of a place that no output has", check(recipe.Check{Path: *at("/sumary"), Length: &[2]int{1, 2}}), "/checks/0/path", "leads nowhere"},
	{"a check of items of a text", check(recipe.Check{Path: *at("/summary/*"), Length: &[2]int{1, 2}}), "/checks/0/path", "leads nowhere"},
	{"lengths the wrong way round", check(recipe.Check{Path: *at("/summary"), Length: &[2]int{3, 2}}), "/checks/0/length", "least and most"},
	{"a length of an object", check(recipe.Check{Path: *at("/attributes/*"), Length: &[2]int{1, 2}}), "/checks/0/length", "neither a text nor a list"},
	{"uniqueness of an unknown kind", check(recipe.Check{Path: *at("/tags/*"), Unique: "exact"}), "/checks/0/unique", "unknown comparison"},
	{"uniqueness of one place", check(recipe.Check{Path: *at("/tags"), Unique: "fold"}), "/checks/0/unique", "one place"},
	{"uniqueness of objects", check(recipe.Check{Path: *at("/attributes/*"), Unique: "fold"}), "/checks/0/unique", "neither texts nor numbers"},
	{"an empty denied word", check(recipe.Check{Path: *at("/summary"), Deny: []string{"best", " "}}), "/checks/0/deny/1", "empty word"},
	{"a denied word in a list", check(recipe.Check{Path: *at("/tags"), Deny: []string{"best"}}), "/checks/0/deny", "no text"},
	{"a quote of a property that is not there", check(recipe.Check{Path: *at("/attributes/*"), Quotes: &recipe.Quotes{Value: "valeu", In: "source"}}), "/checks/0/quotes/value", "no such property"},
	{"a quote from a property that is not there", check(recipe.Check{Path: *at("/attributes/*"), Quotes: &recipe.Quotes{Value: "value", In: "sauce"}}), "/checks/0/quotes/in", "no such property"},
	{"a quote from what is no input field", check(recipe.Check{Path: *at("/attributes/*"), Quotes: &recipe.Quotes{Value: "value", In: "name"}}), "/checks/0/quotes/in", "no input field"},
}

func TestCompileRefuses(t *testing.T) {
	for _, test := range changes {
		t.Run(test.name, func(t *testing.T) {
			r := card()
			test.make(&r)
			_, err := compiled.New(r)
			faults, ok := errors.AsType[compiled.Faults](err)
			if !ok {
				t.Fatalf("Compile returned %v, want faults", err)
			}
			if !has(faults, test.at, test.reason) {
				t.Errorf("no fault at %q that says %q, but:\n%v", test.at, test.reason, err)
			}
		})
	}
}

// has tells whether a fault is among those found, with a remedy.
func has(faults compiled.Faults, at, reason string) bool {
	for _, f := range faults {
		if f.At == at && strings.Contains(f.Reason, reason) && f.Remedy != "" {
			return true
		}
	}
	return false
}

func TestCompileNamesAllFaultsAtOnce(t *testing.T) {
	r := card()
	r.Policy, r.Version, r.Model.Name = "yolo", 0, "gpt-5.4-mini"
	r.Input.Required = []string{"nmae"}
	r.Output.Schema = json.RawMessage(`{"type": "object", "properties": {"a": {"type": "text"}}}`)
	r.Checks = r.Checks[:1]
	_, err := compiled.New(r)
	faults, _ := errors.AsType[compiled.Faults](err)
	var got []string
	for _, f := range faults {
		got = append(got, f.At)
	}
	want := []string{
		"/version", "/policy", "/model/name", "/input/required/0",
		"/output/schema", "/output/schema/properties/a", "/output/schema/properties/a/type", "/checks/0/path",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("places of faults (-want +got):\n%s", diff)
	}
	if lines := strings.Count(err.Error(), "\n") + 1; lines != len(faults) {
		t.Errorf("the text has %d lines for %d faults", lines, len(faults))
	}
}

func TestCompileTakesAnAliasThatIsAllowed(t *testing.T) {
	r := card()
	r.Model.Name, r.Model.AllowAlias = "gpt-5.4-mini", true
	compile(t, r)
}

func TestPromptHoldsTheInputAndNothingElseOfThePayload(t *testing.T) {
	c := compile(t, card())
	in, err := c.Extract(decode(t, `{"id": 794, "name": "Troja", "billing": {"email": "a@example.com"}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := recipe.Prompt{
		Recipe: card().Ref(), Provider: "openai", Model: "gpt-5.4-mini-2026-03-17",
		Instructions: card().Instructions, Input: []byte(`{"language":"no","name":"Troja"}`),
		SchemaName: "product_card", Schema: json.RawMessage(cardSchema),
		MaxOutputTokens: 1200, Reasoning: "low", ServiceTier: "default",
	}
	if diff := cmp.Diff(want, c.Prompt(in)); diff != "" {
		t.Errorf("prompt (-want +got):\n%s", diff)
	}
}

func TestCompileTakesWhatARecipeMaySay(t *testing.T) {
	for name, make := range map[string]func(*recipe.Recipe){
		"a review with flags":                             reviewed(recipe.Review{Flags: map[string]string{"missing": "not_empty", "summary": "empty", "cost_usd": "> 0.01"}, By: []string{"catalogue", "Nettbutikk-Ålesund"}, Days: 14}),
		"a review without flags, for those of the checks": func(r *recipe.Recipe) { r.Review = &recipe.Review{By: []string{"catalogue"}} },
		"flags on drafts, for who looks at them": func(r *recipe.Recipe) {
			reviewed(recipe.Review{Flags: map[string]string{"missing": "not_empty"}})(r)
			r.Policy = recipe.PolicyDraft
		},
		"examples":                         examples(goodOutput, strings.Replace(goodOutput, "Merino  Wool", "not in any input", 1)),
		"the longest quiet period":         func(r *recipe.Recipe) { r.QuietSeconds = recipe.MaxQuietSeconds },
		"as many attempts as there can be": func(r *recipe.Recipe) { r.Limits = recipe.Limits{Attempts: recipe.MaxAttempts} },
		"a person with purpose and basis":  field(recipe.Field{From: at("/a"), Personal: &recipe.Personal{Purpose: "a greeting by name", Basis: "contract"}}),
	} {
		t.Run(name, func(t *testing.T) {
			r := card()
			make(&r)
			if _, err := compiled.New(r); err != nil {
				t.Errorf("refused:\n%v", err)
			}
		})
	}
}

// A version never changes once it is stored: one that was applied while more calls a minute were taken is still read.
func TestARecipeOfMoreCallsThanAreCountedIsKeptToThoseThatAre(t *testing.T) {
	for stands, kept := range map[int]int{0: 0, 60: 60, recipe.MaxPerMinute: recipe.MaxPerMinute, 100_000: recipe.MaxPerMinute} {
		r := card()
		r.Limits.PerMinute = stands
		if got := compile(t, r).Recipe().Limits; got.PerMinute != stands || got.CallsAMinute() != kept {
			t.Errorf("%d calls: read as %d, kept to %d", stands, got.PerMinute, got.CallsAMinute())
		}
	}
}
