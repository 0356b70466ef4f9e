package poller_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sivchari/kumo"

	"engang/infra/local/poller"
)

var engine = sync.OnceValue(kumo.NewServer) // its state belongs to the process: one is enough

// source makes a queue of its own with a visibility of one second, and a source that reads it.
func source(t *testing.T, invoke func(events.SQSEvent) (string, error)) *poller.Source {
	client := sqs.NewFromConfig(aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String(engine().URL), Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	})
	dead, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String(name(t) + "-dead")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.DeleteQueue(context.Background(), &sqs.DeleteQueueInput{QueueUrl: dead.QueueUrl}) })
	q, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String(name(t)), Attributes: map[string]string{
		"VisibilityTimeout": "1",
		"RedrivePolicy":     fmt.Sprintf(`{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:%s-dead","maxReceiveCount":3}`, name(t)),
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.DeleteQueue(context.Background(), &sqs.DeleteQueueInput{QueueUrl: q.QueueUrl}) })
	return &poller.Source{
		Client: client, URL: *q.QueueUrl, ARN: "arn:q", Region: "us-east-1", BatchSize: 5, Concurrency: 2,
		Invoke: func(_ context.Context, raw []byte) ([]byte, error) {
			var e events.SQSEvent
			if err := json.Unmarshal(raw, &e); err != nil {
				return nil, err
			}
			answer, err := invoke(e)
			return []byte(answer), err
		},
	}
}

func name(t *testing.T) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" ,:/'", r) {
			return '-'
		}
		return r
	}, t.Name())
}

func send(t *testing.T, s *poller.Source, bodies ...string) {
	for _, b := range bodies {
		if _, err := s.Client.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &s.URL, MessageBody: &b, MessageGroupId: aws.String("shop"),
			MessageAttributes: map[string]types.MessageAttributeValue{"reason": {DataType: aws.String("String"), StringValue: aws.String("why")}}}); err != nil {
			t.Fatal(err)
		}
	}
}

// left counts what is still in the queue, hidden or not.
func left(t *testing.T, s *poller.Source) int {
	out, err := s.Client.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &s.URL, AttributeNames: []types.QueueAttributeName{"All"}})
	if err != nil {
		t.Fatal(err)
	}
	var visible, hidden int
	fmt.Sscan(out.Attributes["ApproximateNumberOfMessages"], &visible)
	fmt.Sscan(out.Attributes["ApproximateNumberOfMessagesNotVisible"], &hidden)
	return visible + hidden
}

func TestWhatAnAnswerDeletes(t *testing.T) {
	entry := func(id string) string { return `{"batchItemFailures":[{"itemIdentifier":` + id + `}]}` }
	for _, c := range []struct {
		name   string
		answer func(first string) (string, error)
		left   int
	}{
		{"an empty list deletes all", func(string) (string, error) { return `{"batchItemFailures":[]}`, nil }, 0},
		{"a null list deletes all", func(string) (string, error) { return `{"batchItemFailures":null}`, nil }, 0},
		{"no list deletes all", func(string) (string, error) { return `{}`, nil }, 0},
		{"null deletes all", func(string) (string, error) { return `null`, nil }, 0},
		{"no answer deletes all", func(string) (string, error) { return ``, nil }, 0},
		{"one failure keeps that one", func(id string) (string, error) { return entry(`"` + id + `"`), nil }, 1},
		{"an unknown id keeps all", func(string) (string, error) { return entry(`"who"`), nil }, 3},
		{"an empty id keeps all", func(string) (string, error) { return entry(`""`), nil }, 3},
		{"a null id keeps all", func(string) (string, error) { return entry(`null`), nil }, 3},
		{"a misspelt key keeps all", func(string) (string, error) { return `{"batchItemFailures":[{"id":"x"}]}`, nil }, 3},
		{"what is no list keeps all", func(id string) (string, error) { return `{"batchItemFailures":"` + id + `"}`, nil }, 3},
		{"broken JSON keeps all", func(string) (string, error) { return `{`, nil }, 3},
		{"a failed invocation keeps all", func(string) (string, error) { return "", errors.New("killed") }, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := source(t, func(e events.SQSEvent) (string, error) { return c.answer(e.Records[0].MessageId) })
			send(t, s, "a", "b", "c")
			if n, err := s.Once(t.Context()); n != 3 || err != nil {
				t.Fatalf("%d messages, %v", n, err)
			}
			if got := left(t, s); got != c.left {
				t.Errorf("%d messages left, want %d", got, c.left)
			}
		})
	}
}

// A mapping that does not ask for partial failures deletes what the function meant to keep.
func TestAnAnswerIsReadOnlyWhereItIsAskedFor(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		left int
	}{
		{"an answer deletes all", nil, 0},
		{"a failed invocation keeps all", errors.New("no"), 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := source(t, func(e events.SQSEvent) (string, error) {
				return `{"batchItemFailures":[{"itemIdentifier":"` + e.Records[0].MessageId + `"}]}`, c.err
			})
			s.Whole = true
			send(t, s, "a", "b", "c")
			if n, err := s.Once(t.Context()); n != 3 || err != nil {
				t.Fatalf("%d messages, %v", n, err)
			}
			if got := left(t, s); got != c.left {
				t.Errorf("%d messages left, want %d", got, c.left)
			}
		})
	}
}

