package simulation

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"engang/shared/enrich"
	"engang/shared/inbox"
)

// weaken takes out of a request what the options say.
func (w *world) weaken(q *sent) {
	for _, weak := range w.Weak {
		if weak.Call != q.name {
			continue
		}
		var doc map[string]any
		if json.Unmarshal(q.raw, &doc) != nil {
			continue
		}
		weak.change(doc)
		if raw, err := json.Marshal(doc); err == nil {
			q.refreshed(raw)
		}
	}
}

// change changes every expression and value below a node.
func (x Weakening) change(node any) {
	switch node := node.(type) {
	case map[string]any:
		for name, below := range node {
			if text, ok := below.(string); ok && (name == "ConditionExpression" || name == "UpdateExpression") && x.Part != "" {
				node[name] = strings.ReplaceAll(text, x.Part, x.Instead)
			}
			if name == x.Value {
				node[name] = map[string]any{"S": cmp.Or(x.Instead, "always the same")}
				continue
			}
			x.change(below)
		}
	case []any:
		for _, below := range node {
			x.change(below)
		}
	}
}

// firstPart takes deliveries apart, and forgets all parts but the first.
type firstPart struct{ all enrich.Parts }

// Parts is the first event of a delivery.
func (p firstPart) Parts(ctx context.Context, ev inbox.Event, raw []byte) (inbox.Parts, error) {
	all, err := p.all.Parts(ctx, ev, raw)
	all.Events = all.Events[:min(len(all.Events), 1)]
	return all, err
}
