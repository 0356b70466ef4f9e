package program_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"engang/infra"
)

// constants are the texts of the constants of a type in a file.
func constants(t *testing.T, file, typ string) (texts []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if name, ok := v.Type.(*ast.Ident); ok && name.Name == typ {
			for _, value := range v.Values {
				text, err := strconv.Unquote(value.(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				texts = append(texts, text)
			}
		}
		return true
	})
	return texts
}

// What can be stored can be shown: each word of the domain is one that the schema has.
func TestTheSchemaHasEveryWordOfTheDomain(t *testing.T) {
	var doc struct {
		Defs map[string]struct {
			Properties map[string]struct{ Enum []string }
		} `json:"$defs"`
	}
	if err := json.Unmarshal(infra.AnswersSchema, &doc); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ def, property, file, typ string }{
		{"attempt", "outcome", "../../../shared/operation/attempt.go", "Outcome"},
		{"operation", "state", "../../../shared/operation/state.go", "State"},
		{"event", "state", "../../../shared/inbox/state.go", "State"},
		{"event", "outcome", "../../../shared/inbox/state.go", "Outcome"},
	} {
		want, got := constants(t, c.file, c.typ), doc.Defs[c.def].Properties[c.property].Enum
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" || len(want) < 3 {
			t.Errorf("%s/%s: %s", c.def, c.property, diff)
		}
	}
}
