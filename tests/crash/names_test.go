package crash_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// elsewhere are the calls that no function makes here.
var elsewhere = map[string]string{
	"write secret":     "the operator program's own",
	"list secrets":     "the operator program's own",
	"remove secret":    "the operator program's own",
	"list webhooks":    "the operator program's own, of a shop",
	"read certificate": "of senders that sign with certificates: the local system has its own, and calls nobody",
}

// Every call that the code names is met by some flow: a call that is new has its points in the matrix, or fails here.
func TestEveryCallIsMet(t *testing.T) {
	if *only != "" {
		t.Skip("a part of the flows is asked for")
	}
	met := map[string]bool{}
	for _, f := range recorded(t) {
		for _, p := range f.points {
			met[p.call] = true
		}
	}
	named := calls(t)
	if len(named) < 60 {
		t.Errorf("only %d calls were found in the source: %v", len(named), named)
	}
	for _, name := range named {
		switch why := elsewhere[name]; {
		case why == "" && !met[name]:
			t.Errorf("no flow comes to the call %q: add one", name)
		case why != "" && met[name]:
			t.Errorf("the call %q is met: it is not only %s", name, why)
		}
	}
	for name := range met {
		if !slices.Contains(named, name) {
			t.Errorf("the call %q was not found in the source", name)
		}
	}
	t.Logf("%d calls are named in the source; %d of them are met", len(named), len(met))
}

// calls are the names of all calls in the source of the functions.
func calls(t *testing.T) (names []string) {
	for _, root := range []string{"shared", "functions"} {
		err := filepath.WalkDir(filepath.Join("..", "..", root), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "dynamotest") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err == nil {
				names = append(names, callsOf(file)...)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// naming says which argument of a function is the name of a call.
var naming = map[string]int{"write": 0, "collection": 1, "WithCall": 1}

func callsOf(file *ast.File) (names []string) {
	constants := map[string]string{}
	add := func(e ast.Expr) {
		if id, ok := e.(*ast.Ident); ok && constants[id.Name] != "" {
			names = append(names, constants[id.Name])
		}
		if s := text(e); s != "" {
			names = append(names, s)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			for i, id := range n.Names {
				if i < len(n.Values) {
					constants[id.Name] = text(n.Values[i])
				}
			}
		case *ast.CallExpr:
			if i, ok := naming[called(n.Fun)]; ok && i < len(n.Args) {
				add(n.Args[i])
			}
		case *ast.KeyValueExpr: // of a search
			if id, ok := n.Key.(*ast.Ident); ok && id.Name == "call" && file.Name.Name == "dynamo" {
				add(n.Value)
			}
		case *ast.FuncDecl:
			if n.Name.Name == "reading" {
				names = append(names, returned(n)...)
			}
		}
		return true
	})
	return names
}

func called(fun ast.Expr) string {
	switch f := fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

func returned(f *ast.FuncDecl) (names []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		if r, ok := n.(*ast.ReturnStmt); ok {
			names = append(names, text(r.Results[0]))
		}
		return true
	})
	return names
}

func text(e ast.Expr) string {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return ""
	}
	s, _ := strconv.Unquote(lit.Value)
	return s
}
