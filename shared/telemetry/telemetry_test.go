package telemetry_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/operation"
	"engang/shared/secrets"
	"engang/shared/telemetry"
	"engang/shared/webhook"
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

// What is logged is rarely content itself, and sooner something that has content in it.
func TestContentInsideOfSomethingIsNeverWrittenOut(t *testing.T) {
	type body []byte
	type delivery struct {
		Body []byte
		Next *delivery
	}
	type envelope struct{ Any any }
	type quoted struct{ delivery }
	loop := &envelope{}
	loop.Any = loop
	deep := any([]byte("hush"))
	for range 20 {
		deep = []any{deep}
	}
	for _, tc := range []struct {
		name  string
		value any
	}{
		{"a named byte slice", body("hush")},
		{"an array of bytes", [4]byte([]byte("hush"))},
		{"a struct with a body", delivery{Body: []byte("hush")}},
		{"a struct within itself", delivery{Next: &delivery{Body: []byte("hush")}}},
		{"a struct that another one is part of", quoted{delivery{Body: []byte("hush")}}},
		{"a struct with raw JSON", struct{ Doc json.RawMessage }{json.RawMessage(`"hush"`)}},
		{"a pointer to a delivery", &delivery{Body: []byte("hush")}},
		{"a list of byte slices", [][]byte{[]byte("hush")}},
		{"a list of raw JSON", []json.RawMessage{json.RawMessage(`"hush"`)}},
		{"a mapping of raw JSON", map[string]json.RawMessage{"a": json.RawMessage(`"hush"`)}},
		{"a mapping from bytes", map[[4]byte]int{[4]byte([]byte("hush")): 1}},
		{"headers of another name", textproto.MIMEHeader{"Authorization": {"hush"}}},
		{"a form", url.Values{"name": {"hush"}}},
		{"anything", envelope{Any: []byte("hush")}},
		{"anything in a list", []any{1, "a", map[string]any{"b": []byte("hush")}}},
		{"anything in a mapping of anything", map[string]any{"a": &envelope{Any: http.Header{"Authorization": {"hush"}}}}},
		{"anything, deep", deep},
		{"anything that leads back to itself", loop},
		{"a request", webhook.Request{Header: http.Header{"Authorization": {"hush"}}, Body: []byte("hush")}},
		{"an answer of a model", operation.Answer{Output: []byte("hush")}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var b bytes.Buffer
			telemetry.NewLogger(&b, telemetry.Process{}).Info("line", "value", tc.value)
			if s := b.String(); strings.Contains(s, "hush") || strings.Contains(s, "aHVzaA") || strings.Contains(s, "104") || !strings.Contains(s, `"value":"[withheld, `) {
				t.Errorf("written as %s", s)
			}
		})
	}
}

// An error is written by its text, also one that would write itself otherwise.
type own struct{ Body []byte }

func (own) Error() string                  { return "read body: cut off" }
func (o own) MarshalJSON() ([]byte, error) { return o.Body, nil }

func TestWhatHoldsNoContentIsWrittenOut(t *testing.T) {
	for _, tc := range []struct {
		name  string
		value any
		want  string
	}{
		{"a named text", operation.Failed, `"failed"`},
		{"names", []string{"a", "b"}, `["a","b"]`},
		{"a moment", time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC), `"2026-11-29T12:00:00Z"`},
		{"a moment in a struct", struct{ At time.Time }{time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)}, `{"At":"2026-11-29T12:00:00Z"}`},
		{"an amount", operation.Money(1_000_000), `"0.000001"`},
		{"a struct of words", struct {
			Name string
			N    *int
		}{"a", nil}, `{"Name":"a","N":null}`},
		{"what nobody else sees of a struct", struct {
			Name string
			body []byte
		}{"a", []byte("hush")}, `{"Name":"a"}`},
		{"anything that is a number", map[string]any{"a": []any{1, nil}}, `{"a":[1,null]}`},
		{"nothing", nil, `null`},
		{"an error", errors.New("throttled"), `"throttled"`},
		{"an error that writes its body", own{[]byte(`"hush"`)}, `"read body: cut off"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var b bytes.Buffer
			telemetry.NewLogger(&b, telemetry.Process{}).Info("line", "value", tc.value)
			if s := b.String(); !strings.Contains(s, `"value":`+tc.want+"}") {
				t.Errorf("written as %s, want %s", s, tc.want)
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
