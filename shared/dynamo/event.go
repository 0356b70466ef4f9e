package dynamo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"engang/shared/inbox"
	"engang/shared/operation"
)

// Unsent is what parks an event that was sent too often without a sign of life.
type Unsent = inbox.Unsent

// vanishing bounds how often a put is repeated whose condition was refused by an item that is gone by
// the time it is read. Only TTL removes items.
const vanishing = 3

var errVanishing = errors.New("the stored item keeps vanishing")

// Receive stores an event as received and open, with the write id that the caller made for this
// delivery, and says what the delivery is (W1). State, generation and sends of ev are not looked at;
// its reason and category say, if anything, why it cannot be worked on.
//
// Nothing but a nil error means that the event is stored. Any number of calls at once store one event.
func (t *Table) Receive(ctx context.Context, ev inbox.Event) (inbox.Receipt, error) {
	for range vanishing {
		err := t.put(ctx, putEvent, eventKey(ev.ID), eventItem(ev), nil)
		refused, ok := errors.AsType[*refusal](err)
		switch {
		case err == nil:
			return inbox.Accepted, nil
		case !ok:
			return 0, fmt.Errorf("receive event %s: %w", ev.ID, err)
		case len(refused.stored) == 0:
			continue
		}
		stored, err := readEvent(refused.stored)
		if err != nil {
			return 0, fmt.Errorf("receive event %s: %w", ev.ID, err)
		}
		return inbox.Judge(stored, ev.WriteID, ev.Digest, ev.Body.Key), nil
	}
	return 0, fmt.Errorf("receive event %s: %w", ev.ID, errVanishing)
}

// RecordConflict stores another fact under the key of a stored event, for the review list (W2). It is
// recorded once, however often it is delivered.
func (t *Table) RecordConflict(ctx context.Context, c inbox.Conflict) error {
	it := item{"at": millis(c.At), "oq": str(review), "od": str(stamp(c.At, string(c.Event)+"#"+c.Digest))}
	it.set(map[string]string{"did": c.DeliveryID})
	err := t.put(ctx, putConflict, conflictKey(c.Event, c.Digest), it, nil)
	if _, refused := errors.AsType[*refusal](err); err != nil && !refused {
		return fmt.Errorf("record conflict of event %s: %w", c.Event, err)
	}
	return nil
}

// seenDays is how long a count of deliveries is kept after the last one: longer than senders repeat.
const seenDays = 90

// CountSeen counts one more delivery of a stored event (SEEN). A repeat after a lost answer counts twice.
// The count expires ninety days after the last delivery.
func (t *Table) CountSeen(ctx context.Context, id inbox.EventID, at time.Time) error {
	if err := t.change(ctx, countSeen, seenKey(id), item{":now": millis(at), ":one": num(1), ":later": seconds(at.AddDate(0, 0, seenDays))}); err != nil {
		return fmt.Errorf("count delivery of event %s: %w", id, err)
	}
	return nil
}

// Event reads an event consistently. It returns [inbox.ErrNotFound] if there is none.
func (t *Table) Event(ctx context.Context, id inbox.EventID) (inbox.Event, error) {
	it, err := t.read(ctx, eventKey(id))
	if err != nil {
		return inbox.Event{}, fmt.Errorf("read event %s: %w", id, err)
	}
	if len(it) == 0 {
		return inbox.Event{}, fmt.Errorf("read event %s: %w", id, inbox.ErrNotFound)
	}
	ev, err := readEvent(it)
	if err != nil {
		return inbox.Event{}, fmt.Errorf("read event %s: %w", id, err)
	}
	return ev, nil
}

// End settles or parks an event (W6), or parks one that has no operation (W6r). It returns
// [inbox.ErrStale] when the event is not open in the generation that the worker read; that is also
// what a repeat after our own lost answer meets, and there is nothing left to do either way. One that is parked on
// operations is written together with them: [inbox.ErrStale] is also that one of them does not wait with this event.
func (t *Table) End(ctx context.Context, e inbox.Ending) error {
	given := item{":generation": num(e.Generation), ":now": millis(e.At)}
	var s statement
	switch {
	case e.Parked && len(e.Operations) == 0:
		s = parkAlone
		given[":reason"], given[":category"] = str(e.Reason), str(e.Category)
		given[":when"] = str(stamp(e.At, string(e.Event)))
	case e.Parked:
		return stale("end event "+string(e.Event), t.park(ctx, e, given))
	default:
		s = settle
		given[":outcome"], given[":operation"] = str(e.Outcome), list(e.Operations)
		if e.Reason != "" || e.Outcome == inbox.Split { // a split one may have been parked before, with a reason of its own
			s = settleNaming
			given[":reason"] = str(e.Reason)
		}
		s = s.expiring(given, e.ExpiresAt)
	}
	return stale("end event "+string(e.Event), t.change(ctx, s, eventKey(e.Event), given))
}

