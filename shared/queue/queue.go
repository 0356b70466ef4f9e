// Package queue sends references of events to the work queue and notices to the dead-letter queue.
//
// A message holds ids and words of ours, never a payload or an output. Losing or repeating one is
// harmless: the table knows what is owed, a queue only makes it fast.
package queue

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"engang/shared/inbox"
	"engang/shared/telemetry"
)

// MaxHide is how long a message can be hidden.
const MaxHide = 12 * time.Hour

// A Queue is one SQS queue. It is safe for concurrent use.
type Queue struct {
	client *sqs.Client
	url    string

	patience sync.Once
	patient  sqs.HTTPClient // for calls that wait at SQS
}

// Open returns the queue at url. Nothing is called yet.
func Open(cfg aws.Config, url string) *Queue {
	return &Queue{client: sqs.NewFromConfig(cfg), url: url}
}

// Send enqueues a reference of an event, to be received after its delay, rounded up to whole seconds and at
// most [inbox.MaxDelay]. The tenant is the message's group, so that one tenant's import does not hold up the
// others (fair queues). After an error the message may be in the queue or not; the event stands in the open
// index either way.
func (q *Queue) Send(ctx context.Context, ref inbox.Reference) error {
	body, err := encode(Message{Event: ref.Event})
	if err != nil {
		return err
	}
	_, err = q.client.SendMessage(telemetry.WithCall(ctx, "send event"), &sqs.SendMessageInput{
		QueueUrl:       &q.url,
		MessageBody:    &body,
		MessageGroupId: &ref.Tenant,
		DelaySeconds:   wholeSeconds(min(ref.Delay, inbox.MaxDelay)),
	})
	if err != nil {
		return fmt.Errorf("send event %s: %w", ref.Event, err)
	}
	return nil
}

// wholeSeconds rounds up.
func wholeSeconds(d time.Duration) int32 { return int32((max(d, 0) + time.Second - 1) / time.Second) }

// Notify sends a notice, with reason, category and operation as attributes too, so that a person sees
// them in the queue itself; a character that no message can hold is written as its number there. The operation of a
// notice without one is the event.
func (q *Queue) Notify(ctx context.Context, n inbox.Notice) error {
	body, err := encode(Message{Notice: &n})
	if err != nil {
		return err
	}
	operation := n.Operation
	if operation == "" {
		operation = string(n.Event)
	}
	attributes := map[string]types.MessageAttributeValue{}
	for name, value := range map[string]string{"reason": n.Reason, "category": n.Category, "operation": operation} {
		if value != "" { // SQS refuses an empty attribute
			attributes[name] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: aws.String(sendable(value))}
		}
	}
	_, err = q.client.SendMessage(telemetry.WithCall(ctx, "send notice"), &sqs.SendMessageInput{
		QueueUrl:          &q.url,
		MessageBody:       &body,
		MessageAttributes: attributes,
	})
	if err != nil {
		return fmt.Errorf("send notice of event %s: %w", n.Event, err)
	}
	return nil
}

// Hide lets a received message come again after d, rounded up to whole seconds, at most [MaxHide].
func (q *Queue) Hide(ctx context.Context, receiptHandle string, d time.Duration) error {
	_, err := q.client.ChangeMessageVisibility(telemetry.WithCall(ctx, "change visibility"), &sqs.ChangeMessageVisibilityInput{
		QueueUrl:          &q.url,
		ReceiptHandle:     &receiptHandle,
		VisibilityTimeout: wholeSeconds(min(d, MaxHide)),
	})
	if err != nil {
		return fmt.Errorf("change visibility of a message: %w", err)
	}
	return nil
}

// Backlog says how many messages wait to be received, about. Those in work or hidden are not counted.
func (q *Queue) Backlog(ctx context.Context) (int, error) {
	out, err := q.client.GetQueueAttributes(telemetry.WithCall(ctx, "read backlog"), &sqs.GetQueueAttributesInput{
		QueueUrl:       &q.url,
		AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameApproximateNumberOfMessages},
	})
	if err != nil {
		return 0, fmt.Errorf("read queue attributes: %w", err)
	}
	n, err := strconv.Atoi(out.Attributes[string(types.QueueAttributeNameApproximateNumberOfMessages)])
	if err != nil {
		return 0, fmt.Errorf("read number of messages: %w", err)
	}
	return n, nil
}
