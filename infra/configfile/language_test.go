package configfile_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"engang/infra/configfile"
	"engang/shared/config"
	"engang/shared/document"
	"engang/shared/operation"
	"engang/shared/recipe"
)

// whole is the base with every key that a recipe, an endpoint and a file may have besides.
func whole(t testing.TB) string {
	t.Helper()
	text := base
	for _, change := range [][2]string{
		{"output: 1.60, as_of: 2026-11-29}", "output: 1.60, as_of: 2026-11-29, tiers: {priority: {input: 0.80, output: \"3.20\"}}}"},
		{"    max_body: 512KiB\n", "    max_body: 512KiB\n    silent_after: 3d\n    catch_up: {target: woo-shop, every: 15m}\n"},
		{"    version: 3\n", "    version: 3\n    quiet_period: 30s\n"},
		{"        name: /name\n", "        name: {from: /name, personal: {purpose: a greeting, basis: contract}}\n"},
		{"      required: [name]\n", "      required: [name]\n      refuse_if: {/code: \"woocommerce_rest_*\", \"/tags/*/name\": internal}\n      mask: [email, phone, national_id, card]\n"},
		{"    policy: auto\n", `    policy: review-on-flag
    review: {flags: {about: empty, cost_usd: "> 0.01"}, by: [catalogue, owners], days: 14}
    limits: {attempts: 4, usd_per_event: "0.02", usd_per_day: 5.00, per_minute: 60}
    examples: [{summary: A mug., about: ceramics}]
targets:
  woo-shop: {kind: woocommerce, base_url: https://shop.example.com, key: ssm:targets/woo-shop}
`},
	} {
		if strings.Count(text, change[0]) != 1 {
			t.Fatalf("%q stands %d times", change[0], strings.Count(text, change[0]))
		}
		text = strings.Replace(text, change[0], change[1], 1)
	}
	return text
}

