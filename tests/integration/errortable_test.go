package integration_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"engang/infra/local"
	"engang/shared/dynamo/dynamotest"
	"engang/shared/dynamo/dynamotest/invariants"
)

// A mishap is a row of infra/design.md section 7 that no failure of the model causes. Unknown outcomes come with effects.
type mishap struct {
	request  func(*system) *http.Request // nil: a good product
	say      func(output map[string]any) // changes what the model says
	config   []string                    // passages of local.yaml to replace
	fault    string                      // of the stub
	attempts []string
	state    string // of the operation; empty: there is none
	event    string // how it ended
	reason   string // of the operation, else of the event: what it holds
	category string
	review   string // what stands in the review list
}

const (
	lengthCheck = "      - {path: /summary, length: [40, 320]}\n"
	countCheck  = lengthCheck + "      - {path: /tags, length: [2, 8]}\n"
)

var mishaps = map[string]mishap{
	// Invalid input: acknowledged, parked at once, no operation, no call.
	"without what the recipe needs":       {request: wooBody("product.updated", `{"id":795,"description":"oak"}`), event: "parked", reason: "name", category: "invalid input", review: "event"},
	"without object id":                   {request: wooBody("product.updated", `{"name":"Chair"}`), event: "parked", reason: "no object id at /id", category: "invalid input", review: "event"},
	"a signed REST error in its place":    {request: wooBody("product.updated", `{"code":"woocommerce_rest_product_invalid_id","message":"no","data":{"status":404}}`), event: "parked", reason: "an error of its REST interface", category: "invalid input", review: "event"},
	"an array where an object is meant":   {request: wooBody("product.updated", `[{"id":794,"name":"Chair"}]`), event: "parked", reason: "the body is an array", category: "invalid input", review: "event"},
	"a REST error under the product's id": {request: wooBody("product.updated", `{"id":796,"name":"Chair","code":"woocommerce_rest_cannot_view"}`), event: "parked", reason: "/code", category: "invalid input", review: "event"},

	// A check of ours fails: a draft with its reasons.
	"length":                  {say: func(out map[string]any) { out["summary"] = "Oak." }, attempts: []string{"flagged  200"}, state: "review", event: "review", reason: "/summary: 1 of 1 not of length 40 to 320", review: "operation"},
	"quote not in the source": {say: func(out map[string]any) { quoteOf(out)["value"] = "mahogany" }, attempts: []string{"flagged  200"}, state: "review", event: "review", reason: "/attributes/*: 1 of 1 not a quote from the input field that it names", review: "operation"},
	"count":                   {fault: "missing", config: []string{lengthCheck, countCheck}, attempts: []string{"flagged  200"}, state: "review", event: "review", reason: "/tags: 1 of 1 not of length 2 to 8", review: "operation"},
	"said twice and denied":   {say: func(out map[string]any) { out["tags"] = []any{"Oak", "OAK", "the best oak"} }, attempts: []string{"flagged  200"}, state: "review", event: "review", reason: "/tags/*: 1 of 3 said twice; /tags/*: 1 of 3 with a denied word", review: "operation"},
}

// quoteOf is the output's first attribute.
func quoteOf(output map[string]any) map[string]any {
	return output["attributes"].([]any)[0].(map[string]any)
}

func TestEveryRowOfTheErrorTable(t *testing.T) {
	eachCase(t, mishaps, func(m mishap) local.Options {
		o := local.Options{Speed: calm}
		if m.config != nil {
			o.ConfigFiles = []string{edited(t, m.config...)}
		}
		if m.say != nil {
			o.ModelURL = (&ear{say: output(m.say)}).listen(t)
		}
		return o
	}, func(t *testing.T, s *system, m mishap) {
		if m.fault != "" {
			s.fails(m.fault, 1)
		}
		r := s.signed("woo-shop", "woocommerce", wooTopic("product.updated"), oldChair.Body())
		if m.request != nil {
			r = m.request(s)
		}
		id := s.accept(s.send(r))
		s.rest()
		m.check(s, id)
	})
}

