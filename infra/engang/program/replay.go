package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"engang/infra/engang/client"
	"engang/infra/engang/text"
	"engang/shared/control"
	"engang/shared/object"
)

// errInterrupted says that a person stopped what was going on.
var errInterrupted = errors.New("interrupted")

type replaying struct {
	since, until, endpoint, object, recipe, after, rate, reason string
	dryRun                                                      bool
}

func (p *program) replayCommand() *cobra.Command {
	var r replaying
	cmd := &cobra.Command{
		Use: "replay", Short: "Run a period's events again; harmless", Args: noArguments,
		Long: "replay goes through the events of a time, the newest first. What is done under the versions that are live is left alone: no call, nothing changed. Where a recipe was raised since, the newest event of each object runs under its live version; " +
			"the former result stays. Events that wait for a person wait on; what a person cancelled or dismissed is left alone, under a raised recipe too.\n\n" +
			"--dry-run counts what would happen and what it costs at most: one call for each event that would run, with every byte counted as a token; a call that has to be repeated costs again.\n" +
			"Ctrl-C stops it between two pages; the command that goes on is printed. Doing a part of it twice does no harm.",
		Example: "  engang replay --since 30d --dry-run\n  engang replay --since 30d --recipe product-card --rate 2/s --reason \"version 4 is live\"\n" +
			"  engang replay --endpoint woo-shop --object product:794 --reason \"to be sure\"\n  engang replay --since 2026-11-01T00:00:00Z --until 2026-11-08T00:00:00Z --after MjAyNi0xMS0yOXw --reason \"version 4 is live\"",
		RunE: func(cmd *cobra.Command, _ []string) error { return p.replay(cmd.Context(), r) },
	}
	f := cmd.Flags()
	f.StringVar(&r.since, "since", "3d", "from when on: RFC 3339, or how long ago (2h, 3d)")
	f.StringVar(&r.until, "until", "", "until when, likewise")
	f.StringVar(&r.endpoint, "endpoint", "", "only what this endpoint took")
	f.StringVar(&r.object, "object", "", "only about this object (product:794)")
	f.StringVar(&r.recipe, "recipe", "", "only under this recipe, or recipe@version, which must be live")
	f.StringVar(&r.after, "after", "", "go on behind this cursor")
	f.BoolVar(&r.dryRun, "dry-run", false, "count what would be done, and do nothing")
	f.StringVar(&r.rate, "rate", usualPace, "events that are run in a second at most")
	f.StringVar(&r.reason, "reason", "", "why; it is kept in the audit log")
	return cmd
}

// A replay is one way through the events of a time.
type replay struct {
	p        *program
	c        *client.Client
	ask      client.Replaying
	pace     pace
	from, to time.Time
	bar      bar
	sum      control.Replayed
}

func (p *program) replay(ctx context.Context, r replaying) error {
	run, err := p.replayOf(r)
	if err != nil {
		return err
	}
	if run.c, err = p.connect(ctx); err != nil {
		return err
	}
	if !r.dryRun {
		if err := p.announce(ctx); err != nil {
			return err
		}
	}
	stopped := run.pages(ctx)
	run.bar.end()
	if stopped != nil && run.sum.Events == 0 && run.sum.Next == r.after { // nothing was done before
		return p.explain(stopped)
	}
	if err := run.tell(); err != nil {
		return err
	}
	return run.end(stopped)
}

// replayOf reads the flags.
func (p *program) replayOf(r replaying) (*replay, error) {
	now := p.Now()
	run := &replay{p: p, to: now, bar: bar{p.Progress}, ask: client.Replaying{Endpoint: r.endpoint, Object: r.object, Recipe: r.recipe, After: r.after, DryRun: r.dryRun, Reason: r.reason}}
	run.sum = control.Replayed{Kind: "replay", DryRun: r.dryRun, Next: r.after}
	if !r.dryRun && strings.TrimSpace(r.reason) == "" {
		return nil, usage("a replay is recorded: say why with --reason, or look first with --dry-run")
	}
	var err error
	if run.pace, err = parsePace(r.rate); err != nil {
		return nil, err
	}
	if run.from, err = text.ParseTime(r.since, now); err != nil {
		return nil, usage("--since: %w", err)
	}
	if r.until != "" {
		if run.to, err = text.ParseTime(r.until, now); err != nil {
			return nil, usage("--until: %w", err)
		}
		run.ask.Until = run.to.UTC()
	}
	if !run.from.Before(run.to) {
		return nil, usage("--since %s is not before %s: there is nothing between them", r.since, cmp.Or(r.until, "now"))
	}
	if r.object != "" {
		if _, err := object.ParseID(r.object); err != nil {
			return nil, usage("--object %q: kind:id, as in product:794", r.object)
		}
	}
	run.ask.Since = run.from.UTC().Truncate(time.Second)
	run.ask.Runs = int(min(max(math.Ceil(float64(run.pace)), 1), control.MaxRuns))
	return run, nil
}

