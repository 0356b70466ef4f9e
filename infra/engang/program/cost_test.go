package program_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The sheet that is kept is the one that the command computes: nobody has typed in it.
func TestTheCostSheetIsComputed(t *testing.T) {
	code, stdout, stderr := run(t, t.Context(), "cost")
	if code != 0 || stderr != "" {
		t.Fatalf("exit %d %s", code, stderr)
	}
	const kept = "../../cost.md"
	if *update {
		if err := os.WriteFile(kept, []byte(stdout), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(kept)
	if err != nil || string(want) != stdout {
		t.Errorf("infra/cost.md is not what the command writes (%v): go run ./infra/engang cost > infra/cost.md", err)
	}
	_, stdout, _ = run(t, t.Context(), "cost", "--json")
	golden(t, "cost-json", stdout)
}

// Prices of another day give another sheet, and what is no price list is refused with all that is wrong.
func TestPricesAreAnInput(t *testing.T) {
	raw, err := os.ReadFile("../../cost/prices.json")
	if err != nil {
		t.Fatal(err)
	}
	dear := strings.Replace(string(raw), `"dynamodb_write_unit": {"usd": 0.625`, `"dynamodb_write_unit": {"usd": 6.25`, 1)
	dear = strings.Replace(dear, `"date": "2026-06-30"`, `"date": "2027-01-01"`, 1)
	sum := func(stdout string) (float64, string) {
		t.Helper()
		var doc struct {
			Date  string
			Flows []struct{ USD float64 }
		}
		if err := json.Unmarshal([]byte(stdout), &doc); err != nil {
			t.Fatal(err, stdout)
		}
		return doc.Flows[0].USD, doc.Date
	}
	file := filepath.Join(t.TempDir(), "prices.json")
	_, stdout, _ := run(t, t.Context(), "cost", "--json")
	usual, _ := sum(stdout)
	write(t, file, dear)
	code, stdout, stderr := run(t, t.Context(), "cost", "--json", "--prices", file)
	if got, date := sum(stdout); code != 0 || date != "2027-01-01" || got-usual < 10*5.62e-6 || got-usual > 10*5.63e-6 { // ten units, each dearer by 5.625 millionths
		t.Errorf("exit %d %s: %v on %s, usual %v", code, stderr, got, date, usual)
	}
	for name, text := range map[string]string{
		"date is no day": strings.Replace(dear, "2027-01-01", "next year", 1), "prices lacks sqs_request": strings.Replace(dear, "sqs_request", "sqs_requests", 1),
		"sqs_requests is nothing that is priced": strings.Replace(dear, "sqs_request", "sqs_requests", 1), "unknown field": strings.Replace(dear, `"region"`, `"zone"`, 1), "no price list": "{",
	} {
		write(t, file, text)
		if code, _, stderr := run(t, t.Context(), "cost", "--prices", file); code != 2 || !strings.Contains(stderr, name) {
			t.Errorf("%s: exit %d %s", name, code, stderr)
		}
	}
	if code, _, _ := run(t, t.Context(), "cost", "--prices", "nowhere.json"); code != 2 {
		t.Errorf("no file: exit %d", code)
	}
}