// check holds all that is stored against the row.
func (m mishap) check(s *system, id string) {
	s.t.Helper()
	e, state, reason, category := s.event(id), "", "", ""
	var attempts []string
	reason, category = e.Reason, e.Category
	if ops := s.items().Operations(); len(ops) > 0 {
		op := s.object(e.Object).Operations[0]
		attempts, _ = attemptsOf(&op)
		state, reason, category = op.State, op.Reason, op.Category
		if op.Result != nil || len(ops) != 1 {
			s.t.Errorf("result %+v, %d operations", op.Result, len(ops))
		}
	}
	end := e.Outcome
	if e.State == "parked" {
		end = "parked"
	}
	if state != m.state || end != m.event || !strings.Contains(reason, m.reason) || category != m.category {
		s.t.Errorf("operation %q, event %s, %q, %q, want %q, %s, %q, %q", state, end, reason, category, m.state, m.event, m.reason, m.category)
	}
	if !slices.Equal(attempts, m.attempts) || s.calls() != len(m.attempts) {
		s.t.Errorf("attempts %q after %d calls, want %q", attempts, s.calls(), m.attempts)
	}
	if s.inReview() != m.review || s.breaker() != nil {
		s.t.Errorf("in review stands %q, want %q; breaker %v", s.inReview(), m.review, s.breaker())
	}
	if letters := len(s.deadLetters()); (letters == 1) != (m.event == "parked") {
		s.t.Errorf("%d dead letters", letters)
	}
}

// output changes the output in an answer of the model.
func output(change func(map[string]any)) func(answer map[string]any) {
	return func(answer map[string]any) {
		for _, part := range answer["output"].([]any) {
			content, ok := part.(map[string]any)["content"].([]any)
			if !ok {
				continue
			}
			out := map[string]any{}
			text := content[0].(map[string]any)
			if err := json.Unmarshal([]byte(text["text"].(string)), &out); err != nil {
				panic(err) // the stub wrote it
			}
			change(out)
			raw, err := json.Marshal(out)
			if err != nil {
				panic(err)
			}
			text["text"] = string(raw)
		}
	}
}

// A tight is an engine that throttles: the next calls of one operation are refused.
type tight struct {
	to     string
	mu     sync.Mutex
	target string
	left   int
}

func (e *tight) refuses(target string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.left == 0 || !strings.HasSuffix(target, "."+e.target) {
		return false
	}
	e.left--
	return true
}

func (e *tight) throttle(target string, n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.target, e.left = target, n
}

