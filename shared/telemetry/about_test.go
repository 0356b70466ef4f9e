package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"

	"engang/shared/telemetry"
)

// written writes one line and reads it, without its time.
func written(t *testing.T, write func(log *slog.Logger)) map[string]any {
	t.Helper()
	var b bytes.Buffer
	write(telemetry.NewLogger(&b, telemetry.Process{Function: "f"}))
	var got map[string]any
	if err := json.Unmarshal(b.Bytes(), &got); err != nil || bytes.Count(b.Bytes(), []byte("\n")) != 1 {
		t.Fatalf("%s: %v", b.Bytes(), err)
	}
	delete(got, "timestamp")
	return got
}

func TestALineSaysWhatItIsAbout(t *testing.T) {
	invocation := telemetry.About(t.Context(), slog.String("request_id", "r1"))
	event := telemetry.About(invocation, slog.String("event_id", "evt_a"))
	other := telemetry.About(event, slog.String("event_id", "evt_b"), slog.String("operation", "card@1/d"))
	base := map[string]any{"level": "INFO", "msg": "m", "function": "f"}
	for _, tt := range []struct {
		name string
		ctx  context.Context
		args []any
		want map[string]any
	}{
		{"nothing", t.Context(), nil, nil},
		{"an invocation", invocation, nil, map[string]any{"request_id": "r1"}},
		{"an event of it", event, nil, map[string]any{"request_id": "r1", "event_id": "evt_a"}},
		{"another event, later", other, nil, map[string]any{"request_id": "r1", "event_id": "evt_b", "operation": "card@1/d"}},
		{"what the line itself says goes before", event, []any{"event_id", "evt_c"}, map[string]any{"request_id": "r1", "event_id": "evt_c"}},
		{"the first one again, which nobody changed", event, nil, map[string]any{"request_id": "r1", "event_id": "evt_a"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for k, v := range base {
				if tt.want == nil {
					tt.want = map[string]any{}
				}
				tt.want[k] = v
			}
			got := written(t, func(log *slog.Logger) { log.With("x", 1).InfoContext(tt.ctx, "m", tt.args...) })
			delete(got, "x")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAMetricLineIsAboutNothing(t *testing.T) {
	ctx := telemetry.About(t.Context(), slog.String("event_id", "evt_a"))
	got := written(t, func(log *slog.Logger) { telemetry.Measure(ctx, log, telemetry.Count("Attempts", 1)) })
	if _, there := got["event_id"]; there || got["Attempts"] != 1.0 {
		t.Errorf("%v", got)
	}
}
