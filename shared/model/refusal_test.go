package model_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"engang/shared/operation"
)

// errorBody is the API's error object.
func errorBody(code, kind, param string) string {
	quote := func(s string) string {
		if s == "" {
			return "null"
		}
		return `"` + s + `"`
	}
	return fmt.Sprintf(`{"error":{"message":"secret words of the provider","type":%s,"param":%s,"code":%s}}`, quote(kind), quote(param), quote(code))
}

func refusing(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Request-Id", "req_9")
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func TestStatusAndCodeOfARefusalDecideTheOutcome(t *testing.T) {
	const (
		invalid = "invalid_request_error"
		pausedP = operation.CategoryProviderPaused
		config  = operation.CategoryConfiguration
	)
	tests := []struct {
		name     string
		status   int
		body     string
		want     operation.Outcome
		category operation.Category
		code     string
	}{
		{"rate limit", 429, errorBody("rate_limit_exceeded", "requests", ""), operation.Transient, operation.CategoryTransient, "rate_limit_exceeded"},
		{"429 without a word", 429, ``, operation.Transient, operation.CategoryTransient, ""},
		{"quota, also a 429 (MOD-06)", 429, errorBody("insufficient_quota", "insufficient_quota", ""), operation.Paused, pausedP, "insufficient_quota"},
		{"quota named by the type alone", 429, errorBody("", "insufficient_quota", ""), operation.Paused, pausedP, "insufficient_quota"},
		{"billing not active", 429, errorBody("billing_not_active", "billing_not_active", ""), operation.Paused, pausedP, "billing_not_active"},
		{"billing limit, a 400", 400, errorBody("billing_hard_limit_reached", invalid, ""), operation.Paused, pausedP, "billing_hard_limit_reached"},
		{"invalid key", 401, errorBody("invalid_api_key", invalid, ""), operation.Paused, pausedP, "invalid_api_key"},
		{"401 without a body", 401, ``, operation.Paused, pausedP, ""},
		{"forbidden", 403, errorBody("", invalid, ""), operation.Paused, pausedP, "invalid_request_error"},
		{"region", 403, errorBody("unsupported_country_region_territory", "request_forbidden", ""), operation.Paused, pausedP, "unsupported_country_region_territory"},
		{"a residency of another region", 401, errorBody("incorrect_hostname", invalid, ""), operation.Paused, pausedP, "incorrect_hostname"},
		{"unknown model", 404, errorBody("model_not_found", invalid, ""), operation.Paused, pausedP, "model_not_found"},
		{"unknown model, a 400", 400, errorBody("model_not_found", invalid, "model"), operation.Paused, pausedP, "model_not_found"},
		{"nothing served at the path", 404, `not found`, operation.Paused, config, ""},
		{"schema refused (MOD-12)", 400, errorBody("invalid_json_schema", invalid, "text.format.schema"), operation.Paused, config, "invalid_json_schema"},
		{"another bad request", 400, errorBody("", invalid, ""), operation.Paused, config, "invalid_request_error"},
		{"unknown parameter", 422, errorBody("unknown_parameter", invalid, "x"), operation.Paused, config, "unknown_parameter"},
		{"a redirect", 302, ``, operation.Paused, config, ""},

		// What one input causes must not pause the model for all others.
		{"input too long for the model", 400, errorBody("context_length_exceeded", invalid, "input"), operation.Unusable, operation.CategoryInvalidInput, "context_length_exceeded"},
		{"input too long for the API", 400, errorBody("string_above_max_length", invalid, "input"), operation.Unusable, operation.CategoryInvalidInput, "string_above_max_length"},
		{"another text too long for the API", 400, errorBody("string_above_max_length", invalid, "instructions"), operation.Paused, config, "string_above_max_length"},
		{"body too large", 413, ``, operation.Unusable, operation.CategoryInvalidInput, ""},
		{"policy", 400, errorBody("invalid_prompt", invalid, "input"), operation.Unusable, operation.CategoryUnusableOutput, "invalid_prompt"},

		{"request timeout", 408, ``, operation.Transient, operation.CategoryTransient, ""},
		{"conflict", 409, ``, operation.Transient, operation.CategoryTransient, ""},
		{"server error", 500, errorBody("", "server_error", ""), operation.Transient, operation.CategoryTransient, "server_error"},
		{"bad gateway with a page", 502, `<html>`, operation.Transient, operation.CategoryTransient, ""},
		{"overloaded", 503, errorBody("", "", ""), operation.Transient, operation.CategoryTransient, ""},
		{"an error that is a text", 500, `{"error":"broken"}`, operation.Transient, operation.CategoryTransient, ""},
		{"an error whose code is a number", 429, `{"error":{"code":429,"type":"requests"}}`, operation.Transient, operation.CategoryTransient, "429"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := call(t, serve(t, refusing(tt.status, tt.body)))
			if a.Outcome != tt.want || a.Category != tt.category || a.ErrorCode != tt.code {
				t.Errorf("outcome %q, category %q, code %q; want %q, %q, %q", a.Outcome, a.Category, a.ErrorCode, tt.want, tt.category, tt.code)
			}
			if a.HTTPStatus != tt.status || a.RequestID != "req_9" || !a.Called || a.Reason == "" || a.Tokens != nil {
				t.Errorf("attempt %+v", a.Attempt)
			}
		})
	}
}

