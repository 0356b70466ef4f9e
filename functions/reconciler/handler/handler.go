// Package handler is the reconciler function without its process: each schedule event is one sweep, and then one
// look after the sources of what was never delivered.
package handler

import (
	"context"
	"errors"
	"log/slog"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"engang/shared/catchup"
	"engang/shared/reconcile"
	"engang/shared/telemetry"
)

// sweeper is the use case that sends what is stored and not settled.
type sweeper interface {
	Sweep(ctx context.Context) (reconcile.Report, error)
}

// runner is the use case that fetches what was never delivered.
type runner interface {
	Run(ctx context.Context) (catchup.Report, error)
}

// A Handler answers the schedule of the reconciler function. It is safe for concurrent use.
type Handler struct {
	sweeper sweeper
	sources runner
	log     *slog.Logger
}

// errIncomplete is all that the runtime is told, which writes it beside our own lines: they say what is incomplete.
var errIncomplete = errors.New("incomplete, see the log")

// Handle makes one sweep, and looks after the sources in what time is left. Their errors are logged and fail the invocation, so
// that the function's own error alarm sees them; what could not be handled is met again by the next one.
func (h *Handler) Handle(ctx context.Context, e events.EventBridgeEvent) error {
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		ctx = telemetry.About(ctx, slog.String("request_id", lc.AwsRequestID))
	}
	reference := slog.String("schedule_event", e.ID)
	r, err := h.sweep(ctx, reference)
	measure(ctx, h.log, r)
	h.log.InfoContext(ctx, "swept", "due", r.Due, "sent", r.Sent, "parked", r.Parked, "faults", r.Faults, "backlog", r.Backlog, "oldest", r.Oldest.String())
	if err != nil {
		h.log.ErrorContext(ctx, "sweep incomplete", "err", err)
	}
	found, missed := h.run(ctx, reference)
	if found.Pages > 0 || len(found.Failed) > 0 {
		h.log.InfoContext(ctx, "sources asked", "pages", found.Pages, "objects", found.Objects, "new", found.New, "failed", found.Failed)
	}
	if missed != nil {
		h.log.ErrorContext(ctx, "sources not looked after", "err", missed)
	}
	if err != nil || missed != nil {
		return errIncomplete
	}
	return nil
}

// sweep makes a sweep. A panic is a bug, and keeps the sources from nothing.
func (h *Handler) sweep(ctx context.Context, reference slog.Attr) (_ reconcile.Report, err error) {
	defer telemetry.Recover(ctx, h.log, &err, reference)
	return h.sweeper.Sweep(ctx)
}

// run looks after the sources. Its panic is a bug too.
func (h *Handler) run(ctx context.Context, reference slog.Attr) (_ catchup.Report, err error) {
	defer telemetry.Recover(ctx, h.log, &err, reference)
	return h.sources.Run(ctx)
}