// park is W6 of an event that met failed operations, in one transaction with them.
func (t *Table) park(ctx context.Context, e inbox.Ending, given item) error {
	refused := func(item) error { return inbox.ErrStale }
	given[":reason"], given[":category"], given[":operation"] = str(e.Reason), str(e.Category), list(e.Operations)
	steps := []step{{s: park, key: eventKey(e.Event), given: given, onFail: refused}}
	for _, name := range e.Operations {
		k, err := operation.ParseKey(e.Scope, name)
		if err != nil {
			return err
		}
		steps = append(steps, step{s: waitsFor, key: operationKey(k), given: item{":waiting": str(e.Event)}, onFail: refused})
	}
	return t.commit(ctx, park.call, steps...)
}

// PushDue postpones an open event: the reconciler sends it when due (W22). The worker had it in hand,
// so the count of sends begins anew. It returns [inbox.ErrStale] when the event is not open in this
// generation any more.
func (t *Table) PushDue(ctx context.Context, id inbox.EventID, generation int, due time.Time) error {
	given := item{":next": str(stamp(due, string(id))), ":zero": num(0), ":generation": num(generation)}
	return stale("postpone event "+string(id), t.change(ctx, pushDue, eventKey(id), given))
}

// Replay opens a settled event again, under recipes of which one was raised (W14). It returns
// [inbox.ErrStale] when the event is not settled under the former ones; that is also what a repeat
// after our own lost answer meets, and then the event is open.
func (t *Table) Replay(ctx context.Context, id inbox.EventID, former, raised []inbox.RecipeRef, due time.Time) error {
	given := opened(id, due)
	given[":recipe"], given[":former"] = str(recipesText(raised)), str(recipesText(former))
	return stale("replay event "+string(id), t.change(ctx, replay, eventKey(id), given))
}

// Reopen opens an event that was parked without an operation (W13, the event's half alone). It returns
// [inbox.ErrStale] when it is not parked; that is also what a repeat after our own lost answer meets.
func (t *Table) Reopen(ctx context.Context, id inbox.EventID, due time.Time) error {
	return stale("reopen event "+string(id), t.change(ctx, reopen, eventKey(id), opened(id, due)))
}

// opened is what each reopening of an event sets.
func opened(id inbox.EventID, due time.Time) item {
	return item{":open": str(openHash(id)), ":due": str(stamp(due, string(id))), ":zero": num(0), ":one": num(1)}
}

// stale makes a refused condition [inbox.ErrStale], and wraps what is something else.
func stale(act string, err error) error {
	if err == nil {
		return nil
	}
	if _, refused := errors.AsType[*refusal](err); refused {
		err = inbox.ErrStale
	}
	return fmt.Errorf("%s: %w", act, err)
}

// Deliveries reads all that is kept under an event's id, consistently: the event, the count of its
// repeats, and the other facts that came under its key. It returns [inbox.ErrNotFound] if there is no
// such event.
func (t *Table) Deliveries(ctx context.Context, id inbox.EventID) (ev inbox.Event, seen inbox.Seen, conflicts []inbox.Conflict, err error) {
	items, err := t.collection(ctx, "read event", eventPrefix+string(id))
	if err != nil {
		return ev, seen, nil, fmt.Errorf("read deliveries of event %s: %w", id, err)
	}
	found := false
	for _, it := range items {
		r := &reader{it: it}
		switch sk := r.text("sk"); {
		case sk == eventSort:
			found = true
			ev, r.err = readEvent(it)
		case sk == seenSort:
			seen = inbox.Seen{Count: int(r.number("num")), FirstAt: r.millis("first"), LastAt: r.millis("last")}
		case strings.HasPrefix(sk, conflictPrefix):
			conflicts = append(conflicts, inbox.Conflict{Event: id, Digest: strings.TrimPrefix(sk, conflictPrefix), At: r.millis("at"), DeliveryID: r.text("did"), Dismissed: r.dismissed()})
		}
		if r.err != nil {
			return ev, seen, nil, fmt.Errorf("read deliveries of event %s: %w", id, r.err)
		}
	}
	if !found {
		return ev, seen, nil, fmt.Errorf("read deliveries of event %s: %w", id, inbox.ErrNotFound)
	}
	return ev, seen, conflicts, nil
}
