package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"engang/infra/engang/client"
	"engang/infra/engang/text"
	"engang/shared/control"
	"engang/shared/inbox"
	"engang/shared/operation"
)

type redriving struct {
	category, since, rate, reason string
	all, dryRun                   bool
}

func (r redriving) selects() bool { return r.category != "" || r.since != "" || r.all }

func (p *program) redriveCommand() *cobra.Command {
	var r redriving
	cmd := &cobra.Command{
		Use: "redrive [ID...]", Short: "Have work done again that was set aside: a new budget, the same identity",
		Long: "ID is a failed operation (a unique beginning of product:794/product-card@3/9f2c) or a parked event (evt_…). By name also what was rejected, cancelled or dismissed is done again; a rejected draft is thrown away for it.\n" +
			"The work is done as it was begun: an event keeps the object that it was stored with and its versions of recipes. A mapping that was corrected or a recipe that was raised since does not help it; save the object once more in its source.\n" +
			"Without an ID it goes by the review list: --category and --since choose among what failed or is parked there, --all takes everything and also clears the dead-letter queue of what is over.\n\n" +
			"Ctrl-C stops between two of them and says where it stands; the same command goes on, since what was redriven is off the list. What is running, done or already redriven is refused: exit code 4.",
		Example: "  engang redrive product:794/product-card@3/9f2c --reason \"the model was changed\"\n  engang redrive --category transient --since 2h --dry-run\n  engang redrive --all --rate 20/s --reason \"after the outage\"\n  engang redrive evt_3k9a5xq7mz2bcd4f --reason \"the model knows the object again\"",
		Args: func(_ *cobra.Command, args []string) error {
			if (len(args) > 0) == r.selects() {
				return usage("say which: IDs, or --category, --since or --all")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return p.redrive(cmd.Context(), args, r) },
	}
	f := cmd.Flags()
	f.StringVar(&r.category, "category", "", "of the review list, what failed with this category")
	f.StringVar(&r.since, "since", "", "of the review list, what stands there since then: RFC 3339, or how long ago (2h, 3d)")
	f.BoolVar(&r.all, "all", false, "everything in the review list that failed or is parked")
	f.BoolVar(&r.dryRun, "dry-run", false, "show what would be done, and do nothing")
	f.StringVar(&r.rate, "rate", usualPace, "how many in a second at most")
	f.StringVar(&r.reason, "reason", "", "why; it is kept in the audit log")
	return cmd
}

// A redriveDocument is what redrive writes with --json.
type redriveDocument struct {
	Kind     string          `json:"kind"` // "redrive"
	DryRun   bool            `json:"dry_run"`
	Items    []text.Redrive  `json:"items"`
	Redriven int             `json:"redriven"` // or would be
	Refused  int             `json:"refused"`
	Left     int             `json:"left"`              // not come to
	Letters  *control.Tidied `json:"letters,omitempty"` // with --all: what became of the dead-letter queue
}

// A redrive is one way through a list of things.
type redrive struct {
	p     *program
	c     *client.Client
	r     redriving
	pace  pace
	named bool
	list  []control.Waiting
	doc   redriveDocument
}

func (p *program) redrive(ctx context.Context, ids []string, r redriving) error {
	if !r.dryRun && strings.TrimSpace(r.reason) == "" {
		return usage("a redrive is recorded: say why with --reason, or look first with --dry-run")
	}
	if err := aCategory(r.category); err != nil {
		return err
	}
	rate, err := parsePace(r.rate)
	if err != nil {
		return err
	}
	run := &redrive{p: p, r: r, pace: rate, named: len(ids) > 0, doc: redriveDocument{Kind: "redrive", DryRun: r.dryRun, Items: []text.Redrive{}}}
	for _, id := range ids {
		run.list = append(run.list, control.Waiting{ID: id})
	}
	if run.c, err = p.connect(ctx); err != nil {
		return err
	}
	if !run.named {
		if err := run.choose(ctx); err != nil {
			return err
		}
	}
	if r.dryRun {
		return run.look(ctx)
	}
	if err := p.announce(ctx); err != nil {
		return err
	}
	return run.act(ctx)
}

// choose goes through the review list.
func (r *redrive) choose(ctx context.Context) error {
	var since time.Time
	if r.r.since != "" {
		var err error
		if since, err = text.ParseTime(r.r.since, r.p.Now()); err != nil {
			return usage("--since: %w", err)
		}
	}
	f := client.Filter{"limit": fmt.Sprint(control.MaxLimit)}
	for {
		page, err := r.c.Review(ctx, f)
		if err != nil {
			return r.p.explain(err)
		}
		for _, w := range page.Items {
			if (w.Kind == control.KindFailed || w.Kind == control.KindParked) && (r.r.category == "" || w.Category == r.r.category) && !w.OpenedAt.Before(since) {
				r.list = append(r.list, w)
			}
		}
		if page.Next == "" {
			return nil
		}
		f["after"] = page.Next
	}
}

// look says what would be done. What is named is looked up, since only the list knows that it waits.
func (r *redrive) look(ctx context.Context) error {
	for _, w := range r.list {
		item := text.Redrive{ID: w.ID, Outcome: text.WouldBeRedriven, Was: w.Kind, Category: w.Category, Reason: w.Reason}
		if r.named {
			var err error
			if item, err = r.lookAt(ctx, w.ID); err != nil {
				return r.p.explain(err)
			}
		}
		r.note(item)
	}
	if err := r.tell(); err != nil {
		return err
	}
	return r.refusals()
}

func (r *redrive) lookAt(ctx context.Context, id string) (text.Redrive, error) {
	doc, err := r.c.Show(ctx, client.Filter{"id": id})
	if doc.Object != nil && len(doc.Object.Operations) == 1 { // the only one that can be meant
		doc.Operation = &doc.Object.Operations[0]
	}
	item := text.Redrive{ID: id, Outcome: text.WouldBeRedriven}
	switch {
	case err != nil:
		return item, err
	case doc.Operation != nil:
		o := doc.Operation
		item.ID, item.Was, item.Category, item.Reason = o.ID, o.State, o.Category, o.Reason
		if o.State != string(operation.Failed) && o.State != string(operation.Rejected) {
			item.Outcome = text.Refused
		}
	case doc.Event != nil:
		e := doc.Event
		item.Was, item.Category, item.Reason = e.State, e.Category, e.Reason
		if e.State != string(inbox.Parked) {
			item.Outcome = text.Refused
		}
	default:
		return item, usage("%s is an object: name one of its operations or events", id)
	}
	if item.Outcome == text.Refused {
		item.Detail = "it is " + item.Was
	}
	return item, nil
}

// act redrives one after the other. The one in hand is waited for when a person interrupts, so that it is known
// where this stands.
func (r *redrive) act(ctx context.Context) error {
	var stopped error
	b := bar{r.p.Progress}
	for i, w := range r.list {
		if i > 0 {
			r.pace.rest(ctx, 1)
		}
		if ctx.Err() != nil {
			stopped = errInterrupted
			break
		}
		done, err := r.c.Redrive(context.WithoutCancel(ctx), client.Redriving{ID: w.ID, Listed: !r.named, Reason: r.r.reason})
		refused, isRefused := errors.AsType[*client.Problem](err)
		switch {
		case err == nil:
			r.note(text.Redrive{ID: done.ID, Outcome: text.Redriven, Was: done.Was, Category: cmp.Or(w.Category, done.Category), Reason: w.Reason, Events: done.Events, Sent: done.Sent, Former: done.Former})
		case isRefused && (refused.Status == http.StatusConflict || refused.Status == http.StatusNotFound) && len(r.list) > 1:
			r.note(text.Redrive{ID: w.ID, Outcome: text.Refused, Category: w.Category, Reason: w.Reason, Detail: refused.Error()})
		default:
			stopped = err
		}
		if stopped != nil {
			break
		}
		b.show(float64(i+1)/float64(len(r.list)), fmt.Sprintf("%d of %d, %d refused", i+1, len(r.list), r.doc.Refused))
	}
	b.end()
	if r.doc.Left = len(r.list) - len(r.doc.Items); stopped != nil && len(r.doc.Items) == 0 {
		return r.p.explain(stopped)
	}
	if stopped == nil && r.r.all && r.r.category == "" && r.r.since == "" {
		r.clear(ctx)
	}
	if err := r.tell(); err != nil {
		return err
	}
	if stopped != nil {
		return fmt.Errorf("%w: %d of %d are done, the rest waits as before; the same command goes on with it", stopped, len(r.doc.Items), len(r.list))
	}
	return r.refusals()
}

// clear rids the dead-letter queue of what is over. That it fails is no failure of the redrive.
func (r *redrive) clear(ctx context.Context) {
	sum, err := tidied(ctx, r.c, client.Tidying{Native: true, Reason: r.r.reason})
	if err != nil {
		fmt.Fprintf(r.p.Stderr, "the dead-letter queue was not cleared: %v; later: %s\n", err, r.p.suggest("dlq tidy --reason TEXT"))
		return
	}
	r.doc.Letters = &sum
}

func (r *redrive) note(item text.Redrive) {
	if item.Events == nil {
		item.Events = []string{}
	}
	r.doc.Items = append(r.doc.Items, item)
	if item.Outcome == text.Refused {
		r.doc.Refused++
	} else {
		r.doc.Redriven++
	}
}

func (r *redrive) tell() error {
	p := r.p
	if p.json {
		return p.writeJSON(r.doc)
	}
	if len(r.list) == 0 {
		_, err := fmt.Fprintln(p.Stdout, "nothing in the review list is like that: nothing to redrive")
		return err
	}
	if err := text.Redrives(p.Stdout, r.doc.Items); err != nil {
		return err
	}
	for _, line := range text.FormerRecipes(r.doc.Items) {
		fmt.Fprintln(p.Stdout, line)
	}
	switch {
	case r.r.dryRun:
		fmt.Fprintf(p.Stdout, "\n%d would be redriven, at %s a second; without --dry-run it is done\n", r.doc.Redriven, strings.TrimSuffix(r.pace.String(), "/s"))
	case len(r.list) > 1:
		fmt.Fprintf(p.Stdout, "\n%d redriven, %d refused, %d left\n", r.doc.Redriven, r.doc.Refused, r.doc.Left)
	}
	switch {
	case r.doc.Letters != nil:
		fmt.Fprintln(p.Stdout, "dead-letter queue:", text.Tidied(*r.doc.Letters))
	case !r.r.dryRun && slices.ContainsFunc(r.doc.Items, told):
		fmt.Fprintf(p.Stdout, "letters of what was redriven stay in the dead-letter queue until: %s\n", p.suggest("dlq tidy --reason TEXT"))
	}
	return nil
}

// told tells whether the dead-letter queue was told of what is redriven by now: not of what a person had decided.
func told(item text.Redrive) bool {
	return item.Outcome == text.Redriven && item.Was != string(operation.Rejected) && item.Category != string(operation.CategoryCancelled)
}

// refusals makes the exit code: of what was chosen from the list, a refusal says that somebody was faster.
func (r *redrive) refusals() error {
	if !r.named || r.doc.Refused == 0 {
		return nil
	}
	return &failure{exitState, fmt.Errorf("%d of %d refused: they do not wait for this", r.doc.Refused, len(r.list))}
}
