package integration_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"engang/infra/local/wire"
	"engang/shared/control"
	"engang/shared/dynamo/dynamotest/invariants"
)

// tidied sends what the queue itself set aside to the work queue again.
func (s *system) tidied() (done control.Tidied) {
	s.t.Helper()
	a := s.post("/api/dlq/tidy", `{"native":true,"reason":"the function had no room"}`)
	if err := json.Unmarshal([]byte(a.Body), &done); err != nil || a.Code != http.StatusOK {
		s.t.Fatalf("%d %s, %v", a.Code, a.Body, err)
	}
	return done
}

// withoutReports is template.yaml with an event source that does not ask for partial failures.
func withoutReports(t testing.TB) string {
	t.Helper()
	raw, err := os.ReadFile("../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const line = "            FunctionResponseTypes: [ReportBatchItemFailures]\n"
	if strings.Count(string(raw), line) != 1 {
		t.Fatal("template.yaml has not one event source that reports partial failures")
	}
	path := filepath.Join(t.TempDir(), "template.yaml")
	if err := os.WriteFile(path, []byte(strings.Replace(string(raw), line, "", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// broken delivers as many orders, and takes the stored event of the second away for now. It returns what puts it back.
func (s *system) broken(orders int) (restore func()) {
	s.t.Helper()
	var second string
	for i := range orders {
		if id := s.accept(s.order("order.updated", paying(1+i).body())); i == 1 {
			second = id
		}
	}
	item := s.item(second)
	row := s.row(keyOf(item))
	s.remove(item)
	return func() {
		table := s.TableName()
		if _, err := s.DynamoDB().PutItem(s.t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: row}); err != nil {
			s.t.Fatal(err)
		}
	}
}

func TestCaseSQS01PartialFailureAnswerIgnored(t *testing.T) {
	sideBySide(t)
	for name, c := range map[string]struct {
		template string
		left     int // messages after the batch
	}{
		"as declared":                       {"", 1},
		"not asked for by the event source": {withoutReports(t), 0},
	} {
		t.Run(name, func(t *testing.T) {
			o := caseOptions()
			o.TemplatePath = c.template
			each(t, o, func(t *testing.T, s *system) {
				restore := s.broken(3)
				if n := s.step(); n != 3 || s.open() != 0 || s.queued() != c.left {
					t.Fatalf("%d messages in the batch, %d events open, %d messages left, want %d", n, s.open(), s.queued(), c.left)
				}
				restore()
				s.hurry() // lost or not, the message: the event is stored
				s.rest()
				for i := range 3 {
					if o := s.object(paying(1 + i).object()); len(o.Results) != 1 || o.Operations[0].FencingToken != 1 {
						t.Errorf("operations %+v, results %+v", o.Operations, o.Results)
					}
				}
				if s.calls() != 3 {
					t.Errorf("%d calls", s.calls())
				}
			})
		})
	}
}

func TestCaseSQS04FunctionTimeoutRaisedVisibilityNot(t *testing.T) {
	sideBySide(t)
	eachGated(t, caseOptions(), "model call", wire.Before, func(t *testing.T, s *system, g *gate) {
		id := s.accept(s.order("order.updated", paying(1).body()))
		slow := s.work()
		let := g.next(t)
		for range 3 { // its message is visible again, and others get it
			out, err := s.Invoke(t.Context(), "enrichment", message(t, id))
			if err != nil || !strings.Contains(string(out), "itemIdentifier") || s.calls() != 0 {
				t.Errorf("a second worker came to %s, %v; %d calls", out, err, s.calls())
			}
		}
		let()
		slow.wait()
		s.rest()
		if op := s.object("order:1").Operations[0]; s.calls() != 1 || op.FencingToken != 1 || s.event(id).Outcome != "completed" {
			t.Errorf("%d calls, operation %+v", s.calls(), op)
		}
	})
}

// take receives every message that is visible as a poller does that then cannot run the function, again and again,
// until none is left.
func (s *system) take(queue string) {
	s.t.Helper()
	address := s.QueueURL(queue)
	for began := time.Now(); time.Since(began) < 20*time.Second; {
		out, err := s.SQS().ReceiveMessage(s.t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &address, MaxNumberOfMessages: 10})
		if err != nil {
			s.t.Fatal(err)
		}
		if len(out.Messages) == 0 {
			return
		}
		for _, m := range out.Messages {
			if _, err := s.SQS().ChangeMessageVisibility(s.t.Context(), &sqs.ChangeMessageVisibilityInput{QueueUrl: &address, ReceiptHandle: m.ReceiptHandle}); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	s.t.Fatalf("%s is never empty", queue)
}

func TestCaseSQS05LettersWithoutAnyRun(t *testing.T) {
	sideBySide(t)
	each(t, caseOptions(), func(t *testing.T, s *system) {
		const orders = 12
		for i := range orders {
			s.accept(s.order("order.updated", paying(1+i).body()))
		}
		s.take("WorkQueue")
		var letters control.List[control.Letter]
		if code := s.get("/api/dlq", &letters); code != http.StatusOK || len(letters.Items) != orders {
			t.Fatalf("%d: %d letters", code, len(letters.Items))
		}
		for _, l := range letters.Items {
			if l.Standing != control.LetterNative || l.Attempts != 0 || l.Over || l.State != "received" || l.Operation != "" {
				t.Errorf("letter %+v", l)
			}
		}
		if done := s.tidied(); done.Sent != orders || done.Deleted != orders {
			t.Fatalf("%+v", done)
		}
		s.rest()
		if len(s.deadLetters()) != 0 || s.calls() != orders || len(s.items().Results()) != orders {
			t.Errorf("%d letters left, %d calls, %d results", len(s.deadLetters()), s.calls(), len(s.items().Results()))
		}
	})
}

func TestCaseSQS07DeadLetterClockStartsAtTheFirstSend(t *testing.T) {
	sideBySide(t)
	each(t, caseOptions(), func(t *testing.T, s *system) {
		s.fails("refusal", 1)
		id := s.accept(s.order("order.updated", paying(1).body()))
		s.settle()
		op := s.object("order:1").Operations[0]
		address := s.QueueURL("WorkDeadLetterQueue")
		for _, m := range s.deadLetters() { // over the weekend its time is over
			if _, err := s.SQS().DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: &address, ReceiptHandle: m.ReceiptHandle}); err != nil {
				t.Fatal(err)
			}
		}
		if e := s.event(id); e.State != "parked" || s.inReview() != "operation" || e.ExpiresAt != nil || op.ExpiresAt != nil {
			t.Errorf("event %+v, in review %q: what waits must not end by itself", e, s.inReview())
		}
		if a := s.post("/api/redrive", fmt.Sprintf(`{"id":%q,"reason":"the text is good now"}`, op.ID)); a.Code != http.StatusOK {
			t.Fatalf("%d %s", a.Code, a.Body)
		}
		s.rest()
		if e := s.event(id); e.Outcome != "completed" || s.calls() != 2 {
			t.Errorf("event %+v, %d calls", e, s.calls())
		}
	})
}

func TestCaseSQS09MessagesAfterAFailureAreUntouched(t *testing.T) {
	sideBySide(t)
	each(t, caseOptions(), func(t *testing.T, s *system) {
		for _, address := range []string{s.QueueURL("WorkQueue"), s.QueueURL("WorkDeadLetterQueue")} {
			if strings.HasSuffix(address, ".fifo") {
				t.Errorf("%s keeps an order that nothing here needs", address)
			}
		}
		restore := s.broken(7) // all of one tenant, and so of one group; a batch has five
		first, second := s.step(), s.step()
		if first != 5 || second != 2 || s.open() != 0 || s.queued() != 1 {
			t.Errorf("batches of %d and %d, %d events open, %d messages left", first, second, s.open(), s.queued())
		}
		restore()
		s.rest()
		if s.calls() != 7 {
			t.Errorf("%d calls", s.calls())
		}
	})
}

// hasten makes what is open, and the breaker, due now.
func (s *system) hasten() {
	s.t.Helper()
	for _, i := range s.items() {
		switch {
		case i["sk"] == "BREAKER" && i["st"] == "open":
			s.set(i, "til", &types.AttributeValueMemberN{Value: "1"})
		case strings.HasPrefix(i["oq"], "open#"):
			s.set(i, "od", &types.AttributeValueMemberS{Value: fmt.Sprintf("%013d", 1) + i["od"][13:]})
		}
	}
}

// set changes one attribute of a stored item, past the system.
func (s *system) set(i invariants.Item, name string, value types.AttributeValue) {
	s.t.Helper()
	table, update := s.TableName(), "SET #a = :v"
	_, err := s.DynamoDB().UpdateItem(s.t.Context(), &dynamodb.UpdateItemInput{
		TableName: &table, Key: keyOf(i), UpdateExpression: &update,
		ExpressionAttributeNames: map[string]string{"#a": name}, ExpressionAttributeValues: map[string]types.AttributeValue{":v": value},
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

func TestCaseSQS12SelfSendingStopsAfterSixteenHops(t *testing.T) {
	sideBySide(t)
	each(t, caseOptions(), func(t *testing.T, s *system) {
		const times = 20
		s.fails("quota", times)
		id := s.accept(s.order("order.updated", paying(1).body()))
		for n := 1; s.open() > 0; n++ {
			if got := s.step(); got != 1 || n > times+1 {
				t.Fatalf("%d messages at try %d", got, n)
			}
			s.Restart() // nothing is remembered of the breaker
			s.hasten()
			if err := s.Reconcile(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		s.rest()
		for _, c := range s.Record().Calls() {
			if c.Function == "enrichment" && strings.HasPrefix(c.Name, "send ") {
				t.Errorf("the worker makes its own next message: %s", c.Name)
			}
		}
		if e := s.event(id); e.Outcome != "completed" || s.calls() != times+1 || s.object("order:1").Operations[0].Claims != 1 {
			t.Errorf("event %+v, %d calls", e, s.calls())
		}
	})
}

func TestCaseSQS13RejectedEntriesCountedAsSent(t *testing.T) {
	sideBySide(t)
	troubled(t, func(t *testing.T, s *system, all *trouble) {
		const deliveries, lost = 10, 4
		var ids []string
		for i := range deliveries {
			if i == lost {
				all.is(every("send event", wire.Before, wire.Fail))
			}
			ids = append(ids, s.accept(s.product(product{ID: 1 + i, Name: "Chair " + strconv.Itoa(i)})))
			all.is(nil)
		}
		if n := s.queued(); n != deliveries-1 {
			t.Errorf("%d messages for %d events", n, deliveries)
		}
		for s.step() > 0 {
		}
		before := s.Record().Counts()["send event"]
		for i, id := range ids {
			if e := s.event(id); (e.State == "received") != (i == lost) {
				t.Errorf("event %d is %s", i, e.State)
			}
		}
		s.rest()
		if sent := s.Record().Counts()["send event"] - before; sent != 1 || s.event(ids[lost]).Sends != 1 || s.calls() != deliveries {
			t.Errorf("%d sends later, %d of them for what was not sent; %d calls", sent, s.event(ids[lost]).Sends, s.calls())
		}
	})
}

func TestCaseSQS16ResentCopiesResetTheReceiveCount(t *testing.T) {
	sideBySide(t)
	o := caseOptions()
	o.Speed = 60
	each(t, o, func(t *testing.T, s *system) {
		s.fails("500", -1)
		id := s.accept(s.order("order.updated", paying(1).body()))
		address := s.QueueURL("WorkQueue")
		const copies = 50
		for n := 0; n < copies || s.open() > 0; n++ {
			if _, err := s.SQS().PurgeQueue(t.Context(), &sqs.PurgeQueueInput{QueueUrl: &address}); err != nil {
				t.Fatal(err)
			}
			if _, err := s.SQS().SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &address, MessageBody: aws.String(fmt.Sprintf(`{"event":%q}`, id))}); err != nil {
				t.Fatal(err)
			}
			if got := s.step(); got != 1 || n > 40*copies {
				t.Fatalf("%d messages at copy %d", got, n)
			}
		}
		op := s.object("order:1").Operations[0]
		if got, claims := attemptsOf(&op); claims > 5 || len(got) > 5 || op.State != "failed" || s.calls() != len(got) || s.inReview() != "operation" {
			t.Errorf("%d claims, attempts %q, %d calls, operation %s, in review %q", claims, got, s.calls(), op.State, s.inReview())
		}
		if letters := s.deadLetters(); len(letters) != 1 {
			t.Errorf("%d dead letters", len(letters))
		}
	})
}

func TestCaseSQS17MessageOverTheSizeLimit(t *testing.T) {
	sideBySide(t)
	each(t, caseOptions(), func(t *testing.T, s *system) {
		lines := make([]string, 900)
		for i := range lines {
			lines[i] = fmt.Sprintf(`{"id":%d,"name":%q}`, i, noise(byte(i), 660))
		}
		body := order{id: 1, status: "processing", extra: `,"lines":[` + strings.Join(lines, ",") + `]`}.body()
		id := s.accept(s.order("order.updated", body))
		address := s.QueueURL("WorkQueue")
		out, err := s.SQS().ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &address, MessageAttributeNames: []string{"All"}, MessageSystemAttributeNames: []sqstypes.MessageSystemAttributeName{sqstypes.MessageSystemAttributeNameAll}})
		if err != nil || len(out.Messages) != 1 {
			t.Fatal(out, err)
		}
		if m := out.Messages[0]; len(body) < 600_000 || *m.Body != fmt.Sprintf(`{"event":%q}`, id) || len(m.MessageAttributes) != 0 {
			t.Errorf("a body of %d bytes made the message %s with %v", len(body), *m.Body, m.MessageAttributes)
		}
		if _, err := s.SQS().ChangeMessageVisibility(t.Context(), &sqs.ChangeMessageVisibilityInput{QueueUrl: &address, ReceiptHandle: out.Messages[0].ReceiptHandle}); err != nil {
			t.Fatal(err)
		}
		s.rest()
		if s.event(id).Outcome != "completed" || !slices.Equal(s.body(id), []byte(body)) {
			t.Errorf("event %+v", s.event(id))
		}
	})
}
