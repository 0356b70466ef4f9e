// Package intake takes deliveries: it verifies one, stores the event that it reports by one conditional
// write, sends a reference to the workers, and says what to answer.
//
// Nothing is stored of what is not verified, configured, readable and of an enabled type, with one exception: a
// delivery that holds many events is stored whatever they are, and the worker that takes it apart leaves out those of
// types that are not enabled. Nothing is acknowledged that is not stored: an error means that the sender must come
// again or has sent something that cannot be taken. A crash after the write leaves an open event, which the
// reconciler finds.
package intake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"engang/shared/config"
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

// Vault looks up the usable secrets of an endpoint, at least one. Renewed asks past its cache, and tells
// whether it found others than before; how often it asks is bounded.
type Vault interface {
	Secrets(ctx context.Context, refs []secrets.Ref) ([]secrets.Value, error)
	Renewed(ctx context.Context, refs []secrets.Ref) ([]secrets.Value, bool, error)
}

// Certificates gets the certificate that a delivery is signed under, checked; nil for senders without.
type Certificates interface {
	Certificate(ctx context.Context, s webhook.Scheme, req webhook.Request) ([]byte, error)
}

// Bodies makes the bytes of a delivery ready to be stored with its event, and drops those that nothing names.
type Bodies interface {
	Keep(ctx context.Context, id inbox.EventID, raw []byte) (inbox.Body, error)
	Drop(ctx context.Context, b inbox.Body) error
}

// Store is the inbox. Receive stores a new event, or says what is stored already means (inbox.Judge).
type Store interface {
	Receive(ctx context.Context, ev inbox.Event) (inbox.Receipt, error)
	RecordConflict(ctx context.Context, c inbox.Conflict) error
	CountSeen(ctx context.Context, id inbox.EventID, at time.Time) error
	PutHead(ctx context.Context, h inbox.Head) error
}

// Queue sends a reference of an event to the workers, who get it after a delay of at most [inbox.MaxDelay].
type Queue interface {
	Send(ctx context.Context, ref inbox.Reference) error
}

// Deps is what an [Intake] works with.
type Deps struct {
	Endpoints Endpoints
	Vault     Vault
	Signers   Certificates
	Bodies    Bodies
	Store     Store
	Queue     Queue
	Limits    Limits
	Log       *slog.Logger
	Now       func() time.Time
	NewID     func() string // random, unique: the write id of a put
	Listeners Listeners     // nil: nobody watches for silence
}

// An Intake takes deliveries. It is safe for concurrent use.
type Intake struct {
	Deps
	ear ear
}

// New returns an intake. Limits that are not set are [UsualLimits].
func New(d Deps) *Intake {
	d.Limits = d.Limits.orUsual()
	return &Intake{Deps: d}
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
	Conflict  = "conflict"  // the key of a stored one with another fact: noted for a person without its body, changes nothing
	Ignored   = "ignored"   // verified, and of a type that is not enabled: not stored
)

// A Reply answers a delivery that was taken.
type Reply struct {
	Status string        // one of the above, or what the sender's ping is answered with
	Event  inbox.EventID // empty where none is stored
	Type   string        // of the event, if the endpoint's configuration names it

	// What the sender needs to hear. Without a body, and not Empty: status and event in our own format.
	Answer webhook.Reply
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
	s, err := lookUp(ctx, in.Endpoints, d.Endpoint)
	if err != nil {
		telemetry.Measure(ctx, in.Log, telemetry.Count(metricOf(Reply{}, err), 1)) // not by endpoint: it may be any text
		return Reply{}, err
	}
	reply, err := in.take(ctx, s, d.Request)
	if err == nil && reply.Answer.Status == 0 {
		reply.Answer = s.scheme.Reply()
	}
	telemetry.MeasureEndpoint(ctx, in.Log, s.endpoint.Name, counted(metricOf(reply, err))...)
	return reply, err
}

