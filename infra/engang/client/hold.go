package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"engang/shared/control"
)

// Cancel stops work that is not final, and says why.
func (c *Client) Cancel(ctx context.Context, id, reason string) (control.Cancellation, error) {
	var doc control.Cancellation
	return doc, c.tell(ctx, "cancel", map[string]string{"id": id, "reason": reason}, &doc)
}

// A Pausing says what is paused or resumed, and why.
type Pausing struct {
	Kind   string `json:"kind"`            // everything, endpoint, recipe or model
	Name   string `json:"name,omitempty"`  // of all but everything
	Until  string `json:"until,omitempty"` // RFC 3339; empty: until it is resumed
	Reason string `json:"reason"`
}

// Pauses asks for what is held.
func (c *Client) Pauses(ctx context.Context) (control.List[control.Hold], error) {
	var list control.List[control.Hold]
	return list, c.get(ctx, "pauses", nil, &list)
}

// Pause holds work.
func (c *Client) Pause(ctx context.Context, p Pausing) (control.Hold, error) {
	var doc control.Hold
	return doc, c.tell(ctx, "pause", p, &doc)
}

// Resume lets work go on.
func (c *Client) Resume(ctx context.Context, p Pausing) (control.Resumption, error) {
	var doc control.Resumption
	return doc, c.tell(ctx, "resume", p, &doc)
}

// Stats asks for the sums of a period, page by page.
func (c *Client) Stats(ctx context.Context, f Filter) (control.Stats, error) {
	var all control.Stats
	ask := Filter{"since": f["since"], "until": f["until"], "after": f["after"]}
	for {
		var page control.Stats
		if err := c.get(ctx, "stats", ask, &page); err != nil {
			return control.Stats{}, err
		}
		if all.Kind == "" {
			all = page
		} else {
			all.Add(page)
		}
		if ask["after"] = page.Next; page.Next == "" {
			return all, nil
		}
	}
}

// tell asks for an act.
func (c *Client) tell(ctx context.Context, path string, say, into any) error {
	body, err := json.Marshal(say)
	if err != nil {
		return fmt.Errorf("write call: %w", err)
	}
	return c.call(ctx, question{method: http.MethodPost, path: path, body: body}, into)
}
