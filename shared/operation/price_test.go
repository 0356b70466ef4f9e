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
	for _, bad := range []string{`{"input": "0.40"}`, `{"input": 0.40}`, `[]`} {
		if err := json.Unmarshal([]byte(bad), &operation.Price{}); err == nil {
			t.Errorf("%s: read without an error", bad)
		}
	}
}
