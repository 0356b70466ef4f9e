package compiled

import (
	"fmt"

	"engang/shared/operation"
	"engang/shared/recipe"
)

// overheadTokens is far above what a call sends beside instructions, input and schema, and what a provider adds.
const overheadTokens = 500

// WorstCost is the most that one call on this input can cost, with so many output tokens allowed; reasoning is
// among those. A token is at least one byte of what is sent. A schema counts twice, since nobody says in which
// form a provider shows it to the model. The price is that of the dearest service tier that may answer.
func (c *Recipe) WorstCost(price operation.Price, in recipe.Input, outputTokens int) operation.Money {
	dearest := price.Highest(c.recipe.Model.Options.ServiceTier)
	sent := len(c.recipe.Instructions) + len(in.JSON) + 2*len(c.recipe.Output.Schema) + overheadTokens
	return max(dearest.Input, dearest.Cached, dearest.CacheWrite)*operation.Money(sent) + dearest.Output*operation.Money(outputTokens)
}

// checkLimits refuses limits out of range. Whether a call fits within them depends on prices, which a recipe
// does not have.
func checkLimits(r recipe.Recipe, faults *Faults) {
	faults.check(r.QuietSeconds >= 0 && r.QuietSeconds <= recipe.MaxQuietSeconds, "/quiet_period", "a quiet period of more than a day", "use 1s to 24h, or leave it out")
	l := r.Limits
	faults.check(l.Attempts >= 0 && l.Attempts <= recipe.MaxAttempts, "/limits/attempts", "a number out of range", fmt.Sprintf("use 1 to %d attempts: the queue delivers a message only a few times more", recipe.MaxAttempts))
	faults.check(l.USDPerEvent >= 0, "/limits/usd_per_event", "an amount below nothing", "name an amount of dollars, or leave it out")
	faults.check(l.USDPerDay >= 0, "/limits/usd_per_day", "an amount below nothing", "name an amount of dollars, or leave it out")
	faults.check(l.PerMinute >= 0, "/limits/per_minute", "calls below nothing", fmt.Sprintf("use 1 to %d calls, or leave it out", recipe.MaxPerMinute)) // more is refused by apply: what was stored with it stays readable
	faults.check(l.USDPerDay == 0 || l.USDPerEvent <= l.USDPerDay, "/limits/usd_per_event", "one event may cost more than a whole day", "lower it, or raise usd_per_day")
}
