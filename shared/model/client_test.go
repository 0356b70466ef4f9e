package model_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/inbox"
	"engang/shared/model"
	"engang/shared/operation"
	"engang/shared/recipe"
	"engang/shared/secrets"
	"engang/shared/telemetry"
)

const apiKey = "sk-test-4711"

// keys is the secret cache in the hands of a test.
type keys struct {
	value string
	err   error
}

func (k keys) Secret(context.Context, secrets.Ref) (secrets.Value, error) {
	return secrets.NewValue(k.value), k.err
}

var goodKeys = keys{value: apiKey}

const schema = `{"type":"object","additionalProperties":false,"required":["zebra","apple"],"properties":{"zebra":{"type":"string"},"apple":{"type":"string"}}}`

func prompt() recipe.Prompt {
	return recipe.Prompt{
		Recipe:          inbox.RecipeRef{Name: "product-card", Version: 3},
		Provider:        "openai",
		Model:           "gpt-5.4-mini-2026-03-17",
		Instructions:    "Write <short> texts & no more.",
		Input:           []byte(`{"name":"Tröja","price":899.00}`),
		SchemaName:      "product_card",
		Schema:          json.RawMessage(schema),
		MaxOutputTokens: 1200,
		Reasoning:       "low",
		ServiceTier:     "default",
	}
}

// serve answers every request with h, and gives a connection to it.
func serve(t *testing.T, h http.HandlerFunc) model.Connection {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return model.Connection{BaseURL: srv.URL + "/v1", APIKey: "ssm:models/openai"}
}

// answering serves one document with status 200.
func answering(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Request-Id", "req_1")
		_, _ = io.WriteString(w, body)
	}
}

func call(t *testing.T, to model.Connection) operation.Answer {
	t.Helper()
	return model.New(http.DefaultClient, goodKeys).Call(t.Context(), to, prompt())
}

const good = `{"id":"resp_1","object":"response","status":"completed","model":"gpt-5.4-mini-2026-03-17","service_tier":"default","error":null,
 "incomplete_details":null,"output":[{"id":"rs_1","type":"reasoning","summary":[]},{"id":"msg_1","type":"message","role":"assistant","status":"completed",
 "content":[{"type":"output_text","text":"{\"zebra\":\"a\",\"apple\":\"b\"}","annotations":[]}]}],
 "usage":{"input_tokens":412,"input_tokens_details":{"cached_tokens":128,"cache_write_tokens":64},"output_tokens":96,"output_tokens_details":{"reasoning_tokens":32},"total_tokens":508}}`

func TestRequestIsExactlyWhatIsAgreed(t *testing.T) {
	var method, path, auth string
	var body []byte
	to := serve(t, func(w http.ResponseWriter, r *http.Request) {
		method, path, auth = r.Method, r.URL.Path, r.Header.Get("Authorization")
		body, _ = io.ReadAll(r.Body)
		answering(good)(w, r)
	})
	a := call(t, to)
	if method != "POST" || path != "/v1/responses" || auth != "Bearer "+apiKey {
		t.Errorf("called %s %s with %q", method, path, auth)
	}
	var got map[string]any
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"model":             "gpt-5.4-mini-2026-03-17",
		"instructions":      "Write <short> texts & no more.",
		"input":             `{"name":"Tröja","price":899.00}`,
		"max_output_tokens": 1200.0,
		"reasoning":         map[string]any{"effort": "low"},
		"store":             false,
		"service_tier":      "default",
		"truncation":        "disabled",
		"prompt_cache_key":  "product-card@3",
		"text": map[string]any{"format": map[string]any{
			"type": "json_schema", "name": "product_card", "strict": true, "schema": got["text"].(map[string]any)["format"].(map[string]any)["schema"],
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	// The model writes properties in the order of the schema.
	if inner := `"properties":{"zebra":{"type":"string"},"apple":{"type":"string"}}`; !strings.Contains(string(body), inner) {
		t.Errorf("the schema's properties were put in another order: %s", body)
	}
	sum := sha256.Sum256(body)
	if want := hex.EncodeToString(sum[:]); a.RequestDigest != want {
		t.Errorf("request digest %s, want that of the body, %s", a.RequestDigest, want)
	}
}

func TestWhatIsUnsetIsNotSent(t *testing.T) {
	var body map[string]any
	to := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewDecoder(r.Body).Decode(&body)
		answering(good)(w, r)
	})
	p := prompt()
	p.Reasoning, p.ServiceTier, p.MaxOutputTokens, p.Instructions = "", "", 0, ""
	model.New(http.DefaultClient, goodKeys).Call(t.Context(), to, p)
	for _, name := range []string{"reasoning", "service_tier", "max_output_tokens", "instructions"} {
		if v, ok := body[name]; ok {
			t.Errorf("%s was sent as %v", name, v)
		}
	}
}

