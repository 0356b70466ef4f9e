package enrich_test

import (
	"context"
	"slices"
	"testing"

	"engang/shared/bodies"
	"engang/shared/dynamo/dynamotest"
	"engang/shared/enrich"
	"engang/shared/inbox"
)

// dropping reads bodies that stand in the event, and keeps what is dropped.
type dropping struct {
	inline
	dropped *[]string
}

func (d dropping) Drop(_ context.Context, b inbox.Body) error {
	*d.dropped = append(*d.dropped, string(b.Packed))
	return nil
}

// A delivery that brings once more what was erased keeps nothing of it either. Its other parts are stored before, whatever
// breaks off; and one of which a person must look at something stays as it is.
func TestADeliveryThatBringsAnErasedEventIsEmptied(t *testing.T) {
	for _, c := range []struct {
		name           string
		erased, flawed bool
		state          inbox.State
		emptied        bool
	}{
		{"one part was erased", true, false, inbox.Settled, true},
		{"none was", false, false, inbox.Settled, false},
		{"one was, and another is no event", true, true, inbox.Parked, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				id, parts := w.batch(3)
				if c.flawed {
					parts.err = inbox.ErrPart
				}
				if c.erased {
					w.erased(parts.events[0])
				}
				var dropped []string
				sent := &queued{}
				worker := w.worker(nil)
				worker.Parts, worker.Sender, worker.Bodies = parts, sent, dropping{dropped: &dropped}
				run := func(worker *enrich.Worker) {
					if err := worker.Run(t.Context(), id); err != nil {
						t.Fatal(err)
					}
				}
				run(worker)
				ev := w.event(id)
				if ev.State != c.state || ev.Erased.IsZero() == c.emptied || (len(ev.Body.Packed) == 0) != c.emptied {
					t.Errorf("it is %s %s, erased %v, %d bytes left", ev.State, ev.Outcome, ev.Erased, len(ev.Body.Packed))
				}
				if got := slices.Contains(dropped, string(bodies.Pack([]byte(`[]`)))); got != c.emptied {
					t.Errorf("its body was dropped: %v", got)
				}
				if want := map[bool]int{true: 2, false: 3}[c.erased]; len(sent.ids) != want {
					t.Errorf("sent %v, want %d parts", sent.ids, want)
				}
				run(worker) // its message comes once more
				if again := w.event(id); again.Generation != ev.Generation || !again.Erased.Equal(ev.Erased) {
					t.Errorf("then %+v", again)
				}
			})
		})
	}
}

// A store that is away when it is emptied leaves it open, and the next worker empties it.
func TestADeliveryThatCannotBeEmptiedIsTakenApartAgain(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id, parts := w.batch(2)
		w.erased(parts.events[0])
		var dropped []string
		away := w.worker(&dynamotest.Fault{Target: "erase", N: dynamotest.Tries})
		away.Parts, away.Sender, away.Bodies = parts, &queued{}, dropping{dropped: &dropped}
		if err := away.Run(t.Context(), id); err == nil || w.event(id).State != inbox.Received || slices.Contains(dropped, string(bodies.Pack([]byte(`[]`)))) {
			t.Errorf("%v; it is %s, dropped %d bodies", err, w.event(id).State, len(dropped))
		}
		worker := w.worker(nil)
		worker.Parts, worker.Sender = parts, &queued{}
		if err := worker.Run(t.Context(), id); err != nil || w.event(id).Erased.IsZero() {
			t.Errorf("%v, %+v", err, w.event(id))
		}
	})
}

// erased is an event that another delivery brought, and that an erasure emptied.
func (w *world) erased(e inbox.Event) {
	w.t.Helper()
	e.WriteID = "another"
	if _, err := w.table.Receive(w.t.Context(), e); err != nil {
		w.t.Fatal(err)
	}
	if err := w.table.EmptyEvent(w.t.Context(), e.ID, w.clock()); err != nil {
		w.t.Fatal(err)
	}
}
