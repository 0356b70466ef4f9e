package references

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"engang/infra/engang/delivery"
	"engang/shared/config"
	"engang/shared/recipe"
	"engang/shared/recipe/compiled"
	"engang/shared/webhook"
)

// Samples holds pointers against what the providers send: one that can never match there is a fault where
// nothing could be done without it, and worth a look elsewhere. Senders whose payloads differ have no
// sample that counts.
func Samples(set config.Set) Findings {
	var found Findings
	recipes := map[string]recipe.Recipe{}
	for _, r := range set.Recipes {
		recipes[r.Name] = r
	}
	told := map[string]bool{}
	for _, e := range set.Endpoints {
		for _, event := range slices.Sorted(maps.Keys(e.Events)) {
			doc, ok := sampleOf(e, event)
			if !ok {
				continue
			}
			s := sampled{doc: doc, sender: e.Provider, event: event, told: told, found: &found}
			s.rule("/endpoints/"+e.Name+"/events/"+escape(event), e.Events[event])
			for _, name := range e.Events[event].Recipes {
				s.recipe(recipes[name])
			}
		}
	}
	return found
}

// sampleOf is the document of a sample, of a sender that says itself what its events are about.
func sampleOf(e config.Endpoint, event string) (any, bool) {
	sample, ok := delivery.Sample(e.Provider + "/" + event)
	row, known := webhook.Lookup(e.Provider)
	if !ok || !known || row.NeedsObject() {
		return nil, false
	}
	doc, _, err := row.Document(webhook.Request{Method: sample.Method, Header: sample.Header, Body: sample.Body})
	return doc, err == nil
}

type sampled struct {
	doc           any
	sender, event string
	told          map[string]bool // places that were told, which several endpoints may share
	found         *Findings
}

func (s sampled) rule(at string, rule config.EventRule) {
	if rule.Object != nil && never(s.doc, rule.Object.ID.Steps()) {
		s.add(at+"/object/id", &s.found.Faults, "every event would be parked, since it has no object")
	}
	if rule.Version != nil && never(s.doc, rule.Version.Steps()) {
		s.add(at+"/version", &s.found.Faults, "which of two events is newer could not be told by it")
	}
}

func (s sampled) recipe(r recipe.Recipe) {
	for _, name := range slices.Sorted(maps.Keys(r.Input.Fields)) {
		field := r.Input.Fields[name]
		if field.From == nil || !never(s.doc, field.From.Steps()) {
			continue
		}
		at := "/recipes/" + r.Name + "/input/fields/" + escape(name)
		if slices.Contains(r.Input.Required, name) {
			s.add(at, &s.found.Faults, "every event would be parked, since the field is required")
			continue
		}
		s.add(at, &s.found.Warnings, "the field would always be missing")
	}
	s.refused(r)
}

// refused finds that a recipe refuses what the sender usually sends.
func (s sampled) refused(r recipe.Recipe) {
	at := "/recipes/" + r.Name + "/input/refuse_if"
	if len(r.Input.RefuseIf) == 0 || s.told[at] {
		return
	}
	lenient := r
	lenient.Input.RefuseIf = nil
	own, err := compiled.New(r)
	without, err2 := compiled.New(lenient)
	if err != nil || err2 != nil { // told elsewhere
		return
	}
	_, err = own.Extract(s.doc)
	_, err2 = without.Extract(s.doc)
	if err != nil && err2 == nil {
		s.told[at] = true
		s.found.Faults = append(s.found.Faults, config.Fault{
			At: at, Reason: "it refuses what " + s.sender + " sends as " + s.event + ": every event would be parked",
			Remedy: "refuse only what is no input; a sample is under events/receiver",
		})
	}
}

func (s sampled) add(at string, to *config.Faults, so string) {
	if s.told[at] {
		return
	}
	s.told[at] = true
	*to = append(*to, config.Fault{
		At: at, Reason: "what " + s.sender + " sends as " + s.event + " has nothing there: " + so,
		Remedy: "point at what it sends; a sample is under events/receiver",
	})
}

// never tells whether steps lead nowhere, whatever the values are: an object has the keys that it has, and
// of an empty list or object, or of null, nothing is known.
func never(v any, steps []string) bool {
	if len(steps) == 0 {
		return false
	}
	switch v := v.(type) {
	case nil:
		return false
	case map[string]any:
		child, ok := v[steps[0]]
		if !ok {
			return len(v) > 0
		}
		return never(child, steps[1:])
	case []any:
		return neverInList(v, steps)
	}
	return true
}

func neverInList(list []any, steps []string) bool {
	if len(list) == 0 {
		return false
	}
	if steps[0] == "*" {
		return !slices.ContainsFunc(list, func(v any) bool { return !never(v, steps[1:]) })
	}
	i, err := strconv.Atoi(steps[0])
	if err != nil || i < 0 {
		return true
	}
	return i < len(list) && never(list[i], steps[1:]) // a longer list may come
}

func escape(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}
