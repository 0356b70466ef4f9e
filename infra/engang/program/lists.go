package program

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"engang/infra/engang/client"
	"engang/infra/engang/text"
	"engang/shared/control"
	"engang/shared/object"
)

// A span is the flags that lists have in common.
type span struct {
	since, until, after string
	limit               int
	watch               bool
}

func (s *span) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.since, "since", "3d", "from when on: RFC 3339, or how long ago (2h, 3d)")
	f.StringVar(&s.until, "until", "", "until when, likewise")
	f.StringVar(&s.after, "after", "", "go on behind this cursor")
	f.IntVar(&s.limit, "limit", control.DefaultLimit, "list at most so many")
	f.BoolVar(&s.watch, "watch", false, "go on with what comes, until interrupted")
}

// filter makes the query of the first page.
func (s *span) filter(now time.Time) (client.Filter, error) {
	if s.limit < 1 {
		return nil, usage("--limit %d: list at least one", s.limit)
	}
	if s.watch && (s.after != "" || s.until != "") {
		return nil, usage("--watch goes on with what comes: it takes neither --after nor --until")
	}
	f := client.Filter{"after": s.after}
	times := map[string]time.Time{"until": now}
	for name, value := range map[string]string{"since": s.since, "until": s.until} {
		if name == "until" && value == "" {
			continue
		}
		t, err := text.ParseTime(value, now)
		if err != nil {
			return nil, usage("--%s: %w", name, err)
		}
		times[name], f[name] = t, t.UTC().Format(time.RFC3339)
	}
	if times["since"].After(times["until"]) {
		return nil, usage("--since %s is later than %s: there is nothing between them", s.since, cmp.Or(s.until, "now"))
	}
	return f, nil
}

// anObject refuses what can be the id of no object.
func anObject(name string) error {
	if name == "" {
		return nil
	}
	if _, err := object.ParseID(name); err != nil {
		return usage("--object %q: kind:id, as in product:794", name)
	}
	return nil
}

func (p *program) eventsCommand() *cobra.Command {
	var s span
	var f struct {
		endpoint, typ, object, state, eventID string
		duplicates                            bool
	}
	cmd := &cobra.Command{
		Use: "events", Short: "List what was taken, the newest first", Args: noArguments,
		Example: "  engang events --since 2h\n  engang events --state parked\n  engang events --endpoint woo-shop --type product.updated --object product:794 --duplicates\n  engang events --event-id msg_2pQ7 --limit 1\n  engang events --until 2026-11-29T12:00:00Z --after MjAyNi0xMS0yOXw\n  engang events --watch --json",
	}
	s.flags(cmd)
	cmd.Flags().StringVar(&f.endpoint, "endpoint", "", "only of this endpoint")
	cmd.Flags().StringVar(&f.typ, "type", "", "only of this type, in the sender's words")
	cmd.Flags().StringVar(&f.object, "object", "", "only about this object (product:794)")
	cmd.Flags().StringVar(&f.state, "state", "", "only in this state, or settled like this: "+strings.Join(control.EventStates(), ", "))
	cmd.Flags().StringVar(&f.eventID, "event-id", "", "only with this id of the sender")
	cmd.Flags().BoolVar(&f.duplicates, "duplicates", false, "only what was delivered again")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := cmp.Or(oneOf("state", f.state, control.EventStates()), anObject(f.object)); err != nil {
			return err
		}
		own := client.Filter{"endpoint": f.endpoint, "type": f.typ, "object": f.object, "state": f.state, "event_id": f.eventID}
		if f.duplicates {
			own["duplicates"] = "true"
		}
		return list(cmd.Context(), p, s, own, lister[control.Event]{
			fetch: (*client.Client).Events, what: "events", write: p.clock().Events,
			key: func(e control.Event) string { return e.ID }, state: func(e control.Event) string { return fmt.Sprint(e.State, e.Outcome, e.Deliveries) },
		})
	}
	return cmd
}

