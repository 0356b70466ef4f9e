package recipe

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"engang/shared/document"
	"engang/shared/operation"
)

// costFlag is the flag that looks at the money spent instead of at the output.
const costFlag = "cost_usd"

// Flags says which of the recipe's review flags an output raises, in the order of their names, without quoting it.
// Cost is what its operation has cost so far. The output must have passed [Compiled.Check].
func (c *Compiled) Flags(output []byte, cost operation.Money) (raised []string) {
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
		case err != nil, rule == "not_empty" && !empty(properties[name]), rule == "empty" && empty(properties[name]):
			raised = append(raised, fmt.Sprintf("%s is %s", name, strings.ReplaceAll(rule, "_", " ")))
		}
	}
	return raised
}

// costBound reads "> 0.01".
func costBound(rule string) (operation.Money, error) {
	number, ok := strings.CutPrefix(strings.TrimSpace(rule), ">")
	if !ok {
		return 0, fmt.Errorf("flag %s is not a bound such as \"> 0.01\"", costFlag)
	}
	dollars, err := operation.ParsePrice(strings.TrimSpace(number)) // picodollars a token of dollars a million: the same digits
	if err != nil {
		return 0, fmt.Errorf("flag %s: %w", costFlag, err)
	}
	return dollars * 1_000_000, nil
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

// overheadTokens is far above what a request has beside instructions, input and schema.
const overheadTokens = 500

// WorstCost is the most that one call on this input can cost, with so many output tokens allowed: a token is at
// least one byte of what is sent, and none of it is cached.
func (c *Compiled) WorstCost(price operation.Price, in Input, outputTokens int) operation.Money {
	sent := len(c.recipe.Instructions) + len(in.JSON) + len(c.recipe.Output.Schema) + overheadTokens
	dearest := max(price.Input, price.CacheWrite)
	return dearest*operation.Money(sent) + price.Output*operation.Money(outputTokens)
}
