package architecture_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"engang/infra/local"
	"engang/shared/object"
	"engang/shared/secrets"
	"engang/shared/webhook"
)

// everything makes each function do each kind of thing that it can do.
func everything(t *testing.T, f flow) {
	contact := `{"type":"contact.created","timestamp":"2026-11-29T12:00:00Z","data":{"id":"c_1","email":"ann@example.com","name":"Ann","company":"Acme","notes":"Met at the fair."}}`
	event := f.deliver(t, "crm", contact, "msg_1", "accepted")
	f.deliver(t, "crm", contact, "msg_1", "duplicate")
	f.deliver(t, "crm", strings.Replace(contact, "Ann", "Bea", 1), "msg_1", "conflict")
	f.work(t)
	f.wait(t, event, "settled")

	big := strings.Replace(strings.Replace(contact, "c_1", "c_2", 1), "Met", noise(40_000)+" met", 1)
	event = f.deliver(t, "crm", big, "msg_2", "accepted")
	f.work(t)
	f.wait(t, event, "settled")
	f.api(t, http.MethodPost, "/api/reveal", `{"id":"`+event+`","reason":"a look"}`)
	f.api(t, http.MethodGet, "/api/events?since=2020-01-01T00:00:00Z", "")
	f.api(t, http.MethodGet, "/api/operations", "")
	f.api(t, http.MethodGet, "/api/show?id=contact:c_1", "")
	f.api(t, http.MethodGet, "/api/endpoints?name=crm", "")
	f.api(t, http.MethodGet, "/api/config", "")
	f.apply(t)

	for range 2 { // the second one brings the same part with another content, of which nothing is kept
		event = f.batch(t, `[{"eventId":1,"subscriptionId":11,"portalId":1,"appId":2,"occurredAt":1795982400000,"subscriptionType":"contact.creation","attemptNumber":0,"objectId":7,"note":"`+noise(40_000)+`"}]`)
		f.work(t)
		f.wait(t, event, "settled")
	}

	f.faults(t, "model:refusal")
	event = f.deliver(t, "crm", strings.Replace(contact, "c_1", "c_3", 1), "msg_3", "accepted")
	f.work(t)
	f.wait(t, event, "parked")
	f.moveBack(t)
	f.work(t)
	f.wait(t, event, "settled")

	f.faults(t, "model:refusal")
	event = f.deliver(t, "crm", strings.Replace(contact, "c_1", "c_redriven", 1), "msg_redriven", "accepted")
	f.work(t)
	f.wait(t, event, "parked")
	f.api(t, http.MethodGet, "/api/dlq", "")
	f.api(t, http.MethodPost, "/api/redrive", `{"id":"`+event+`","reason":"another try"}`)
	f.wait(t, event, "settled")
	f.api(t, http.MethodPost, "/api/dlq/tidy", `{"native":true,"reason":"it is over"}`)
	f.api(t, http.MethodPost, "/api/replay", `{"since":"2020-01-01T00:00:00Z","reason":"to be sure"}`)

	f.review(t, contact)

	f.faults(t, "model:429")
	event = f.deliver(t, "crm", strings.Replace(contact, "c_1", "c_4", 1), "msg_4", "accepted")
	f.work(t)
	f.wait(t, event, "settled")

	f.faults(t, "model:quota") // opens the breaker; the next probe closes it
	event = f.deliver(t, "crm", strings.Replace(contact, "c_1", "c_7", 1), "msg_7", "accepted")
	f.work(t)
	f.drained(t, event)

	f.api(t, http.MethodPost, "/api/pause", `{"kind":"endpoint","name":"crm","reason":"a look"}`)
	event = f.deliver(t, "crm", strings.Replace(contact, "c_1", "c_8", 1), "msg_8", "accepted")
	f.api(t, http.MethodGet, "/api/pauses", "")
	f.api(t, http.MethodPost, "/api/cancel", `{"id":"`+event+`","reason":"not wanted"}`)
	f.api(t, http.MethodPost, "/api/resume", `{"kind":"endpoint","name":"crm","reason":"looked at"}`)
	f.api(t, http.MethodPost, "/api/resume", `{"kind":"model","name":"openai/gpt-5.4-mini-2026-03-17","reason":"it serves"}`)
	f.api(t, http.MethodGet, "/api/stats", "")

	f.faults(t, "queue:down")
	event = f.deliver(t, "crm", strings.Replace(contact, "c_1", "c_5", 1), "msg_5", "accepted")
	f.due(t, event, 0)
	f.reconcile(t)
	f.work(t)
	f.wait(t, event, "settled")
	f.faults(t, "queue:down")
	event = f.deliver(t, "crm", strings.Replace(contact, "c_1", "c_6", 1), "msg_6", "accepted")
	f.due(t, event, 10)
	f.reconcile(t)
	f.wait(t, event, "parked")

	f.erase(t, object.ID{Kind: "contact", Value: "c_2"})
	f.deliver(t, "crm", big, "msg_2", "duplicate") // of which nothing is kept
	f.sources(t)
}

