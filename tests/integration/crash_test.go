package integration_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"engang/infra/local"
	"engang/infra/local/wire"
)

// A flow is what senders do in one scenario, without regard to what breaks. Deliver sends a request
// until it is answered with 200, as a sender that repeats does.
type flow struct {
	name   string
	faults string   // of the model, that belong to the flow
	calls  int      // model calls when nothing breaks
	object string   // whose operations are told when the calls are wrong
	config []string // beside local.yaml
	side   int      // further events that the same process may work on when it is killed
	run    func(s *system, deliver func(request))
	final  func(s *system) error // what must be there in the end
}

// A request makes the same signed request each time.
type request func(s *system) *http.Request

var flows = []flow{
	{"new event", "", 1, "product:794", nil, 0, func(s *system, deliver func(request)) {
		deliver(chair("2026-11-29T11:59:58"))
	}, result("product:794", "2026-11-29T11:59:58Z")},
	{"a passing failure", "model:500", 2, "product:794", nil, 0, func(s *system, deliver func(request)) {
		deliver(chair("2026-11-29T11:59:58"))
	}, result("product:794", "2026-11-29T11:59:58Z")},
	{"echo", "", 1, "product:794", nil, 0, func(s *system, deliver func(request)) {
		deliver(chair("2026-11-29T11:59:58"))
		s.settle()
		deliver(chair("2026-11-29T12:30:00"))
	}, result("product:794", "2026-11-29T12:30:00Z")},
	{"superseded", "", 1, "product:794", nil, 0, func(s *system, deliver func(request)) {
		deliver(updated(product{id: 794, name: "Table", modified: "2026-11-29T12:30:00"}))
		s.settle()
		deliver(chair("2026-11-29T11:59:58"))
	}, result("product:794", "2026-11-29T12:30:00Z")},
	{"parked", "model:refusalx5", 1, "product:794", nil, 0, func(s *system, deliver func(request)) {
		deliver(chair("2026-11-29T11:59:58"))
	}, func(s *system) error {
		o := s.object("product:794")
		if len(o.Operations) != 1 || o.Operations[0].State != "failed" || o.Events[0].State != "parked" || len(o.Results) != 0 {
			return fmt.Errorf("operations %+v, events %+v", o.Operations, o.Events)
		}
		return nil
	}},
	{"a batch", "", 2, "contact:123", []string{"testdata/batch.yaml"}, 1, func(s *system, deliver func(request)) {
		deliver(batchOf(contactBatch))
	}, func(s *system) error {
		for _, id := range []string{"contact:123", "contact:124"} {
			if o := s.object(id); len(o.Results) != 1 || len(o.Events) != 1 {
				return fmt.Errorf("%s: events %+v, results %+v", id, o.Events, o.Results)
			}
		}
		return nil
	}},
}

func updated(p product) request {
	return func(s *system) *http.Request {
		return s.signed("woo-shop", "woocommerce", http.Header{"X-Wc-Webhook-Topic": {"product.updated"}}, p.body())
	}
}

func chair(modified string) request {
	return updated(product{id: 794, name: "Chair", modified: modified})
}

// result demands that the object has one result, of this version.
func result(id, version string) func(s *system) error {
	return func(s *system) error {
		o := s.object(id)
		if len(o.Results) != 1 || o.Results[0].ObjectVersion != version {
			return fmt.Errorf("results %+v, want one of %s", o.Results, version)
		}
		return nil
	}
}

// A point is the nth time that one function makes one call.
type point struct {
	function, call string
	nth            int
}

func (p point) String() string { return fmt.Sprintf("%s: %s #%d", p.function, p.call, p.nth) }

// often bounds how many times of the same call are broken: a third one meets nothing new.
const often = 2

// A blow is what happens at a point.
type blow struct {
	name    string
	phase   wire.Phase
	verdict wire.Verdict
	always  bool // also every repeat of the client
}

var blows = []blow{
	{"killed before", wire.Before, wire.Kill, false},
	{"killed after it took effect", wire.After, wire.Kill, false},
	{"request lost", wire.Before, wire.Fail, false},
	{"answer lost", wire.After, wire.Fail, false},
	{"every request lost", wire.Before, wire.Fail, true},
	{"every answer lost", wire.After, wire.Fail, true},
}