// take goes through the checks in their order: nothing is parsed before it is verified, and nothing is
// stored before it is known to be wanted.
func (in *Intake) take(ctx context.Context, s source, req webhook.Request) (Reply, error) {
	if pong, ok := s.scheme.Handshake(req); ok {
		return answered(pong), nil
	}
	if req.Method != http.MethodPost {
		return Reply{}, &problem.MethodError{Allow: s.scheme.Methods()}
	}
	if n := in.maxBody(s.endpoint); len(req.Body) > n {
		return Reply{}, fmt.Errorf("body of %d bytes, at most %d: %w", len(req.Body), n, problem.ErrTooLarge)
	}
	received := in.Now().UTC().Truncate(time.Millisecond)
	if err := in.verify(ctx, s, s.addressed(req), received); err != nil {
		return Reply{}, err
	}
	defer in.hear(ctx, s, received)()
	doc, content, err := s.scheme.Document(req)
	if err != nil {
		return Reply{}, err
	}
	if pong, ok := s.scheme.SignedHandshake(req, doc); ok {
		return answered(pong), nil
	}
	d := delivered{request: req, doc: doc, content: content, received: received}
	if batch, ok := s.scheme.Split(req, doc); ok {
		ev := in.made().batch(s, batch.Fact, d)
		ev.DueAt = received.Add(in.Limits.OpenAge)
		return in.keep(ctx, ev, content)
	}
	kind, err := s.scheme.Type(req, doc)
	if err != nil {
		return Reply{}, err
	}
	var named bool
	switch d.rule, named = s.endpoint.Events[kind]; {
	case !named:
		return Reply{Status: Ignored}, nil
	case d.rule.Ignore:
		return Reply{Status: Ignored, Type: kind}, nil
	}
	ev, fact, err := in.made().event(ctx, s, d)
	if err != nil {
		return Reply{}, err
	}
	if s.elsewhere(fact) { // counted, and an alarm rings: a test endpoint that gets real events, or the other way round
		in.Log.WarnContext(ctx, "event of the other environment", "endpoint", s.endpoint.Name, "event_id", ev.ID)
		telemetry.MeasureEndpoint(ctx, in.Log, s.endpoint.Name, telemetry.Count("OtherEnvironment", 1))
		return Reply{Status: Ignored, Type: kind}, nil
	}
	ev.DueAt = ev.DueAfter(received, in.Limits.OpenAge)
	return in.keep(ctx, ev, content)
}

func (in *Intake) made() maker {
	return maker{newID: in.NewID, log: in.Log, speed: in.Limits.Speed}
}

func answered(p webhook.Pong) Reply {
	return Reply{Status: p.Status, Answer: webhook.Reply{Status: http.StatusOK, Body: p.Body, ContentType: p.ContentType}}
}

// verify checks the delivery against every secret, and once more against fresh ones where none fits or can
// be used: the secret may have been rotated, or put right, since they were read.
func (in *Intake) verify(ctx context.Context, s source, req webhook.Request, now time.Time) error {
	unavailable := func(err error) error {
		return fmt.Errorf("look up secrets of endpoint %s: %w: %w", s.endpoint.Name, problem.ErrUnavailable, err)
	}
	held, err := in.Vault.Secrets(ctx, s.endpoint.Secrets)
	if err != nil {
		return unavailable(err)
	}
	want := webhook.Expect{Source: s.endpoint.Source}
	if want.Certificate, err = in.Signers.Certificate(ctx, s.scheme, req); err != nil && !errors.Is(err, webhook.ErrSignature) {
		return fmt.Errorf("endpoint %s: %w: %w", s.endpoint.Name, problem.ErrUnavailable, err)
	} else if err != nil {
		return err
	}
	err = s.scheme.Verify(req, held, want, now)
	if !errors.Is(err, webhook.ErrSignature) && !errors.Is(err, webhook.ErrSecret) {
		return err
	}
	held, changed, renewErr := in.Vault.Renewed(ctx, s.endpoint.Secrets)
	switch {
	case renewErr != nil: // the old ones could be read a moment ago, and do not fit
		in.Log.WarnContext(ctx, "secrets not read again", "endpoint", s.endpoint.Name, "err", renewErr)
		return err
	case !changed:
		return err
	}
	return s.scheme.Verify(req, held, want, now)
}

func (in *Intake) maxBody(e config.Endpoint) int {
	if e.MaxBody > 0 {
		return e.MaxBody
	}
	return in.Limits.Body
}
