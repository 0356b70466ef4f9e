// Package intake takes deliveries: it verifies one, stores the event that it reports by one conditional
// write, sends a reference to the workers, and says what to answer.
//
// Nothing is stored of what is not verified, configured, readable and of an enabled type. Nothing is
// acknowledged that is not stored: an error means that the sender must come again or has sent something
// that cannot be taken. A crash after the write leaves an open event, which the reconciler finds.
package intake

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"engang/shared/config"
	"engang/shared/document"
	"engang/shared/inbox"
	"engang/shared/problem"
	"engang/shared/secrets"
	"engang/shared/telemetry"
	"engang/shared/webhook"
)

// Endpoints is the applied configuration. An unknown name is config.ErrUnknown.
type Endpoints interface {
	Endpoint(ctx context.Context, name string) (config.Endpoint, config.Pointer, error)
}

// Vault looks up the usable secrets of an endpoint, at least one.
type Vault interface {
	Secrets(ctx context.Context, refs []secrets.Ref) ([]secrets.Value, error)
}

// Bodies makes the bytes of a delivery ready to be stored with its event.
type Bodies interface {
	Keep(ctx context.Context, id inbox.EventID, raw []byte) (inbox.Body, error)
}

// Store is the inbox. Receive stores a new event, or says what is stored already means (inbox.Judge).
type Store interface {
	Receive(ctx context.Context, ev inbox.Event) (inbox.Receipt, error)
	RecordConflict(ctx context.Context, c inbox.Conflict) error
	CountSeen(ctx context.Context, id inbox.EventID, at time.Time) error
}

// Queue sends a reference of an event to the workers.
type Queue interface {
	Send(ctx context.Context, id inbox.EventID, tenant string) error
}

// Deps is what an [Intake] works with.
type Deps struct {
	Endpoints Endpoints
	Vault     Vault
	Bodies    Bodies
	Store     Store
	Queue     Queue
	Limits    Limits
	Log       *slog.Logger
	Now       func() time.Time
	NewID     func() string // random, unique: the write id of a put
}

// An Intake takes deliveries. It is safe for concurrent use.
type Intake struct{ Deps }

// New returns an intake. Limits that are not set are [UsualLimits].
func New(d Deps) *Intake {
	d.Limits = d.Limits.orUsual()
	return &Intake{d}
}

// A Delivery is one arrival at an endpoint.
type Delivery struct {
	Endpoint string // as the address names it
	webhook.Request
}

// What a delivery turned out to be, as it is answered.
const (
	Accepted  = "accepted"  // a new event, stored
	Duplicate = "duplicate" // a repeat of a stored one
	Conflict  = "conflict"  // the key of a stored one with another fact: kept for a person, changes nothing
	Ignored   = "ignored"   // verified, and of a type that is not enabled: not stored
)

// A Reply answers a delivery that was taken, with status 200.
type Reply struct {
	Status      string        // one of the above, or what the sender's ping is answered with
	Event       inbox.EventID // empty where none is stored
	Type        string        // of the event, if the endpoint's configuration names it
	Body        []byte        // in the sender's own format; empty: status and event in ours
	ContentType string        // of Body
}

// Deliver takes a delivery and counts it. Its errors are those of the table in shared/problem: the
// store, a secret or the configuration that cannot be had wraps problem.ErrUnavailable or
// webhook.ErrSecret. Which part of a verification failed is in the error's text, and belongs in the log only.
//
// Deliver never waits longer than the limits add up to, and once the event is stored a caller that
// hangs up stops nothing.
func (in *Intake) Deliver(ctx context.Context, d Delivery) (Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, in.Limits.Stored)
	defer cancel()
	s, err := in.source(ctx, d.Endpoint)
	if err != nil {
		telemetry.Measure(ctx, in.Log, telemetry.Count(metricOf(Reply{}, err), 1)) // not by endpoint: it may be any text
		return Reply{}, err
	}
	reply, err := in.take(ctx, s, d.Request)
	telemetry.MeasureEndpoint(ctx, in.Log, s.endpoint.Name, telemetry.Count(metricOf(reply, err), 1))
	return reply, err
}

// A source is an endpoint with what is live around it.
type source struct {
	endpoint config.Endpoint
	pointer  config.Pointer
	scheme   webhook.Scheme
}

func (in *Intake) source(ctx context.Context, name string) (source, error) {
	e, pointer, err := in.Endpoints.Endpoint(ctx, name)
	if err != nil {
		return source{}, unlessUnknown(err)
	}
	scheme, ok := webhook.Lookup(e.Provider)
	if !ok {
		return source{}, fmt.Errorf("endpoint %s has the provider %q, which this version does not know: %w", e.Name, e.Provider, problem.ErrUnavailable)
	}
	return source{endpoint: e, pointer: pointer, scheme: scheme}, nil
}

// take goes through the checks in their order: nothing is parsed before it is verified, and nothing is
// stored before it is known to be wanted.
func (in *Intake) take(ctx context.Context, s source, req webhook.Request) (Reply, error) {
	if pong, ok := s.scheme.Handshake(req); ok {
		return Reply{Status: pong.Status, Body: pong.Body, ContentType: pong.ContentType}, nil
	}
	if req.Method != http.MethodPost {
		return Reply{}, &problem.MethodError{Allow: s.scheme.Methods()}
	}
	if n := in.maxBody(s.endpoint); len(req.Body) > n {
		return Reply{}, fmt.Errorf("body of %d bytes, at most %d: %w", len(req.Body), n, problem.ErrTooLarge)
	}
	received := in.Now().UTC().Truncate(time.Millisecond)
	if err := in.verify(ctx, s, req, received); err != nil {
		return Reply{}, err
	}
	doc, err := document.Decode(req.Body)
	if err != nil {
		return Reply{}, err
	}
	kind, err := s.scheme.Type(req, doc)
	if err != nil {
		return Reply{}, err
	}
	rule, named := s.endpoint.Events[kind]
	switch {
	case !named:
		return Reply{Status: Ignored}, nil
	case rule.Ignore:
		return Reply{Status: Ignored, Type: kind}, nil
	}
	ev, err := in.identify(ctx, s, delivered{req, doc, rule, received})
	if err != nil {
		return Reply{}, err
	}
	return in.keep(ctx, ev, req.Body)
}

func (in *Intake) verify(ctx context.Context, s source, req webhook.Request, now time.Time) error {
	held, err := in.Vault.Secrets(ctx, s.endpoint.Secrets)
	if err != nil {
		return fmt.Errorf("look up secrets of endpoint %s: %w: %w", s.endpoint.Name, problem.ErrUnavailable, err)
	}
	return s.scheme.Verify(req, held, webhook.Expect{Source: s.endpoint.Source}, now)
}

func (in *Intake) maxBody(e config.Endpoint) int {
	if e.MaxBody > 0 {
		return e.MaxBody
	}
	return in.Limits.Body
}
