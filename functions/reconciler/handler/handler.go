// Package handler is the reconciler function without its process: each schedule event is one sweep.
package handler

import (
	"context"
	"log/slog"

	"github.com/aws/aws-lambda-go/events"

	"engang/shared/reconcile"
)

// sweeper is the use case.
type sweeper interface {
	Sweep(ctx context.Context) (reconcile.Report, error)
}

// A Handler answers the schedule of the reconciler function. It is safe for concurrent use.
type Handler struct {
	sweeper sweeper
	log     *slog.Logger
}

// Handle makes one sweep. Its error fails the invocation, so that the function's own error alarm sees
// it; what could not be handled is met again by the next sweep.
func (h *Handler) Handle(ctx context.Context, _ events.EventBridgeEvent) error {
	r, err := h.sweeper.Sweep(ctx)
	measure(ctx, h.log, r)
	h.log.InfoContext(ctx, "swept", "due", r.Due, "sent", r.Sent, "parked", r.Parked, "faults", r.Faults, "backlog", r.Backlog, "oldest", r.Oldest.String())
	if err != nil {
		h.log.ErrorContext(ctx, "sweep incomplete", "err", err)
	}
	return err
}
