package integration_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"engang/infra/engang/cost"
	"engang/infra/engang/cost/costtest"
	"engang/infra/local"
	"engang/infra/local/cloudformation"
	"engang/infra/local/wire"
)

var count = flag.Bool("count", false, "write the counts of the cost sheet anew")

// counts is where the counts of the cost sheet are kept.
const counts = "../../infra/cost/counts.json"

// A meter is a log that sums up what is written to it, and which metrics are in it.
type meter struct {
	mu      sync.Mutex
	bytes   int
	metrics map[string]bool
}

// Write takes one line.
func (m *meter) Write(line []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bytes += len(line)
	var emf map[string]json.RawMessage
	var aws struct {
		CloudWatchMetrics []struct {
			Dimensions [][]string
			Metrics    []struct{ Name string }
		}
	}
	if json.Unmarshal(line, &emf) == nil && json.Unmarshal(emf["_aws"], &aws) == nil {
		for _, d := range aws.CloudWatchMetrics {
			for _, names := range d.Dimensions {
				key := string(emf["function"])
				for _, name := range names {
					key += " " + name + "=" + string(emf[name])
				}
				for _, metric := range d.Metrics {
					m.metrics[metric.Name+" "+key] = true
				}
			}
		}
	}
	return len(line), nil
}

func (m *meter) take() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.bytes
	m.bytes = 0
	return n
}

// tally is what a flow came to, in what AWS and the provider bill.
func (s *system) tally(log *meter, name string, flow func()) cost.Flow {
	s.t.Helper()
	log.take()
	s.Record().Reset()
	flow()
	f := cost.Flow{Name: name}
	invocations := map[string]string{}
	refused := 0
	for _, c := range s.Record().Calls() {
		if c.Function != "" {
			invocations[c.Invocation] = c.Function
		}
		_, action, _ := strings.Cut(c.Operation, ".")
		switch {
		case c.Service == "model":
			f.ModelCalls++
		case c.Service == "sqs" && action == "SendMessage":
			f.Sends++
		case c.Service == "sqs":
			f.Polls++
		case c.Service != "dynamodb" || c.Function != "reconciler" && slices.Contains(remembered, c.Name): // read once in seconds or minutes, however many events there are
		case action == "GetItem" || action == "Query":
			f.Reads++
		default:
			f.Writes++
			f.WriteUnits += c.WriteUnits
			refused += refusal(c)
		}
	}
	for _, function := range invocations {
		f.Invoked(function)
	}
	f.LogBytes = log.take()
	if filepath.Base(s.t.Name()) == "embedded" {
		f.Reads -= refused // this engine says not what is stored where it refuses: the code reads it
	}
	return f
}

func refusal(c wire.Done) int {
	if c.Status == 400 {
		return 1
	}
	return 0
}

// The counts of the cost sheet are counted: each flow is run, and what it called is summed up. Both engines count the
// same but for the lines of the log, which are as long on one as on the other to within their times.
func TestCountsOfTheCostSheet(t *testing.T) {
	auto, draft := budgetCard(t, "auto"), budgetCard(t, "draft")
	template, err := cloudformation.Read("../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	deployed, err := costtest.Deployed(template)
	if err != nil {
		t.Fatal(err)
	}
	onEach(t, func(t *testing.T, begin func(local.Options) *system) {
		got := cost.Counts{By: "go test -run TestCountsOfTheCostSheet ./tests/integration -count=1 -args -count", Deployment: deployed}
		for _, size := range eventSizes {
			got.Flows = append(got.Flows, publishedFlows(begin, auto, size)...)
			got.Flows = append(got.Flows, draftFlow(begin, draft, size))
		}
		got.Minute, got.Metrics = idleMinute(begin, auto)
		hold(t, got)
	})
}

// publishedFlows are those of one object whose results need no person.
func publishedFlows(begin func(local.Options) *system, card string, size eventSize) []cost.Flow {
	log := &meter{metrics: map[string]bool{}}
	s := begin(local.Options{ConfigFiles: []string{card}, Meter: true, Speed: calm, Log: log})
	s.warmUp()
	chair, newer, older := size.sized("Chair", "2026-11-29T11:00:00"), size.sized("Chair", "2026-11-29T12:00:00"), size.sized("Table", "2026-11-29T10:00:00")
	fresh := s.tally(log, "new event, one paid call: "+size.name, s.flow(chair))
	for _, a := range s.object("product:794").Operations[0].Attempts {
		fresh.InputTokens, fresh.OutputTokens = fresh.InputTokens+a.Tokens.Input, fresh.OutputTokens+a.Tokens.Output
	}
	return []cost.Flow{
		fresh,
		s.tally(log, "duplicate of a settled event: "+size.name, func() { s.repeat(chair) }),
		s.tally(log, "echo of a known input, no call: "+size.name, s.flow(newer)),
		s.tally(log, "older than what is known, no call: "+size.name, s.flow(older)),
	}
}

func draftFlow(begin func(local.Options) *system, card string, size eventSize) cost.Flow {
	log := &meter{metrics: map[string]bool{}}
	s := begin(local.Options{ConfigFiles: []string{card}, Meter: true, Speed: calm, Log: log})
	s.warmUp()
	f := s.tally(log, "new event whose draft waits for a person: "+size.name, s.flow(size.sized("Chair", "2026-11-29T11:00:00")))
	for _, a := range s.object("product:794").Operations[0].Attempts {
		f.InputTokens, f.OutputTokens = f.InputTokens+a.Tokens.Input, f.OutputTokens+a.Tokens.Output
	}
	return f
}

// idleMinute is one in which nothing happens, and the metrics that there are then and when something does.
func idleMinute(begin func(local.Options) *system, card string) (cost.Flow, int) {
	log := &meter{metrics: map[string]bool{}}
	s := begin(local.Options{ConfigFiles: []string{card}, Meter: true, Speed: calm, Log: log})
	s.warmUp()
	s.Restart() // what is believed for seconds is read anew each minute
	f := s.tally(log, "a minute of the reconciler in which nothing is due", func() {
		if err := s.Reconcile(s.t.Context()); err != nil {
			s.t.Fatal(err)
		}
	})
	return f, len(log.metrics)
}

// hold holds what was counted against what is kept. A log's length varies by a few bytes with times and ids.
func hold(t *testing.T, got cost.Counts) {
	t.Helper()
	if *count && filepath.Base(t.Name()) == "embedded" {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetIndent("", "  ")
		if err := e.Encode(got); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(counts, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(counts)
	if err != nil {
		t.Fatal(err)
	}
	want, err := cost.ReadCounts(raw)
	if err != nil {
		t.Fatal(err)
	}
	close := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".LogBytes" }, cmp.Comparer(func(a, b int) bool { return max(a, b)-min(a, b) <= max(a, b)/10 }))
	if diff := cmp.Diff(want, got, close); diff != "" {
		t.Errorf("%s (-kept +counted): %s\ncount anew: %s; then go run ./infra/engang cost > infra/cost.md", counts, diff, got.By)
	}
	for _, f := range got.Flows {
		t.Logf("%+v", f)
	}
}
