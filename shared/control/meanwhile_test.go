package control_test

import (
	"errors"
	"testing"

	"engang/shared/inbox"
	"engang/shared/operation"
)

// An event whose work was cancelled may move on before it is settled itself.
func TestAnEventThatMovedOnAfterItsWorkWasCancelled(t *testing.T) {
	for _, c := range []struct {
		name string
		then func(e *inbox.Event)
		ends int
	}{
		{"opened again: it is settled in that generation", func(e *inbox.Event) { e.Generation = 7 }, 1},
		{"settled by a worker, which did another recipe's work: there is nothing left to do", func(e *inbox.Event) { e.State, e.Outcome = inbox.Settled, inbox.Completed }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMemory()
			e := m.opened(1, "product:794", 5)
			op := m.working(e, "aa", operation.Running)
			var wait func()
			wait = func() {
				if m.find(op.Key).State != operation.Failed {
					m.meanwhile = wait // not yet
					return
				}
				changed := m.events[e.ID]
				c.then(&changed)
				m.events[e.ID] = changed
			}
			m.meanwhile = wait
			got, err := m.cancel(t, string(e.ID))
			if err != nil || len(got.Operations) != 1 || got.Already {
				t.Errorf("%+v, %v", got, err)
			}
			if len(m.ends) != c.ends || c.ends == 1 && m.ends[0].Generation != 7 || m.events[e.ID].State != inbox.Settled {
				t.Errorf("ends %+v, event %+v", m.ends, m.events[e.ID])
			}
		})
	}
}

// Who looked at another draft than the one that was set aside is told that it is not there, not what it lost to.
func TestAnotherDraftThanTheOneThatWasSetAside(t *testing.T) {
	d := newCounter()
	o := d.draft(1, 5)
	d.result(3, 2)
	d.ops[0].State = operation.Superseded
	asked := deciding(o)
	_, err := d.control().Approve(t.Context(), shop, asked)
	if _, overtaken := errors.AsType[*operation.OvertakenError](err); !overtaken {
		t.Errorf("of the draft itself: %v", err)
	}
	asked.Digest = "sha256:00"
	_, err = d.control().Approve(t.Context(), shop, asked)
	if _, overtaken := errors.AsType[*operation.OvertakenError](err); overtaken || !errors.Is(err, operation.ErrNotWaiting) {
		t.Errorf("of another draft: %v", err)
	}
}
