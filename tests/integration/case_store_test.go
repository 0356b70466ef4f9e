package integration_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"engang/infra/local/wire"
	"engang/shared/dynamo/dynamotest"
	"engang/shared/dynamo/dynamotest/invariants"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/telemetry"
)

// A line hears the bodies of the calls of one name, and may answer the first ones itself.
type line struct {
	call    string
	answers []string
	mu      sync.Mutex
	bodies  []string
}

func (l *line) RoundTrip(r *http.Request) (*http.Response, error) {
	if telemetry.Call(r.Context()) != l.call {
		return http.DefaultTransport.RoundTrip(r)
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bodies = append(l.bodies, string(raw))
	if len(l.answers) >= len(l.bodies) {
		return &http.Response{
			StatusCode: http.StatusBadRequest, ProtoMajor: 1, Request: r, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
			Body: io.NopCloser(strings.NewReader(l.answers[len(l.bodies)-1])),
		}, nil
	}
	r.Body = io.NopCloser(bytes.NewReader(raw))
	return http.DefaultTransport.RoundTrip(r)
}

// A conflict between transactions is met again in place until the truth is known: here, that there is no
// such operation. And twenty who count at once lose nothing.
func TestCaseDDB02TransactionConflictTakenForADuplicate(t *testing.T) {
	const cancelled = `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","Message":"m","CancellationReasons":[{"Code":%q},{"Code":"TransactionConflict"}]}`
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		l := &line{call: "W13 redrive", answers: []string{fmt.Sprintf(cancelled, "None"), fmt.Sprintf(cancelled, "ConditionalCheckFailed")}}
		id, err := object.NewID("order", "1")
		if err != nil {
			t.Fatal(err)
		}
		key := operation.Key{Scope: object.Scope{Tenant: "shop", Environment: "test"}, Object: id, Recipe: inbox.RecipeRef{Name: "order-note", Version: 1}, Digest: "d"}
		err = db.Open(l).Redrive(t.Context(), operation.Redrive{Key: key, Seen: operation.Failed, Token: 1, Event: "evt_a", WriteID: "w", Now: time.Now(), Due: time.Now()})
		if _, refused := errors.AsType[*operation.RefusedError](err); !refused || len(l.bodies) != 3 {
			t.Errorf("after %d calls: %v", len(l.bodies), err)
		}
		for _, body := range l.bodies {
			if token := regexp.MustCompile(`"ClientRequestToken":"[^"]+"`); token.FindString(body) == "" || token.FindString(body) != token.FindString(l.bodies[0]) {
				t.Error("the repeats are not the same act")
			}
		}
	})
	eachForCase(t, func(t *testing.T, s *system) {
		o := order{id: 1, status: "processing"}
		id := s.accept(s.order("order.updated", o.body()))
		s.settle()
		requests := make([]*http.Request, 20)
		for i := range requests {
			requests[i] = s.orderRequest("order.updated", o.body())
		}
		atOnce(20, func(i int) {
			if a, err := s.try(requests[i]); err != nil || a.Status != "duplicate" {
				t.Errorf("answered %d %s, %v", a.Code, a.Body, err)
			}
		})
		if e := s.event(id); e.Deliveries != 21 {
			t.Errorf("%d deliveries were counted", e.Deliveries)
		}
	})
}

// expire makes an item look as if its time was over an hour ago, and nobody had removed it yet.
func (s *system) expire(i invariants.Item) {
	s.t.Helper()
	table, update := s.TableName(), "SET #ttl = :past"
	_, err := s.DynamoDB().UpdateItem(s.t.Context(), &dynamodb.UpdateItemInput{
		TableName: &table, Key: keyOf(i), UpdateExpression: &update, ExpressionAttributeNames: map[string]string{"#ttl": "expires_at"},
		ExpressionAttributeValues: map[string]types.AttributeValue{":past": &types.AttributeValueMemberN{Value: strconv.FormatInt(time.Now().Add(-time.Hour).Unix(), 10)}},
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// remove takes an item away, as the store does in the days after its time is over.
func (s *system) remove(i invariants.Item) {
	s.t.Helper()
	table := s.TableName()
	if _, err := s.DynamoDB().DeleteItem(s.t.Context(), &dynamodb.DeleteItemInput{TableName: &table, Key: keyOf(i)}); err != nil {
		s.t.Fatal(err)
	}
	s.last = nil
}

func keyOf(i invariants.Item) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: i["pk"]}, "sk": &types.AttributeValueMemberS{Value: i["sk"]}}
}

