package apply

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

	"engang/shared/config"
	"engang/shared/document"
	"engang/shared/object"
	"engang/shared/recipe"
)

// reader is where what was applied is read from, past every cache. Each method returns an error that wraps
// [config.ErrUnknown] for what was never stored.
type reader interface {
	Address(ctx context.Context, name string) (object.Scope, error)
	Version(ctx context.Context, scope object.Scope, kind, name string, version int) ([]byte, error)
}

// A Replacement is a checked set that is to take the place of what is live.
type Replacement struct {
	Live             config.Live
	Set              config.Set
	AllowModelChange bool // a recipe may ask another model than its live version
}

// A Comparison is what applying a set would do.
type Comparison struct {
	Changes []config.Change
	Faults  config.Faults // why it is refused for what is live
}

// Compare tells what applying would change, and why that is refused. A recipe that asks another model than
// its live version does is refused too, unless that is allowed: outputs and prices change with it.
func (r Replacement) Compare(ctx context.Context, from reader) (Comparison, error) {
	c := comparer{live: r.Live, from: from, set: r.Set, allowModel: r.AllowModelChange}
	for _, step := range []func(context.Context) error{c.common, c.endpoints, c.recipes} {
		if err := step(ctx); err != nil {
			return Comparison{}, err
		}
	}
	return Comparison{Changes: c.changes, Faults: config.Faults(c.faults)}, nil
}

type comparer struct {
	live       config.Live
	from       reader
	set        config.Set
	allowModel bool
	changes    []config.Change
	faults     faults
}

// changed notes a part that is not as it was. Both are what is stored of it.
func (c *comparer) changed(change config.Change, before, after []byte) {
	change.Fields = fields(before, after)
	c.changes = append(c.changes, change)
}

func (c *comparer) common(ctx context.Context) error {
	return c.numbered(ctx, numbered{config.KindCommon, config.CommonName, c.set.Common, c.live.Common})
}

