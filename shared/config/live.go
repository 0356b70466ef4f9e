package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"engang/shared/object"
	"engang/shared/recipe"
)

// Live is everything that is live in a scope. Without a Revision nothing was ever applied there.
type Live struct {
	Pointer
	Set Set
}

// ReadLive reads what is live in a scope past every cache, part by part: versions are immutable, so that
// they fit the one pointer that was read. What cannot be read back is [ErrUnreadable].
func ReadLive(ctx context.Context, from store, scope object.Scope) (Live, error) {
	p, err := LivePointer(ctx, from, scope)
	if err != nil || p.Revision == 0 {
		return Live{Set: Set{Scope: scope}}, err
	}
	l := Live{Pointer: p, Set: Set{Scope: scope}}
	if l.Set.Common, err = liveVersion[Common](ctx, from, versionKey{scope, KindCommon, CommonName, p.Common}); err != nil {
		return Live{}, err
	}
	for _, name := range slices.Sorted(maps.Keys(p.Endpoints)) {
		e, err := liveVersion[Endpoint](ctx, from, versionKey{scope, KindEndpoint, name, p.Endpoints[name]})
		if err != nil {
			return Live{}, err
		}
		l.Set.Endpoints = append(l.Set.Endpoints, e)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Recipes)) {
		r, err := liveVersion[recipe.Recipe](ctx, from, versionKey{scope, KindRecipe, name, p.Recipes[name]})
		if err != nil {
			return Live{}, err
		}
		l.Set.Recipes = append(l.Set.Recipes, r)
	}
	return l, nil
}

// LivePointer is the pointer of a scope past every cache, or the zero one where nothing was applied.
func LivePointer(ctx context.Context, from interface {
	Pointer(ctx context.Context, scope object.Scope) (Pointer, error)
}, scope object.Scope) (Pointer, error) {
	p, err := from.Pointer(ctx, scope)
	if err != nil && !errors.Is(err, ErrUnknown) {
		return Pointer{}, fmt.Errorf("read pointer of %s: %w", scope, err)
	}
	return p, nil
}

func liveVersion[V any](ctx context.Context, from store, k versionKey) (V, error) {
	var none V
	raw, err := from.Version(ctx, k.scope, k.kind, k.name, k.version)
	if err == nil {
		var v V
		if err = json.Unmarshal(raw, &v); err == nil {
			return v, nil
		}
		err = ErrUnreadable // the decoder's own text may quote what is stored
	}
	return none, fmt.Errorf("read live %s %s@%d of %s: %w", k.kind, k.name, k.version, k.scope, unreadable(err))
}
