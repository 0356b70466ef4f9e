package telemetry_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/secrets"
	"engang/shared/telemetry"
)

func line(t *testing.T, b *bytes.Buffer) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(b.Bytes(), &m); err != nil {
		t.Fatalf("not one JSON object: %v\n%s", err, b)
	}
	return m
}

func TestLogLinesHaveTheFieldsThatLambdaReads(t *testing.T) {
	var b bytes.Buffer
	log := telemetry.NewLogger(&b, telemetry.Process{Function: "receiver", Deployed: "shop-ReceiverFunction-1"})
	log.Warn("event not sent", "event_id", "evt_abcdefghijklmnop", "err", errors.New("send event: throttled"))
	got := line(t, &b)
	if _, err := time.Parse(time.RFC3339, got["timestamp"].(string)); err != nil {
		t.Error(err)
	}
	delete(got, "timestamp")
	want := map[string]any{
		"level": "WARN", "msg": "event not sent", "function": "receiver", "FunctionName": "shop-ReceiverFunction-1",
		"event_id": "evt_abcdefghijklmnop", "err": "send event: throttled",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestContentIsNeverWrittenOut(t *testing.T) {
	for _, tc := range []struct {
		name  string
		value any
	}{
		{"a body", []byte("hush")},
		{"raw JSON", json.RawMessage(`"hush"`)},
		{"headers", http.Header{"Authorization": {"hush"}}},
		{"a secret", secrets.NewValue("hush")},
		{"a group with a body in it", slog.GroupValue(slog.Any("body", []byte("hush")))},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var b bytes.Buffer
			telemetry.NewLogger(&b, telemetry.Process{}).Info("line", "value", tc.value)
			if s := b.String(); strings.Contains(s, "hush") || strings.Contains(s, "aHVzaA") || !strings.Contains(s, "value") {
				t.Errorf("written as %s", s)
			}
		})
	}
}

func TestLevelSilencesLinesButNeverMetrics(t *testing.T) {
	var b bytes.Buffer
	log := telemetry.NewLogger(&b, telemetry.Process{Function: "receiver", Level: slog.LevelError})
	log.Warn("silenced")
	if b.Len() != 0 {
		t.Errorf("a line below the level was written: %s", &b)
	}
	telemetry.Measure(t.Context(), log, telemetry.Count("Accepted", 1))
	if got := line(t, &b); got["Accepted"] != 1.0 || got["level"] != "INFO" {
		t.Errorf("metric line %v", got)
	}
}

func TestMetricLinesAreEmbeddedMetricFormat(t *testing.T) {
	var b bytes.Buffer
	log := telemetry.NewLogger(&b, telemetry.Process{Function: "receiver", Deployed: "fn"})
	telemetry.MeasureEndpoint(t.Context(), log, "woo-shop", telemetry.Count("Accepted", 1), telemetry.Seconds("Oldest", 90*time.Second))
	got := line(t, &b)
	aws := got["_aws"].(map[string]any)
	if ms, ok := aws["Timestamp"].(float64); !ok || time.Since(time.UnixMilli(int64(ms))).Abs() > time.Hour {
		t.Errorf("Timestamp %v is not the time in milliseconds", aws["Timestamp"])
	}
	want := []any{map[string]any{
		"Namespace":  "engang",
		"Dimensions": []any{[]any{"FunctionName"}, []any{"FunctionName", "endpoint"}},
		"Metrics": []any{
			map[string]any{"Name": "Accepted", "Unit": "Count"},
			map[string]any{"Name": "Oldest", "Unit": "Seconds"},
		},
	}}
	if diff := cmp.Diff(want, aws["CloudWatchMetrics"]); diff != "" {
		t.Errorf("directive (-want +got):\n%s", diff)
	}
	// CloudWatch drops a metric whose value or dimension is not a member of the line itself.
	for key, want := range map[string]any{"FunctionName": "fn", "endpoint": "woo-shop", "Accepted": 1.0, "Oldest": 90.0} {
		if got[key] != want {
			t.Errorf("%s = %v, want %v", key, got[key], want)
		}
	}

	b.Reset()
	telemetry.Measure(t.Context(), log, telemetry.Count("Heartbeat", 1))
	directive := line(t, &b)["_aws"].(map[string]any)["CloudWatchMetrics"].([]any)[0].(map[string]any)
	if diff := cmp.Diff([]any{[]any{"FunctionName"}}, directive["Dimensions"]); diff != "" {
		t.Errorf("dimensions (-want +got):\n%s", diff)
	}
}

func TestAnOutcomeIsADimensionBesideTheFunction(t *testing.T) {
	var b bytes.Buffer
	log := telemetry.NewLogger(&b, telemetry.Process{Function: "enrichment", Deployed: "fn"})
	telemetry.MeasureOutcome(t.Context(), log, "usable", telemetry.Count("Attempts", 1))
	got := line(t, &b)
	directive := got["_aws"].(map[string]any)["CloudWatchMetrics"].([]any)[0].(map[string]any)
	if diff := cmp.Diff([]any{[]any{"FunctionName"}, []any{"FunctionName", "outcome"}}, directive["Dimensions"]); diff != "" {
		t.Errorf("dimensions (-want +got):\n%s", diff)
	}
	if got["outcome"] != "usable" || got["Attempts"] != 1.0 {
		t.Errorf("line %v", got)
	}
}

func TestCallNamesTravelWithTheContext(t *testing.T) {
	if got := telemetry.Call(t.Context()); got != "" {
		t.Errorf("Call of a bare context = %q", got)
	}
	if got := telemetry.Call(telemetry.WithCall(t.Context(), "W3 claim")); got != "W3 claim" {
		t.Errorf("Call = %q", got)
	}
}
