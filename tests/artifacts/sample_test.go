package artifacts_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"engang/infra/local"
	"engang/infra/local/wire"
	"engang/shared/dynamo/dynamotest/invariants"
)

// A spot is a call that a function makes, for the first time.
type spot struct{ function, name string }

// A killer notes what functions call, and kills the process that makes one of these calls.
type killer struct {
	target spot
	phase  wire.Phase

	mu     sync.Mutex
	calls  []spot
	struck bool
}

func (k *killer) judge(c wire.Call, p wire.Phase) wire.Verdict {
	k.mu.Lock()
	defer k.mu.Unlock()
	at := spot{c.Function, c.Name}
	if c.Function == "" || c.Function == "console" {
		return wire.Pass
	}
	if !slices.Contains(k.calls, at) {
		k.calls = append(k.calls, at)
	}
	if k.struck || at != k.target || p != k.phase {
		return wire.Pass
	}
	k.struck = true
	return wire.Kill
}

func (k *killer) done() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.struck || k.target == spot{}
}

// excuses tells whether the kill hides the outcome of a paid call, which then is made again.
func (k *killer) excuses() int {
	if k.target.name == "model call" && k.phase == wire.After || k.target.name == "W4 complete" && k.phase == wire.Before {
		return 1
	}
	return 0
}

// Every call of the three functions, found by watching a run, is where a process is killed (SIGKILL), before the call
// or after it took effect, in turn. Others go on, and what was promised holds. What tests/crash does with each fault in
// one process is done here with the built functions, each a process of its own, and the engine in another one.
func TestProcessesAreKilledAtTheirCalls(t *testing.T) {
	unharmed := &killer{}
	killed(t, unharmed)
	for i, at := range unharmed.calls {
		k := &killer{target: at, phase: []wire.Phase{wire.After, wire.Before}[i%2]}
		t.Run(fmt.Sprintf("%s, %s %s", at.function, k.phase, at.name), func(t *testing.T) {
			t.Parallel()
			killed(t, k)
		})
	}
	functions := map[string]int{}
	for _, at := range unharmed.calls {
		functions[at.function]++
	}
	t.Logf("%d calls: %v", len(unharmed.calls), functions)
	if len(unharmed.calls) < 20 || len(functions) != 3 {
		t.Errorf("only %d calls were seen: %v", len(unharmed.calls), unharmed.calls)
	}
}

// killed runs two events through a system, of which one is sent by the reconciler alone.
func killed(t *testing.T, k *killer) {
	t.Helper()
	s := start(t, local.Options{Speed: 50, Faults: "queue:down", Judge: k.judge})
	ids := []string{"794", "8"}
	for _, id := range ids {
		insist(t, s, id)
	}
	end := time.Now().Add(90 * time.Second)
	for !atRest(t, s, len(ids)) {
		if time.Now().After(end) {
			t.Fatalf("struck: %v, and there is still something open", k.done())
		}
		time.Sleep(50 * time.Millisecond)
	}
	for _, id := range ids {
		insist(t, s, id)
	}
	if !k.done() {
		t.Error("nobody was killed")
	}
	items := invariants.Read(t, s.DynamoDB(), s.TableName())
	invariants.Verify(t, items)
	if n := len(items.Results()); n != len(ids) {
		t.Errorf("%d results", n)
	}
	for _, r := range items.Results() {
		if !strings.Contains(r["out"], "Oak table") {
			t.Errorf("result %s of %s", r["out"], r["pk"])
		}
	}
	if n := s.Stub().Count(); n < len(ids) || n > len(ids)+2*k.excuses() { // both events may be in that one process
		t.Errorf("%d calls", n)
	}
}

// atRest tells whether so many events are settled.
func atRest(t *testing.T, s *local.System, n int) bool {
	t.Helper()
	for _, e := range invariants.Read(t, s.DynamoDB(), s.TableName()).Events() {
		if e["st"] == "settled" {
			n--
		}
	}
	return n == 0
}

// insist sends a product until it is taken, as a sender that repeats does.
func insist(t *testing.T, s *local.System, id string) {
	t.Helper()
	for range 8 {
		if post(t, s, strings.Replace(product, `"id":794`, `"id":`+id, 1)) == http.StatusOK {
			return
		}
	}
	t.Errorf("the sender of product %s was refused eight times", id)
}
