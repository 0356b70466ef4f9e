package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
)

// expressions is the file that holds every condition and update.
const expressions = "shared/dynamo/expr.go"

// A statement is one write of expr.go.
type statement struct {
	name         string
	update, when ast.Expr
	updateText   string
	whenText     string
}

// statements reads the writes of expr.go, in their order.
func statements(file *ast.File) (all []statement, err error) {
	constants := map[string]string{}
	for _, decl := range file.Decls {
		d, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range d.Specs {
			v, ok := spec.(*ast.ValueSpec)
			if !ok || len(v.Values) != 1 {
				continue
			}
			call, isCall := v.Values[0].(*ast.CallExpr)
			if !isCall {
				if constants[v.Names[0].Name], err = value(v.Values[0], nil); err != nil {
					return nil, err
				}
				continue
			}
			if len(call.Args) < 3 {
				return nil, fmt.Errorf("read statement %s: it has no condition", v.Names[0].Name)
			}
			s := statement{name: v.Names[0].Name, update: call.Args[1], when: call.Args[2]}
			if s.updateText, err = value(s.update, constants); err != nil {
				return nil, err
			}
			if s.whenText, err = value(s.when, constants); err != nil {
				return nil, err
			}
			all = append(all, s)
		}
	}
	return all, nil
}

// value is the text that an expression of texts and constants makes.
func value(e ast.Expr, constants map[string]string) (string, error) {
	switch e := e.(type) {
	case *ast.BasicLit:
		return strconv.Unquote(e.Value)
	case *ast.Ident:
		if text, ok := constants[e.Name]; ok {
			return text, nil
		}
	case *ast.BinaryExpr:
		left, err := value(e.X, constants)
		if err != nil {
			return "", err
		}
		right, err := value(e.Y, constants)
		return left + right, err
	}
	return "", fmt.Errorf("read %s: a text that is not made of texts and constants", expressions)
}

// What an update writes so that a condition can hold it against the stored item: the write id, the mark of a
// reservation, and what counts. The attribute is written under another name in its place.
var marks = []struct {
	what *regexp.Regexp
	name string // of the guard
}{
	{regexp.MustCompile(`#wid( = :write)`), "writes no #wid"},
	{regexp.MustCompile(`#res( = :(?:worst|one))`), "writes no #res"},
	{regexp.MustCompile(`#tok( :one)`), "counts no #tok"},
	{regexp.MustCompile(`#cnt( :one)`), "counts no #cnt"},
	{regexp.MustCompile(`#cnt( :minus)`), "gives no #cnt back"},
	{regexp.MustCompile(`#gen( :one)`), "counts no #gen"},
	{regexp.MustCompile(`#try( :one)`), "counts no #try"},
	{regexp.MustCompile(`#num( :one)`), "counts no #num"},
	{regexp.MustCompile(`#sum( :worst)`), "counts no #sum"},
}

// forgetful are the update without each mark.
func (s statement) forgetful() (all []variant) {
	for _, m := range marks {
		if text := m.what.ReplaceAllString(s.updateText, "#other$1"); text != s.updateText {
			all = append(all, variant{m.name, text})
		}
	}
	return all
}

// conditions are the variants of the condition; none if there is none.
func (s statement) conditions() []variant {
	if s.whenText == "" {
		return nil
	}
	return parse(s.whenText).variants()
}

// unguarded is what stands in the table for a write that nothing refuses and that marks nothing.
const unguarded = "has no condition"

// statements makes the guards of the statements switchable, and names them.
func (r *rewriter) statements(file *ast.File) error {
	all, err := statements(file)
	if err != nil {
		return err
	}
	for _, s := range all {
		n := len(r.guards)
		r.texts(s, s.when, s.conditions())
		r.texts(s, s.update, s.forgetful())
		if len(r.guards) == n {
			r.name("dynamo."+s.name+": "+unguarded, false)
		}
	}
	return nil
}

// texts makes a text of a statement one that depends on which guard is out.
func (r *rewriter) texts(s statement, e ast.Expr, all []variant) {
	if len(all) == 0 {
		return
	}
	var pairs strings.Builder
	for _, v := range all {
		id := r.name("dynamo."+s.name+": "+v.name, true)
		fmt.Fprintf(&pairs, ", %q, %q", id, v.text)
	}
	r.replace(e, fmt.Sprintf("guardText(%s%s)", r.source(e), pairs.String()))
}

func parsed(name, text string) (*token.FileSet, *ast.File, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
	return set, file, err
}
