// Package cloudformation reads what a SAM template declares, so that the local system creates the same
// table, queues and functions that a deploy creates.
//
// It evaluates the parameters' defaults, the conditions and the functions Ref, Sub, GetAtt, If, Join,
// Equals, Not, And and Or; anything else is refused with the place where it stands. A property is
// evaluated only when it is asked for, so that a template may hold what nobody reads here.
package cloudformation

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// ErrNoTemplate says that no template.yaml lies in a folder or above it.
var ErrNoTemplate = errors.New("no template.yaml in this folder or above it: start engang inside its repository")

// ErrMissing says that a template declares no property at a path.
var ErrMissing = errors.New("not in the template")

// A Template is what a file declares. It does not change, and is safe for concurrent use.
type Template struct {
	path       string
	document   map[string]any
	parameters map[string]any
	conditions map[string]any
	globals    any
	resources  map[string]any
}

// Find looks for template.yaml in dir and the folders above it. It returns [ErrNoTemplate] when there is none.
func Find(dir string) (string, error) {
	at, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find template: %w", err)
	}
	for {
		path := filepath.Join(at, "template.yaml")
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
		up := filepath.Dir(at)
		if up == at {
			return "", ErrNoTemplate
		}
		at = up
	}
}

// Read reads a template from a file.
func Read(path string) (*Template, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read template: %w", err)
	}
	t, err := Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("read template %s: %w", path, err)
	}
	t.path = path
	return t, nil
}

// Parse reads a template from its text.
func Parse(raw []byte) (*Template, error) {
	doc, err := decode(raw)
	if err != nil {
		return nil, err
	}
	root, ok := doc.(map[string]any)
	if !ok {
		return nil, errors.New("the document is no mapping")
	}
	section := func(name string) map[string]any {
		m, _ := root[name].(map[string]any)
		return m
	}
	t := &Template{
		document: root, parameters: map[string]any{}, conditions: section("Conditions"),
		globals: section("Globals")["Function"], resources: section("Resources"),
	}
	for name, p := range section("Parameters") {
		p, _ := p.(map[string]any)
		if v, ok := p["Default"]; ok {
			t.parameters[name] = v
		}
	}
	if len(t.resources) == 0 {
		return nil, errors.New("it declares no resources")
	}
	return t, nil
}

// Path is the file that was read, or "".
func (t *Template) Path() string { return t.path }

// Written is the whole document as it stands in the file, not to be changed. What an intrinsic function makes is not there
// yet: it prints as it is written, !Ref Table.
func (t *Template) Written() map[string]any { return t.document }

// With returns the same template with other values of some parameters.
func (t *Template) With(values map[string]string) *Template {
	u := *t
	u.parameters = maps.Clone(t.parameters)
	for k, v := range values {
		u.parameters[k] = v
	}
	return &u
}

// OfType lists the logical ids of the resources of one type, in alphabetical order.
func (t *Template) OfType(typ string) []string {
	var ids []string
	for id, r := range t.resources {
		if r, ok := r.(map[string]any); ok && r["Type"] == typ {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Type is the type of a resource, or "" when there is none of this id.
func (t *Template) Type(id string) string {
	r, _ := t.resources[id].(map[string]any)
	typ, _ := r["Type"].(string)
	return typ
}

// Condition names the condition on which a resource is made, or "".
func (t *Template) Condition(id string) string {
	r, _ := t.resources[id].(map[string]any)
	name, _ := r["Condition"].(string)
	return name
}
