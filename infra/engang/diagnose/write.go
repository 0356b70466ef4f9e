package diagnose

import (
	"fmt"
	"io"
	"strings"
	"time"

	"engang/infra/engang/text"
)

// Write writes a report for people.
func (r Report) Write(w io.Writer, clock text.Clock) error {
	name := r.Endpoint
	if name != "" {
		name += ": "
	}
	if _, err := fmt.Fprintf(w, "%s%s, %s, %s\n", name, r.Title, r.Signs, text.Count(r.Secrets, "active secret", "active secrets")); err != nil {
		return err
	}
	rows := [][2]string{{"timestamp", r.Timestamp.words(clock)}, {"signature", r.Signature}}
	if e := r.Event; e != nil {
		rows = append(rows, [2]string{"event", e.words()})
	}
	for i, f := range r.Found {
		rows = append(rows, [2]string{first(i, "found"), f.Text})
	}
	if r.Sound {
		rows = append(rows, [2]string{"found", "nothing: it is sound"})
	}
	for i, line := range lines(r.NotIt, 100) {
		rows = append(rows, [2]string{first(i, "not it"), line})
	}
	for i, d := range r.Do {
		rows = append(rows, [2]string{first(i, "do"), d})
	}
	for _, row := range rows {
		if _, err := fmt.Fprintf(w, "  %-10s  %s\n", row[0], row[1]); err != nil {
			return err
		}
	}
	return nil
}

// first is a label on the first of its lines.
func first(i int, label string) string {
	if i > 0 {
		return ""
	}
	return label
}

// lines joins texts by commas, so many characters on a line.
func lines(all []string, width int) []string {
	var out []string
	line := ""
	for i, t := range all {
		if i < len(all)-1 {
			t += ","
		}
		if line != "" && len(line)+1+len(t) > width {
			out = append(out, line)
			line = ""
		}
		line = strings.TrimPrefix(line+" "+t, " ")
	}
	if line != "" {
		out = append(out, line)
	}
	return out
}

func (t Timestamp) words(clock text.Clock) string {
	switch {
	case t.WindowSeconds == 0:
		return "the provider signs none; nothing to check"
	case t.Unit != "":
		return t.Unit
	case t.SignedAt == nil:
		return "cannot be read"
	}
	skew, side := time.Duration(*t.SkewSeconds)*time.Second, "before"
	if skew < 0 {
		skew, side = -skew, "after"
	}
	proof := ""
	if !t.Proved {
		proof = "; nothing proves it"
	}
	return fmt.Sprintf("%s, %s %s the arrival; allowed are %s%s", clock.Second(t.SignedAt), seconds(skew), side, seconds(time.Duration(t.WindowSeconds)*time.Second), proof)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%d s", int64(d/time.Second)) }

func (e Event) words() string {
	about := e.Type
	switch {
	case e.Type == "ping":
		return "a ping, which is answered and not stored"
	case e.Events > 0:
		return text.Count(e.Events, "event", "events") + " in one delivery"
	case e.Object != "":
		about += ", " + e.Object
	case e.Ignored:
		about += ": the endpoint counts it and does nothing"
	case e.Enabled != nil && !*e.Enabled:
		about += ": not enabled at the endpoint, which ignores it"
	}
	return about
}