func TestLongRecipeNameStillMakesACacheKeyThatTheAPITakes(t *testing.T) {
	var body struct {
		Key string `json:"prompt_cache_key"`
	}
	to := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewDecoder(r.Body).Decode(&body)
		answering(good)(w, r)
	})
	p := prompt()
	p.Recipe.Name = strings.Repeat("n", 64) // the longest name that a recipe may have
	if a := model.New(http.DefaultClient, goodKeys).Call(t.Context(), to, p); a.Outcome != operation.Usable {
		t.Fatalf("outcome %q: %s", a.Outcome, a.Reason)
	}
	if len(body.Key) == 0 || len(body.Key) > 64 {
		t.Errorf("prompt_cache_key of %d characters, the API takes 64", len(body.Key))
	}
}

func TestCallIsMadeOnceWhateverTheAnswer(t *testing.T) {
	for _, status := range []int{307, 308, 408, 409, 429, 500, 503} {
		var calls atomic.Int32
		to := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			calls.Add(1)
			w.Header().Set("Location", "/v1/responses")
			w.Header().Set("X-Should-Retry", "true")
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(status)
		})
		call(t, to)
		if n := calls.Load(); n != 1 {
			t.Errorf("status %d: %d calls, want 1", status, n)
		}
	}
}

func TestConnectionIsUsedAgain(t *testing.T) {
	var connections atomic.Int32
	srv := httptest.NewUnstartedServer(answering(good))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	srv.Start()
	t.Cleanup(srv.Close)
	c := model.New(srv.Client(), goodKeys)
	to := model.Connection{BaseURL: srv.URL + "/v1", APIKey: "ssm:models/openai"}
	for range 5 {
		if a := c.Call(t.Context(), to, prompt()); a.Outcome != operation.Usable {
			t.Fatalf("outcome %q: %s", a.Outcome, a.Reason)
		}
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections for five calls, want 1", n)
	}
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestTransportSeesTheNameOfTheCall(t *testing.T) {
	var name string
	hc := &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		name = telemetry.Call(r.Context())
		return nil, errors.New("cut")
	})}
	model.New(hc, goodKeys).Call(t.Context(), model.Connection{BaseURL: "https://api.example.com/v1"}, prompt())
	if name != "model call" {
		t.Errorf("call name %q", name)
	}
}

func TestWhatCannotBeSentPausesWithoutACall(t *testing.T) {
	reached := false
	to := serve(t, func(http.ResponseWriter, *http.Request) { reached = true })
	tests := []struct {
		name string
		keys keys
		edit func(*model.Connection, *recipe.Prompt)
	}{
		{name: "a reference that leads to nothing", keys: keys{err: secrets.ErrUnusable}},
		{name: "a parameter store that does not answer", keys: keys{err: errors.New("throttled")}},
		{name: "an empty key", keys: keys{}},
		{name: "a key with a line break, as pasted", keys: keys{value: apiKey + "\n"}},
		{name: "a base URL without a host", keys: goodKeys, edit: func(c *model.Connection, _ *recipe.Prompt) { c.BaseURL = "" }},
		{name: "a base URL of another kind", keys: goodKeys, edit: func(c *model.Connection, _ *recipe.Prompt) { c.BaseURL = "ftp://x/v1" }},
		{name: "a schema that is no object", keys: goodKeys, edit: func(_ *model.Connection, p *recipe.Prompt) { p.Schema = json.RawMessage(`[1]`) }},
		{name: "no schema", keys: goodKeys, edit: func(_ *model.Connection, p *recipe.Prompt) { p.Schema = nil }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			to, p := to, prompt()
			if tt.edit != nil {
				tt.edit(&to, &p)
			}
			a := model.New(http.DefaultClient, tt.keys).Call(t.Context(), to, p)
			if a.Outcome != operation.Paused || a.Category != operation.CategoryConfiguration || a.Reason == "" {
				t.Errorf("outcome %q, category %q, reason %q", a.Outcome, a.Category, a.Reason)
			}
			if a.Called || reached {
				t.Error("the provider was called")
			}
			if a.ModelAsked != p.Model {
				t.Errorf("model asked %q", a.ModelAsked)
			}
		})
	}
}

// silent is a parameter store that never answers.
type silent struct{}

func (silent) Secret(ctx context.Context, _ secrets.Ref) (secrets.Value, error) {
	<-ctx.Done()
	return secrets.Value{}, ctx.Err()
}

// Work waits then, as for a key that is not there: five attempts that brought nothing would be a failure that a person
// has to look into.
func TestASilentParameterStoreUsesUpNoAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := model.New(http.DefaultClient, silent{})
		ctx, cancel := context.WithTimeout(t.Context(), 75*time.Second)
		defer cancel()
		began := time.Now()
		a := c.Call(ctx, model.Connection{BaseURL: "http://127.0.0.1:9/v1", APIKey: "ssm:models/openai"}, prompt())
		if a.Outcome != operation.Paused || a.Category != operation.CategoryConfiguration || a.Called || a.Reason != "the provider's API key cannot be read now" {
			t.Errorf("%+v", a.Attempt)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("after %s", took)
		}
	})
}
