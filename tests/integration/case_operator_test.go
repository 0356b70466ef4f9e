package integration_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"engang/infra/local"
	"engang/infra/local/wire"
	"engang/shared/control"
)

// The inbox is what is true: the reconciler sends again what a purge took, once each, and what is done already stays.
func TestCaseSQS08ChangingRetentionEmptiedTheQueue(t *testing.T) {
	sideBySide(t)
	each(t, caseOptions(), func(t *testing.T, s *system) {
		const pending, done = 200, 20
		var ids []string
		for i := range done + pending {
			ids = append(ids, s.accept(s.order("order.updated", paying(1+i).body())))
			if i == done-1 {
				s.settle()
			}
		}
		address := s.QueueURL("WorkQueue")
		if _, err := s.SQS().PurgeQueue(t.Context(), &sqs.PurgeQueueInput{QueueUrl: &address}); err != nil {
			t.Fatal(err)
		}
		if s.step() != 0 || s.calls() != done {
			t.Fatalf("the queue is not empty, %d calls", s.calls())
		}
		before := s.Record().Counts()["send event"]
		s.hurry()
		s.rest()
		if sent := s.Record().Counts()["send event"] - before; s.calls() != done+pending || sent < pending {
			t.Errorf("%d calls, %d sends", s.calls(), sent)
		}
		for i, id := range ids {
			if e := s.event(id); e.Outcome != "completed" || (e.Sends > 0) != (i >= done) {
				t.Fatalf("event %d: %+v", i, e)
			}
		}
	})
}

// spoilt delivers orders that the model refuses, and returns the names of their operations.
func (s *system) spoilt(orders int) (operations []string) {
	s.t.Helper()
	s.fails("refusal", orders)
	for i := range orders {
		s.accept(s.order("order.updated", paying(1+i).body()))
	}
	s.settle()
	for i := range orders {
		operations = append(operations, s.object(paying(1 + i).object()).Operations[0].ID)
	}
	return operations
}

// moved moves every dead letter to the work queue, as the queue's own button does.
func (s *system) moved() (letters int) {
	s.t.Helper()
	from, to := s.QueueURL("WorkDeadLetterQueue"), s.QueueURL("WorkQueue")
	for _, all := range s.notices() {
		for _, m := range all {
			if _, err := s.SQS().SendMessage(s.t.Context(), &sqs.SendMessageInput{QueueUrl: &to, MessageBody: m.Body}); err != nil {
				s.t.Fatal(err)
			}
			if _, err := s.SQS().DeleteMessage(s.t.Context(), &sqs.DeleteMessageInput{QueueUrl: &from, ReceiptHandle: m.ReceiptHandle}); err != nil {
				s.t.Fatal(err)
			}
			letters++
		}
	}
	return letters
}

func TestCaseOPS01ConsumersNotSafeToRedrive(t *testing.T) {
	sideBySide(t)
	const letters, before = 50, 30 // done by other means, before
	onEach(t, func(t *testing.T, begin func(local.Options) *system) {
		t.Run("by the queue's own button", func(t *testing.T) {
			all, o := &trouble{}, caseOptions()
			o.Judge, o.Speed = all.judge, 20
			s := begin(o).in(t)
			operations := s.spoilt(letters)
			s.done(&struct{}{}, append([]string{"redrive", "--rate", "1000/s", "--reason", "one by one"}, operations[:before]...)...)
			s.settle()
			calls := s.calls()
			if n := s.moved(); n != letters {
				t.Fatalf("%d letters", n)
			}
			all.is(down("dynamodb"))
			for s.step() > 0 {
			}
			all.is(nil)
			if n := s.queued(); n != letters || s.calls() != calls {
				t.Errorf("%d letters are left of a redrive without a store, %d calls more", n, s.calls()-calls)
			}
			for s.queued() > 0 {
				s.step()
			}
			s.rest()
			if s.calls() != calls+letters-before || len(s.items().Results()) != letters || len(s.letters()) != 0 {
				t.Errorf("%d calls more, %d results, letters %v", s.calls()-calls, len(s.items().Results()), s.letters())
			}
		})
		t.Run("by the program", func(t *testing.T) {
			all, o := &trouble{}, caseOptions()
			o.Judge = all.judge
			s := begin(o).in(t)
			operations := s.spoilt(letters)
			s.done(&struct{}{}, append([]string{"redrive", "--rate", "1000/s", "--reason", "one by one"}, operations[:before]...)...)
			s.settle()
			calls := s.calls()
			args := append([]string{"redrive", "--rate", "1000/s", "--json", "--reason", "all of them"}, operations...)
			all.is(every("W13 redrive", wire.Before, wire.Fail))
			if code, _, _ := s.command(args...); code == 0 {
				t.Error("a redrive without a store ends well")
			}
			all.is(nil)
			if n := s.step(); n != 0 || s.inReview() == "" {
				t.Errorf("%d messages after it, in review stands %q", n, s.inReview())
			}
			code, stdout, stderr := s.command(args...)
			var report struct {
				Items []struct{ ID, Outcome, Was string }
			}
			if err := json.Unmarshal([]byte(stdout), &report); err != nil || code != 4 {
				t.Fatalf("exit %d, %s, %s, %v", code, stdout, stderr, err)
			}
			outcomes := map[string]int{}
			for _, i := range report.Items {
				outcomes[i.Outcome]++
			}
			if !maps.Equal(outcomes, map[string]int{"refused": before, "redriven": letters - before}) {
				t.Errorf("the report has %v", outcomes)
			}
			s.rest()
			if s.calls() != calls+letters-before || len(s.items().Results()) != letters {
				t.Errorf("%d calls more, %d results", s.calls()-calls, len(s.items().Results()))
			}
		})
	})
}

func TestCaseOPS02RedrivenJobLostItsDeadLetterSetting(t *testing.T) {
	sideBySide(t)
	each(t, caseOptions(), func(t *testing.T, s *system) {
		name := s.spoilt(1)[0]
		event := s.object("order:1").Events[0].ID
		for round := 1; round <= 3; round++ {
			op := s.object("order:1").Operations[0]
			if op.State != "failed" || len(op.Attempts) != round || op.Claims != 1 || op.Review == nil || s.inReview() != "operation" {
				t.Errorf("after %d rounds the operation is %+v, in review stands %q", round, op, s.inReview())
			}
			letters := s.standings()
			if letters[control.LetterFailed] != 1 || letters[control.LetterRedriven] != round-1 {
				t.Errorf("after %d rounds the letters stand as %v", round, letters)
			}
			if e := s.event(event); e.State != "parked" || e.Generation != round-1 {
				t.Errorf("event %+v", e)
			}
			if round < 3 {
				s.fails("refusal", 1)
			}
			s.done(&struct{}{}, "redrive", name, "--reason", "once more")
			s.settle()
		}
		op := s.object("order:1").Operations[0]
		got, _ := attemptsOf(&op)
		refused := "unusable unusable output 200"
		if !slices.Equal(got, []string{refused, refused, refused, "usable  200"}) || op.State != "completed" || s.inReview() != "" {
			t.Errorf("attempts %q, operation %s", got, op.State)
		}
		s.rest()
	})
}

// standings counts the dead letters by how they stand.
func (s *system) standings() map[string]int {
	s.t.Helper()
	var list control.List[control.Letter]
	s.done(&list, "dlq")
	n := map[string]int{}
	for _, l := range list.Items {
		n[l.Standing]++
	}
	return n
}
