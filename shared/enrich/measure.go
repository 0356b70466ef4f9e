package enrich

import (
	"context"

	"engang/shared/operation"
	"engang/shared/telemetry"
)

// measure tells of an attempt, and counts it by its outcome, and what its call cost in millionths of a dollar, rounded up. It comes
// before the write that ends the attempt: a call of a worker that lost its lease was paid for too.
func (j *job) measure(ctx context.Context, a operation.Attempt) {
	if a.Outcome == "" {
		return // the claim was given back before anything was tried
	}
	j.Log.InfoContext(ctx, "attempt ended", "outcome", a.Outcome, "category", a.Category, "ms", a.Duration.Milliseconds())
	telemetry.MeasureOutcome(ctx, j.Log, string(a.Outcome), telemetry.Count("Attempts", 1))
	if a.CostUSD > 0 {
		telemetry.Measure(ctx, j.Log, telemetry.Metric{Name: "CostMicroUsd", Value: micro(a.CostUSD), Unit: "None"})
	}
}

// micro is an amount in millionths of a dollar, rounded up as it is shown.
func micro(m operation.Money) int64 {
	const pico = 1_000_000
	return (int64(m) + pico - 1) / pico
}

// measureTaken counts the attempt of a worker that died, or stalled until its lease was over, when the next one
// has its lease: nobody else will.
func (j *job) measureTaken(ctx context.Context, lease operation.Lease) {
	if lease.Before.State == operation.Running {
		telemetry.MeasureOutcome(ctx, j.Log, string(operation.Lost), telemetry.Count("Attempts", 1))
	}
}

// measureOpen tells of each call that finds its model unable to serve: the one that opens the breaker, those under
// way meanwhile, and each probe that fails. The alarm on it says to look for this line.
func (j *job) measureOpen(ctx context.Context, a operation.Attempt) {
	telemetry.Measure(ctx, j.Log, telemetry.Count("CircuitOpen", 1))
	j.Log.ErrorContext(ctx, "circuit open", "provider", j.recipe.Model.Provider, "model", j.recipe.Model.Name, "tenant", j.ev.Scope.Tenant, "reason", a.Reason)
}
