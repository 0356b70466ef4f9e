package model

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter bounds a wait that a header asks for: longer ones are cut.
const maxRetryAfter = 24 * time.Hour

// retryAfter reads how long the provider asks to wait; zero if it does not say. The finer header wins. A
// time of day is read against the answer's own clock, which need not be ours.
func retryAfter(h http.Header) time.Duration {
	if d, ok := wait(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d
	}
	text := h.Get("Retry-After")
	if d, ok := wait(text, time.Second); ok {
		return d
	}
	until, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return min(max(until.Sub(now), 0), maxRetryAfter)
}

// wait reads a number of units, which may have decimals.
func wait(text string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || n != n || n < 0 {
		return 0, false
	}
	if n >= float64(maxRetryAfter/unit) {
		return maxRetryAfter, true
	}
	return time.Duration(n * float64(unit)), true
}

// rateLimits keeps what a refusal says about limits, as "name=value" in the order of the names without
// their prefix.
func rateLimits(h http.Header) string {
	const prefix = "X-Ratelimit-"
	var kept []string
	for name, values := range h {
		rest, ok := strings.CutPrefix(name, prefix)
		if !ok || len(values) == 0 {
			continue
		}
		if v := word(values[0]); v != "" && word(rest) != "" {
			kept = append(kept, strings.ToLower(rest)+"="+v)
		}
	}
	slices.Sort(kept)
	return strings.Join(kept[:min(len(kept), 12)], " ")
}

// word lets identifiers through, which are short and have no white space, and drops everything else, so
// that no free text of a provider is kept by way of a field that should hold a code.
func word(text string) string {
	strange := func(r rune) bool { return r <= ' ' || r > '~' }
	if len(text) > 128 || strings.ContainsFunc(text, strange) {
		return ""
	}
	return text
}
