package handler

import (
	"context"

	"engang/shared/control"
	"engang/shared/object"
	"engang/shared/spend"
)

// counter sums up.
type counter interface {
	Stats(ctx context.Context, scope object.Scope, span control.Span) (control.Stats, error)
}

func (h *Handler) stats(ctx context.Context, c call) (any, error) {
	if err := known(c, "tenant", "environment", "since", "until", "after"); err != nil {
		return nil, err
	}
	scope, span, err := h.place(ctx, c)
	if err != nil {
		return nil, err
	}
	return h.desk.Stats(ctx, scope, span)
}

// Spent reads what a day's calls of a recipe cost so far.
func (s store) Spent(ctx context.Context, scope object.Scope, recipe, day string) (spend.Day, error) {
	d, err := s.table.Spent(ctx, scope, recipe, day)
	return d, reached(err)
}
