package cloudformation

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// A call is an intrinsic function that stands in the place of a value: !Sub "…" or {"Fn::Sub": "…"}.
type call struct {
	name string // "Ref", "Sub", …
	arg  any
}

func (c call) String() string { return fmt.Sprintf("!%s %v", c.name, c.arg) }

// decode reads YAML into map[string]any, []any, string, int64, float64, bool, nil and call.
func decode(raw []byte) (any, error) {
	file, err := parser.ParseBytes(raw, 0)
	if err != nil {
		return nil, fmt.Errorf("parse YAML: %w", err)
	}
	if len(file.Docs) != 1 || file.Docs[0].Body == nil {
		return nil, fmt.Errorf("expected one YAML document, found %d", len(file.Docs))
	}
	return value(file.Docs[0].Body)
}

func value(n ast.Node) (any, error) {
	switch n := n.(type) {
	case *ast.TagNode:
		arg, err := value(n.Value)
		if err != nil {
			return nil, err
		}
		return call{name: strings.TrimPrefix(n.Start.Value, "!"), arg: arg}, nil
	case *ast.MappingNode:
		return mapping(n.Values)
	case *ast.MappingValueNode:
		return mapping([]*ast.MappingValueNode{n})
	case *ast.SequenceNode:
		list := make([]any, len(n.Values))
		for i, v := range n.Values {
			var err error
			if list[i], err = value(v); err != nil {
				return nil, err
			}
		}
		return list, nil
	case *ast.LiteralNode:
		return n.Value.Value, nil
	case *ast.StringNode:
		return n.Value, nil
	case *ast.IntegerNode:
		return integer(n.Value), nil
	case *ast.FloatNode:
		return n.Value, nil
	case *ast.BoolNode:
		return n.Value, nil
	case *ast.NullNode:
		return nil, nil
	}
	return nil, fmt.Errorf("line %d: YAML %s is not understood here", n.GetToken().Position.Line, n.Type())
}

func mapping(pairs []*ast.MappingValueNode) (any, error) {
	m := make(map[string]any, len(pairs))
	for _, pair := range pairs {
		v, err := value(pair.Value)
		if err != nil {
			return nil, err
		}
		k := pair.Key.GetToken().Value
		if _, twice := m[k]; twice {
			return nil, fmt.Errorf("line %d: %s stands twice", pair.Key.GetToken().Position.Line, k)
		}
		m[k] = v
	}
	if len(m) == 1 {
		for k, v := range m {
			if name, ok := strings.CutPrefix(k, "Fn::"); ok || k == "Ref" {
				return call{name: name, arg: v}, nil
			}
		}
	}
	return m, nil
}

func integer(v any) any {
	switch v := v.(type) {
	case uint64:
		return int64(v)
	case int:
		return int64(v)
	}
	return v
}
