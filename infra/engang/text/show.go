package text

import (
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
	if e.ErasedAt != nil {
		add("erased", c.Milli(e.ErasedAt)+"; what it said is gone, a repeat of it stays a repeat")
	} else {
		add("body", fmt.Sprintf("%d bytes; see it with --body", e.BodyBytes))
	}
	add("recipes", strings.Join(e.Recipes, ", "))
	for _, o := range e.Operations {
		add("operation", strings.TrimSpace(ShortOperation(o)+"  "+stands(e.Now, o)))
	}
	rows = append(rows, c.decisions("dismissed", e.Dismissed)...)
	for _, x := range e.Conflicts {
		add("conflict", c.Milli(&x.At)+"  the same key with another fact, "+ShortDigest(x.Digest))
		rows = append(rows, c.decisions("dismissed", x.Dismissed)...)
	}
	return Columns(w, "", rows)
}

// stands says where an operation stands now; nothing where it is not known.
func stands(all []control.Standing, operation string) string {
	i := slices.IndexFunc(all, func(s control.Standing) bool { return s.Operation == operation })
	if i < 0 {
		return ""
	}
	if d := all[i].Decision; d != nil {
		return all[i].State + ", decided by " + d.By
	}
	return all[i].State
}

func (c Clock) operation(w io.Writer, o control.Operation) error {
	rows := [][]string{
		{"operation", o.ID},
		{"of", place(o.Tenant, o.Environment)},
		{"version", o.ObjectVersion},
		{"state", o.State + ", fencing token " + fmt.Sprint(o.FencingToken)},
		{"cost", cost(o) + unknown(o)},
		{"events", fmt.Sprintf("%s (%s)", strings.Join(o.Events, ", "), Count(o.Deliveries, "delivery", "deliveries"))},
	}
	if o.Reason != "" {
		rows = append(rows, []string{"why", strings.TrimPrefix(o.Category+": ", ": ") + o.Reason})
	}
	if o.DueAt != nil {
		rows = append(rows, []string{"not before", c.Milli(o.DueAt)})
	}
	if o.Review != nil {
		rows = append(rows, []string{"waits", "for a person since " + c.Milli(o.Review.OpenedAt) + owned(o.Review.Owner)})
		if o.Review.Digest != "" {
			rows = append(rows, []string{"draft", o.Review.Digest + "; see it with --output"})
		}
	}
	rows = append(rows, c.decisions("decided", o.Decision)...)
	rows = append(rows, c.decisions("dismissed", o.Dismissed)...)
	if r := o.Result; r != nil {
		rows = append(rows, []string{"result", r.Recipe + ", version " + r.ObjectVersion + ", " + ShortDigest(r.Digest) + kept(r.OutputKept)})
	}
	if err := Columns(w, "", rows); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return c.timeline(w, slices.Concat(attempts(o), decided(o)))
}

// unknown says why a cost is a lower bound.
func unknown(o control.Operation) string {
	n := 0
	for _, a := range o.Attempts {
		if a.CostUSD == nil {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return "; what " + Count(n, "attempt", "attempts") + " cost is not known"
}

func kept(output bool) string {
	if output {
		return "; see it with --output"
	}
	return "; its output is not kept any more"
}

func (c Clock) object(w io.Writer, o control.Object) error {
	fmt.Fprintf(w, "%s   %s   %s of %s, %s, %s\n\n", Line(o.ID), Line(place(o.Tenant, o.Environment)), Count(o.Deliveries, "delivery", "deliveries"),
		Count(len(o.Events), "event", "events"), Count(len(o.Operations), "operation", "operations"), Count(len(o.Results), "result", "results"))
	var all []moment
	for _, e := range o.Events {
		all = append(all, arrivals(e)...)
	}
	for _, op := range o.Operations {
		all = append(all, slices.Concat(attempts(op), decided(op))...)
	}
	for _, r := range o.Results {
		all = append(all, happened(&r.At, "result", r.Recipe, "version "+r.ObjectVersion, ShortDigest(r.Digest)+kept(r.OutputKept)))
	}
	if err := c.timeline(w, all); err != nil {
		return err
	}
	if !o.Complete {
		fmt.Fprintf(w, "\n  not all events since %s were looked through; say --since\n", c.Second(&o.Since))
	}
	return nil
}
