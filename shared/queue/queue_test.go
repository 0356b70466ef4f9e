package queue_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
	"github.com/sivchari/kumo"

	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/queue"
)

// engine starts the embedded engine with one queue of the test's own name.
func engine(t *testing.T) (*queue.Queue, func(wait int32) []types.Message) {
	t.Helper()
	srv := kumo.NewServer()
	t.Cleanup(srv.Close)
	cfg := aws.Config{
		Region:       "eu-north-1",
		BaseEndpoint: &srv.URL,
		Credentials:  credentials.NewStaticCredentialsProvider("local", "local", ""),
	}
	client := sqs.NewFromConfig(cfg)
	out, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String(strings.ReplaceAll(t.Name(), "/", "-"))})
	if err != nil {
		t.Fatal(err)
	}
	receive := func(wait int32) []types.Message {
		t.Helper()
		got, err := client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{
			QueueUrl: out.QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: wait,
			MessageAttributeNames: []string{"All"},
		})
		if err != nil {
			t.Fatal(err)
		}
		return got.Messages
	}
	return queue.Open(cfg, *out.QueueUrl), receive
}

const id inbox.EventID = "evt_abcdefghijklmnop"

func TestSendEnqueuesNothingButTheReference(t *testing.T) {
	q, receive := engine(t)
	if err := q.Send(t.Context(), inbox.Reference{Event: id, Tenant: "shop"}); err != nil {
		t.Fatal(err)
	}
	got := receive(0)
	if len(got) != 1 || *got[0].Body != `{"event":"evt_abcdefghijklmnop"}` || len(got[0].MessageAttributes) != 0 {
		t.Fatalf("received %d messages, want the reference alone", len(got))
	}
	m, err := queue.Decode(*got[0].Body)
	if err != nil || m.Event != id || m.Notice != nil {
		t.Errorf("Decode = %+v, %v", m, err)
	}
}

func TestNoticeSaysWhyInBodyAndAttributes(t *testing.T) {
	full := inbox.Notice{
		Event: id, Generation: 2, Scope: object.Scope{Tenant: "shop", Environment: "test"},
		Operation: "product:794/product-card@3/9f2c", Reason: "the model refused", Category: "unusable output",
	}
	without := full
	without.Operation = ""
	for _, tc := range []struct {
		name      string
		notice    inbox.Notice
		operation string // attribute
	}{
		{"of a failed operation", full, full.Operation},
		{"of an event that could not become one", without, string(id)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			q, receive := engine(t)
			if err := q.Notify(t.Context(), tc.notice); err != nil {
				t.Fatal(err)
			}
			got := receive(0)
			if len(got) != 1 {
				t.Fatalf("received %d messages, want 1", len(got))
			}
			attributes := map[string]string{}
			for name, v := range got[0].MessageAttributes {
				attributes[name] = *v.StringValue
			}
			want := map[string]string{"reason": tc.notice.Reason, "category": tc.notice.Category, "operation": tc.operation}
			if diff := cmp.Diff(want, attributes); diff != "" {
				t.Errorf("attributes (-want +got):\n%s", diff)
			}
			m, err := queue.Decode(*got[0].Body)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(queue.Message{Notice: &tc.notice}, m); diff != "" {
				t.Errorf("decoded (-want +got):\n%s", diff)
			}
		})
	}
}

