package modelstub_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// body is a good request, changed.
func body(t *testing.T, change func(map[string]any)) string {
	t.Helper()
	var schema any
	if err := json.Unmarshal([]byte(cardSchema), &schema); err != nil {
		t.Fatal(err)
	}
	doc := map[string]any{
		"model": "m-2026-01-01", "instructions": "i", "input": `{"name":"x"}`, "max_output_tokens": 900, "store": false,
		"truncation": "disabled", "prompt_cache_key": "r@1", "service_tier": "default", "reasoning": map[string]any{"effort": "low"},
		"text": map[string]any{"format": map[string]any{"type": "json_schema", "name": "card", "strict": true, "schema": schema}},
	}
	if change != nil {
		change(doc)
	}
	raw, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func format(doc map[string]any) map[string]any {
	return doc["text"].(map[string]any)["format"].(map[string]any)
}

func TestRequestIsRefusedAsTheAPIRefusesIt(t *testing.T) {
	set := func(name string, value any) func(map[string]any) {
		return func(doc map[string]any) { doc[name] = value }
	}
	tests := []struct {
		name        string
		method      string
		path        string
		auth        string
		contentType string
		body        string
		status      int
		code, param string
	}{
		{name: "a good one", body: body(t, nil), status: 200},
		{name: "another path", path: "/v1/chat/completions", body: body(t, nil), status: 404},
		{name: "another method", method: "GET", status: 404},
		{name: "no key", auth: "none", body: body(t, nil), status: 401},
		{name: "an empty key", auth: "Bearer ", body: body(t, nil), status: 401},
		{name: "another content type", contentType: "text/plain", body: body(t, nil), status: 415, code: "unsupported_content_type"},
		{name: "no JSON", body: `{"model":`, status: 400},
		{name: "no model", body: body(t, set("model", "")), status: 400, code: "missing_required_parameter", param: "model"},
		{name: "a model that is a number", body: body(t, set("model", 1)), status: 400, code: "invalid_type", param: "model"},
		{name: "no input", body: body(t, func(d map[string]any) { delete(d, "input") }), status: 400, code: "invalid_type", param: "input"},
		{name: "a parameter of another API", body: body(t, set("messages", []any{})), status: 400, code: "unknown_parameter", param: "messages"},
		{name: "an unknown effort", body: body(t, set("reasoning", map[string]any{"effort": "huge"})), status: 400, code: "invalid_value", param: "reasoning.effort"},
		{name: "an unknown tier", body: body(t, set("service_tier", "gold")), status: 400, code: "invalid_value", param: "service_tier"},
		{name: "an unknown truncation", body: body(t, set("truncation", "yes")), status: 400, code: "invalid_value", param: "truncation"},
		{name: "a cache key of 65 characters", body: body(t, set("prompt_cache_key", strings.Repeat("k", 65))), status: 400, code: "string_above_max_length", param: "prompt_cache_key"},
		{name: "a cap below the least", body: body(t, set("max_output_tokens", 15)), status: 400, code: "integer_below_min_value", param: "max_output_tokens"},
		{name: "a format name with a space", body: body(t, func(d map[string]any) { format(d)["name"] = "a b" }), status: 400, code: "invalid_value", param: "text.format.name"},
		{name: "a format that is not strict", body: body(t, func(d map[string]any) { format(d)["strict"] = false }), status: 400, code: "invalid_value", param: "text.format"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			method, path, auth, kind := tt.method, tt.path, tt.auth, tt.contentType
			for p, byDefault := range map[*string]string{&method: "POST", &path: "/v1/responses", &auth: "Bearer sk-local", &kind: "application/json"} {
				if *p == "" {
					*p = byDefault
				}
			}
			r, err := http.NewRequestWithContext(t.Context(), method, b.url+path, strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", kind)
			if auth != "none" {
				r.Header.Set("Authorization", auth)
			}
			status, code, param := send(t, r)
			if status != tt.status || code != tt.code || param != tt.param {
				t.Errorf("status %d, code %q, param %q; want %d, %q, %q", status, code, param, tt.status, tt.code, tt.param)
			}
		})
	}
}

// send gives the parts of the error object, which must be whole.
func send(t *testing.T, r *http.Request) (status int, code, param string) {
	t.Helper()
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Error *struct {
			Message string  `json:"message"`
			Type    string  `json:"type"`
			Code    *string `json:"code"`
			Param   *string `json:"param"`
		} `json:"error"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	if res.StatusCode == http.StatusOK {
		return res.StatusCode, "", ""
	}
	if doc.Error == nil || doc.Error.Message == "" || doc.Error.Type == "" {
		t.Fatalf("no error object in %s", raw)
	}
	value := func(p *string) string {
		if p == nil {
			return ""
		}
		return *p
	}
	return res.StatusCode, value(doc.Error.Code), value(doc.Error.Param)
}

func TestSchemaOutsideTheStrictSubsetIsRefused(t *testing.T) {
	property := func(schema string) string {
		return fmt.Sprintf(`{"type":"object","additionalProperties":false,"required":["a"],"properties":{"a":%s}}`, schema)
	}
	deep := `{"type":"string"}`
	for range 11 {
		deep = property(deep)
	}
	tests := []struct {
		name, schema string
		ok           bool
	}{
		{"a good one", property(`{"type":"string"}`), true},
		{"pattern and format", property(`{"type":"string","pattern":"^a+$","format":"email"}`), true},
		{"recursion", property(`{"type":"array","items":{"$ref":"#"}}`), true},
		{"no schema", `null`, false},
		{"a root that is a list", `{"type":"array","items":{"type":"string"}}`, false},
		{"anyOf at the root", `{"type":"object","anyOf":[{"type":"object"}]}`, false},
		{"an open object", property(`{"type":"object","required":[],"properties":{}}`), false},
		{"an open object in a list", property(`{"type":"array","items":{"type":"object","properties":{}}}`), false},
		{"an open object in anyOf", property(`{"anyOf":[{"type":"null"},{"type":"object","properties":{}}]}`), false},
		{"an open object in a definition", `{"type":"object","additionalProperties":false,"required":[],"properties":{},"$defs":{"x":{"type":"object","properties":{}}}}`, false},
		{"an optional property", `{"type":"object","additionalProperties":false,"required":[],"properties":{"a":{"type":"string"}}}`, false},
		{"a required property that is not there", `{"type":"object","additionalProperties":false,"required":["a"],"properties":{}}`, false},
		{"a list of anything", property(`{"type":"array"}`), false},
		{"no type", property(`{"description":"x"}`), false},
		{"a schema that is true", property(`true`), false},
		{"an unknown format", property(`{"type":"string","format":"uri"}`), false},
		{"an empty enum", property(`{"type":"string","enum":[]}`), false},
		{"a reference to nothing", property(`{"$ref":"#/$defs/b"}`), false},
		{"a reference elsewhere", property(`{"$ref":"https://example.com/x"}`), false},
		{"eleven levels", deep, false},
		{"minLength", property(`{"type":"string","minLength":1}`), false},
		{"uniqueItems", property(`{"type":"array","items":{"type":"string"},"uniqueItems":true}`), false},
		{"oneOf", property(`{"oneOf":[{"type":"string"}]}`), false},
		{"default", property(`{"type":"string","default":"x"}`), false},
		{"allOf", property(`{"allOf":[{"type":"string"}]}`), false},
		{"too many enum values", property(`{"type":"integer","enum":[` + strings.Repeat("1,", 1000) + `1]}`), false},
		{"too many characters", property(`{"type":"string","enum":["` + strings.Repeat("x", 120_001) + `"]}`), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			raw := body(t, func(d map[string]any) { format(d)["schema"] = json.RawMessage(tt.schema) })
			r, err := http.NewRequestWithContext(t.Context(), "POST", b.url+"/v1/responses", strings.NewReader(raw))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Authorization", "Bearer sk-local")
			status, code, param := send(t, r)
			if tt.ok && status == 200 {
				return
			}
			if tt.ok || status != 400 || code != "invalid_json_schema" || param != "text.format.schema" {
				t.Errorf("status %d, code %q, param %q", status, code, param)
			}
		})
	}
}
