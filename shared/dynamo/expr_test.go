package dynamo_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"engang/shared/dynamo"
	"engang/shared/inbox"
	"engang/shared/lifecycle"
	"engang/shared/operation"
	"engang/shared/pause"
)

var update = flag.Bool("update", false, "write the golden files of this version")

// declared finds the statements and key conditions of expr.go in its source.
func declared(t *testing.T) (statements, keyConditions []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "expr.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range file.Decls {
		for _, spec := range decl.(*ast.GenDecl).Specs {
			values, ok := spec.(*ast.ValueSpec)
			if !ok {
				continue
			}
			switch values.Values[0].(type) {
			case *ast.CallExpr:
				statements = append(statements, values.Names[0].Name)
			case *ast.BasicLit:
				keyConditions = append(keyConditions, values.Names[0].Name)
			}
		}
	}
	return statements, keyConditions
}

// No statement may escape the tests below by not being in the list that they go through.
func TestEveryStatementIsListed(t *testing.T) {
	statements, constants := declared(t)
	listed := dynamo.Statements()
	for _, name := range statements {
		if _, ok := listed[name]; !ok {
			t.Errorf("statement %s of expr.go is not in the list of export_test.go", name)
		}
	}
	for _, name := range constants {
		conditions := []string{"isNew", "mine", "live", "newer", "exists", "filled"} // they are tested as parts of statements
		if _, ok := dynamo.KeyConditions[name]; !ok && !slices.Contains(conditions, name) {
			t.Errorf("key condition %s of expr.go is not in the list of export_test.go", name)
		}
	}
}

// Some engines replace placeholders as text, in any order: one that begins another would be mixed up.
func TestNoPlaceholderBeginsAnother(t *testing.T) {
	check := func(name string, all []string) {
		for _, a := range all {
			for _, b := range all {
				if a != b && strings.HasPrefix(b, a) {
					t.Errorf("%s: placeholder %s begins %s", name, a, b)
				}
			}
		}
	}
	for name, s := range dynamo.Statements() {
		check(name, append(slices.Collect(maps.Keys(s.Names)), s.Needs...))
	}
	for name, condition := range dynamo.KeyConditions {
		check(name, regexp.MustCompile(`[#:]\w+`).FindAllString(condition, -1))
	}
}

// Reserved words change over time, and some engines know none: no attribute is named outside a
// placeholder, and no expression uses a form that an engine answers with nonsense (infra/adr/0001-embedded-and-reference-engine.md).
func TestExpressionsUseOnlyTheAllowedForms(t *testing.T) {
	words := regexp.MustCompile(`[#:]?\w+`)
	allowed := []string{"SET", "REMOVE", "ADD", "AND", "OR", "BETWEEN", "attribute_not_exists", "attribute_exists", "if_not_exists"}
	all := maps.Clone(dynamo.KeyConditions)
	for name, s := range dynamo.Statements() {
		all[name+" update"], all[name+" condition"] = s.Update, s.When
	}
	for name, expression := range all {
		if strings.ContainsAny(expression, "\n\t") || strings.Contains(expression, "  ") {
			t.Errorf("%s is not on one line", name)
		}
		for _, word := range words.FindAllString(expression, -1) {
			if !strings.ContainsAny(word[:1], "#:") && !slices.Contains(allowed, word) {
				t.Errorf("%s: %q is neither a placeholder nor an allowed word", name, word)
			}
		}
		for _, assignment := range regexp.MustCompile(`(#\w+) = (#\w+)`).FindAllString(expression, -1) {
			t.Errorf("%s: %q sets an attribute to another", name, assignment)
		}
	}
	for name, s := range dynamo.Statements() {
		if remove, set := strings.Index(s.Update, "REMOVE "), strings.Index(s.Update, "SET "); remove >= 0 && set > remove {
			t.Errorf("%s: SET after REMOVE is lost on the embedded engine", name)
		}
	}
}

// Every expression stands in expr.go, so that what is checked here is all there is.
func TestNoExpressionStandsElsewhere(t *testing.T) {
	expression := regexp.MustCompile(`(SET|REMOVE|ADD|DELETE) #|= :|attribute_(not_)?exists\(`)
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 10 {
		t.Fatalf("found %d files: %v", len(files), err)
	}
	for _, name := range files {
		if name == "expr.go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			if expression.MatchString(text) && text != ", #ttl = :later" { // the piece that kept takes out
				t.Errorf("%s holds the expression %q", name, text)
			}
			return true
		})
	}
}