// mayPayAgain tells whether a blow hides the outcome of a paid call: only then may there be another one.
func mayPayAgain(p point, b blow) bool {
	switch {
	case p.call == "model call":
		return b.phase == wire.After
	case strings.HasPrefix(p.call, "W4"), strings.HasPrefix(p.call, "W7"):
		return b.verdict == wire.Kill && b.phase == wire.Before
	}
	return false
}

// A watch notes every point of a run, and strikes at one of them.
type watch struct {
	mu     sync.Mutex
	counts map[point]int // by function and call, nth zero
	seen   map[string]point
	points []point

	target point
	blow   blow
	struck bool
}

func newWatch(target point, b blow) *watch {
	return &watch{counts: map[point]int{}, seen: map[string]point{}, target: target, blow: b}
}

func (w *watch) judge(c wire.Call, phase wire.Phase) wire.Verdict {
	if c.Function == "" || c.Function == "console" {
		return wire.Pass
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	id := c.ID + " " + c.Invocation + " " + c.Name
	p, known := w.seen[id]
	if !known || (c.Service == "model" && phase == wire.Before) { // model calls have no id and are never repeated
		kind := point{c.Function, c.Name, 0}
		w.counts[kind]++
		p = point{c.Function, c.Name, w.counts[kind]}
		w.seen[id] = p
		w.points = append(w.points, p)
	}
	if p != w.target || phase != w.blow.phase || (w.struck && !w.blow.always) {
		return wire.Pass
	}
	w.struck = true
	return w.blow.verdict
}

// Every outside call that a function makes in these flows, found by watching a run, is broken in every
// way. Then senders repeat, workers and reconciler go on, and everything must be as if nothing had happened.
func TestScenario12CrashAfterEachStep(t *testing.T) {
	cases := map[string]func(t *testing.T){}
	for _, f := range flows {
		points := slices.DeleteFunc(f.broken(t, newWatch(point{}, blow{})), func(p point) bool { return p.nth > often })
		if len(points) < 8 {
			t.Fatalf("%s: only %d calls were seen: %v", f.name, len(points), points)
		}
		t.Logf("%s: %d calls × %d blows", f.name, len(points), len(blows))
		for _, p := range points {
			for _, b := range blows {
				cases[f.name+", "+p.String()+" "+b.name] = func(t *testing.T) { f.struck(t, newWatch(p, b)) }
			}
		}
	}
	busy := make(chan struct{}, 32) // most of a case is waiting for leases
	var all sync.WaitGroup
	for name, test := range cases {
		all.Go(func() {
			busy <- struct{}{}
			defer func() { <-busy }()
			t.Run(name, test)
		})
	}
	all.Wait()
}

func (f flow) struck(t *testing.T, w *watch) {
	f.broken(t, w)
	sure := w.target.function != "reconciler" && (f.side == 0 || w.target.call != "model call") // how often it runs depends on the time; whose call is the first, on chance
	if w.target.nth > 1 && slices.Contains(remembered, w.target.call) {                         // so does whether two that run side by side both miss what is remembered
		sure = false
	}
	if !w.struck && sure {
		t.Error("the point was not reached")
	}
}

// broken runs the flow under a watch, brings it to rest and checks the promises. It returns the calls
// that were made until the first delivery was worked on.
func (f flow) broken(t *testing.T, w *watch) []point {
	t.Helper()
	o := local.Options{Judge: w.judge, Faults: f.faults}
	if f.config != nil {
		o.ConfigFiles = append([]string{"../../infra/local.yaml"}, f.config...)
	}
	s := start(t, o)
	f.run(s, func(r request) {
		t.Helper()
		for range 5 {
			a, err := s.try(r(s))
			if err == nil && a.Code == 200 {
				return
			}
		}
		t.Error("five deliveries were refused")
	})
	s.rest()
	if err := f.final(s); err != nil {
		t.Error(err)
	}
	most := f.calls
	if mayPayAgain(w.target, w.blow) {
		most++
	}
	if w.blow.verdict == wire.Kill || w.target.call == "model call" { // the process dies with every call that is under way in it; model calls side by side cannot be told apart
		most += f.side
	}
	if n := s.calls(); n < f.calls || n > most {
		t.Errorf("%d model calls, want %d to %d: %+v", n, f.calls, most, s.object(f.object).Operations)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.points
}
