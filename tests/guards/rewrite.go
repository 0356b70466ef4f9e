package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
)

// A rewriter makes the guards of one file switchable.
type rewriter struct {
	file   string // its path in the repository
	text   string
	set    *token.FileSet
	edits  []edit
	guards []guard
	known  map[string]int // how often a name was given
}

// A guard is something that can be taken out.
type guard struct {
	id   string
	file string
	live bool // false: a write without a guard, which is listed all the same
}

// An edit replaces a part of the text.
type edit struct {
	from, to int
	text     string
}

// name makes a name of a guard that no other has.
func (r *rewriter) name(id string, switchable bool) string {
	if r.known[id]++; r.known[id] > 1 {
		id = fmt.Sprintf("%s (%d)", id, r.known[id])
	}
	r.guards = append(r.guards, guard{id, r.file, switchable})
	return id
}

func (r *rewriter) source(n ast.Node) string {
	return r.text[r.set.Position(n.Pos()).Offset:r.set.Position(n.End()).Offset]
}

func (r *rewriter) replace(n ast.Node, text string) {
	r.edits = append(r.edits, edit{r.set.Position(n.Pos()).Offset, r.set.Position(n.End()).Offset, text})
}

// result is the text with all edits.
func (r *rewriter) result() string {
	slices.SortFunc(r.edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	var b strings.Builder
	at := 0
	for _, e := range r.edits {
		b.WriteString(r.text[at:e.from])
		b.WriteString(e.text)
		at = e.to
	}
	b.WriteString(r.text[at:])
	return b.String()
}

// rows makes every row of a function switchable: each case of a switch, each condition of an if or a return, and each
// part of one.
func (r *rewriter) rows(file *ast.File, names []string) error {
	for _, name := range names {
		found := false
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || function(f) != name {
				continue
			}
			found = true
			w := &walker{rewriter: r, prefix: path.Base(path.Dir(r.file)) + "." + name + ": "}
			ast.Inspect(f.Body, w.visit)
		}
		if !found {
			return fmt.Errorf("read %s: no function %s", r.file, name)
		}
	}
	return nil
}

// function is a function's name: "JudgeClaim", "job.finish".
func function(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	t := f.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name + "." + f.Name.Name
	}
	return f.Name.Name
}

// A walker goes through one function.
type walker struct {
	*rewriter
	prefix string
	done   []ast.Node // whose parts are not looked at
}

func (w *walker) visit(n ast.Node) bool {
	if slices.Contains(w.done, n) {
		return false
	}
	switch n := n.(type) {
	case *ast.IfStmt:
		asks := w.source(n.Cond)
		if !strings.Contains(asks, "guardOn(") {
			w.condition(n.Cond)
			break
		}
		w.done = append(w.done, n.Cond)
		if strings.HasPrefix(asks, "guardOn(") { // what is written instead has no guards
			w.done = append(w.done, n.Body)
		}
	case *ast.SwitchStmt:
		for _, c := range n.Body.List {
			for _, e := range c.(*ast.CaseClause).List {
				if n.Tag == nil {
					w.condition(e)
				} else {
					w.replace(e, fmt.Sprintf("guardCase(%q, %s)", w.name(w.prefix+"no case "+w.source(e), true), w.source(e)))
					w.done = append(w.done, e)
				}
			}
		}
	case *ast.ReturnStmt:
		for _, e := range n.Results {
			if b, ok := e.(*ast.BinaryExpr); ok && (b.Op == token.LAND || b.Op == token.LOR) {
				w.replace(e, w.parts(e))
				w.done = append(w.done, e)
			}
		}
	}
	return true
}

// condition makes a condition one that does not hold while its guard is out, and each part of it likewise.
func (w *walker) condition(e ast.Expr) {
	w.done = append(w.done, e)
	if plain(e) {
		return
	}
	id := w.name(w.prefix+"never "+w.short(e), true)
	w.replace(e, fmt.Sprintf("guardNever(%q, %s)", id, w.parts(e)))
}

// parts makes what a condition consists of switchable: parts that must hold hold, and alternatives do not.
func (w *walker) parts(e ast.Expr) string {
	if p, ok := e.(*ast.ParenExpr); ok {
		return "(" + w.parts(p.X) + ")"
	}
	b, ok := e.(*ast.BinaryExpr)
	if !ok || b.Op != token.LAND && b.Op != token.LOR {
		return w.source(e)
	}
	var texts []string
	for _, p := range operands(b, b.Op) {
		switch {
		case plain(p):
			texts = append(texts, w.source(p))
		case b.Op == token.LAND:
			texts = append(texts, fmt.Sprintf("guardAlways(%q, %s)", w.name(w.prefix+"without "+w.short(p), true), w.parts(p)))
		default:
			texts = append(texts, fmt.Sprintf("guardNever(%q, %s)", w.name(w.prefix+"never "+w.short(p), true), w.parts(p)))
		}
	}
	return strings.Join(texts, " "+b.Op.String()+" ")
}

// short is an expression on one line.
func (w *walker) short(e ast.Expr) string { return strings.Join(strings.Fields(w.source(e)), " ") }

// operands are what one operator joins.
func operands(e ast.Expr, op token.Token) []ast.Expr {
	if b, ok := e.(*ast.BinaryExpr); ok && b.Op == op {
		return append(operands(b.X, op), operands(b.Y, op)...)
	}
	return []ast.Expr{e}
}

// plain tells whether an expression only asks whether there is an error, or whether it is of a kind: that is no guard
// of ours, but the way to one.
func plain(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.UnaryExpr:
		return plain(e.X)
	case *ast.Ident:
		return slices.Contains([]string{"err", "nil", "ok", "refused", "isRefused", "final"}, e.Name)
	case *ast.BinaryExpr:
		return (e.Op == token.NEQ || e.Op == token.EQL || e.Op == token.LAND) && plain(e.X) && plain(e.Y)
	}
	return false
}
