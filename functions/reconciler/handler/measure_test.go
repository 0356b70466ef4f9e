package handler

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"engang/shared/reconcile"
	"engang/shared/telemetry"
)

// The alarms of the template read these lines: a name, a unit or a heart that beats without a sweep would silence them.
func TestEachSweepTellsWhatTheAlarmsRead(t *testing.T) {
	for _, tc := range []struct {
		name   string
		report reconcile.Report
		err    error
		want   map[string]any
	}{
		{"nothing was found", reconcile.Report{Complete: true, AgeKnown: true, WaitsKnown: true}, nil,
			map[string]any{"Heartbeat": 1.0, "OldestUnsettledSeconds": 0.0, "OldestReviewSeconds": 0.0, "Parked": 0.0}},
		{"old work, and a person who is waited for", reconcile.Report{Complete: true, AgeKnown: true, WaitsKnown: true, Oldest: 16 * time.Minute, Waits: 25 * time.Hour, Parked: 2}, nil,
			map[string]any{"Heartbeat": 1.0, "OldestUnsettledSeconds": 960.0, "OldestReviewSeconds": 90000.0, "Parked": 2.0}},
		{"a sweep that did not come to its end", reconcile.Report{Oldest: time.Minute, WaitsKnown: true}, errDown,
			map[string]any{"OldestUnsettledSeconds": 60.0, "OldestReviewSeconds": 0.0, "Parked": 0.0}},
		{"nothing could be looked at: that is not a nothing that is old", reconcile.Report{Backlog: -1}, errDown,
			map[string]any{"Parked": 0.0}},
		{"the events could be looked at, and the review list not", reconcile.Report{Complete: true, AgeKnown: true}, errDown,
			map[string]any{"Heartbeat": 1.0, "OldestUnsettledSeconds": 0.0, "Parked": 0.0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out strings.Builder
			log := telemetry.NewLogger(&out, telemetry.Process{Function: "reconciler", Deployed: "fn", Level: slog.LevelError})
			s := &script{report: tc.report, err: tc.err}
			h := &Handler{sweeper: s, sources: s, log: log}
			_ = h.Handle(t.Context(), events.EventBridgeEvent{})
			got := map[string]any{}
			for line := range strings.Lines(out.String()) {
				var m map[string]any
				if err := json.Unmarshal([]byte(line), &m); err != nil {
					t.Fatal(err)
				}
				for _, name := range []string{"Heartbeat", "OldestUnsettledSeconds", "OldestReviewSeconds", "Parked"} {
					if v, ok := m[name]; ok && m["_aws"] != nil && m["FunctionName"] == "fn" {
						got[name] = v
					}
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("metrics (-want +got):\n%s", diff)
			}
		})
	}
}
