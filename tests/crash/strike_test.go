package crash_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"engang/infra/local/wire"
	"engang/shared/telemetry"
)

// A point is the nth time that one function makes one call.
type point struct {
	function, call string
	nth            int
}

func (p point) String() string { return fmt.Sprintf("%s: %s #%d", p.function, p.call, p.nth) }

// A deed is what becomes of a call.
type deed int

const (
	kill   deed = iota // the process dies
	lose               // the caller sees a broken connection
	refuse             // the service refuses it, and the caller sees that
	hold               // it hangs until the lease is another worker's
)

// A blow is what happens at a point.
type blow struct {
	name   string
	deed   deed
	after  bool // it took effect; else nothing was done
	always bool // every repeat of the client meets it too
}

var blows = []blow{
	{"killed before", kill, false, false},
	{"killed after it took effect", kill, true, false},
	{"answer lost", lose, true, false},
	{"every answer lost", lose, true, true},
	{"refused once", refuse, false, false},
	{"slow past the lease", hold, false, false},
	{"answer slow past the lease", hold, true, false},
	{"every try refused", refuse, false, true},
	{"request lost", lose, false, false},
	{"every request lost", lose, false, true},
}

// repeats tells whether the client of a call makes it again by itself.
func (p point) repeats() bool { return p.call != "model call" && !strings.HasPrefix(p.call, "list ") }

const (
	lease    = 100 * time.Second // LEASE_SECONDS and SKEW_SECONDS of the template
	skew     = 5 * time.Second
	patience = lease + skew + 3*time.Minute // of a held call that no other worker comes for
	latency  = 2 * time.Second              // of the model
	tick     = 500 * time.Millisecond       // in which a held call sees that it may go: less than the latency
)

// outcomes are the writes that record what came of a paid call.
var outcomes = map[string]bool{"W4 complete": true, "W7 retry": true, "W7 fail": true, "W16 draft": true, "W24 pause": true}

// A watch carries the calls of a world, notes every point that a function comes to, and strikes at one of them.
type watch struct {
	world  *world
	target point
	blow   blow
	stalls point             // where a call is held too
	change change            // what becomes of requests on their way; nil: nothing
	swaps  bool              // the receiver's put is carried behind its send
	table  http.RoundTripper // of the reference engine; nil: the embedded one

	mu     sync.Mutex
	counts map[point]int // by function and call, nth zero
	seen   map[string]point
	points []point
	owed   map[*wire.Invocation]int // paid calls whose outcome is not recorded yet
	dying  *wire.Invocation         // that is killed; a call of another event in it may be on its way still

	stopped bool // no point is noted any more
	struck  bool
	extra   int       // paid calls that the blow excuses
	since   time.Time // when a call is held since
	holding bool
	claimed int // leases taken
	trace   []string
	history history

	unbroken string        // what the flow leaves unbroken
	put      *http.Request // that waits for its send
}

// A change is what becomes of the body of a call.
type change func(call, body string) string

func newWatch(f flow, target point, b blow) *watch {
	return &watch{stalls: f.stalls, change: f.change, target: target, blow: b, counts: map[point]int{}, seen: map[string]point{}, owed: map[*wire.Invocation]int{}}
}

