package modelstub_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/infra/modelstub"
	"engang/shared/document"
	"engang/shared/model"
	"engang/shared/operation"
	"engang/shared/recipe"
	"engang/shared/recipe/compiled"
	"engang/shared/secrets"
)

type keys struct{}

func (keys) Secret(context.Context, secrets.Ref) (secrets.Value, error) {
	return secrets.NewValue("sk-local"), nil
}

// A bench is the stub with the real client before it.
type bench struct {
	stub   *modelstub.Stub
	client *model.Client
	to     model.Connection
	url    string
}

func newBench(t *testing.T) bench {
	t.Helper()
	stub := modelstub.New()
	srv := httptest.NewServer(stub)
	t.Cleanup(srv.Close)
	return bench{stub, model.New(srv.Client(), keys{}), model.Connection{BaseURL: srv.URL + "/v1", APIKey: "ssm:models/openai"}, srv.URL}
}

func (b bench) call(t *testing.T, c *compiled.Recipe, in recipe.Input) operation.Answer {
	t.Helper()
	return b.client.Call(t.Context(), b.to, c.Prompt(in))
}

func (b bench) fail(t *testing.T, kind string, n int) {
	t.Helper()
	if err := b.stub.Fail(kind, n); err != nil {
		t.Fatal(err)
	}
}

const cardSchema = `{
	"type": "object", "additionalProperties": false, "required": ["summary", "tags", "attributes", "missing"],
	"properties": {
		"summary": {"type": "string"},
		"tags": {"type": "array", "minItems": 1, "maxItems": 8, "items": {"type": "string"}},
		"attributes": {"type": "array", "maxItems": 20, "items": {"$ref": "#/$defs/attribute"}},
		"missing": {"type": "array", "items": {"type": "string"}}},
	"$defs": {"attribute": {
		"type": "object", "additionalProperties": false, "required": ["name", "value", "unit", "source"],
		"properties": {
			"name": {"type": "string", "enum": ["color", "material", "size", "weight", "brand"]},
			"value": {"type": "string"},
			"unit": {"type": ["string", "null"], "enum": ["cm", "g", "kg", null]},
			"source": {"type": "string", "enum": ["name", "description", "attributes"]}}}}}`

