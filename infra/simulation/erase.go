package simulation

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"engang/shared/control"
	"engang/shared/object"
)

// eraser is who erases: nobody who decides about drafts.
const eraser = "eve"

// mostErasing bounds the calls of one erasure, those that were cut off too.
const mostErasing = 300

// An erasure is one object that somebody erases, call by call, until nothing of it is left.
type erasure struct {
	object string        // "product:1"
	at     time.Duration // when it begins

	begun time.Time     // as it says itself; zero: it has not said anything
	next  string        // where it goes on
	calls int           // so far
	cut   bool          // a call was cut off: what was under way then is not waited for
	ended time.Duration // zero: it has not
}

// name is how a history calls it.
func (e *erasure) name() string { return "erasure of " + e.object }

// planErasures has somebody erase.
func (w *world) planErasures() {
	for _, e := range w.scene.erasures {
		if w.happens(e.name()) {
			w.erasures = append(w.erasures, &e)
			w.eraseAt(&e, e.at)
		}
	}
}

// eraseAt makes the next call of an erasure. One that is cut off is made again, as its caller does.
func (w *world) eraseAt(e *erasure, at time.Duration) {
	w.at(at, e.name(), func() {
		e.calls++
		p := w.processOf(fmt.Sprintf("console %d", 1+w.dice.below(2, "console for "+e.name(), e.calls)))
		a := &actor{name: fmt.Sprintf("%s, %s, call %d", eraser, e.name(), e.calls), process: p, person: true, end: w.clock + consoleTime}
		w.counts.Erasures++
		w.start(a, func(ctx context.Context) {
			if e.calls > mostErasing {
				w.violated("no-dead-ends: the %s does not come to its end", e.name())
				return
			}
			again := w.clock + w.dice.between(time.Second, 20*time.Second, "again "+e.name(), e.calls)
			id, err := object.ParseID(e.object)
			if err != nil {
				w.violated("erase: %v", err)
				return
			}
			did, err := p.decides().Erase(ctx, scope, control.Erasure{Object: id, By: eraser, Reason: because, After: e.next})
			if err != nil {
				w.note(a, e.name(), outcomeOf(err))
				e.cut = true
				w.eraseAt(e, again)
				return
			}
			w.note(a, e.name(), fmt.Sprintf("%d events, %d items, %d cancelled", did.Events, did.Items, did.Cancelled))
			w.eraseOn(e, did)
		})
	})
}

// eraseOn goes on with an erasure where there is more to do, at the time that it names.
func (w *world) eraseOn(e *erasure, did control.Erased) {
	e.begun, e.next = did.At, did.Next
	switch {
	case did.Next == "" && e.cut: // it is begun again, when whoever was under way is at the end of its time
		e.cut = false
		w.eraseAt(e, w.clock+openAge+skew)
	case did.Next == "" || w.Hasty && did.AgainAt != nil:
		e.ended = w.clock
	case did.AgainAt != nil:
		w.dismissBatches(e)
		w.eraseAt(e, max(did.AgainAt.Sub(noon), w.clock)+100*time.Millisecond)
	default:
		w.eraseAt(e, w.clock)
	}
}

// dismissBatches has somebody decide, when the faults are over, about deliveries that an erasure may wait for: one that
// holds something that is no event is parked until then.
func (w *world) dismissBatches(e *erasure) {
	for _, d := range w.scene.deliveries {
		if w.calm() && d.flawed {
			w.acts("dismissal for the "+e.name(), "ann", w.dismissing(string(d.wants())))
		}
	}
}

// waitsForErasure tells whether a delivery brings a new event of an object that is just being erased, or is about to be.
// Such a one comes when that is over: what it would meet before is taken away from it.
func (w *world) waitsForErasure(d delivery) bool {
	return slices.ContainsFunc(w.erasures, func(e *erasure) bool {
		return e.ended == 0 && w.clock >= e.at-receiverTime && slices.ContainsFunc(d.events(), func(p delivery) bool {
			_, stored := w.stored[p.wants()]
			return p.object == e.object && !stored
		})
	})
}

// erased throws which object is erased: what came of it before comes again, and something new may come.
func (d dice) erased(s *scene, contents int) {
	var all []string
	for _, one := range s.events() {
		if one.object != "" && !slices.Contains(all, one.object) {
			all = append(all, one.object)
		}
	}
	e := erasure{object: all[d.below(len(all), "erased object", 0)], at: d.between(s.busy/4, s.busy+time.Minute, "erased at", 0)}
	s.erasures = append(s.erasures, e)
	for i := range s.deliveries {
		if one := &s.deliveries[i]; one.holds(e.object) && d.chance(500, "repeat of "+one.name, 0) {
			one.times = append(one.times, d.near(e, one.name+" after it is erased"))
		}
	}
	kind, number, _ := strings.Cut(e.object, ":")
	o, err := strconv.Atoi(number)
	if err != nil {
		panic(err) // made here
	}
	for n := range d.below(3, "later", 0) {
		v := version{name: fmt.Sprintf("%d.later.%d", o, n+1), at: noon.Add(time.Duration(d.below(120, "later version", n)-90) * time.Minute), nth: 10 + n, among: contents, bulky: s.bulky}
		one := d.later(s, kind, o, v)
		one.times = []time.Duration{d.near(e, one.name)}
		s.deliveries = append(s.deliveries, one)
	}
}

// near is a time at about that of an erasure, or some time behind it.
func (d dice) near(e erasure, what string) time.Duration {
	if d.chance(500, what+" soon", 0) {
		return max(e.at+d.between(-2*time.Second, 8*time.Second, what, 0), 0)
	}
	return e.at + d.between(0, 25*time.Minute, what, 0)
}

// later is what the sender says of a version that comes after the erasure: a contact's may come with others.
func (d dice) later(s *scene, kind string, o int, v version) delivery {
	if kind == "product" {
		return d.delivery(o, v)
	}
	v.name = "c" + v.name
	one := d.part(o, v)
	if d.chance(500, one.name+" alone", 0) {
		one.other = nil
		return one
	}
	batch := delivery{name: "batch of " + one.name, endpoint: crmName, retries: true, parts: []delivery{one}}
	for _, other := range s.deliveries {
		if len(other.parts) > 0 && d.chance(300, batch.name+" has one of "+other.name, 0) {
			batch.parts = append(batch.parts, other.parts[0])
		}
	}
	batch.parts = slices.CompactFunc(batch.parts, func(a, b delivery) bool { return a.key == b.key })
	batch.fill(0)
	return batch
}
