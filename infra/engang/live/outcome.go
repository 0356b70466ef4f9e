package live

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"engang/infra/engang/text"
	"engang/shared/control"
)

// attempts tells those that have ended, each once: not the one that was told when its worker was killed.
// It says whether there were any.
func (t *Story) attempts(all []control.Operation) (some bool) {
	for _, o := range all {
		for i, a := range o.Attempts {
			if a.Outcome == "" || t.told[attempt(o, a.FencingToken)] {
				continue
			}
			t.told[attempt(o, a.FencingToken)] = true
			at := time.Now() // nobody saw it begin
			if known := cmp.Or(a.EndedAt, a.StartedAt); known != nil {
				at = *known
			}
			t.Screen.line(at, fmt.Sprintf("attempt %d", i+1), "%s/%s   token %d   %s", o.Object, o.Recipe, a.FencingToken, call(a))
			some = true
		}
	}
	return some
}

// attempt names an attempt: an unrecorded one has no id.
func attempt(o control.Operation, token int64) string { return fmt.Sprint(o.ID, " ", token) }

// outcome tells what came of the attempts.
func (t *Story) outcome(ctx context.Context, doc control.Object) error {
	for _, r := range doc.Results {
		content, err := t.Client.Reveal(ctx, r.Operation, "the first run counts what came out")
		if err != nil {
			return err
		}
		t.Screen.line(r.At, "result", "%s      %s; accepted by policy auto", sampleObject, describe(content.Output))
	}
	for _, e := range doc.Events {
		t.unfinished(e, doc.Operations)
	}
	return nil
}

// unfinished tells what waits for a person, and why.
func (t *Story) unfinished(e control.Event, all []control.Operation) {
	at := time.Now()
	if e.EndedAt != nil {
		at = *e.EndedAt
	}
	if e.State == "parked" {
		t.Screen.line(at, "parked", "%s      %s; it stands in review", sampleObject, strings.TrimPrefix(e.Category+": "+e.Reason, ": "))
	}
	for _, o := range all {
		if o.State == "review" {
			t.Screen.line(at, "draft", "%s      %s; it stands in review", sampleObject, o.Reason)
		}
	}
}

// call says what came of an attempt: of a good one, what it used.
func call(a control.Attempt) string {
	if a.Tokens == nil || a.Outcome != "usable" {
		return text.Attempt(a)
	}
	s := fmt.Sprintf("model: %d in, %d out tokens", a.Tokens.Input, a.Tokens.Output)
	if a.CostUSD != nil {
		s += fmt.Sprintf(", $%.5f", float64(*a.CostUSD)/1e12)
	}
	return s
}

// describe says what an output holds without showing it: texts by name, lists by number, in the order
// in which they were written.
func describe(output json.RawMessage) string {
	d := json.NewDecoder(strings.NewReader(string(output)))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return "an output"
	}
	var parts []string
	for d.More() {
		name, err := d.Token()
		if err != nil {
			break
		}
		var v any
		if err := d.Decode(&v); err != nil {
			break
		}
		switch v := v.(type) {
		case []any:
			if len(v) > 0 {
				parts = append(parts, text.Count(len(v), strings.TrimSuffix(fmt.Sprint(name), "s"), fmt.Sprint(name)))
			}
		case nil:
		default:
			parts = append(parts, fmt.Sprint(name))
		}
	}
	return strings.Join(parts, ", ")
}
