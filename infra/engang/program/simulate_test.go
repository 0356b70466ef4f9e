package program_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

func TestSimulateTellsWhatHistoriesWereMadeOf(t *testing.T) {
	code, stdout, stderr := run(t, t.Context(), "simulate", "--seeds", "5", "--seed", "3")
	if code != 0 || stderr != "" {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	for _, want := range []string{"0 violations in 5 histories from seed 3", "deliveries", "crashes", "lost answers", "takeovers", "paid calls", "for each output"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is not in:\n%s", want, stdout)
		}
	}
}

func TestSimulateShowsTheHistoryOfASeed(t *testing.T) {
	_, first, _ := run(t, t.Context(), "simulate", "--seed", "1")
	_, second, _ := run(t, t.Context(), "simulate", "--seed", "1")
	a, _, _ := strings.Cut(first, "\n\n")
	b, _, _ := strings.Cut(second, "\n\n")
	if a != b || !strings.Contains(a, "W1 put event") {
		t.Errorf("two histories of one seed:\n%s\n\n%s", a, b)
	}
	if !regexp.MustCompile(`the same history twice: [0-9a-f]{64}\n$`).MatchString(first) {
		t.Errorf("no digest in %q", first[max(0, len(first)-200):])
	}
}

func TestSimulateWritesADocument(t *testing.T) {
	code, stdout, _ := run(t, t.Context(), "simulate", "--seeds", "2", "--json")
	fits(t, answers(t), "simulate", stdout)
	_, one, _ := run(t, t.Context(), "simulate", "--seed", "2", "--json")
	fits(t, answers(t), "simulate --seed", one)
	var doc struct {
		Kind   string
		Seeds  int
		Counts map[string]int
		Broken []any
	}
	if err := json.Unmarshal([]byte(stdout), &doc); err != nil || code != 0 {
		t.Fatalf("exit %d, %v: %s", code, err, stdout)
	}
	if doc.Kind != "simulation" || doc.Seeds != 2 || doc.Counts["histories"] != 2 || doc.Counts["deliveries"] == 0 || doc.Broken == nil {
		t.Errorf("%s", stdout)
	}
}

func TestSimulateRefusesNoSeeds(t *testing.T) {
	if code, _, stderr := run(t, t.Context(), "simulate", "--seeds", "0"); code != 2 || !strings.Contains(stderr, "--seeds") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}