func (e *tight) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if e.refuses(r.Header.Get("X-Amz-Target")) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"__type":"com.amazonaws.dynamodb.v20120810#ThrottlingException","message":"Rate exceeded"}`)
		return
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	out, err := http.NewRequestWithContext(r.Context(), r.Method, e.to+r.URL.RequestURI(), bytes.NewReader(raw))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	out.Header = r.Header.Clone()
	out.Header.Del("Accept-Encoding")
	res, err := client.Transport.RoundTrip(out)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer res.Body.Close()
	for name, values := range res.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(res.StatusCode)
	_, _ = io.Copy(w, res.Body)
}

// A throttled table is met again, by the client in place and then by the message: no attempt is counted before the
// claim, no call is made twice, and a paid answer is kept until it can be written.
func TestAThrottledTableCostsNoCall(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		for _, c := range []struct {
			name   string
			target string
			times  int
			again  bool // the message comes again
			speed  float64
		}{
			{"the claim, shortly", "UpdateItem", 2, false, calm},
			{"the claim, for longer than the client tries", "UpdateItem", 9, true, 20},
			{"the result, for longer than the client tries", "PutItem", 5, true, calm},
		} {
			t.Run(c.name, func(t *testing.T) {
				engine := &tight{to: db.Endpoint}
				server := httptest.NewServer(engine)
				t.Cleanup(server.Close)
				s := start(t, local.Options{DynamoDBURL: server.URL, Speed: c.speed})
				id := s.accept(s.product(oldChair))
				engine.throttle(c.target, c.times)
				if n := s.step(); n != 1 || (s.open() == 1) != c.again {
					t.Fatalf("%d messages, %d events open", n, s.open())
				}
				s.rest()
				op := s.object("product:794").Operations[0]
				if got, claims := attemptsOf(&op); !slices.Equal(got, []string{"usable  200"}) || claims != 1 || s.calls() != 1 || s.event(id).Outcome != "completed" {
					t.Errorf("%d claims, attempts %q, %d calls, event %s", claims, got, s.calls(), s.event(id).Outcome)
				}
			})
		}
	})
}

// A recipe that is not there any more holds its events as a provider would that cannot serve: nothing is claimed,
// nothing parked, and when it is there again the work is done.
func TestWorkWithoutItsConfigurationWaits(t *testing.T) {
	each(t, local.Options{Speed: brisk}, func(t *testing.T, s *system) {
		id := s.accept(s.product(oldChair))
		var lost invariants.Item
		for _, i := range s.items() {
			if i["sk"] == "recipe#product-card#000003" {
				lost = i
			}
		}
		row := s.row(keyOf(lost))
		s.remove(lost)
		s.Restart()
		if n := s.step(); n != 1 || s.step() != 0 {
			t.Fatalf("%d messages, or the message came again", n)
		}
		if e := s.event(id); e.State != "received" || e.DueAt == nil || len(s.items().Operations()) != 0 || s.calls() != 0 || s.inReview() != "" {
			t.Errorf("event %+v, %d calls, in review %q", e, s.calls(), s.inReview())
		}
		table := s.TableName()
		if _, err := s.DynamoDB().PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: row}); err != nil {
			t.Fatal(err)
		}
		s.Restart()
		s.rest()
		if e := s.event(id); e.Outcome != "completed" || s.calls() != 1 {
			t.Errorf("event %+v, %d calls", e, s.calls())
		}
	})
}

// row is a whole item as it is stored.
func (s *system) row(key map[string]types.AttributeValue) map[string]types.AttributeValue {
	s.t.Helper()
	table := s.TableName()
	out, err := s.DynamoDB().GetItem(s.t.Context(), &dynamodb.GetItemInput{TableName: &table, Key: key, ConsistentRead: aws.Bool(true)})
	if err != nil || len(out.Item) == 0 {
		s.t.Fatalf("read item: %v, %v", out, err)
	}
	return out.Item
}

// Anything else is a bug: here a stored body that cannot be unpacked. It burns no call, keeps nobody else waiting, and
// is parked in the end, with a notice that names the event.
func TestABugIsParkedWithItsReference(t *testing.T) {
	each(t, local.Options{Speed: 20_000}, func(t *testing.T, s *system) {
		id := s.accept(s.product(oldChair))
		table, update := s.TableName(), "SET #b = :broken"
		_, err := s.DynamoDB().UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: &table, Key: keyOf(s.item(id)), UpdateExpression: &update, ExpressionAttributeNames: map[string]string{"#b": "body"},
			ExpressionAttributeValues: map[string]types.AttributeValue{":broken": &types.AttributeValueMemberB{Value: []byte{1, 2, 3}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		for began := time.Now(); s.open() > 0 && time.Since(began) < time.Minute; time.Sleep(20 * time.Millisecond) {
			s.step()
			if err := s.Reconcile(t.Context()); err != nil {
				t.Logf("reconcile: %v", err)
			}
		}
		const reason = "sent 10 times without an outcome: its worker never came to an end"
		if e := s.event(id); e.State != "parked" || e.Reason != reason || len(s.items().Operations()) != 0 || s.calls() != 0 || s.inReview() != "event" {
			t.Errorf("event %+v, %d calls, in review %q", e, s.calls(), s.inReview())
		}
		if all := s.notices(); len(all[id]) != 1 {
			t.Errorf("notices %v", all)
		} else if got := aws.ToString(all[id][0].MessageAttributes["category"].StringValue); got != "bug" {
			t.Errorf("the notice's category is %q", got)
		}
	})
}
