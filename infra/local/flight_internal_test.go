package local

import (
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// What is in flight when a system stops stands in its queue again, once, with all that it said.
func TestWhatIsInFlightIsGivenBack(t *testing.T) {
	f := &flight{}
	open := func(via http.RoundTripper) *sqs.Client {
		return sqs.NewFromConfig(aws.Config{Region: region, BaseEndpoint: aws.String(engine().URL), HTTPClient: &http.Client{Transport: via}, Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")})
	}
	past := open(http.DefaultTransport)
	seen := open(&router{held: &held{}, flight: f, next: http.DefaultTransport})
	queue, err := past.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("flight")})
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{"waits for its next try", "deleted", "deleted past the wire", "deleted with others", "not looked at"} {
		attributes := map[string]types.MessageAttributeValue{"tenant": {DataType: aws.String("String"), StringValue: aws.String("shop")}, "raw": {DataType: aws.String("Binary"), BinaryValue: []byte{0, 255}}}
		if _, err := past.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: queue.QueueUrl, MessageBody: &body, MessageAttributes: attributes}); err != nil {
			t.Fatal(err)
		}
	}
	receive := func(most int32) []types.Message {
		t.Helper()
		out, err := seen.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: queue.QueueUrl, MaxNumberOfMessages: most, VisibilityTimeout: 30, MessageAttributeNames: []string{"All"}})
		if err != nil {
			t.Fatal(err)
		}
		return out.Messages
	}
	taken := receive(4)
	if len(taken) != 4 {
		t.Fatalf("%d messages", len(taken))
	}
	for body, remove := range map[string]func(handle *string) error{
		"deleted": func(handle *string) error {
			_, err := seen.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: queue.QueueUrl, ReceiptHandle: handle})
			return err
		},
		"deleted past the wire": func(handle *string) error {
			_, err := past.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: queue.QueueUrl, ReceiptHandle: handle})
			return err
		},
		"deleted with others": func(handle *string) error {
			_, err := seen.DeleteMessageBatch(t.Context(), &sqs.DeleteMessageBatchInput{QueueUrl: queue.QueueUrl, Entries: []types.DeleteMessageBatchRequestEntry{{Id: aws.String("1"), ReceiptHandle: handle}}})
			return err
		},
	} {
		for _, m := range taken {
			if *m.Body != body {
				continue
			}
			if err := remove(m.ReceiptHandle); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := f.giveBack(t.Context(), past); err != nil {
		t.Fatal(err)
	}
	left := map[string]int{}
	for _, m := range receive(10) {
		left[*m.Body]++
		if a := m.MessageAttributes; *a["tenant"].StringValue != "shop" || len(a["raw"].BinaryValue) != 2 {
			t.Errorf("attributes %v", a)
		}
	}
	if len(left) != 2 || left["waits for its next try"] != 1 || left["not looked at"] != 1 {
		t.Errorf("there is %v", left)
	}
}
