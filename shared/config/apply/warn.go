package apply

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"engang/shared/config"
	"engang/shared/document"
	"engang/shared/recipe"
	"engang/shared/recipe/compiled"
)

// Above these a configuration is worth a second look.
const (
	usualEventDays = 30
	priceDays      = 90
)

// Warnings are what is allowed in a configuration and worth a second look. Like faults, they repeat no value.
func Warnings(set config.Set, now time.Time) config.Faults {
	var found faults
	if set.Common.EventDays > usualEventDays {
		found.add("/data/event_days", fmt.Sprintf("bodies are kept longer than %d days", usualEventDays), "keep them only as long as somebody needs to replay them")
	}
	for _, name := range slices.Sorted(maps.Keys(set.Common.Providers)) {
		prices := set.Common.Providers[name].Prices
		for _, model := range slices.Sorted(maps.Keys(prices)) {
			if day, err := time.Parse(time.DateOnly, prices[model].AsOf); err == nil && now.Sub(day) > priceDays*24*time.Hour {
				found.add(pointer("providers", name, "usd_per_million", model), fmt.Sprintf("the price is older than %d days", priceDays), "look at the provider's page again, and write the day down")
			}
		}
	}
	for _, r := range set.Recipes {
		at := pointer("recipes", r.Name)
		doc, err := document.Decode(r.Output.Schema)
		if err == nil {
			named(at+"/output/schema", doc, &found)
		}
		if len(r.Input.Mask) == 0 {
			found.add(at+"/input", "nothing is masked: what people write into free text goes to the model as it is", "add mask: [email, phone, national_id, card], or those of them that may occur")
		}
		if r.Policy != recipe.PolicyDraft && r.Limits == (recipe.Limits{}) {
			found.add(at, "outputs become results by themselves, and no limit stands; in production it is refused", "add limits: {usd_per_event: ..., usd_per_day: ...}")
		}
		if own, err := compiled.New(r); err == nil {
			narrow(at, own, set.Common.Providers[r.Model.Provider].Prices[r.Model.Name], &found)
		}
	}
	return config.Faults(found)
}

// likeName is what people and companies are called: two words in capitals, or an address.
var likeName = regexp.MustCompile(`^\p{Lu}[\p{L}'.-]+( \p{Lu}[\p{L}'.-]+)+$|@`)

// named finds lists of allowed values that look like names of somebody: a provider treats a schema as its
// own data, outside of what is promised about where content stays.
func named(at string, v any, found *faults) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			list, isEnum := v[name].([]any)
			if name == "enum" && isEnum && slices.ContainsFunc(list, func(one any) bool { text, _ := one.(string); return likeName.MatchString(strings.TrimSpace(text)) }) {
				found.add(at+"/enum", "a list of allowed values with names of somebody in it: providers treat schemas as their own data", "send such names in the input, and check the answer against them")
				continue
			}
			named(at+pointer(name), v[name], found)
		}
	case []any:
		for i := range v {
			named(at+"/"+strconv.Itoa(i), v[i], found)
		}
	case json.Number, string, bool, nil:
	}
}
