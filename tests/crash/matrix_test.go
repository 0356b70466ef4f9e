// Package crash breaks every call that the functions make, in every way: the process killed before it and after it took
// effect, its answer lost, refused, and slower than the lease. Then deliveries come again, the reconciler runs, and the
// whole table is held against the promises.
//
//	go test ./tests/crash -v                     # a part: every point, with some of the blows, in less than a minute
//	go test ./tests/crash -v -args -all          # all of it
//	go test ./tests/crash -v -run Scenario12 -args -only "echo, enrichment: W5" # these, with what happened in each
//
// Nobody lists the points: each flow is run once unbroken, and a carrier under the functions' clients notes what they
// call. Each combination has a system of its own, as it is deployed but for its carrier, in virtual time: leases,
// backoff, visibility and schedules are those of the template, and take no time.
package crash_test

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"engang/infra/local"
)

var (
	whole = flag.Bool("all", false, "break every point with every blow")
	only  = flag.String("only", "", "break these alone, and say what happened: a part of \"flow, function: call #n, blow\"")
	plot  = flag.String("json", "", "write the figures to this file")
)

// TestMain gives the many short lives less to collect.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	http.DefaultTransport = ours{http.DefaultTransport}
	code := m.Run()
	for _, folder := range folders {
		_ = os.RemoveAll(folder)
	}
	os.Exit(code)
}

// A combination is one flow that is struck once.
type combination struct {
	flow  prepared
	point point
	blow  blow
}

func (c combination) String() string {
	return c.flow.name + ", " + c.point.String() + ", " + c.blow.name
}

// often bounds how many times of the same call are broken: a third one of a flow meets nothing new.
const often = 2

// options are what a flow is started with.
func (f flow) options(t testing.TB, folder string) local.Options {
	o := local.Options{Faults: f.faults}
	for i, text := range f.config {
		path := filepath.Join(folder, fmt.Sprintf("%s-%d.yaml", strings.ReplaceAll(f.name, " ", "-"), i))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		o.ConfigFiles = append(o.ConfigFiles, path)
	}
	return o
}

// A prepared flow has its options, and the points that it comes to.
type prepared struct {
	flow
	options local.Options
	points  []point
	leaves  string // what it leaves
}

var recordings struct {
	sync.Mutex
	flows []prepared
}

// recorded are all flows, run once unbroken.
func recorded(t *testing.T) []prepared {
	recordings.Lock()
	defer recordings.Unlock()
	if recordings.flows == nil {
		folder := must(os.MkdirTemp("", "crash")) // TestMain removes it
		folders = append(folders, folder)
		var list []flow
		for _, f := range slices.Concat(senders, persons) {
			if strings.HasPrefix(*only, f.name) || *only == "" {
				list = append(list, f)
			}
		}
		flows := make([]prepared, len(list))
		sideBySide(indexes(list), func(i int) { flows[i] = list[i].record(t, folder) })
		if t.Failed() {
			t.FailNow()
		}
		recordings.flows = flows
	}
	return recordings.flows
}

var folders []string // of configuration files

func indexes[T any](list []T) (all []int) {
	for i := range list {
		all = append(all, i)
	}
	return all
}

// record runs a flow unbroken.
func (f flow) record(t *testing.T, folder string) prepared {
	p := prepared{flow: f, options: f.options(t, folder)}
	w := newWatch(f, point{}, blow{})
	bad := live(t, p.options, w, func(world *world) { f.run(world); world.rest(f) })
	for _, v := range bad {
		t.Errorf("%s, unbroken: %s", f.name, v)
	}
	if len(bad) > 0 || *only != "" && strings.HasPrefix(*only, f.name) && testing.Verbose() {
		t.Logf("%s, unbroken:\n%s", f.name, strings.Join(w.trace, "\n"))
	}
	p.leaves = w.unbroken
	for _, at := range w.points {
		if at.nth <= often || *whole && at.nth <= 2*often {
			p.points = append(p.points, at)
		}
	}
	return p
}

// Every call that a function makes in these flows, found by watching a run, is broken in every way. Then senders repeat,
// workers and reconciler go on, and everything must be as if nothing had happened.
func TestScenario12CrashAfterEachStep(t *testing.T) {
	flows := recorded(t)
	sums := newSums()
	for _, f := range flows {
		sums.points(f)
	}
	todo := chosen(flows)
	t.Logf("%d flows, %d points, %d combinations", len(flows), sums.Points, len(todo))
	sideBySide(todo, func(c combination) { c.run(t, sums, func(*watch) {}) })
	sums.tell(t)
	if *only == "" && sums.Combinations < 1000 {
		t.Errorf("only %d combinations", sums.Combinations)
	}
	// A matrix that strikes nothing finds nothing. A few points are met or not by chance.
	if *only == "" && sums.Struck*100 < sums.Combinations*97 {
		t.Errorf("only %d of %d were struck", sums.Struck, sums.Combinations)
	}
}

// run strikes a flow once, and tells what must not be.
func (c combination) run(t *testing.T, sums *figures, set func(*watch)) {
	w := newWatch(c.flow.flow, c.point, c.blow)
	w.unbroken = c.flow.leaves
	set(w)
	bad := live(t, c.flow.options, w, func(world *world) { c.flow.run(world); world.rest(c.flow.flow) })
	sums.add(c, w.struck, len(bad))
	for _, v := range bad {
		t.Errorf("%s: %s", c, v)
	}
	if *only != "" {
		t.Logf("%s:\n%s", c, strings.Join(w.trace, "\n"))
	}
}

// most is how many ways a point is struck in without -all, where a call has few points.
const most = 2

// chosen are the combinations of a run. Without -all each point is struck in one way at least, in turn, so that a call
// that has several points is struck in every way.
func chosen(flows []prepared) (list []combination) {
	kinds := map[point]int{} // points by function and call, nth zero
	for _, f := range flows {
		for _, p := range f.points {
			kinds[point{p.function, p.call, 0}]++
		}
	}
	turns := map[point]int{}
	for _, f := range flows {
		for _, p := range f.points {
			kind := point{p.function, p.call, 0}
			ways := p.ways()
			n := min((len(ways)+kinds[kind]-1)/kinds[kind], most)
			if f.slow {
				n = 1
			}
			if *whole || *only != "" {
				n = len(ways)
			}
			for range n {
				c := combination{f, p, ways[turns[kind]%len(ways)]}
				turns[kind]++
				if strings.HasPrefix(c.String(), *only) {
					list = append(list, c)
				}
			}
		}
	}
	return list
}

// ways are the blows that a point can be struck with.
func (p point) ways() (list []blow) {
	for _, b := range blows {
		if !b.always || p.repeats() {
			list = append(list, b)
		}
	}
	return list
}

// sideBySide does something for each of a list, on all processors.
func sideBySide[T any](list []T, do func(T)) {
	next := make(chan T)
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for one := range next {
				do(one)
			}
		})
	}
	for _, one := range list {
		next <- one
	}
	close(next)
	all.Wait()
}
