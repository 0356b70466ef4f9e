package modelstub

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// A node is one schema of the strict subset, with its properties in the order in which they are written
// down: a model writes them in that order.
type node struct {
	Ref              string           `json:"$ref"`
	Type             kinds            `json:"type"`
	Enum             []any            `json:"enum"`
	Const            *json.RawMessage `json:"const"`
	AnyOf            []*node          `json:"anyOf"`
	Properties       properties       `json:"properties"`
	Items            *node            `json:"items"`
	MinItems         int              `json:"minItems"`
	MaxItems         *int             `json:"maxItems"`
	Format           string           `json:"format"`
	Pattern          string           `json:"pattern"`
	Minimum          *float64         `json:"minimum"`
	Maximum          *float64         `json:"maximum"`
	ExclusiveMinimum *float64         `json:"exclusiveMinimum"`
	ExclusiveMaximum *float64         `json:"exclusiveMaximum"`
	MultipleOf       *float64         `json:"multipleOf"`
	Defs             map[string]*node `json:"$defs"`
}

type property struct {
	name string
	node *node
}

type properties []property

// UnmarshalJSON reads an object and keeps its order.
func (p *properties) UnmarshalJSON(raw []byte) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errors.New("read properties: no object")
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return fmt.Errorf("read property name: %w", err)
		}
		n := new(node)
		if err := d.Decode(n); err != nil {
			return fmt.Errorf("read property: %w", err)
		}
		*p = append(*p, property{name.(string), n})
	}
	return nil
}

// kinds is a type, or several.
type kinds []string

// UnmarshalJSON reads a text or a list of texts.
func (k *kinds) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*k = kinds{one}
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(k))
}

// is tells whether the node may be of a type, apart from null.
func (n *node) is(kind string) bool {
	for _, k := range n.Type {
		if k != "null" {
			return k == kind
		}
	}
	return len(n.Type) == 0 && kind == n.implied()
}

// implied is the type of a node that states none.
func (n *node) implied() string {
	switch {
	case n.Properties != nil:
		return "object"
	case n.Items != nil:
		return "array"
	}
	return "string"
}

func (n *node) nullable() bool {
	for _, k := range n.Type {
		if k == "null" {
			return true
		}
	}
	return false
}

// free tells whether a node is a text without further rules.
func (n *node) free() bool {
	return n.is("string") && n.Enum == nil && n.Format == "" && n.Pattern == "" && n.Const == nil && n.AnyOf == nil && n.Ref == ""
}

// choices are the texts of an enum.
func (n *node) choices() []string {
	var texts []string
	for _, v := range n.Enum {
		if s, ok := v.(string); ok {
			texts = append(texts, s)
		}
	}
	return texts
}

// follow leads from a reference to what it names. The schema was linted, so that it is there.
func (n *node) follow(root *node) *node {
	for n.Ref != "" {
		if n.Ref == "#" {
			return root
		}
		n = root.Defs[strings.TrimPrefix(n.Ref, "#/$defs/")]
	}
	return n
}
