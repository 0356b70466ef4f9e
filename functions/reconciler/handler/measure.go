package handler

import (
	"context"
	"log/slog"

	"engang/shared/reconcile"
	"engang/shared/telemetry"
)

// measure tells what a sweep found, also that it found nothing, and no age that it did not see: the alarms on ages keep
// their state until they are told another one. Of an incomplete look the age of what was seen is told, which may be less
// than the oldest one's. Only a complete sweep is a beat of the heart.
func measure(ctx context.Context, log *slog.Logger, r reconcile.Report) {
	metrics := []telemetry.Metric{telemetry.Count("Parked", int64(r.Parked))}
	if r.AgeKnown || r.Oldest > 0 {
		metrics = append(metrics, telemetry.Seconds("OldestUnsettledSeconds", r.Oldest))
	}
	if r.WaitsKnown {
		metrics = append(metrics, telemetry.Seconds("OldestReviewSeconds", r.Waits))
	}
	if r.Complete {
		metrics = append(metrics, telemetry.Count("Heartbeat", 1))
	}
	telemetry.Measure(ctx, log, metrics...)
}
