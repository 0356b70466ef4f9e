package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"engang/shared/control"
)

// A Redriving asks to have one thing done again that was set aside.
type Redriving struct {
	ID     string `json:"id"`
	Listed bool   `json:"listed,omitempty"` // only if it still stands in the review list
	Reason string `json:"reason"`
}

// Redrive opens a failed or rejected operation again, or a parked event.
func (c *Client) Redrive(ctx context.Context, r Redriving) (control.Redriven, error) {
	var doc control.Redriven
	return doc, c.act(ctx, "redrive", r, &doc)
}

// Letters asks for one page of the dead-letter queue.
func (c *Client) Letters(ctx context.Context, after string) (control.List[control.Letter], error) {
	var list control.List[control.Letter]
	return list, c.get(ctx, "dlq", Filter{"after": after}, &list)
}

// A Tidying asks to clear one page of the dead-letter queue.
type Tidying struct {
	Native bool   `json:"native,omitempty"`
	After  string `json:"after,omitempty"`
	Reason string `json:"reason"`
}

// Tidy deletes letters that nothing waits for.
func (c *Client) Tidy(ctx context.Context, t Tidying) (control.Tidied, error) {
	var doc control.Tidied
	return doc, c.act(ctx, "dlq/tidy", t, &doc)
}

// A Replaying asks for one page of a replay.
type Replaying struct {
	Since    time.Time `json:"since,omitzero"`
	Until    time.Time `json:"until,omitzero"`
	Endpoint string    `json:"endpoint,omitempty"`
	Object   string    `json:"object,omitempty"`
	Recipe   string    `json:"recipe,omitempty"`
	After    string    `json:"after,omitempty"`
	Runs     int       `json:"runs,omitempty"` // most events that the page opens
	DryRun   bool      `json:"dry_run,omitempty"`
	Reason   string    `json:"reason,omitempty"`
}

// Replay runs one page of events again.
func (c *Client) Replay(ctx context.Context, r Replaying) (control.Replayed, error) {
	var doc control.Replayed
	return doc, c.act(ctx, "replay", r, &doc)
}

// act asks for an act. Where the gateway has no room for it, nothing was done, and it is asked for again for a
// while; every other answer is the caller's to judge.
func (c *Client) act(ctx context.Context, path string, in, into any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("write call: %w", err)
	}
	for pause := 250 * time.Millisecond; ; pause *= 2 {
		err := c.call(ctx, question{method: http.MethodPost, path: path, body: body}, into)
		throttled, ok := errors.AsType[*Problem](err)
		if !ok || throttled.Status != http.StatusTooManyRequests || pause > 4*time.Second {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}