func TestRetryAfterIsRead(t *testing.T) {
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		name   string
		header []string
		want   time.Duration
	}{
		{"none", nil, 0},
		{"seconds", []string{"Retry-After", "20"}, 20 * time.Second},
		{"seconds with decimals", []string{"Retry-After", "1.5"}, 1500 * time.Millisecond},
		{"milliseconds win", []string{"Retry-After", "20", "Retry-After-Ms", "250"}, 250 * time.Millisecond},
		{"milliseconds that are no number", []string{"Retry-After", "20", "Retry-After-Ms", "soon"}, 20 * time.Second},
		{"a time of day by the answer's own clock", []string{"Date", at.Format(http.TimeFormat), "Retry-After", at.Add(time.Minute).Format(http.TimeFormat)}, time.Minute},
		{"a time in the past", []string{"Date", at.Format(http.TimeFormat), "Retry-After", at.Add(-time.Hour).Format(http.TimeFormat)}, 0},
		{"negative", []string{"Retry-After", "-5"}, 0},
		{"not a number", []string{"Retry-After", "NaN"}, 0},
		{"infinite", []string{"Retry-After", "Inf"}, 24 * time.Hour},
		{"a year", []string{"Retry-After", "31536000"}, 24 * time.Hour},
		{"too large for any integer", []string{"Retry-After", "1e300"}, 24 * time.Hour},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := call(t, serve(t, refusing(429, errorBody("rate_limit_exceeded", "requests", ""), tt.header...)))
			if a.RetryAfter != tt.want {
				t.Errorf("wait %v, want %v", a.RetryAfter, tt.want)
			}
		})
	}
}

func TestRateLimitsOfARefusalAreKept(t *testing.T) {
	a := call(t, serve(t, refusing(429, ``, "x-ratelimit-remaining-tokens", "0", "x-ratelimit-limit-requests", "500", "x-ratelimit-reset-tokens", "6m0s", "x-other", "1")))
	if want := "limit-requests=500 remaining-tokens=0 reset-tokens=6m0s"; a.RateLimits != want {
		t.Errorf("rate limits %q, want %q", a.RateLimits, want)
	}
}

func TestNothingTheProviderWroteFreelyIsKept(t *testing.T) {
	const leak = "Tröja för kund 4711"
	long := strings.Repeat("x", 500)
	bodies := map[string]http.HandlerFunc{
		"refusal with words everywhere": refusing(400, fmt.Sprintf(`{"error":{"message":%q,"type":%q,"param":%q,"code":%q}}`, leak, leak, leak, leak), "X-Ratelimit-Note", leak, "X-Request-Id", leak),
		"long identifiers":              refusing(500, fmt.Sprintf(`{"error":{"message":"m","code":%q}}`, long), "X-Request-Id", long),
		"failed response":               answering(response("failed", fmt.Sprintf(`,"error":{"code":%q,"message":%q},"service_tier":%q`, leak, leak, leak))),
		"refusal part":                  answering(response("completed", "", `{"id":"m","type":"message","content":[{"type":"refusal","refusal":"`+leak+`"}]}`)),
		"incomplete with words":         answering(response("incomplete", fmt.Sprintf(`,"incomplete_details":{"reason":%q}`, leak), message("m", "", leak))),
		"no JSON":                       answering(leak),
		"two answers":                   answering(response("completed", "", message("m1", "", leak), message("m2", "", leak+"!"))),
	}
	for name, h := range bodies {
		t.Run(name, func(t *testing.T) {
			a := call(t, serve(t, h))
			kept, err := json.Marshal(a.Attempt)
			if err != nil {
				t.Fatal(err)
			}
			for _, word := range []string{"Tröja", "4711", long, apiKey, "Bearer"} {
				if strings.Contains(string(kept), word) {
					t.Errorf("the attempt holds %q: %s", word[:min(len(word), 20)], kept)
				}
			}
			if len(a.Output) > 0 {
				t.Errorf("output %q with outcome %q", a.Output, a.Outcome)
			}
		})
	}
}
