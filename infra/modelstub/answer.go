package modelstub

import "time"

// A reply is a JSON object in the making.
type reply map[string]any

// reasoningTokens is what thinking costs, by effort.
var reasoningTokens = map[string]int{"": 64, "none": 0, "minimal": 0, "low": 32, "medium": 128, "high": 512, "xhigh": 1024, "max": 2048}

// answer is the response to a good request. The output list holds a reasoning item, then the message.
func answer(req *request, id string) reply {
	d := reply{
		"id": "resp_" + id[:48], "object": "response", "created_at": time.Now().Unix(), "status": "completed",
		"background": false, "error": nil, "incomplete_details": nil, "instructions": req.Instructions,
		"max_output_tokens": nil, "max_tool_calls": nil, "model": req.Model, "parallel_tool_calls": true,
		"previous_response_id": nil, "prompt_cache_key": nil, "reasoning": reply{"effort": orNull(req.Effort), "summary": nil},
		"safety_identifier": nil, "service_tier": tier(req.ServiceTier), "store": req.Store, "temperature": 1.0,
		"text": reply{"format": req.format, "verbosity": "medium"}, "tool_choice": "auto", "tools": []any{},
		"top_logprobs": 0, "top_p": 1.0, "truncation": "disabled", "user": nil, "metadata": reply{},
		"output": []any{
			reply{"id": "rs_" + id[:48], "type": "reasoning", "summary": []any{}},
			reply{"id": "msg_" + id[:48], "type": "message", "status": "completed", "role": "assistant", "content": []any{}},
		},
	}
	if req.MaxOutputTokens > 0 {
		d["max_output_tokens"] = req.MaxOutputTokens
	}
	thought := reasoningTokens[req.Effort]
	in := 16 + count(req.Instructions) + count(req.Input) + count(string(req.Schema))
	d["usage"] = reply{
		"input_tokens": in, "input_tokens_details": reply{"cached_tokens": 0, "cache_write_tokens": 0},
		"output_tokens_details": reply{"reasoning_tokens": thought},
	}
	text := write(req, style{})
	d.say(text)
	if room := req.MaxOutputTokens - thought; req.MaxOutputTokens > 0 && count(text) > room {
		d.stop("max_output_tokens", text[:max(room*bytesPerToken, 0)])
		d.bill(req.MaxOutputTokens, min(thought, req.MaxOutputTokens))
	}
	return d
}

// tier is what serves a call that asks for a tier.
func tier(asked string) string {
	switch asked {
	case "", "auto":
		return "default"
	case "fast":
		return "priority"
	}
	return asked
}

const bytesPerToken = 4

// count estimates tokens from a text's length.
func count(text string) int { return (len(text) + bytesPerToken - 1) / bytesPerToken }

func (d reply) message() reply { return d["output"].([]any)[1].(reply) }

func (d reply) text() string {
	return d.message()["content"].([]any)[0].(reply)["text"].(string)
}

// say makes text the answer, and bills it.
func (d reply) say(text string) {
	d.message()["content"] = []any{reply{"type": "output_text", "text": text, "annotations": []any{}, "logprobs": []any{}}}
	thought := d["usage"].(reply)["output_tokens_details"].(reply)["reasoning_tokens"].(int)
	d.bill(thought+count(text), thought)
}

// bill sets what was put out, of which some was reasoning.
func (d reply) bill(out, thought int) {
	u := d["usage"].(reply)
	u["output_tokens"], u["output_tokens_details"] = out, reply{"reasoning_tokens": thought}
	u["total_tokens"] = u["input_tokens"].(int) + out
}
