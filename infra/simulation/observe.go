package simulation

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"engang/shared/inbox"
)

// notice is what a notice tells of.
type notice struct {
	event      inbox.EventID
	generation int
}

// paying is what is known of the calls for one operation, as long as its item lives.
type paying struct {
	operation string
	calls     int // paid
	recorded  int // an outcome that is no output
	broken    int // nobody recorded an outcome: the process died, its answer was lost, or its lease had ended
	outputs   int // that were committed or became a draft
	renewed   int // opened again after a person rejected the output
}

// A held lease is what was last claimed.
type held struct {
	token int64
	by    *actor
	until time.Duration // in true time
}

// seen is what was seen on the way, past the code under test.
type seen struct {
	open      openEvents
	stored    map[inbox.EventID]time.Duration // when
	emptied   map[inbox.EventID]time.Duration
	conflicts map[string]*actor      // who recorded them, by item
	puts      map[string]putting     // of bodies, by key
	removed   map[string]bool        // items, by an erasure
	stopped   map[inbox.EventID]bool // settled by a person
	taken     map[inbox.EventID]bool // acknowledged to the sender
	told      map[notice]bool
	payments  map[string]*paying // by operation
	lives     []*paying          // also of operations that are gone
	leases    map[string]held
	decisions map[string]int    // that took effect, by operation and digest
	deciders  map[string]string // whose the last of them was
	approved  map[string]draft  // that a person was told is approved, by operation
	erasures  []*erasure
	kept      keeping
	calls     int
	tableName string
	raised    int // versions of a recipe
	faults    []string
}

func newSeen() seen {
	return seen{
		kept: newKeeping(),
		open: openEvents{}, stored: map[inbox.EventID]time.Duration{}, emptied: map[inbox.EventID]time.Duration{}, conflicts: map[string]*actor{}, puts: map[string]putting{}, removed: map[string]bool{}, stopped: map[inbox.EventID]bool{}, taken: map[inbox.EventID]bool{},
		told: map[notice]bool{}, payments: map[string]*paying{}, leases: map[string]held{}, decisions: map[string]int{}, deciders: map[string]string{}, approved: map[string]draft{},
	}
}

// violated notes a broken promise, each once.
func (s *seen) violated(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for _, known := range s.faults {
		if known == text {
			return
		}
	}
	s.faults = append(s.faults, text)
}

func (w *world) payment(operation string) *paying {
	if w.payments[operation] == nil {
		w.payments[operation] = &paying{operation: operation}
		w.lives = append(w.lives, w.payments[operation])
	}
	return w.payments[operation]
}

// pays notes a call that is paid for.
func (w *world) pays(a *actor) {
	w.counts.PaidCalls++
	a.paying.calls++
	a.called = true
	w.callFor(a)
	if t, gone := w.emptied[a.event]; gone && a.began > t {
		w.violated("erase: %s made a call for %s, which had been erased before", a.name, a.event)
	}
}

// holds tells whether an actor has the lease that it took last.
func (w *world) holds(a *actor) bool {
	now := w.leases[a.operation]
	return now.by == a && now.token == a.token
}

// left is what an actor leaves when it is gone: a call that it never recorded.
func (w *world) left(a *actor) {
	if !a.called {
		return
	}
	a.called = false
	a.paying.broken++
	if !a.dead && w.holds(a) {
		w.violated("one-paid-call: %s made a call for %s, kept its lease, and recorded nothing", a.name, short(a.operation))
	}
}

// observe notes what a request did that took effect, and says it for the history.
func (w *world) observe(a *actor, q *sent, answer *http.Response) string {
	if answer.StatusCode != http.StatusOK {
		return refusal(peek(answer))
	}
	if strings.HasSuffix(q.Header.Get("X-Amz-Target"), ".GetItem") || strings.HasSuffix(q.Header.Get("X-Amz-Target"), ".Query") {
		return "ok"
	}
	said := "ok"
	for i, one := range q.body.writes() {
		if strings.HasSuffix(one.item(), " EVENT") {
			w.observeEvent(a, q.name, one)
		}
		w.observeResult(one)
		if text := w.observeCall(a, q.name, one, i); text != "" {
			said = text
		}
	}
	if q.name == "W3 claim" {
		said = w.observeClaim(a, q, answer)
	}
	return said
}

