package cloudformation

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// An Environment knows what lies outside of the template: the names of what was created, and the
// pseudo parameters ("AWS::Region").
type Environment interface {
	Ref(id string) (string, error)
	Attribute(id, name string) (string, error)
}

// noValue is what !Ref "AWS::NoValue" leaves: the property as if it were not there.
type noValue struct{}

// Property evaluates the property of a resource at a path. A function's property that is missing is
// looked up under Globals. It returns an error that wraps [ErrMissing] when there is none.
func (t *Template) Property(env Environment, id string, path ...string) (any, error) {
	where := id + "." + strings.Join(path, ".")
	r, _ := t.resources[id].(map[string]any)
	raw, ok := descend(r["Properties"], path)
	if !ok && r["Type"] == "AWS::Serverless::Function" {
		raw, ok = descend(t.globals, path)
	}
	if !ok {
		return nil, fmt.Errorf("%s: %w", where, ErrMissing)
	}
	v, err := evaluation{t, env}.value(raw)
	if err != nil {
		return nil, fmt.Errorf("evaluate %s: %w", where, err)
	}
	if v == (noValue{}) {
		return nil, fmt.Errorf("%s: %w", where, ErrMissing)
	}
	return v, nil
}

// Text is a property as text.
func (t *Template) Text(env Environment, id string, path ...string) (string, error) {
	v, err := t.Property(env, id, path...)
	if err != nil {
		return "", err
	}
	return text(v)
}

// Number is a property as a whole number.
func (t *Template) Number(env Environment, id string, path ...string) (int, error) {
	s, err := t.Text(env, id, path...)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, fmt.Errorf("%s.%s is %q, not a whole number", id, strings.Join(path, "."), s)
	}
	return n, nil
}

func descend(v any, path []string) (any, bool) {
	for _, step := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = m[step]; !ok {
			return nil, false
		}
	}
	return v, v != nil
}

type evaluation struct {
	t   *Template
	env Environment
}

func (e evaluation) value(v any) (any, error) {
	switch v := v.(type) {
	case call:
		return e.call(v)
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, child := range v {
			got, err := e.value(child)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", k, err)
			}
			if got != (noValue{}) {
				m[k] = got
			}
		}
		return m, nil
	case []any:
		var list []any
		for _, child := range v {
			got, err := e.value(child)
			if err != nil {
				return nil, err
			}
			if got != (noValue{}) {
				list = append(list, got)
			}
		}
		return list, nil
	}
	return v, nil
}

func (e evaluation) call(c call) (any, error) {
	switch c.name {
	case "Ref":
		name, err := text(c.arg)
		if err != nil {
			return nil, err
		}
		return e.ref(name)
	case "Sub":
		return e.sub(c.arg)
	case "GetAtt":
		return e.attribute(c.arg)
	case "If":
		return e.choose(c.arg)
	case "Join":
		return e.join(c.arg)
	case "Equals", "Not", "And", "Or", "Condition":
		return e.condition(c)
	}
	return nil, fmt.Errorf("!%s is not understood by the local system", c.name)
}

func (e evaluation) ref(name string) (any, error) {
	if name == "AWS::NoValue" {
		return noValue{}, nil
	}
	if v, ok := e.t.parameters[name]; ok {
		return v, nil
	}
	return e.env.Ref(name)
}

func (e evaluation) attribute(arg any) (any, error) {
	if parts, ok := arg.([]any); ok && len(parts) == 2 {
		arg = fmt.Sprintf("%v.%v", parts[0], parts[1])
	}
	name, err := text(arg)
	if err != nil {
		return nil, err
	}
	id, attribute, ok := strings.Cut(name, ".")
	if !ok {
		return nil, fmt.Errorf("!GetAtt %q names no attribute", name)
	}
	return e.env.Attribute(id, attribute)
}

var placeholder = regexp.MustCompile(`\$\{([^}!][^}]*)\}`)

func (e evaluation) sub(arg any) (any, error) {
	own := map[string]any{}
	if pair, ok := arg.([]any); ok && len(pair) == 2 {
		arg = pair[0]
		own, _ = pair[1].(map[string]any)
	}
	form, err := text(arg)
	if err != nil {
		return nil, err
	}
	var fault error
	out := placeholder.ReplaceAllStringFunc(form, func(m string) string {
		s, err := e.variable(m[2:len(m)-1], own)
		if err != nil && fault == nil {
			fault = err
		}
		return s
	})
	return strings.ReplaceAll(out, "${!", "${"), fault
}

func (e evaluation) variable(name string, own map[string]any) (string, error) {
	var v any
	var err error
	switch mine, ok := own[name]; {
	case ok:
		v, err = e.value(mine)
	case strings.Contains(name, ".") && !strings.Contains(name, "::"):
		v, err = e.attribute(name)
	default:
		v, err = e.ref(name)
	}
	if err != nil {
		return "", err
	}
	return text(v)
}

func (e evaluation) join(arg any) (any, error) {
	v, err := e.value(arg)
	if err != nil {
		return nil, err
	}
	pair, ok := v.([]any)
	if !ok || len(pair) != 2 {
		return nil, fmt.Errorf("!Join takes a separator and a list")
	}
	list, _ := pair[1].([]any)
	parts := make([]string, len(list))
	for i, item := range list {
		if parts[i], err = text(item); err != nil {
			return nil, err
		}
	}
	separator, err := text(pair[0])
	return strings.Join(parts, separator), err
}

// text is a scalar as CloudFormation passes it on: numbers and booleans as they are written.
func text(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case int64, float64, bool:
		return fmt.Sprint(v), nil
	}
	return "", fmt.Errorf("expected text, found %T", v)
}

// Texts is a value that may be single or a list, as a list of texts. Of no value there is none.
func Texts(v any) []string {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		var list []string
		for _, x := range v {
			list = append(list, fmt.Sprint(x))
		}
		return list
	}
	return []string{fmt.Sprint(v)}
}
