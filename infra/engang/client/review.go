package client

import (
	"context"

	"engang/shared/control"
)

// NewerDraft is the type of the problem that a newer draft of the object waits.
const NewerDraft = "urn:engang:problem:newer-draft"

// A Decision is what a person decides about something that waits.
type Decision struct {
	ID            string `json:"id"`
	Digest        string `json:"digest,omitempty"` // of the draft that was looked at
	Seen          string `json:"seen,omitempty"`   // which failure was looked at
	Reason        string `json:"reason"`
	AlthoughNewer bool   `json:"although_newer,omitempty"`
}

// Review asks for one page of what waits for a person.
func (c *Client) Review(ctx context.Context, f Filter) (control.List[control.Waiting], error) {
	var list control.List[control.Waiting]
	return list, c.get(ctx, "review", f, &list)
}

// Approve makes a draft the result.
func (c *Client) Approve(ctx context.Context, d Decision) (control.Decided, error) {
	return c.decide(ctx, "review/approve", d)
}

// Reject refuses a draft.
func (c *Client) Reject(ctx context.Context, d Decision) (control.Decided, error) {
	return c.decide(ctx, "review/reject", d)
}

// Dismiss takes what failed, is parked or in conflict off the review list.
func (c *Client) Dismiss(ctx context.Context, d Decision) (control.Decided, error) {
	return c.decide(ctx, "review/dismiss", d)
}

func (c *Client) decide(ctx context.Context, path string, d Decision) (control.Decided, error) {
	var done control.Decided
	return done, c.act(ctx, path, d, &done)
}
