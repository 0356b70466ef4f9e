package program

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"engang/infra/engang/client"
	"engang/infra/engang/text"
	"engang/shared/control"
)

type exporting struct{ object, reason, out string }

func (p *program) exportCommand() *cobra.Command {
	var e exporting
	cmd := &cobra.Command{
		Use: "export", Short: "Write everything that is held of an object as one JSON document", Args: noArguments,
		Long: "The document holds the object's events with their bodies, its operations with attempts, decisions and outputs, its results, what they are used for and who was sent something of it. " +
			"It is shown to nobody without a reason, which is recorded. A file is made for you alone (mode 0600), and never written over another.",
		Example: "  engang export --object customer:17 --reason \"a request for access\" --out customer-17.json\n  engang export --object product:794 --reason \"what is known of it\"",
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.export(cmd.Context(), e) },
	}
	f := cmd.Flags()
	f.StringVar(&e.object, "object", "", "what is exported (product:794)")
	f.StringVar(&e.reason, "reason", "", "why; it is kept in the audit log")
	f.StringVar(&e.out, "out", "", "write to this file, which must not exist (default: standard output)")
	return cmd
}

// An exportDoc is all pages of an export in one. Bodies that are JSON stand in it as such.
type exportDoc struct {
	control.Export
	Events []exportedEvent `json:"events"`
	Next   string          `json:"next,omitempty"` // of no page: there are none
}

type exportedEvent struct {
	Event  control.Event   `json:"event"`
	Body   json.RawMessage `json:"body,omitempty"`
	Binary []byte          `json:"body_base64,omitempty"` // of a body that is no JSON
}

func (p *program) export(ctx context.Context, e exporting) error {
	if err := held(e.object, e.reason, "an export"); err != nil {
		return err
	}
	c, err := p.connectToAct(ctx)
	if err != nil {
		return err
	}
	to, done, err := p.exportTo(e.out)
	if err != nil {
		return err
	}
	doc, err := exportAll(ctx, c, client.Held{Object: e.object, Reason: e.reason})
	switch {
	case err != nil && ctx.Err() != nil:
		err = fmt.Errorf("%w: nothing was written; the same command begins again", errInterrupted)
	case err == nil && len(doc.Events)+len(doc.Operations)+len(doc.Results) == 0:
		err = nothingHeld(e.object)
	case err == nil:
		err = writeExport(to, doc)
	}
	if err := done(err); err != nil {
		return p.explain(err)
	}
	if e.out == "" {
		return nil
	}
	if p.json {
		return p.writeJSON(map[string]any{"kind": "file", "file": e.out, "bytes": to.n})
	}
	_, err = fmt.Fprintf(p.Stdout, "%s: %s, %s, %s of %s\n", e.out, text.Count(len(doc.Events), "event", "events"),
		text.Count(len(doc.Operations), "operation", "operations"), text.Count(len(doc.Results), "result", "results"), e.object)
	return err
}

// exportTo opens the file before anything is asked for. One that came to no end is removed.
func (p *program) exportTo(name string) (*counter, func(error) error, error) {
	if name == "" {
		return &counter{to: guard{p.bytes, func() bool { return true }}}, func(err error) error { return err }, nil
	}
	f, err := newFile("--out", name)
	if err != nil {
		return nil, nil, err
	}
	return &counter{to: f}, func(err error) error {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, os.Remove(name))
		}
		return err
	}, nil
}

// newFile makes the file that a flag names. Nothing is written over: it may be somebody's only copy.
func newFile(flag, name string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Clean(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, usage("%s %s: there is such a file; name another", flag, name)
	}
	if err != nil {
		return nil, usage("%s: %w", flag, err)
	}
	return f, nil
}

// A counter counts what it passes on.
type counter struct {
	to io.Writer
	n  int
}

// Write passes b on.
func (c *counter) Write(b []byte) (int, error) {
	n, err := c.to.Write(b)
	c.n += n
	return n, err
}

// exportAll asks for page after page.
func exportAll(ctx context.Context, c *client.Client, h client.Held) (exportDoc, error) {
	doc := exportDoc{Events: []exportedEvent{}}
	for {
		page, err := c.Export(ctx, h)
		if err != nil {
			return doc, err
		}
		if h.After == "" {
			doc.Export = page
		} else {
			doc.Operations, doc.Results = append(doc.Operations, page.Operations...), append(doc.Results, page.Results...)
			doc.Acts = append(doc.Acts, page.Acts...)
		}
		for _, e := range page.Events {
			doc.Events = append(doc.Events, exported(e))
		}
		if h.After = page.Next; h.After == "" {
			return doc, nil
		}
	}
}

func exported(e control.HeldEvent) exportedEvent {
	if json.Valid(e.Body) {
		return exportedEvent{Event: e.Event, Body: e.Body}
	}
	return exportedEvent{Event: e.Event, Binary: e.Body}
}

func writeExport(w io.Writer, doc exportDoc) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(doc); err != nil {
		return fmt.Errorf("write export: %w", err)
	}
	_, err := w.Write(b.Bytes())
	return err
}
