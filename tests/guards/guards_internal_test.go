package main

import (
	"flag"
	"go/ast"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write guards.txt with the guards that are new and without those that are gone")

func table(t *testing.T) []row {
	t.Helper()
	text, err := os.ReadFile(filepath.Base(tableFile))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := read(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestEveryGuardIsInTheTable(t *testing.T) {
	files, err := collect("../..")
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(filepath.Base(tableFile), []byte(write(ordered(guardsOf(files), table(t)))), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	rows := table(t)
	if err := compared(guardsOf(files), rows); err != nil {
		t.Errorf("-update writes what is new; then name a test that fails without it (go run ./tests/guards -find):\n%v", err)
	}
	if diff := cmp.Diff(write(ordered(guardsOf(files), rows)), write(rows)); diff != "" {
		t.Errorf("the table is not in the order of the source; -update writes it (-want +got):\n%s", diff)
	}
	for _, f := range files {
		if _, _, err := parsed(f.file, f.text); err != nil {
			t.Errorf("with switches: %v", err)
		}
	}
}

// A write that stands in expr.go and in no row would be one that nothing is known of.
func TestEveryStatementIsInTheTable(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", expressions))
	if err != nil {
		t.Fatal(err)
	}
	_, file, err := parsed(expressions, string(text))
	if err != nil {
		t.Fatal(err)
	}
	all, err := statements(file)
	if err != nil || len(all) < 50 {
		t.Fatalf("%d statements, %v", len(all), err)
	}
	var rows []string
	for _, r := range table(t) {
		rows = append(rows, r.guard)
	}
	joined := "\n" + strings.Join(rows, "\n")
	for _, s := range all {
		if !strings.Contains(joined, "\ndynamo."+s.name+": ") {
			t.Errorf("statement %s is in no row", s.name)
		}
	}
}

func TestEveryNamedTestExists(t *testing.T) {
	sources := map[string]string{}
	for _, r := range table(t) {
		for _, k := range r.tests {
			if _, ok := sources[k.pack]; !ok {
				sources[k.pack] = testsOf(t, k.pack)
			}
			if why := absent(k, sources[k.pack]); why != "" {
				t.Errorf("%s: %s %s", r.guard, k, why)
			}
		}
	}
}

// testsOf is the text of all test files of a package.
func testsOf(t *testing.T, pack string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("..", "..", pack, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(raw)
	}
	return all.String()
}

// absent says what of a test's name the tests of its package do not have. Of parts of a test it looks at the first.
func absent(k killer, tests string) string {
	parts := strings.Split(k.test, "/")
	switch {
	case !strings.Contains(tests, "\nfunc "+parts[0]+"(t *testing.T)"):
		return "is no test"
	case len(parts) > 1 && !strings.Contains(strings.ReplaceAll(tests, " ", "_"), parts[1]):
		return "has no such part"
	}
	return ""
}

func TestTheTestRuleFindsWhatDoesNotExist(t *testing.T) {
	const tests = "package x\n\nfunc TestOne(t *testing.T) {\n\tt.Run(\"a part\", nil)\n}\n"
	for test, want := range map[string]string{"TestOne": "", "TestOne/a_part": "", "TestOne/another": "has no such part", "TestOn": "is no test", "TestTwo/a_part": "is no test"} {
		if got := absent(killer{"shared/x", test}, tests); got != want {
			t.Errorf("%s: %q, want %q", test, got, want)
		}
	}
}

func TestTheTableIsReadAsItIsWritten(t *testing.T) {
	rows := []row{
		{guard: "dynamo.claim: without #exp < :past", tests: []killer{{"shared/dynamo", "TestOne/a_part"}, {"shared/enrich", "TestTwo"}}},
		{guard: "enrich.job.pause: W24 before W23", why: "both orders end the same"},
		{guard: "still to be found"},
	}
	again, err := read(write(rows))
	if diff := cmp.Diff(rows, again, cmp.AllowUnexported(row{}, killer{})); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, bad := range []string{"\tshared/x TestOne\n", "a guard\n\tTestOne\n"} {
		if rows, err := read(bad); err == nil {
			t.Errorf("%q was read as %v", bad, rows)
		}
	}
}

func TestTheTableRuleFindsWhatDiffers(t *testing.T) {
	guards := []guard{{id: "a", live: true}, {id: "b", live: true}, {id: "c"}}
	err := compared(guards, []row{
		{guard: "a", tests: []killer{{"p", "T"}}}, {guard: "a", tests: []killer{{"p", "T"}}}, {guard: "b"}, {guard: "d", why: "x", tests: []killer{{"p", "T"}}},
	})
	for _, want := range []string{`"a" stands twice`, `"b" has no test`, `"c" is missing`, `"d" is no guard of the source`, `"d" has tests, and a reason why there are none`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want that it says %s", err, want)
		}
	}
	if err := compared(guards, ordered(guards, []row{{guard: "b", tests: []killer{{"p", "T"}}}, {guard: "a", why: "x"}})); err != nil {
		t.Error(err)
	}
}

func TestConditionsAreTakenApart(t *testing.T) {
	for condition, want := range map[string][]variant{
		"#st = :open": {{"refuses nothing", "(#st = :open) OR " + always}},
		"#a = :a AND #b < :b": {
			{"refuses nothing", "(#a = :a AND #b < :b) OR " + always},
			{"without #a = :a", "((#a = :a) OR " + always + ") AND (#b < :b)"},
			{"without #b < :b", "(#a = :a) AND ((#b < :b) OR " + always + ")"},
		},
		"attribute_not_exists(#pk) OR (#a = :a AND (#b = :b))": {
			{"refuses nothing", "(attribute_not_exists(#pk) OR (#a = :a AND (#b = :b))) OR " + always},
			{"never attribute_not_exists(#pk)", "((attribute_not_exists(#pk)) AND " + never + ") OR (#a = :a AND (#b = :b))"},
			{"never #a = :a AND (#b = :b)", "(attribute_not_exists(#pk)) OR ((#a = :a AND (#b = :b)) AND " + never + ")"},
			{"without #a = :a", "(attribute_not_exists(#pk)) OR (((#a = :a) OR " + always + ") AND (#b = :b))"},
			{"without #b = :b", "(attribute_not_exists(#pk)) OR ((#a = :a) AND ((#b = :b) OR " + always + "))"},
		},
	} {
		if diff := cmp.Diff(want, parse(condition).variants(), cmp.AllowUnexported(variant{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", condition, diff)
		}
	}
}

const sample = `package x

func judge(a State, err error, ok bool, n int) bool {
	switch a {
	case One, Two:
		return n > 1 && ok
	}
	if err != nil {
		return false
	}
	if n == 2 && (ok || n == 3) {
		return true
	}
	switch {
	case n == 4:
	}
	return n == 5 || n == 6
}
`

const sampleSwitched = `package x

func judge(a State, err error, ok bool, n int) bool {
	switch a {
	case guardCase("a.judge: no case One", One), guardCase("a.judge: no case Two", Two):
		return guardAlways("a.judge: without n > 1", n > 1) && ok
	}
	if err != nil {
		return false
	}
	if guardNever("a.judge: never n == 2 && (ok || n == 3)", guardAlways("a.judge: without n == 2", n == 2) && guardAlways("a.judge: without (ok || n == 3)", (ok || guardNever("a.judge: never n == 3", n == 3)))) {
		return true
	}
	switch {
	case guardNever("a.judge: never n == 4", n == 4):
	}
	return guardNever("a.judge: never n == 5", n == 5) || guardNever("a.judge: never n == 6", n == 6)
}
`

func TestRowsAreMadeSwitchable(t *testing.T) {
	f, err := source{file: "shared/a/a.go", functions: []string{"judge"}}.rewrite(sample, map[string]int{})
	if diff := cmp.Diff(sampleSwitched, f.text); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if len(f.guards) != 10 {
		t.Errorf("%d guards: %v", len(f.guards), f.guards)
	}
	if _, err := (source{file: "shared/a/a.go", functions: []string{"gone"}}).rewrite(sample, map[string]int{}); err == nil {
		t.Error("a function that is gone is not missed")
	}
}

func TestOrdersAreMadeSwitchable(t *testing.T) {
	orders := []order{{"a.judge: one before the other", []string{"	if err != nil {", "	if $on {\n		println($id)\n	} else if err != nil {"}}}
	f, err := source{file: "shared/a/a.go", functions: []string{"judge"}, orders: orders}.rewrite(sample, map[string]int{})
	if err != nil || !strings.Contains(f.text, "	if guardOn(\"a.judge: one before the other\") {\n		println(\"a.judge: one before the other\")\n	} else if err != nil {") {
		t.Errorf("%v:\n%s", err, f.text)
	}
	if last := f.guards[len(f.guards)-1]; len(f.guards) != 11 || last.id != "a.judge: one before the other" || !last.live {
		t.Errorf("guards %v", f.guards)
	}
	orders[0].edits[0] = "if gone {"
	if _, err := (source{file: "shared/a/a.go", orders: orders}).rewrite(sample, map[string]int{}); err == nil {
		t.Error("an order whose text is gone is not missed")
	}
}

func TestStatementsAreMadeSwitchable(t *testing.T) {
	const text = `package dynamo

const mine = "#own = :me"

var (
	one = write("W1", "SET #wid = :write ADD #tok :one", mine+" AND #tok = :token")
	two = write("two", "", "")
)
`
	f, err := source{file: expressions}.rewrite(text, map[string]int{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, g := range f.guards {
		names = append(names, g.id)
	}
	want := []string{"dynamo.one: refuses nothing", "dynamo.one: without #own = :me", "dynamo.one: without #tok = :token", "dynamo.one: writes no #wid", "dynamo.one: counts no #tok", "dynamo.two: has no condition"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("guards (-want +got):\n%s", diff)
	}
	for _, part := range []string{
		`guardText("SET #wid = :write ADD #tok :one", "dynamo.one: writes no #wid", "SET #other = :write ADD #tok :one", "dynamo.one: counts no #tok", "SET #wid = :write ADD #other :one")`,
		`guardText(mine+" AND #tok = :token", "dynamo.one: refuses nothing", "(#own = :me AND #tok = :token) OR `,
		`two = write("two", "", "")`,
	} {
		if !strings.Contains(f.text, part) {
			t.Errorf("%s is missing:\n%s", part, f.text)
		}
	}
}

func TestATextThatIsMadeOfSomethingElseIsAFault(t *testing.T) {
	_, file, err := parsed("x.go", "package x\n\nvar one = write(\"W1\", \"\", made())\n")
	if err != nil {
		t.Fatal(err)
	}
	if all, err := statements(file); err == nil {
		t.Errorf("read as %v", all)
	}
	if name := function(&ast.FuncDecl{Name: ast.NewIdent("f")}); name != "f" {
		t.Errorf("a function is called %s", name)
	}
}

// The way there and back, with one small package.
func TestAGuardThatIsOutIsSeen(t *testing.T) {
	root, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	files, err := collect(root)
	if err != nil {
		t.Fatal(err)
	}
	b, err := newBench(root, t.TempDir(), files)
	if err != nil {
		t.Fatal(err)
	}
	for guard, fails := range map[string]bool{
		"": false, "inbox.Judge: no such guard": false, "inbox.Judge: never stored.State == Received": true, "inbox.Judge: never stored.WriteID == writeID": true,
	} {
		v, err := b.run(t.Context(), killer{"shared/inbox", "TestJudge"}, guard)
		if err != nil || v.ran != 1 || (len(v.failed) > 0) != fails {
			t.Errorf("without %q: %d ran, failed %v, %v", guard, v.ran, v.failed, err)
		}
	}
	if v, err := b.run(t.Context(), killer{"shared/inbox", "TestOfNothing"}, ""); err != nil || v.ran != 0 {
		t.Errorf("a test that is not there: %d ran, %v", v.ran, err)
	}
}

func TestATestIsJudgedByWhatItSays(t *testing.T) {
	for _, tt := range []struct {
		name   string
		out    string
		passed bool
		want   verdict
	}{
		{"passes", "--- PASS: TestOne (0.1s)\n    --- PASS: TestOne/a (0.1s)\n    --- PASS: TestOne/b (0.1s)\nPASS\n", true, verdict{ran: 2}},
		{"fails in one part", "--- FAIL: TestOne (0.1s)\n    --- FAIL: TestOne/a (0.1s)\n    --- PASS: TestOne/b (0.1s)\nFAIL\n", false, verdict{ran: 2, failed: []string{"TestOne", "TestOne/a"}}},
		{"was not there", "testing: warning: no tests to run\nPASS\n", true, verdict{}},
		{"was skipped", "--- PASS: TestOne (0.1s)\n    --- SKIP: TestOne/a (0.1s)\n", true, verdict{}},
		{"took too long", "panic: test timed out\n", false, verdict{failed: []string{"(panic: test timed out)"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := judge([]byte(tt.out), tt.passed, 1)
			got.text = ""
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(verdict{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// N parts are all guards that a test sees, each once.
func TestPartsAreTogetherTheWhole(t *testing.T) {
	rows := []row{{guard: "a"}, {guard: "b", why: "unseen"}, {guard: "c"}, {guard: "d"}, {guard: "e"}, {guard: "f"}}
	var got []string
	for _, part := range []string{"0/3", "1/3", "2/3"} {
		list, err := command{part: part}.chosen(rows)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list {
			got = append(got, r.guard)
		}
	}
	if diff := cmp.Diff([]string{"a", "d", "e", "c", "f"}, got); diff != "" {
		t.Error(diff)
	}
	for _, part := range []string{"", "3/3", "0/0", "-1/2", "1", "1/2x", "a/b"} {
		if list, err := (command{part: part}).chosen(rows); err == nil {
			t.Errorf("part %q is %v", part, list)
		}
	}
}
