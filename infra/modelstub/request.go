package modelstub

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// A request is what the stub needs of the body of POST /v1/responses.
type request struct {
	Model           string
	Instructions    string
	Input           string
	MaxOutputTokens int
	Effort          string
	ServiceTier     string
	Store           bool
	SchemaName      string
	Schema          json.RawMessage
	format          map[string]any
}

// body is the request on the wire. A parameter that is not here is unknown to the stub, and refused as
// the API refuses one that it does not know.
type body struct {
	Model           string          `json:"model"`
	Instructions    string          `json:"instructions"`
	Input           json.RawMessage `json:"input"`
	MaxOutputTokens *int            `json:"max_output_tokens"`
	Store           *bool           `json:"store"`
	Truncation      string          `json:"truncation"`
	PromptCacheKey  string          `json:"prompt_cache_key"`
	ServiceTier     string          `json:"service_tier"`
	Reasoning       struct {
		Effort string `json:"effort"`
	} `json:"reasoning"`
	Text struct {
		Format struct {
			Type   string          `json:"type"`
			Name   string          `json:"name"`
			Strict bool            `json:"strict"`
			Schema json.RawMessage `json:"schema"`
		} `json:"format"`
	} `json:"text"`
}

// A fault is an error of the API: its HTTP status and its error object.
type fault struct {
	status               int
	message, kind, param string
	code                 string
	header               http.Header
}

func (f *fault) write(w http.ResponseWriter) {
	for k, v := range f.header {
		w.Header()[k] = v
	}
	send(w, f.status, map[string]any{"error": map[string]any{
		"message": f.message, "type": f.kind, "param": orNull(f.param), "code": orNull(f.code),
	}})
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func invalid(param, code, format string, args ...any) *fault {
	return &fault{status: http.StatusBadRequest, message: fmt.Sprintf(format, args...), kind: "invalid_request_error", param: param, code: code}
}

var schemaName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// parse reads a request as the API does. With a fault the request may still be there, as far as it was read.
func parse(r *http.Request) (*request, *fault) {
	if f := addressed(r); f != nil {
		return nil, f
	}
	raw, err := io.ReadAll(io.LimitReader(r.Body, 8<<20))
	if err != nil {
		return nil, invalid("", "", "We could not read the body of your request.")
	}
	var b body
	if f := decode(raw, &b); f != nil {
		return nil, f
	}
	req := &request{
		Model: b.Model, Instructions: b.Instructions, Effort: b.Reasoning.Effort, ServiceTier: b.ServiceTier,
		Store: b.Store == nil || *b.Store, SchemaName: b.Text.Format.Name, Schema: b.Text.Format.Schema,
		format: map[string]any{"type": b.Text.Format.Type, "name": b.Text.Format.Name, "strict": b.Text.Format.Strict, "schema": b.Text.Format.Schema},
	}
	if b.MaxOutputTokens != nil {
		req.MaxOutputTokens = *b.MaxOutputTokens
	}
	if b.Model == "" {
		return req, invalid("model", "missing_required_parameter", "Missing required parameter: 'model'.")
	}
	if json.Unmarshal(b.Input, &req.Input) != nil || req.Input == "" {
		return req, invalid("input", "invalid_type", "Invalid type for 'input': expected a text; this stub takes no other.")
	}
	return req, b.check()
}

// addressed checks the route and the key, in the API's order.
func addressed(r *http.Request) *fault {
	if r.URL.Path != "/v1/responses" || r.Method != http.MethodPost {
		return &fault{status: http.StatusNotFound, kind: "invalid_request_error", message: fmt.Sprintf("Invalid URL (%s %s)", r.Method, r.URL.Path)}
	}
	key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || key == "" {
		return &fault{status: http.StatusUnauthorized, kind: "invalid_request_error", message: "You didn't provide an API key."}
	}
	if t, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); t != "application/json" {
		return &fault{status: http.StatusUnsupportedMediaType, kind: "invalid_request_error", code: "unsupported_content_type", message: "Unsupported content type."}
	}
	return nil
}

func decode(raw []byte, b *body) *fault {
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.DisallowUnknownFields()
	err := d.Decode(b)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return invalid(wrong.Field, "invalid_type", "Invalid type for '%s'.", wrong.Field)
	}
	if err == nil {
		return nil
	}
	if _, name, ok := strings.Cut(err.Error(), "unknown field "); ok {
		name = strings.Trim(name, `"`)
		return invalid(name, "unknown_parameter", "Unknown parameter: '%s'.", name)
	}
	return invalid("", "", "We could not parse the JSON body of your request.")
}

// check holds the parameters against what the API allows.
func (b *body) check() *fault {
	for _, p := range []struct {
		name, value string
		allowed     []string
	}{
		{"truncation", b.Truncation, []string{"auto", "disabled"}},
		{"service_tier", b.ServiceTier, []string{"auto", "default", "flex", "scale", "priority", "fast", "ultrafast"}},
		{"reasoning.effort", b.Reasoning.Effort, []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}},
	} {
		if p.value != "" && !slices.Contains(p.allowed, p.value) {
			return invalid(p.name, "invalid_value", "Invalid value: '%s'. Supported values are: %v.", p.value, p.allowed)
		}
	}
	format := b.Text.Format
	switch {
	case len(b.PromptCacheKey) > 64:
		return invalid("prompt_cache_key", "string_above_max_length", "Invalid 'prompt_cache_key': string too long. Expected a string with maximum length 64, but got a string with length %d instead.", len(b.PromptCacheKey))
	case b.MaxOutputTokens != nil && *b.MaxOutputTokens < 16:
		return invalid("max_output_tokens", "integer_below_min_value", "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got %d instead.", *b.MaxOutputTokens)
	case format.Type != "json_schema" || !format.Strict:
		return invalid("text.format", "invalid_value", "This stub answers strict json_schema formats only.")
	case !schemaName.MatchString(format.Name):
		return invalid("text.format.name", "invalid_value", "Invalid 'text.format.name': string does not match pattern.")
	}
	if why := lint(format.Schema); why != "" {
		return invalid("text.format.schema", "invalid_json_schema", "Invalid schema for response_format '%s': %s", format.Name, why)
	}
	return nil
}
