// Package poller moves messages from a queue to a function as Lambda's event source does: batches,
// a largest number of batches at once, partial failures, and nothing deleted for an invocation that
// did not answer.
package poller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"engang/shared/telemetry"
)

// idle is the time between two looks at an empty queue. The embedded engine does not wake a waiting
// receive when a message's visibility ends, so that long polls would come late.
const idle = 50 * time.Millisecond

// A Source is one event source mapping. Its fields do not change once [Source.Run] was called.
type Source struct {
	Client      *sqs.Client
	URL         string
	ARN         string
	Region      string
	BatchSize   int  // at most 10
	Concurrency int  // batches at once
	Whole       bool // the mapping does not have ReportBatchItemFailures: what the function answers is not read
	Invoke      func(ctx context.Context, event []byte) ([]byte, error)

	// Redeliver is asked before a message that was done is deleted; true delivers it once more. May be nil.
	Redeliver func() bool
	// Observe is told of each batch when it is over, and of a queue that cannot be received from: once, until it
	// can again, as a batch without records. May be nil.
	Observe func(Batch)

	once sync.Once
	wake chan struct{}
}

// A Batch is what one invocation was given, and what came of it.
type Batch struct {
	Records []events.SQSMessage
	Failed  map[string]bool // by message id: those that stay in the queue
	Err     error           // of the invocation
}

func (s *Source) init() { s.once.Do(func() { s.wake = make(chan struct{}, 1) }) }

// Wake has the source look at once: somebody knows that a message came.
func (s *Source) Wake() {
	s.init()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Run moves messages until ctx ends, then waits for the batches in work.
func (s *Source) Run(ctx context.Context) {
	s.init()
	slots := make(chan struct{}, s.Concurrency)
	var batches sync.WaitGroup
	defer batches.Wait()
	told := false
	for {
		select {
		case <-ctx.Done():
			return
		case slots <- struct{}{}:
		}
		records, err := s.receive(ctx)
		if err != nil && !told && s.Observe != nil && ctx.Err() == nil {
			s.Observe(Batch{Err: err})
		}
		told = err != nil
		if err != nil || len(records) == 0 {
			<-slots
			s.rest(ctx)
			continue
		}
		batches.Go(func() {
			defer func() { <-slots }()
			s.work(context.WithoutCancel(ctx), records)
		})
	}
}

func (s *Source) rest(ctx context.Context) {
	timer := time.NewTimer(idle)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-s.wake:
	case <-timer.C:
	}
}

// Once moves one batch and returns when it is over. It tells how many messages there were.
func (s *Source) Once(ctx context.Context) (int, error) {
	records, err := s.receive(ctx)
	if err != nil || len(records) == 0 {
		return 0, err
	}
	s.work(ctx, records)
	return len(records), nil
}

func (s *Source) receive(ctx context.Context) ([]events.SQSMessage, error) {
	out, err := s.Client.ReceiveMessage(telemetry.WithCall(ctx, "receive messages"), &sqs.ReceiveMessageInput{
		QueueUrl:                    &s.URL,
		MaxNumberOfMessages:         int32(s.BatchSize),
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
		MessageAttributeNames:       []string{"All"},
	})
	if err != nil {
		return nil, fmt.Errorf("receive messages: %w", err)
	}
	records := make([]events.SQSMessage, len(out.Messages))
	for i, m := range out.Messages {
		records[i] = s.record(m)
	}
	return records, nil
}

func (s *Source) record(m types.Message) events.SQSMessage {
	r := events.SQSMessage{
		MessageId:      aws.ToString(m.MessageId),
		ReceiptHandle:  aws.ToString(m.ReceiptHandle),
		Body:           aws.ToString(m.Body),
		Md5OfBody:      aws.ToString(m.MD5OfBody),
		Attributes:     m.Attributes,
		EventSourceARN: s.ARN,
		EventSource:    "aws:sqs",
		AWSRegion:      s.Region,
	}
	for name, a := range m.MessageAttributes {
		if r.MessageAttributes == nil {
			r.MessageAttributes = map[string]events.SQSMessageAttribute{}
		}
		r.MessageAttributes[name] = events.SQSMessageAttribute{StringValue: a.StringValue, BinaryValue: a.BinaryValue, DataType: aws.ToString(a.DataType)}
	}
	return r
}

func (s *Source) work(ctx context.Context, records []events.SQSMessage) {
	batch := Batch{Records: records}
	event, err := json.Marshal(events.SQSEvent{Records: records})
	if err == nil {
		var answer []byte
		answer, err = s.Invoke(ctx, event)
		if err == nil && !s.Whole {
			batch.Failed, err = failures(answer, records)
		}
	}
	if batch.Err = err; err != nil { // nothing is deleted: each message comes again when its visibility ends
		batch.Failed = map[string]bool{}
		for _, r := range records {
			batch.Failed[r.MessageId] = true
		}
	}
	s.remove(ctx, batch)
	if s.Observe != nil {
		s.Observe(batch)
	}
}

// ErrMalformed says that a function's answer does not follow the batch contract; then the whole batch
// counts as failed.
var ErrMalformed = errors.New("malformed batch answer")

// failures reads which messages failed. No list, an empty one and no answer at all mean that none did;
// an entry without a message of the batch means that all did.
func failures(answer []byte, records []events.SQSMessage) (map[string]bool, error) {
	var out *struct {
		Failures []struct {
			ID *string `json:"itemIdentifier"`
		} `json:"batchItemFailures"`
	}
	if len(answer) > 0 {
		if err := json.Unmarshal(answer, &out); err != nil {
			return nil, fmt.Errorf("no JSON: %w", ErrMalformed)
		}
	}
	failed := map[string]bool{}
	if out == nil {
		return failed, nil
	}
	known := map[string]bool{}
	for _, r := range records {
		known[r.MessageId] = true
	}
	for _, f := range out.Failures {
		if f.ID == nil || !known[*f.ID] {
			return nil, fmt.Errorf("an entry names no message of the batch: %w", ErrMalformed)
		}
		failed[*f.ID] = true
	}
	return failed, nil
}

// remove deletes what is done. A deletion that fails leaves a message that comes again, as on AWS.
func (s *Source) remove(ctx context.Context, b Batch) {
	var done []types.DeleteMessageBatchRequestEntry
	for i, r := range b.Records {
		switch {
		case b.Failed[r.MessageId]:
		case s.Redeliver != nil && s.Redeliver():
			_, _ = s.Client.ChangeMessageVisibility(telemetry.WithCall(ctx, "deliver again"), &sqs.ChangeMessageVisibilityInput{QueueUrl: &s.URL, ReceiptHandle: &r.ReceiptHandle})
		default:
			done = append(done, types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: &r.ReceiptHandle})
		}
	}
	if len(done) > 0 {
		_, _ = s.Client.DeleteMessageBatch(telemetry.WithCall(ctx, "delete messages"), &sqs.DeleteMessageBatchInput{QueueUrl: &s.URL, Entries: done})
	}
}
