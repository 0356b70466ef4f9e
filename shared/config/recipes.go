package config

import (
	"context"
	"fmt"

	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/recipe"
)

// Recipes is a [Cache] that reads recipes too, and keeps of each version what its reader makes of it. It is safe
// for concurrent use.
type Recipes[R any] struct {
	*Cache
	ready func(recipe.Recipe) (R, error)
}

// NewRecipes reads through a cache. One cache is for one kind of reader: of two, each drops what the other made.
func NewRecipes[R any](c *Cache, ready func(recipe.Recipe) (R, error)) Recipes[R] {
	return Recipes[R]{c, ready}
}

// Recipe is one version of a recipe, live or not. It fails with [ErrUnknown] when that version was never
// applied, with [ErrUnreadable] when nothing can be made of it, and with the store's own error, wrapped.
func (r Recipes[R]) Recipe(ctx context.Context, scope object.Scope, ref inbox.RecipeRef) (R, error) {
	return load(ctx, r.Cache, versionKey{scope, KindRecipe, ref.Name, ref.Version}, func(raw []byte) (R, error) {
		said, err := decode[recipe.Recipe](raw)
		if err != nil {
			var none R
			return none, err
		}
		ready, err := r.ready(said)
		if err != nil {
			return ready, fmt.Errorf("compile: %w: %w", ErrUnreadable, err)
		}
		return ready, nil
	})
}
