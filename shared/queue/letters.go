package queue

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"engang/shared/inbox"
	"engang/shared/telemetry"
)

// batch is how many messages one call of SQS takes.
const batch = 10

// letterTime is how long SQS waits for a letter: only a call that waits asks every server of the queue.
const letterTime = time.Second

// waiting gives one call the time that SQS waits, beside what the configuration leaves an answer.
func (q *Queue) waiting(o *sqs.Options) {
	q.patience.Do(func() {
		q.patient = o.HTTPClient
		if c, ok := o.HTTPClient.(*awshttp.BuildableClient); ok {
			q.patient = c.WithTransportOptions(func(t *http.Transport) {
				if t.ResponseHeaderTimeout > 0 { // without one, an answer has all the time there is
					t.ResponseHeaderTimeout += letterTime
				}
			})
		}
	})
	o.HTTPClient = q.patient
}

// Peek looks at letters: up to limit of those that are visible, in no order. They stay in the queue, hidden for
// the given time, at least a second; [Queue.Return] makes them visible before. More tells that the limit was
// reached. What was seen before an error is returned with it. Two who look at once see a part each.
func (q *Queue) Peek(ctx context.Context, limit int, hide time.Duration) (letters []inbox.Letter, more bool, err error) {
	at := map[string]int{} // a standard queue may give one message twice
	for taken := 0; taken < limit; {
		out, err := q.client.ReceiveMessage(telemetry.WithCall(ctx, "receive letters"), &sqs.ReceiveMessageInput{
			QueueUrl:            &q.url,
			MaxNumberOfMessages: int32(min(batch, limit-taken)),
			VisibilityTimeout:   int32(max(hide, time.Second) / time.Second),
			WaitTimeSeconds:     int32(letterTime / time.Second),
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{
				types.MessageSystemAttributeNameSentTimestamp, types.MessageSystemAttributeNameApproximateReceiveCount,
			},
		}, q.waiting)
		if err != nil {
			return letters, false, fmt.Errorf("receive letters: %w", err)
		}
		if len(out.Messages) == 0 {
			return letters, false, nil
		}
		taken += len(out.Messages)
		for _, m := range out.Messages {
			l := letter(m)
			if i, again := at[l.ID]; again {
				letters[i] = l // the newest receipt is the one that is good
				continue
			}
			at[l.ID] = len(letters)
			letters = append(letters, l)
		}
	}
	return letters, true, nil
}

func letter(m types.Message) inbox.Letter {
	body := aws.ToString(m.Body)
	l := inbox.Letter{ID: aws.ToString(m.MessageId), Handle: aws.ToString(m.ReceiptHandle), Bytes: len(body)}
	if ms, err := strconv.ParseInt(m.Attributes["SentTimestamp"], 10, 64); err == nil {
		l.SentAt = time.UnixMilli(ms).UTC()
	}
	l.Receives, _ = strconv.Atoi(m.Attributes["ApproximateReceiveCount"])
	switch decoded, err := Decode(body); {
	case err != nil: // nothing of ours
	case decoded.Notice != nil:
		l.Event, l.Notice = decoded.Notice.Event, decoded.Notice
	default:
		l.Event = decoded.Event
	}
	return l
}

// Return makes letters visible again that were looked at. It goes on past what is refused: a letter that is not
// hidden any more is visible already.
func (q *Queue) Return(ctx context.Context, handles []string) error {
	return batches("return letters", handles, func(ids, some []string) ([]types.BatchResultErrorEntry, error) {
		in := &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &q.url}
		for i := range some {
			in.Entries = append(in.Entries, types.ChangeMessageVisibilityBatchRequestEntry{Id: &ids[i], ReceiptHandle: &some[i]})
		}
		out, err := q.client.ChangeMessageVisibilityBatch(telemetry.WithCall(ctx, "return letters"), in)
		if err != nil {
			return nil, err
		}
		return out.Failed, nil
	})
}

// Delete removes letters that were looked at. It goes on past what is refused: after an error some may be gone,
// and some not.
func (q *Queue) Delete(ctx context.Context, handles []string) error {
	return batches("delete letters", handles, func(ids, some []string) ([]types.BatchResultErrorEntry, error) {
		in := &sqs.DeleteMessageBatchInput{QueueUrl: &q.url}
		for i := range some {
			in.Entries = append(in.Entries, types.DeleteMessageBatchRequestEntry{Id: &ids[i], ReceiptHandle: &some[i]})
		}
		out, err := q.client.DeleteMessageBatch(telemetry.WithCall(ctx, "delete letters"), in)
		if err != nil {
			return nil, err
		}
		return out.Failed, nil
	})
}

// batches makes as many calls as the handles need, and joins what went wrong.
func batches(act string, handles []string, call func(ids, some []string) ([]types.BatchResultErrorEntry, error)) error {
	var faults []error
	for some := range slices.Chunk(handles, batch) {
		ids := make([]string, len(some))
		for i := range some {
			ids[i] = strconv.Itoa(i)
		}
		failed, err := call(ids, some)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", act, err))
		}
		for _, f := range failed {
			faults = append(faults, fmt.Errorf("%s: one was refused: %s", act, aws.ToString(f.Code)))
		}
	}
	return errors.Join(faults...)
}
