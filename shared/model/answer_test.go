package model_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"engang/shared/operation"
)

func TestUsableAnswerKeepsAllThatAnAttemptNeeds(t *testing.T) {
	a := call(t, serve(t, answering(good)))
	want := operation.Answer{
		Attempt: operation.Attempt{
			Outcome: operation.Usable, Called: true, ModelAsked: "gpt-5.4-mini-2026-03-17", Model: "gpt-5.4-mini-2026-03-17",
			ResponseID: "resp_1", RequestID: "req_1", Status: "completed", HTTPStatus: 200, ServiceTier: "default",
			Tokens: &operation.Tokens{Input: 412, Cached: 128, CacheWrite: 64, Output: 96, Reasoning: 32},
		},
		Output: []byte(`{"zebra":"a","apple":"b"}`),
	}
	if diff := cmp.Diff(want, a, cmpopts.IgnoreFields(operation.Attempt{}, "RequestDigest", "Duration")); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	if a.Duration <= 0 || a.Duration > time.Minute {
		t.Errorf("time to answer %v", a.Duration)
	}
}

// message is one item of an output list.
func message(id, phase string, parts ...string) string {
	content := make([]string, len(parts))
	for i, p := range parts {
		text, _ := json.Marshal(p)
		content[i] = fmt.Sprintf(`{"type":"output_text","text":%s,"annotations":[]}`, text)
	}
	p := "null"
	if phase != "" {
		p = `"` + phase + `"`
	}
	return fmt.Sprintf(`{"id":%q,"type":"message","role":"assistant","status":"completed","phase":%s,"content":[%s]}`, id, p, strings.Join(content, ","))
}

const (
	reasoning = `{"id":"rs_1","type":"reasoning","summary":[]}`
	refusal   = `{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"refusal","refusal":"I will not"}]}`
)

func response(status, more string, output ...string) string {
	return fmt.Sprintf(`{"id":"resp_1","object":"response","status":%q,"model":"m","output":[%s],"usage":{"input_tokens":10,"output_tokens":200,"output_tokens_details":{"reasoning_tokens":200}}%s}`,
		status, strings.Join(output, ","), more)
}

func TestResponseStatusAndContentDecideTheOutcome(t *testing.T) {
	const answer = `{"a":1}`
	tests := []struct {
		name   string
		body   string
		want   operation.Outcome
		output string
		reason string // that must be in it
	}{
		{name: "one message", body: response("completed", "", reasoning, message("m1", "", answer)), want: operation.Usable, output: answer},
		{name: "one text in two parts of a message", body: response("completed", "", message("m1", "", `{"a"`, `:1}`)), want: operation.Usable, output: answer},
		{name: "text with white space around it", body: response("completed", "", message("m1", "", "\n"+answer+" ")), want: operation.Usable, output: answer},
		{name: "an item of a kind that is not known", body: response("completed", "", `{"id":"x","type":"hologram","data":1}`, message("m1", "", answer)), want: operation.Usable, output: answer},

		// MOD-10
		{name: "the same message twice", body: response("completed", "", message("m1", "", answer), message("m1", "", answer)), want: operation.Usable, output: answer},
		{name: "the same text in two messages", body: response("completed", "", message("m1", "", answer), message("m2", "", answer)), want: operation.Usable, output: answer},
		{name: "a comment, then the same words as the final answer", body: response("completed", "", message("m1", "commentary", answer), message("m2", "final_answer", answer)), want: operation.Usable, output: answer},
		{name: "a comment, then another final answer", body: response("completed", "", message("m1", "commentary", `{"a":0}`), message("m2", "final_answer", answer)), want: operation.Usable, output: answer},
		{name: "an unmarked message beside the final answer", body: response("completed", "", message("m1", "", `{"a":0}`), message("m2", "final_answer", answer)), want: operation.Usable, output: answer},
		{name: "two different answers", body: response("completed", "", message("m1", "", answer), message("m2", "", `{"a":2}`)), want: operation.Unusable, reason: "two different"},
		{name: "one message id with two texts", body: response("completed", "", message("m1", "", answer), message("m1", "", `{"a":2}`)), want: operation.Unusable, reason: "two different"},
		{name: "nothing but a comment", body: response("completed", "", message("m1", "commentary", answer)), want: operation.Unusable, reason: "no text"},

		// MOD-01
		{name: "a refusal", body: response("completed", "", refusal), want: operation.Unusable, reason: "refusal"},
		{name: "a refusal beside a text", body: response("completed", "", message("m0", "", answer), refusal), want: operation.Unusable, reason: "refusal"},

		// MOD-03, MOD-14
		{name: "cut off", body: response("incomplete", `,"incomplete_details":{"reason":"max_output_tokens"}`, message("m1", "", `{"a`)), want: operation.Truncated, reason: "cut off"},
		{name: "only reasoning until the cap", body: response("incomplete", `,"incomplete_details":{"reason":"max_output_tokens"}`, reasoning), want: operation.Truncated, reason: "reasoning used up"},
		{name: "completed without text at the cap", body: response("completed", `,"max_output_tokens":200`, reasoning), want: operation.Truncated, reason: "reasoning used up"},
		{name: "completed without text below the cap", body: response("completed", `,"max_output_tokens":900`, reasoning), want: operation.Unusable, reason: "no text"},
		{name: "completed with an empty text", body: response("completed", "", message("m1", "", "")), want: operation.Unusable, reason: "no text"},
		{name: "completed with a null output", body: `{"id":"resp_1","status":"completed","output":null}`, want: operation.Unusable, reason: "no text"},

		{name: "content filter", body: response("incomplete", `,"incomplete_details":{"reason":"content_filter"}`, message("m1", "", `{"a`)), want: operation.Unusable, reason: "content filter"},
		// MOD-05
		{name: "incomplete with empty details", body: response("incomplete", `,"incomplete_details":{}`, message("m1", "", answer)), want: operation.Unusable, reason: "without a reason"},
		{name: "incomplete with null details", body: response("incomplete", `,"incomplete_details":null`, message("m1", "", answer)), want: operation.Unusable, reason: "without a reason"},
		{name: "incomplete for a new reason", body: response("incomplete", `,"incomplete_details":{"reason":"lunch"}`, message("m1", "", answer)), want: operation.Unusable, reason: "not known here"},

		// MOD-09
		{name: "in progress", body: `{"id":"resp_1","status":"in_progress","output":[],"usage":null}`, want: operation.Transient, reason: "before the response was done"},
		{name: "queued", body: `{"id":"resp_1","status":"queued","output":[],"usage":null}`, want: operation.Transient, reason: "before the response was done"},
		{name: "cancelled", body: `{"id":"resp_1","status":"cancelled","output":[],"usage":null}`, want: operation.Transient, reason: "cancelled"},

		{name: "failed by a fault", body: response("failed", `,"error":{"code":"server_error","message":"x"}`), want: operation.Transient},
		{name: "failed by a rate limit", body: response("failed", `,"error":{"code":"rate_limit_exceeded","message":"x"}`), want: operation.Transient},
		{name: "failed without an error", body: response("failed", `,"error":null`), want: operation.Transient},
		{name: "failed by policy", body: response("failed", `,"error":{"code":"invalid_prompt","message":"x"}`), want: operation.Unusable},
		{name: "failed for quota (MOD-07)", body: response("failed", `,"error":{"code":"insufficient_quota","message":"x"}`), want: operation.Paused},
		{name: "failed for residency", body: response("failed", `,"error":{"code":"data_residency_mismatch","message":"x"}`), want: operation.Paused},

		{name: "an error object with status 200", body: `{"error":{"code":"insufficient_quota","message":"x"}}`, want: operation.Paused},
		{name: "another JSON document", body: `{"hello":"world"}`, want: operation.Transient, reason: "no response object"},
		{name: "JSON null", body: `null`, want: operation.Transient},
		{name: "a JSON list", body: `[1]`, want: operation.Transient},
		{name: "half a document", body: response("completed", "", message("m1", "", answer))[:90], want: operation.Transient, reason: "broke off"},
		{name: "nothing", body: ``, want: operation.Transient},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := call(t, serve(t, answering(tt.body)))
			if a.Outcome != tt.want || string(a.Output) != tt.output {
				t.Errorf("outcome %q with output %q (%s), want %q with %q", a.Outcome, a.Output, a.Reason, tt.want, tt.output)
			}
			if !strings.Contains(a.Reason, tt.reason) || (a.Reason == "") != (tt.want == operation.Usable) {
				t.Errorf("reason %q, want one with %q", a.Reason, tt.reason)
			}
			if (a.Category == "") != (tt.want == operation.Usable) {
				t.Errorf("category %q", a.Category)
			}
			if !a.Called {
				t.Error("an answered call counts as none")
			}
		})
	}
}

