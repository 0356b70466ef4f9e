package program

import (
	"github.com/spf13/cobra"

	"engang/infra/engang/client"
	"engang/shared/control"
)

func (p *program) auditCommand() *cobra.Command {
	var s span
	var object, targetID string
	cmd := &cobra.Command{
		Use: "audit", Short: "List who did what, when and why, the newest first", Args: noArguments,
		Long: "audit reads the log of every act of a person and every look at content; what was refused stands in it as such. An entry is never changed, and kept as long as results are (result_days).\n" +
			"--object finds acts on an object, its operations and its events; those on an event that was erased, or is not kept any more, by --target-id alone.",
		Example: "  engang audit\n  engang audit --object product:794 --since 30d\n  engang audit --target-id product:794/product-card@3/9f2c --json\n  engang audit --target-id \"endpoint woo-shop\" --limit 10\n" +
			"  engang audit --since 2026-11-01T00:00:00Z --until 2026-11-29T12:00:00Z --after MjAyNi0xMS0yOXw\n  engang audit --watch",
	}
	s.flags(cmd)
	cmd.Flags().StringVar(&object, "object", "", "only on this object, its operations and its events (product:794)")
	cmd.Flags().StringVar(&targetID, "target-id", "", "only on this: an event, an operation (a beginning is enough), what was paused, as the list shows it")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := anObject(object); err != nil {
			return err
		}
		return list(cmd.Context(), p, s, client.Filter{"object": object, "target_id": targetID}, lister[control.Act]{
			fetch: (*client.Client).Audit, what: "acts", write: p.clock().Acts,
			key: func(a control.Act) string { return a.At.String() + a.ID }, state: func(a control.Act) string { return a.Act },
		})
	}
	return cmd
}
