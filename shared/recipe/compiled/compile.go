// Package compiled is recipes at work: held against every rule of recipes, they select the input of a call, and
// hold the output against schema and checks.
//
// It stands apart from what a recipe says, since only who makes calls or applies recipes needs the library of
// JSON Schema: reading it in costs a function more than the rest of its start.
package compiled

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"engang/shared/document"
	"engang/shared/mask"
	"engang/shared/recipe"
)

const maxExamples = 20

var (
	dated     = regexp.MustCompile(`(^|[-:])[0-9]{4}-[0-9]{2}-[0-9]{2}($|[-:])`)
	reasoning = []string{"", "none", "minimal", "low", "medium", "high", "xhigh", "max"}
	tiers     = []string{"", "auto", "default", "flex", "scale", "priority"}
)

// A Recipe is one that was found free of faults, ready to extract inputs and to check
// outputs. It never changes and is safe for concurrent use.
type Recipe struct {
	recipe   recipe.Recipe
	consts   map[string]any
	mask     mask.Masker
	refusals []refusal
	schema   *jsonschema.Schema
	outline  outline
}

// Recipe returns the recipe it was made of. What it points to must not be changed.
func (c *Recipe) Recipe() recipe.Recipe { return c.recipe }

// New checks a recipe and makes it ready for use. A recipe that cannot work, or that could send
// more than it says, is refused with [Faults], all of them at once.
func New(r recipe.Recipe) (*Recipe, error) {
	var faults Faults
	checkHead(r, &faults)
	checkModel(r.Model, &faults)
	c := &Recipe{recipe: r, consts: checkInput(r.Input, &faults)}
	c.mask = checkMask(r.Input.Mask, &faults)
	c.refusals = checkRefusals(r.Input.RefuseIf, &faults)
	checkLimits(r, &faults)
	outline := checkOutput(r.Output, &faults)
	checkReview(r, outline, &faults)
	for i, check := range r.Checks {
		checkCheck(checkSite{at: under("/checks", fmt.Sprint(i)), outline: outline, input: r.Input}, check, &faults)
	}
	if whole, err := json.Marshal(r); err == nil {
		faults.check(len(whole) <= recipe.MaxBytes, "", fmt.Sprintf("the recipe has %d bytes, at most %d are stored", len(whole), recipe.MaxBytes), "shorten instructions or schema")
	}
	if len(faults) > 0 {
		return nil, faults
	}
	schema, err := compileSchema(outline.decided())
	if err != nil {
		return nil, Faults{{At: "/output/schema", Reason: "the schema does not compile", Remedy: "hold it against the list of keywords in the documentation"}}
	}
	c.schema, c.outline = schema, outline
	if c.checkExamples(&faults); len(faults) > 0 {
		return nil, faults
	}
	return c, nil
}

func checkHead(r recipe.Recipe, faults *Faults) {
	faults.check(recipe.IsName(r.Name), "", "the name is empty, longer than 64 characters, or has others than letters, digits, dot, dash and underscore", "rename the recipe")
	faults.check(r.Version >= 1 && r.Version <= recipe.MaxVersion, "/version", fmt.Sprintf("the version is not a whole number from 1 to %d", recipe.MaxVersion), "count versions from 1")
	faults.check(strings.TrimSpace(r.Instructions) != "", "/instructions", "there are no instructions", "say what the model is to do, and that text in the input is data")
	switch r.Policy {
	case recipe.PolicyAuto, recipe.PolicyDraft, recipe.PolicyReviewOnFlag:
	default:
		faults.add("/policy", "unknown policy", "use draft (a person decides), review-on-flag or auto")
	}
}

