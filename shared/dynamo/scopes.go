package dynamo

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"engang/shared/object"
)

// Scopes lists the tenants and environments that have an endpoint, each once, in order. It reads every
// address of the stack, consistently.
func (t *Table) Scopes(ctx context.Context) ([]object.Scope, error) {
	items, err := t.collection(ctx, "read config", addressHash)
	if err != nil {
		return nil, fmt.Errorf("read addresses: %w", err)
	}
	var all []object.Scope
	for _, it := range items {
		r := &reader{it: it}
		s := object.Scope{Tenant: r.text("ten"), Environment: r.text("env")}
		if r.err != nil {
			return nil, fmt.Errorf("read addresses: %w", r.err)
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b object.Scope) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Environment, b.Environment))
	})
	return slices.Compact(all), nil
}
