package handler

import (
	"context"
	"fmt"
	"time"

	"engang/shared/config"
	"engang/shared/control"
	"engang/shared/document"
	"engang/shared/object"
	"engang/shared/problem"
)

func (h *Handler) replay(ctx context.Context, c call) (any, error) {
	var in struct {
		Since    time.Time `json:"since"`
		Until    time.Time `json:"until"`
		Endpoint string    `json:"endpoint"`
		Object   string    `json:"object"`
		Recipe   string    `json:"recipe"`
		After    string    `json:"after"`
		Limit    int       `json:"limit"`
		Runs     int       `json:"runs"`
		DryRun   bool      `json:"dry_run"`
		Reason   string    `json:"reason"`
	}
	if err := act(c, &in); err != nil {
		return nil, err
	}
	for name, n := range map[string]struct{ is, most int }{"limit": {in.Limit, control.MaxLimit}, "runs": {in.Runs, control.MaxRuns}} {
		if n.is < 0 || n.is > n.most {
			return nil, &problem.QueryError{Parameter: name, Want: fmt.Sprintf("a number from 1 to %d", n.most)}
		}
	}
	scope, err := h.desk.Scope(ctx, named(c), in.Endpoint)
	if err != nil {
		return nil, err
	}
	return h.desk.Replay(ctx, scope, control.Replaying{
		Span:     control.Span{Since: in.Since, Until: in.Until, After: in.After, Limit: in.Limit},
		Endpoint: in.Endpoint, Object: in.Object, Recipe: in.Recipe, Runs: in.Runs, DryRun: in.DryRun, By: c.caller, Reason: in.Reason,
	})
}

// act reads the body of an act, to the last key: what this version does not know must not be overlooked.
func act(c call, into any) error {
	if err := known(c, "tenant", "environment"); err != nil {
		return err
	}
	if err := document.Unmarshal(c.body, into); err != nil {
		return fmt.Errorf("read call: %w: %w", problem.ErrMalformed, err)
	}
	return nil
}

// Pointer reads which versions are live.
func (e endpoints) Pointer(ctx context.Context, scope object.Scope) (config.Pointer, error) {
	p, err := e.cache.Pointer(ctx, scope)
	return p, reached(err)
}