func TestABatchHasTheShapeOfLambdas(t *testing.T) {
	var got events.SQSEvent
	s := source(t, func(e events.SQSEvent) (string, error) { got = e; return "", nil })
	send(t, s, "1", "2", "3", "4", "5", "6")
	if n, _ := s.Once(t.Context()); n != 5 {
		t.Errorf("a batch of %d", n)
	}
	m := got.Records[0]
	if m.EventSource != "aws:sqs" || m.EventSourceARN != "arn:q" || m.AWSRegion != "us-east-1" || m.ReceiptHandle == "" || m.Md5OfBody == "" ||
		m.Attributes["ApproximateReceiveCount"] != "1" || *m.MessageAttributes["reason"].StringValue != "why" {
		t.Errorf("record %+v", m)
	}
}

func TestAKeptMessageComesAgainThenGoesToTheDeadLetters(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var times atomic.Int32
	var mu sync.Mutex
	var counts []string
	s := source(t, func(e events.SQSEvent) (string, error) {
		mu.Lock()
		counts = append(counts, e.Records[0].Attributes["ApproximateReceiveCount"])
		mu.Unlock()
		times.Add(1)
		return "", errors.New("no")
	})
	// Hidden for no time, so that the test does not wait for the visibility to end.
	s.Observe = func(b poller.Batch) {
		for _, r := range b.Records {
			s.Client.ChangeMessageVisibility(context.Background(), &sqs.ChangeMessageVisibilityInput{QueueUrl: &s.URL, ReceiptHandle: &r.ReceiptHandle})
		}
	}
	send(t, s, "poison")
	done := make(chan struct{})
	go func() { s.Run(ctx); close(done) }()
	deadline := time.Now().Add(5 * time.Second)
	for left(t, s) > 0 && time.Now().Before(deadline) {
		time.Sleep(5 * time.Millisecond)
	}
	cancel()
	<-done
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(counts, []string{"1", "2", "3"}) {
		t.Errorf("received %v", counts)
	}
	if n := left(t, &poller.Source{Client: s.Client, URL: s.URL + "-dead"}); n != 1 {
		t.Errorf("%d dead letters", n)
	}
}

// A queue that is gone is told of once, not twenty times a second, and again when it was there meanwhile.
func TestAQueueThatCannotBeReceivedFromIsToldOf(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	errShut, shut := errors.New("shut"), []bool{true, true, true, false, true, true}
	s := source(t, func(events.SQSEvent) (string, error) { return "", nil })
	o := s.Client.Options()
	o.RetryMaxAttempts, o.HTTPClient = 1, &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		if len(shut) == 0 {
			cancel()
			return nil, ctx.Err()
		}
		now := shut[0]
		if shut = shut[1:]; now {
			return nil, errShut
		}
		return http.DefaultTransport.RoundTrip(r)
	})}
	s.Client = sqs.New(o)
	var told []error
	s.Observe = func(b poller.Batch) {
		if told = append(told, b.Err); len(b.Records) != 0 || b.Failed != nil {
			t.Errorf("a batch: %+v", b)
		}
	}
	s.Run(ctx)
	if len(told) != 2 || !errors.Is(told[0], errShut) || !errors.Is(told[1], errShut) {
		t.Errorf("told %v", told)
	}
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestNoMoreBatchesAtOnceThanAllowed(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var now, most, all atomic.Int32
	release := make(chan struct{})
	s := source(t, func(events.SQSEvent) (string, error) {
		n := now.Add(1)
		defer now.Add(-1)
		for {
			if m := most.Load(); n <= m || most.CompareAndSwap(m, n) {
				break
			}
		}
		if all.Add(1) == 2 {
			close(release)
		}
		<-release
		return "", nil
	})
	s.BatchSize = 1
	send(t, s, "1", "2", "3", "4", "5", "6")
	done := make(chan struct{})
	go func() { s.Run(ctx); close(done) }()
	for all.Load() < 6 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	<-done // Run waits for the batches in work
	if most.Load() != 2 || left(t, s) != 0 {
		t.Errorf("%d at once, %d left", most.Load(), left(t, s))
	}
}

func TestRedeliverGivesADoneMessageOnceMore(t *testing.T) {
	var bodies []string
	s := source(t, func(e events.SQSEvent) (string, error) { bodies = append(bodies, e.Records[0].Body); return "", nil })
	again := []bool{true, false}
	s.Redeliver = func() bool { defer func() { again = again[1:] }(); return again[0] }
	send(t, s, "once")
	for len(again) > 0 {
		if _, err := s.Once(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(bodies, []string{"once", "once"}) || left(t, s) != 0 {
		t.Errorf("delivered %v, %d left", bodies, left(t, s))
	}
}
