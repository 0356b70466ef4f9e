package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"engang/infra/engang/client"
	"engang/infra/engang/text"
	"engang/shared/control"
	"engang/shared/inbox"
)

// A verdict is one of the two decisions on a draft.
type verdict struct {
	name, past string // "approve", "approved"
	state      string // that it leaves the operation in
	short      string
	send       func(*client.Client, context.Context, client.Decision) (control.Decided, error)
}

var (
	approval  = verdict{"approve", "approved", "completed", "Make a draft the result", (*client.Client).Approve}
	rejection = verdict{"reject", "rejected", "rejected", "Refuse a draft", (*client.Client).Reject}
)

type deciding struct {
	digest, reason string
	althoughNewer  bool
}

func (p *program) decisionCommand(v verdict) *cobra.Command {
	var f deciding
	const id, digest = "product:794/product-card@3/9f2c", "sha256:3d96081f5c1e7a42b0d98e6f4a1357c2e8b90d6f41a2c3e57f8091b2d4c6e8fa"
	cmd := &cobra.Command{
		Use: v.name + " ID", Short: v.short, Args: oneID,
		Long: "ID is an operation (object/recipe@version/digest, a unique beginning) whose draft waits. On a terminal the content, the target and the digest are shown first, which is recorded, and then you are asked. " +
			"In scripts --digest says which bytes were looked at. A draft is decided once: who comes later is told by whom and when it was done.",
		Example: fmt.Sprintf("  engang review %[1]s %[2]s --digest %[3]s --reason \"checked against the shelf\"\n  engang %[1]s %[2]s --digest %[3]s --reason \"checked\" --json", v.name, id, digest),
		RunE:    func(cmd *cobra.Command, args []string) error { return p.decide(cmd.Context(), args[0], v, f) },
	}
	cmd.Flags().StringVar(&f.digest, "digest", "", "of the draft that was looked at; needed in scripts")
	cmd.Flags().StringVar(&f.reason, "reason", "", "why; it is kept with the decision and in the audit log")
	if v.name == approval.name {
		cmd.Long += "\nWhere a newer draft of the object waits, say that the older one is meant. Where a newer version has its result already, the draft is set aside and the exit code is 4."
		cmd.Flags().BoolVar(&f.althoughNewer, "although-newer", false, "approve an older draft although a newer one waits")
		cmd.Example += fmt.Sprintf("\n  engang approve %s --digest %s --reason \"the newer one is wrong\" --although-newer", id, digest)
	}
	return cmd
}

// errUndecided is the end of a decision that the person who was asked did not take.
var errUndecided = &failure{exitFailed, errors.New("nothing was decided")}

// shortDigest is a digest as lists show it, or longer and yet not whole.
var shortDigest = regexp.MustCompile(`^sha256:[0-9a-f]{8,63}$`)

// decide sends one decision on a draft, after showing it to a person.
func (p *program) decide(ctx context.Context, id string, v verdict, f deciding) error {
	if err := reasoned(f.reason); err != nil {
		return err
	}
	asks := p.Confirm != nil && !p.yes && !p.json
	if !asks && f.digest == "" {
		return usage("say with --digest which draft was looked at; `%s` shows it", p.suggest("show "+word(id)))
	}
	if inbox.IsEventID(id) {
		return usage("%s is an event: name the operation whose draft is meant; %s lists it", id, p.suggest("show "+id))
	}
	if shortDigest.MatchString(f.digest) {
		return usage("--digest %s: give the whole digest, which %s shows; lists cut it short", f.digest, p.suggest("show "+word(id)+" --json"))
	}
	c, err := p.connect(ctx)
	if err != nil {
		return err
	}
	p.sayWhere()
	d := client.Decision{ID: id, Digest: f.digest, Reason: f.reason, AlthoughNewer: f.althoughNewer}
	if asks {
		if err := p.lookAt(ctx, c, v, &d); err != nil {
			return err
		}
	} else if err := p.agree(ctx); err != nil {
		return err
	}
	done, err := v.send(c, ctx, d)
	if newer, ok := errors.AsType[*client.Problem](err); ok && newer.Type == client.NewerDraft && asks {
		fmt.Fprintln(p.Stderr, text.Line(newer.Detail))
		if !p.Confirm(ctx, "Approve the older one all the same?") {
			return errUndecided
		}
		d.AlthoughNewer = true
		done, err = v.send(c, ctx, d)
	}
	if err != nil {
		return p.explain(err)
	}
	return p.tellDecided(done)
}

