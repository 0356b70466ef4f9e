package program

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"engang/infra/engang/client"
	"engang/infra/engang/text"
	"engang/shared/control"
)

// maxLetterPages is how many pages of letters are looked through: what was seen stays hidden meanwhile, and not
// longer than that takes.
const maxLetterPages = 20

type lettersAsked struct {
	category, since string
	limit           int
}

func (p *program) dlqCommand() *cobra.Command {
	var l lettersAsked
	cmd := &cobra.Command{
		Use: "dlq", Short: "List the dead-letter queue, with what became of what each letter tells of", Args: noArguments,
		Long: "dlq looks through the dead-letter queue; the letters stay there. A letter is a notice of parked work with its reason, or a message that the queue itself set aside because it was received too often: that one is not lost, its event is open. " +
			"A letter is only a signal, and leaves the queue after its retention period; what still waits is in the review list.",
		Example: "  engang dlq\n  engang dlq --category \"unusable output\" --since 3d --limit 10",
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.dlq(cmd.Context(), l) },
	}
	f := cmd.Flags()
	f.StringVar(&l.category, "category", "", "only with this category of failure")
	f.StringVar(&l.since, "since", "", "only what was sent since then: RFC 3339, or how long ago (2h, 3d)")
	f.IntVar(&l.limit, "limit", control.DefaultLimit, "list at most so many, the newest first")
	var reason string
	tidy := &cobra.Command{
		Use: "tidy", Short: "Delete letters that nothing waits for, and send again what the queue itself set aside", Args: noArguments,
		Long: "tidy deletes letters whose failure is over: redriven, decided, or not kept any more. A message that the queue set aside goes back to the work queue first, if its event is still open. " +
			"What still stands failed or parked is left, and so is what engang did not write.",
		Example: "  engang dlq tidy --reason \"after the outage\"",
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.tidy(cmd.Context(), reason) },
	}
	tidy.Flags().StringVar(&reason, "reason", "", "why; it is kept in the audit log")
	cmd.AddCommand(tidy)
	return cmd
}

func (p *program) dlq(ctx context.Context, l lettersAsked) error {
	if l.limit < 1 {
		return usage("--limit %d: list at least one", l.limit)
	}
	if err := aCategory(l.category); err != nil {
		return err
	}
	var since time.Time
	if l.since != "" {
		var err error
		if since, err = text.ParseTime(l.since, p.Now()); err != nil {
			return usage("--since: %w", err)
		}
	}
	c, err := p.connect(ctx)
	if err != nil {
		return err
	}
	all, more, err := letters(ctx, c)
	if err != nil {
		return p.explain(err)
	}
	seen := len(all)
	all = slices.DeleteFunc(all, func(x control.Letter) bool {
		return l.category != "" && x.Category != l.category || !since.IsZero() && (x.SentAt == nil || x.SentAt.Before(since))
	})
	left := max(len(all)-l.limit, 0)
	return p.writeLetters(letterList{shown: all[:len(all)-left], chosen: all, seen: seen, more: more})
}

// aCategory refuses a word that no failure has.
func aCategory(word string) error {
	if word == "" || slices.Contains(control.Categories(), word) {
		return nil
	}
	return usage("--category %q: one of %s", word, strings.Join(control.Categories(), ", "))
}

// A letterList is what was found in the dead-letter queue.
type letterList struct {
	shown, chosen []control.Letter
	seen          int  // in the queue
	more          bool // not all were looked at
}

func (p *program) writeLetters(l letterList) error {
	if p.json {
		return p.writeJSON(control.List[control.Letter]{Items: append([]control.Letter{}, l.shown...)})
	}
	switch {
	case l.seen == 0:
		_, err := fmt.Fprintln(p.Stdout, "no letters: the dead-letter queue is empty")
		return err
	case len(l.chosen) == 0:
		_, err := fmt.Fprintf(p.Stdout, "none of %s in the dead-letter queue is like that\n", text.Count(l.seen, "letter", "letters"))
		return err
	}
	if err := p.clock().Letters(p.Stdout, l.shown); err != nil {
		return err
	}
	fmt.Fprintf(p.Stdout, "\n%s\n", text.LetterCount(l.chosen))
	if l.more {
		fmt.Fprintln(p.Stdout, "and more that were not looked at")
	}
	if slices.ContainsFunc(l.chosen, func(x control.Letter) bool {
		return x.Standing == control.LetterFailed || x.Standing == control.LetterParked
	}) {
		fmt.Fprintf(p.Stdout, "what still waits is done again with: %s\n", p.suggest("redrive ID --reason TEXT"))
	}
	if slices.ContainsFunc(l.chosen, func(x control.Letter) bool { return x.Over || x.Standing == control.LetterNative }) {
		fmt.Fprintf(p.Stdout, "what nothing waits for is cleared away with: %s\n", p.suggest("dlq tidy --reason TEXT"))
	}
	return nil
}

// letters goes through the pages of the dead-letter queue. A standard queue may give a letter twice.
func letters(ctx context.Context, c *client.Client) (all []control.Letter, more bool, err error) {
	seen := map[string]bool{}
	after := ""
	for range maxLetterPages {
		page, err := c.Letters(ctx, after)
		if err != nil {
			return nil, false, err
		}
		for _, l := range page.Items {
			if !seen[l.ID] {
				seen[l.ID], all = true, append(all, l)
			}
		}
		if after = page.Next; after == "" {
			break
		}
	}
	slices.SortStableFunc(all, func(a, b control.Letter) int { return sentAt(b).Compare(sentAt(a)) })
	return all, after != "", nil
}

func sentAt(l control.Letter) time.Time {
	if l.SentAt == nil {
		return time.Time{}
	}
	return *l.SentAt
}

func (p *program) tidy(ctx context.Context, reason string) error {
	if strings.TrimSpace(reason) == "" {
		return usage("tidying is recorded: say why with --reason")
	}
	c, err := p.connectToAct(ctx)
	if err != nil {
		return err
	}
	sum, err := tidied(ctx, c, client.Tidying{Native: true, Reason: reason})
	if err != nil {
		return p.explain(err)
	}
	if p.json {
		return p.writeJSON(sum)
	}
	_, err = fmt.Fprintln(p.Stdout, text.Tidied(sum))
	return err
}

// tidied clears the dead-letter queue page by page.
func tidied(ctx context.Context, c *client.Client, t client.Tidying) (control.Tidied, error) {
	sum := control.Tidied{Kind: "tidied"}
	for {
		page, err := c.Tidy(ctx, t)
		if err != nil {
			return sum, err
		}
		sum.Letters, sum.Sent, sum.Deleted, sum.Left = sum.Letters+page.Letters, sum.Sent+page.Sent, sum.Deleted+page.Deleted, sum.Left+page.Left
		if t.After = page.Next; t.After == "" || ctx.Err() != nil {
			return sum, nil
		}
	}
}