// pages asks for one page after the other. A page in flight is waited for when a person interrupts, so that it is
// known where the replay stands.
func (r *replay) pages(ctx context.Context) error {
	for {
		page, err := r.c.Replay(context.WithoutCancel(ctx), r.ask)
		if err != nil {
			return err
		}
		r.add(page)
		r.bar.show(r.share(), fmt.Sprintf("%s, %d to run", text.Count(r.sum.Events, "event", "events"), r.sum.WouldRun))
		if page.Next == "" {
			return nil
		}
		r.ask.After = page.Next
		if !r.ask.DryRun && page.WouldRun > 0 {
			r.pace.rest(ctx, page.WouldRun)
		}
		if ctx.Err() != nil {
			return errInterrupted
		}
	}
}

func (r *replay) add(page control.Replayed) {
	s := &r.sum
	s.Events, s.Finished, s.WouldRun = s.Events+page.Events, s.Finished+page.Finished, s.WouldRun+page.WouldRun
	s.Waiting, s.Dismissed, s.Running, s.Unreadable = s.Waiting+page.Waiting, s.Dismissed+page.Dismissed, s.Running+page.Running, s.Unreadable+page.Unreadable
	s.Calls, s.CostUSD, s.Effects, s.Sent = s.Calls+page.Calls, s.CostUSD+page.CostUSD, s.Effects+page.Effects, s.Sent+page.Sent
	s.Next = page.Next
	if page.Reached != nil {
		s.Reached = page.Reached
	}
}

// share is how much of the time the replay has gone through, from its end to its beginning.
func (r *replay) share() float64 {
	if r.sum.Next == "" {
		return 1
	}
	if r.sum.Reached == nil {
		return 0
	}
	return float64(r.to.Sub(*r.sum.Reached)) / float64(r.to.Sub(r.from))
}

func (r *replay) tell() error {
	p := r.p
	if p.json {
		return p.writeJSON(r.sum)
	}
	if r.sum.Events == 0 && r.sum.Next == "" {
		_, err := fmt.Fprintf(p.Stdout, "no events since %s: nothing to do\n", r.ask.Since.Format(time.RFC3339))
		return err
	}
	fmt.Fprintln(p.Stdout, text.Replayed(r.sum))
	switch {
	case r.ask.DryRun:
		_, err := fmt.Fprintf(p.Stdout, "%s Without --dry-run this is done at %s events/s.\n", text.ReplayCost(r.sum), strings.TrimSuffix(r.pace.String(), "/s"))
		return err
	case r.sum.WouldRun > 0:
		_, err := fmt.Fprintln(p.Stdout, text.ReplayCost(r.sum))
		return err
	}
	return nil
}

// end says how to go on with what was stopped, and that not everything could be run.
func (r *replay) end(stopped error) error {
	if stopped == nil {
		if r.sum.Unreadable > 0 && !r.ask.DryRun {
			return fmt.Errorf("%s could not be run: what is not kept any more cannot be worked on", text.Count(r.sum.Unreadable, "event", "events"))
		}
		return nil
	}
	flags := map[string]string{"since": r.ask.Since.Format(time.RFC3339), "until": "", "after": r.ask.After}
	if !r.ask.Until.IsZero() {
		flags["until"] = r.ask.Until.Format(time.RFC3339)
	}
	return fmt.Errorf("%w; nothing is lost, and doing a part twice does no harm. Go on with:\n  %s", stopped, r.p.goOn(flags))
}