// The states that an expression names are those of its transition, so that the two cannot drift.
func TestStatementsKeepToTheLifecycles(t *testing.T) {
	used := map[string]bool{}
	for name, s := range dynamo.Statements() {
		t.Run(name, func(t *testing.T) {
			named := statesOf(s, s.When)
			reached := statesOf(s, s.Update)
			switch {
			case s.Move == "" && len(reached) > 0:
				t.Fatalf("it leads to %v and names no transition", reached)
			case s.Move == "":
				return
			}
			used[transition(s.Move, s.From, s.To)] = true
			machine := machineOf(t, s)
			if len(reached) == 0 && slices.Equal(named, []string{s.To}) { // the state stays as it is
				reached = named
			}
			if diff := cmp.Diff([]string{s.To}, reached); diff != "" {
				t.Errorf("state that the update leads to (-transition +expression):\n%s", diff)
			}
			if len(named) == 0 { // every state may move
				named = slices.Sorted(maps.Keys(machine.means))
			}
			from := slices.Sorted(slices.Values(s.From))
			if diff := cmp.Diff(from, named); diff != "" {
				t.Errorf("states that the condition names (-transition +expression):\n%s", diff)
			}
			if strings.Contains(s.When, "attribute_not_exists(#pk)") && (s.Born != machine.start || s.To != machine.start) {
				t.Errorf("it makes an item as %q, the lifecycle starts as %q", s.To, machine.start)
			}
		})
	}
	if born := dynamo.Statements()["putEvent"].Born; born != string(inbox.Lifecycle.Start) {
		t.Errorf("events are put as %q", born)
	}
	for _, machine := range machines() {
		for text, name := range machine.moves {
			if !used[text] {
				t.Errorf("no statement makes the transition %s: %s", name, text)
			}
		}
	}
}

// transition names one in full: two machines may have one name.
func transition(name string, from []string, to string) string { return fmt.Sprint(name, from, to) }

// statesOf finds the states that "#st = :x" means, sorted.
func statesOf(s dynamo.Statement, expression string) (states []string) {
	for _, m := range regexp.MustCompile(`#st = (:\w+)`).FindAllStringSubmatch(expression, -1) {
		if text, fixed := s.Fixed[m[1]]; fixed {
			states = append(states, text)
		}
	}
	slices.Sort(states)
	return slices.Compact(states)
}

type machine struct {
	start string
	means map[string]bool
	moves map[string]string // names, by what [transition] makes of them
}

func machineAs[S ~string](m lifecycle.Machine[S]) machine {
	out := machine{start: string(m.Start), means: map[string]bool{}, moves: map[string]string{}}
	for _, s := range m.States {
		out.means[string(s.Name)] = true
	}
	for _, t := range m.Transitions {
		var from []string
		for _, f := range t.From {
			from = append(from, string(f))
		}
		out.moves[transition(t.Name, from, string(t.To))] = t.Name
	}
	return out
}

// machines are all that a statement may move.
func machines() []machine {
	return []machine{machineAs(inbox.Lifecycle), machineAs(operation.Lifecycle), machineAs(pause.Lifecycle)}
}

// machineOf finds the machine that has exactly this transition.
func machineOf(t *testing.T, s dynamo.Statement) machine {
	t.Helper()
	for _, m := range machines() {
		if _, ok := m.moves[transition(s.Move, s.From, s.To)]; ok {
			return m
		}
	}
	t.Fatalf("no lifecycle has the transition %q from %v to %s", s.Move, s.From, s.To)
	return machine{}
}

// The texts of all expressions, to be read beside infra/protocol.md section 3.
func TestExpressionsAreAsAgreed(t *testing.T) {
	var b strings.Builder
	all := dynamo.Statements()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "%s\n  %s\n  %s\n", name, all[name].Update, all[name].When)
	}
	golden(t, "testdata/expressions.txt", b.String())
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-golden +now):\n%s", path, diff)
	}
}

// An engine that ignores a missing placeholder stores nonsense and answers 200.
func TestValuesMustFitTheExpression(t *testing.T) {
	text := &types.AttributeValueMemberS{Value: "x"}
	for _, tt := range []struct {
		name  string
		given map[string]types.AttributeValue
		fits  bool
	}{
		{"all and nothing else", map[string]types.AttributeValue{":a": text, ":b": text}, true},
		{"one is missing", map[string]types.AttributeValue{":a": text}, false},
		{"one is too many", map[string]types.AttributeValue{":a": text, ":b": text, ":c": text}, false},
		{"one has another name", map[string]types.AttributeValue{":a": text, ":c": text}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := dynamo.Values("SET #x = :a", "#y = :b", tt.given)
			if (err == nil) != tt.fits {
				t.Errorf("got %v", err)
			}
		})
	}
}
