package configfile_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"engang/infra"
	"engang/infra/configfile"
	"engang/shared/config"
	"engang/shared/document"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/recipe"
	"engang/shared/secrets"
	"engang/shared/webhook"
)

// base is a whole file. Rows of the tables below change one thing of it.
const base = `version: 1
tenant: shop
environment: test
data: {event_days: 7, result_days: 70}
providers:
  openai:
    api_key: ssm:models/openai
    base_url: https://api.example.com/v1
    store: false
    usd_per_million:
      gpt-5.4-mini-2026-03-17: {input: 0.40, cached: "0.04", output: 1.60, as_of: 2026-11-29}
endpoints:
  woo-shop:
    provider: woocommerce
    public_url: https://hooks.example.com/hooks/woo-shop
    source: https://shop.example.com/
    secrets: [ssm:hooks/woo-shop/1, ssm:hooks/woo-shop/2]
    events:
      product.updated: {recipes: [card], object: {kind: product, id: /id}, version: /date_modified_gmt}
      product.deleted: ignore
    max_body: 512KiB
recipes:
  card:
    version: 3
    input:
      fields:
        name: /name
        text: {from: /description, as: text, max: 4000}
        language: {const: "no"}
      required: [name]
    model:
      provider: openai
      name: gpt-5.4-mini-2026-03-17
      options: {reasoning: low, max_output_tokens: 1200, timeout: 75s, service_tier: default}
    instructions: |
      Be short.
    output:
      name: card
      schema:
        type: object
        additionalProperties: false
        required: [summary, about]
        properties:
          summary: {type: string}
          about: {type: string}
    checks:
      - {path: /summary, length: [1, 300], deny: [best]}
    policy: auto
`

// with is the base with one line changed.
func with(t testing.TB, from, to string) string {
	t.Helper()
	if strings.Count(base, from) != 1 {
		t.Fatalf("%q stands %d times in the base", from, strings.Count(base, from))
	}
	return strings.Replace(base, from, to, 1)
}

func parse(text string) (config.Set, error) {
	return configfile.Parse(configfile.Source{Name: "shop.yaml", Text: []byte(text)})
}

