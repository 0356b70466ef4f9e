package diagnose

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"engang/shared/webhook"
)

const (
	lateMillis  = "milliseconds where seconds belong"
	earlyMillis = "seconds where milliseconds belong"
	lateMicros  = "microseconds where milliseconds belong"
)

// clockCauses are what happens to the signed time.
var clockCauses = []cause{
	{"time-unit", "time in another unit", clock, "look for what on the way writes the time anew, and let it pass as it came", rescaled},
}

var (
	inMillis  = regexp.MustCompile(`(^|[^0-9])([0-9]{10})[0-9]{3}($|[^0-9])`)
	inSeconds = regexp.MustCompile(`(^|[^0-9])([0-9]{10})($|[^0-9])`)
)

// rescaled reads what looks like a time in a header in the unit that the provider has. Nil where no header
// has any.
func rescaled(s *search, a attempt) []option {
	if a.scheme.Window() == 0 {
		return nil
	}
	shape, to, what := inMillis, "${1}${2}${3}", "is read in seconds: it is in "+lateMillis
	if s.millis() {
		shape, to, what = inSeconds, "${1}${2}000${3}", "is read in milliseconds: it is in "+earlyMillis
	}
	var all []option
	for _, name := range headerNames(a.request.Header) {
		values := a.request.Header[name]
		if len(values) != 1 || !shape.MatchString(values[0]) {
			continue
		}
		all = append(all, option{what: "the time in header " + printable(name) + " " + what, apply: func(a attempt) (attempt, bool) {
			return a.having(name, shape.ReplaceAllString(values[0], to)), true
		}})
	}
	return all
}

// having is the delivery with another value of one header.
func (a attempt) having(name, value string) attempt {
	a.request.Header = a.request.Header.Clone()
	a.request.Header.Set(name, value)
	return a
}

func headerNames(h http.Header) []string {
	var names []string
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// millis tells whether the provider signs milliseconds, which is known from signing.
func (s *search) millis() bool {
	at := time.Unix(1_795_953_600, 0)
	signed, err := s.scheme.Sign(webhook.Request{Method: http.MethodPost, URL: "https://hooks.example.com/", Header: http.Header{}, Body: []byte("{}")}, s.canary, at)
	if err != nil {
		return false
	}
	text := strconv.FormatInt(at.UnixMilli(), 10)
	for _, values := range signed.Header {
		if strings.Contains(strings.Join(values, " "), text) {
			return true
		}
	}
	return strings.Contains(string(signed.Body), text)
}

// otherUnit says in which unit a signed time must have been written, where the provider's own makes a time
// of it that no clock shows: the end of all years, or some weeks after their begin.
func (s *search) otherUnit(at time.Time) string {
	const lastSecond, million = 253_402_300_799, 1_000_000
	switch seconds := at.Unix(); {
	case seconds >= lastSecond && s.millis():
		return lateMicros
	case seconds >= lastSecond:
		return lateMillis
	case seconds >= million && seconds < 10*million && s.millis():
		return earlyMillis
	}
	return ""
}
