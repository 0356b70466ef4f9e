package text

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"engang/shared/control"
	"engang/shared/operation"
)

// standings are the words for how a letter stands to what it tells of.
var standings = map[string]string{
	control.LetterFailed: "still failed", control.LetterParked: "still parked", control.LetterRedriven: "redriven since", control.LetterDismissed: "dismissed",
	control.LetterCancelled: "cancelled since", control.LetterGone: "not kept any more", control.LetterNative: "set aside by the queue", control.LetterForeign: "not ours",
}

// Letters writes dead letters with what became of what they tell of.
func (c Clock) Letters(w io.Writer, list []control.Letter) error {
	rows := [][]string{{"sent", "letter", "about", "now", "attempts", "category", "reason"}}
	for _, l := range list {
		about := ShortOperation(l.Operation)
		if about == "" {
			about = orDash(l.Event)
		}
		rows = append(rows, []string{c.Second(l.SentAt), standings[l.Standing], about, orDash(l.State), strconv.Itoa(l.Attempts), orDash(l.Category), why(l)})
	}
	return Columns(w, "", rows)
}

// why is a letter's reason, or what there is to say in its place.
func why(l control.Letter) string {
	switch {
	case l.Reason != "":
		return l.Reason
	case l.Standing == control.LetterForeign:
		return fmt.Sprintf("%d bytes that engang did not write", l.Bytes)
	case l.Standing == control.LetterNative && l.Attempts == 0:
		return "received too often; no worker ever began"
	case l.Standing == control.LetterNative:
		return "received too often; the event " + l.Event + " tells the rest"
	}
	return "-"
}

// LetterCount says how many letters there are, by how they stand.
func LetterCount(list []control.Letter) string {
	var parts []string
	for _, standing := range []string{
		control.LetterFailed, control.LetterParked, control.LetterRedriven, control.LetterDismissed, control.LetterCancelled, control.LetterGone, control.LetterNative, control.LetterForeign,
	} {
		n := 0
		for _, l := range list {
			if l.Standing == standing {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, standings[standing]))
		}
	}
	return Count(len(list), "letter", "letters") + ": " + strings.Join(parts, ", ")
}

// Tidied says what became of the letters of the dead-letter queue.
func Tidied(t control.Tidied) string {
	if t.Letters == 0 {
		return "no letters: nothing to do"
	}
	return fmt.Sprintf("%s: %d sent again, %d deleted, %d left", Count(t.Letters, "letter", "letters"), t.Sent, t.Deleted-t.Sent, t.Left)
}

// What came of redriving one thing.
const (
	Redriven        = "redriven"
	WouldBeRedriven = "would be redriven"
	Refused         = "refused"
)

// A Redrive is what came of one thing that was to be redriven.
type Redrive struct {
	ID       string   `json:"id"`
	Outcome  string   `json:"outcome"`       // "redriven", "would be redriven" or "refused"
	Was      string   `json:"was,omitempty"` // its state before
	Category string   `json:"category,omitempty"`
	Reason   string   `json:"reason,omitempty"` // why it was set aside
	Events   []string `json:"events"`           // that are open again
	Sent     bool     `json:"sent"`             // to the work queue; else the reconciler sends them
	Detail   string   `json:"detail,omitempty"` // why it was refused

	Former []control.Former `json:"former,omitempty"` // recipes that it runs under and that are not live
}

// Redrives writes what came of each thing that was to be redriven.
func Redrives(w io.Writer, list []Redrive) error {
	rows := make([][]string, len(list))
	for i, r := range list {
		note := r.Detail
		switch {
		case r.Outcome == Redriven && !r.Sent:
			note = "open, and sent by the reconciler"
		case r.Outcome == WouldBeRedriven:
			note = strings.TrimPrefix(r.Category+": ", ": ") + r.Reason
		}
		rows[i] = []string{r.Outcome, ShortOperation(r.ID)}
		if r.Outcome == Redriven {
			rows[i] = append(rows[i], "was "+r.Was, strings.Join(r.Events, ", "), note)
		} else {
			rows[i] = append(rows[i], r.Was, note)
		}
	}
	return Columns(w, "", rows)
}

// FormerRecipes says under what things are redriven that is not live, once for each recipe.
func FormerRecipes(list []Redrive) (lines []string) {
	for _, r := range list {
		for _, f := range r.Former {
			line := fmt.Sprintf("done under %s, which is not live: what %s corrects does not help it", f.Recipe, f.Live)
			if f.Live == "" {
				line = fmt.Sprintf("done under %s, and no version of that recipe is live", f.Recipe)
			}
			if line = Line(line); !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// Replayed says in a sentence what became of the events of a replay, or would.
func Replayed(r control.Replayed) string {
	parts := []string{fmt.Sprintf("%d finished, nothing to do", r.Finished)}
	add := func(n int, one, many string) {
		if n > 0 {
			parts = append(parts, Count(n, one, many))
		}
	}
	if r.DryRun {
		add(r.WouldRun, "would run for the first time", "would run for the first time")
	} else {
		add(r.WouldRun, "runs for the first time"+unsent(r), "run for the first time"+unsent(r))
	}
	add(r.Running, "is being worked on", "are being worked on")
	add(r.Waiting, "waits for a person", "wait for a person")
	add(r.Dismissed, "was dismissed and is not done", "were dismissed and are not done")
	add(r.Unreadable, "cannot run, its body cannot be read any more", "cannot run, their bodies cannot be read any more")
	return Count(r.Events, "event", "events") + ": " + strings.Join(parts, "; ") + "."
}

func unsent(r control.Replayed) string {
	if n := r.WouldRun - r.Sent; n > 0 {
		return fmt.Sprintf(" (%d not sent, the reconciler sends them)", n)
	}
	return ""
}

// ReplayCost says what a replay costs at most.
func ReplayCost(r control.Replayed) string {
	return fmt.Sprintf("Model calls: %d, at most %s. Effects: %d.", r.Calls, Dollars(r.CostUSD), r.Effects)
}

// Dollars is an amount with as many decimals as it needs, two at least.
func Dollars(m operation.Money) string {
	text := m.String()
	end := strings.IndexByte(text, '.') + 3
	for len(text) > end && text[len(text)-1] == '0' {
		text = text[:len(text)-1]
	}
	return "$" + text
}
