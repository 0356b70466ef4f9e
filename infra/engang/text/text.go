// Package text writes documents of the API for people: lists in columns, and one thing as a timeline.
package text

import (
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A Clock says how times are written.
type Clock struct{ Local bool }

const (
	second = "2006-01-02 15:04:05"
	milli  = "2006-01-02 15:04:05.000"
)

func (c Clock) in(t time.Time) time.Time {
	if c.Local {
		return t.Local()
	}
	return t.UTC()
}

// Second is a time to the second; nothing for no time.
func (c Clock) Second(t *time.Time) string { return c.format(t, second) }

// Milli is a time to the millisecond; nothing for no time.
func (c Clock) Milli(t *time.Time) string { return c.format(t, milli) }

func (c Clock) format(t *time.Time, layout string) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return c.in(*t).Format(layout)
}

// Columns writes rows whose cells stand below each other, two spaces apart and after an indent. A row
// has no white space at its end, and is one line whatever is in its cells ([Line]).
func Columns(w io.Writer, indent string, rows [][]string) error {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(Line(cell)))
		}
	}
	for _, row := range rows {
		var b strings.Builder
		b.WriteString(indent)
		for i, cell := range row {
			cell = Line(cell)
			b.WriteString(cell)
			b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(b.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}

// Count is a number with its noun: "1 event", "3 deliveries".
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// Duration is a time span as short as it can be told: "412 ms", "1.8 s".
func Duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	}
	return d.Round(time.Second).String()
}

// ShortOperation is an operation's name, or that of a conflict, with eight characters of its digest, which is enough to
// name it. What has no digest stays as it is.
func ShortOperation(name string) string {
	at := strings.LastIndexByte(name, '/')
	if at < 0 || len(name) < at+9 || !hexadecimal.MatchString(name[at+1:]) {
		return name
	}
	return name[:at+9]
}

var hexadecimal = regexp.MustCompile(`^[0-9a-f]+$`)

// ShortDigest is the beginning of a digest.
func ShortDigest(digest string) string {
	if at := strings.IndexByte(digest, ':'); len(digest) > at+9 {
		return digest[:at+9]
	}
	return digest
}

// maxDays is how many days ago can be said: a hundred years, so that the time has a year of four digits.
const maxDays = 36_525

// ParseTime reads RFC 3339, or how long ago it was: "2h", "3d".
func ParseTime(s string, now time.Time) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n <= maxDays {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	return time.Time{}, fmt.Errorf("%q is no time: write RFC 3339 (2026-11-29T12:00:00Z), or how long ago (2h, 3d)", s)
}
