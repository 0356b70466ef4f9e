package text

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"engang/shared/control"
)

// A moment is one line of a timeline.
type moment struct {
	at    *time.Time // nil where nobody knows
	place int64      // in milliseconds, also of one whose time is not known
	cells []string
}

// timeline writes lines in the order in which they happened. Those of one millisecond, which is what is
// shown and what most times are stored to, stay in the order in which they are given: what follows from
// something behind it.
func (c Clock) timeline(w io.Writer, all []moment) error {
	slices.SortStableFunc(all, func(a, b moment) int { return cmp.Compare(a.place, b.place) })
	rows := make([][]string, len(all))
	for i, m := range all {
		rows[i] = append([]string{c.Milli(m.at)}, m.cells...)
	}
	return Columns(w, "  ", rows)
}

// happened is a line of a time that is known.
func happened(at *time.Time, cells ...string) moment {
	return moment{at, milliseconds(at), cells}
}

func milliseconds(at *time.Time) int64 {
	if at == nil {
		return 0
	}
	return at.UnixMilli()
}

func arrivals(e control.Event) []moment {
	became, repeats := state(e)+because(e.Reason), e.Deliveries-1
	if e.CaughtUp { // nobody had delivered it
		became, repeats = "fetched from its source; "+became, e.Deliveries
	}
	all := []moment{happened(&e.ReceivedAt, "event", e.ID, e.Type, became)}
	if repeats > 0 {
		all = append(all, happened(e.LastSeenAt, "repeats", e.ID, e.Type, Count(repeats, "duplicate", "duplicates")+", the last one here"))
	}
	if e.ErasedAt != nil {
		all = append(all, happened(e.ErasedAt, "erased", e.ID, e.Type, "what it said is gone; a repeat stays a repeat"))
	}
	for _, x := range e.Conflicts {
		all = append(all, happened(&x.At, "conflict", e.ID, e.Type, "the same key with another fact"))
	}
	return all
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// attempts are the tries in their order. One that nobody saw begin stands right before the one behind it,
// the last one right after the one before.
func attempts(o control.Operation) []moment {
	all := make([]moment, len(o.Attempts))
	for i, a := range o.Attempts {
		at := a.StartedAt
		if a.EndedAt != nil {
			at = a.EndedAt
		}
		name := ShortOperation(o.Recipe + "/" + strings.TrimPrefix(o.InputDigest, "sha256:"))
		all[i] = happened(at, fmt.Sprintf("attempt %d", i+1), name, fmt.Sprintf("token %d", a.FencingToken), Attempt(a)+rest(o.Attempts[i:]))
	}
	for i := len(all) - 2; i >= 0; i-- {
		all[i].place = cmp.Or(all[i].place, all[i+1].place)
	}
	for i := 1; i < len(all); i++ {
		all[i].place = cmp.Or(all[i].place, all[i-1].place)
	}
	return all
}

// decided are what persons decided about an operation, as it stands; what they did before a redrive is in the audit log.
func decided(o control.Operation) []moment {
	word := map[string]string{"completed": "approved", "rejected": "rejected", "failed": "cancelled"}[o.State]
	var all []moment
	for what, d := range map[string]*control.Decision{cmp.Or(word, "decided"): o.Decision, "dismissed": o.Dismissed} {
		if d != nil {
			all = append(all, happened(&d.At, what, ShortOperation(o.Recipe+"/"+strings.TrimPrefix(o.InputDigest, "sha256:")), "by "+d.By, d.Note))
		}
	}
	return all
}

// rest says how long nothing was tried behind an attempt: our own backoff with its bound, or what the provider asked
// for. Where no backoff was recorded, a person or the end of a lease let the next one begin.
func rest(attempts []control.Attempt) string {
	a := attempts[0]
	if a.BackoffMS > 0 {
		asked := ""
		if a.RetryAfterMS > 0 {
			asked = "; the provider asked for " + millis(a.RetryAfterMS)
		}
		return "; then a wait of " + millis(a.BackoffMS) + " (random below " + millis(a.BackoffMaxMS) + asked + ")"
	}
	if len(attempts) < 2 || a.EndedAt == nil || attempts[1].StartedAt == nil {
		return ""
	}
	wait := attempts[1].StartedAt.Sub(*a.EndedAt)
	if wait < time.Millisecond {
		return ""
	}
	return "; the next one " + Duration(wait) + " later"
}

func millis(n int64) string { return Duration(time.Duration(n) * time.Millisecond) }

// Attempt says what came of a try, with what it used and cost.
func Attempt(a control.Attempt) string {
	if a.Outcome == "" {
		return "in work"
	}
	s := a.Outcome
	if a.Category != "" && !strings.Contains(a.Category, a.Outcome) { // "transient" is said once
		s += " (" + a.Category + ")"
	}
	if a.Tokens != nil {
		s += ": " + Usage(a)
	}
	return s + because(a.Reason) + spent(a)
}

// spent says what is not to be seen from tokens: that a call was not paid for, or that nobody knows.
func spent(a control.Attempt) string {
	switch {
	case a.Tokens != nil:
		return ""
	case a.CostUSD == nil && a.Called == nil:
		return "; whether it called is not known"
	case a.CostUSD == nil:
		return "; what it cost is not known"
	case a.Called != nil && *a.Called:
		return "; not paid for"
	}
	return "; no call"
}

// Usage is what a call used and cost: "412 in, 96 out tokens, $0.000318".
func Usage(a control.Attempt) string {
	s := fmt.Sprintf("%d in, %d out tokens", a.Tokens.Input, a.Tokens.Output)
	if a.CostUSD != nil {
		s += ", $" + a.CostUSD.String()
	}
	return s
}
