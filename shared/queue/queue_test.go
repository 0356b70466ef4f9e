package queue_test

import (
	"crypto/md5"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
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

// strict is a queue that takes no other characters than SQS does, as the SDK's SendMessage lists them, and keeps the
// last message.
func strict(t *testing.T) (*queue.Queue, func() (body string, attributes map[string]string)) {
	t.Helper()
	var sent struct {
		MessageBody       string
		MessageAttributes map[string]struct{ StringValue string }
	}
	refused := func(r rune) bool {
		return !(r == 0x9 || r == 0xa || r == 0xd || r >= 0x20 && r <= 0xd7ff || r >= 0xe000 && r <= 0xfffd || r >= 0x10000 && r <= 0x10ffff)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			t.Error(err)
		}
		bad := strings.ContainsFunc(sent.MessageBody, refused)
		for _, a := range sent.MessageAttributes {
			bad = bad || strings.ContainsFunc(a.StringValue, refused)
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		if bad {
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, `{"__type":"com.amazonaws.sqs#InvalidMessageContents","message":"Invalid characters found."}`)
			return
		}
		fmt.Fprintf(w, `{"MessageId":"1","MD5OfMessageBody":"%x"}`, md5.Sum([]byte(sent.MessageBody)))
	}))
	t.Cleanup(server.Close)
	cfg := aws.Config{Region: "eu-north-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")}
	return queue.Open(cfg, server.URL+"/000000000000/letters"), func() (string, map[string]string) {
		attributes := map[string]string{}
		for name, a := range sent.MessageAttributes {
			attributes[name] = a.StringValue
		}
		return sent.MessageBody, attributes
	}
}

// An event that was stored before its id was looked at so closely must be parked all the same, and its notice must
// name the very operation when it comes back.
func TestANoticeWithCharactersThatNoMessageHoldsIsSent(t *testing.T) {
	for _, tc := range []struct{ name, text, shown, decoded string }{
		{"a control character", "79\x014", `79\u00014`, "79\x014"},
		{"the number zero", "79\x004", `79\u00004`, "79\x004"},
		{"what is no character", "79\uffff\ufffe4", `79\uffff\ufffe4`, "79\uffff\ufffe4"},
		{"what is no text", "79\xff4", "79\ufffd4", "79\ufffd4"},
		{"white space, letters of other alphabets, signs beyond the first plane", "7\t\r\n å漢😀\ufffd", "7\t\r\n å漢😀\ufffd", "7\t\r\n å漢😀\ufffd"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			q, sent := strict(t)
			notice := inbox.Notice{Event: id, Scope: object.Scope{Tenant: "shop", Environment: "test"}, Operation: "product:" + tc.text + "/card@1/9f2c", Reason: "about " + tc.text, Category: "bug"}
			if err := q.Notify(t.Context(), notice); err != nil {
				t.Fatal(err)
			}
			body, attributes := sent()
			if want := map[string]string{"reason": "about " + tc.shown, "category": "bug", "operation": "product:" + tc.shown + "/card@1/9f2c"}; !maps.Equal(attributes, want) {
				t.Errorf("attributes %q, want %q", attributes, want)
			}
			notice.Operation, notice.Reason = "product:"+tc.decoded+"/card@1/9f2c", "about "+tc.decoded
			m, err := queue.Decode(body)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(queue.Message{Notice: &notice}, m); diff != "" {
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
