package program_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"engang/infra/bench"
	"engang/shared/dynamo/dynamotest"
)

// Calls and units are exact, whatever the machine does: they are held. Times are not.
func TestBenchCountsTheSameOverManyEventsAsOverFew(t *testing.T) {
	engines := map[string][]string{"embedded": nil}
	if reference := os.Getenv(dynamotest.ReferenceEnv); reference != "" {
		engines["reference"] = []string{"--dynamodb", reference}
	} else if os.Getenv("CI") == "true" {
		t.Fatalf("%s is not set: in CI the counts must be those of the reference engine too", dynamotest.ReferenceEnv)
	}
	t.Setenv(asProgram, "1") // the engines beside it are this binary
	for engine, args := range engines {
		t.Run(engine, func(t *testing.T) {
			code, stdout, stderr := run(t, t.Context(), append([]string{"bench", "--events", "20", "--stored", "200", "--rounds", "3", "--json"}, args...)...)
			var r bench.Report
			if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != 0 {
				t.Fatalf("exit %d %v %s%s", code, err, stdout, stderr)
			}
			want := []bench.Flow{
				{Name: "new event, paid call, result", Writes: 5, WriteUnits: 15, Reads: 2, ReadUnits: 2, Sends: 1, ModelCalls: 1},
				{Name: "duplicate of a settled event", Writes: 2, WriteUnits: 5},
				{Name: "echo: newer, same input, no call", Writes: 4, WriteUnits: 14, Reads: 1, ReadUnits: 1, Sends: 1},
				{Name: "superseded: older, no call", Writes: 4, WriteUnits: 13, Reads: 2, ReadUnits: 2, Sends: 1},
				{Name: "new event, not worked on yet", Writes: 1, WriteUnits: 6, Sends: 1},
				{Name: "duplicate of an open event", Writes: 2, WriteUnits: 5, Sends: 1},
			}
			for i, units := range []float64{15, 1, 12, 13, 6, 1} { // the reference engine bills no refused condition
				if engine == "reference" {
					want[i].Engine = units
				}
			}
			for _, refused := range []int{1, 2, 5} { // the embedded engine says not what is stored where it refuses: the code reads it
				if engine == "embedded" {
					want[refused].Reads++
					want[refused].ReadUnits++
				}
			}
			if diff := cmp.Diff([]bench.Cost{{Stored: bench.Few, Flows: want}, {Stored: 200, Flows: want}}, r.Costs); diff != "" {
				t.Errorf("(-want +counted):\n%s", diff)
			}
			if c := r.Receiver; c.Calls != 2 || c.Deliveries != 200 || c.Handling.Own.P50US <= c.Bare.Own.P50US || c.Handling.Usage.Allocs <= c.Bare.Usage.Allocs {
				t.Errorf("receiver %+v", c)
			}
			if p := r.Pipeline; len(p.Sides) != 2 || p.Sides[1].PerSecond.Median <= 0 || len(p.Growth) == 0 {
				t.Errorf("pipeline %+v", p)
			}
		})
	}
}

func TestBenchStaysOnThisMachine(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for _, c := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"another machine", []string{"--dynamodb", "http://192.0.2.7:8000"}, 2, "this machine alone"},
		{"a name that may be anywhere", []string{"--sqs", "http://sqs.eu-north-1.amazonaws.com"}, 2, "this machine alone"},
		{"https, which no local engine speaks", []string{"--model", "https://127.0.0.1/v1"}, 2, "no http address"},
		{"nothing there", []string{"--dynamodb", gone.URL}, 1, "nothing answers"},
		{"fewer stored than few", []string{"--stored", "9"}, 2, "--stored 9"},
		{"one round, which says nothing of how rounds vary", []string{"--rounds", "1"}, 2, "--rounds 1"},
		{"no events", []string{"--events", "0"}, 2, "--events 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, _, stderr := run(t, t.Context(), append([]string{"bench"}, c.args...)...)
			if code != c.code || !strings.Contains(stderr, c.says) {
				t.Errorf("exit %d %s", code, stderr)
			}
		})
	}
}
