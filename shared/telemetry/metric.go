package telemetry

import (
	"context"
	"log/slog"
	"time"
)

// Namespace is where CloudWatch keeps our metrics.
const Namespace = "engang"

// deployed is the dimension that keeps two stacks of one account apart: the deployed function's name.
const deployed = "FunctionName"

// A Metric is one number of a metric line. Names hold no tenant and no object.
type Metric struct {
	Name  string
	Value int64
	Unit  string // of CloudWatch: "Count", "Seconds", "Milliseconds", "None"
}

// Count is a metric that is summed up.
func Count(name string, n int64) Metric { return Metric{name, n, "Count"} }

// Seconds is a metric of an age, in whole seconds.
func Seconds(name string, d time.Duration) Metric {
	return Metric{name, int64(d / time.Second), "Seconds"}
}

// Measure writes one line that CloudWatch turns into metrics (embedded metric format), under the
// deployed function's name as the only dimension. It costs no call.
func Measure(ctx context.Context, log *slog.Logger, metrics ...Metric) {
	measure(ctx, log, nil, metrics)
}

// MeasureEndpoint is [Measure], and gives the same metrics by endpoint too. The endpoint must be one
// that is configured: each name makes a metric of its own.
func MeasureEndpoint(ctx context.Context, log *slog.Logger, endpoint string, metrics ...Metric) {
	measure(ctx, log, []slog.Attr{slog.String("endpoint", endpoint)}, metrics)
}

// MeasureOutcome is [Measure], and gives the same metrics by outcome too. The outcome must be one of a few fixed
// words: each makes a metric of its own.
func MeasureOutcome(ctx context.Context, log *slog.Logger, outcome string, metrics ...Metric) {
	measure(ctx, log, []slog.Attr{slog.String("outcome", outcome)}, metrics)
}

type directive struct {
	Namespace  string
	Dimensions [][]string
	Metrics    []definition
}

type definition struct{ Name, Unit string }

func measure(ctx context.Context, log *slog.Logger, by []slog.Attr, metrics []Metric) {
	d := directive{Namespace: Namespace, Dimensions: [][]string{{deployed}}}
	for _, dimension := range by {
		d.Dimensions = append(d.Dimensions, []string{deployed, dimension.Key})
	}
	attrs := by
	for _, m := range metrics {
		d.Metrics = append(d.Metrics, definition{m.Name, m.Unit})
		attrs = append(attrs, slog.Int64(m.Name, m.Value))
	}
	attrs = append(attrs, slog.Group("_aws",
		slog.Int64("Timestamp", time.Now().UnixMilli()), // CloudWatch refuses a line without it
		slog.Any("CloudWatchMetrics", []directive{d})))
	log.LogAttrs(ctx, metricLevel, "metrics", attrs...)
}