// lookAt shows the draft, and asks for the decision: it is one on the bytes that were shown.
func (p *program) lookAt(ctx context.Context, c *client.Client, v verdict, d *client.Decision) error {
	doc, err := c.Show(ctx, client.Filter{"id": d.ID})
	if err != nil {
		return p.explain(err)
	}
	if doc.Operation == nil {
		return usage("%s is no operation: name the one whose draft is meant", d.ID)
	}
	o := *doc.Operation
	d.ID = o.ID
	if o.State != "review" { // the answer says how it stands, and by whom
		if d.Digest == "" && o.Result != nil {
			d.Digest = o.Result.Digest
		}
		if d.Digest == "" {
			d.Digest = "none"
		}
		return nil
	}
	content, err := c.Reveal(ctx, o.ID, d.Reason)
	if err != nil {
		return p.explain(err)
	}
	if o.Review.Digest = content.Digest; d.Digest != "" && d.Digest != content.Digest {
		return &failure{exitState, fmt.Errorf("the draft that stands there has the digest %s, not %s: look at it again", content.Digest, d.Digest)}
	}
	if err := p.clock().Draft(p.Stdout, o); err != nil {
		return err
	}
	if err := p.writeContents([]control.Content{content}); err != nil {
		return err
	}
	if !p.Confirm(ctx, fmt.Sprintf("Is %s to be %s?", text.Line(text.ShortDigest(content.Digest)), v.past)) {
		return errUndecided
	}
	d.Digest = content.Digest
	return nil
}

func (p *program) tellDecided(done control.Decided) error {
	if p.json {
		return p.writeJSON(done)
	}
	return p.clock().Decided(p.Stdout, done)
}

func (p *program) dismissCommand() *cobra.Command {
	var d client.Decision
	cmd := &cobra.Command{
		Use: "dismiss ID", Short: "Take what failed, is parked or in conflict off the review list", Args: oneID,
		Long: "ID is a failed operation (a unique beginning), a parked event (evt_…), or a conflict (evt_…/digest, as the list shows it). Nothing is done about it; it can still be redriven by name as long as the event that waits for it is there (event_days).\n" +
			"Where the program asks first, it shows an operation before, and dismisses the failure that was shown; --seen says the same in scripts: what failed anew, or what a newer event waits for, is refused then (exit 4), and so is what is still in work.\n" +
			"A draft is approved or rejected.",
		Example: "  engang review dismiss product:794/product-card@3/9f2c --reason \"the product is gone\"\n  engang dismiss evt_3k9a5xq7mz2bcd4f --reason \"a test of the sender\"\n" +
			"  engang dismiss product:794/product-card@3/9f2c --seen 2/evt_3k9a5xq7mz2bcd4f --reason \"the product is gone\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			d.ID = args[0]
			return p.dismiss(cmd.Context(), d)
		},
	}
	cmd.Flags().StringVar(&d.Reason, "reason", "", "why; it is kept in the audit log")
	cmd.Flags().StringVar(&d.Seen, "seen", "", "which failure was looked at, as \"seen\" of review --json says it")
	return cmd
}

func (p *program) dismiss(ctx context.Context, d client.Decision) error {
	if err := reasoned(d.Reason); err != nil {
		return err
	}
	c, err := p.connect(ctx)
	if err != nil {
		return err
	}
	p.sayWhere()
	if p.deployed != nil && p.Confirm != nil && !p.yes && !p.json {
		if err := p.lookAtFailure(ctx, c, &d); err != nil {
			return err
		}
	}
	if err := p.agree(ctx); err != nil {
		return err
	}
	done, err := c.Dismiss(ctx, d)
	if err != nil {
		return p.explain(err)
	}
	return p.tellDecided(done)
}

// lookAtFailure shows what failed before it is asked whether to go on: that failure is dismissed, and no later one.
func (p *program) lookAtFailure(ctx context.Context, c *client.Client, d *client.Decision) error {
	if inbox.IsEventID(strings.Split(d.ID, "/")[0]) {
		return nil
	}
	doc, err := c.Show(ctx, client.Filter{"id": d.ID})
	if err != nil {
		return p.explain(err)
	}
	if doc.Operation == nil || doc.Operation.Review == nil { // the answer says how it stands
		return nil
	}
	o := *doc.Operation
	d.ID, d.Seen = o.ID, cmp.Or(d.Seen, o.Review.Seen)
	return p.clock().Failure(p.Stdout, o)
}
