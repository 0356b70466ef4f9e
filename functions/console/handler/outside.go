package handler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"engang/shared/audit"
	"engang/shared/bodies"
	"engang/shared/config"
	"engang/shared/control"
	"engang/shared/dynamo"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/pause"
	"engang/shared/problem"
	"engang/shared/recipe/compiled"
)

// answers are what something outside says where it was reached and did not do what it was asked for.
var answers = []error{
	inbox.ErrNotFound, inbox.ErrStale, operation.ErrNotFound, operation.ErrRefused, operation.ErrNewerResult, pause.ErrStale, pause.ErrLonger, config.ErrUnknown, config.ErrChanged, audit.ErrOther,
	dynamo.ErrTooLarge, bodies.ErrDamaged, config.ErrUnreadable, // a repeat meets the same
}

// reached says that something outside could not be had, unless it answered that there is no such thing, another
// one, or one that stands otherwise, or that it will never do what it was asked for.
func reached(err error) error {
	switch {
	case err == nil || slices.ContainsFunc(answers, func(known error) bool { return errors.Is(err, known) }):
		return err
	case useless(err):
		return fmt.Errorf("%w: %w", problem.ErrFinal, err)
	}
	return fmt.Errorf("%w: %w", problem.ErrUnavailable, err)
}

// useless tells whether a service of AWS says that the call itself is wrong, or that what it names is not there (an
// index is the former, a table the latter), so that a repeat meets the same. That it lets nobody in is not of it: rights
// are given while callers wait.
func useless(err error) bool {
	e, ok := errors.AsType[interface {
		error
		ErrorCode() string
	}](err)
	return ok && (e.ErrorCode() == "ValidationException" || e.ErrorCode() == "ResourceNotFoundException")
}

// store is the table as the use case sees it.
type store struct{ table *dynamo.Table }

// Deliveries reads an event with what was counted beside it.
func (s store) Deliveries(ctx context.Context, id inbox.EventID) (inbox.Event, inbox.Seen, []inbox.Conflict, error) {
	e, seen, conflicts, err := s.table.Deliveries(ctx, id)
	return e, seen, conflicts, reached(err)
}

// Object reads everything that is kept of an object.
func (s store) Object(ctx context.Context, scope object.Scope, id object.ID) ([]operation.Operation, []operation.Losing, []operation.Result, error) {
	ops, losing, results, err := s.table.Object(ctx, scope, id)
	return ops, losing, results, reached(err)
}

// Listed lists the events of a day.
func (s store) Listed(ctx context.Context, scope object.Scope, day time.Time, after string, limit int) ([]inbox.EventID, string, error) {
	ids, next, err := s.table.Listed(ctx, scope, day, dynamo.Page{After: after, Limit: limit})
	return ids, next, reached(err)
}

// Acts lists the acts of a day.
func (s store) Acts(ctx context.Context, scope object.Scope, day time.Time, after string, limit int) ([]audit.Entry, string, error) {
	acts, next, err := s.table.Acts(ctx, scope, day, dynamo.Page{After: after, Limit: limit})
	return acts, next, reached(err)
}

// Scopes lists the tenants and environments that have an endpoint.
func (s store) Scopes(ctx context.Context) ([]object.Scope, error) {
	all, err := s.table.Scopes(ctx)
	return all, reached(err)
}

// Audit records an act.
func (s store) Audit(ctx context.Context, e audit.Entry) error { return reached(s.table.Audit(ctx, e)) }

// endpoints is the applied configuration as the use case sees it.
type endpoints struct {
	cache config.Recipes[*compiled.Recipe]
}

// Endpoint reads what is configured for an address.
func (e endpoints) Endpoint(ctx context.Context, name string) (config.Endpoint, config.Pointer, error) {
	found, pointer, err := e.cache.Endpoint(ctx, name)
	return found, pointer, reached(err)
}

// Common reads what the endpoints of a scope share.
func (e endpoints) Common(ctx context.Context, scope object.Scope) (config.Common, error) {
	common, err := e.cache.Common(ctx, scope)
	return common, reached(err)
}

// Recipe reads one version of a recipe.
func (e endpoints) Recipe(ctx context.Context, scope object.Scope, ref inbox.RecipeRef) (*compiled.Recipe, error) {
	r, err := e.cache.Recipe(ctx, scope, ref)
	return r, reached(err)
}

// configs is where configuration is kept, as the use case sees it.
type configs struct{ table *dynamo.Table }

// Address reads whose an address is.
func (c configs) Address(ctx context.Context, name string) (object.Scope, error) {
	scope, err := c.table.Address(ctx, name)
	return scope, reached(err)
}

// Pointer reads which versions are live.
func (c configs) Pointer(ctx context.Context, scope object.Scope) (config.Pointer, error) {
	p, err := c.table.Pointer(ctx, scope)
	return p, reached(err)
}

// Version reads one version of a part.
func (c configs) Version(ctx context.Context, scope object.Scope, kind, name string, version int) ([]byte, error) {
	raw, err := c.table.Version(ctx, scope, kind, name, version)
	return raw, reached(err)
}

// ClaimAddress gives an address to a tenant and environment, for good.
func (c configs) ClaimAddress(ctx context.Context, name string, scope object.Scope) error {
	return reached(c.table.ClaimAddress(ctx, name, scope))
}

// PutVersion stores one version of a part.
func (c configs) PutVersion(ctx context.Context, v config.Version) error {
	return reached(c.table.PutVersion(ctx, v))
}

// MovePointer makes other versions live.
func (c configs) MovePointer(ctx context.Context, scope object.Scope, seenRevision int, p config.Pointer, writeID string) error {
	return reached(c.table.MovePointer(ctx, scope, seenRevision, p, writeID))
}

// bucket is where big bodies are, as the use case sees it.
type bucket struct{ bodies *bodies.Bucket }

// Read reads the exact bytes of a delivery.
func (b bucket) Read(ctx context.Context, body inbox.Body) ([]byte, error) {
	raw, err := b.bodies.Read(ctx, body)
	if errors.Is(err, bodies.ErrGone) {
		return nil, fmt.Errorf("%w: %w", control.ErrGone, err)
	}
	return raw, reached(err)
}

// Erase removes every body that was kept for an event.
func (b bucket) Erase(ctx context.Context, event inbox.EventID) (int, error) {
	n, err := b.bodies.Erase(ctx, event)
	return n, reached(err)
}
