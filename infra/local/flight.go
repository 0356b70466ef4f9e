package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// A flight knows the messages that were received and not deleted. The engine keeps those in memory alone: what waits
// for its next try, and each letter that was looked at, would be missing after a stop.
type flight struct {
	mu       sync.Mutex
	received map[string]message // by queue and id
}

// A message is one as it was received last.
type message struct {
	QueueURL          string `json:"-"`
	MessageId         string
	ReceiptHandle     string
	Body              string
	MessageAttributes map[string]struct {
		DataType    string
		StringValue *string
		BinaryValue []byte
	}
}

// asked reads what a call says that the flight goes by. The request stays as it was.
func (f *flight) asked(r *http.Request) (queueCall, error) {
	operation, ok := strings.CutPrefix(r.Header.Get("X-Amz-Target"), "AmazonSQS.")
	if f == nil || !ok || operation != "ReceiveMessage" && operation != "DeleteMessage" && operation != "DeleteMessageBatch" {
		return queueCall{}, nil
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return queueCall{}, fmt.Errorf("read request: %w", err)
	}
	r.Body.Close()
	r.Body = io.NopCloser(bytes.NewReader(raw))
	call := queueCall{operation: operation}
	if err := json.Unmarshal(raw, &call); err != nil {
		return queueCall{}, fmt.Errorf("read request: %w", err)
	}
	return call, nil
}

// A queueCall is a call that receives or deletes messages; the zero one is none.
type queueCall struct {
	operation     string
	QueueUrl      string
	ReceiptHandle string
	Entries       []struct{ ReceiptHandle string }
}

// answered notes what a call came to. The answer stays as it was.
func (f *flight) answered(call queueCall, answer *http.Response) error {
	if call.operation == "" || answer.StatusCode != http.StatusOK {
		return nil
	}
	if call.operation != "ReceiveMessage" {
		f.deleted(call)
		return nil
	}
	raw, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	if err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	answer.Body = io.NopCloser(bytes.NewReader(raw))
	var got struct{ Messages []message }
	if err := json.Unmarshal(raw, &got); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range got.Messages {
		if f.received == nil {
			f.received = map[string]message{}
		}
		m.QueueURL = call.QueueUrl
		f.received[m.QueueURL+" "+m.MessageId] = m
	}
	return nil
}

func (f *flight) deleted(call queueCall) {
	gone := map[string]bool{call.ReceiptHandle: true}
	for _, e := range call.Entries {
		gone[e.ReceiptHandle] = true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for key, m := range f.received {
		if gone[m.ReceiptHandle] {
			delete(f.received, key)
		}
	}
}

// giveBack sends each message anew that is in flight yet, and then deletes it: a stop between the two leaves both, and
// a queue may deliver twice. What has come back to its queue meanwhile is refused by the engine, and is there.
func (f *flight) giveBack(ctx context.Context, client *sqs.Client) error {
	f.mu.Lock()
	var all []message
	for _, m := range f.received {
		all = append(all, m)
	}
	f.mu.Unlock()
	var faults []error
	for _, m := range all {
		const longer = 60 // seconds, so that it does not come back between here and its deletion
		_, err := client.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{QueueUrl: &m.QueueURL, ReceiptHandle: &m.ReceiptHandle, VisibilityTimeout: longer})
		if invalid, ok := errors.AsType[*types.ReceiptHandleIsInvalid](err); ok && invalid != nil {
			continue
		}
		if err == nil {
			err = m.again(ctx, client)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("give message back: %w", err))
		}
	}
	return errors.Join(faults...)
}

func (m message) again(ctx context.Context, client *sqs.Client) error {
	in := &sqs.SendMessageInput{QueueUrl: &m.QueueURL, MessageBody: &m.Body}
	for name, a := range m.MessageAttributes {
		if in.MessageAttributes == nil {
			in.MessageAttributes = map[string]types.MessageAttributeValue{}
		}
		in.MessageAttributes[name] = types.MessageAttributeValue{DataType: &a.DataType, StringValue: a.StringValue, BinaryValue: a.BinaryValue}
	}
	if _, err := client.SendMessage(ctx, in); err != nil {
		return err
	}
	_, err := client.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &m.QueueURL, ReceiptHandle: &m.ReceiptHandle})
	return err
}
