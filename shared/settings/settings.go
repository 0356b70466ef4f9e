// Package settings reads a function's settings from its environment into a typed struct, and reports
// every fault at once instead of the first.
//
//	r := settings.FromEnv()
//	s := Settings{Table: r.TableName("TABLE_NAME"), MaxBody: r.Int("MAX_BODY_BYTES", 1<<20, 4<<20)}
//	return s, r.Err()
//
// A variable that is set to nothing counts as not set: that is what an empty template parameter gives.
package settings

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strconv"
	"time"
)

// A Reader reads settings and collects their faults. It is not safe for concurrent use.
type Reader struct {
	lookup func(string) (string, bool)
	faults []error
}

// FromEnv reads from the environment of the process.
func FromEnv() *Reader { return New(os.LookupEnv) }

// New reads through lookup, which has the meaning of [os.LookupEnv].
func New(lookup func(string) (string, bool)) *Reader { return &Reader{lookup: lookup} }

// Err joins all faults met so far; nil when there were none. No fault repeats a value.
func (r *Reader) Err() error { return errors.Join(r.faults...) }

// Text reads a setting that must be there.
func (r *Reader) Text(name string) string {
	v, ok := r.value(name)
	if !ok {
		r.fault(name, "is not set")
	}
	return v
}

// TextOr reads a setting that may be missing.
func (r *Reader) TextOr(name, fallback string) string {
	if v, ok := r.value(name); ok {
		return v
	}
	return fallback
}

// URL reads an absolute http or https address that must be there.
func (r *Reader) URL(name string) string {
	v := r.Text(name)
	if v == "" {
		return ""
	}
	if u, err := url.Parse(v); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		r.fault(name, "is not an http or https address")
	}
	return v
}

// Int reads a whole number from 1 to most that may be missing.
func (r *Reader) Int(name string, fallback, most int) int {
	v, ok := r.value(name)
	if !ok {
		return fallback
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > most {
		r.fault(name, fmt.Sprintf("is not a whole number from 1 to %d", most))
		return fallback
	}
	return n
}

// Seconds reads a duration in whole seconds, from 1 second to a day, that may be missing.
func (r *Reader) Seconds(name string, fallback time.Duration) time.Duration {
	const day = 24 * 60 * 60
	return time.Duration(r.Int(name, int(fallback/time.Second), day)) * time.Second
}

// Level reads a log level (DEBUG, INFO, WARN, ERROR) that may be missing: then INFO.
func (r *Reader) Level(name string) slog.Level {
	var level slog.Level
	if v, ok := r.value(name); ok && level.UnmarshalText([]byte(v)) != nil {
		r.fault(name, "is not a log level: DEBUG, INFO, WARN or ERROR")
	}
	return level
}

func (r *Reader) value(name string) (string, bool) {
	v, _ := r.lookup(name)
	return v, v != ""
}

func (r *Reader) fault(name, what string) {
	r.faults = append(r.faults, fmt.Errorf("setting %s %s", name, what))
}
