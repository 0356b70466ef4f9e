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

// Show writes one thing with its timeline.
func (c Clock) Show(w io.Writer, doc control.Any) error {
	switch {
	case doc.Event != nil:
		return c.event(w, *doc.Event)
	case doc.Operation != nil:
		return c.operation(w, *doc.Operation)
	}
	return c.object(w, *doc.Object)
}

func started(o control.Operation) *time.Time {
	if len(o.Attempts) == 0 {
		return nil
	}
	return o.Attempts[0].StartedAt
}

func place(tenant, environment string) string { return tenant + ", " + environment }

func (c Clock) event(w io.Writer, e control.Event) error {
	rows := [][]string{
		{"event", e.ID},
		{"of", place(e.Tenant, e.Environment) + ", endpoint " + e.Endpoint + " (" + e.Provider + ")"},
		{"type", e.Type},
		{"object", orDash(e.Object)},
		{"version", e.ObjectVersion},
		{"received", c.Milli(&e.ReceivedAt)},
		{"deliveries", fmt.Sprintf("%d, last at %s", e.Deliveries, c.Milli(e.LastSeenAt))},
		{"state", state(e)},
	}
	add := func(name, value string) {
		if value != "" {
			rows = append(rows, []string{name, value})
		}
	}
	add("why", e.Reason)
	add("ended", c.Milli(e.EndedAt))
	add("due", c.Milli(e.DueAt))
	add("sender's id", e.EventID)
	add("delivery id", e.DeliveryID)
	add("body", fmt.Sprintf("%d bytes; see it with --body", e.BodyBytes))
	add("recipes", strings.Join(e.Recipes, ", "))
	for _, o := range e.Operations {
		add("operation", ShortOperation(o))
	}
	for _, x := range e.Conflicts {
		add("conflict", c.Milli(&x.At)+"  the same key with another fact, "+ShortDigest(x.Digest))
	}
	return Columns(w, "", rows)
}

func (c Clock) operation(w io.Writer, o control.Operation) error {
	rows := [][]string{
		{"operation", o.ID},
		{"of", place(o.Tenant, o.Environment)},
		{"version", o.ObjectVersion},
		{"state", o.State + ", fencing token " + fmt.Sprint(o.FencingToken)},
		{"cost", "$" + o.CostUSD.String()},
		{"events", fmt.Sprintf("%s (%s)", strings.Join(o.Events, ", "), Count(o.Deliveries, "delivery", "deliveries"))},
	}
	if o.Reason != "" {
		rows = append(rows, []string{"why", strings.TrimPrefix(o.Category+": ", ": ") + o.Reason})
	}
	if o.DueAt != nil {
		rows = append(rows, []string{"not before", c.Milli(o.DueAt)})
	}
	if o.Review != nil {
		rows = append(rows, []string{"waits", "for a person since " + c.Milli(o.Review.OpenedAt)})
	}
	if o.Decision != nil {
		rows = append(rows, []string{"decided", c.Milli(&o.Decision.At) + "  by " + o.Decision.By + "  " + o.Decision.Note})
	}
	if r := o.Result; r != nil {
		rows = append(rows, []string{"result", r.Recipe + ", version " + r.ObjectVersion + ", " + ShortDigest(r.Digest) + kept(r.OutputKept)})
	}
	if err := Columns(w, "", rows); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return c.timeline(w, c.attempts(o))
}

func kept(output bool) string {
	if output {
		return "; see it with --output"
	}
	return "; its output is not kept any more"
}

func (c Clock) object(w io.Writer, o control.Object) error {
	fmt.Fprintf(w, "%s   %s   %s of %s, %s, %s\n\n", o.ID, place(o.Tenant, o.Environment), Count(o.Deliveries, "delivery", "deliveries"),
		Count(len(o.Events), "event", "events"), Count(len(o.Operations), "operation", "operations"), Count(len(o.Results), "result", "results"))
	var all []moment
	for _, e := range o.Events {
		all = append(all, c.arrivals(e)...)
	}
	for _, op := range o.Operations {
		all = append(all, c.attempts(op)...)
	}
	for _, r := range o.Results {
		at := r.At
		all = append(all, moment{&at, []string{"result", r.Recipe, "version " + r.ObjectVersion, ShortDigest(r.Digest) + kept(r.OutputKept)}})
	}
	if err := c.timeline(w, all); err != nil {
		return err
	}
	if !o.Complete {
		fmt.Fprintf(w, "\n  not all events since %s were looked through; say --since\n", c.Second(&o.Since))
	}
	return nil
}

// A moment is one line of a timeline.
type moment struct {
	at    *time.Time
	cells []string
}

func (c Clock) timeline(w io.Writer, all []moment) error {
	slices.SortStableFunc(all, func(a, b moment) int {
		switch {
		case a.at == nil || b.at == nil:
			return 0
		}
		return cmp.Compare(a.at.UnixNano(), b.at.UnixNano())
	})
	rows := make([][]string, len(all))
	for i, m := range all {
		rows[i] = append([]string{c.Milli(m.at)}, m.cells...)
	}
	return Columns(w, "  ", rows)
}

func (c Clock) arrivals(e control.Event) []moment {
	first := moment{&e.ReceivedAt, []string{"event", e.ID, e.Type, state(e) + because(e.Reason)}}
	all := []moment{first}
	if e.Deliveries > 1 {
		all = append(all, moment{e.LastSeenAt, []string{"repeats", e.ID, e.Type, Count(e.Deliveries-1, "duplicate", "duplicates") + ", the last one here"}})
	}
	for _, x := range e.Conflicts {
		at := x.At
		all = append(all, moment{&at, []string{"conflict", e.ID, e.Type, "the same key with another fact"}})
	}
	return all
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

func (c Clock) attempts(o control.Operation) []moment {
	var all []moment
	for i, a := range o.Attempts {
		at := a.StartedAt
		if a.EndedAt != nil {
			at = a.EndedAt
		}
		all = append(all, moment{at, []string{fmt.Sprintf("attempt %d", i+1), ShortOperation(o.Recipe + "/" + strings.TrimPrefix(o.InputDigest, "sha256:")), fmt.Sprintf("token %d", a.FencingToken), Attempt(a)}})
	}
	return all
}

// Attempt says what came of a try, with what it used and cost.
func Attempt(a control.Attempt) string {
	if a.Outcome == "" {
		return "in work"
	}
	s := a.Outcome
	if a.Category != "" {
		s += " (" + a.Category + ")"
	}
	if a.Tokens != nil {
		s += ": " + Usage(a)
	}
	return s + because(a.Reason)
}

// Usage is what a call used and cost: "412 in, 96 out tokens, $0.000318".
func Usage(a control.Attempt) string {
	s := fmt.Sprintf("%d in, %d out tokens", a.Tokens.Input, a.Tokens.Output)
	if a.CostUSD != nil {
		s += ", $" + a.CostUSD.String()
	}
	return s
}