func TestParseReadsEveryKeyOfTheLanguage(t *testing.T) {
	set, err := parse(whole(t))
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
	dollars := func(text string) operation.Money {
		m, err := operation.ParseAmount(text)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	r, e := set.Recipes[0], set.Endpoints[0]
	got := []any{
		r.QuietSeconds, r.Input.RefuseIf, r.Input.Mask, r.Input.Fields["name"], r.Policy, r.Review, r.Limits, r.Examples,
		e.SilentAfterSeconds, e.CatchUp, set.Common.Targets, set.Common.Providers["openai"].Prices["gpt-5.4-mini-2026-03-17"].Tiers,
	}
	want := []any{
		30, map[string]string{"/code": "woocommerce_rest_*", "/tags/*/name": "internal"}, []string{"email", "phone", "national_id", "card"},
		recipe.Field{From: at("/name"), Personal: &recipe.Personal{Purpose: "a greeting", Basis: "contract"}}, recipe.PolicyReviewOnFlag,
		&recipe.Review{Flags: map[string]string{"about": "empty", "cost_usd": "> 0.01"}, By: []string{"catalogue", "owners"}, Days: 14},
		recipe.Limits{Attempts: 4, USDPerEvent: dollars("0.02"), USDPerDay: dollars("5"), PerMinute: 60},
		[]json.RawMessage{json.RawMessage(`{"summary":"A mug.","about":"ceramics"}`)},
		3 * 86400, &config.CatchUp{Target: "woo-shop", EverySeconds: 900},
		map[string]config.Target{"woo-shop": {Kind: "woocommerce", BaseURL: "https://shop.example.com", Key: "ssm:targets/woo-shop"}},
		map[string]operation.Price{"priority": {Input: 800_000, Cached: 800_000, CacheWrite: 800_000, Output: 3_200_000, AsOf: "2026-11-29"}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(document.Pointer{})); diff != "" {
		t.Errorf("what was read (-want +got):\n%s", diff)
	}
}

// What is stored of a file is what was read of it, to the last key.
func TestEveryKeyOfTheLanguageIsStored(t *testing.T) {
	set, err := parse(whole(t))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	var again config.Set
	if err := json.Unmarshal(raw, &again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(set, again, cmp.AllowUnexported(document.Pointer{})); diff != "" {
		t.Errorf("what is stored (-read +stored):\n%s", diff)
	}
}

func TestTargetsMayStandInSeveralFiles(t *testing.T) {
	const target = "targets:\n  woo-shop: {kind: woocommerce, base_url: https://shop.example.com, key: ssm:targets/woo-shop}\n"
	parse := func(second string) (config.Set, error) {
		return configfile.Parse(configfile.Source{Name: "a.yaml", Text: []byte(base + target)}, configfile.Source{Name: "b.yaml", Text: []byte(second)})
	}
	if set, err := parse(target + "  other: {kind: woocommerce, base_url: https://other.example.com, key: ssm:targets/other}\n"); err != nil || len(set.Common.Targets) != 2 {
		t.Errorf("targets %v, %v", set.Common.Targets, err)
	}
	if _, err := parse(strings.Replace(target, "shop.example.com", "www.example.com", 1)); err == nil || !strings.Contains(err.Error(), "b.yaml:2: /targets/woo-shop: it stands in a.yaml") {
		t.Errorf("two targets of one name: %v", err)
	}
}

const (
	afterPolicy = "    policy: auto\n"
	afterBody   = "    max_body: 512KiB\n"
	afterInput  = "      required: [name]\n"
	target      = "targets:\n  woo-shop: {kind: woocommerce, base_url: https://shop.example.com, key: ssm:targets/woo-shop}\n"
	targetAt    = "/targets/woo-shop"
)

// limitRefusals are rows as in [refusals], of what a recipe may spend and ask, and of what is fetched.
var limitRefusals = []refusal{
	{name: "a quiet period without unit", from: afterPolicy, to: afterPolicy + "    quiet_period: 30\n", line: 49, at: card + "/quiet_period", reason: "a number, where text is meant"},
	{name: "a quiet period of two days", from: afterPolicy, to: afterPolicy + "    quiet_period: 48h\n", line: 49, at: card + "/quiet_period", reason: "more than a day", beyond: true},
	{name: "a kind of data that is not masked", from: afterInput, to: afterInput + "      mask: [names]\n", line: 31, at: card + "/input/mask/0", reason: "not one of"},
	{name: "a kind of data twice", from: afterInput, to: afterInput + "      mask: [email, email]\n", line: 31, at: card + "/input/mask", reason: "the same entry twice"},
	{name: "a refusal at no pointer", from: afterInput, to: afterInput + "      refuse_if: {code: x}\n", line: 31, at: "/recipes/*/input/refuse_if", reason: "a name", faults: 2},
	{name: "a refusal of the whole body", from: afterInput, to: afterInput + "      refuse_if: {/: x}\n", line: 31, at: card + "/input/refuse_if/~1", reason: "no pointer to a place", beyond: true},
	{name: "a refusal of nothing", from: afterInput, to: afterInput + "      refuse_if: {/code: \"\"}\n", line: 31, at: card + "/input/refuse_if/~1code", reason: "an empty text"},
	{name: "a refusal of a number", from: afterInput, to: afterInput + "      refuse_if: {/code: 404}\n", line: 31, at: card + "/input/refuse_if/~1code", reason: "a number, where text is meant"},
	{name: "a person without a basis", from: "name: /name", to: "name: {from: /name, personal: {purpose: p}}", line: 27, at: card + "/input/fields/name/personal", reason: "missing: basis"},
	{name: "a review that says nothing", from: afterPolicy, to: afterPolicy + "    review: {}\n", line: 49, at: card + "/review", reason: "too few"},
	{name: "a flag of an unknown rule", from: afterPolicy, to: "    policy: review-on-flag\n    review: {flags: {about: long}}\n", line: 49, at: card + "/review/flags/about", reason: "not of the form"},
	{name: "a flag of what no output has", from: afterPolicy, to: "    policy: review-on-flag\n    review: {flags: {abuot: empty}}\n", line: 49, at: card + "/review/flags/abuot", reason: "no such property", beyond: true},
	{name: "a cost of a property's rule", from: afterPolicy, to: "    policy: review-on-flag\n    review: {flags: {cost_usd: not_empty}}\n", line: 49, at: card + "/review/flags/cost_usd", reason: "no bound", beyond: true},
	{name: "a person in place of a group", from: afterPolicy, to: afterPolicy + "    review: {by: [ola@example.com]}\n", line: 49, at: card + "/review/by/0", reason: "not of the form"},
	{name: "flags that nothing looks at", from: afterPolicy, to: afterPolicy + "    review: {flags: {about: empty}}\n", line: 49, at: card + "/review/flags", reason: "does not look at", beyond: true},
	{name: "limits that say nothing", from: afterPolicy, to: afterPolicy + "    limits: {}\n", line: 49, at: card + "/limits", reason: "too few"},
	{name: "no attempt at all", from: afterPolicy, to: afterPolicy + "    limits: {attempts: 0}\n", line: 49, at: card + "/limits/attempts", reason: "out of range"},
	{name: "sixteen attempts", from: afterPolicy, to: afterPolicy + "    limits: {attempts: 16}\n", line: 49, at: card + "/limits/attempts", reason: "out of range"},
	{name: "an amount below nothing", from: afterPolicy, to: afterPolicy + "    limits: {usd_per_day: -1}\n", line: 49, at: card + "/limits/usd_per_day", reason: "out of range"},
	{name: "an amount of nothing", from: afterPolicy, to: afterPolicy + "    limits: {usd_per_day: \"0.00\"}\n", line: 49, at: card + "/limits/usd_per_day", reason: "a limit of nothing", beyond: true},
	{name: "an amount that is too exact", from: afterPolicy, to: afterPolicy + "    limits: {usd_per_day: 0.1234567}\n", line: 49, at: card + "/limits/usd_per_day", reason: "six decimals", beyond: true},
	{name: "an amount with a sign", from: afterPolicy, to: afterPolicy + "    limits: {usd_per_day: $5}\n", line: 49, at: card + "/limits/usd_per_day", reason: "not of the form"},
	{name: "an amount that no call fits into", from: afterPolicy, to: afterPolicy + "    limits: {usd_per_event: \"0.001\"}\n", line: 49, at: card + "/limits/usd_per_event", reason: "no call would ever be made: one may cost up to $0.002", beyond: true},
	{name: "an event that costs more than a day", from: afterPolicy, to: afterPolicy + "    limits: {usd_per_event: 2, usd_per_day: 1}\n", line: 49, at: card + "/limits/usd_per_event", reason: "more than a whole day", beyond: true},
	{name: "no call a minute", from: afterPolicy, to: afterPolicy + "    limits: {per_minute: 0}\n", line: 49, at: card + "/limits/per_minute", reason: "out of range"},
	{name: "more calls a minute than are counted", from: afterPolicy, to: afterPolicy + "    limits: {per_minute: 10001}\n", line: 49, at: card + "/limits/per_minute", reason: "out of range"},
	{name: "an example outside the schema", from: afterPolicy, to: afterPolicy + "    examples: [{summary: x}]\n", line: 49, at: card + "/examples/0", reason: "required at", beyond: true},
	{name: "an example that a check refuses", from: afterPolicy, to: afterPolicy + "    examples: [{summary: the best, about: x}]\n", line: 49, at: card + "/examples/0", reason: "a denied word", beyond: true},
	{name: "an example that is a text", from: afterPolicy, to: afterPolicy + "    examples: [x]\n", line: 49, at: card + "/examples/0", reason: "text, where a mapping is meant"},
	{name: "a tier of ours", from: ", as_of: 2026-11-29", to: ", as_of: 2026-11-29, tiers: {gold: {input: 1, output: 1}}", line: 11, at: "/providers/openai/usd_per_million/gpt-5.4-mini-2026-03-17/tiers", reason: `unknown key "gold"`},
	{name: "a tier's price that is not exact", from: ", as_of: 2026-11-29", to: ", as_of: 2026-11-29, tiers: {flex: {input: 0.1234567, output: 1}}", line: 11, at: "/providers/openai/usd_per_million/gpt-5.4-mini-2026-03-17", reason: "flex: input: not a price", beyond: true},
	{name: "the tier that costs more, without its price", from: "service_tier: default", to: "service_tier: priority", line: 34, at: card + "/model/options/service_tier", reason: "no price of its own", beyond: true},

	{name: "silence of half an hour", from: afterBody, to: afterBody + "    silent_after: 30m\n", line: 22, at: woo + "/silent_after", reason: "less than an hour", beyond: true},
	{name: "silence without unit", from: afterBody, to: afterBody + "    silent_after: 3\n", line: 22, at: woo + "/silent_after", reason: "a number, where text is meant"},
	{name: "catch-up from what is no target", from: afterBody, to: afterBody + "    catch_up: {target: woo-shop, every: 15m}\n", line: 22, at: woo + "/catch_up/target", reason: "no target has this name", beyond: true},
	{name: "catch-up every minute", from: afterBody + "recipes:\n", to: afterBody + "    catch_up: {target: woo-shop, every: 60s}\n" + target + "recipes:\n", line: 22, at: woo + "/catch_up/every", reason: "less than 5 minutes", beyond: true},
	{name: "catch-up without saying how often", from: afterBody, to: afterBody + "    catch_up: {target: woo-shop}\n", line: 22, at: woo + "/catch_up", reason: "missing: every"},
	{name: "a target of another kind", from: "recipes:\n", to: strings.Replace(target, "kind: woocommerce", "kind: http", 1) + "recipes:\n", line: 23, at: targetAt + "/kind", reason: "not one of"},
	{name: "a target's key in place of its reference", from: "recipes:\n", to: strings.Replace(target, "ssm:targets/woo-shop", "\"ck_1:cs_1\"", 1) + "recipes:\n", line: 23, at: targetAt + "/key", reason: "not of the form"},
	{name: "a target that is an IP address", from: "recipes:\n", to: strings.Replace(target, "shop.example.com", "10.0.0.1", 1) + "recipes:\n", line: 23, at: targetAt + "/base_url", reason: "an IP address", beyond: true},
	{name: "a target that only a private network knows", from: "recipes:\n", to: strings.Replace(target, "shop.example.com", "shop.internal", 1) + "recipes:\n", line: 23, at: targetAt + "/base_url", reason: "private network", beyond: true},
	{name: "a target without encryption", from: "recipes:\n", to: strings.Replace(target, "https", "http", 1) + "recipes:\n", line: 23, at: targetAt + "/base_url", reason: "without encryption", beyond: true},
	{name: "a target with a space in its name", from: "recipes:\n", to: strings.Replace(target, "woo-shop:", "woo shop:", 1) + "recipes:\n", line: 23, at: "/targets", reason: "a name"},
}
