package explore_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"engang/tests/model/explore"
)

// A step leads from one place of a small map to another.
type step struct {
	from, to string
	fault    bool
	broken   string
}

func (s step) String() string { return s.from + " to " + s.to }

// country is a map with a right place to rest.
func country(steps ...step) explore.System[string, step] {
	return explore.System[string, step]{
		Start: "home",
		Steps: func(at *string, emit explore.Emit[string, step]) {
			for _, s := range steps {
				if s.from == *at {
					to := s.to
					emit(&to, s, s.fault, s.broken)
				}
			}
		},
		Plain: func(*string) {},
		Same:  func(*string) {},
		Check: func(at *string) string {
			if *at == "swamp" {
				return "in the swamp"
			}
			return ""
		},
		Rest: func(at *string) (bool, string) {
			if *at == "desert" {
				return true, "nothing to drink"
			}
			return *at == "inn", ""
		},
	}
}

func TestSearchFindsWhatIsBroken(t *testing.T) {
	way := func(from, to string) step { return step{from: from, to: to} }
	fault := func(from, to string) step { return step{from: from, to: to, fault: true} }
	for _, tt := range []struct {
		name   string
		system explore.System[string, step]
		broken string
		trace  []string
	}{
		{name: "nothing, where every way leads to rest", system: country(way("home", "road"), way("road", "inn"), fault("road", "home"))},
		{name: "a state, by the shortest way", system: country(way("home", "road"), way("road", "wood"), way("wood", "swamp"), way("road", "swamp"), way("road", "inn")),
			broken: "in the swamp", trace: []string{"home to road", "road to swamp"}},
		{name: "a state that only a fault leads to", system: country(way("home", "inn"), fault("home", "swamp")),
			broken: "in the swamp", trace: []string{"home to swamp"}},
		{name: "a step, though it leads to a state that is right", system: country(way("home", "road"), step{from: "road", to: "inn", broken: "over the fence"}),
			broken: "over the fence", trace: []string{"home to road", "road to inn"}},
		{name: "a state at rest that is wrong", system: country(way("home", "inn"), way("home", "desert")),
			broken: "nothing to drink", trace: []string{"home to desert"}},
		{name: "a dead end", system: country(way("home", "inn"), way("home", "pit")),
			broken: explore.DeadEnd, trace: []string{"home to pit"}},
		{name: "a circle that never comes to rest", system: country(way("home", "inn"), way("home", "a"), way("a", "b"), way("b", "a")),
			broken: explore.DeadEnd, trace: []string{"home to a"}},
		{name: "a place that only a fault leads out of", system: country(way("home", "inn"), way("home", "cage"), fault("cage", "inn")),
			broken: explore.DeadEnd, trace: []string{"home to cage"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := explore.Search(tt.system, 100)
			if out.Broken != tt.broken || !out.Complete && tt.broken == "" {
				t.Errorf("complete %v, found %q", out.Complete, out.Broken)
			}
			if diff := cmp.Diff(tt.trace, out.Trace); diff != "" {
				t.Errorf("trace (-want +got):\n%s", diff)
			}
		})
	}
}

// counts is a way through n numbers, of which the last one is at rest.
func counts(n int) explore.System[int, step] {
	return explore.System[int, step]{
		Steps: func(at *int, emit explore.Emit[int, step]) {
			if next := *at + 1; next < n {
				emit(&next, step{from: fmt.Sprint(*at), to: fmt.Sprint(next)}, false, "")
			}
		},
		Plain: func(*int) {},
		Same:  func(*int) {},
		Check: func(*int) string { return "" },
		Rest:  func(at *int) (bool, string) { return *at == n-1, "" },
	}
}

// A search that its limit has stopped proves nothing, and says so.
func TestLimitStopsASearch(t *testing.T) {
	const many = 100_000 // more than the table and a chunk hold at first
	if out := explore.Search(counts(many), many); !out.Complete || out.States != many || out.Edges != many-1 || out.Broken != "" {
		t.Errorf("within the limit: %+v", out)
	}
	if out := explore.Search(counts(many), 500); out.Complete || out.States != 501 || out.Broken != "" {
		t.Errorf("beyond the limit: %+v", out)
	}
}

// A change that Moved does not allow is broken, before anything else is asked.
func TestChangesAreHeldAgainstARule(t *testing.T) {
	sys := counts(10)
	sys.Moved = func(from, to *int) string {
		if *from == 4 {
			return fmt.Sprintf("from %d to %d", *from, *to)
		}
		return ""
	}
	out := explore.Search(sys, 100)
	if out.Broken != "from 4 to 5" || len(out.Trace) != 5 || out.Trace[4] != "4 to 5" {
		t.Errorf("found %q by %q", out.Broken, out.Trace)
	}
}

// States that Same makes equal are one, and the trace tells them by the names that they had.
func TestStatesThatDifferByNameAreOne(t *testing.T) {
	type pair [2]int
	sys := explore.System[pair, step]{
		Steps: func(at *pair, emit explore.Emit[pair, step]) {
			for i := range at {
				if at[i] < 3 {
					next := *at
					next[i]++
					emit(&next, step{from: fmt.Sprint(*at), to: fmt.Sprint(next)}, false, "")
				}
			}
		},
		Plain: func(*pair) {},
		Same: func(p *pair) {
			if p[1] > p[0] {
				p[0], p[1] = p[1], p[0]
			}
		},
		Check: func(p *pair) string {
			if *p == (pair{3, 1}) {
				return "three to one"
			}
			return ""
		},
		Rest: func(*pair) (bool, string) { return true, "" },
	}
	out := explore.Search(sys, 100)
	if out.Broken != "three to one" || len(out.Trace) != 4 {
		t.Errorf("found %q by %q", out.Broken, out.Trace)
	}
	sys.Check = func(*pair) string { return "" }
	if out := explore.Search(sys, 100); out.States != 10 || !out.Complete {
		t.Errorf("%d states, complete %v, want the 10 that differ", out.States, out.Complete)
	}
}