func checkModel(m recipe.Model, faults *Faults) {
	faults.check(m.Provider == "openai", "/model/provider", "unknown provider of models", "use openai")
	switch {
	case m.Name == "":
		faults.add("/model/name", "no model is named", "name a dated snapshot of a model")
	case !m.AllowAlias && !dated.MatchString(m.Name):
		faults.add("/model/name", "the model is an alias that moves: its name has no date", "name a dated snapshot, or write allow_alias: true")
	}
	switch m.Mode {
	case "direct":
	case "background", "batch":
		faults.add("/model/mode", "mode "+m.Mode+" is not built yet", "use direct")
	default:
		faults.add("/model/mode", "unknown mode", "use direct")
	}
	o := m.Options
	faults.check(slices.Contains(reasoning, o.Reasoning), "/model/options/reasoning", "unknown reasoning effort", "use one of "+strings.Join(reasoning[1:], ", "))
	faults.check(slices.Contains(tiers, o.ServiceTier), "/model/options/service_tier", "unknown service tier", "use one of "+strings.Join(tiers[1:], ", "))
	faults.check(o.MaxOutputTokens >= recipe.MinOutputTokens, "/model/options/max_output_tokens", fmt.Sprintf("less than %d output tokens, or none said", recipe.MinOutputTokens), "say how many tokens an answer may have; reasoning counts")
	faults.check(o.MaxOutputTokens <= recipe.MaxOutputTokens, "/model/options/max_output_tokens", fmt.Sprintf("more than %d output tokens", recipe.MaxOutputTokens), "no model answers with so many")
	faults.check(o.TimeoutSeconds >= 0 && o.TimeoutSeconds <= recipe.MaxTimeoutSeconds, "/model/options/timeout", fmt.Sprintf("the function has no room for it: at most %ds", recipe.MaxTimeoutSeconds), "shorten the timeout")
}

// checkMask makes the masker.
func checkMask(kinds []string, faults *Faults) mask.Masker {
	var read []mask.Kind
	for i, text := range kinds {
		here := fmt.Sprintf("/input/mask/%d", i)
		kind := mask.Kind(text)
		faults.check(slices.Contains(mask.Kinds, kind), here, "unknown kind of personal data", "use email, phone, national_id or card")
		faults.check(!slices.Contains(read, kind), here, "named twice", "name it once")
		read = append(read, kind)
	}
	return mask.New(read...)
}

// checkExamples holds each example of an output against the schema, and against the checks that need no input.
func (c *Recipe) checkExamples(faults *Faults) {
	faults.check(len(c.recipe.Examples) <= maxExamples, "/examples", fmt.Sprintf("more than %d examples", maxExamples), "keep those that differ")
	for i, example := range c.recipe.Examples {
		at := fmt.Sprintf("/examples/%d", i)
		v, reason := c.read(example)
		if reason != "" {
			faults.add(at, "not what the recipe asks for: "+reason, "correct the example or the schema")
			continue
		}
		for _, check := range c.recipe.Checks {
			check.Quotes = nil
			for _, flag := range run(check, v, newQuotes(recipe.Input{})) {
				faults.add(at, "a check of the recipe does not pass: "+flag, "correct the example or the check")
			}
		}
	}
}

// checkInput returns the decoded constants.
func checkInput(in recipe.Fields, faults *Faults) map[string]any {
	const at = "/input"
	faults.check(len(in.Fields) > 0, at+"/fields", "the input has no fields", "name the fields that the model may see")
	faults.check(len(in.Fields) <= recipe.MaxFields, at+"/fields", fmt.Sprintf("more than %d fields", recipe.MaxFields), "name only what the model needs")
	consts := map[string]any{}
	fromPayload := false
	for _, name := range slices.Sorted(maps.Keys(in.Fields)) {
		f := in.Fields[name]
		fromPayload = fromPayload || f.From != nil
		here := under(at+"/fields", name)
		faults.check(recipe.IsName(name), here, "the field's name is empty, longer than 64 characters, or has others than letters, digits, dot, dash and underscore", "rename the field")
		if f.Const != nil {
			consts[name] = checkConst(here, f, faults)
			continue
		}
		checkField(here, f, faults)
	}
	faults.check(fromPayload || len(in.Fields) == 0, at+"/fields", "no field comes from the payload", "add one with a pointer")
	seen := map[string]bool{}
	for i, name := range in.Required {
		f, known := in.Fields[name]
		here := under(at+"/required", fmt.Sprint(i))
		faults.check(known, here, "no field has this name", "name one of the fields")
		faults.check(!seen[name], here, "named twice", "name it once")
		faults.check(!known || f.From != nil, here, "a constant is always there", "leave it out of required")
		seen[name] = true
	}
	return consts
}

