package crash_test

import (
	"fmt"
	"strings"
	"testing"
)

// without takes a part of the condition out of each write of a name, on its way.
func without(name, part string, also change) change {
	return func(call, body string) string {
		if also != nil {
			body = also(call, body)
		}
		if call == name {
			body = strings.Replace(body, part, "", 1)
		}
		return body
	}
}

// instead has another text stand in each write of a name.
func instead(name, part, text string) change {
	return func(call, body string) string {
		if call == name {
			body = strings.Replace(body, part, text, 1)
		}
		return body
	}
}

// A weakened world lacks a guard, and a combination of the matrix must show it.
type weakened struct {
	name   string
	flow   string
	change change
	swaps  bool
	point  point
	blow   string
	says   string // the violation
}

var worlds = []weakened{
	{"a commit compares no token", "two workers by one name", without("W4 complete", " AND #tok = :token", oneName), false,
		point{"enrichment", "read result", 1}, "answer lost", "fenced: W4 complete took effect with token 1"},
	{"a commit compares neither token nor name", "new event", without("W4 complete", " AND #tok = :token AND #own = :me", nil), false,
		point{"enrichment", "W4 complete", 1}, "slow past the lease", "fenced: W4 complete took effect with token 1"},
	{"a draft compares no token", "draft approved", without("W16 draft", " AND #tok = :token", oneName), false,
		point{"enrichment", "W16 draft", 1}, "slow past the lease", "fenced: W16 draft took effect with token 1"},
	{"a failure compares no token", "refused by the model", without("W7 fail", " AND #tok = :token", oneName), false,
		point{"enrichment", "W7 fail", 1}, "slow past the lease", "fenced: W7 fail took effect with token 1"},
	{"the write id of an event is not its writer's", "new event", instead("W1 put event", `"wid":{"S":"`, `"wid":{"S":"not `), false,
		point{"receiver", "W1 put event", 1}, "answer lost", "answer 200 duplicate"},
	{"the write id of a claim is not its writer's", "new event", instead("W3 claim", `":write":{"S":"`, `":write":{"S":"not `), false,
		point{"enrichment", "W3 claim", 1}, "answer lost", "token 2"},
	{"the event is sent before it is stored", "new event", nil, true,
		point{"enrichment", "read result", 1}, "answer lost", "durable-ack: a message was sent for evt_"},
	{"the event is sent before it is stored, and the receiver dies between", "new event", nil, true,
		point{"receiver", "send event", 1}, "killed after it took effect", "durable-ack: a message was sent for evt_"},
}

// Taken out on its way to the store, each guard is missed: the matrix is not blind.
func TestWithoutAGuardThePromisesBreak(t *testing.T) {
	flows := map[string]prepared{}
	for _, f := range recorded(t) {
		flows[f.name] = f
	}
	for _, w := range worlds {
		t.Run(w.name, func(t *testing.T) {
			f, known := flows[w.flow]
			if !known {
				t.Skip("another flow is asked for")
			}
			guarded := f.brokenBy(t, w, false)
			if len(guarded) > 0 {
				t.Errorf("with the guard: %q", guarded)
			}
			bad := strings.Join(f.brokenBy(t, w, true), "\n")
			if !strings.Contains(bad, w.says) {
				t.Errorf("without the guard nothing says %q: %s", w.says, bad)
			}
			t.Log(firstLine(bad))
		})
	}
}

// brokenBy is what must not be, with the guard or without it.
func (f prepared) brokenBy(t *testing.T, weak weakened, out bool) []string {
	for _, b := range blows {
		if b.name != weak.blow {
			continue
		}
		w := newWatch(f.flow, weak.point, b)
		w.unbroken = f.leaves
		if out {
			w.swaps = weak.swaps
			if weak.change != nil {
				w.change = weak.change
			}
		}
		bad := live(t, f.options, w, func(world *world) { f.run(world); world.rest(f.flow) })
		if !w.struck {
			t.Errorf("%s is not met", weak.point)
		}
		return bad
	}
	return []string{fmt.Sprintf("no blow %q", weak.blow)}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
