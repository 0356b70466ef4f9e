package handler

import (
	"context"
	"log/slog"

	"engang/shared/reconcile"
	"engang/shared/telemetry"
)

// measure tells what a sweep found, also that it found nothing: an age that is told once and then no more would be
// taken for one that is over. Only a complete sweep is a beat of the heart.
func measure(ctx context.Context, log *slog.Logger, r reconcile.Report) {
	metrics := []telemetry.Metric{
		telemetry.Seconds("OldestUnsettledSeconds", r.Oldest),
		telemetry.Seconds("OldestReviewSeconds", r.Waits),
		telemetry.Count("Parked", int64(r.Parked)),
	}
	if r.Complete {
		metrics = append(metrics, telemetry.Count("Heartbeat", 1))
	}
	telemetry.Measure(ctx, log, metrics...)
}
