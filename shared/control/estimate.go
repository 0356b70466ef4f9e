package control

import (
	"context"
	"errors"

	"engang/shared/document"
	"engang/shared/inbox"
	"engang/shared/operation"
	"engang/shared/recipe"
)

// A bound is how many calls an event can lead to, and what they can cost.
type bound struct {
	calls      int
	cost       operation.Money
	unreadable bool // its body cannot be read (any more)
}

// estimate says what an event can cost under raised recipes: one call for each that has a usable input and no
// operation that was brought to an end.
func (x *replaying) estimate(ctx context.Context, ev inbox.Event, raised []inbox.RecipeRef) (bound, error) {
	raw, err := x.c.d.Bodies.Read(ctx, ev.Body)
	if err != nil {
		return bound{unreadable: true}, ctx.Err()
	}
	doc, err := document.Decode(raw)
	if err != nil {
		return bound{unreadable: true}, nil
	}
	var b bound
	for _, ref := range raised {
		cost, called, err := x.worst(ctx, ev, ref, doc)
		if err != nil {
			return bound{}, err
		}
		if called {
			b.calls++
			b.cost += cost
		}
	}
	return b, nil
}

// worst is the most that one recipe's call costs for an event, and whether there can be one.
func (x *replaying) worst(ctx context.Context, ev inbox.Event, ref inbox.RecipeRef, doc any) (operation.Money, bool, error) {
	compiled, err := x.c.d.Endpoints.Recipe(ctx, x.scope, ref)
	if err != nil {
		return 0, false, err
	}
	input, err := compiled.Extract(doc)
	if errors.Is(err, recipe.ErrInvalidInput) {
		return 0, false, nil // it will be parked
	}
	if err != nil {
		return 0, false, err
	}
	key := operation.Key{Scope: ev.Scope, Object: ev.Object, Recipe: ref, Digest: input.Digest}
	all, err := x.object(ctx, ev.Object.String())
	if err != nil {
		return 0, false, err
	}
	switch all.states[key.String()] {
	case operation.Completed, operation.Review, operation.Failed, operation.Rejected: // done, or waits for a person
		return 0, false, nil
	}
	model := compiled.Recipe().Model
	price := x.common.Providers[model.Provider].Prices[model.Name]
	return compiled.WorstCost(price, input, model.Options.MaxOutputTokens), true, nil
}
