package config

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"engang/shared/document"
	"engang/shared/recipe"
)

// A Change is one part that applying would add, replace or take away.
type Change struct {
	Kind   string  `json:"kind"` // "endpoint", "recipe" or "common"
	Name   string  `json:"name"`
	From   int     `json:"from"`   // live version; zero: none
	To     int     `json:"to"`     // zero: it is taken away
	Fields []Field `json:"fields"` // of a part that is replaced; none where only the order of keys differs
}

// A Field is one place that differs.
type Field struct {
	At   string          `json:"at"`   // JSON pointer into the part as it is stored
	From json.RawMessage `json:"from"` // null: it is not there
	To   json.RawMessage `json:"to"`
}

// A Comparison is what applying a set would do.
type Comparison struct {
	Changes []Change
	Faults  Faults // why it is refused for what is live
}

// Compare tells what applying a checked set would change, and why that is refused. A recipe that asks
// another model than its live version does is refused too, unless that is allowed: outputs and prices
// change with it.
func (l Live) Compare(ctx context.Context, from store, set Set, allowModelChange bool) (Comparison, error) {
	c := comparer{live: l, from: from, set: set, allowModel: allowModelChange}
	for _, step := range []func(context.Context) error{c.common, c.endpoints, c.recipes} {
		if err := step(ctx); err != nil {
			return Comparison{}, err
		}
	}
	return c.found, nil
}

type comparer struct {
	live       Live
	from       store
	set        Set
	allowModel bool
	found      Comparison
}

// changed notes a part that is not as it was. Both are what is stored of it.
func (c *comparer) changed(change Change, before, after []byte) {
	change.Fields = fields(before, after)
	c.found.Changes = append(c.found.Changes, change)
}

func (c *comparer) common(ctx context.Context) error {
	return c.numbered(ctx, numbered{KindCommon, CommonName, c.set.Common, c.live.Common})
}

func (c *comparer) endpoints(ctx context.Context) error {
	names := map[string]bool{}
	for _, e := range c.set.Endpoints {
		names[e.Name] = true
		if err := c.numbered(ctx, numbered{KindEndpoint, e.Name, e, c.live.Endpoints[e.Name]}); err != nil {
			return err
		}
		owner, err := c.from.Address(ctx, e.Name)
		if err != nil && !errors.Is(err, ErrUnknown) {
			return fmt.Errorf("read address of endpoint %s: %w", e.Name, err)
		}
		if err == nil && owner != c.set.Scope {
			c.found.Faults.add(pointer("endpoints", e.Name), fmt.Sprintf("the address /hooks/%s belongs to %s", e.Name, owner), "choose another name: names are unique in a stack, since the address holds nothing else")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.live.Endpoints)) {
		if !names[name] {
			c.found.Changes = append(c.found.Changes, Change{Kind: KindEndpoint, Name: name, From: c.live.Endpoints[name]})
		}
	}
	return nil
}

// numbered compares a part whose version is counted by us.
func (c *comparer) numbered(ctx context.Context, what numbered) error {
	v, err := newVersion(c.set.Scope, what.kind, what.name, what.content)
	if err != nil {
		return err
	}
	var before []byte
	for v.Version = max(what.live, 1); ; v.Version++ {
		raw, err := stored(ctx, c.from, versionKey{v.Scope, v.Kind, v.Name, v.Version})
		if err != nil {
			return err
		}
		if v.Version == what.live {
			before = raw
		}
		switch {
		case bytes.Equal(raw, v.JSON) && v.Version == what.live:
			return nil
		case raw == nil, bytes.Equal(raw, v.JSON):
			c.changed(Change{Kind: v.Kind, Name: v.Name, From: what.live, To: v.Version}, before, v.JSON)
			return nil
		case v.Version > what.live+maxSkips:
			return fmt.Errorf("versions %d to %d of %s %s are taken: %w", what.live, v.Version, v.Kind, v.Name, ErrChanged)
		}
	}
}

func (c *comparer) recipes(ctx context.Context) error {
	names := map[string]bool{}
	for _, r := range c.set.Recipes {
		names[r.Name] = true
		if err := c.recipe(ctx, r); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.live.Recipes)) {
		if names[name] {
			continue
		}
		c.found.Changes = append(c.found.Changes, Change{Kind: KindRecipe, Name: name, From: c.live.Recipes[name]})
		if users := c.live.users(name); len(users) > 0 {
			c.found.Faults.add(pointer("recipes", name), fmt.Sprintf("a recipe in use is removed: endpoint %s runs it now", strings.Join(users, ", ")),
				"retire it instead: keep it, take it out of the events and apply; remove it after that. If it stands in another file, name all files of this configuration together")
		}
	}
	return nil
}