// card is the product card of the documentation.
func card(t *testing.T) *compiled.Recipe {
	t.Helper()
	c, err := compiled.New(recipe.Recipe{
		Name: "product-card", Version: 3, Policy: recipe.PolicyAuto,
		Input: recipe.Fields{Required: []string{"name"}, Fields: map[string]recipe.Field{
			"name":        {From: at(t, "/name")},
			"description": {From: at(t, "/description"), As: "text", Max: 4000},
			"categories":  {From: at(t, "/categories/*/name"), MaxItems: 20},
			"attributes":  {From: at(t, "/attributes"), Pick: []string{"name", "options"}},
			"language":    {Const: json.RawMessage(`"no"`)},
		}},
		Model: recipe.Model{Provider: "openai", Name: "gpt-5.4-mini-2026-03-17", Mode: "direct",
			Options: recipe.Options{Reasoning: "low", MaxOutputTokens: 1200, ServiceTier: "default"}},
		Instructions: "You write short, factual product texts in the language given.",
		Output:       recipe.Output{Name: "product_card", Schema: json.RawMessage(cardSchema)},
		Checks: []recipe.Check{
			{Path: *at(t, "/summary"), Length: &[2]int{40, 320}},
			{Path: *at(t, "/tags/*"), Length: &[2]int{2, 40}, Unique: "fold", Deny: []string{"best", "cheapest"}},
			{Path: *at(t, "/attributes/*"), Quotes: &recipe.Quotes{Value: "value", In: "source"}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func at(t *testing.T, text string) *document.Pointer {
	t.Helper()
	p, err := document.ParsePointer(text)
	if err != nil {
		t.Fatal(err)
	}
	return &p
}

func input(t *testing.T, c *compiled.Recipe, payload string) recipe.Input {
	t.Helper()
	doc, err := document.Decode([]byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	in, err := c.Extract(doc)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// sweater is the shape of a WooCommerce product, cut to what the recipe reads.
const sweater = `{"id":794,"name":"Tröja i merinoull","description":"<p>Stickad tröja, 100 % merinoull.</p>\n","categories":[{"id":15,"name":"Tröjor"}],
	"attributes":[{"id":0,"name":"Size","options":["S","M"]}]}`

// seen is what the real client makes of a failure.
type seen struct {
	Outcome  operation.Outcome
	Category operation.Category
	HTTP     int
	Code     string
	Status   string
	Tokens   bool
	Finding  string // of the recipe's checks, for a usable output
}

func transient(http int, code string) seen {
	return seen{Outcome: operation.Transient, Category: operation.CategoryTransient, HTTP: http, Code: code}
}

func paused(http int, code string) seen {
	return seen{Outcome: operation.Paused, Category: operation.CategoryProviderPaused, HTTP: http, Code: code}
}

func spoilt(o operation.Outcome, status string) seen {
	return seen{Outcome: o, Category: operation.CategoryUnusableOutput, HTTP: 200, Status: status, Tokens: true}
}

func usable(finding string) seen {
	return seen{Outcome: operation.Usable, HTTP: 200, Status: "completed", Tokens: true, Finding: finding}
}

var kindsSeen = map[string]seen{
	"429":       transient(429, "rate_limit_exceeded"),
	"500":       transient(500, "server_error"),
	"503":       transient(503, "server_is_overloaded"),
	"timeout":   transient(504, ""),
	"hang":      transient(0, ""),
	"reset":     transient(0, ""),
	"torn":      transient(200, ""),
	"drip":      transient(200, ""),
	"malformed": transient(200, ""),
	"endless":   {Outcome: operation.Unusable, Category: operation.CategoryUnusableOutput, HTTP: 200},
	"quota":     paused(429, "insufficient_quota"),
	"key":       paused(401, "invalid_api_key"),
	"model":     paused(404, "model_not_found"),
	"region":    paused(401, "incorrect_hostname"),
	"form":      {Outcome: operation.Paused, Category: operation.CategoryConfiguration, HTTP: 400, Code: "invalid_json_schema"},
	"refusal":   spoilt(operation.Unusable, "completed"),
	"filter":    spoilt(operation.Unusable, "incomplete"),
	"length":    spoilt(operation.Truncated, "incomplete"),
	"empty":     spoilt(operation.Truncated, "incomplete"),
	"schema":    usable("unusable"),
	"missing":   usable("flagged"),
	"duplicate": usable(""),
	"nousage":   {Outcome: operation.Usable, HTTP: 200, Status: "completed"},
}

// TestEveryKindOfFailureIsWhatTheRealClientMakesOfIt has one row per kind, so that a kind cannot be added
// without a row, and each is what the worker will see.
func TestEveryKindOfFailureIsWhatTheRealClientMakesOfIt(t *testing.T) {
	c := card(t)
	in := input(t, c, sweater)
	for _, kind := range modelstub.Kinds() {
		t.Run(kind, func(t *testing.T) {
			b := newBench(t)
			b.fail(t, kind, 1)
			ctx := t.Context()
			if kind == "hang" || kind == "drip" {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 100*time.Millisecond)
				defer cancel()
			}
			a := b.client.Call(ctx, b.to, c.Prompt(in))
			got := seen{a.Outcome, a.Category, a.HTTPStatus, a.ErrorCode, a.Status, a.Tokens != nil, ""}
			if a.Outcome == operation.Usable {
				switch f := c.Check(a.Output, in); {
				case f.Unusable != "":
					got.Finding = "unusable"
				case len(f.Flags) > 0:
					got.Finding = "flagged"
				}
			}
			if diff := cmp.Diff(kindsSeen[kind], got); diff != "" {
				t.Errorf("(-want +got), reason %q:\n%s", a.Reason, diff)
			}
			if !a.Called {
				t.Error("the call counts as none")
			}
			call := b.stub.Calls()[0]
			if call.Kind != kind || call.Status != a.HTTPStatus || call.Model != "gpt-5.4-mini-2026-03-17" || call.InputDigest != in.Digest {
				t.Errorf("the stub noted %+v", call)
			}
			// The next call is a good one again.
			if next := b.call(t, c, in); next.Outcome != operation.Usable || len(c.Check(next.Output, in).Flags) > 0 {
				t.Errorf("the call after it: %q, %s", next.Outcome, next.Reason)
			}
		})
	}
}

func TestRateLimitSaysHowLongToWait(t *testing.T) {
	b, c := newBench(t), card(t)
	b.fail(t, "429", 1)
	a := b.call(t, c, input(t, c, sweater))
	if a.RetryAfter != modelstub.RetryAfterSeconds*time.Second || !strings.Contains(a.RateLimits, "remaining-requests=0") {
		t.Errorf("retry after %v, rate limits %q", a.RetryAfter, a.RateLimits)
	}
}

func TestFailuresHappenInTheOrderPlannedAndAsOftenAsAsked(t *testing.T) {
	b, c := newBench(t), card(t)
	in := input(t, c, sweater)
	b.fail(t, "429", 2)
	b.fail(t, "refusal", 1)
	b.fail(t, "quota", 0)
	var kinds []string
	outcomes := map[operation.Outcome]int{}
	for range 5 {
		outcomes[b.call(t, c, in).Outcome]++
	}
	for _, call := range b.stub.Calls() {
		kinds = append(kinds, call.Kind)
	}
	if diff := cmp.Diff([]string{"429", "429", "refusal", "", ""}, kinds); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[operation.Outcome]int{operation.Transient: 2, operation.Unusable: 1, operation.Usable: 2}, outcomes); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}

func TestFailureWithoutEndLastsUntilHealed(t *testing.T) {
	b, c := newBench(t), card(t)
	in := input(t, c, sweater)
	b.fail(t, "500", -1)
	for range 3 {
		if a := b.call(t, c, in); a.Outcome != operation.Transient {
			t.Errorf("outcome %q", a.Outcome)
		}
	}
	b.stub.Heal()
	if a := b.call(t, c, in); a.Outcome != operation.Usable {
		t.Errorf("outcome %q once healed: %s", a.Outcome, a.Reason)
	}
}

func TestUnknownKindIsRefused(t *testing.T) {
	b, c := newBench(t), card(t)
	if err := b.stub.Fail("lunch", 1); err == nil || !strings.Contains(err.Error(), "quota") {
		t.Errorf("error %v, want one that names the kinds", err)
	}
	if a := b.call(t, c, input(t, c, sweater)); a.Outcome != operation.Usable {
		t.Errorf("something was planned all the same: %q", a.Outcome)
	}
}

func TestDelayEndsWithTheCaller(t *testing.T) {
	b, c := newBench(t), card(t)
	b.stub.Delay(time.Hour)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if a := b.client.Call(ctx, b.to, c.Prompt(input(t, c, sweater))); a.Outcome != operation.Transient || !a.Called {
		t.Errorf("outcome %q, called %v", a.Outcome, a.Called)
	}
	b.stub.Delay(20 * time.Millisecond)
	if a := b.call(t, c, input(t, c, sweater)); a.Outcome != operation.Usable || a.Duration < 20*time.Millisecond {
		t.Errorf("outcome %q after %v", a.Outcome, a.Duration)
	}
}

func TestConcurrentCallsAreAllCountedAndFailExactlyAsOftenAsAsked(t *testing.T) {
	b, c := newBench(t), card(t)
	in := input(t, c, sweater)
	b.fail(t, "429", 7)
	const callers, each = 8, 5
	var mu sync.Mutex
	outcomes, ids := map[operation.Outcome]int{}, map[string]bool{}
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range each {
				a := b.client.Call(t.Context(), b.to, c.Prompt(in))
				_ = b.stub.Calls()
				mu.Lock()
				outcomes[a.Outcome]++
				ids[a.RequestID] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if diff := cmp.Diff(map[operation.Outcome]int{operation.Transient: 7, operation.Usable: callers*each - 7}, outcomes); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if b.stub.Count() != callers*each || len(b.stub.Calls()) != callers*each || len(ids) != callers*each {
		t.Errorf("%d calls counted, %d listed, %d request ids", b.stub.Count(), len(b.stub.Calls()), len(ids))
	}
}

func TestCallsHoldNothingConfidential(t *testing.T) {
	b, c := newBench(t), card(t)
	b.call(t, c, input(t, c, sweater))
	kept, err := json.Marshal(b.stub.Calls())
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"merino", "Tröj", "sk-local", "factual"} {
		if strings.Contains(string(kept), word) {
			t.Errorf("the calls hold %q: %s", word, kept)
		}
	}
}

func TestHandlerWorksWithoutAConnectionToBreak(t *testing.T) {
	// A recorder cannot be hijacked: the handler is aborted, as net/http understands it.
	stub := modelstub.New()
	if err := stub.Fail("reset", 1); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if p := recover(); p != http.ErrAbortHandler {
			t.Errorf("panic %v, want http.ErrAbortHandler", p)
		}
	}()
	r := httptest.NewRequest(http.MethodPost, "/v1/responses", strings.NewReader(body(t, nil)))
	r.Header.Set("Authorization", "Bearer sk-local")
	r.Header.Set("Content-Type", "application/json")
	stub.ServeHTTP(httptest.NewRecorder(), r)
	t.Error("it returned")
}
