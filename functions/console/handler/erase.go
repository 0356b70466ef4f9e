package handler

import (
	"context"

	"engang/shared/control"
	"engang/shared/object"
)

// protecting is the part of the use case that shows and removes what is held of an object.
type protecting interface {
	Erase(ctx context.Context, scope object.Scope, e control.Erasure) (control.Erased, error)
	Export(ctx context.Context, scope object.Scope, e control.Exporting) (control.Export, error)
}

func (h *Handler) erase(ctx context.Context, c call) (any, error) {
	var in struct {
		Object string `json:"object"`
		Reason string `json:"reason"`
		DryRun bool   `json:"dry_run"`
		After  string `json:"after"`
	}
	if err := act(c, &in); err != nil {
		return nil, err
	}
	scope, id, err := h.held(ctx, c, in.Object)
	if err != nil {
		return nil, err
	}
	return h.desk.Erase(ctx, scope, control.Erasure{Object: id, By: c.caller, Reason: in.Reason, DryRun: in.DryRun, After: in.After})
}

func (h *Handler) export(ctx context.Context, c call) (any, error) {
	var in struct {
		Object string `json:"object"`
		Reason string `json:"reason"`
		After  string `json:"after"`
	}
	if err := act(c, &in); err != nil {
		return nil, err
	}
	scope, id, err := h.held(ctx, c, in.Object)
	if err != nil {
		return nil, err
	}
	return h.desk.Export(ctx, scope, control.Exporting{Object: id, By: c.caller, Reason: in.Reason, After: in.After})
}

// held reads which object of whom is meant.
func (h *Handler) held(ctx context.Context, c call, name string) (object.Scope, object.ID, error) {
	id, err := object.ParseID(name)
	if err != nil {
		return object.Scope{}, object.ID{}, err
	}
	scope, err := h.desk.Scope(ctx, named(c), "")
	return scope, id, err
}
