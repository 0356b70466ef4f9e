package crash_test

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"engang/shared/dynamo/dynamotest/invariants"
)

const (
	turn    = 5 * time.Second     // in which a batch is over, unless something is held
	minute  = time.Minute         // between two runs of the reconciler, as the template has it
	forever = 14 * 24 * time.Hour // longer than anything in the system waits
)

// work has the event source move one batch, and waits for it, unless a call in it hangs: there are other workers.
func (w *world) work() (moved int) {
	done := make(chan int, 1)
	w.count(+1)
	go func() {
		defer w.count(-1)
		n, err := w.Work(w.ctx)
		if err != nil {
			w.lost("work: %v", err)
		}
		done <- n
	}()
	return within(done, turn)
}

// sweep has the reconciler run. What a sweep does not do, the next one does.
func (w *world) sweep() {
	done := make(chan int, 1)
	w.count(+1)
	go func() {
		defer w.count(-1)
		_ = w.Reconcile(w.ctx)
		done <- 0
	}()
	within(done, turn)
}

func within(done chan int, d time.Duration) int {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case n := <-done:
		return n
	case <-timer.C:
		return 0
	}
}

func (w *world) count(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.working += n
}

func (w *world) busy() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.working > 0 || w.watch.holds()
}

// settle lets workers and reconciler go on until no event is open, no message is left, and nobody is at work.
func (w *world) settle() {
	begun, swept, idle := time.Now(), time.Now(), turn
	for time.Since(begun) < forever {
		if w.watch.overdue() { // senders repeat what is not known to be done
			for _, r := range w.sent {
				w.again(r)
			}
		}
		if w.work() > 0 {
			idle = turn
			continue
		}
		open, queued := w.open(), w.queued()
		if len(open) == 0 && queued == 0 && !w.busy() {
			return
		}
		if queued > 0 || w.busy() {
			time.Sleep(idle)
			if idle = min(3*idle, minute); w.watch.holds() {
				idle = turn // what is held is let go in time
			}
		} else { // nothing happens until the first of them is due
			time.Sleep(max(time.Until(first(open)), 0) + time.Second)
		}
		if time.Since(swept) >= minute && len(open) > 0 {
			swept = time.Now()
			w.sweep()
		}
	}
	w.lost("no-dead-ends: after %s there is still open %v", forever, w.open())
}

// open are the events that are neither settled nor parked.
func (w *world) open() (open []invariants.Item) {
	for _, e := range w.items().Events() {
		if e["st"] == "received" {
			open = append(open, e)
		}
	}
	return open
}

// first is when the first of them is due.
func first(open []invariants.Item) time.Time {
	var at int64
	for _, e := range open {
		text, _, _ := strings.Cut(e["od"], "#")
		if ms, err := strconv.ParseInt(text, 10, 64); err == nil && (at == 0 || ms < at) {
			at = ms
		}
	}
	return time.UnixMilli(at)
}

// outcomes are what users have: results and drafts, and how each event ended.
func (w *world) outcomes() map[string]string {
	all := map[string]string{}
	for _, i := range w.items() {
		switch {
		case strings.HasPrefix(i["sk"], "R#"):
			all[i["pk"]+" "+i["sk"]] = i["rank"] + " " + i["dig"]
		case i["sk"] == "EVENT":
			all[i["pk"]] = i["st"] + " " + i["how"]
		}
	}
	return all
}

// rest brings a flow to its end, sends every delivery again, and holds what is there against the promises.
func (w *world) rest(f flow) {
	w.settle()
	w.hold(f, "at rest")
	w.watch.stop()
	w.absorbs(f)
	before, calls := w.outcomes(), w.Stub().Count()
	for _, r := range w.sent {
		w.again(r)
	}
	w.settle()
	w.hold(f, "after the deliveries again")
	after := w.outcomes()
	for id, was := range before {
		if after[id] != was {
			w.lost("one-operation: %s was %q, and after the deliveries again %q", id, was, after[id])
		}
	}
	if n := w.Stub().Count(); n != calls {
		w.lost("one-paid-call: the deliveries again made %d calls", n-calls)
	}
}

