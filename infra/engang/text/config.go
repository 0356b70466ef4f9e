package text

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"engang/shared/config"
	"engang/shared/control"
)

// Application writes what applying a configuration would change, or has changed.
func (c Clock) Application(w io.Writer, a control.Application) error {
	live := "nothing is live yet"
	if a.Revision > 0 {
		live = c.revision(a.Revision, a.AppliedAt, a.AppliedBy)
	}
	if _, err := fmt.Fprintf(w, "%s/%s: %s\n", a.Tenant, a.Environment, live); err != nil {
		return err
	}
	var rows [][]string
	for _, ch := range a.Changes {
		sign, version, note := "~", fmt.Sprintf("%d to %d", ch.From, ch.To), ""
		switch {
		case ch.From == 0:
			sign, version = "+", strconv.Itoa(ch.To)
		case ch.To == 0:
			sign, version = "-", strconv.Itoa(ch.From)
			if ch.Kind == config.KindEndpoint {
				note = "what is sent there is answered 404"
			}
		}
		rows = append(rows, []string{sign, ch.Kind, ch.Name, version, note})
	}
	if len(rows) > 0 {
		fmt.Fprintln(w)
	}
	var b strings.Builder
	if err := Columns(&b, "  ", rows); err != nil {
		return err
	}
	for i, line := range strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n") {
		if line == "" {
			continue
		}
		fmt.Fprintln(w, line)
		if err := fields(w, a.Changes[i]); err != nil {
			return err
		}
	}
	return nil
}

func (c Clock) revision(n int, at *time.Time, by string) string {
	text := fmt.Sprintf("revision %d is live", n)
	if at != nil {
		text += ", applied " + c.Second(at)
	}
	if by != "" {
		text += " by " + by
	}
	return text
}

// fields writes what differs within a part.
func fields(w io.Writer, ch config.Change) error {
	var rows [][]string
	for _, f := range ch.Fields {
		if ch.Kind != config.KindRecipe || f.At != "/version" { // said in the line above
			from, to := apart(value(f.From), value(f.To))
			rows = append(rows, []string{f.At, short(from) + " -> " + short(to)})
		}
	}
	if len(rows) == 0 && ch.From > 0 && ch.To > 0 && ch.From != ch.To {
		rows = append(rows, []string{"the order of its keys"})
	}
	return Columns(w, "      ", rows)
}

// value is a JSON value on one line.
func value(raw json.RawMessage) string {
	text := string(raw)
	if text == "null" {
		return "(none)"
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		text = strconv.Quote(s)
	}
	return text
}

// maxValue is how much of a value is shown, and of what is before a difference.
const (
	maxValue  = 60
	maxBefore = 12
)

// apart leaves out what two long texts have in common before they differ.
func apart(a, b string) (string, string) {
	x, y := []rune(a), []rune(b)
	n := 0
	for n < min(len(x), len(y)) && x[n] == y[n] {
		n++
	}
	if max(len(x), len(y)) <= maxValue || n <= 2*maxBefore {
		return a, b
	}
	return "…" + string(x[n-maxBefore:]), "…" + string(y[n-maxBefore:])
}

// short cuts a long text.
func short(text string) string {
	if utf8.RuneCountInString(text) > maxValue {
		return string([]rune(text)[:maxValue]) + "…"
	}
	return text
}

// Config writes what is live, by version.
func (c Clock) Config(w io.Writer, doc control.Config) error {
	fmt.Fprintf(w, "%s/%s: %s\n\n", doc.Tenant, doc.Environment, c.revision(doc.Revision, doc.AppliedAt, doc.AppliedBy))
	rows := [][]string{{"KIND", "NAME", "VERSION", "WHAT"}}
	rows = append(rows, []string{"common", "", strconv.Itoa(doc.Common.Version), fmt.Sprintf("events %s, results %s", Count(doc.Common.EventDays, "day", "days"), Count(doc.Common.ResultDays, "day", "days"))})
	for _, name := range slices.Sorted(maps.Keys(doc.Common.Providers)) {
		p := doc.Common.Providers[name]
		rows = append(rows, []string{"provider", name, "", strings.TrimSpace(fmt.Sprintf("%s  %s", Count(len(p.Prices), "price", "prices"), p.BaseURL))})
	}
	for _, name := range slices.Sorted(maps.Keys(doc.Common.Targets)) {
		target := doc.Common.Targets[name]
		rows = append(rows, []string{"target", name, "", target.Kind + ", " + target.BaseURL})
	}
	for _, e := range doc.Endpoints {
		rows = append(rows, []string{"endpoint", e.Name, strconv.Itoa(e.Version), e.Provider + ", " + Count(len(e.Secrets), "secret", "secrets")})
		for _, event := range slices.Sorted(maps.Keys(e.Events)) {
			rows = append(rows, []string{"", "  " + event, "", doing(e.Events[event])})
		}
	}
	for _, r := range doc.Recipes {
		rows = append(rows, []string{"recipe", r.Name, strconv.Itoa(r.Version), fmt.Sprintf("%s, policy %s", r.Model.Name, r.Policy)})
	}
	return Columns(w, "  ", rows)
}

// doing is what is done with events of a type.
func doing(rule control.EventRule) string {
	switch {
	case rule.Ignore:
		return "ignored"
	case len(rule.Recipes) == 0:
		return "kept, no recipe"
	}
	return strings.Join(rule.Recipes, ", ")
}
