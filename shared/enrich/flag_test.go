package enrich_test

import (
	"encoding/json"
	"testing"

	"engang/shared/inbox"
	"engang/shared/operation"
	"engang/shared/recipe"
)

func TestPolicyReviewOnFlag(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ref := w.applyAs("card", 1, func(r *recipe.Recipe) {
			r.Policy = recipe.PolicyReviewOnFlag
			r.Output.Schema = json.RawMessage(`{"type":"object","additionalProperties":false,"required":["summary","missing"],"properties":{"summary":{"type":"string"},"missing":{"type":"array","items":{"type":"string"}}}}`)
			r.Review = &recipe.Review{Flags: map[string]string{"missing": "not_empty", "cost_usd": "> 0.01"}, By: []string{"catalogue"}}
		})
		full := func(missing string, tokens int64) operation.Answer {
			a := answer("x")
			a.Output, a.Tokens = []byte(`{"summary":"a good text","missing":[`+missing+`]}`), &operation.Tokens{Input: 100, Output: tokens}
			return a
		}
		for _, tt := range []struct {
			name   string
			answer operation.Answer
			how    inbox.Outcome
		}{
			{"nothing to say", full("", 10), inbox.Completed},
			{"something is missing", full(`"weight"`, 10), inbox.InReview},
			{"it was expensive", full("", 10_000), inbox.InReview},
		} {
			w.model.script = []operation.Answer{tt.answer}
			id := w.receive(arrival{name: tt.name, version: "2026-11-29T11:00:00Z", recipes: []inbox.RecipeRef{ref}})
			w.run(id)
			w.settled(id, tt.how)
			if op := w.operation(tt.name, ref); tt.how == inbox.InReview && (op.State != operation.Review || op.Reason == "") {
				t.Errorf("%s: operation %s, reason %q", tt.name, op.State, op.Reason)
			}
		}
		w.rest()
	})
}
