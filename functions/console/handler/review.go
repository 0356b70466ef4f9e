package handler

import (
	"context"
	"strings"
	"time"

	"engang/shared/control"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/problem"
)

// reviewer is the part of the use case that decides with a person.
type reviewer interface {
	Review(ctx context.Context, scope object.Scope, f control.ReviewFilter, span control.Span) (control.List[control.Waiting], error)
	Approve(ctx context.Context, scope object.Scope, d control.Deciding) (control.Decided, error)
	Reject(ctx context.Context, scope object.Scope, d control.Deciding) (control.Decided, error)
	Dismiss(ctx context.Context, scope object.Scope, d control.Deciding) (control.Decided, error)
}

func (h *Handler) review(ctx context.Context, c call) (any, error) {
	if err := known(c, "tenant", "environment", "kind", "owner", "older", "after", "limit"); err != nil {
		return nil, err
	}
	f := control.ReviewFilter{Kind: c.query.Get("kind"), Owner: c.query.Get("owner")}
	if text := c.query.Get("older"); text != "" {
		var err error
		if f.Older, err = time.Parse(time.RFC3339, text); err != nil {
			return nil, &problem.QueryError{Parameter: "older", Want: "the time before which it began to wait, as RFC 3339 writes it"}
		}
	}
	scope, span, err := h.place(ctx, c)
	if err != nil {
		return nil, err
	}
	return h.desk.Review(ctx, scope, f, span)
}

func (h *Handler) approve(ctx context.Context, c call) (any, error) {
	scope, asked, err := h.asked(ctx, c)
	if err == nil {
		err = ofDraft(asked)
	}
	if err != nil {
		return nil, err
	}
	return h.desk.Approve(ctx, scope, asked)
}

func (h *Handler) reject(ctx context.Context, c call) (any, error) {
	scope, asked, err := h.asked(ctx, c)
	if err == nil {
		err = ofDraft(asked)
	}
	if err != nil {
		return nil, err
	}
	return h.desk.Reject(ctx, scope, asked)
}

func (h *Handler) dismiss(ctx context.Context, c call) (any, error) {
	scope, asked, err := h.asked(ctx, c)
	if err != nil {
		return nil, err
	}
	if asked.Digest != "" {
		return nil, &problem.QueryError{Parameter: "digest", Want: "none: a dismissal decides about no draft"}
	}
	return h.desk.Dismiss(ctx, scope, asked)
}

// ofDraft refuses what only a dismissal takes.
func ofDraft(d control.Deciding) error {
	if d.Seen != "" {
		return &problem.QueryError{Parameter: "seen", Want: "none: the digest says which draft was looked at"}
	}
	return nil
}

// asked reads what decision is asked for, to the last key.
func (h *Handler) asked(ctx context.Context, c call) (object.Scope, control.Deciding, error) {
	var in struct {
		ID            string `json:"id"`
		Digest        string `json:"digest"`
		Seen          string `json:"seen"`
		Reason        string `json:"reason"`
		AlthoughNewer bool   `json:"although_newer"`
	}
	if err := act(c, &in); err != nil {
		return object.Scope{}, control.Deciding{}, err
	}
	event, _, _ := strings.Cut(in.ID, "/") // of a conflict
	scope, err := h.scopeOf(ctx, c, event)
	return scope, control.Deciding{ID: in.ID, Digest: in.Digest, Seen: in.Seen, AlthoughNewer: in.AlthoughNewer, By: c.caller, Reason: in.Reason}, err
}

// Approve makes a draft the result.
func (s store) Approve(ctx context.Context, a operation.Approval) error {
	return reached(s.table.Approve(ctx, a))
}

// Reject refuses a draft.
func (s store) Reject(ctx context.Context, r operation.Rejection) error {
	return reached(s.table.Reject(ctx, r))
}

// SetAside takes a draft off the review list, since there is a newer result.
func (s store) SetAside(ctx context.Context, a operation.SettingAside) error {
	return reached(s.table.SetAside(ctx, a))
}

// Reviews lists what waits for a person.
func (s store) Reviews(ctx context.Context, after string, limit int) ([]operation.Waiting, string, error) {
	waiting, next, err := s.table.Reviews(ctx, after, limit)
	return waiting, next, reached(err)
}

// Dismiss takes a failed operation off the review list.
func (s store) Dismiss(ctx context.Context, d operation.Dismissal) error {
	return reached(s.table.Dismiss(ctx, d))
}

// DismissEvent takes a parked event, or a conflict of an event, off the review list.
func (s store) DismissEvent(ctx context.Context, d inbox.Dismissal) error {
	return reached(s.table.DismissEvent(ctx, d))
}
