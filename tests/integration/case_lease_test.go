package integration_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"engang/infra/local/wire"
)

// behind makes the lease that stands look as if the clock of its holder were behind by this much.
func (s *system) behind(d time.Duration) (left time.Duration) {
	s.t.Helper()
	op := s.items().Operations()[0]
	ms, err := strconv.ParseInt(op["exp"], 10, 64)
	if err != nil || op["st"] != "running" {
		s.t.Fatalf("operation %v, %v", op, err)
	}
	until := time.UnixMilli(ms).Add(-d)
	s.set(op, "exp", &types.AttributeValueMemberN{Value: strconv.FormatInt(until.UnixMilli(), 10)})
	return time.Until(until)
}

// A lease lasts 20 s at this speed, and clocks may differ by one.
func TestCaseDDB09LeaseWrittenByOneClockJudgedByAnother(t *testing.T) {
	t.Run("within what clocks may differ by", func(t *testing.T) {
		eachGated(t, caseOptions(), "model call", wire.Before, func(t *testing.T, s *system, g *gate) {
			id := s.accept(s.order("order.updated", paying(1).body()))
			slow := s.work()
			let := g.next(t)
			s.behind(20*time.Second - 500*time.Millisecond)
			for began := time.Now(); s.behind(0) > 0 && time.Since(began) < 10*time.Second; {
				time.Sleep(10 * time.Millisecond)
			}
			out, err := s.Invoke(t.Context(), "enrichment", message(t, id)) // over by the other clock, and taken for running
			if took := s.items().Operations()[0]["tok"]; err != nil || !strings.Contains(string(out), "itemIdentifier") || took != "1" {
				t.Errorf("a second worker came to %s, %v, with token %s", out, err, took)
			}
			let()
			slow.wait()
			s.rest()
			if s.calls() != 1 || len(s.items().Losing()) != 0 {
				t.Errorf("%d calls", s.calls())
			}
		})
	})
	t.Run("by 25 s", func(t *testing.T) {
		eachGated(t, caseOptions(), "model call", wire.Before, func(t *testing.T, s *system, g *gate) {
			id := s.accept(s.order("order.updated", paying(1).body()))
			slow := s.work()
			let := g.next(t)
			s.behind(25 * time.Second)
			done := make(chan struct{})
			go func() {
				defer close(done)
				if _, err := s.Invoke(t.Context(), "enrichment", message(t, id)); err != nil {
					t.Error(err)
				}
			}()
			g.next(t)() // the second worker's call
			<-done
			before := s.items().Results()
			let()
			slow.wait()
			s.rest()
			op, results := s.object("order:1").Operations[0], s.items().Results()
			if s.calls() != 2 || len(s.items().Losing()) != 1 || op.FencingToken != 2 || op.State != "completed" || len(op.Attempts) != 2 {
				t.Errorf("%d calls, losing attempts %v, operation %+v", s.calls(), s.items().Losing(), op)
			}
			if len(before) != 1 || len(results) != 1 || before[0]["at"] != results[0]["at"] || before[0]["dig"] != results[0]["dig"] {
				t.Errorf("the result was %v and is %v", before, results)
			}
			for _, a := range op.Attempts {
				if a.Tokens == nil || a.CostUSD == nil || *a.CostUSD == 0 { // also the losing one is paid for, and recorded
					t.Errorf("attempt %+v", a)
				}
			}
		})
	})
}

func TestCaseSTR08SlowHandlerOverwritesFreshState(t *testing.T) {
	sideBySide(t)
	eachGated(t, caseOptions(), "model call", wire.After, func(t *testing.T, s *system, g *gate) {
		older, newer := order{id: 1, status: "on-hold", modified: earlierInTheDay}, order{id: 1, status: "processing", modified: laterInTheDay}
		first := s.accept(s.order("order.updated", older.body()))
		slow := s.work()
		letSlow := g.next(t) // it has read the older version, and paid for it
		second := s.accept(s.order("order.updated", newer.body()))
		quick := s.work()
		g.next(t)()
		quick.wait()
		before := s.items().Results()
		letSlow()
		slow.wait()
		s.rest()
		s.by("order:1", second)
		s.outcomes(first, "superseded", second, "completed")
		if after := s.items().Results(); len(before) != 1 || before[0]["out"] != after[0]["out"] || before[0]["rank"] != after[0]["rank"] {
			t.Errorf("the result was %v and is %v", before, after)
		}
		for _, op := range s.object("order:1").Operations {
			if len(op.Attempts) != 1 || op.Attempts[0].Outcome != "usable" || op.CostUSD == 0 {
				t.Errorf("operation %+v", op)
			}
		}
		if s.calls() != 2 {
			t.Errorf("%d calls", s.calls())
		}
	})
}
