package apply

import (
	"fmt"
	"maps"
	"slices"

	"engang/shared/operation"
	"engang/shared/recipe"
	"engang/shared/recipe/compiled"
)

// pricedTiers are the service tiers that may cost something else than the usual one.
var pricedTiers = []string{"flex", "priority", "scale"}

func (c *checker) tiers(at string, price operation.Price) {
	for _, tier := range slices.Sorted(maps.Keys(price.Tiers)) {
		c.faults.shape(slices.Contains(pricedTiers, tier) && price.Tiers[tier].Tiers == nil, at, "an unknown service tier", "use flex, priority or scale")
	}
}

// emptyInput is the least that a recipe can send.
var emptyInput = recipe.Input{JSON: []byte("{}")}

// limits holds what a recipe may spend against what its calls cost. A limit that no call can meet stops the
// recipe as surely as a pause, and nobody would look for it there.
func (c *checker) limits(at string, ready *compiled.Recipe, price operation.Price) {
	r := ready.Recipe()
	tier := r.Model.Options.ServiceTier
	_, own := price.Tiers[tier]
	if tier == "priority" && !own {
		c.faults.add(at+"/model/options/service_tier", "the tier has no price of its own, and costs more than the usual one", "add it to the model's price: tiers: {priority: {...}}")
	}
	_, flagged := flags(r)["cost_usd"]
	dollars := r.Limits.USDPerEvent > 0 || r.Limits.USDPerDay > 0
	if (dollars || flagged) && (price.Input == 0 || price.Output == 0) {
		c.faults.add(at+"/limits", "a limit in dollars, and a model that is priced at nothing: the limit would never be reached", "copy the price from the provider's page, or leave the limit out")
		return
	}
	if c.set.Scope.Environment == "production" && r.Policy != recipe.PolicyDraft && !dollars {
		c.faults.add(at+"/limits", "outputs become results by themselves, and no limit in dollars stands", "add limits: {usd_per_event: ..., usd_per_day: ...}")
	}
	worst := ready.WorstCost(price, emptyInput, r.Model.Options.MaxOutputTokens)
	for _, limit := range []struct {
		key    string
		amount operation.Money
	}{{"usd_per_event", r.Limits.USDPerEvent}, {"usd_per_day", r.Limits.USDPerDay}} {
		if limit.amount > 0 && worst > limit.amount {
			c.faults.add(at+"/limits/"+limit.key,
				fmt.Sprintf("no call would ever be made: one may cost up to $%s before any input, and the limit is $%s", worst, limit.amount),
				"raise the limit well above that, or lower max_output_tokens")
		}
	}
}

func flags(r recipe.Recipe) map[string]string {
	if r.Review == nil {
		return nil
	}
	return r.Review.Flags
}

// smallInput is less than what most recipes send.
const smallInput = 4 << 10

// narrow warns of limits that stop calls which a recipe is likely to make.
func narrow(at string, ready *compiled.Recipe, price operation.Price, found *faults) {
	r := ready.Recipe()
	tokens, limits := r.Model.Options.MaxOutputTokens, r.Limits
	if limits.USDPerEvent == 0 && limits.USDPerDay == 0 {
		return
	}
	if tier := r.Model.Options.ServiceTier; (tier == "" || tier == "auto") && price.Tiers == nil {
		found.add(at+"/model/options/service_tier", "a limit in dollars, and a tier that the provider chooses: it may cost more than the price says", "write service_tier: default, or price the tiers: {priority: {...}}")
	}
	usual := ready.WorstCost(price, recipe.Input{JSON: make([]byte, smallInput)}, tokens)
	again := usual + ready.WorstCost(price, recipe.Input{JSON: make([]byte, smallInput)}, 2*tokens)
	switch lowest := lower(limits.USDPerEvent, limits.USDPerDay); {
	case usual > lowest:
		found.add(at+"/limits", fmt.Sprintf("a call on an input of %d bytes may cost up to $%s, more than the limit of $%s: it would not be made", smallInput, usual, lowest), "raise the limit, or lower max_output_tokens")
	case limits.USDPerEvent > 0 && again > limits.USDPerEvent:
		found.add(at+"/limits/usd_per_event", fmt.Sprintf("an answer that is cut off could not be asked for again with twice the tokens: both calls may cost up to $%s", again), "raise the limit, or lower max_output_tokens")
	}
}

// lower is the lower of two limits, of which zero is none.
func lower(a, b operation.Money) operation.Money {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}
