package architecture_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
)

const (
	maxFuncLines   = 80
	maxFileLines   = 400
	maxMainLines   = 60
	maxParameters  = 4 // besides the context and the test
	inTestsOfFuncs = "_test.go"
)

// A source is one Go file.
type source struct {
	name string
	text string
}

func sources(t *testing.T) []source {
	t.Helper()
	var list []source
	for _, f := range kept(t) {
		if path.Ext(f) == ".go" && !strings.Contains(f, "/testdata/") {
			list = append(list, source{f, read(t, f)})
		}
	}
	return list
}

func parsed(s source) (*token.FileSet, *ast.File, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, s.name, s.text, parser.ParseComments|parser.SkipObjectResolution)
	return set, file, err
}

func TestFilesAndFunctionsAreShort(t *testing.T) {
	for _, s := range sources(t) {
		none(t, long(s))
	}
}

// long finds a file or a function that is too long, and a function with too many parameters.
func long(s source) []string {
	set, file, err := parsed(s)
	if err != nil {
		return []string{err.Error()}
	}
	var faults []string
	limit := maxFileLines
	if parts := strings.Split(s.name, "/"); parts[0] == "functions" && path.Base(s.name) == "main.go" {
		limit = maxMainLines
	}
	if n := strings.Count(s.text, "\n"); n > limit {
		faults = append(faults, fmt.Sprintf("%s has %d lines, more than %d", s.name, n, limit))
	}
	ast.Inspect(file, func(n ast.Node) bool {
		f, ok := n.(*ast.FuncDecl)
		if !ok {
			return true
		}
		at := set.Position(f.Pos())
		if lines := set.Position(f.End()).Line - at.Line + 1; lines > maxFuncLines {
			faults = append(faults, fmt.Sprintf("%s:%d %s has %d lines, more than %d", s.name, at.Line, f.Name.Name, lines, maxFuncLines))
		}
		if n := parameters(f.Type); n > maxParameters && !strings.HasSuffix(s.name, inTestsOfFuncs) {
			faults = append(faults, fmt.Sprintf("%s:%d %s has %d parameters, more than %d", s.name, at.Line, f.Name.Name, n, maxParameters))
		}
		return true
	})
	return faults
}

// parameters counts a function's parameters without contexts.
func parameters(f *ast.FuncType) int {
	n := 0
	for _, p := range f.Params.List {
		if sel, ok := p.Type.(*ast.SelectorExpr); ok && sel.Sel.Name == "Context" {
			continue
		}
		n += max(1, len(p.Names))
	}
	return n
}

func TestLengthRuleFindsLongCode(t *testing.T) {
	lines := strings.Repeat("\t_ = 0\n", 79)
	tall := source{"shared/a/a.go", "package a\n\nfunc Tall() {\n" + lines + "}\n\nfunc fits() {\n" + lines[:78*7] + "}\n" + strings.Repeat("\n", 300)}
	found(t, long(tall), "shared/a/a.go has 464 lines, more than 400", "shared/a/a.go:3 Tall has 81 lines, more than 80")
	wide := source{"shared/a/b.go", "package a\n\nimport \"context\"\n\nfunc wide(ctx context.Context, a, b int, c string, d, e bool) {}\n\nfunc four(ctx context.Context, a, b int, c string, d bool) {}\n"}
	found(t, long(wide), "shared/a/b.go:5 wide has 5 parameters, more than 4")
	found(t, long(source{"functions/a/main.go", "package main\n" + strings.Repeat("\n", 60)}), "functions/a/main.go has 61 lines, more than 60")
	found(t, long(source{"x.go", "package"}), "x.go:1:8: expected 'IDENT', found 'EOF'")
}

func TestPackagesAndExportedNamesAreDocumented(t *testing.T) {
	none(t, undocumented(sources(t)))
}

// undocumented finds packages without a package comment and exported names without a doc comment. Tests
// are left out, and so are methods of unexported types.
func undocumented(list []source) []string {
	var faults []string
	documented := map[string]bool{}
	for _, s := range list {
		if strings.HasSuffix(s.name, "_test.go") {
			continue
		}
		set, file, err := parsed(s)
		if err != nil {
			faults = append(faults, err.Error())
			continue
		}
		dir := path.Dir(s.name)
		documented[dir] = documented[dir] || file.Doc.Text() != ""
		for _, name := range bare(file) {
			faults = append(faults, fmt.Sprintf("%s:%d %s has no doc comment", s.name, set.Position(name.Pos()).Line, name.Name))
		}
	}
	for dir, ok := range documented {
		if !ok {
			faults = append(faults, dir+" has no package comment")
		}
	}
	return faults
}

// bare lists the exported names of a file that have no doc comment. A group's comment is its members'.
func bare(file *ast.File) []*ast.Ident {
	var names []*ast.Ident
	add := func(name *ast.Ident, docs ...*ast.CommentGroup) {
		if name.IsExported() && !slices.ContainsFunc(docs, func(d *ast.CommentGroup) bool { return d.Text() != "" }) {
			names = append(names, name)
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil || ast.IsExported(receiver(d.Recv.List[0].Type)) {
				add(d.Name, d.Doc)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					add(spec.Name, d.Doc, spec.Doc, spec.Comment)
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						add(name, d.Doc, spec.Doc, spec.Comment)
					}
				}
			}
		}
	}
	return names
}

// receiver is the name of the type that a method belongs to.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

func TestDocumentationRuleFindsBareNames(t *testing.T) {
	list := []source{
		{"shared/a/a.go", "package a\n\nfunc Bare() {}\n\n// Told tells.\nfunc Told() {}\n\nfunc quiet() {}\n\ntype T struct{}\n\nfunc (*T) M() {}\n\ntype u[K any] struct{}\n\nfunc (u[K]) M() {}\n"},
		{"shared/a/b.go", "package a\n\n// The sizes.\nconst (\n\tA = 1\n\tB = 2\n)\n\nvar (\n\tC = 1\n\tD = 2 // told\n)\n"},
		{"shared/b/b.go", "// Package b is told.\npackage b\n"},
		{"shared/b/b_test.go", "package b_test\n\nfunc Help() {}\n"},
	}
	found(t, undocumented(list), "shared/a has no package comment",
		"shared/a/a.go:3 Bare has no doc comment", "shared/a/a.go:10 T has no doc comment",
		"shared/a/a.go:12 M has no doc comment", "shared/a/b.go:10 C has no doc comment")
}
