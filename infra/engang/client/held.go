package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"engang/shared/control"
)

// A Held names the object whose data is erased or exported, and says why.
type Held struct {
	Object string `json:"object"`
	Reason string `json:"reason,omitempty"`
	DryRun bool   `json:"dry_run,omitempty"` // of an erasure: only count
	After  string `json:"after,omitempty"`   // next of the answer before
}

// Erase makes one call of an erasure. It may be repeated.
func (c *Client) Erase(ctx context.Context, h Held) (control.Erased, error) {
	var doc control.Erased
	return doc, c.held(ctx, "erase", h, &doc)
}

// Export asks for one page of everything that is held.
func (c *Client) Export(ctx context.Context, h Held) (control.Export, error) {
	var doc control.Export
	return doc, c.held(ctx, "export", h, &doc)
}

func (c *Client) held(ctx context.Context, path string, h Held, into any) error {
	body, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("write call: %w", err)
	}
	return c.call(ctx, question{method: http.MethodPost, path: path, body: body}, into)
}
