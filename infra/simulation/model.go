package simulation

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// A reply is what the model says to one call.
type reply struct {
	kind   string // for the history
	paid   bool
	status int // zero: nothing
	header map[string]string
	body   []byte
	took   time.Duration
}

// A mood is one way of the model to fail, and what it does to an answer.
type mood struct {
	kind  string
	paid  bool
	alter func(r *reply, say func(text string, change map[string]any))
}

// text that fits the schema.
func summary(of string) string {
	b, err := json.Marshal(map[string]string{"summary": of})
	if err != nil {
		panic(err) // a map of texts
	}
	return string(b)
}

// moods are the ways to fail.
var moods = []mood{
	{"429", false, func(r *reply, _ func(string, map[string]any)) {
		r.refuse(http.StatusTooManyRequests, "rate_limit_exceeded")
		r.header = map[string]string{"Retry-After": "3"}
	}},
	{"500", false, func(r *reply, _ func(string, map[string]any)) {
		r.refuse(http.StatusInternalServerError, "server_error")
	}},
	{"quota", false, func(r *reply, _ func(string, map[string]any)) {
		r.refuse(http.StatusTooManyRequests, "insufficient_quota")
	}},
	{"malformed", true, func(r *reply, _ func(string, map[string]any)) { r.body = r.body[:len(r.body)/2] }},
	{"refusal", true, func(_ *reply, say func(string, map[string]any)) { say("", map[string]any{"refusal": true}) }},
	{"truncated", true, func(_ *reply, say func(string, map[string]any)) {
		say(`{"summ`, map[string]any{"status": "incomplete"})
	}},
	{"no such field", true, func(_ *reply, say func(string, map[string]any)) { say(`{"other":"word"}`, nil) }},
	{"a lie that a check finds", true, func(_ *reply, say func(string, map[string]any)) {
		say(strings.Repeat("too long ", 20), map[string]any{"lie": true})
	}},
	{"slow", true, func(r *reply, _ func(string, map[string]any)) { r.took = 70 * time.Second }},
	{"slower than its deadline", true, func(r *reply, _ func(string, map[string]any)) { r.took = 90 * time.Second }},
	{"breaks off", true, func(r *reply, _ func(string, map[string]any)) { r.status = 0 }},
}

func (r *reply) refuse(status int, code string) {
	r.status = status
	r.body = fmt.Appendf(nil, `{"error":{"type":%q,"code":%q,"message":"no"}}`, code, code)
}

// model answers one call. Every answer is another one, so that two calls for one piece of work are told apart.
func (w *world) model(a *actor, raw []byte) reply {
	var in struct{ Input, Instructions string }
	var fields struct{ Name string }
	_ = json.Unmarshal(raw, &in) // what cannot be read has no name
	_ = json.Unmarshal([]byte(in.Input), &fields)
	w.calls++
	n := w.calls
	who := fmt.Sprintf("%s by %s", a.operation, a.name)
	longest := 12 * time.Second
	if w.scene.crowded {
		longest = 50 * time.Second
	}
	r := reply{kind: "answered", paid: true, status: http.StatusOK, took: w.dice.between(300*time.Millisecond, longest, "model "+who, 0)}
	say := func(text string, change map[string]any) {
		if change["lie"] != nil {
			text = summary(fields.Name + ", " + text)
		}
		r.body = response(n, text, change)
	}
	say(summary(fmt.Sprintf("%s, says call %d", fields.Name, n)), nil)
	if !w.calm() && w.dice.chance(w.scene.moody, "mood "+who, 0) {
		m := moods[w.dice.below(len(moods), "which mood "+who, 0)]
		if w.happens(fmt.Sprintf("model for %s: %s", a.name, m.kind)) {
			r.kind, r.paid = m.kind, m.paid
			m.alter(&r, say)
			w.counts.count("model")
		}
	}
	if r.paid {
		w.pays(a)
	}
	r.kind = fmt.Sprintf("%s (call %d)", r.kind, n)
	return r
}

// response is a document of the Responses API.
func response(n int, text string, change map[string]any) []byte {
	status, incomplete := "completed", any(nil)
	part := map[string]any{"type": "output_text", "text": text, "annotations": []any{}}
	if change["refusal"] != nil {
		part = map[string]any{"type": "refusal", "refusal": "no"}
	}
	if change["status"] != nil {
		status, incomplete = "incomplete", map[string]any{"reason": "max_output_tokens"}
	}
	doc, err := json.Marshal(map[string]any{
		"id": fmt.Sprintf("resp_%d", n), "object": "response", "status": status, "model": modelName, "error": nil, "incomplete_details": incomplete, "service_tier": "default",
		"output": []any{map[string]any{"id": fmt.Sprintf("msg_%d", n), "type": "message", "role": "assistant", "status": status, "content": []any{part}}},
		"usage":  map[string]any{"input_tokens": 50, "output_tokens": 20, "total_tokens": 70, "input_tokens_details": map[string]any{"cached_tokens": 0}, "output_tokens_details": map[string]any{"reasoning_tokens": 0}},
	})
	if err != nil {
		panic(err) // made of texts and numbers
	}
	return doc
}