// absorbs holds that a blow which the client itself makes good leaves no trace: a request, or its answer, that is lost
// once, or refused once. A flow whose worker stalls as part of it is left out: the repeat stalls too, until the worker's
// time is over.
func (w *world) absorbs(f flow) {
	b := w.watch.blow
	if p := w.profile(); w.watch.unbroken == "" {
		w.watch.unbroken = p
	} else if b.deed != kill && b.deed != hold && !b.always && !f.varies && f.stalls == (point{}) && w.watch.target.repeats() && p != w.watch.unbroken {
		w.lost("absorbed: it leaves\n%s\nand unbroken\n%s", p, w.watch.unbroken)
	}
}

// hold holds the whole table against the invariants, and what users have against the flow.
func (w *world) hold(f flow, when string) {
	all := w.items()
	for _, broken := range invariants.Violations(all, true) {
		w.lost("%s: %s", when, broken)
	}
	if err := f.final(w); err != nil {
		w.lost("%s: %v", when, err)
	}
	least, most := f.calls-f.fewer, f.calls+f.more+w.watch.extra
	if n := w.Stub().Count(); n < least || n > most {
		w.lost("%s: one-paid-call: %d model calls, want %d to %d", when, n, least, most)
	}
}

// has demands that an object has one result of a recipe, of this version and with this text in it.
func has(object, recipe, version, text string) func(w *world) error {
	return func(w *world) error {
		var found []string
		for _, i := range w.items().Results() {
			if i["pk"] == "B#shop#test#"+object && strings.HasPrefix(i["sk"], "R#"+recipe) {
				found = append(found, i["rank"]+" "+i["out"])
			}
		}
		if len(found) != 1 || !strings.HasPrefix(found[0], version) || !strings.Contains(found[0], text) {
			return fmt.Errorf("newest-wins: %s has the results %q, want one of %s with %q", object, found, version, text)
		}
		return nil
	}
}

// hasNone demands that an object has no result.
func hasNone(object string) func(w *world) error {
	return func(w *world) error {
		for _, i := range w.items().Results() {
			if i["pk"] == "B#shop#test#"+object {
				return fmt.Errorf("%s has a result: %s", object, i["out"])
			}
		}
		return nil
	}
}

// all demands several things.
func all(checks ...func(w *world) error) func(w *world) error {
	return func(w *world) error {
		for _, c := range checks {
			if err := c(w); err != nil {
				return err
			}
		}
		return nil
	}
}

// ended demands how many events there are, by how they ended: "settled completed", "parked".
func ended(want map[string]int) func(w *world) error {
	return func(w *world) error {
		got := map[string]int{}
		for _, e := range w.items().Events() {
			got[strings.TrimSpace(e["st"]+" "+e["how"])]++
		}
		for how := range want {
			if got[how] != want[how] {
				return fmt.Errorf("events ended as %v, want %v", got, want)
			}
		}
		if len(got) != len(want) {
			return fmt.Errorf("events ended as %v, want %v", got, want)
		}
		return nil
	}
}

// told demands a dead letter for each parked event that no person has taken off the list.
func told(w *world) error {
	letters := strings.Join(w.letters(), "\n")
	for _, e := range w.items().Events() {
		if id := strings.TrimPrefix(e["pk"], "E#"); e["st"] == "parked" && !strings.Contains(letters, id) {
			return fmt.Errorf("no-dead-ends: no dead letter tells of %s, parked since %s", id, e["why"])
		}
	}
	return nil
}

// waits demands how many operations, events and conflicts stand in the review list.
func waits(n int) func(w *world) error {
	return func(w *world) error {
		var list []string
		for _, i := range w.items() {
			if i["oq"] == "review" {
				list = append(list, i["pk"]+" "+i["sk"]+" "+i["st"])
			}
		}
		if len(list) != n {
			return fmt.Errorf("%d things wait for a person, want %d: %v", len(list), n, list)
		}
		return nil
	}
}

// states demands the states of all operations, in order.
func states(want ...string) func(w *world) error {
	return func(w *world) error {
		var got []string
		for _, o := range w.items().Operations() {
			got = append(got, o["st"])
		}
		if fmt.Sprint(sorted(got)) != fmt.Sprint(sorted(want)) {
			return fmt.Errorf("operations are %v, want %v", got, want)
		}
		return nil
	}
}
