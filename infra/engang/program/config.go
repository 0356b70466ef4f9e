package program

import (
	"context"

	"github.com/spf13/cobra"
)

func (p *program) configCommand() *cobra.Command {
	return &cobra.Command{
		Use: "config", Short: "Show what is live, by version", Args: noArguments,
		Long:    "config shows the live configuration of a tenant and environment: versions, who applied them and when. With --json it is whole, with recipes and references of secrets.",
		Example: "  engang config\n  engang config --tenant shop --environment test --json",
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.config(cmd.Context()) },
	}
}

func (p *program) config(ctx context.Context) error {
	c, err := p.connect(ctx)
	if err != nil {
		return err
	}
	doc, err := c.Config(ctx)
	if err != nil {
		return p.explain(err)
	}
	if p.json {
		return p.writeJSON(doc)
	}
	return p.clock().Config(p.Stdout, doc)
}
