package integration_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"engang/infra/local"
	"engang/infra/local/wire"
)

// message is the work queue's message for an event, as the function gets it.
func message(t testing.TB, event string) []byte {
	t.Helper()
	raw, err := json.Marshal(events.SQSEvent{Records: []events.SQSMessage{{
		MessageId: "m-" + event, ReceiptHandle: "gone", Body: fmt.Sprintf(`{"event":%q}`, event), EventSource: "aws:sqs", Attributes: map[string]string{"ApproximateReceiveCount": "1"},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestScenario10TwoWorkersOnOneOperation(t *testing.T) {
	each(t, local.Options{Speed: calm}, func(t *testing.T, s *system) {
		id := s.accept(s.product(product{ID: 794, Name: "Chair"}))
		var done, again atomic.Int32
		atOnce(8, func(int) {
			out, err := s.Invoke(t.Context(), "enrichment", message(t, id))
			var r events.SQSEventResponse
			if err != nil || json.Unmarshal(out, &r) != nil {
				t.Errorf("invoke: %s, %v", out, err)
			}
			if len(r.BatchItemFailures) == 0 {
				done.Add(1)
			} else {
				again.Add(1)
			}
		})
		if s.calls() != 1 {
			t.Errorf("%d model calls by 8 workers at once, %d done, %d come again", s.calls(), done.Load(), again.Load())
		}
		s.rest()
		if op := s.object("product:794").Operations; len(op) != 1 || len(op[0].Attempts) != 1 {
			t.Errorf("operations %+v", op)
		}
	})
}

// A worker stalls with its paid answer in hand, right before it commits. Its lease ends, another worker
// takes over and completes; then the first one wakes up and writes.
func TestScenario11StalledWorkerWakesUpAndWrites(t *testing.T) {
	for _, stall := range []string{"W4 complete", "W5 result", "W6 settle"} {
		t.Run(stall, func(t *testing.T) {
			stalled, wake := make(chan struct{}), make(chan struct{})
			var once sync.Once
			judge := func(c wire.Call, p wire.Phase) wire.Verdict {
				if c.Function == "enrichment" && c.Name == stall && p == wire.Before {
					first := false
					once.Do(func() { first = true })
					if first {
						close(stalled)
						<-wake
					}
				}
				return wire.Pass
			}
			s := start(t, local.Options{Judge: judge})
			id := s.accept(s.product(product{ID: 794, Name: "Chair"}))
			var both sync.WaitGroup
			both.Go(func() {
				if _, err := s.Invoke(t.Context(), "enrichment", message(t, id)); err != nil {
					t.Errorf("the stalled worker: %v", err)
				}
			})
			<-stalled
			s.settle() // the other worker: it waits for the lease to end, if there is one
			close(wake)
			both.Wait()
			s.rest()
			lost := map[string]int{"W4 complete": 1}[stall] // only an attempt that was fenced before its commit lost its call
			if s.calls() != 1+lost || len(s.items().Losing()) != lost {
				t.Errorf("%d calls, %d losing attempts; want %d, %d", s.calls(), len(s.items().Losing()), 1+lost, lost)
			}
			op := s.object("product:794").Operations[0]
			if op.FencingToken != int64(1+lost) || op.State != "completed" {
				t.Errorf("operation %+v", op)
			}
		})
	}
}

// An answer that is lost after a write took effect is our own write, not somebody else's.
func TestScenario13LostAnswerToOurOwnWrite(t *testing.T) {
	for _, write := range []string{"W1", "W3", "W4", "W5", "W6"} {
		t.Run(write, func(t *testing.T) {
			each(t, local.Options{Faults: "store:lost@" + write, Speed: calm}, func(t *testing.T, s *system) {
				s.accept(s.product(product{ID: 794, Name: "Chair"}))
				s.rest()
				if fired := s.Faults().Fired(); len(fired) != 1 {
					t.Fatalf("fired %v", fired)
				}
				if o := s.object("product:794"); s.calls() != 1 || len(s.items().Losing()) != 0 || len(o.Operations[0].Attempts) != 1 || o.Operations[0].FencingToken != 1 {
					t.Errorf("%d calls, %d losing attempts, operation %+v", s.calls(), len(s.items().Losing()), o.Operations[0])
				}
			})
		})
	}
}

// The five outcomes of a killed worker that the program's own --fail names.
func TestAKilledWorkerIsFollowedByTheNext(t *testing.T) {
	cases := map[string]int{"after-claim": 1, "before-call": 1, "after-call": 2, "after-W4": 1, "after-W5": 1}
	var all sync.WaitGroup
	for fault, calls := range cases {
		all.Go(func() {
			t.Run(fault, func(t *testing.T) {
				s := start(t, local.Options{Faults: "worker:kill@" + fault})
				s.accept(s.product(product{ID: 794, Name: "Chair"}))
				s.rest()
				if s.calls() != calls {
					t.Errorf("%d calls, want %d", s.calls(), calls)
				}
			})
		})
	}
	all.Wait()
}
