package configfile

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"engang/shared/config"
	"engang/shared/config/apply"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/recipe"
)

// A builder makes a Set of a file that was read, and notes what the schema cannot say.
type builder struct {
	root   *node
	faults *Faults
	shapes Faults // what the schema found: parts with such a fault are not built
	set    config.Set
}

func (b *builder) fault(at, reason, remedy string) {
	b.faults.add(b.root.at(steps(at)), at, reason, remedy)
}

func (b *builder) build() config.Set {
	b.set.Scope = object.Scope{Tenant: b.text("tenant"), Environment: b.text("environment")}
	b.common()
	b.provider()
	b.each("targets", b.target)
	b.each("recipes", b.recipe)
	b.each("endpoints", b.endpoint)
	slices.SortFunc(b.set.Recipes, func(x, y recipe.Recipe) int { return cmp.Compare(x.Name, y.Name) })
	slices.SortFunc(b.set.Endpoints, func(x, y config.Endpoint) int { return cmp.Compare(x.Name, y.Name) })
	b.check()
	return b.set
}

// check holds what was built against the rules that whoever publishes it checks again. What a schema can
// say has been said; what a part lacks may stand in the file and be unreadable.
func (b *builder) check() {
	for _, f := range apply.Check(b.set) {
		if f.Shape || f.Needs != "" && b.written(steps(f.Needs)) {
			continue
		}
		b.fault(f.At, f.Reason, f.Remedy)
	}
}

// written tells whether a part stands in the file, or of providers, another one under a wrong name.
func (b *builder) written(steps []string) bool {
	section, _ := b.root.child(steps[0])
	_, there := section.child(steps[1])
	return there || steps[0] == "providers" && section != nil && len(section.keys) > 0
}

func (b *builder) text(key string) string {
	n, _ := b.root.child(key)
	if n == nil {
		return ""
	}
	text, _ := n.value.(string)
	return text
}

// each builds every named part that can be read.
func (b *builder) each(section string, build func(name, at string, n *node)) {
	parent, _ := b.root.child(section)
	if parent == nil {
		return
	}
	for _, e := range parent.keys {
		if at := pointer(section, e.name); !b.shapes.within(at) {
			build(e.name, at, e.value)
		}
	}
}

// decode reads a part. Where the schema found nothing it must be readable to the last key.
func (b *builder) decode(at string, n *node, to any) bool {
	if len(b.shapes) > 0 {
		return json.Unmarshal(n.json(), to) == nil
	}
	err := strict(n.json(), to)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok { // 3.0 is an integer for a schema
		b.fault(at+"/"+strings.ReplaceAll(wrong.Field, ".", "/"), "a whole number that is written with decimals", "leave out the decimals")
	} else if err != nil {
		b.fault(at, "it fits the schema and cannot be read", "report this")
	}
	return err == nil
}

func (b *builder) common() {
	f := fileCommon{EventDays: 30, ResultDays: 400}
	if n, ok := b.root.child("data"); ok && !b.shapes.within("/data") {
		b.decode("/data", n, &f)
	}
	b.set.Common = config.Common{EventDays: f.EventDays, ResultDays: f.ResultDays, Providers: map[string]config.Provider{}}
}

func (b *builder) provider() {
	const at = "/providers/openai"
	providers, _ := b.root.child("providers")
	n, ok := providers.child("openai")
	if !ok || b.shapes.within(at) {
		return
	}
	var f fileProvider
	if !b.decode(at, n, &f) {
		return
	}
	p := config.Provider{APIKey: f.APIKey, BaseURL: f.BaseURL}
	for _, model := range n.at([]string{"usd_per_million"}).keys {
		price, err := f.Prices[model.name].tiered()
		if err != nil {
			b.fault(at+pointer("usd_per_million", model.name), strings.ReplaceAll(err.Error(), "\n", ", "), "copy the price and its day from the provider's page")
		}
		if p.Prices == nil {
			p.Prices = map[string]operation.Price{}
		}
		p.Prices[model.name] = price
	}
	b.set.Common.Providers["openai"] = p
}

func (b *builder) recipe(name, at string, n *node) {
	var f fileRecipe
	if b.decode(at, n, &f) {
		r := f.recipe(name)
		r.Limits = b.limits(at+"/limits", f.Limits)
		b.set.Recipes = append(b.set.Recipes, r)
	}
}

func (b *builder) endpoint(name, at string, n *node) {
	var f fileEndpoint
	if b.decode(at, n, &f) {
		e := f.endpoint(name)
		e.Scope = b.set.Scope
		b.set.Endpoints = append(b.set.Endpoints, e)
	}
}
