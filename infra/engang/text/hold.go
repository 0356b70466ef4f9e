package text

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"engang/shared/control"
)

// Cancellation says what was cancelled.
func (c Clock) Cancellation(w io.Writer, doc control.Cancellation) error {
	event := strings.HasPrefix(doc.ID, "evt_")
	lines := []string{}
	switch {
	case doc.Already:
		lines = append(lines, Line(doc.ID)+" was cancelled already; nothing was left to do")
		if d := doc.Decision; d != nil {
			lines = append(lines, fmt.Sprintf("  by %s at %s: %s", Line(d.By), c.Second(&d.At), Line(d.Note)))
		}
	case event:
		lines = append(lines, fmt.Sprintf("%s is cancelled; it was %s", Line(doc.ID), doc.Was))
		for _, o := range doc.Operations {
			lines = append(lines, "  with it "+Line(ShortOperation(o)))
		}
	default:
		lines = append(lines, fmt.Sprintf("%s is cancelled; it was %s", Line(ShortOperation(doc.ID)), doc.Was))
	}
	if !doc.Already {
		if doc.Was == "running" || event && len(doc.Operations) > 0 {
			lines = append(lines, "  Whoever works on it writes nothing more; a call that was begun may still be paid for, and is recorded.")
		}
		if !event && doc.Was != "review" {
			lines = append(lines, "  The event that waits for it settles as cancelled when a worker meets it.")
		}
		lines = append(lines, "  Later deliveries of it stay duplicates.")
	}
	return writeLines(w, lines)
}

// Holds writes what is held.
func (c Clock) Holds(w io.Writer, list []control.Hold) error {
	rows := [][]string{{"what", "since", "until", "by", "open events", "why"}}
	for _, h := range list {
		until, by := c.Second(h.Until), h.By
		switch {
		case h.Kind == "breaker":
			until, by = "tried at "+until, "breaker"
		case h.Until == nil:
			until = "resumed"
		}
		rows = append(rows, []string{target(h.What, h.Name), c.Second(h.At), until, by, atLeast(h.Held), h.Reason})
	}
	return Columns(w, "", rows)
}

func target(what, name string) string { return strings.TrimSpace(what + " " + name) }

// atLeast is how many events are held, as far as was looked.
func atLeast(h control.Held) string { return "at least " + strconv.Itoa(h.EventsAtLeast) }

// held says how many events a hold concerns, and how far was looked.
func (c Clock) held(h control.Held) string {
	far := "received since " + c.Second(&h.LookedSince)
	if !h.Complete {
		far = "among the newest; there are more than one look reads"
	}
	return fmt.Sprintf("at least %s %s", Count(h.EventsAtLeast, "open event", "open events"), far)
}

// Hold says what was paused, and what that holds.
func (c Clock) Hold(w io.Writer, h control.Hold) error {
	until := "until it is resumed"
	if h.Until != nil {
		until = "until " + c.Second(h.Until)
	}
	lines := []string{fmt.Sprintf("%s: %s is paused %s", place(h.Tenant, h.Environment), Line(target(h.What, h.Name)), until)}
	if r := h.Replaced; r != nil {
		was := "that had no end"
		if r.Until != nil {
			was = "that ended at " + c.Second(r.Until)
		}
		lines = append(lines, fmt.Sprintf("  in place of the pause by %s since %s %s: %s", Line(r.By), c.Second(r.At), was, Line(r.Reason)))
	}
	lines = append(lines,
		"  held: "+c.held(h.Held),
		"  In force everywhere within seconds. No attempt is counted and nothing is lost; a call that was begun is finished.")
	if h.What == "endpoint" || h.What == "everything" {
		lines = append(lines, "  Deliveries are still stored and answered 200.")
	}
	return writeLines(w, lines)
}

// Resumption says what goes on, and what is held all the same.
func (c Clock) Resumption(w io.Writer, doc control.Resumption) error {
	name := Line(target(doc.What, doc.Name))
	lines := []string{fmt.Sprintf("%s: %s was not held; nothing was left to do", place(doc.Tenant, doc.Environment), name)}
	if len(doc.Resumed) > 0 {
		lines = []string{fmt.Sprintf("%s: %s goes on", place(doc.Tenant, doc.Environment), name)}
	}
	for _, h := range doc.Resumed {
		was := "the pause by " + Line(h.By)
		if h.Kind == "breaker" {
			was = "the breaker"
		}
		lines = append(lines, fmt.Sprintf("  %s since %s is over; it held %s", was, c.Second(h.At), c.held(h.Held)))
	}
	if len(doc.Resumed) > 0 {
		lines = append(lines, fmt.Sprintf("  What was held is due again within %s, and is sent within a minute of that, at the reconciler's rate.", minutes(doc.DueWithinS)))
	}
	for _, h := range doc.Remaining {
		lines = append(lines, fmt.Sprintf("  held all the same: %s, %s", Line(target(h.What, h.Name)), c.held(h.Held)))
	}
	return writeLines(w, lines)
}

func minutes(seconds int) string {
	if seconds%60 == 0 {
		return Count(seconds/60, "minute", "minutes")
	}
	return Count(seconds, "second", "seconds")
}

func writeLines(w io.Writer, lines []string) error {
	_, err := fmt.Fprintln(w, strings.Join(lines, "\n"))
	return err
}

// ParseEnd reads when something ends: RFC 3339, or how long from now on: "2h", "3d".
func ParseEnd(s string, now time.Time) (time.Time, error) {
	end, err := time.Parse(time.RFC3339, s)
	if err != nil {
		before, bad := ParseTime(s, now)
		if bad != nil {
			return time.Time{}, fmt.Errorf("%q is no time: write RFC 3339 (2026-11-29T12:00:00Z), or how long from now on (2h, 3d)", s)
		}
		end = now.Add(now.Sub(before))
	}
	if !end.After(now) {
		return time.Time{}, fmt.Errorf("%q is over already", s)
	}
	return end, nil
}