func TestParseReadsAWholeFile(t *testing.T) {
	got, err := parse(base)
	if err != nil {
		t.Fatal(err)
	}
	at := func(text string) *document.Pointer {
		p, err := document.ParsePointer(text)
		if err != nil {
			t.Fatal(err)
		}
		return &p
	}
	want := config.Set{
		Scope: object.Scope{Tenant: "shop", Environment: "test"},
		Common: config.Common{EventDays: 7, ResultDays: 70, Providers: map[string]config.Provider{"openai": {
			APIKey: "ssm:models/openai", BaseURL: "https://api.example.com/v1",
			Prices: map[string]operation.Price{"gpt-5.4-mini-2026-03-17": {Input: 400_000, Cached: 40_000, CacheWrite: 400_000, Output: 1_600_000, AsOf: "2026-11-29"}},
		}}},
		Endpoints: []config.Endpoint{{
			Name: "woo-shop", Scope: object.Scope{Tenant: "shop", Environment: "test"}, Provider: "woocommerce",
			PublicURL: "https://hooks.example.com/hooks/woo-shop", Source: "https://shop.example.com/",
			Secrets: []secrets.Ref{"ssm:hooks/woo-shop/1", "ssm:hooks/woo-shop/2"},
			Events: map[string]config.EventRule{
				"product.updated": {Recipes: []string{"card"}, Object: &config.ObjectRule{Kind: "product", ID: *at("/id")}, Version: at("/date_modified_gmt")},
				"product.deleted": {Ignore: true},
			},
			MaxBody: 512 << 10,
		}},
		Recipes: []recipe.Recipe{{
			Name: "card", Version: 3,
			Input: recipe.Fields{Fields: map[string]recipe.Field{
				"name": {From: at("/name")}, "text": {From: at("/description"), As: "text", Max: 4000}, "language": {Const: json.RawMessage(`"no"`)},
			}, Required: []string{"name"}},
			Model: recipe.Model{Provider: "openai", Name: "gpt-5.4-mini-2026-03-17", Mode: "direct",
				Options: recipe.Options{Reasoning: "low", MaxOutputTokens: 1200, TimeoutSeconds: 75, ServiceTier: "default"}},
			Instructions: "Be short.\n",
			// In the order of the file: a model answers in the order of the schema's properties.
			Output: recipe.Output{Name: "card", Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["summary","about"],"properties":{"summary":{"type":"string"},"about":{"type":"string"}}}`)},
			Checks: []recipe.Check{{Path: *at("/summary"), Length: &[2]int{1, 300}, Deny: []string{"best"}}},
			Policy: recipe.PolicyAuto,
		}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(document.Pointer{})); diff != "" {
		t.Errorf("set (-want +got):\n%s", diff)
	}
}

func TestParseReadsWhatRowsLeaveToTheEndpoint(t *testing.T) {
	set, err := parse(with(t, "    provider: woocommerce\n    public_url: https://hooks.example.com/hooks/woo-shop\n    source: https://shop.example.com/\n",
		"    provider: generic\n    type_at: /event/name\n    hmac: {header: X-Sum, prefix: \"sha256=\", encoding: hex, time_header: X-Time, window: 2m}\n"))
	if err != nil {
		t.Fatal(err)
	}
	e := set.Endpoints[0]
	want := &config.HMAC{Header: "X-Sum", Prefix: "sha256=", Encoding: "hex", TimeHeader: "X-Time", WindowSeconds: 120}
	if diff := cmp.Diff(want, e.HMAC); diff != "" || e.TypeAt.String() != "/event/name" {
		t.Errorf("type at %v %s", e.TypeAt, diff)
	}
	if set, err = parse(with(t, "    provider: woocommerce\n", "    provider: hubspot\n    legacy: true\n    type: company.creation\n")); err != nil {
		t.Fatal(err)
	}
	if e := set.Endpoints[0]; !e.Legacy || e.Type != "company.creation" {
		t.Errorf("endpoint %+v", e)
	}
}

// Such an event is stored and settled, for a recipe that comes later; only ignore leaves it out.
func TestAnEventMayHaveNoRecipe(t *testing.T) {
	set, err := parse(with(t, "{recipes: [card], object", "{recipes: [], object"))
	if err != nil {
		t.Fatal(err)
	}
	if rule := set.Endpoints[0].Events["product.updated"]; rule.Ignore || len(rule.Recipes) != 0 || rule.Object == nil {
		t.Errorf("rule %+v", rule)
	}
}

func TestParseFillsInWhatIsNotSaid(t *testing.T) {
	text := with(t, "data: {event_days: 7, result_days: 70}\n", "")
	text = strings.Replace(text, "    policy: auto\n", "", 1)
	got, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if got.Common.EventDays != 30 || got.Common.ResultDays != 400 {
		t.Errorf("days %d and %d, want 30 and 400", got.Common.EventDays, got.Common.ResultDays)
	}
	if got.Recipes[0].Policy != recipe.PolicyDraft || got.Recipes[0].Model.Mode != "direct" {
		t.Errorf("policy %q, mode %q, want draft and direct", got.Recipes[0].Policy, got.Recipes[0].Model.Mode)
	}
}

// Where the base says nothing of it, one row must have one fault, in the right line, with a remedy.
func TestParseRefusesOneThing(t *testing.T) {
	for _, test := range append(refusals, limitRefusals...) {
		t.Run(test.name, func(t *testing.T) {
			_, err := parse(with(t, test.from, test.to))
			faults, ok := errors.AsType[configfile.Faults](err)
			if !ok {
				t.Fatalf("error %v, want faults", err)
			}
			if len(faults) != max(test.faults, 1) {
				t.Errorf("%d faults, want %d:\n%v", len(faults), max(test.faults, 1), err)
			}
			if !slices.ContainsFunc(faults, func(f configfile.Fault) bool {
				return f.File == "shop.yaml" && f.Line == test.line && f.At == test.at && strings.Contains(f.Reason, test.reason) && f.Remedy != ""
			}) {
				t.Errorf("no fault in line %d, at %q, reason %q, but:\n%v", test.line, test.at, test.reason, err)
			}
		})
	}
}

// What the published schema can say, it says: an editor marks it while the file is written.
func TestSchemaRefusesWhatParseRefuses(t *testing.T) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(infra.ConfigSchema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("urn:test", v); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("urn:test")
	if err != nil {
		t.Fatal(err)
	}
	fits := func(text string) bool {
		raw, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		return schema.Validate(doc) == nil
	}
	if !fits(base) || !fits(string(infra.LocalConfig)) {
		t.Fatal("the schema refuses a file that is read")
	}
	for _, test := range append(refusals, limitRefusals...) {
		if test.beyond {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			if fits(with(t, test.from, test.to)) {
				t.Error("the schema takes it")
			}
		})
	}
}

func TestSchemaAndCodeNameTheSameThings(t *testing.T) {
	var schema struct {
		Defs map[string]struct {
			Properties map[string]struct {
				Enum    []string
				Pattern string
				Items   struct{ Pattern string }
			}
		} `json:"$defs"`
	}
	if err := json.Unmarshal(infra.ConfigSchema, &schema); err != nil {
		// enums of other types are of no interest here
		if _, ok := errors.AsType[*json.UnmarshalTypeError](err); !ok {
			t.Fatal(err)
		}
	}
	got := schema.Defs["endpoint"].Properties["provider"].Enum
	for _, name := range got {
		if _, ok := webhook.Lookup(name); !ok {
			t.Errorf("the schema knows provider %q, the code does not", name)
		}
	}
	if len(got) != len(webhook.Names()) {
		t.Errorf("providers of the schema %q, of the code %q", got, webhook.Names())
	}
}

func TestParseNamesAllFaultsAtOnce(t *testing.T) {
	_, err := parse(strings.NewReplacer(
		"tenant: shop", "tenant: my shop", "store: false", "store: true", "as: text", "as: markdown", "policy: auto", "polcy: auto\n    effects: [a]",
		"{recipes: [card]", "{recipes: [crad]", "max_body: 512KiB", "max_body: 8MiB", "required: [name]", "required: [nmae]",
	).Replace(base))
	faults, _ := errors.AsType[configfile.Faults](err)
	var lines []int
	for _, f := range faults {
		lines = append(lines, f.Line)
	}
	// Not 30 (required): the recipe cannot be looked at further while as: has no meaning.
	if diff := cmp.Diff([]int{2, 9, 19, 21, 28, 48, 49}, lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s\n%v", diff, err)
	}
	if got := strings.Count(err.Error(), "\n") + 1; got != len(faults) {
		t.Errorf("%d lines of text for %d faults", got, len(faults))
	}
}

func TestNoFaultRepeatsAValue(t *testing.T) {
	const secret = "Hunter2SuperSecretValue"
	for _, from := range []string{
		"ssm:models/openai", "ssm:hooks/woo-shop/1", "https://api.example.com/v1", "https://shop.example.com/", "512KiB", "woocommerce\n", "tenant: shop", "environment: test",
		"/date_modified_gmt", "\"0.04\"", "2026-11-29", "ignore", "75s", "auto", "low", "text, max", "version: 3",
	} {
		for _, to := range []string{secret, "'" + secret, "|" + secret, "\"\\q" + secret, "[" + secret, "&a " + secret, "!" + secret + " x", "https://u:" + secret + "@example.com/"} {
			_, err := parse(with(t, from, strings.Replace(from, strings.TrimPrefix(strings.TrimPrefix(from, "tenant: "), "environment: "), to, 1)))
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("%q for %q: the error repeats it:\n%v", to, from, err)
			}
		}
	}
}

func TestParseRefusesARecipeWhoseProviderIsNotConfigured(t *testing.T) {
	before, rest, _ := strings.Cut(base, "providers:\n")
	_, after, _ := strings.Cut(rest, "endpoints:\n")
	_, err := parse(before + "endpoints:\n" + after)
	if want := "shop.yaml:25: /recipes/card/model/provider: the provider is not configured"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want it to say %q", err, want)
	}
}

func TestReadSaysWhatCannotBeRead(t *testing.T) {
	empty := t.TempDir()
	if _, err := configfile.Read(empty); err == nil || !strings.Contains(err.Error(), "no file that ends in .yaml") {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := configfile.Read(filepath.Join(empty, "nothing.yaml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := parse("- 1\n- 2\n"); err == nil || !strings.Contains(err.Error(), "shop.yaml:1: the document is no mapping") {
		t.Errorf("a file that is a list: %v", err)
	}
	if _, err := parse(""); err == nil || !strings.Contains(err.Error(), "nothing in it") {
		t.Errorf("an empty file: %v", err)
	}
}
