package handler

import (
	"context"
	"errors"

	"engang/shared/config"
	"engang/shared/control"
	"engang/shared/document"
	"engang/shared/object"
	"engang/shared/problem"
)

func (h *Handler) config(ctx context.Context, c call) (any, error) {
	if err := known(c, "tenant", "environment"); err != nil {
		return nil, err
	}
	scope, err := h.desk.Scope(ctx, named(c), "")
	if err != nil {
		return nil, err
	}
	return h.desk.Config(ctx, scope)
}

func (h *Handler) plan(ctx context.Context, c call) (any, error) {
	in, err := proposed(c)
	if err != nil {
		return nil, err
	}
	if in.Revision != nil {
		return nil, &problem.QueryError{Parameter: "revision", Want: "none: a plan says the live one"}
	}
	return h.desk.Plan(ctx, control.Proposal{Set: in.Set, AllowModelChange: in.AllowModelChange, By: c.caller})
}

func (h *Handler) apply(ctx context.Context, c call) (any, error) {
	in, err := proposed(c)
	if err != nil {
		return nil, err
	}
	if in.Revision == nil || *in.Revision < 0 {
		return nil, &problem.QueryError{Parameter: "revision", Want: "that of the plan which was looked at"}
	}
	return h.desk.Apply(ctx, control.Proposal{Set: in.Set, AllowModelChange: in.AllowModelChange, Seen: *in.Revision, By: c.caller})
}

// A proposal is the body of a call that plans or applies.
type proposal struct {
	Set              config.Set `json:"set"`
	AllowModelChange bool       `json:"allow_model_change"`
	Revision         *int       `json:"revision"`
}

// proposed reads a configuration to the last key: what this version does not know must not be lost in
// silence.
func proposed(c call) (proposal, error) {
	var in proposal
	if err := known(c, "tenant", "environment"); err != nil {
		return in, err
	}
	err := document.Unmarshal(c.body, &in)
	if errors.Is(err, document.ErrMalformed) {
		return in, err
	}
	if err != nil {
		return in, &problem.QueryError{Parameter: "set", Want: "a configuration of this version's form (program and stack may be of different versions)"}
	}
	if n := named(c); n != (object.Scope{}) && n != in.Set.Scope {
		return in, &problem.QueryError{Parameter: "tenant and environment", Want: "what the configuration itself says, or nothing"}
	}
	return in, nil
}
