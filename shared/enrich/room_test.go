package enrich_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"engang/shared/enrich"
	"engang/shared/inbox"
	"engang/shared/operation"
	"engang/shared/telemetry"
)

// A hook runs once, right before the first call of this name leaves.
type hook struct {
	call string
	do   func()
	once sync.Once
}

func (h *hook) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasPrefix(telemetry.Call(r.Context()), h.call) {
		h.once.Do(h.do)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// disturbed works on an event, before a call of which something else happens, so that its message must come back.
func (w *world) disturbed(id inbox.EventID, call string, by func()) {
	w.t.Helper()
	err := w.worker(&hook{call: call, do: by}).Run(w.t.Context(), id)
	if _, back := errors.AsType[*enrich.Later](err); !back {
		w.t.Errorf("run: %v, want a message that comes back", err)
	}
}

// The claim took so long that call and finish no longer fit into the lease: somebody else could take it over.
func TestALeaseWithoutRoomForACallIsGivenUp(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id := w.receive(arrival{name: "A", version: one})
		slow := &hook{call: "read result", do: func() { w.pass(limits.Lease - limits.Call) }}
		err := w.worker(slow).Run(t.Context(), id)
		if _, back := errors.AsType[*enrich.Later](err); !back || w.model.count() != 0 {
			t.Errorf("run: %v, %d calls", err, w.model.count())
		}
		w.pass(limits.Lease + limits.Skew + time.Second)
		w.run(id)
		w.rest()
	})
}

func TestAMessageWhoseDeadlineIsNearIsGivenBackUnbegun(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id := w.receive(arrival{name: "A", version: one})
		near, cancel := context.WithTimeout(t.Context(), limits.Call)
		defer cancel()
		err := w.worker(nil).Run(near, id)
		if _, back := errors.AsType[*enrich.Later](err); !back || w.model.count() != 0 || len(w.items().Operations()) != 0 {
			t.Errorf("run: %v, %d calls, %d operations", err, w.model.count(), len(w.items().Operations()))
		}
		w.run(id)
		w.rest()
	})
}

// A person redrives right before the worker parks: the parking is refused, and the message must come back.
func TestAParkingThatMeetsARedriveGivesTheMessageBack(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.model.script = []operation.Answer{refusal, refusal}
		id := w.receive(arrival{name: "A", version: one})
		w.disturbed(id, "W6 settle", func() { w.redrive("A") })
		w.run(id) // fails again, under the new generation
		if len(w.sent.all) != 2 || w.sent.all[0].Generation != 0 || w.sent.all[1].Generation != 1 {
			t.Errorf("notices %+v", w.sent.all)
		}
		w.rest()
	})
}