func TestUnknownUsageIsNotZero(t *testing.T) {
	tests := []struct {
		name  string
		usage string
		want  *operation.Tokens
	}{
		{name: "null", usage: `null`},
		{name: "empty", usage: `{}`},
		{name: "counts that are null", usage: `{"input_tokens":null,"output_tokens":5}`},
		{name: "details that are null", usage: `{"input_tokens":7,"input_tokens_details":null,"output_tokens":5,"output_tokens_details":null}`, want: &operation.Tokens{Input: 7, Output: 5}},
		{name: "null within the details", usage: `{"input_tokens":7,"input_tokens_details":{"cached_tokens":null},"output_tokens":5,"output_tokens_details":{"reasoning_tokens":null}}`, want: &operation.Tokens{Input: 7, Output: 5}},
		{name: "input below nothing", usage: `{"input_tokens":-7,"output_tokens":5}`},
		{name: "output below nothing", usage: `{"input_tokens":7,"output_tokens":-5}`},
		{name: "from the cache below nothing", usage: `{"input_tokens":7,"input_tokens_details":{"cached_tokens":-1000000000},"output_tokens":5}`},
		{name: "written to the cache below nothing", usage: `{"input_tokens":7,"input_tokens_details":{"cache_write_tokens":-1},"output_tokens":5}`},
		{name: "reasoning below nothing", usage: `{"input_tokens":7,"output_tokens":5,"output_tokens_details":{"reasoning_tokens":-1}}`},
		{name: "more than any call can use", usage: `{"input_tokens":7,"output_tokens":10000001}`},
		{name: "more than a number holds", usage: `{"input_tokens":1e30,"output_tokens":5}`},
		{name: "as many as can be", usage: `{"input_tokens":10000000,"output_tokens":0}`, want: &operation.Tokens{Input: 10_000_000}},
		{name: "no details", usage: `{"input_tokens":7,"output_tokens":5}`, want: &operation.Tokens{Input: 7, Output: 5}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body := fmt.Sprintf(`{"id":"resp_1","status":"completed","output":[%s],"usage":%s}`, message("m1", "", "{}"), tt.usage)
			a := call(t, serve(t, answering(body)))
			if a.Outcome != operation.Usable {
				t.Errorf("a paid answer was lost: %q, %s", a.Outcome, a.Reason)
			}
			if diff := cmp.Diff(tt.want, a.Tokens); diff != "" {
				t.Errorf("tokens (-want +got):\n%s", diff)
			}
		})
	}
}