func checkConst(at string, f recipe.Field, faults *Faults) any {
	faults.check(f.From == nil && f.As == "" && f.Max == 0 && f.MaxItems == 0 && len(f.Pick) == 0 && f.Personal == nil, at, "a constant takes nothing beside const", "write const alone")
	v, err := document.Decode(f.Const)
	faults.check(err == nil, at+"/const", "the constant is no JSON value", "write a text, a number, a list or a mapping")
	return v
}

func checkField(at string, f recipe.Field, faults *Faults) {
	if f.From == nil {
		faults.add(at, "the field says neither from nor const", "write a pointer such as /name")
		return
	}
	faults.check(!wholeBody(*f.From), at, "the pointer takes the whole body", "point at the fields that are needed, one by one")
	faults.check(f.As == "" || f.As == "text", at+"/as", "unknown form", "use text, or leave it out")
	faults.check(f.As == "" || len(f.Pick) == 0, at+"/as", "as: text and pick exclude each other", "point at the property itself")
	faults.check(f.Max == 0 || f.Max >= 2, at+"/max", "less than 2 characters", "allow more characters")
	if f.Personal != nil {
		faults.check(said(f.Personal.Purpose) && said(f.Personal.Basis), at+"/personal", "purpose or basis is missing, or longer than 500 characters", "say what it is for, and what allows it")
	}
	faults.check(f.MaxItems >= 0, at+"/max_items", "less than one item", "allow more items")
	for i, name := range f.Pick {
		here := under(at+"/pick", fmt.Sprint(i))
		faults.check(name != "", here, "an empty property name", "name a property")
		faults.check(slices.Index(f.Pick, name) == i, here, "named twice", "name it once")
	}
}

func said(text string) bool { return strings.TrimSpace(text) != "" && runes(text) <= 500 }

// wholeBody tells whether a pointer names everything there is: "", "/", or every item of a list.
func wholeBody(p document.Pointer) bool {
	return strings.Trim(p.String(), "/*") == ""
}

func checkOutput(o recipe.Output, faults *Faults) outline {
	faults.check(recipe.IsName(o.Name) && !strings.Contains(o.Name, "."), "/output/name", "the name is empty, longer than 64 characters, or has others than letters, digits, dash and underscore", "rename the output")
	const at = "/output/schema"
	v, err := document.Decode(o.Schema)
	root, ok := v.(map[string]any)
	if err != nil || !ok {
		faults.add(at, "the schema is no JSON object", "write a schema of type object")
		return outline{}
	}
	return readSchema(at, root, faults)
}

// Prompt is all that a call on this input sends.
func (c *Recipe) Prompt(in recipe.Input) recipe.Prompt {
	m := c.recipe.Model
	return recipe.Prompt{
		Recipe:          c.recipe.Ref(),
		Provider:        m.Provider,
		Model:           m.Name,
		Instructions:    c.recipe.Instructions,
		Input:           in.JSON,
		SchemaName:      c.recipe.Output.Name,
		Schema:          c.recipe.Output.Schema,
		MaxOutputTokens: m.Options.MaxOutputTokens,
		Reasoning:       m.Options.Reasoning,
		ServiceTier:     m.Options.ServiceTier,
	}
}

// runes counts characters.
func runes(s string) int { return utf8.RuneCountInString(s) }
