package integration_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// listedAreas are the areas whose cases are listed in tests/cases.md, with how many cases each has: a copy
// that has lost some does not pass.
var listedAreas = map[string]int{
	"woo-ingress": 12, "shopify-ingress": 5, "stripe-ingress": 1, "github-ingress": 2, "inbox-dynamodb": 15, "secrets": 5, "apigw": 3,
	"openai-worker": 11, "approval-console": 5, "lease": 2, "sqs-lambda": 9, "emulator": 3, "operator-cli": 3,
}

// A listed case is a row of tests/cases.md.
type listed struct{ area, id, title, test, note string }

func TestEveryCaseHasATestOrAReason(t *testing.T) {
	titles, faults := caseTitles(t), []string(nil)
	raw, err := os.ReadFile("../cases.md")
	if err != nil {
		t.Fatal(err)
	}
	rows, wrong := readCases(string(raw))
	faults = append(append(faults, wrong...), unfitCases(rows, titles, caseTests(t))...)
	for _, fault := range faults {
		t.Error(fault)
	}
}

// caseTitles are the titles of the listed areas' cases, by area and id.
func caseTitles(t testing.TB) map[string]string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "cases.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	titles, counts := map[string]string{}, map[string]int{}
	for lines := bufio.NewScanner(bytes.NewReader(raw)); lines.Scan(); {
		var c struct{ ID, Area, Title string }
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		if listedAreas[c.Area] > 0 {
			titles[c.Area+" "+c.ID] = c.Title
			counts[c.Area]++
		}
	}
	if !maps.Equal(counts, listedAreas) {
		t.Fatalf("the copy has so many cases: %v, want %v", counts, listedAreas)
	}
	return titles
}

// readCases reads the rows of the list.
func readCases(text string) (rows []listed, faults []string) {
	area := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "## "); ok {
			area = name
		}
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "| id |") || strings.HasPrefix(line, "|---") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if len(cells) != 4 {
			faults = append(faults, "no row of four cells: "+line)
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, listed{area, cells[0], cells[1], cells[2], cells[3]})
	}
	return rows, faults
}

// caseTests are the tests of cases in this folder.
func caseTests(t testing.TB) (names []string) {
	t.Helper()
	files, err := filepath.Glob("case_*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, "TestCase") {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names
}

// unfitCases finds cases that are not listed once, rows of no case, tests that do not exist or are not
// listed, and rows without a test or a reason.
func unfitCases(rows []listed, titles map[string]string, tests []string) (faults []string) {
	missing, unlisted := maps.Clone(titles), slices.Clone(tests)
	for _, r := range rows {
		key := r.area + " " + r.id
		if title, ok := missing[key]; !ok || title != r.title {
			faults = append(faults, fmt.Sprintf("%s %s is no case, is listed twice, or has another title", r.area, r.id))
		}
		delete(missing, key)
		switch i := slices.Index(unlisted, r.test); {
		case r.test == "none" && r.note != "":
		case r.test == "none":
			faults = append(faults, r.id+" has neither a test nor a reason")
		case !strings.HasPrefix(r.test, "TestCase"+strings.ReplaceAll(r.id, "-", "")):
			faults = append(faults, r.id+" has a test with another name: "+r.test)
		case i < 0:
			faults = append(faults, r.id+" names a test that does not exist: "+r.test)
		default:
			unlisted = slices.Delete(unlisted, i, i+1)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(missing)) {
		faults = append(faults, key+" is not listed")
	}
	for _, name := range unlisted {
		faults = append(faults, name+" is not listed")
	}
	return faults
}

func TestListOfCasesRuleFindsWhatIsMissingAndWhatIsTooMuch(t *testing.T) {
	const text = "## a\n\n| id | case | test | beside it |\n|---|---|---|---|\n| X-01 | one | TestCaseX01One | |\n| X-01 | one | TestCaseX01Again | |\n" +
		"| X-02 | other | TestCaseX02Two | |\n| X-03 | three | none | |\n| X-04 | four | none | later |\n| X-05 | five | TestFive | |\n| X-06 |\n"
	titles := map[string]string{"a X-01": "one", "a X-02": "two", "a X-03": "three", "a X-04": "four", "a X-05": "five", "a X-07": "seven"}
	rows, got := readCases(text)
	got = append(got, unfitCases(rows, titles, []string{"TestCaseX01One", "TestCaseX02Two", "TestCaseX09Nine"})...)
	want := []string{
		"no row of four cells: | X-06 |",
		"a X-01 is no case, is listed twice, or has another title", "X-01 names a test that does not exist: TestCaseX01Again",
		"a X-02 is no case, is listed twice, or has another title", "X-03 has neither a test nor a reason", "X-05 has a test with another name: TestFive",
		"a X-07 is not listed", "TestCaseX09Nine is not listed",
	}
	if !slices.Equal(got, want) {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
