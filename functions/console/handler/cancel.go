package handler

import (
	"context"

	"engang/shared/control"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
)

// stopper cancels work.
type stopper interface {
	Cancel(ctx context.Context, scope object.Scope, s control.Stop) (control.Cancellation, error)
}

func (h *Handler) cancel(ctx context.Context, c call) (any, error) {
	var in struct {
		ID     string `json:"id"`
		Reason string `json:"reason"`
	}
	if err := act(c, &in); err != nil {
		return nil, err
	}
	scope, err := h.scopeOf(ctx, c, in.ID)
	if err != nil {
		return nil, err
	}
	return h.desk.Cancel(ctx, scope, control.Stop{ID: in.ID, By: c.caller, Reason: in.Reason})
}

// Claim takes the lease of an operation, so that nobody else begins it.
func (s store) Claim(ctx context.Context, c operation.Claim) (operation.Lease, error) {
	lease, err := s.table.Claim(ctx, c)
	return lease, reached(err)
}

// Pause gives a lease back.
func (s store) Pause(ctx context.Context, f operation.Finish) error {
	return reached(s.table.Pause(ctx, f))
}

// Cancel stops an operation.
func (s store) Cancel(ctx context.Context, c operation.Cancellation) error {
	return reached(s.table.Cancel(ctx, c))
}

// End settles an event.
func (s store) End(ctx context.Context, e inbox.Ending) error { return reached(s.table.End(ctx, e)) }