func (c *comparer) endpoints(ctx context.Context) error {
	names := map[string]bool{}
	for _, e := range c.set.Endpoints {
		names[e.Name] = true
		if err := c.numbered(ctx, numbered{config.KindEndpoint, e.Name, e, c.live.Endpoints[e.Name]}); err != nil {
			return err
		}
		owner, err := c.from.Address(ctx, e.Name)
		if err != nil && !errors.Is(err, config.ErrUnknown) {
			return fmt.Errorf("read address of endpoint %s: %w", e.Name, err)
		}
		if err == nil && owner != c.set.Scope {
			c.faults.add(pointer("endpoints", e.Name), fmt.Sprintf("the address /hooks/%s belongs to %s", e.Name, owner), "choose another name: names are unique in a stack, since the address holds nothing else")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.live.Endpoints)) {
		if !names[name] {
			c.changes = append(c.changes, config.Change{Kind: config.KindEndpoint, Name: name, From: c.live.Endpoints[name]})
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
		raw, err := stored(ctx, c.from, v)
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
			c.changed(config.Change{Kind: v.Kind, Name: v.Name, From: what.live, To: v.Version}, before, v.JSON)
			return nil
		case v.Version > what.live+maxSkips:
			return fmt.Errorf("versions %d to %d of %s %s are taken: %w", what.live, v.Version, v.Kind, v.Name, config.ErrChanged)
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
		c.changes = append(c.changes, config.Change{Kind: config.KindRecipe, Name: name, From: c.live.Recipes[name]})
		if users := users(c.live, name); len(users) > 0 {
			c.faults.add(pointer("recipes", name), fmt.Sprintf("a recipe in use is removed: endpoint %s runs it now", strings.Join(users, ", ")),
				"retire it instead: keep it, take it out of the events and apply; remove it after that. If it stands in another file, name all files of this configuration together")
		}
	}
	return nil
}

func (c *comparer) recipe(ctx context.Context, r recipe.Recipe) error {
	at, live := pointer("recipes", r.Name), c.live.Recipes[r.Name]
	v, err := newVersion(c.set.Scope, config.KindRecipe, r.Name, r)
	if err != nil {
		return err
	}
	v.Version = r.Version
	there, err := stored(ctx, c.from, v)
	if err != nil {
		return err
	}
	taken := there != nil && !bytes.Equal(there, v.JSON)
	if live == r.Version && !taken {
		return nil
	}
	var before []byte
	if live > 0 {
		was := v
		was.Version = live
		if before, err = stored(ctx, c.from, was); err != nil {
			return err
		}
	}
	c.changed(config.Change{Kind: v.Kind, Name: v.Name, From: live, To: v.Version}, before, v.JSON)
	if taken || r.Version < live {
		free, err := c.free(ctx, r)
		if err != nil {
			return err
		}
		reason := fmt.Sprintf("version %d was applied with other content, and an applied version never changes", r.Version)
		if r.Version < live {
			reason = fmt.Sprintf("the version goes back from %d to %d", live, r.Version)
		}
		c.faults.add(at+"/version", reason, fmt.Sprintf("raise it to %d", free))
	}
	c.guard(at, r)
	return nil
}

// guard refuses what a recipe may not become without notice.
func (c *comparer) guard(at string, r recipe.Recipe) {
	was, ok := liveRecipe(c.live, r.Name)
	if ok && !c.allowModel && (was.Model.Provider != r.Model.Provider || was.Model.Name != r.Model.Name) {
		c.faults.add(at+"/model/name", "another model than the live version asks: outputs and prices change with it", "look at both, and say --allow-model-change")
	}
	if !ok && c.set.Scope.Environment == "production" && r.Policy != recipe.PolicyDraft {
		c.faults.add(at+"/policy", string(r.Policy)+" in the first version of a recipe in production: nobody has looked at its outputs here", "apply it with policy: draft first; a later version may be "+string(r.Policy))
	}
}

// free is the lowest version above the live one and this one that nobody has written.
func (c *comparer) free(ctx context.Context, r recipe.Recipe) (int, error) {
	for n := max(r.Version, c.live.Recipes[r.Name]) + 1; ; n++ {
		raw, err := stored(ctx, c.from, config.Version{Scope: c.set.Scope, Kind: config.KindRecipe, Name: r.Name, Version: n})
		if err != nil || raw == nil {
			return n, err
		}
	}
}

// fields lists the places at which two JSON documents differ. A document that is not there has none.
func fields(before, after []byte) []config.Field {
	found := []config.Field{}
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

func differ(at string, was, is any, found *[]config.Field) {
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
		*found = append(*found, config.Field{At: at, From: from, To: to})
	}
}

func members(at string, was, is map[string]any, found *[]config.Field) {
	nothing := json.RawMessage("null")
	for _, name := range slices.Sorted(maps.Keys(union(was, is))) {
		here := at + pointer(name)
		from, had := was[name]
		to, has := is[name]
		switch {
		case had && has:
			differ(here, from, to, found)
		case had:
			*found = append(*found, config.Field{At: here, From: canonical(from), To: nothing})
		default:
			*found = append(*found, config.Field{At: here, From: nothing, To: canonical(to)})
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

// stored is the content of a version, nil if there is none.
func stored(ctx context.Context, from reader, v config.Version) ([]byte, error) {
	raw, err := from.Version(ctx, v.Scope, v.Kind, v.Name, v.Version)
	switch {
	case errors.Is(err, config.ErrUnknown):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read %s %s@%d of %s: %w", v.Kind, v.Name, v.Version, v.Scope, err)
	}
	return raw, nil
}

// liveRecipe is the live recipe of a name.
func liveRecipe(l config.Live, name string) (recipe.Recipe, bool) {
	i := slices.IndexFunc(l.Set.Recipes, func(r recipe.Recipe) bool { return r.Name == name })
	if i < 0 {
		return recipe.Recipe{}, false
	}
	return l.Set.Recipes[i], true
}

// users are the live endpoints that run a recipe.
func users(l config.Live, name string) (endpoints []string) {
	for _, e := range l.Set.Endpoints {
		for _, rule := range e.Events {
			if slices.Contains(rule.Recipes, name) && !slices.Contains(endpoints, e.Name) {
				endpoints = append(endpoints, e.Name)
			}
		}
	}
	return endpoints
}
