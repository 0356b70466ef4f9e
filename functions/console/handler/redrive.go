package handler

import (
	"context"
	"time"

	"engang/shared/control"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/queue"
)

// reopening is the part of the use case that has work done again.
type reopening interface {
	Redrive(ctx context.Context, scope object.Scope, r control.Redriving) (control.Redriven, error)
	Letters(ctx context.Context, scope object.Scope, after string) (control.List[control.Letter], error)
	Tidy(ctx context.Context, scope object.Scope, t control.Tidying) (control.Tidied, error)
	Replay(ctx context.Context, scope object.Scope, r control.Replaying) (control.Replayed, error)
}

func (h *Handler) redrive(ctx context.Context, c call) (any, error) {
	var in struct {
		ID     string `json:"id"`
		Listed bool   `json:"listed"`
		Reason string `json:"reason"`
	}
	if err := act(c, &in); err != nil {
		return nil, err
	}
	scope, err := h.scopeOf(ctx, c, in.ID)
	if err != nil {
		return nil, err
	}
	return h.desk.Redrive(ctx, scope, control.Redriving{ID: in.ID, Listed: in.Listed, By: c.caller, Reason: in.Reason})
}

// scopeOf finds whose a named thing is: an event says it by itself.
func (h *Handler) scopeOf(ctx context.Context, c call, id string) (object.Scope, error) {
	if inbox.IsEventID(id) && named(c) == (object.Scope{}) {
		return h.desk.ScopeOf(ctx, inbox.EventID(id))
	}
	return h.desk.Scope(ctx, named(c), "")
}

// Event reads one event.
func (s store) Event(ctx context.Context, id inbox.EventID) (inbox.Event, error) {
	e, err := s.table.Event(ctx, id)
	return e, reached(err)
}

// Operation reads one operation.
func (s store) Operation(ctx context.Context, key operation.Key) (operation.Operation, error) {
	o, err := s.table.Operation(ctx, key)
	return o, reached(err)
}

// Redrive opens an operation again, and its event with it.
func (s store) Redrive(ctx context.Context, r operation.Redrive) error {
	return reached(s.table.Redrive(ctx, r))
}

// Reopen opens an event again that was parked without an operation.
func (s store) Reopen(ctx context.Context, id inbox.EventID, due time.Time) error {
	return reached(s.table.Reopen(ctx, id, due))
}

// Replay opens a settled event again, under raised recipes.
func (s store) Replay(ctx context.Context, id inbox.EventID, former, raised []inbox.RecipeRef, due time.Time) error {
	return reached(s.table.Replay(ctx, id, former, raised, due))
}

// work is the work queue as the use case sees it.
type work struct{ queue *queue.Queue }

// Send enqueues a reference of an event.
func (w work) Send(ctx context.Context, ref inbox.Reference) error {
	return reached(w.queue.Send(ctx, ref))
}