func (w *watch) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trace = append(w.trace, time.Now().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

// Write takes a line of the functions' log.
func (w *watch) Write(line []byte) (int, error) {
	w.note("  %s", bytes.TrimSpace(line))
	return len(line), nil
}

// RoundTrip carries a call, unless it is struck.
func (w *watch) RoundTrip(r *http.Request) (*http.Response, error) {
	call, invocation := telemetry.Call(r.Context()), wire.From(r.Context())
	if invocation == nil { // the test's own, or the event source's
		return w.carry(r)
	}
	if invocation.Killed() {
		return nil, wire.ErrKilled
	}
	if err := context.Cause(r.Context()); err != nil { // nothing is sent any more
		return nil, err
	}
	p, strikes := w.meets(r, call, invocation)
	if strikes && !w.blow.after {
		w.excuse(p, invocation)
		switch w.blow.deed {
		case hold:
			w.note("%s: held", p)
			w.held()
			r = r.WithContext(context.WithoutCancel(r.Context())) // it was on its way
		case refuse:
			w.note("%s: refused", p)
			return refusal(r, call), nil
		default:
			return w.broken(p, invocation)
		}
	}
	if p == w.stalls {
		w.note("%s: stalls", p)
		w.held()
		r = r.WithContext(context.WithoutCancel(r.Context()))
	}
	if call == "model call" {
		w.pays(invocation)
	}
	sent, err := w.body(r, call)
	if err != nil {
		return nil, err
	}
	answer, err := w.carriedInOrder(r, call, sent)
	if err != nil {
		return nil, err
	}
	w.done(p, invocation, exchange{call, sent, answer})
	if strikes && w.blow.after {
		w.excuse(p, invocation)
		if w.blow.deed != hold {
			return w.broken(p, invocation)
		}
		w.note("%s: its answer is held", p)
		w.held()
	}
	return answer, nil
}

// meets notes the point that a call is at, and tells whether it is struck.
func (w *watch) meets(r *http.Request, call string, i *wire.Invocation) (point, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := r.Header.Get("Amz-Sdk-Invocation-Id") // the same for every try
	p, known := w.seen[id]
	if !known || id == "" {
		kind := point{i.Function, call, 0}
		w.counts[kind]++
		p = point{i.Function, call, w.counts[kind]}
		w.seen[id] = p
		if !w.stopped {
			w.points = append(w.points, p)
		}
	}
	if p != w.target || w.struck && !w.blow.always {
		return p, false
	}
	w.struck = true
	return p, true
}

// broken is what the caller sees of a call that got no answer.
func (w *watch) broken(p point, i *wire.Invocation) (*http.Response, error) {
	w.note("%s: %s", p, w.blow.name)
	if w.blow.deed == kill {
		i.Kill()
		return nil, wire.ErrKilled
	}
	return nil, wire.ErrBroken
}

// excuse counts the paid calls that nobody may learn the outcome of, since the process dies or comes too late: only
// they may be made again. So may one whose answer is lost.
func (w *watch) excuse(p point, i *wire.Invocation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.blow.deed == kill, w.blow.deed == hold:
		w.extra += w.owed[i]
		if w.blow.deed == kill {
			w.dying = i
		}
		if w.blow.deed == hold && !w.blow.after && p.call == "model call" { // it will be paid, and another one is made
			w.extra++
		}
	case p.call == "model call" && w.blow.after:
		w.extra++
	}
}

func (w *watch) pays(i *wire.Invocation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.owed[i]++
	if i == w.dying {
		w.extra++
	}
}

// An exchange is a call that took effect, or was refused.
type exchange struct {
	call   string
	sent   string // the body of those that are looked into
	answer *http.Response
}

// lookedInto are the calls whose bodies tell what must not be.
func lookedInto(call string) bool {
	return call == "W3 claim" || outcomes[call] || call == "W8 supersede" || call == "send event" || call == "W1 put event"
}

// body reads the body of a call that is looked into, and changes it on its way.
func (w *watch) body(r *http.Request, call string) (string, error) {
	if r.Body == nil || !lookedInto(call) {
		return "", nil
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return "", err
	}
	sent := string(raw)
	if w.change != nil {
		sent = w.change(call, sent)
	}
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(sent)), int64(len(sent))
	return sent, nil
}

func (w *watch) done(p point, i *wire.Invocation, e exchange) {
	w.note("%s %d", p, e.answer.StatusCode)
	if e.answer.StatusCode != http.StatusOK {
		return
	}
	for _, broken := range w.history.took(w.world, e) {
		w.world.lost("%s", broken)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case outcomes[e.call] && w.owed[i] > 0 && !strings.Contains(e.sent, `\"called\":false}]`):
		w.owed[i]--
	case e.call == "W3 claim":
		w.claimed++
	}
}

// held waits until another worker has taken a lease, or for longer than anybody has patience.
func (w *watch) held() {
	w.mu.Lock()
	before, begun := w.claimed, time.Now()
	w.since, w.holding = begun, true
	w.mu.Unlock()
	for time.Since(begun) < patience {
		time.Sleep(tick)
		w.mu.Lock()
		taken := w.claimed > before
		w.mu.Unlock()
		if taken {
			break
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.since, w.holding = time.Time{}, false
}

// holds tells whether a call is held.
func (w *watch) holds() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.holding
}

// overdue tells, once, that a call is held for longer than a lease lasts: a sender asks again.
func (w *watch) overdue() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.since.IsZero() || time.Since(w.since) < lease+skew+time.Second {
		return false
	}
	w.since = time.Time{}
	return true
}

// stop ends the recording of points: what follows is the test's own repetition.
func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
}
