package integration_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"engang/infra/local/poller"
	"engang/shared/control"
)

// answering is an event source on the work queue whose function answers this, given the ids of the batch.
func (s *system) answering(answer func(ids []string) string) *poller.Source {
	return &poller.Source{
		Client: s.SQS(), URL: s.QueueURL("WorkQueue"), BatchSize: 5, Concurrency: 1,
		Invoke: func(_ context.Context, raw []byte) ([]byte, error) {
			var e events.SQSEvent
			if err := json.Unmarshal(raw, &e); err != nil {
				return nil, err
			}
			var ids []string
			for _, r := range e.Records {
				ids = append(ids, r.MessageId)
			}
			return []byte(answer(ids)), nil
		},
	}
}

func TestCaseEMU01DeletesOnMalformedPartialAnswers(t *testing.T) {
	eachForCase(t, func(t *testing.T, s *system) {
		entry := func(item string) func([]string) string {
			return func([]string) string { return `{"batchItemFailures":[` + item + `]}` }
		}
		mixed := func(ids []string) string {
			return fmt.Sprintf(`{"batchItemFailures":[{"itemIdentifier":%q},{"itemIdentifier":"who"}]}`, ids[0])
		}
		address := s.QueueURL("WorkQueue")
		for _, c := range []struct {
			name   string
			answer func(ids []string) string
			failed int // of three messages
		}{
			{"an empty id", entry(`{"itemIdentifier":""}`), 3},
			{"a null id", entry(`{"itemIdentifier":null}`), 3},
			{"an unknown id", entry(`{"itemIdentifier":"who"}`), 3},
			{"an unknown id beside a known one", mixed, 3},
			{"a number for an id", entry(`{"itemIdentifier":7}`), 3},
			{"a wrong key", entry(`{"itemId":"x"}`), 3},
			{"no object", entry(`"x"`), 3},
			{"no list", func([]string) string { return `{"batchItemFailures":{}}` }, 3},
			{"no JSON", func([]string) string { return `<html>` }, 3},
			{"one known id", func(ids []string) string { return fmt.Sprintf(`{"batchItemFailures":[{"itemIdentifier":%q}]}`, ids[1]) }, 1},
			{"an empty list", entry(``), 0},
			{"a null list", func([]string) string { return `{"batchItemFailures":null}` }, 0},
			{"nothing", func([]string) string { return `{}` }, 0},
		} {
			for i := range 3 {
				if _, err := s.SQS().SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &address, MessageBody: aws.String(fmt.Sprint(i))}); err != nil {
					t.Fatal(err)
				}
			}
			source, failed := s.answering(c.answer), -1
			source.Observe = func(b poller.Batch) {
				failed = len(b.Failed)
				if malformed := errors.Is(b.Err, poller.ErrMalformed); malformed != (c.failed == 3) {
					t.Errorf("%s: %v", c.name, b.Err)
				}
			}
			if n, err := source.Once(t.Context()); n != 3 || err != nil {
				t.Fatalf("%s: %d messages, %v", c.name, n, err)
			}
			if failed != c.failed || s.queued() != c.failed {
				t.Errorf("%s: %d failed and %d are left, want %d", c.name, failed, s.queued(), c.failed)
			}
			if _, err := s.SQS().PurgeQueue(t.Context(), &sqs.PurgeQueueInput{QueueUrl: &address}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// seen receives the only message of a queue, and makes it visible again at once.
func (s *system) seen(queue string) sqstypes.Message {
	s.t.Helper()
	address := s.QueueURL(queue)
	out, err := s.SQS().ReceiveMessage(s.t.Context(), &sqs.ReceiveMessageInput{
		QueueUrl: &address, MessageSystemAttributeNames: []sqstypes.MessageSystemAttributeName{sqstypes.MessageSystemAttributeNameAll},
	})
	if err != nil || len(out.Messages) != 1 {
		s.t.Fatalf("%d messages in %s, %v", len(out.Messages), queue, err)
	}
	if _, err := s.SQS().ChangeMessageVisibility(s.t.Context(), &sqs.ChangeMessageVisibilityInput{QueueUrl: &address, ReceiptHandle: out.Messages[0].ReceiptHandle}); err != nil {
		s.t.Fatal(err)
	}
	return out.Messages[0]
}

// onceOnly makes the work queue set a message aside when it comes the second time.
func (s *system) onceOnly() {
	s.t.Helper()
	address := s.QueueURL("WorkQueue")
	out, err := s.SQS().GetQueueAttributes(s.t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &address, AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameRedrivePolicy}})
	if err != nil {
		s.t.Fatal(err)
	}
	var policy map[string]any
	if err := json.Unmarshal([]byte(out.Attributes["RedrivePolicy"]), &policy); err != nil {
		s.t.Fatal(err)
	}
	policy["maxReceiveCount"] = 1
	raw, err := json.Marshal(policy)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.SQS().SetQueueAttributes(s.t.Context(), &sqs.SetQueueAttributesInput{QueueUrl: &address, Attributes: map[string]string{"RedrivePolicy": string(raw)}}); err != nil {
		s.t.Fatal(err)
	}
}

func TestCaseEMU02ReceiveCountSurvivesAMove(t *testing.T) {
	eachForCase(t, func(t *testing.T, s *system) {
		s.onceOnly()
		id := s.accept(s.order("order.updated", paying(1).body()))
		s.take("WorkQueue")
		if s.queued() != 0 {
			t.Fatalf("%d messages are not set aside", s.queued())
		}
		if done := s.tidied(); done.Sent != 1 {
			t.Fatalf("%+v", done)
		}
		if m := s.seen("WorkQueue"); m.Attributes["ApproximateReceiveCount"] != "1" { // counted afresh, else it would bounce
			t.Errorf("moved back, it was received %s times", m.Attributes["ApproximateReceiveCount"])
		}
		if _, err := s.Invoke(t.Context(), "enrichment", message(t, id)); err != nil { // what the one receive left is worked on
			t.Fatal(err)
		}
		s.rest()
		if e := s.event(id); e.Outcome != "completed" || s.calls() != 1 {
			t.Errorf("event %+v, %d calls", e, s.calls())
		}
	})
}

func TestCaseEMU03SentTimestampResetInTheDeadLetters(t *testing.T) {
	eachForCase(t, func(t *testing.T, s *system) {
		s.accept(s.order("order.updated", paying(1).body()))
		sent := s.seen("WorkQueue").Attributes["SentTimestamp"]
		tick()
		s.take("WorkQueue")
		letter := s.seen("WorkDeadLetterQueue")
		if letter.Attributes["SentTimestamp"] != sent || sent == "" {
			t.Errorf("sent at %s, and in the dead letters at %s", sent, letter.Attributes["SentTimestamp"])
		}
		var letters control.List[control.Letter]
		if code := s.get("/api/dlq", &letters); code != http.StatusOK || len(letters.Items) != 1 {
			t.Fatalf("%d: %+v", code, letters)
		}
		if at := letters.Items[0].SentAt; at == nil || !strings.HasPrefix(fmt.Sprint(at.UnixMilli()), sent) {
			t.Errorf("the letter is shown as sent at %v", at)
		}
	})
}
