package object

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ErrNoVersion says that a text is no version: neither a time nor a whole number.
var ErrNoVersion = errors.New("no usable object version")

// A Version says how new one state of an object is, as text of fixed width: a time in UTC with nine
// decimals, or a whole number with twenty digits. One object's versions are of one kind.
type Version string

const versionTime = "2006-01-02T15:04:05.000000000Z"

// VersionAt is the version of an object that was changed at t. It fails outside the years 1 to 9999,
// where the text would lose its fixed width.
func VersionAt(t time.Time) (Version, error) {
	if u := t.UTC(); u.Year() >= 1 && u.Year() <= 9999 {
		return Version(u.Format(versionTime)), nil
	}
	return "", fmt.Errorf("a time outside the years 1 to 9999: %w", ErrNoVersion)
}

// ParseVersion reads a version as senders write it: RFC 3339, the same without a zone (then UTC, as
// WooCommerce's date_modified_gmt), or a whole number below 2⁶⁴.
func ParseVersion(text string) (Version, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999"} {
		if t, err := time.Parse(layout, text); err == nil {
			return VersionAt(t)
		}
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return Version(fmt.Sprintf("%020d", n)), nil
	}
	return "", fmt.Errorf("neither a time nor a whole number: %w", ErrNoVersion)
}

// String is the version as people write it: a time without idle decimals, a number without idle zeros.
func (v Version) String() string {
	if t, err := time.Parse(versionTime, string(v)); err == nil {
		return t.Format(time.RFC3339Nano)
	}
	if n, err := strconv.ParseUint(string(v), 10, 64); err == nil {
		return strconv.FormatUint(n, 10)
	}
	return string(v)
}

// A Rank decides what is newer: of two ranks of one object the greater text is. It is made once, by
// the receiver, and stored with the event, so that the answer never depends on who finishes first.
//
// Its parts are the object's version, the time in milliseconds at which the event was first stored,
// and a hash of the event key, which breaks a tie of milliseconds the same way every time.
type Rank string

// NewRank makes the rank of an event. Without a version of the object the caller gives that of the time
// it was received.
func NewRank(v Version, received time.Time, eventKey string) Rank {
	sum := sha256.Sum256([]byte(eventKey))
	return Rank(fmt.Sprintf("%s#%013d#%s", string(v), received.UnixMilli(), hex.EncodeToString(sum[:8])))
}

// Version is the object version inside the rank.
func (r Rank) Version() Version {
	v, _, _ := strings.Cut(string(r), "#")
	return Version(v)
}

// ReceivedAt is when the event was first stored; the zero time where the rank does not say so.
func (r Rank) ReceivedAt() time.Time {
	_, rest, _ := strings.Cut(string(r), "#")
	ms, _, _ := strings.Cut(rest, "#")
	n, err := strconv.ParseInt(ms, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(n).UTC()
}

// Newer tells whether r is of a newer version than other. Every rank is newer than the zero Rank.
func (r Rank) Newer(other Rank) bool { return r > other }
