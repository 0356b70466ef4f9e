package webhook

import (
	"strconv"
	"strings"
	"time"
)

// lastSecond is the end of the year 9999, which stands for any time that is later.
const lastSecond = 253402300799

// digits tells whether a text has some, and nothing else.
func digits(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

// unixSeconds reads a signed time in whole seconds: digits and nothing else. Milliseconds are some
// 50,000 years ahead, and so outside of any window.
func unixSeconds(text string) (time.Time, bool) {
	if !digits(text) {
		return time.Time{}, false
	}
	return wholeSeconds(text), true
}

// unixMillis reads a signed time in whole milliseconds.
func unixMillis(text string) (time.Time, bool) {
	if !digits(text) {
		return time.Time{}, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n > lastSecond*1000 {
		return time.Unix(lastSecond, 0).UTC(), true
	}
	return time.UnixMilli(n).UTC(), true
}

// isoTime reads a signed time as RFC 3339 has it, with a zone.
func isoTime(text string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || t.UTC().Year() < 1 || t.UTC().Year() > 9999 {
		return time.Time{}, false
	}
	return t.UTC(), true
}

func wholeSeconds(stamp string) time.Time {
	whole, _, _ := strings.Cut(stamp, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || n > lastSecond { // digits only: it can only be too large
		n = lastSecond
	}
	return time.Unix(n, 0).UTC()
}

// unixShape is a time in seconds, with a fraction where the sender has one.
var unixShape = pattern(`^([0-9]{1,11})(?:\.([0-9]{1,9}))?$`)

// unixVersion makes a version of a field that is unix seconds, with or without a fraction: the time
// itself, so that it can be compared with versions that are written as times. Any other text stays.
func unixVersion(f field) field {
	return func(r reading) string {
		text := f(r)
		m := unixShape().FindStringSubmatch(text)
		if m == nil {
			return text
		}
		fraction := (m[2] + "000000000")[:9]
		nanos, _ := strconv.ParseInt(fraction, 10, 64) // nine digits
		return time.Unix(wholeSeconds(m[1]).Unix(), nanos).UTC().Format(time.RFC3339Nano)
	}
}
