package program

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
)

func (p *program) cancelCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "cancel ID",
		Short: "Stop work that is not final; later deliveries of it stay duplicates",
		Long: "ID is an operation (product:794/product-card@3/9f2c, a unique beginning) that is pending, running or in review, or an event (evt_…, whole) that is open or parked without an operation.\n" +
			"With an event goes the work on its content, also what an older event of the same content began; what a newer one has taken up goes on, one that has only waited for that work ends as cancelled too. The answer names the operations.\n" +
			"A worker that is at it writes nothing more. A call that was begun may still be paid for, and is recorded. What was cancelled is opened again only by redriving it by its name.",
		Example: "  engang cancel product:794/product-card@3/9f2c --reason \"wrong supplier feed\"\n  engang cancel evt_3k9a5xq7mz2bcd4f --reason \"test import\" --json",
		Args:    oneID,
		RunE:    func(cmd *cobra.Command, args []string) error { return p.cancel(cmd.Context(), args[0], reason) },
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why; it is kept in the audit log")
	return cmd
}

func oneID(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage("%s takes one ID", cmd.Name())
	}
	return nil
}

// reasoned refuses an act of a person without a reason.
func reasoned(reason string) error {
	if strings.TrimSpace(reason) == "" {
		return usage("this is recorded: say why with --reason")
	}
	return nil
}

func (p *program) cancel(ctx context.Context, id, reason string) error {
	if err := reasoned(reason); err != nil {
		return err
	}
	c, err := p.connectToAct(ctx)
	if err != nil {
		return err
	}
	doc, err := c.Cancel(ctx, id, reason)
	if err != nil {
		return p.explain(err)
	}
	if p.json {
		return p.writeJSON(doc)
	}
	return p.clock().Cancellation(p.Stdout, doc)
}