func (c *comparer) recipe(ctx context.Context, r recipe.Recipe) error {
	at, live := pointer("recipes", r.Name), c.live.Recipes[r.Name]
	v, err := newVersion(c.set.Scope, KindRecipe, r.Name, r)
	if err != nil {
		return err
	}
	v.Version = r.Version
	key := versionKey{v.Scope, v.Kind, v.Name, v.Version}
	there, err := stored(ctx, c.from, key)
	if err != nil {
		return err
	}
	taken := there != nil && !bytes.Equal(there, v.JSON)
	if live == r.Version && !taken {
		return nil
	}
	var before []byte
	if live > 0 {
		key.version = live
		if before, err = stored(ctx, c.from, key); err != nil {
			return err
		}
	}
	c.changed(Change{Kind: v.Kind, Name: v.Name, From: live, To: v.Version}, before, v.JSON)
	if taken || r.Version < live {
		free, err := c.free(ctx, r)
		if err != nil {
			return err
		}
		reason := fmt.Sprintf("version %d was applied with other content, and an applied version never changes", r.Version)
		if r.Version < live {
			reason = fmt.Sprintf("the version goes back from %d to %d", live, r.Version)
		}
		c.found.Faults.add(at+"/version", reason, fmt.Sprintf("raise it to %d", free))
	}
	c.guard(at, r)
	return nil
}

// guard refuses what a recipe may not become without notice.
func (c *comparer) guard(at string, r recipe.Recipe) {
	was, ok := c.live.recipe(r.Name)
	if ok && !c.allowModel && (was.Model.Provider != r.Model.Provider || was.Model.Name != r.Model.Name) {
		c.found.Faults.add(at+"/model/name", "another model than the live version asks: outputs and prices change with it", "look at both, and say --allow-model-change")
	}
	if !ok && c.set.Scope.Environment == "production" && r.Policy != recipe.PolicyDraft {
		c.found.Faults.add(at+"/policy", string(r.Policy)+" in the first version of a recipe in production: nobody has looked at its outputs here", "apply it with policy: draft first; a later version may be "+string(r.Policy))
	}
}

// free is the lowest version above the live one and this one that nobody has written.
func (c *comparer) free(ctx context.Context, r recipe.Recipe) (int, error) {
	for n := max(r.Version, c.live.Recipes[r.Name]) + 1; ; n++ {
		raw, err := stored(ctx, c.from, versionKey{c.set.Scope, KindRecipe, r.Name, n})
		if err != nil || raw == nil {
			return n, err
		}
	}
}

// fields lists the places at which two JSON documents differ. A document that is not there has none.
func fields(before, after []byte) []Field {
	found := []Field{}
	if before == nil {
		return found
	}
	was, err := document.Decode(before)
	if err != nil {
		return found
	}
	is, err := document.Decode(after)
	if err != nil {
		return found
	}
	differ("", was, is, &found)
	return found
}

func differ(at string, was, is any, found *[]Field) {
	switch was := was.(type) {
	case map[string]any:
		if is, ok := is.(map[string]any); ok {
			members(at, was, is, found)
			return
		}
	case []any:
		if is, ok := is.([]any); ok && len(was) == len(is) {
			for i := range was {
				differ(at+"/"+strconv.Itoa(i), was[i], is[i], found)
			}
			return
		}
	}
	from, to := canonical(was), canonical(is)
	if !bytes.Equal(from, to) {
		*found = append(*found, Field{At: at, From: from, To: to})
	}
}

func members(at string, was, is map[string]any, found *[]Field) {
	nothing := json.RawMessage("null")
	for _, name := range slices.Sorted(maps.Keys(union(was, is))) {
		here := at + pointer(name)
		from, had := was[name]
		to, has := is[name]
		switch {
		case had && has:
			differ(here, from, to, found)
		case had:
			*found = append(*found, Field{At: here, From: canonical(from), To: nothing})
		default:
			*found = append(*found, Field{At: here, From: nothing, To: canonical(to)})
		}
	}
}

func union(a, b map[string]any) map[string]any {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

func canonical(v any) json.RawMessage {
	raw, err := document.Canonical(v)
	if err != nil { // not of what was decoded
		return json.RawMessage("null")
	}
	return raw
}
