// Package control is what the operator program and the console do through the HTTP API: look at events,
// operations and objects, see content, and apply configurations. The last two leave an entry in the audit
// log.
//
// Every answer is one of this package's documents ([Event], [Operation], [Object], [Endpoint], …), whose
// JSON is what callers see: fields are added, never renamed. No document holds a payload or an output;
// those come from [Control.Reveal] alone.
package control

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"engang/shared/audit"
	"engang/shared/config"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/recipe/compiled"
)

// ErrAmbiguous says that the beginning of an operation's name fits several.
var ErrAmbiguous = errors.New("several operations begin like this")

// ErrScope says that no tenant and environment was named, and it is not clear which is meant.
var ErrScope = errors.New("tenant and environment are not clear")

// A ScopeError says which tenants and environments may be meant.
type ScopeError struct{ Fit []object.Scope }

// Error names the first of them.
func (e *ScopeError) Error() string {
	const most = 20
	var names []string
	for _, s := range e.Fit[:min(len(e.Fit), most)] {
		names = append(names, s.String())
	}
	if more := len(e.Fit) - most; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("%v: one of %s", ErrScope, strings.Join(names, ", "))
}

// Is makes errors.Is(err, ErrScope) true.
func (e *ScopeError) Is(target error) bool { return target == ErrScope }

// ErrReason says that an act that is recorded was asked for without a reason.
var ErrReason = errors.New("a reason is needed")

// ErrGone says that the content is not kept any more.
var ErrGone = errors.New("the content is not kept any more")

// Store is the table, as far as looking at it goes.
type Store interface {
	Deliveries(ctx context.Context, id inbox.EventID) (inbox.Event, inbox.Seen, []inbox.Conflict, error)
	Object(ctx context.Context, scope object.Scope, id object.ID) ([]operation.Operation, []operation.Losing, []operation.Result, error)
	// Listed lists the events first stored on a day, the newest first, those before the key after.
	Listed(ctx context.Context, scope object.Scope, day time.Time, after string, limit int) (ids []inbox.EventID, next string, err error)
	Scopes(ctx context.Context) ([]object.Scope, error)
	Audit(ctx context.Context, e audit.Entry) error
	Reopening
	Stopping
	Holds
	Spending
	Drafts
	ReviewList
	Acts
}

// Endpoints is the applied configuration.
type Endpoints interface {
	Endpoint(ctx context.Context, name string) (config.Endpoint, config.Pointer, error)
	Common(ctx context.Context, scope object.Scope) (config.Common, error)
	Recipe(ctx context.Context, scope object.Scope, ref inbox.RecipeRef) (*compiled.Recipe, error)
	Pointer(ctx context.Context, scope object.Scope) (config.Pointer, error)
}

// Bodies reads the exact bytes of an event's first delivery.
type Bodies interface {
	Read(ctx context.Context, b inbox.Body) ([]byte, error)
}

// Deps is what a [Control] works with.
type Deps struct {
	Store     Store
	Endpoints Endpoints
	Configs   Configs
	Bodies    Bodies
	Work      Work
	Letters   Letters
	OpenAge   time.Duration // after which the reconciler sends an event that was opened again: longer than a worker may hold one
	Now       func() time.Time
	NewID     func() string // random, unique: the id of an audit entry

	Eraser   Eraser
	Shredder Shredder
}

// A Control answers operators. It is safe for concurrent use.
type Control struct{ d Deps }

// New makes a control.
func New(d Deps) *Control { return &Control{d} }

// Scope finds the tenant and environment that a call is about: that of the named endpoint, else the one that is
// named, else the only one there is. It returns an error that wraps [ErrScope] when there is more than one, and
// [config.ErrUnknown] for an endpoint that is not configured in what is named. What is named in full is taken for an
// endpoint that is configured nowhere: events that it took are kept.
func (c *Control) Scope(ctx context.Context, named object.Scope, endpoint string) (object.Scope, error) {
	whole := named.Tenant != "" && named.Environment != ""
	if endpoint != "" {
		e, _, err := c.d.Endpoints.Endpoint(ctx, endpoint)
		switch {
		case whole && errors.Is(err, config.ErrUnknown):
			return named, nil
		case err != nil:
			return object.Scope{}, err
		case !Within(named, e.Scope):
			return object.Scope{}, fmt.Errorf("endpoint %s in %s: %w", endpoint, named, config.ErrUnknown)
		}
		return e.Scope, nil
	}
	if whole {
		return named, nil
	}
	all, err := c.d.Store.Scopes(ctx)
	if err != nil {
		return object.Scope{}, err
	}
	var fit []object.Scope
	for _, s := range all {
		if Within(named, s) {
			fit = append(fit, s)
		}
	}
	switch len(fit) {
	case 0:
		return object.Scope{}, fmt.Errorf("no endpoint was applied: %w", config.ErrUnknown)
	case 1:
		return fit[0], nil
	}
	return object.Scope{}, &ScopeError{fit}
}

// Within tells whether a tenant and environment are what is named. What is left out fits all.
func Within(named, s object.Scope) bool {
	return (named.Tenant == "" || named.Tenant == s.Tenant) && (named.Environment == "" || named.Environment == s.Environment)
}

// Endpoint shows what is configured for an address. References of secrets are shown, secrets never.
func (c *Control) Endpoint(ctx context.Context, name string) (Endpoint, error) {
	e, p, err := c.d.Endpoints.Endpoint(ctx, name)
	if err != nil {
		return Endpoint{}, err
	}
	return endpointOf(e, p), nil
}
