package operation

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// maxPrice is far above every price list, and keeps the cost of a call within an int64.
const maxPrice = Money(100_000 * picoPerMicro)

// ParsePrice reads a price as price pages write it, in US dollars per million tokens: "0.40". It
// returns picodollars per token, exactly, and refuses a sign, an exponent, more than six decimals and
// more than 100,000 dollars.
func ParsePrice(text string) (Money, error) {
	whole, fraction, point := strings.Cut(text, ".")
	digits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	if !digits(whole) || point && !digits(fraction) || len(whole) > 6 || len(fraction) > 6 {
		return 0, errors.New("not a price in dollars per million tokens with at most six decimals")
	}
	n, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", 6-len(fraction)), 10, 64)
	if err != nil || Money(n) > maxPrice {
		return 0, errors.New("a price above 100000 dollars per million tokens")
	}
	return Money(n), nil
}

// priceText is the inverse of ParsePrice. Money's own text form is that of an amount, rounded to
// microdollars: a price per token would not survive it.
func priceText(m Money) string {
	return fmt.Sprintf("%d.%06d", m/picoPerMicro, m%picoPerMicro)
}

type priceJSON struct {
	Input      string `json:"input"`
	Cached     string `json:"cached"`
	CacheWrite string `json:"cache_write"`
	Output     string `json:"output"`
	AsOf       string `json:"as_of"`
}

// MarshalJSON writes the price in US dollars per million tokens, exactly.
func (p Price) MarshalJSON() ([]byte, error) {
	return json.Marshal(priceJSON{priceText(p.Input), priceText(p.Cached), priceText(p.CacheWrite), priceText(p.Output), p.AsOf})
}

// UnmarshalJSON reads what [Price.MarshalJSON] wrote.
func (p *Price) UnmarshalJSON(raw []byte) error {
	var t priceJSON
	if err := json.Unmarshal(raw, &t); err != nil {
		return fmt.Errorf("read price: %w", err)
	}
	read := Price{AsOf: t.AsOf}
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
