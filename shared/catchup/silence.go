package catchup

import (
	"context"
	"time"

	"engang/shared/config"
	"engang/shared/telemetry"
)

// listen finds out whether the endpoint's sender is silent. One that was never heard counts from when it was
// first listened for.
func (r *Runner) listen(ctx context.Context, e config.Endpoint, report *Report) error {
	if e.SilentAfterSeconds <= 0 {
		return nil
	}
	last, err := r.Table.LastDelivery(ctx, e.Scope, e.Name)
	if err != nil {
		return err
	}
	now := r.Now()
	if last.IsZero() {
		return r.Table.NoteDelivery(ctx, e.Scope, e.Name, now)
	}
	if gap := time.Duration(e.SilentAfterSeconds) * time.Second; now.Sub(last) > gap+r.Limits.Slack {
		report.Silent = append(report.Silent, e.Name)
	}
	return nil
}

// tellSilent measures how many senders are silent, also when none is, and names them.
func (r *Runner) tellSilent(ctx context.Context, names []string) {
	telemetry.Measure(ctx, r.Log, telemetry.Count("SilentEndpoints", int64(len(names))))
	if len(names) > 0 {
		r.Log.WarnContext(ctx, "senders are silent longer than usual: their webhooks may be switched off", "endpoints", names)
	}
}