// The body of a notice is read by other programs too: its fields are fixed.
func TestNoticeFields(t *testing.T) {
	q, receive := engine(t)
	if err := q.Notify(t.Context(), inbox.Notice{Event: id, Operation: "o", Reason: "r", Category: "bug", Generation: 1,
		Scope: object.Scope{Tenant: "shop", Environment: "test"}}); err != nil {
		t.Fatal(err)
	}
	var got any
	if err := json.Unmarshal([]byte(*receive(0)[0].Body), &got); err != nil {
		t.Fatal(err)
	}
	want := any(map[string]any{"notice": map[string]any{
		"event": string(id), "operation": "o", "reason": "r", "category": "bug", "generation": 1.0,
		"tenant": "shop", "environment": "test",
	}})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNoticeOverTheSizeLimitIsRefusedBeforeItIsSent(t *testing.T) {
	q, receive := engine(t)
	if err := q.Notify(t.Context(), inbox.Notice{Event: id, Reason: strings.Repeat("r", queue.MaxBytes)}); err == nil {
		t.Error("a notice over the limit was sent")
	}
	if n := len(receive(0)); n != 0 {
		t.Errorf("%d messages in the queue", n)
	}
}

func TestDecodeRefusesWhatIsNotOurs(t *testing.T) {
	for _, tc := range []struct{ name, body string }{
		{"nothing", ""},
		{"no JSON", "evt_abcdefghijklmnop"},
		{"no object", `["evt_abcdefghijklmnop"]`},
		{"neither event nor notice", `{}`},
		{"an id of another shape", `{"event":"evt_short"}`},
		{"a key in place of an id", `{"event":"E#evt_abcdefghijklm"}`},
		{"a notice without an event", `{"notice":{"reason":"r"}}`},
		{"both at once", `{"event":"evt_abcdefghijklmnop","notice":{"event":"evt_abcdefghijklmnop"}}`},
		{"a message of another program", `{"Records":[{"body":"x"}]}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, err := queue.Decode(tc.body)
			if !errors.Is(err, queue.ErrNotOurs) {
				t.Fatalf("Decode = %+v, %v; want ErrNotOurs", m, err)
			}
			if tc.body != "" && strings.Contains(err.Error(), tc.body) {
				t.Errorf("error repeats the body: %v", err)
			}
		})
	}
}

func TestHideAndBacklog(t *testing.T) {
	q, receive := engine(t)
	for range 3 {
		if err := q.Send(t.Context(), inbox.Reference{Event: id, Tenant: "shop"}); err != nil {
			t.Fatal(err)
		}
	}
	backlog := func(want int) {
		t.Helper()
		if n, err := q.Backlog(t.Context()); err != nil || n != want {
			t.Errorf("Backlog = %d, %v; want %d", n, err, want)
		}
	}
	backlog(3)
	got := receive(0)
	if len(got) != 3 {
		t.Fatalf("received %d, want 3", len(got))
	}
	backlog(0) // in work is not waiting
	if err := q.Hide(t.Context(), *got[0].ReceiptHandle, 0); err != nil {
		t.Fatal(err)
	}
	// Part of a second must not become none: the message would come back at once, and burn a receive.
	if err := q.Hide(t.Context(), *got[1].ReceiptHandle, time.Millisecond); err != nil {
		t.Fatal(err)
	}
	// More than SQS takes is cut, not refused.
	if err := q.Hide(t.Context(), *got[2].ReceiptHandle, 48*time.Hour); err != nil {
		t.Fatal(err)
	}
	if n := len(receive(0)); n != 1 {
		t.Errorf("received %d at once, want the one that is not hidden", n)
	}
}

func TestErrorsNameTheAct(t *testing.T) {
	q, _ := engine(t)
	if err := q.Hide(t.Context(), "no handle", time.Second); err == nil || !strings.HasPrefix(err.Error(), "change visibility") {
		t.Errorf("Hide = %v", err)
	}
	gone := queue.Open(aws.Config{Region: "eu-north-1", BaseEndpoint: aws.String("http://127.0.0.1:1"),
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		Retryer:     func() aws.Retryer { return aws.NopRetryer{} }}, "http://127.0.0.1:1/000000000000/none")
	if err := gone.Send(t.Context(), inbox.Reference{Event: id, Tenant: "shop"}); err == nil || !strings.HasPrefix(err.Error(), "send event "+string(id)) {
		t.Errorf("Send = %v", err)
	}
	if _, err := gone.Backlog(t.Context()); err == nil {
		t.Error("Backlog of an absent queue succeeded")
	}
}
