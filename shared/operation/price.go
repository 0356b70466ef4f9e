package operation

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"engang/shared/document"
)

// maxPrice is far above every price list, and with MaxTokens keeps the cost of a call within an int64.
const maxPrice = Money(100_000 * picoPerMicro)

// ParsePrice reads a price as price pages write it, in US dollars per million tokens: "0.40". It
// returns picodollars per token, exactly, and refuses a sign, an exponent, more than six decimals and
// more than 100,000 dollars.
func ParsePrice(text string) (Money, error) {
	n, err := parseDecimals(text)
	switch {
	case err != nil:
		return 0, errors.New("not a price in dollars per million tokens with at most six decimals")
	case n > maxPrice:
		return 0, errors.New("a price above 100000 dollars per million tokens")
	}
	return n, nil
}

// parseDecimals reads a number of at most six digits before and six behind the point, in millionths.
func parseDecimals(text string) (Money, error) {
	whole, fraction, point := strings.Cut(text, ".")
	digits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	if !digits(whole) || point && !digits(fraction) || len(whole) > 6 || len(fraction) > 6 {
		return 0, errors.New("not a number with at most six decimals")
	}
	n, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", 6-len(fraction)), 10, 64)
	return Money(n), err
}

// priceText is the inverse of ParsePrice. Money's own text form is that of an amount, rounded to
// microdollars: a price per token would not survive it.
func priceText(m Money) string {
	return fmt.Sprintf("%d.%06d", m/picoPerMicro, m%picoPerMicro)
}

// ParseAmount reads an amount of US dollars as people write it: "0.02". It refuses a sign, an exponent, more
// than six decimals and more than 999,999 dollars.
func ParseAmount(text string) (Money, error) {
	perMillion, err := parseDecimals(text)
	if err != nil {
		return 0, errors.New("not an amount of dollars with at most six decimals")
	}
	return perMillion * picoPerMicro, nil
}

// For is the price of an answer from a service tier: that tier's own, if it has one.
func (p Price) For(tier string) Price {
	if own, ok := p.Tiers[tier]; ok {
		return own
	}
	return p
}

// Highest is the most that each kind of token costs, in whatever tier a call that asks for one is answered:
// that tier, or the usual one; where none is asked for, it is the provider's choice.
func (p Price) Highest(asked string) Price {
	high := p
	for tier, own := range p.Tiers {
		if tier == asked || asked == "" || asked == "auto" {
			high.Input, high.Cached = max(high.Input, own.Input), max(high.Cached, own.Cached)
			high.CacheWrite, high.Output = max(high.CacheWrite, own.CacheWrite), max(high.Output, own.Output)
		}
	}
	return high
}

type priceJSON struct {
	Input      string           `json:"input"`
	Cached     string           `json:"cached"`
	CacheWrite string           `json:"cache_write"`
	Output     string           `json:"output"`
	AsOf       string           `json:"as_of"`
	Tiers      map[string]Price `json:"tiers,omitempty"`
}

// MarshalJSON writes the price in US dollars per million tokens, exactly.
func (p Price) MarshalJSON() ([]byte, error) {
	return json.Marshal(priceJSON{priceText(p.Input), priceText(p.Cached), priceText(p.CacheWrite), priceText(p.Output), p.AsOf, p.Tiers})
}

// UnmarshalJSON reads what [Price.MarshalJSON] wrote, to the last key: a price that is not known would be a call that
// costs nothing.
func (p *Price) UnmarshalJSON(raw []byte) error {
	var t priceJSON
	if err := document.Unmarshal(raw, &t); err != nil {
		return fmt.Errorf("read price: %w", err)
	}
	read := Price{AsOf: t.AsOf, Tiers: t.Tiers}
	for _, part := range []struct {
		name string
		text string
		to   *Money
	}{{"input", t.Input, &read.Input}, {"cached", t.Cached, &read.Cached}, {"cache_write", t.CacheWrite, &read.CacheWrite}, {"output", t.Output, &read.Output}} {
		m, err := ParsePrice(part.text)
		if err != nil {
			return fmt.Errorf("read price %s: %w", part.name, err)
		}
		*part.to = m
	}
	*p = read
	return nil
}
