package compiled

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"engang/shared/document"
	"engang/shared/operation"
	"engang/shared/recipe"
)

// costFlag is the flag that looks at the money spent instead of at the output.
const costFlag = "cost_usd"

// The rules of the other flags.
const (
	flagEmpty    = "empty"
	flagNotEmpty = "not_empty"
)

const (
	maxFlags  = 20
	maxGroups = 10
	maxDays   = 3650
)

// Flags says which of the recipe's review flags an output raises, in the order of their names, without quoting it.
// Cost is what its operation has cost so far. The output must have passed [Recipe.Check]; of one that cannot be
// read, every flag is raised.
func (c *Recipe) Flags(output []byte, cost operation.Money) (raised []string) {
	if c.recipe.Review == nil {
		return nil
	}
	v, err := document.Decode(output)
	properties, _ := v.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(c.recipe.Review.Flags)) {
		rule := c.recipe.Review.Flags[name]
		switch {
		case name == costFlag:
			if bound, err := costBound(rule); err != nil || cost > bound {
				raised = append(raised, fmt.Sprintf("it cost $%s, flagged when %s", cost, rule))
			}
		case err != nil, rule == flagNotEmpty && !empty(properties[name]), rule == flagEmpty && empty(properties[name]):
			raised = append(raised, fmt.Sprintf("%s is %s", name, strings.ReplaceAll(rule, "_", " ")))
		}
	}
	return raised
}

// costBound reads "> 0.01".
func costBound(rule string) (operation.Money, error) {
	number, ok := strings.CutPrefix(strings.TrimSpace(rule), ">")
	if !ok {
		return 0, errors.New(`no bound such as "> 0.01"`)
	}
	return operation.ParseAmount(strings.TrimSpace(number))
}

// empty tells whether a property says nothing.
func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return strings.TrimSpace(v) == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// checkReview refuses flags that could never be raised, or always.
func checkReview(r recipe.Recipe, o outline, faults *Faults) {
	const at = "/review"
	if r.Review == nil {
		faults.check(r.Policy != recipe.PolicyReviewOnFlag, "/policy", "review-on-flag without a flag: nothing would ever be reviewed", "add review: {flags: {PROPERTY: not_empty}}, or use auto")
		return
	}
	flags := r.Review.Flags
	faults.check(len(flags) > 0 || r.Policy != recipe.PolicyReviewOnFlag, at+"/flags", "review-on-flag without a flag: nothing would ever be reviewed", "name a property of the output and not_empty or empty, or cost_usd and a bound")
	faults.check(len(flags) == 0 || r.Policy != recipe.PolicyAuto, at+"/flags", "flags that policy auto does not look at", "use review-on-flag, or leave them out")
	faults.check(len(flags) <= maxFlags, at+"/flags", fmt.Sprintf("more than %d flags", maxFlags), "keep those that matter")
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		f := flag{at: under(at+"/flags", name), name: name, rule: flags[name], found: o.at([]string{name})}
		f.check(o.root != nil, faults)
	}
	faults.check(len(r.Review.By) <= maxGroups, at+"/by", fmt.Sprintf("more than %d groups", maxGroups), "name the group that owns the drafts first")
	for i, group := range r.Review.By {
		here := fmt.Sprintf("%s/by/%d", at, i)
		faults.check(isGroup(group), here, "not the name of a group", "name a group of the identity provider, without white space or @, at most 128 characters")
		faults.check(slices.Index(r.Review.By, group) == i, here, "named twice", "name it once")
	}
	faults.check(r.Review.Days >= 0 && r.Review.Days <= maxDays, at+"/days", "a number out of range", fmt.Sprintf("use 1 to %d days, or leave it out", maxDays))
}

// A flag is one line of review.flags, and what the output may have where it looks.
type flag struct {
	at, name, rule string
	found          []map[string]any
}

func (f flag) check(readable bool, faults *Faults) {
	if f.name == costFlag {
		bound, err := costBound(f.rule)
		faults.check(err == nil, f.at, "no bound of a cost", `write "> 0.01": dollars with at most six decimals`)
		faults.check(err != nil || bound > 0, f.at, "a bound of nothing: every paid output would be reviewed", "name an amount, or use policy draft")
		faults.check(len(f.found) == 0, f.at, "an output property of that name cannot be told from the cost", "rename the property")
		return
	}
	faults.check(f.rule == flagEmpty || f.rule == flagNotEmpty, f.at, "unknown rule", "use not_empty or empty; for cost_usd a bound")
	if !readable {
		return
	}
	if len(f.found) == 0 {
		faults.add(f.at, "the output has no such property", "name a property of the output, or cost_usd")
		return
	}
	variable := slices.ContainsFunc(f.found, func(node map[string]any) bool {
		return hasType(node, "string") || hasType(node, "array") || hasType(node, "null")
	})
	faults.check(variable, f.at, "the property is never empty: the flag says nothing", "name a text, a list, or what may be null")
}

// isGroup tells whether a text can be the name of a group. A person's address is none.
func isGroup(text string) bool {
	return text != "" && len(text) <= 128 && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == '@' || r == 0x7f })
}
