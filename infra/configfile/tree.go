package configfile

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// A node is a value of a file, and where it stands.
type node struct {
	file  string
	line  int
	value any      // a scalar: string, json.Number, bool or nil
	list  []*node  // of a sequence
	keys  []*entry // of a mapping, in the order of the file
	kind  nodeKind
	size  int // values in it, itself included, anchors written out
	depth int // levels in it
}

type nodeKind int

const (
	scalar nodeKind = iota
	sequence
	mapping
)

// An entry is one key of a mapping with its value.
type entry struct {
	name  string
	line  int
	value *node
}

// child is the value of a key.
func (n *node) child(name string) (*node, bool) {
	if n == nil {
		return nil, false
	}
	for _, e := range n.keys {
		if e.name == name {
			return e.value, true
		}
	}
	return nil, false
}

// at walks as far as the steps lead. It returns the last node that is there.
func (n *node) at(steps []string) *node {
	for _, step := range steps {
		next, ok := n.child(step)
		if i, err := strconv.Atoi(step); !ok && err == nil && n.kind == sequence && i >= 0 && i < len(n.list) {
			next, ok = n.list[i], true
		}
		if !ok {
			return n
		}
		n = next
	}
	return n
}

// all is every node at the steps, where * is every value of a mapping.
func (n *node) all(steps []string) []*node {
	here := []*node{n}
	for _, step := range steps {
		var next []*node
		for _, parent := range here {
			for _, e := range parent.keys {
				if step == "*" || step == e.name {
					next = append(next, e.value)
				}
			}
		}
		here = next
	}
	return here
}

// plain is the value as encoding/json would decode it.
func (n *node) plain() any {
	switch n.kind {
	case sequence:
		all := make([]any, len(n.list))
		for i, item := range n.list {
			all[i] = item.plain()
		}
		return all
	case mapping:
		all := make(map[string]any, len(n.keys))
		for _, e := range n.keys {
			all[e.name] = e.value.plain()
		}
		return all
	}
	return n.value
}

// writeJSON keeps the order of the file: a model answers in the order of its schema's properties.
func (n *node) writeJSON(b *bytes.Buffer) {
	switch n.kind {
	case sequence:
		b.WriteByte('[')
		for i, item := range n.list {
			if i > 0 {
				b.WriteByte(',')
			}
			item.writeJSON(b)
		}
		b.WriteByte(']')
	case mapping:
		b.WriteByte('{')
		for i, e := range n.keys {
			if i > 0 {
				b.WriteByte(',')
			}
			writeScalar(b, e.name)
			b.WriteByte(':')
			e.value.writeJSON(b)
		}
		b.WriteByte('}')
	default:
		writeScalar(b, n.value)
	}
}

func writeScalar(b *bytes.Buffer, v any) {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("configfile: a scalar that is no JSON: " + err.Error()) // the reader makes only strings, numbers, booleans and nil
	}
	b.Truncate(b.Len() - 1) // the encoder ends with a line break
}

func (n *node) json() []byte {
	var b bytes.Buffer
	n.writeJSON(&b)
	return b.Bytes()
}

// pointer is the JSON pointer of the steps.
func pointer(steps ...string) string {
	var b strings.Builder
	for _, s := range steps {
		b.WriteString("/" + strings.ReplaceAll(strings.ReplaceAll(s, "~", "~0"), "/", "~1"))
	}
	return b.String()
}

// steps is the inverse of pointer.
func steps(pointer string) []string {
	if pointer == "" {
		return nil
	}
	all := strings.Split(pointer[1:], "/")
	for i, s := range all {
		all[i] = strings.ReplaceAll(strings.ReplaceAll(s, "~1", "/"), "~0", "~")
	}
	return all
}
