package configfile

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"engang/shared/config"
	"engang/shared/operation"
	"engang/shared/recipe"
)

type fileCatchUp struct {
	Target string `json:"target"`
	Every  span   `json:"every"`
}

type fileLimits struct {
	Attempts    int      `json:"attempts"`
	USDPerEvent *decimal `json:"usd_per_event"`
	USDPerDay   *decimal `json:"usd_per_day"`
	PerMinute   int      `json:"per_minute"`
}

// A span is a number of seconds, written 30s, 15m, 2h or 3d.
type span int

// UnmarshalJSON reads a span.
func (s *span) UnmarshalJSON(raw []byte) error {
	text := strings.Trim(string(raw), `"`)
	for unit, seconds := range map[string]int{"s": 1, "m": 60, "h": 60 * 60, "d": 24 * 60 * 60} {
		if digits, ok := strings.CutSuffix(text, unit); ok {
			n, err := strconv.Atoi(digits)
			*s = span(n * seconds)
			return err
		}
	}
	return errors.New("no span of time")
}

// limits reads amounts exactly. A limit of nothing would be none at all once it is stored.
func (b *builder) limits(at string, f fileLimits) recipe.Limits {
	amount := func(key string, text *decimal) operation.Money {
		if text == nil {
			return 0
		}
		m, err := operation.ParseAmount(string(*text))
		switch {
		case err != nil:
			b.fault(at+"/"+key, err.Error(), `write dollars such as "0.02"`)
		case m == 0:
			b.fault(at+"/"+key, "a limit of nothing", "name an amount; to stop a recipe, pause it")
		}
		return m
	}
	return recipe.Limits{
		Attempts: f.Attempts, PerMinute: f.PerMinute,
		USDPerEvent: amount("usd_per_event", f.USDPerEvent), USDPerDay: amount("usd_per_day", f.USDPerDay),
	}
}

func (b *builder) target(name, at string, n *node) {
	var t config.Target
	if !b.decode(at, n, &t) {
		return
	}
	if b.set.Common.Targets == nil {
		b.set.Common.Targets = map[string]config.Target{}
	}
	b.set.Common.Targets[name] = t
}

// tiered is a price with those of its service tiers, which are of the same day.
func (f filePrice) tiered() (operation.Price, error) {
	p, err := f.price()
	faults := []error{err}
	for _, tier := range slices.Sorted(maps.Keys(f.Tiers)) {
		own := f.Tiers[tier]
		own.AsOf = f.AsOf
		price, err := own.price()
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", tier, err))
		}
		if p.Tiers == nil {
			p.Tiers = map[string]operation.Price{}
		}
		p.Tiers[tier] = price
	}
	return p, errors.Join(faults...)
}
