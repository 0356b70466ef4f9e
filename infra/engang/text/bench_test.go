package text_test

import (
	"strings"
	"testing"

	"engang/infra/bench"
	"engang/infra/engang/text"
)

func TestBenchSaysWhetherCostsGrow(t *testing.T) {
	flow := bench.Flow{Name: "new event", Writes: 5, WriteUnits: 10, Engine: 10, Reads: 2, ReadUnits: 2, Sends: 1, ModelCalls: 1}
	r := bench.Report{
		CPUs: 2, Go: "go1.26", Table: "http://127.0.0.1:8000", Queue: "http://127.0.0.1:8001", Model: "http://127.0.0.1:8002/v1", Rounds: 1, Events: 20, Parallel: 8,
		Receiver: bench.Receiver{Deliveries: 200, BodyBytes: 8192, ItemBytes: 3100, Calls: 2, OwnUS: bench.Spread{Median: 251.4, Noise: 3}, Ratio: bench.Spread{Median: 1.5, Noise: 0.01}},
		Costs:    []bench.Cost{{Stored: 10, Flows: []bench.Flow{flow}}, {Stored: 200, Flows: []bench.Flow{flow}}},
		Pipeline: bench.Pipeline{
			Sides:  []bench.Side{{Stored: 10, PerSecond: bench.Spread{Median: 242.2, Noise: 19}, CPUMS: bench.Spread{Median: 0.916, Noise: 0.342}}, {Stored: 200}},
			Growth: map[string]bench.Spread{"time_per_event": {Median: -2.04, Noise: 6.31}},
		},
	}
	write := func() string {
		var b strings.Builder
		if err := text.Bench(&b, r); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	got := write()
	for _, want := range []string{
		"own time over the two calls: 251 µs ± 3 µs", "handling is 1.50 ± 0.01 times", "new event  5       10 (engine: 10)  2      2           1      1",
		"242 ± 19", "0.916 ± 0.342 ms", "calls and units                the same", "-2.0 % ± 6.3",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	r.Costs[1].Flows = []bench.Flow{{Name: "new event", Writes: 6}}
	if got := write(); !strings.Contains(got, "DIFFERENT") {
		t.Errorf("counts that grow are not told:\n%s", got)
	}
}
