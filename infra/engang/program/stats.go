package program

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

var groupings = []string{"day", "endpoint", "recipe"}

func (p *program) statsCommand() *cobra.Command {
	var s span
	var by string
	cmd := &cobra.Command{
		Use: "stats", Short: "Sum up events, attempts, paid calls, results, unsettled cases and cost", Args: noArguments,
		Long: "stats counts what the events that were received in a period came to, each number on its own. An operation counts with the newest event that it works for, on that event's day. " +
			"The cost is a lower bound where an attempt was lost or had no answer: it may have been paid for. What was erased left nothing but its events: its attempts, calls and cost are in none of these sums. For recipes with a limit a day, today's spend is shown against it, with what is reserved for calls that have not reported.",
		Example: "  engang stats\n  engang stats --since 30d --by recipe\n  engang stats --since 2026-11-01T00:00:00Z --until 2026-12-01T00:00:00Z --json",
	}
	f := cmd.Flags()
	f.StringVar(&s.since, "since", "3d", "from when on: RFC 3339, or how long ago (2h, 3d)")
	f.StringVar(&s.until, "until", "", "until when, likewise")
	f.StringVar(&by, "by", "day", "what the sums are by: day, endpoint or recipe (--json has all)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if !slices.Contains(groupings, by) {
			return usage("--by %s: sums are by %s", by, strings.Join(groupings, ", "))
		}
		return p.stats(cmd.Context(), s, by)
	}
	return cmd
}

func (p *program) stats(ctx context.Context, s span, by string) error {
	s.limit = 1 // of no list: it has none
	f, err := s.filter(p.Now())
	if err != nil {
		return err
	}
	c, err := p.connect(ctx)
	if err != nil {
		return err
	}
	doc, err := c.Stats(ctx, f)
	if err != nil {
		return p.explain(err)
	}
	if p.json {
		return p.writeJSON(doc)
	}
	return p.clock().Stats(p.Stdout, doc, by)
}