// noise is text that does not compress well.
func noise(n int) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(strconv.FormatUint(rand.Uint64(), 36))
	}
	return b.String()
}

// A flow steps a system by hand.
type flow struct{ sys *local.System }

func (f flow) deliver(t *testing.T, endpoint, body, id, want string) (event string) {
	t.Helper()
	return f.signed(t, "standard-webhooks", endpoint, http.Header{"Webhook-Id": {id}}, body, want)
}

// batch delivers many events at once, as HubSpot does.
func (f flow) batch(t *testing.T, body string) (event string) {
	t.Helper()
	return f.signed(t, "hubspot", "hub", http.Header{}, body, "accepted")
}

// signed delivers as a provider does.
func (f flow) signed(t *testing.T, provider, endpoint string, h http.Header, body, want string) (event string) {
	t.Helper()
	scheme, _ := webhook.Lookup(provider)
	secret := secrets.NewValue(local.Secret(provider, secrets.Ref("ssm:hooks/"+endpoint+"/1")))
	req, err := scheme.Sign(webhook.Request{Method: http.MethodPost, URL: "https://hooks.example.com/hooks/" + endpoint, Body: []byte(body), Header: h}, secret, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	answer := f.send(t, http.MethodPost, "/hooks/"+endpoint, req.Header, req.Body)
	var got struct{ Status, Event string }
	if err := json.Unmarshal(answer, &got); err != nil || got.Status != want {
		t.Fatalf("delivery to %s was answered %s, want %s", endpoint, answer, want)
	}
	return got.Event
}

func (f flow) api(t *testing.T, method, path, body string) {
	t.Helper()
	f.send(t, method, path, http.Header{"Content-Type": {"application/json"}}, []byte(body))
}

// apply keeps deliveries a day longer.
func (f flow) apply(t *testing.T) {
	t.Helper()
	set := f.sys.Config()
	set.Common.EventDays++
	raw, err := json.Marshal(map[string]any{"set": set, "revision": 1})
	if err != nil {
		t.Fatal(err)
	}
	f.api(t, http.MethodPut, "/api/config", string(raw))
}

func (f flow) send(t *testing.T, method, path string, header http.Header, body []byte) []byte {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, f.sys.URL()+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s %s %v", method, path, answer.Status, raw, err)
	}
	return raw
}

func (f flow) faults(t *testing.T, text string) {
	t.Helper()
	if err := f.sys.Faults().Add(text); err != nil {
		t.Fatal(err)
	}
}

func (f flow) work(t *testing.T) {
	t.Helper()
	if _, err := f.sys.Work(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (f flow) reconcile(t *testing.T) {
	t.Helper()
	if err := f.sys.Reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// moveBack does what the console's redrive button does: the letters go to the work queue as they are.
func (f flow) moveBack(t *testing.T) {
	t.Helper()
	letters, err := f.sys.SQS().ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: aws.String(f.sys.QueueURL("WorkDeadLetterQueue")), WaitTimeSeconds: 2})
	if err != nil || len(letters.Messages) == 0 {
		t.Fatalf("no letter in the dead-letter queue: %v", err)
	}
	for _, m := range letters.Messages {
		if _, err := f.sys.SQS().SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: aws.String(f.sys.QueueURL("WorkQueue")), MessageBody: m.Body}); err != nil {
			t.Fatal(err)
		}
	}
}

func key(event string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "E#" + event}, "sk": &types.AttributeValueMemberS{Value: "EVENT"}}
}

// due makes an event due long ago, after some sends of the reconciler.
func (f flow) due(t *testing.T, event string, sends int) {
	t.Helper()
	_, err := f.sys.DynamoDB().UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String(f.sys.TableName()), Key: key(event),
		UpdateExpression:         aws.String("SET #due = :long, #sends = :count"),
		ExpressionAttributeNames: map[string]string{"#due": "od", "#sends": "try"},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":long": &types.AttributeValueMemberS{Value: "0000000000001#" + event}, ":count": &types.AttributeValueMemberN{Value: strconv.Itoa(sends)},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// drained reconciles until an event that was held is settled.
func (f flow) drained(t *testing.T, event string) {
	t.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); <-tick.C {
		f.reconcile(t)
		f.work(t)
		if f.state(t, event) == "settled" {
			return
		}
	}
	t.Fatalf("event %s was not drained", event)
}

// wait works until an event stands where it should; a message may be hidden for a moment.
func (f flow) wait(t *testing.T, event, state string) {
	t.Helper()
	var got string
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); <-tick.C {
		f.work(t)
		got = f.state(t, event)
		if got == state {
			return
		}
	}
	t.Fatalf("event %s is %s, want %s: %v", event, got, state, slices.Sorted(maps.Keys(f.sys.Record().Counts())))
}

func (f flow) state(t *testing.T, event string) string {
	t.Helper()
	out, err := f.sys.DynamoDB().GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String(f.sys.TableName()), Key: key(event), ConsistentRead: aws.Bool(true)})
	if err != nil {
		t.Fatal(err)
	}
	s, ok := out.Item["st"].(*types.AttributeValueMemberS)
	if !ok {
		return ""
	}
	return s.Value
}