func (p *program) operationsCommand() *cobra.Command {
	var s span
	var f struct{ recipe, state, category, object string }
	cmd := &cobra.Command{
		Use: "operations", Short: "List work and its states, that of the newest event first", Args: noArguments,
		Example: "  engang operations\n  engang operations --state failed --category transient --since 30d\n  engang operations --recipe product-card@3 --object product:794 --limit 10\n  engang operations --until 1h --after MjAyNi0xMS0yOXw\n  engang operations --watch",
	}
	s.flags(cmd)
	cmd.Flags().StringVar(&f.recipe, "recipe", "", "only of this recipe, or recipe@version")
	cmd.Flags().StringVar(&f.state, "state", "", "only in this state: "+strings.Join(control.OperationStates(), ", "))
	cmd.Flags().StringVar(&f.category, "category", "", "only with this category of failure: "+strings.Join(control.Categories(), ", "))
	cmd.Flags().StringVar(&f.object, "object", "", "only about this object (product:794)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := cmp.Or(oneOf("state", f.state, control.OperationStates()), oneOf("category", f.category, control.Categories()), anObject(f.object)); err != nil {
			return err
		}
		own := client.Filter{"recipe": f.recipe, "state": f.state, "category": f.category, "object": f.object}
		return list(cmd.Context(), p, s, own, lister[control.Operation]{
			fetch: (*client.Client).Operations, what: "operations", write: p.clock().Operations,
			key: func(o control.Operation) string { return o.ID }, state: func(o control.Operation) string { return fmt.Sprint(o.State, len(o.Attempts), o.FencingToken) },
		})
	}
	return cmd
}

// A lister is what lists of one kind need.
type lister[T any] struct {
	what  string // in the plural
	fetch func(*client.Client, context.Context, client.Filter) (control.List[T], error)
	write func(w io.Writer, items []T, head bool) error
	key   func(T) string // what it is
	state func(T) string // what changes about it

	oldestFirst bool // as the pages come; else the newest comes first
}

func list[T any](ctx context.Context, p *program, s span, own client.Filter, l lister[T]) error {
	f, err := s.filter(p.Now())
	if err != nil {
		return err
	}
	maps.Copy(f, own)
	c, err := p.connect(ctx)
	if err != nil {
		return err
	}
	found, err := pages(ctx, c, f, s.limit, l)
	if err != nil {
		return p.explain(err)
	}
	if s.watch {
		return watch(ctx, watching[T]{p, c, f, s.limit, l}, found.Items)
	}
	if p.json {
		return p.writeJSON(found)
	}
	if len(found.Items) == 0 {
		like := ""
		if slices.ContainsFunc(slices.Collect(maps.Values(own)), func(v string) bool { return v != "" }) {
			like = " like that"
		}
		fmt.Fprintf(p.Stdout, "no %s%s since %s\n", l.what, like, f["since"])
	} else if err := l.write(p.Stdout, found.Items, true); err != nil {
		return err
	}
	if found.Next != "" {
		fmt.Fprintf(p.Stdout, "\nmore: --after %s\n", found.Next)
	}
	return nil
}

// pages follows the cursor until there are enough, since one page may be shorter than asked for.
func pages[T any](ctx context.Context, c *client.Client, f client.Filter, limit int, l lister[T]) (control.List[T], error) {
	all := control.List[T]{Items: []T{}}
	f = maps.Clone(f)
	for {
		f["limit"] = strconv.Itoa(min(limit-len(all.Items), control.MaxLimit))
		page, err := l.fetch(c, ctx, f)
		if err != nil {
			return all, err
		}
		all.Items, all.Next = append(all.Items, page.Items...), page.Next
		if page.Next == "" || len(all.Items) >= limit {
			return all, nil
		}
		f["after"] = page.Next
	}
}

// every is how often a watch looks.
const every = 500 * time.Millisecond

// A watching is a list that is looked at again and again.
type watching[T any] struct {
	p      *program
	c      *client.Client
	filter client.Filter
	limit  int
	lister lister[T]
}

// watch writes what is there, the oldest first, and then whatever is new or has changed.
func watch[T any](ctx context.Context, w watching[T], found []T) error {
	known := map[string]string{}
	for {
		if !w.lister.oldestFirst {
			slices.Reverse(found)
		}
		for _, item := range found {
			key, state := w.lister.key(item), w.lister.state(item)
			if known[key] == state {
				continue
			}
			if err := w.write(item, len(known) == 0); err != nil {
				return err
			}
			known[key] = state
		}
		select {
		case <-ctx.Done():
			return nil // interrupted: that is how a watch ends
		case <-time.After(every):
		}
		page, err := pages(ctx, w.c, w.filter, w.limit, w.lister)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return w.p.explain(err)
		}
		found = page.Items
	}
}

func (w watching[T]) write(item T, head bool) error {
	if !w.p.json {
		return w.lister.write(w.p.Stdout, []T{item}, head)
	}
	raw, err := json.Marshal(item)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w.p.Stdout, string(raw))
	return err
}
