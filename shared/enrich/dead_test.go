package enrich_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"engang/shared/inbox"
	"engang/shared/operation"
	"engang/shared/telemetry"
)

// When a call that went over a dead connection takes effect.
const (
	never     = "never"
	before    = "before the repeat"
	afterward = "behind the repeat"
)

// A dead connection takes one call and gives no answer: a frozen environment woke up to it, or a network drops
// everything. What it took may arrive all the same.
type dead struct {
	call    string
	arrives string
	always  bool // no try is answered

	mu      sync.Mutex
	tries   int
	waiting *http.Request // to arrive behind the repeat
	late    int           // status of what arrived
}

func (d *dead) RoundTrip(r *http.Request) (*http.Response, error) {
	if telemetry.Call(r.Context()) != d.call {
		return http.DefaultTransport.RoundTrip(r)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.tries++; d.tries == 1 || d.always {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		lost := r.Clone(context.WithoutCancel(r.Context()))
		lost.Body = io.NopCloser(bytes.NewReader(body))
		<-r.Context().Done()
		switch d.arrives {
		case before:
			err = d.arrive(lost)
		case afterward:
			d.waiting = lost
		}
		if err != nil {
			return nil, err
		}
		return nil, r.Context().Err()
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if lost := d.waiting; lost != nil && err == nil {
		d.waiting = nil
		err = d.arrive(lost)
	}
	return answer, err
}

func (d *dead) arrive(lost *http.Request) error {
	answer, err := http.DefaultTransport.RoundTrip(lost)
	if err != nil {
		return err
	}
	d.late = answer.StatusCode
	return answer.Body.Close()
}

// What was paid for is committed although one connection is dead, and once, whatever becomes of the try that was
// given up.
func TestACommitThatGetsNoAnswerIsRepeatedUnderItsOwnName(t *testing.T) {
	for _, tt := range []struct {
		arrives string
		late    int
	}{
		{never, 0},
		{before, http.StatusOK},
		{afterward, http.StatusBadRequest},
	} {
		t.Run(tt.arrives, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				id := w.receive(arrival{name: "A", version: one})
				d := &dead{call: "W4 complete", arrives: tt.arrives}
				worker := w.worker(d)
				worker.Limits.Answer, worker.Limits.Call, worker.Limits.Finish = 200*time.Millisecond, time.Second, time.Second
				ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second) // what the function has left
				defer cancel()
				if err := worker.Run(ctx, id); err != nil {
					t.Errorf("run: %v", err)
				}
				if d.tries < 2 || d.late != tt.late {
					t.Errorf("%d tries; what was late had status %d, want %d", d.tries, d.late, tt.late)
				}
				w.settled(id, inbox.Completed)
				if op := w.operation("A"); op.State != operation.Completed || len(op.Attempts) != 1 || op.Token != 1 || w.model.count() != 1 || len(w.items().Losing()) != 0 {
					t.Errorf("operation %+v, %d calls, losing %v", op, w.model.count(), w.items().Losing())
				}
				w.rest()
			})
		})
	}
}

// No number of tries outlasts the function: the rest is the next worker's.
func TestRepeatsEndWithTheFunctionsTime(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id := w.receive(arrival{name: "A", version: one})
		d := &dead{call: "W4 complete", arrives: never, always: true}
		worker := w.worker(d)
		worker.Limits.Answer = 100 * time.Millisecond
		worker.Limits.Call, worker.Limits.Finish = time.Millisecond, time.Millisecond
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := worker.Run(ctx, id); err == nil || d.tries < 2 {
			t.Errorf("run: %v after %d tries", err, d.tries)
		}
		if op := w.operation("A"); op.State != operation.Running {
			t.Errorf("operation is %s", op.State)
		}
	})
}
