package program

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"engang/infra/engang/client"
	"engang/infra/engang/text"
	"engang/shared/control"
)

func (p *program) reviewCommand() *cobra.Command {
	var f struct {
		kind, owner, older, after string
		limit                     int
		watch                     bool
	}
	cmd := &cobra.Command{
		Use: "review", Short: "List what waits for a person, the longest first; decide about it", Args: noArguments,
		Long: "What waits is a draft (an output that needs a decision), a failed operation, a parked event, or a conflict (a delivery with the key of an event and another fact in it).\n" +
			"Drafts are approved or rejected; what failed can be redriven; all but drafts can be dismissed.",
		Example: "  engang review\n  engang review --kind draft --owner catalogue --older 2d\n  engang review --kind failed --limit 10 --after MDAwMA\n  engang review --watch --json",
	}
	cmd.Flags().StringVar(&f.kind, "kind", "", "only these: draft, failed, parked or conflict")
	cmd.Flags().StringVar(&f.owner, "owner", "", "only what this group decides about")
	cmd.Flags().StringVar(&f.older, "older", "", "only what waits since before then: RFC 3339, or how long already (2h, 3d)")
	cmd.Flags().StringVar(&f.after, "after", "", "go on behind this cursor")
	cmd.Flags().IntVar(&f.limit, "limit", control.DefaultLimit, "list at most so many")
	cmd.Flags().BoolVar(&f.watch, "watch", false, "go on with what comes, until interrupted")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		own := client.Filter{"kind": f.kind, "owner": f.owner, "after": f.after}
		if f.older != "" {
			t, err := text.ParseTime(f.older, p.Now())
			if err != nil {
				return usage("--older: %w", err)
			}
			own["older"] = t.UTC().Format(time.RFC3339)
		}
		switch {
		case f.limit < 1:
			return usage("--limit %d: list at least one", f.limit)
		case f.watch && f.after != "":
			return usage("--watch goes on with what comes: it takes no --after")
		case f.watch:
			f.limit = math.MaxInt // what comes stands at the end
		}
		return p.review(cmd.Context(), own, f.limit, f.watch)
	}
	cmd.AddCommand(p.decisionCommand(approval), p.decisionCommand(rejection), p.dismissCommand())
	return cmd
}

func (p *program) review(ctx context.Context, f client.Filter, limit int, follow bool) error {
	c, err := p.connect(ctx)
	if err != nil {
		return err
	}
	l := lister[control.Waiting]{
		fetch: (*client.Client).Review, what: "review", write: p.clock().Review, oldestFirst: true,
		key: func(w control.Waiting) string { return w.ID }, state: func(w control.Waiting) string { return fmt.Sprint(w.Kind, w.OpenedAt, w.Digest) },
	}
	found, err := pages(ctx, c, f, limit, l)
	switch {
	case err != nil:
		return p.explain(err)
	case follow:
		return watch(ctx, watching[control.Waiting]{p, c, f, limit, l}, found.Items)
	case p.json:
		return p.writeJSON(found)
	case len(found.Items) == 0 && f["kind"]+f["owner"]+f["older"] != "":
		fmt.Fprintln(p.Stdout, "nothing like that waits for a person; without --kind, --owner and --older all is listed that does")
	case len(found.Items) == 0:
		fmt.Fprintln(p.Stdout, "nothing waits for a person")
	default:
		if err := l.write(p.Stdout, found.Items, true); err != nil {
			return err
		}
	}
	if found.Next != "" {
		fmt.Fprintf(p.Stdout, "\nmore: --after %s\n", found.Next)
	}
	return nil
}
