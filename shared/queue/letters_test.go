package queue_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/sivchari/kumo"

	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/queue"
)

// letters starts the embedded engine with one queue, and a way to put any message into it.
func letters(t *testing.T) (*queue.Queue, func(body string)) {
	t.Helper()
	srv := kumo.NewServer()
	t.Cleanup(srv.Close)
	cfg := aws.Config{Region: "eu-north-1", BaseEndpoint: &srv.URL, Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")}
	client := sqs.NewFromConfig(cfg)
	out, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("letters")})
	if err != nil {
		t.Fatal(err)
	}
	return queue.Open(cfg, *out.QueueUrl), func(body string) {
		t.Helper()
		if _, err := client.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: out.QueueUrl, MessageBody: &body}); err != nil {
			t.Fatal(err)
		}
	}
}

func peek(t *testing.T, q *queue.Queue, limit int) ([]inbox.Letter, bool) {
	t.Helper()
	found, more, err := q.Peek(t.Context(), limit, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return found, more
}

func handles(of []inbox.Letter) []string {
	var all []string
	for _, l := range of {
		all = append(all, l.Handle)
	}
	return all
}

func TestPeekTellsWhatEachLetterIs(t *testing.T) {
	q, put := letters(t)
	notice := inbox.Notice{
		Event: id, Generation: 2, Scope: object.Scope{Tenant: "shop", Environment: "test"}, Operation: "product:794/product-card@3/9f2c", Token: 5, Reason: "refusal", Category: "unusable output",
	}
	if err := q.Notify(t.Context(), notice); err != nil {
		t.Fatal(err)
	}
	put(`{"event":"` + string(id) + `"}`)
	put(`{"order":"12 chairs"}`)
	before := time.Now()
	got, more := peek(t, q, 10)
	if more {
		t.Error("more is told where there is no more")
	}
	slices.SortFunc(got, func(a, b inbox.Letter) int { return b.Bytes - a.Bytes })
	for _, l := range got {
		if l.ID == "" || l.Handle == "" || l.Receives != 1 || l.SentAt.After(before.Add(time.Second)) || before.Sub(l.SentAt) > time.Minute {
			t.Errorf("letter %+v", l)
		}
	}
	want := []inbox.Letter{{Event: id, Notice: &notice}, {Event: id}, {}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(inbox.Letter{}, "ID", "Handle", "SentAt", "Receives", "Bytes")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestALetterStaysUntilItIsDeleted(t *testing.T) {
	q, put := letters(t)
	for n := range 23 {
		put(fmt.Sprintf(`{"foreign":%d}`, n))
	}
	first, more := peek(t, q, 20)
	if len(first) != 20 || !more {
		t.Fatalf("%d letters, more %v; want 20 and more", len(first), more)
	}
	rest, more := peek(t, q, 20)
	if len(rest) != 3 || more {
		t.Fatalf("%d letters, more %v; want the 3 that are not hidden", len(rest), more)
	}
	if err := q.Delete(t.Context(), handles(rest)); err != nil {
		t.Fatal(err)
	}
	if err := q.Return(t.Context(), handles(first)); err != nil {
		t.Fatal(err)
	}
	again, _ := peek(t, q, 30)
	if len(again) != 20 || again[0].Receives != 2 {
		t.Errorf("%d letters, seen %d times; want 20, twice", len(again), again[0].Receives)
	}
}

// One receipt that is not good any more keeps no other letter from its end.
func TestWhatIsRefusedHoldsNothingUp(t *testing.T) {
	q, put := letters(t)
	for range 12 {
		put(`{}`)
	}
	got, _ := peek(t, q, 20)
	err := q.Delete(t.Context(), append([]string{"no receipt"}, handles(got)...))
	if err == nil || !strings.HasPrefix(err.Error(), "delete letters: one was refused") {
		t.Errorf("Delete = %v", err)
	}
	if err := q.Return(t.Context(), []string{"no receipt"}); err == nil || !strings.HasPrefix(err.Error(), "return letters: one was refused") {
		t.Errorf("Return = %v", err)
	}
	if n, err := q.Backlog(t.Context()); err != nil || n != 0 {
		t.Errorf("%d letters are left, %v", n, err)
	}
	if err := q.Delete(t.Context(), nil); err != nil { // SQS refuses an empty batch
		t.Error(err)
	}
}

// A look for letters waits at SQS by itself: what is too long for an answer of any other call is not too long for this.
func TestALookThatWaitsAtSQSIsNotCutOff(t *testing.T) {
	var calls atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		io.Copy(io.Discard, r.Body)
		select {
		case <-r.Context().Done(): // cut off
			return
		case <-time.After(500 * time.Millisecond): // SQS waits for a second before it says that there is none
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		fmt.Fprint(w, `{}`)
	}))
	t.Cleanup(server.Close)
	cfg := aws.Config{
		Region: "eu-north-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		HTTPClient: awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) { t.ResponseHeaderTimeout = 100 * time.Millisecond }),
		Retryer:    func() aws.Retryer { return aws.NopRetryer{} },
	}
	q := queue.Open(cfg, server.URL+"/000000000000/letters")
	if got, more := peek(t, q, 10); len(got) != 0 || more || calls.Load() != 1 {
		t.Errorf("%v, %v after %d calls", got, more, calls.Load())
	}
	if _, err := q.Backlog(t.Context()); err == nil || calls.Load() != 2 {
		t.Errorf("any other call had the same time: %v", err)
	}
}

// A standard queue may give one message twice: the newest receipt is the one that is good.
func TestALetterThatComesTwiceIsOne(t *testing.T) {
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		if n++; n > 2 {
			fmt.Fprint(w, `{}`)
			return
		}
		fmt.Fprintf(w, `{"Messages":[{"MessageId":"m","ReceiptHandle":"receipt-%d","Body":"{}","MD5OfBody":"99914b932bd37a50b983c5e7c90ae93b","Attributes":{"ApproximateReceiveCount":"%d"}}]}`, n, n)
	}))
	t.Cleanup(server.Close)
	cfg := aws.Config{Region: "eu-north-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")}
	got, more := peek(t, queue.Open(cfg, server.URL+"/000000000000/letters"), 10)
	if len(got) != 1 || got[0].Handle != "receipt-2" || got[0].Receives != 2 || more || n != 3 {
		t.Errorf("%+v, more %v after %d calls", got, more, n)
	}
}