func refusal(raw []byte) string {
	var why struct {
		Type string `json:"__type"`
	}
	_ = json.Unmarshal(raw, &why) // without a type there is only the status
	_, name, ok := strings.Cut(why.Type, "#")
	if !ok {
		name = why.Type
	}
	return "refused: " + name
}

// observeEvent keeps track of which events are open, and when they are due.
func (w *world) observeEvent(a *actor, name string, one requestBody) {
	id := inbox.EventID(strings.TrimPrefix(one.key()["pk"].S, "E#"))
	switch _, known := w.emptied[id]; {
	case name == "erase" && !known:
		w.emptied[id] = w.clock
		w.counts.Erased++
	case name == "W6 settle" && a.person:
		w.stopped[id] = true
	}
	due := ""
	switch {
	case len(one.Item) > 0:
		w.stored[id] = w.clock
		w.kept.ranks[one.Item["rank"].S] = ranked{id, w.clock}
		due = one.Item["od"].S
	case strings.Contains(one.UpdateExpression, "#od = :next"):
		due = one.ExpressionAttributeValues[":next"].S
	case strings.Contains(one.UpdateExpression, "#od = :due"):
		due = one.ExpressionAttributeValues[":due"].S
	case strings.Contains(one.UpdateExpression, "REMOVE #oq"), strings.Contains(one.UpdateExpression, "#oq = :review"):
		delete(w.open, id)
		return
	default:
		return
	}
	ms, _, _ := strings.Cut(due, "#")
	n, err := strconv.ParseInt(ms, 10, 64)
	if err != nil {
		w.violated("the simulation cannot read when an event is due: %q", due)
		return
	}
	w.open[id] = time.UnixMilli(n).Sub(noon)
}

// observeCall counts what is done to an operation. It goes by the name of the call and by what it says of the item.
func (w *world) observeCall(a *actor, name string, one requestBody, nth int) string {
	op, values := one.item(), one.ExpressionAttributeValues
	switch name {
	case "W4 complete", "W16 draft":
		w.records(a, op, func(p *paying) { p.outputs++ })
	case "W7 retry", "W7 fail", "W24 pause":
		w.records(a, op, func(p *paying) { p.recorded++ })
	case "cancel", "W9 exhaust": // whoever has the lease loses it
		if nth == 0 {
			l := w.leases[op]
			l.token++
			w.leases[op] = l
		}
	case "erase":
		w.removed[op] = true
		delete(w.payments, op) // one that has its key later is another one
		delete(w.leases, op)
		delete(w.kept.outputs, op)
	case "W2 conflict":
		w.conflicts[op] = a
	case "W20 renew":
		if nth == 0 {
			w.payment(op).renewed++
		}
	case "W17 approve", "W18 reject":
		if nth == 0 && len(one.Item) == 0 {
			w.decided(a, op, values[":digest"].S)
		}
	}
	return ""
}

// records notes that the outcome of a call is recorded.
func (w *world) records(a *actor, op string, as func(*paying)) {
	if a.called && a.operation == op {
		a.called = false
		as(a.paying)
	}
}

func (w *world) decided(a *actor, op, digest string) {
	w.counts.Decisions++
	key := op + " " + digest
	w.deciders[short(op)+" "+digest] = a.name
	if w.decisions[key]++; w.decisions[key] > 1 {
		w.violated("approved-bytes: %d decisions on one draft of %s", w.decisions[key], short(op))
	}
}

// observeClaim notes who has the lease, and holds a takeover against the true time: clocks differ by no more than is
// allowed for, so that no lease is taken over before it is over.
func (w *world) observeClaim(a *actor, q *sent, answer *http.Response) string {
	var old struct{ Attributes map[string]attribute }
	_ = json.Unmarshal(peek(answer), &old) // nothing was there
	op, until := q.body.item(), time.UnixMilli(q.body.ExpressionAttributeValues[":until"].number())
	token := old.Attributes["tok"].number() + 1
	before := w.leases[op]
	a.operation, a.token, a.called = op, token, false
	a.event, a.paying = inbox.EventID(q.body.ExpressionAttributeValues[":event"].S), w.payment(op)
	w.leases[op] = held{token, a, until.Sub(noon) - a.process.off}
	said := fmt.Sprintf("ok, token %d", token)
	if old.Attributes["st"].S != "running" {
		return said
	}
	w.counts.Takeovers++
	if w.clock < before.until && !w.scene.wrong {
		w.violated("one-paid-call: the lease on %s was taken over %s before it was over", short(op), before.until-w.clock)
	}
	return said + ", taken over"
}