// Whether an item whose time is over is still there, or gone, changes no outcome: an expiry decides nothing.
func TestCaseDDB04ExpiredRowsAreStillReturned(t *testing.T) {
	eachForCase(t, func(t *testing.T, s *system) {
		o := order{id: 1201, status: "processing"}
		first := s.accept(s.order("order.updated", o.body()))
		s.rest()
		result := s.items().Results()[0]
		for _, i := range s.stored() {
			s.expire(i)
		}
		s.repeated(first, s.order("order.updated", o.body())) // expired and still there
		s.rest()
		s.remove(s.item(first))
		if again := s.accept(s.order("order.updated", o.body())); again != first { // gone: it meets its finished operation
			t.Errorf("the event has another id: %s, %s", first, again)
		}
		s.rest()
		s.holdsOf(o.object(), 1, 1, 1, 1)
		s.remove(s.item(first))
		s.remove(s.items().Operations()[0])
		s.accept(s.order("order.updated", o.body())) // its operation is gone too: the output is taken from the result
		s.rest()
		s.holdsOf(o.object(), 1, 1, 1, 1)
		if now := s.items().Results()[0]; now["out"] != result["out"] || now["dig"] != result["dig"] {
			t.Errorf("the result was %v and is %v", result, now)
		}
	})
	t.Run("a lease", func(t *testing.T) {
		eachGated(t, caseOptions(), "model call", wire.Before, func(t *testing.T, s *system, g *gate) {
			id := s.accept(s.order("order.updated", order{id: 1201, status: "processing"}.body()))
			slow := s.work()
			let := g.next(t)
			s.expire(s.items().Operations()[0])
			out, err := s.Invoke(t.Context(), "enrichment", message(t, id)) // the lease is judged by itself: it is not over
			if err != nil || !strings.Contains(string(out), "itemIdentifier") {
				t.Errorf("a second worker came to %s, %v", out, err)
			}
			let()
			slow.wait()
			s.settle()
			if s.event(id).Outcome != "completed" || s.calls() != 1 {
				t.Errorf("event %+v, %d calls", s.event(id), s.calls())
			}
		})
	})
}

func TestCaseDDB05AllRowsInOnePartition(t *testing.T) {
	eachForCase(t, func(t *testing.T, s *system) {
		const events = 64
		for i := range events {
			s.accept(s.order("order.updated", order{id: 1 + i, status: "processing"}.body()))
		}
		of := map[string]map[string]int{"pk": {}, "oq": {}, "lq": {}}
		for _, e := range s.items().Events() {
			for name, all := range of {
				all[e[name]]++
			}
		}
		if len(of["pk"]) != events || len(of["oq"]) != 8 || len(of["lq"]) != 4 {
			t.Errorf("%d events lie in %d partitions, and in indexes in %v and %v", events, len(of["pk"]), of["oq"], of["lq"])
		}
	})
	letters := map[byte]int{}
	for i := range 1_500 {
		id := inbox.NewEventID(object.Scope{Tenant: "shop", Environment: "test"}, "woo-orders", fmt.Sprint("order.updated#", i))
		letters[id[len("evt_")]]++
	}
	for letter, n := range letters {
		if n > 3*1_500/32 {
			t.Errorf("%d of 1,500 ids begin with %c", n, letter)
		}
	}
}

func TestCaseDDB07TooLargeItemFoundTooLate(t *testing.T) {
	t.Run("a body", func(t *testing.T) {
		eachForCase(t, func(t *testing.T, s *system) {
			body := order{id: 1201, status: "processing", extra: `,"x":"` + noise(1, 450_000) + `"`}.body()
			id := s.accept(s.order("order.updated", body))
			var order []string
			for _, c := range s.Record().Calls() {
				if c.Name == "put body" || c.Name == "W1 put event" || c.Name == "send event" {
					order = append(order, c.Name)
				}
			}
			if !slices.Equal(order, []string{"put body", "W1 put event", "send event"}) || len(s.objects()) != 1 || itemBytes(s.item(id)) > 2_000 {
				t.Errorf("calls %v, %d bodies in the bucket, %d bytes in the table", order, len(s.objects()), itemBytes(s.item(id)))
			}
			s.rest()
			if s.event(id).Outcome != "completed" || string(s.body(id)) != body {
				t.Errorf("event %+v", s.event(id))
			}
		})
	})
	t.Run("an output", func(t *testing.T) {
		say := func(answer map[string]any) {
			for _, part := range answer["output"].([]any) {
				if content, ok := part.(map[string]any)["content"].([]any); ok {
					content[0].(map[string]any)["text"] = `{"note":"` + strings.Repeat("x", 420_000) + `"}`
				}
			}
		}
		eachWithEar(t, say, func(t *testing.T, s *system, e *ear) {
			id := s.accept(s.order("order.updated", order{id: 1201, status: "processing"}.body()))
			s.rest()
			op := s.object("order:1201").Operations[0]
			if op.State != "failed" || !strings.HasSuffix(op.Reason, "at most 131072 are kept") || len(op.Attempts) != 1 || op.Attempts[0].Tokens == nil || op.CostUSD == 0 || len(e.heard()) != 1 {
				t.Errorf("after %d calls the operation is %+v", len(e.heard()), op)
			}
			if ev := s.event(id); ev.State != "parked" || s.items().Operations()[0]["oq"] != "review" {
				t.Errorf("event %+v, and nobody is told", ev)
			}
			s.notice(id, op.ID, op.Reason, "unusable output")
		})
	})
}

