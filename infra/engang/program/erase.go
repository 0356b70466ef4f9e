package program

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"engang/infra/engang/client"
	"engang/infra/engang/text"
	"engang/shared/control"
	"engang/shared/object"
)

type erasing struct {
	object, reason, after string
	dryRun                bool
}

func (p *program) eraseCommand() *cobra.Command {
	var e erasing
	cmd := &cobra.Command{
		Use: "erase", Short: "Remove everything that is held of an object", Args: noArguments,
		Long: "Work that is under way is stopped, the object's events are emptied with their bodies, and its operations, attempts and results are removed. " +
			"Each event stays known, without what it said, so that a repeat stays a repeat; a later event of the object is new work. " +
			"What was received before may be under way until some minutes after the first look: the command waits, and looks once more. " +
			"It goes on waiting for a delivery of many events that holds the object too and is not taken apart: where its endpoint is paused, resume it; where it stands in review, decide. " +
			"Interrupted, the command says how to go on.\n" +
			"Recovery copies of the table hold the data up to their own time, and messages in queues name the object for some days.",
		Example: "  engang erase --object product:794 --dry-run\n  engang erase --object customer:17 --reason \"asked to be forgotten\"\n" +
			"  engang erase --object customer:17 --reason \"asked to be forgotten\" --after eyJpZCI6Ij",
		RunE: func(cmd *cobra.Command, _ []string) error { return p.erase(cmd.Context(), e) },
	}
	f := cmd.Flags()
	f.StringVar(&e.object, "object", "", "what is erased (product:794)")
	f.StringVar(&e.reason, "reason", "", "why; it is kept in the audit log")
	f.BoolVar(&e.dryRun, "dry-run", false, "only count what would be erased")
	f.StringVar(&e.after, "after", "", "go on with an erasure that was interrupted")
	return cmd
}

// held refuses what names no object, and an act without a reason.
func held(name, reason, act string) error {
	if _, err := object.ParseID(name); err != nil {
		return usage("--object %q: kind:id, as in product:794", name)
	}
	if act != "" && strings.TrimSpace(reason) == "" {
		return usage("%s is recorded: say why with --reason", act)
	}
	return nil
}

func (p *program) erase(ctx context.Context, e erasing) error {
	act := "an erasure"
	if e.dryRun {
		act = ""
	}
	if err := held(e.object, e.reason, act); err != nil {
		return err
	}
	c, err := p.connect(ctx)
	if err != nil {
		return err
	}
	if !e.dryRun {
		if err := p.announce(ctx); err != nil {
			return err
		}
	}
	sum, err := p.eraseAll(ctx, c, e)
	if err != nil {
		return err
	}
	if e.after == "" && sum.Events+sum.Batches+sum.Bodies+sum.Cancelled+sum.Items == 0 {
		return nothingHeld(e.object)
	}
	if p.json {
		return p.writeJSON(sum)
	}
	return text.Erased(p.Stdout, sum)
}

// nothingHeld says that there is nothing to erase or to export, or not any more.
func nothingHeld(name string) error {
	return &failure{exitNotFound, fmt.Errorf("nothing is held of %s, or not any more: check the name, the tenant and the environment", name)}
}

// eraseAll makes call after call. Whatever stops it says how to go on. The call in hand is waited for when a person
// interrupts: its answer alone says where to go on.
func (p *program) eraseAll(ctx context.Context, c *client.Client, e erasing) (control.Erased, error) {
	var sum control.Erased
	h := client.Held{Object: e.object, Reason: e.reason, DryRun: e.dryRun, After: e.after}
	for {
		got, err := c.Erase(context.WithoutCancel(ctx), h)
		if err != nil {
			return sum, p.interrupted(p.explain(err), h)
		}
		add(&got, sum)
		sum = got
		if h.After = got.Next; h.After == "" {
			return sum, nil
		}
		if got.AgainAt != nil && ctx.Err() == nil {
			if err := p.outlast(ctx, sum); err != nil {
				return sum, err
			}
		}
		if ctx.Err() != nil {
			return sum, p.interrupted(errInterrupted, h)
		}
	}
}

// add adds what the calls before have done.
func add(to *control.Erased, before control.Erased) {
	to.Events += before.Events
	to.Batches += before.Batches
	to.Bodies += before.Bodies
	to.Cancelled += before.Cancelled
	to.Items += before.Items
	if before.AgainAt == nil { // of one look, which takes several calls
		to.WaitsFor = append(append([]string{}, before.WaitsFor...), to.WaitsFor...)
	}
}

// outlast says what is done so far, and waits until nothing can be under way that was then.
func (p *program) outlast(ctx context.Context, sum control.Erased) error {
	if err := text.Erased(p.Stderr, sum); err != nil {
		return err
	}
	for _, id := range sum.WaitsFor {
		fmt.Fprintf(p.Stderr, "%s holds it among others, and is not taken apart: %s\n", text.Line(id), p.suggest("show "+id))
	}
	fmt.Fprintf(p.Stderr, "what came before it began may be under way: the next look is at %s\n", p.clock().Second(sum.AgainAt))
	wait := time.NewTimer(max(sum.AgainAt.Sub(p.Now()), 0) + 100*time.Millisecond)
	defer wait.Stop()
	select {
	case <-ctx.Done():
	case <-wait.C:
	}
	return nil
}

// interrupted says how an erasure is gone on with: begun again, it would not know what was under way.
func (p *program) interrupted(err error, h client.Held) error {
	switch {
	case h.DryRun && errors.Is(err, errInterrupted):
		return fmt.Errorf("%w: nothing was changed, and not everything was counted", err)
	case h.After == "" || h.DryRun:
		return err
	}
	return fmt.Errorf("%w. It is not done; go on with: %s", err, p.goOn(map[string]string{"after": h.After}))
}
