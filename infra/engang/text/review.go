package text

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"engang/shared/control"
)

// Review writes what waits for a person, with a head line if asked.
func (c Clock) Review(w io.Writer, list []control.Waiting, head bool) error {
	var rows [][]string
	if head {
		rows = append(rows, []string{"age", "kind", "id", "object", "owner", "reason"})
	}
	for _, x := range list {
		rows = append(rows, []string{Age(time.Duration(x.AgeS) * time.Second), x.Kind, ShortOperation(x.ID), orDash(x.Object), orDash(x.Owner), strings.TrimPrefix(x.Category+": ", ": ") + x.Reason})
	}
	return Columns(w, "", rows)
}

// Age is how long something has waited, in the largest whole unit: "12 min", "3 h", "2 d".
func Age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return strconv.Itoa(int(d/time.Second)) + " s"
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + " min"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + " h"
	}
	return strconv.Itoa(int(d/(24*time.Hour))) + " d"
}

// Draft writes what a decision is about: the target, the digest and why it waits. The content comes behind it.
func (c Clock) Draft(w io.Writer, o control.Operation) error {
	rows := [][]string{
		{"draft", o.ID},
		{"of", place(o.Tenant, o.Environment)},
		{"target", fmt.Sprintf("the result of %s under %s", o.Object, o.Recipe)},
		{"version", o.ObjectVersion},
		{"waits", "since " + c.Second(o.Review.OpenedAt) + owned(o.Review.Owner)},
		{"why", strings.Join(o.Review.Reasons, "; ")},
		{"digest", o.Review.Digest},
	}
	return Columns(w, "", rows)
}

// Failure writes what a dismissal is about.
func (c Clock) Failure(w io.Writer, o control.Operation) error {
	rows := [][]string{
		{"failed", o.ID},
		{"of", place(o.Tenant, o.Environment)},
		{"version", o.ObjectVersion},
		{"waits", "since " + c.Second(o.Review.OpenedAt) + owned(o.Review.Owner)},
		{"why", strings.Join(o.Review.Reasons, "; ")},
		{"attempts", strconv.Itoa(len(o.Attempts))},
	}
	return Columns(w, "", rows)
}

func owned(owner string) string {
	if owner == "" {
		return ""
	}
	return ", for " + owner
}

// Decided writes what a decision came to.
func (c Clock) Decided(w io.Writer, d control.Decided) error {
	line := d.Decision + " " + ShortOperation(d.ID)
	switch {
	case d.Already:
		line = fmt.Sprintf("%s already, by %s at %s", line, d.By, c.Second(&d.At))
		if d.Note != "" {
			line += ": " + d.Note
		}
	case d.Decision == "approved":
		line += fmt.Sprintf(": %s is the result of version %s", ShortDigest(d.Digest), d.ObjectVersion)
	case d.Decision == "rejected":
		line += ": the same content coming again makes no call; redrive it by name for another output"
	}
	_, err := fmt.Fprintln(w, Line(line))
	return err
}

// decisions is the row of a decision, if there is one.
func (c Clock) decisions(name string, d *control.Decision) [][]string {
	if d == nil {
		return nil
	}
	return [][]string{{name, strings.TrimSpace(c.Milli(&d.At) + "  by " + d.By + "  " + d.Note)}}
}
