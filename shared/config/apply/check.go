// Package apply is the act by which a configuration becomes the live one: what is refused, what would change, and
// publishing it, all of it or nothing.
package apply

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"engang/shared/config"
	"engang/shared/recipe"
	"engang/shared/recipe/compiled"
	"engang/shared/secrets"
)

// The limits of a configuration.
const (
	MaxSecrets = 3       // of an endpoint: more than two are active only while two rotations overlap
	MaxBody    = 4 << 20 // the largest body that the front lets through
	maxDays    = 3650
	maxPart    = recipe.MaxBytes // JSON of one stored part: an item holds 400 KB
	maxRecipes = 10              // of one event
)

// Check holds a whole configuration against every rule that needs to know nothing else, and returns all
// that is wrong with it. Whoever publishes what came from outside checks it, whoever has checked it
// before. What is live already is held against it by [Replacement.Compare].
func Check(set config.Set) config.Faults {
	c := checker{set: set, recipes: map[string]bool{}}
	for _, r := range set.Recipes {
		c.recipes[r.Name] = true
	}
	c.scope()
	c.common()
	for _, name := range slices.Sorted(maps.Keys(set.Common.Providers)) {
		c.provider(name, set.Common.Providers[name])
	}
	for _, name := range slices.Sorted(maps.Keys(set.Common.Targets)) {
		c.target(name, set.Common.Targets[name])
	}
	seen := map[string]bool{}
	for _, r := range set.Recipes {
		c.once(seen, pointer("recipes", r.Name))
		c.recipe(r)
	}
	var all []brought
	for _, e := range set.Endpoints {
		c.once(seen, pointer("endpoints", e.Name))
		all = append(all, c.endpoint(e)...)
	}
	c.objects(all)
	c.personal()
	c.leaks()
	return config.Faults(c.faults)
}

// A checker holds one set against the rules.
type checker struct {
	set     config.Set
	recipes map[string]bool // by name
	faults  faults
}

func (c *checker) once(seen map[string]bool, at string) {
	c.faults.shape(!seen[at], at, "it stands twice in the configuration", "keep one of them")
	seen[at] = true
}

func (c *checker) scope() {
	c.faults.shape(recipe.IsName(c.set.Scope.Tenant), "/tenant", "not a name", "use letters, digits, dots, dashes and underscores, at most 64")
	c.faults.shape(slices.Contains(config.Environments, c.set.Scope.Environment), "/environment", "not an environment", "use "+strings.Join(config.Environments, " or "))
}

func (c *checker) common() {
	within := func(at string, days int) {
		c.faults.shape(days >= 1 && days <= maxDays, at, "a number out of range", fmt.Sprintf("use 1 to %d days", maxDays))
	}
	within("/data/event_days", c.set.Common.EventDays)
	within("/data/result_days", c.set.Common.ResultDays)
	c.faults.shape(c.set.Common.ResultDays >= c.set.Common.EventDays, "/data/result_days", "results leave before the events that brought them: an older version that comes late would be the result", "keep results at least as long as events")
	c.size("", c.set.Common)
}

// size refuses a part that no item can hold.
func (c *checker) size(at string, part any) {
	raw, err := json.Marshal(part)
	if err != nil || len(raw) > maxPart {
		c.faults.add(at, fmt.Sprintf("more than %d bytes, which is what one version may have", maxPart), "shorten it, or split it in two")
	}
}

func (c *checker) provider(name string, p config.Provider) {
	at := pointer("providers", name)
	c.faults.shape(name == "openai", at, "not a provider of models that is built", "use openai")
	c.faults.shape(below(p.APIKey, "models/"), at+"/api_key", "not a reference to the key of a model", "write ssm:models/NAME")
	if p.BaseURL != "" {
		c.baseURL(at+"/base_url", p.BaseURL)
	}
	for _, model := range slices.Sorted(maps.Keys(p.Prices)) {
		if _, err := time.Parse(time.DateOnly, p.Prices[model].AsOf); err != nil {
			c.faults.add(at+pointer("usd_per_million", model), "as_of: no such day", "copy the price and its day from the provider's page")
		}
		c.tiers(at+pointer("usd_per_million", model, "tiers"), p.Prices[model])
	}
}

// below tells whether a reference leads to this part of the parameter store.
func below(ref secrets.Ref, folder string) bool {
	path, err := ref.Path()
	return err == nil && strings.HasPrefix(path, folder)
}

func (c *checker) recipe(r recipe.Recipe) {
	at := pointer("recipes", r.Name)
	name := r.Name
	c.faults.shape(recipe.IsName(name), at, "not a name", "use letters, digits, dots, dashes and underscores, at most 64")
	if !recipe.IsName(name) {
		r.Name = "unnamed" // one fault is enough
	}
	c.faults.shape(r.Limits.PerMinute <= recipe.MaxPerMinute, at+"/limits/per_minute", "more calls a minute than are counted", fmt.Sprintf("use 1 to %d calls, or leave it out", recipe.MaxPerMinute))
	own, err := compiled.New(r)
	if refused, ok := errors.AsType[compiled.Faults](err); ok {
		for _, fault := range refused {
			c.faults.add(at+fault.At, fault.Reason, fault.Remedy)
		}
	}
	provider, configured := c.set.Common.Providers[r.Model.Provider]
	price, priced := provider.Prices[r.Model.Name]
	switch {
	case configured && priced && err == nil:
		c.limits(at, own, price)
	case configured && !priced:
		c.faults.add(at+"/model/name", "the model has no price", "add it to usd_per_million: without a price no cost is known")
	case !configured:
		c.faults = append(c.faults, config.Fault{
			At: at + "/model/provider", Reason: "the provider is not configured", Remedy: "add it to providers, with api_key and usd_per_million",
			Needs: pointer("providers", r.Model.Provider),
		})
	}
}

// leaks finds secrets that stand as values in parts where text may stand.
func (c *checker) leaks() {
	look := func(at string, part any) {
		raw, err := json.Marshal(part)
		c.faults.shape(err != nil || !config.IsSecret(string(raw)), at, "a secret as a value", "put it into the parameter store and write its reference")
	}
	look("/providers", c.set.Common.Providers)
	look("/targets", c.set.Common.Targets)
	for _, r := range c.set.Recipes {
		look(pointer("recipes", r.Name), r)
	}
	for _, e := range c.set.Endpoints {
		look(pointer("endpoints", e.Name), e)
	}
}
