package program

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"engang/infra/engang/client"
	"engang/infra/engang/text"
	"engang/shared/control"
)

type showing struct {
	endpoint, eventID, since, raw, reason string
	body, output                          bool
}

func (p *program) showCommand() *cobra.Command {
	var s showing
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show one thing with its timeline: an event, an object or an operation",
		Long: "ID is an event (evt_…, whole), an object (product:794) or an operation (product:794/product-card@3/9f2c, a unique beginning).\n" +
			"An event is also found as its sender knows it, with --endpoint and --event-id. Bodies and outputs are shown only when asked for; that needs a reason and is recorded.",
		Example: "  engang show product:794\n  engang show product:794/product-card@3/9f2c --output --reason \"customer asks\"\n  engang show evt_3k9a5xq7mz2bcd4f --raw delivered.json --reason \"capture for a test\"\n  engang show evt_3k9a5xq7mz2bcd4f --body --reason \"wrong price\"\n  engang show --endpoint crm --event-id msg_2pQ7 --since 30d",
		Args: func(cmd *cobra.Command, args []string) error {
			if (s.eventID != "") == (len(args) == 1) || len(args) > 1 || (s.eventID != "") != (s.endpoint != "") {
				return usage("say one ID, or --endpoint and --event-id")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return p.show(cmd.Context(), strings.Join(args, ""), s) },
	}
	f := cmd.Flags()
	f.StringVar(&s.endpoint, "endpoint", "", "with --event-id: the endpoint that took it")
	f.StringVar(&s.eventID, "event-id", "", "the event's id as its sender knows it")
	f.StringVar(&s.since, "since", "3d", "how far back an object's events are looked for")
	f.BoolVar(&s.body, "body", false, "also the body of each event, as it was delivered")
	f.BoolVar(&s.output, "output", false, "also the output of each operation")
	f.StringVar(&s.raw, "raw", "", "write the exact bytes of an event's body to this file (- for stdout)")
	f.StringVar(&s.reason, "reason", "", "why content is looked at; it is kept in the audit log")
	return cmd
}

func (p *program) show(ctx context.Context, id string, s showing) error {
	wanted := s.body || s.output || s.raw != ""
	if wanted && strings.TrimSpace(s.reason) == "" {
		return usage("looking at content is recorded: say why with --reason")
	}
	if s.raw == "-" && p.json {
		return usage("--raw - writes the bytes as they are: not with --json")
	}
	if _, err := os.Lstat(s.raw); s.raw != "" && s.raw != "-" && err == nil { // before anything is shown and recorded
		return usage("--raw %s: there is such a file; name another", s.raw)
	}
	since, err := text.ParseTime(s.since, p.Now())
	if err != nil {
		return usage("--since: %w", err)
	}
	c, err := p.connect(ctx)
	if err != nil {
		return err
	}
	doc, err := c.Show(ctx, client.Filter{"id": id, "endpoint": s.endpoint, "event_id": s.eventID, "since": since.UTC().Format(time.RFC3339)})
	if err != nil {
		return p.explain(err)
	}
	if s.raw != "" && doc.Event == nil {
		return usage("--raw writes the body of one event: name an event")
	}
	if wanted {
		if err := p.announce(ctx); err != nil {
			return err
		}
	}
	contents, err := reveal(ctx, c, doc, s)
	if err != nil {
		return p.explain(err)
	}
	if s.raw != "" {
		return p.writeRaw(s.raw, contents)
	}
	if p.json {
		return p.writeWith(doc, contents)
	}
	if err := p.clock().Show(p.Stdout, doc); err != nil {
		return err
	}
	return p.writeContents(contents)
}

// reveal fetches the content that was asked for, each look recorded on its own.
func reveal(ctx context.Context, c *client.Client, doc control.Any, s showing) ([]control.Content, error) {
	var ids []string
	if s.body || s.raw != "" {
		ids = append(ids, eventsOf(doc)...)
	}
	if s.output {
		ids = append(ids, withOutput(doc)...)
	}
	var all []control.Content
	for _, id := range ids {
		content, err := c.Reveal(ctx, id, s.reason)
		if err != nil {
			return nil, err
		}
		all = append(all, content)
	}
	return all, nil
}

func eventsOf(doc control.Any) []string {
	switch {
	case doc.Event != nil:
		return []string{doc.Event.ID}
	case doc.Operation != nil:
		return doc.Operation.Events
	}
	var ids []string
	for _, e := range doc.Object.Events {
		ids = append(ids, e.ID)
	}
	return ids
}

// withOutput are the operations of a document that have an output: those of a result, and drafts.
func withOutput(doc control.Any) []string {
	var ids []string
	add := func(o control.Operation) {
		if o.State == "completed" || o.Review != nil && o.Review.Digest != "" {
			ids = append(ids, o.ID)
		}
	}
	switch {
	case doc.Event != nil:
		return slices.Clone(doc.Event.Operations)
	case doc.Operation != nil:
		add(*doc.Operation)
	default:
		for _, o := range doc.Object.Operations {
			add(o)
		}
	}
	return ids
}

func (p *program) writeRaw(file string, contents []control.Content) error {
	body := contents[0].Body
	if file == "-" {
		_, err := p.bytes.Write(body)
		return err
	}
	out, err := newFile("--raw", file)
	if err != nil {
		return err
	}
	_, err = out.Write(body)
	if err = errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("write body: %w", errors.Join(err, os.Remove(file)))
	}
	if p.json {
		return p.writeJSON(map[string]any{"kind": "file", "file": file, "bytes": len(body)})
	}
	_, err = fmt.Fprintf(p.Stdout, "%s: %d bytes\n", file, len(body))
	return err
}

// writeWith writes a document with its contents in a field of their own.
func (p *program) writeWith(doc control.Any, contents []control.Content) error {
	if len(contents) == 0 {
		return p.writeJSON(doc)
	}
	raw, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	more, err := json.Marshal(contents)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.Stdout, "%s,\"content\":%s}\n", raw[:len(raw)-1], more)
	return err
}

func (p *program) writeContents(contents []control.Content) error {
	for _, c := range contents {
		fmt.Fprintf(p.Stdout, "\n%s of %s, %d bytes\n", c.Kind, c.ID, c.Bytes)
		raw := c.Body
		if c.Kind == "output" {
			raw = c.Output
		}
		var tidy bytes.Buffer // what is shown differs in white space alone from the bytes that are decided about
		if json.Indent(&tidy, raw, "  ", "  ") != nil {
			tidy.Reset()
			fmt.Fprintf(&tidy, "%q", raw) // nothing that a terminal would obey
		}
		if _, err := fmt.Fprintf(p.Stdout, "  %s\n", tidy.Bytes()); err != nil {
			return err
		}
	}
	return nil
}
