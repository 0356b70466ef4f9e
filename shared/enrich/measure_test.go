package enrich_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/enrich"
	"engang/shared/operation"
	"engang/shared/telemetry"
)

// told works on an event with a worker whose log is read: the metric lines, as "name value outcome", and what it
// says of circuits.
func (w *world) told(run func(*enrich.Worker)) (metrics, circuits []string) {
	w.t.Helper()
	var out strings.Builder
	run(enrich.New(enrich.Deps{
		Store: w.table, Recipes: w, Model: w.model, Bodies: inline{}, Notices: w.sent, Limits: limits,
		Log: telemetry.NewLogger(&out, telemetry.Process{Function: "enrichment"}), Now: w.clock, NewID: w.id, Random: func() float64 { return 0.5 },
	}))
	for line := range strings.Lines(out.String()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			w.t.Fatal(err)
		}
		if m["msg"] == "circuit open" {
			circuits = append(circuits, fmt.Sprint(m["provider"], " ", m["model"], " ", m["reason"]))
		}
		if m["_aws"] == nil {
			continue
		}
		for _, name := range []string{"Attempts", "CostMicroUsd", "CircuitOpen"} {
			if v, ok := m[name]; ok {
				outcome, _ := m["outcome"].(string)
				metrics = append(metrics, strings.TrimSpace(fmt.Sprint(name, " ", v, " ", outcome)))
			}
		}
	}
	slices.Sort(metrics)
	return metrics, circuits
}

func TestEachAttemptIsCountedWithItsOutcomeAndItsCost(t *testing.T) {
	for _, tc := range []struct {
		name   string
		answer operation.Answer
		want   []string
	}{
		{"a usable answer", answer("a good summary"), []string{"Attempts 1 usable", "CostMicroUsd 56"}}, // 100 in at $0.40, 10 out at $1.60 a million
		{"an answer that a check flags", answer(strings.Repeat("long ", 20)), []string{"Attempts 1 flagged", "CostMicroUsd 56"}},
		{"a refusal, which is paid too", bad(operation.Unusable, operation.CategoryUnusableOutput, "refused"), []string{"Attempts 1 unusable", "CostMicroUsd 56"}},
		{"a fraction of a millionth", operation.Answer{Attempt: operation.Attempt{Outcome: operation.Unusable, Category: operation.CategoryUnusableOutput, Reason: "refused", Called: true, Tokens: &operation.Tokens{Input: 1}}},
			[]string{"Attempts 1 unusable", "CostMicroUsd 1"}},
		{"a failure without an answer", operation.Answer{Attempt: operation.Attempt{Outcome: operation.Transient, Category: operation.CategoryTransient, Called: true}}, []string{"Attempts 1 transient"}},
		{"a provider that cannot serve", quota, []string{"Attempts 1 paused", "CircuitOpen 1"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				w.model.script = []operation.Answer{tc.answer}
				id := w.receive(arrival{name: "A", version: one})
				got, _ := w.told(func(worker *enrich.Worker) { _ = worker.Run(t.Context(), id) })
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("metrics (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestWhatNeedsNoCallCostsNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.run(w.receive(arrival{name: "A", version: one}))
		echo := w.receive(arrival{name: "A", version: two})
		if got, _ := w.told(func(worker *enrich.Worker) { _ = worker.Run(t.Context(), echo) }); len(got) != 0 {
			t.Errorf("an echo was counted: %v", got)
		}
	})
}

// A dead worker counts nothing itself.
func TestALostAttemptIsCountedByWhoTakesOver(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id := w.receive(arrival{name: "A", version: one})
		w.die(id, "model call")
		w.pass(limits.Lease + limits.Skew + time.Second)
		got, _ := w.told(func(worker *enrich.Worker) { _ = worker.Run(t.Context(), id) })
		if diff := cmp.Diff([]string{"Attempts 1 lost", "Attempts 1 usable", "CostMicroUsd 56"}, got); diff != "" {
			t.Errorf("metrics (-want +got):\n%s", diff)
		}
	})
}

// The alarm stays up as long as probes fail, and the line beside it says what cannot serve.
func TestAnOpenCircuitIsToldOnEachFailedProbeWithProviderAndModel(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id := w.receive(arrival{name: "A", version: one})
		run := func(worker *enrich.Worker) {
			if err := worker.Run(context.WithoutCancel(t.Context()), id); err != nil {
				t.Fatal(err)
			}
		}
		for _, round := range []string{"opened", "probed"} {
			w.model.script = []operation.Answer{quota}
			got, circuits := w.told(run)
			if !slices.Contains(got, "CircuitOpen 1") || !slices.Equal(circuits, []string{"openai tiny-2026-01-01 the quota is used up"}) {
				t.Errorf("%s: metrics %v, lines %v", round, got, circuits)
			}
			w.pass(limits.Pause)
		}
		if got, circuits := w.told(run); slices.Contains(got, "CircuitOpen 1") || len(circuits) != 0 {
			t.Errorf("a probe that was answered: metrics %v, lines %v", got, circuits)
		}
	})
}
