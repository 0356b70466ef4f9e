package compiled

import (
	"maps"
	"slices"
)

// decided is the schema with a decision in place of each anyOf whose objects an enum tells apart: the branch that the
// enum names is looked at, and no other. It takes the same outputs. A library goes through all branches to their ends,
// which costs twice as much for each level that nodes of two kinds are nested.
func (o outline) decided() map[string]any { return o.decide(o.root) }

func (o outline) decide(node map[string]any) map[string]any {
	all := maps.Clone(node)
	for _, key := range []string{"properties", "$defs"} {
		if named, ok := node[key].(map[string]any); ok {
			decided := map[string]any{}
			for name, child := range named {
				decided[name] = o.decideAny(child)
			}
			all[key] = decided
		}
	}
	if items, ok := node["items"]; ok {
		all["items"] = o.decideAny(items)
	}
	if list, ok := node["anyOf"].([]any); ok {
		all["anyOf"] = o.decision(list)
	}
	return all
}

func (o outline) decideAny(v any) any {
	if node, ok := v.(map[string]any); ok {
		return o.decide(node)
	}
	return v
}

// decision is the list of an anyOf, with all objects as one branch.
func (o outline) decision(list []any) (branches []any) {
	name, objects := o.tells(list)
	var decision any = false
	for i, branch := range slices.Backward(list) {
		if objects[i] == nil {
			branches = append(branches, o.decideAny(branch))
			continue
		}
		named := map[string]any{"type": "object", "required": []any{name}, "properties": map[string]any{name: map[string]any{"enum": objects[i]}}}
		decision = map[string]any{"if": named, "then": o.decideAny(branch), "else": decision}
	}
	if name != "" {
		branches = append(branches, decision)
	}
	return branches
}

// tells is the property whose enum tells the objects of an anyOf apart, and the values of each branch that is one; empty
// where there is none, or no two objects.
func (o outline) tells(list []any) (name string, values map[int][]any) {
	objects := map[int]map[string]any{}
	for i, branch := range list {
		if node := o.followed(branch); node["type"] == "object" {
			objects[i], _ = node["properties"].(map[string]any)
		}
	}
	if len(objects) < 2 {
		return "", nil
	}
	first := objects[slices.Min(slices.Collect(maps.Keys(objects)))]
	for _, name := range slices.Sorted(maps.Keys(first)) {
		if values := apart(objects, name); values != nil {
			return name, values
		}
	}
	return "", nil
}

// apart are the values that a property may have in each object, if no value is in two of them.
func apart(objects map[int]map[string]any, name string) map[int][]any {
	values, seen := map[int][]any{}, map[string]bool{}
	for i, properties := range objects {
		node, _ := properties[name].(map[string]any)
		values[i], _ = node["enum"].([]any)
		if len(values[i]) == 0 {
			return nil
		}
		for _, v := range values[i] {
			text, ok := v.(string) // numbers are equal that are written differently
			if !ok || seen[text] {
				return nil
			}
			seen[text] = true
		}
	}
	return values
}

// followed is what a schema that is a reference leads to.
func (o outline) followed(v any) map[string]any {
	node, _ := v.(map[string]any)
	for range maxLevels { // references may go in a circle
		ref, ok := node["$ref"].(string)
		if !ok {
			break
		}
		node = o.target(ref)
	}
	return node
}

// maxSteps is how often a part of an output may be held against a part of the schema: less than a second's work. Usual
// outputs of the greatest length take a tenth of it.
const maxSteps = 100_000

// affordable tells whether an output can be held against the schema in time: a worker that is stopped over it has lost
// a call that is paid for.
func (o outline) affordable(v any) bool {
	left := maxSteps
	return o.spend(o.root, v, &left)
}

func (o outline) spend(node map[string]any, v any, left *int) bool {
	if *left--; *left < 0 {
		return false
	}
	if ref, ok := node["$ref"].(string); ok {
		return o.spend(o.target(ref), v, left)
	}
	list, _ := node["anyOf"].([]any)
	for _, branch := range o.tried(list, v) {
		if b, ok := branch.(map[string]any); ok && !o.spend(b, v, left) {
			return false
		}
	}
	switch v := v.(type) {
	case []any:
		if items, ok := node["items"].(map[string]any); ok {
			return !slices.ContainsFunc(v, func(item any) bool { return !o.spend(items, item, left) })
		}
	case map[string]any:
		properties, _ := node["properties"].(map[string]any)
		for name, item := range v {
			if child, ok := properties[name].(map[string]any); ok && !o.spend(child, item, left) {
				return false
			}
		}
	}
	return true
}

// tried are the branches that a value is held against.
func (o outline) tried(list []any, v any) (branches []any) {
	name, values := o.tells(list)
	object, _ := v.(map[string]any)
	for i, branch := range list {
		if values[i] == nil || slices.ContainsFunc(values[i], func(known any) bool { return known == object[name] }) {
			branches = append(branches, branch)
		}
	}
	return branches
}
