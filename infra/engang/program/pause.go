package program

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"engang/infra/engang/client"
	"engang/infra/engang/text"
	"engang/shared/pause"
)

const pausable = "everything, endpoint NAME, recipe NAME, model PROVIDER/NAME"

func (p *program) pauseCommand() *cobra.Command {
	var until, reason string
	cmd := &cobra.Command{
		Use:   "pause [KIND [NAME]]",
		Short: "Hold an endpoint, a recipe, a model or everything; without one: show what is held",
		Long: "What can be held: " + pausable + ". Without an argument, pause shows what is held: by persons, and by breakers of models that cannot serve.\n" +
			"Nothing is lost and no attempt is counted: a paused endpoint still stores and answers 200, events wait, and come back by themselves after resume or when the time is over.\n" +
			"A pause that would end sooner than one in force is refused: that one may be somebody else's.",
		Example: "  engang pause\n  engang pause endpoint woo-shop --until 2h --reason \"supplier feed is broken\"\n  engang pause model openai/gpt-5.4-mini-2026-03-17 --reason \"prices are being checked\" --json\n  engang pause everything --reason \"incident 12\"",
		Args:    target,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return p.pauses(cmd.Context(), until != "" || reason != "")
			}
			return p.pause(cmd.Context(), args, client.Pausing{Until: until, Reason: reason})
		},
	}
	cmd.Flags().StringVar(&until, "until", "", "until when: RFC 3339, or from now on (2h, 3d); none: until it is resumed")
	cmd.Flags().StringVar(&reason, "reason", "", "why; it is kept in the audit log")
	return cmd
}

func (p *program) resumeCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "resume KIND [NAME]",
		Short: "Let go on what is paused; of a model, its breaker too",
		Long: "What can be resumed: " + pausable + ". A model's breaker is closed with it, whoever opened it; if the provider still cannot serve, the next call opens it again.\n" +
			"Events that were held come back by themselves, within minutes.",
		Example: "  engang resume endpoint woo-shop --reason \"feed mended\"\n  engang resume everything --reason \"incident 12 is over\"",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("say what goes on: %s", pausable)
			}
			return target(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return p.resume(cmd.Context(), args, reason) },
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why; it is kept in the audit log")
	return cmd
}

// target refuses what is nothing that can be held.
func target(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	kind, err := pause.ParseKind(args[0])
	names := 1
	if kind == pause.Everything {
		names = 0
	}
	if err != nil || len(args)-1 != names {
		return usage("%q: say %s", strings.Join(args, " "), pausable)
	}
	return nil
}

func (p *program) pauses(ctx context.Context, more bool) error {
	if more {
		return usage("say what is to be held: %s", pausable)
	}
	c, err := p.connect(ctx)
	if err != nil {
		return err
	}
	list, err := c.Pauses(ctx)
	switch {
	case err != nil:
		return p.explain(err)
	case p.json:
		return p.writeJSON(list)
	case len(list.Items) == 0:
		_, err := fmt.Fprintln(p.Stdout, "nothing is held")
		return err
	}
	return p.clock().Holds(p.Stdout, list.Items)
}

func (p *program) pause(ctx context.Context, args []string, say client.Pausing) error {
	say.Kind, say.Name = args[0], strings.Join(args[1:], "")
	if err := reasoned(say.Reason); err != nil {
		return err
	}
	if say.Until != "" {
		end, err := text.ParseEnd(say.Until, p.Now())
		if err != nil {
			return usage("--until: %w", err)
		}
		say.Until = end.UTC().Format(time.RFC3339)
	}
	c, err := p.connectToAct(ctx)
	if err != nil {
		return err
	}
	doc, err := c.Pause(ctx, say)
	if err != nil {
		return p.explain(err)
	}
	if p.json {
		return p.writeJSON(doc)
	}
	if err := p.clock().Hold(p.Stdout, doc); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.Stdout, "  Go on with: %s\n", p.suggest("resume "+strings.Join(args, " ")+" --reason TEXT"))
	return err
}

func (p *program) resume(ctx context.Context, args []string, reason string) error {
	if err := reasoned(reason); err != nil {
		return err
	}
	c, err := p.connectToAct(ctx)
	if err != nil {
		return err
	}
	doc, err := c.Resume(ctx, client.Pausing{Kind: args[0], Name: strings.Join(args[1:], ""), Reason: reason})
	if err != nil {
		return p.explain(err)
	}
	if p.json {
		return p.writeJSON(doc)
	}
	return p.clock().Resumption(p.Stdout, doc)
}
