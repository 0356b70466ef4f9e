package handler

import (
	"context"
	"errors"
	"time"

	"engang/shared/config"
	"engang/shared/control"
	"engang/shared/object"
	"engang/shared/pause"
	"engang/shared/problem"
)

// holder pauses and resumes.
type holder interface {
	Pauses(ctx context.Context, scope object.Scope) (control.List[control.Hold], error)
	Pause(ctx context.Context, p control.Pausing) (control.Hold, error)
	Resume(ctx context.Context, p control.Pausing) (control.Resumption, error)
}

func (h *Handler) pauses(ctx context.Context, c call) (any, error) {
	if err := known(c, "tenant", "environment"); err != nil {
		return nil, err
	}
	scope, err := h.desk.Scope(ctx, named(c), "")
	if err != nil {
		return nil, err
	}
	return h.desk.Pauses(ctx, scope)
}

func (h *Handler) pause(ctx context.Context, c call) (any, error) {
	p, err := h.pausing(ctx, c)
	if err != nil {
		return nil, err
	}
	return h.desk.Pause(ctx, p)
}

func (h *Handler) resume(ctx context.Context, c call) (any, error) {
	p, err := h.pausing(ctx, c)
	if err != nil {
		return nil, err
	}
	if !p.Until.IsZero() {
		return nil, &problem.QueryError{Parameter: "until", Want: "none: a pause is resumed at once"}
	}
	return h.desk.Resume(ctx, p)
}

// pausing reads what is to be paused or resumed.
func (h *Handler) pausing(ctx context.Context, c call) (control.Pausing, error) {
	var in struct {
		Kind   string `json:"kind"`
		Name   string `json:"name"`
		Until  string `json:"until"`
		Reason string `json:"reason"`
	}
	p := control.Pausing{By: c.caller}
	err := act(c, &in)
	if err != nil {
		return p, err
	}
	p.Target.Name, p.Reason = in.Name, in.Reason
	if p.Target.Kind, err = pause.ParseKind(in.Kind); err != nil {
		return p, &problem.QueryError{Parameter: "kind", Want: "everything, endpoint, recipe or model"}
	}
	if in.Until != "" {
		if p.Until, err = time.Parse(time.RFC3339, in.Until); err != nil {
			return p, &problem.QueryError{Parameter: "until", Want: "a time as RFC 3339 writes it"}
		}
	}
	p.Target.Scope, err = h.scopeOfTarget(ctx, c, p.Target)
	return p, err
}

// scopeOfTarget is the tenant and environment that is named, else that of the endpoint. An endpoint that is not
// configured any more says nothing, and can be resumed all the same.
func (h *Handler) scopeOfTarget(ctx context.Context, c call, t pause.Target) (object.Scope, error) {
	if t.Kind == pause.Endpoint {
		if scope, err := h.desk.Scope(ctx, named(c), t.Name); !errors.Is(err, config.ErrUnknown) {
			return scope, err
		}
	}
	return h.desk.Scope(ctx, named(c), "")
}

// Pauses reads all pauses.
func (s store) Pauses(ctx context.Context) (pause.Pauses, error) {
	all, err := s.table.Pauses(ctx)
	return all, reached(err)
}

// PutPause stores a pause.
func (s store) PutPause(ctx context.Context, p pause.Pause) error {
	return reached(s.table.PutPause(ctx, p))
}

// RemovePause removes a pause.
func (s store) RemovePause(ctx context.Context, t pause.Target) error {
	return reached(s.table.RemovePause(ctx, t))
}

// Breaker reads the breaker of a model.
func (s store) Breaker(ctx context.Context, m pause.Model) (pause.Breaker, error) {
	b, err := s.table.Breaker(ctx, m)
	return b, reached(err)
}

// CloseBreaker closes the breaker of a model.
func (s store) CloseBreaker(ctx context.Context, c pause.Closing) error {
	return reached(s.table.CloseBreaker(ctx, c))
}