// Of what a sender writes no digit is lost: in ids, versions and money.
func TestCaseDDB08IntegersPassThroughFloat64(t *testing.T) {
	eachWithEar(t, nil, func(t *testing.T, s *system, e *ear) {
		for _, id := range []int{1<<53 - 1, 1 << 53, 1<<53 + 1} {
			event := s.accept(s.order("order.updated", order{id: id, status: "processing"}.body()))
			s.settle()
			s.by(fmt.Sprintf("order:%d", id), event)
		}
		for _, total := range []string{`"19.90"`, `19.90`, `19.9`} { // another text is another input
			s.accept(s.order("order.updated", strings.Replace(order{id: 5, status: "processing"}.body(), `"948.00"`, total, 1)))
			s.settle()
			if heard := e.heard(); !strings.Contains(heard[len(heard)-1], `"total":`+total) {
				t.Errorf("of %s the model was told %s", total, heard[len(heard)-1])
			}
		}
		if n := len(s.object("order:5").Operations); n != 3 {
			t.Errorf("%d operations", n)
		}
		at := func(ns string) string {
			return `{"type":"contact.created","timestamp":` + ns + `,"data":{"id":"c-1","company":"Oak ` + ns + `"}}`
		}
		newer := s.accept(s.contact("msg_2", at("1795982398123456790")))
		s.settle()
		older := s.accept(s.contact("msg_1", at("1795982398123456789")))
		s.rest()
		s.outcomes(newer, "completed", older, "superseded")
		if v := s.event(older).ObjectVersion; v != "1795982398123456789" {
			t.Errorf("the version is shown as %s", v)
		}
	})
}

// Every attribute is named through a placeholder: no list of reserved words, however long, can hold one.
func TestCaseDDB12ReservedWordPassesOnPutAndFailsOnUpdate(t *testing.T) {
	keywords := []string{"SET", "REMOVE", "ADD", "AND", "OR", "BETWEEN", "attribute_exists", "attribute_not_exists", "if_not_exists"}
	word, expression := regexp.MustCompile(`[#:]?[A-Za-z_][A-Za-z0-9_]*`), regexp.MustCompile(`[#:][a-z]`)
	files, err := filepath.Glob("../../shared/dynamo/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	seen := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING || !expression.MatchString(literal.Value) || !strings.ContainsAny(literal.Value, "=(") {
				return true
			}
			seen++
			for _, w := range word.FindAllString(strings.Trim(literal.Value, "\"`"), -1) {
				if w[0] != '#' && w[0] != ':' && !slices.Contains(keywords, w) {
					t.Errorf("%s: %s names %s without a placeholder", name, literal.Value, w)
				}
			}
			return true
		})
	}
	if seen < 30 {
		t.Errorf("only %d expressions were found", seen)
	}
}

func TestCaseDDB14StaleReadThenAFailingCondition(t *testing.T) {
	dynamotest.Engine(t, func(t *testing.T, db dynamotest.DB) {
		l := &line{call: "read event"}
		if _, err := db.Open(l).Event(t.Context(), "evt_aaaaaaaaaaaaaaaa"); !errors.Is(err, inbox.ErrNotFound) {
			t.Errorf("%v", err)
		}
		var asked struct{ ConsistentRead bool }
		if len(l.bodies) != 1 || json.Unmarshal([]byte(l.bodies[0]), &asked) != nil || !asked.ConsistentRead {
			t.Errorf("the event is not read consistently: %v", l.bodies)
		}
	})
	eachForCase(t, func(t *testing.T, s *system) {
		body := order{id: 1201, status: "processing"}.body()
		r := s.orderRequest("order.updated", body)
		id := s.accept(s.send(r))
		s.step()
		s.remove(s.item(id)) // the worker comes before the event can be seen
		before := s.Record().Counts()
		out, err := s.Invoke(t.Context(), "enrichment", message(t, id))
		if err != nil || !strings.Contains(string(out), "itemIdentifier") || s.since(before)["model call"] != 0 {
			t.Errorf("what is not found was not given back: %s, %v", out, err)
		}
		if again := s.accept(s.order("order.updated", body)); again != id {
			t.Errorf("%s and %s", id, again)
		}
		out, err = s.Invoke(t.Context(), "enrichment", message(t, id)) // the same message, when it comes again
		if err != nil || strings.Contains(string(out), "itemIdentifier") || s.event(id).Outcome != "completed" {
			t.Errorf("the message came to %s, %v; event %+v", out, err, s.event(id))
		}
		s.rest()
	})
}
