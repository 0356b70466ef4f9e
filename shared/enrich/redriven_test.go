package enrich_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/audit"
	"engang/shared/dynamo/dynamotest"
	"engang/shared/operation"
)

// redrivesRecorded demands that so many redrives by letters stand in the audit log, each for as long as results are
// kept, and that nothing else does.
func (w *world) redrivesRecorded(n int) {
	w.t.Helper()
	trail, err := w.table.AuditTrail(w.t.Context(), scope, w.clock())
	if err != nil || len(trail) != n {
		w.t.Errorf("%d redrives are recorded, want %d: %+v, %v", len(trail), n, trail, err)
	}
	for _, e := range trail {
		want := audit.Entry{Scope: scope, At: e.At, ID: e.ID, By: "aws:sqs-redrive", Act: "redrive", Target: e.Target, Reason: "moved back from the dead-letter queue", ExpiresAt: e.At.AddDate(0, 0, w.common.ResultDays).Truncate(time.Second)}
		if diff := cmp.Diff(want, e); diff != "" || e.Target == "" {
			w.t.Errorf("recorded (-want +got):\n%s", diff)
		}
	}
}

// A letter opens nothing that a person has dismissed, and then there is nothing to record.
func TestALetterThatOpensNothingIsNotRecorded(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.refused(arrival{name: "A", version: one})
		w.dismiss("A")
		for range 3 { // the queue may deliver it again
			if err := w.worker(nil).Redriven(t.Context(), w.sent.all[0]); err != nil {
				t.Fatal(err)
			}
		}
		if op := w.operation("A"); op.State != operation.Failed {
			t.Errorf("operation is %s", op.State)
		}
		w.redrivesRecorded(0)
	})
}

// A redrive whose answer is lost, or whose worker dies before the record, is recorded all the same, and once.
func TestARedriveByALetterIsRecordedOnceWhateverIsLost(t *testing.T) {
	for _, tt := range []struct {
		name, target string
		applied      bool
		n            int
	}{
		{"the answer of the redrive", "W13 redrive", true, 1},
		{"every answer of the redrive", "W13 redrive", true, dynamotest.Tries},
		{"the record", "audit", false, dynamotest.Tries},
		{"every answer of the record", "audit", true, dynamotest.Tries},
	} {
		t.Run("of an operation: "+tt.name, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				w.refused(arrival{name: "A", version: one})
				w.redrivenThrough(&dynamotest.Fault{Target: tt.target, Applied: tt.applied, N: tt.n})
				w.redrivesRecorded(1)
				w.rest()
			})
		})
	}
	t.Run("of an event without an operation: the answer of the reopening", func(t *testing.T) {
		each(t, func(t *testing.T, w *world) {
			id := w.receive(arrival{version: one, key: "k"})
			w.run(id)
			w.redrivenThrough(&dynamotest.Fault{Target: "W13 redrive", Applied: true, N: 1})
			if ev := w.event(id); ev.Generation != 1 {
				t.Errorf("generation %d", ev.Generation)
			}
			w.redrivesRecorded(1)
		})
	})
}

// A person is faster than the letter: the redrive is the person's, who has a record of it elsewhere.
func TestAPersonsRedriveIsNotRecordedAsALetters(t *testing.T) {
	for _, call := range []string{"read operation", "W13 redrive"} {
		t.Run("of an operation, before "+call, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				w.refused(arrival{name: "A", version: one})
				redriven := false
				faster := &hook{call: call, do: func() { w.redrive("A"); redriven = true }}
				if err := w.worker(faster).Redriven(t.Context(), w.sent.all[0]); err != nil || !redriven {
					t.Fatal(redriven, err)
				}
				w.redrivesRecorded(0)
				w.rest()
			})
		})
	}
	t.Run("of an event without an operation", func(t *testing.T) {
		each(t, func(t *testing.T, w *world) {
			id := w.receive(arrival{version: one, key: "k"})
			w.run(id)
			faster := &hook{call: "W13 redrive", do: func() {
				if err := w.table.Reopen(t.Context(), id, w.clock().Add(time.Minute)); err != nil {
					t.Error(err)
				}
			}}
			if err := w.worker(faster).Redriven(t.Context(), w.sent.all[0]); err != nil {
				t.Fatal(err)
			}
			w.redrivesRecorded(0)
		})
	})
}

// redrivenThrough lets the first letter come until it is done with, the first time with a fault.
func (w *world) redrivenThrough(f *dynamotest.Fault) {
	w.t.Helper()
	if err := w.worker(f).Redriven(w.t.Context(), w.sent.all[0]); f.Hits() == 0 || (err != nil) != (f.N > 1) { // the client makes one loss good
		w.t.Fatalf("%d calls were struck: %v", f.Hits(), err)
	}
	for range 2 {
		w.pass(time.Second)
		if err := w.worker(nil).Redriven(w.t.Context(), w.sent.all[0]); err != nil {
			w.t.Fatal(err)
		}
	}
}
