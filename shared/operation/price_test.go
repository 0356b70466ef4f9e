package operation_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"engang/shared/operation"
)

func TestParsePriceIsExact(t *testing.T) {
	for text, want := range map[string]operation.Money{
		"0.40": 400_000, "0.04": 40_000, "1.60": 1_600_000, "0": 0, "0.000001": 1, "15": 15_000_000, "0.1": 100_000,
		"100000": 100_000_000_000,
	} {
		got, err := operation.ParsePrice(text)
		if err != nil || got != want {
			t.Errorf("ParsePrice(%q) = %d, %v, want %d", text, got, err, want)
		}
	}
}

func TestParsePriceRefuses(t *testing.T) {
	for _, text := range []string{"", ".", ".4", "0.", "-1", "+1", "1e3", "0.0000001", "1,5", "1_0", " 1", "0x1", "NaN", "100000.000001", "9999999", "1.2.3"} {
		if got, err := operation.ParsePrice(text); err == nil {
			t.Errorf("ParsePrice(%q) = %d, want it refused", text, got)
		}
	}
}

// Money's own text form rounds to microdollars: a price per token that went through it would be wrong.
func TestPriceSurvivesJSON(t *testing.T) {
	want := operation.Price{Input: 400_000, Cached: 40_001, CacheWrite: 1, Output: 1_600_000, AsOf: "2026-11-29"}
	raw, err := json.Marshal(map[string]operation.Price{"m": want})
	if err != nil {
		t.Fatal(err)
	}
	if text := `{"m":{"input":"0.400000","cached":"0.040001","cache_write":"0.000001","output":"1.600000","as_of":"2026-11-29"}}`; string(raw) != text {
		t.Errorf("JSON %s, want %s", raw, text)
	}
	var got map[string]operation.Price
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got["m"]); diff != "" {
		t.Errorf("price (-want +got):\n%s", diff)
	}
	want.Tiers = map[string]operation.Price{"flex": {Input: 200_000, Cached: 20_001, CacheWrite: 200_000, Output: 800_000, AsOf: "2026-11-29"}}
	if raw, err = json.Marshal(want); err != nil {
		t.Fatal(err)
	}
	var tiered operation.Price
	if err := json.Unmarshal(raw, &tiered); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, tiered); diff != "" {
		t.Errorf("price with tiers (-want +got):\n%s", diff)
	}
	const usual = `"input":"1","cached":"0","cache_write":"0","output":"1","as_of":"2026-11-29"`
	for _, bad := range []string{
		`{"input": "0.40"}`, `{"input": 0.40}`, `[]`,
		`{` + usual + `,"image_input":"9"}`, `{` + usual + `,"tiers":{"flex":{` + usual + `,"minimum":"5"}}}`, `{` + usual + `,"Output":"2"}`, `{` + usual + `,"output":"2"}`, // lost in silence, it would cost nothing
	} {
		if err := json.Unmarshal([]byte(bad), &operation.Price{}); err == nil {
			t.Errorf("%s: read without an error", bad)
		}
	}
}

func TestParseAmountIsExact(t *testing.T) {
	for text, want := range map[string]operation.Money{
		"0.02": 20_000_000_000, "5": 5_000_000_000_000, "0.000001": 1_000_000, "5.00": 5_000_000_000_000, "999999.999999": 999_999_999_999_000_000, "0": 0,
	} {
		got, err := operation.ParseAmount(text)
		if err != nil || got != want {
			t.Errorf("ParseAmount(%q) = %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-1", "+1", "1e3", "0.0000001", "1,5", "1000000", "$1", "1 "} {
		if got, err := operation.ParseAmount(text); err == nil {
			t.Errorf("ParseAmount(%q) = %d, want it refused", text, got)
		}
	}
}

// An answer may come from another tier than the one that was asked for, and is paid as what it was.
func TestPriceIsThatOfTheTierThatAnswered(t *testing.T) {
	price := operation.Price{Input: 4, Cached: 1, CacheWrite: 5, Output: 16, AsOf: "2026-11-29", Tiers: map[string]operation.Price{
		"flex":     {Input: 2, Cached: 1, CacheWrite: 2, Output: 8, AsOf: "2026-11-29"},
		"priority": {Input: 8, Cached: 2, CacheWrite: 3, Output: 32, AsOf: "2026-11-29"},
	}}
	for tier, want := range map[string]operation.Money{"": 16, "default": 16, "flex": 8, "priority": 32, "scale": 16} {
		if got := price.For(tier).Output; got != want {
			t.Errorf("tier %q: output costs %d, want %d", tier, got, want)
		}
	}
	for asked, want := range map[string]operation.Price{
		"":         {Input: 8, Cached: 2, CacheWrite: 5, Output: 32},
		"auto":     {Input: 8, Cached: 2, CacheWrite: 5, Output: 32},
		"default":  {Input: 4, Cached: 1, CacheWrite: 5, Output: 16},
		"flex":     {Input: 4, Cached: 1, CacheWrite: 5, Output: 16}, // the usual tier may answer
		"priority": {Input: 8, Cached: 2, CacheWrite: 5, Output: 32},
	} {
		got := price.Highest(asked)
		if got.Input != want.Input || got.Cached != want.Cached || got.CacheWrite != want.CacheWrite || got.Output != want.Output {
			t.Errorf("asked for %q: at most %+v, want %+v", asked, got, want)
		}
	}
}

// A provider reports what it likes: the day's sum must not fall by it.
func TestNoCostIsBelowNothing(t *testing.T) {
	dearest, err := operation.ParsePrice("100000")
	if err != nil {
		t.Fatal(err)
	}
	usual := operation.Price{Input: 2_500_000, Cached: 250_000, CacheWrite: 2_500_000, Output: 15_000_000}
	const all = operation.MaxTokens
	for _, tt := range []struct {
		name   string
		price  operation.Price
		tokens operation.Tokens
		want   operation.Money
	}{
		{"a usual price, a number that no model has", usual, operation.Tokens{Output: 1_000_000_000_000}, 15_000_000 * all},
		{"the dearest price that is taken, all tokens of every kind", operation.Price{Input: dearest, Cached: dearest, CacheWrite: dearest, Output: dearest}, operation.Tokens{Input: all, Cached: all, CacheWrite: all, Output: all}, 3 * dearest * all},
		{"tokens from the cache below nothing", usual, operation.Tokens{Input: 10, Cached: -1_000_000_000}, 25_000_000},
		{"tokens to the cache below nothing", usual, operation.Tokens{Input: 10, CacheWrite: -1_000_000_000}, 25_000_000},
		{"input below nothing", usual, operation.Tokens{Input: -1_000_000_000, Output: 1}, 15_000_000},
		{"output below nothing", usual, operation.Tokens{Input: 1, Output: -1_000_000_000}, 2_500_000},
	} {
		if got := tt.price.Cost(tt.tokens); got != tt.want {
			t.Errorf("%s: $%s, want $%s", tt.name, got, tt.want)
		}
		if tt.tokens.Possible() != (tt.want == 3*dearest*all) {
			t.Errorf("%s: possible is %v", tt.name, tt.tokens.Possible())
		}
	}
}
