// Package enrich works on one stored event: it claims the operations that the event asks for, makes at
// most one paid call for each, commits what came of it and settles the event.
//
// Any crash leaves the event open. Whoever takes it up next, a redelivered message or the reconciler's,
// finds in the operation what is done already and goes on from there. The order of writes, and what
// each refusal means, are those of infra/protocol.md sections 4 to 6.
package enrich

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"engang/shared/audit"
	"engang/shared/config"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/pause"
	"engang/shared/recipe"
	"engang/shared/recipe/compiled"
	"engang/shared/telemetry"
)

// Events reads an event and ends or postpones its work.
type Events interface {
	Event(ctx context.Context, id inbox.EventID) (inbox.Event, error)
	End(ctx context.Context, e inbox.Ending) error
	PushDue(ctx context.Context, id inbox.EventID, generation int, due time.Time) error
}

// Leases gives the right to work on an operation, and takes notice of one that nobody may work on.
type Leases interface {
	Claim(ctx context.Context, c operation.Claim) (operation.Lease, error)
	Exhaust(ctx context.Context, e operation.Exhaustion) error
	Raise(ctx context.Context, r operation.Raise) error
}

// Finishes are the writes that end a lease. Each is refused with *operation.RefusedError when the lease
// is not the caller's any more.
type Finishes interface {
	Complete(ctx context.Context, f operation.Finish) error
	Hold(ctx context.Context, f operation.Finish) error
	Retry(ctx context.Context, f operation.Finish) error
	Fail(ctx context.Context, f operation.Finish) error
	Pause(ctx context.Context, f operation.Finish) error
	Supersede(ctx context.Context, f operation.Finish) error
	RecordLosing(ctx context.Context, key operation.Key, a operation.Attempt) error
}

// Results keeps the newest accepted output of an object.
type Results interface {
	Result(ctx context.Context, scope object.Scope, id object.ID, ref inbox.RecipeRef) (operation.Result, bool, error)
	PutResult(ctx context.Context, r operation.Result) (stored operation.Result, written bool, err error)
}

// Reopening opens failed work again on behalf of somebody.
type Reopening interface {
	Operation(ctx context.Context, key operation.Key) (operation.Operation, error)
	Redrive(ctx context.Context, r operation.Redrive) error
	Reopen(ctx context.Context, id inbox.EventID, due time.Time) error
	Audit(ctx context.Context, e audit.Entry) error
}

// Store is the table, as far as a worker needs it.
type Store interface {
	Events
	Leases
	Finishes
	Results
	Reopening
	Inbox
	Holds
	Spending
	Heads
}

// Recipes is the applied configuration.
type Recipes interface {
	Recipe(ctx context.Context, scope object.Scope, ref inbox.RecipeRef) (*compiled.Recipe, error)
	Common(ctx context.Context, scope object.Scope) (config.Common, error)
}

// Model makes one call. It never fails: what went wrong is the answer's outcome.
type Model interface {
	Call(ctx context.Context, p config.Provider, prompt recipe.Prompt) operation.Answer
}

// Bodies reads the exact bytes of an event's first delivery, and drops those that nothing names.
type Bodies interface {
	Read(ctx context.Context, b inbox.Body) ([]byte, error)
	Drop(ctx context.Context, b inbox.Body) error
}

// Notices sends a notice of parked work to the dead-letter queue.
type Notices interface {
	Notify(ctx context.Context, n inbox.Notice) error
}

// Limits are the times and counts that a worker keeps to. Call + Finish is shorter than Lease, and
// Lease shorter than the function's timeout.
type Limits struct {
	Call        time.Duration // deadline of one model call
	Finish      time.Duration // kept free after a call for the writes that follow it
	Answer      time.Duration // of one try of a write that is repeated until it is answered; zero: three seconds
	Lease       time.Duration
	Skew        time.Duration // the largest difference between two of our clocks
	Attempts    int           // claims of one operation before it is given up
	BackoffBase time.Duration // upper bound of the first wait; each next one doubles
	BackoffMax  time.Duration
	Hide        time.Duration // waits up to this go through the message's visibility, longer ones through the open index
	Pause       time.Duration // wait while a provider or a recipe cannot serve, and between probes
	Remember    time.Duration // how long pauses and breakers that were read are believed
}

// Deps is what a [Worker] works with.
type Deps struct {
	Store   Store
	Recipes Recipes
	Model   Model
	Bodies  Bodies
	Notices Notices
	Parts   Parts
	Sender  Sender
	Limits  Limits
	Log     *slog.Logger
	Now     func() time.Time
	NewID   func() string  // random, unique
	Random  func() float64 // in [0,1), for jitter

	Wait func(ctx context.Context, d time.Duration) error // fails when the context ends first; nil: by the clock of this machine
}

// A Worker works on events. It is safe for concurrent use.
type Worker struct {
	Deps
	seen *memory
}

// New makes a Worker.
func New(d Deps) *Worker {
	if d.Wait == nil {
		d.Wait = waitFor
	}
	return &Worker{Deps: d, seen: &memory{}}
}

// A Later says that the message must come back: something holds the work up that passes by itself.
type Later struct {
	After time.Duration
	Why   string
}

// Error says what holds the work up and for how long.
func (l *Later) Error() string {
	return fmt.Sprintf("again in %s: %s", l.After.Round(time.Millisecond), l.Why)
}

// Run works on one event. Nil means that the message can be deleted: the event is settled, parked or
// postponed through the open index. Any error means that the message must come back, after the time
// that a [Later] gives.
func (w *Worker) Run(ctx context.Context, id inbox.EventID) error {
	ctx = telemetry.About(ctx, slog.String("event_id", string(id)))
	ev, err := w.Store.Event(ctx, id)
	if err != nil {
		return fmt.Errorf("work on event %s: %w", id, err) // not found too: never "unknown, drop"
	}
	if ev.State != inbox.Received {
		return nil
	}
	err = w.work(ctx, ev)
	if errors.Is(err, errPostponed) {
		return nil
	}
	return err
}

// errPostponed says that the event's due time was pushed: the open index brings it back, the message can go.
var errPostponed = errors.New("postponed through the open index")

// work goes through the event's recipes one after the other and ends the event once. A recipe that is held does
// not keep the others waiting; the event is then due again when it may go on.
func (w *Worker) work(ctx context.Context, ev inbox.Event) error {
	if err := w.paused(ctx, ev); err != nil {
		return err
	}
	if ev.Batch && ev.Reason == "" {
		return w.split(ctx, ev)
	}
	if ev.Object.IsZero() { // the receiver saw that nothing can be made of it, and said why
		return w.end(ctx, ev, []ending{{parked: true, reason: ev.Reason, category: operation.CategoryInvalidInput}})
	}
	common, err := w.Recipes.Common(ctx, ev.Scope)
	if err != nil {
		return w.unconfigured(ctx, ev, err)
	}
	doc, err := w.document(ctx, ev)
	if err != nil {
		return err
	}
	var closings []pause.Closing
	probes := map[pause.Model]operation.AttemptID{}
	err = w.recipes(ctx, ev, func(c *compiled.Recipe) *job {
		return &job{Worker: w, ev: ev, recipe: c.Recipe(), compiled: c, common: common, doc: doc, probes: probes, closings: &closings}
	})
	w.close(ctx, closings)
	return err
}

// recipes runs each recipe of the event.
func (w *Worker) recipes(ctx context.Context, ev inbox.Event, jobFor func(*compiled.Recipe) *job) error {
	var all []ending
	var held *heldError
	for _, ref := range ev.Recipes {
		if !w.room(ctx) {
			return &Later{After: 0, Why: "no time left for another recipe"}
		}
		compiled, err := w.Recipes.Recipe(ctx, ev.Scope, ref)
		if e, ok := w.abandoned(ev, err); ok {
			all = append(all, e)
			continue
		}
		if err != nil {
			return w.unconfigured(ctx, ev, err)
		}
		e, err := jobFor(compiled).run(ctx)
		if h, ok := errors.AsType[*heldError](err); ok {
			held = held.sooner(h)
			continue
		}
		if err != nil {
			return err
		}
		all = append(all, e)
	}
	if held != nil {
		return w.postpone(ctx, ev, held.until)
	}
	return w.end(ctx, ev, all)
}

// room tells whether a call and its finish still fit before the function is stopped.
func (w *Worker) room(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return !ok || time.Until(deadline) > w.Limits.Call+w.Limits.Finish
}

// unconfigured postpones an event whose configuration cannot be used. What is not applied is treated
// like a provider that cannot serve; a store that does not answer is the message's own retry.
func (w *Worker) unconfigured(ctx context.Context, ev inbox.Event, cause error) error {
	if !notUsable(cause) {
		return fmt.Errorf("read configuration for event %s: %w", ev.ID, cause)
	}
	if e, ok := w.abandoned(ev, cause); ok {
		return w.end(ctx, ev, []ending{e})
	}
	w.Log.ErrorContext(ctx, "event waits for its configuration", "err", cause)
	return w.postpone(ctx, ev, w.Now().Add(w.Limits.Pause))
}

// patience is how long an event waits for a configuration that is not there before a person is told.
const patience = 3 * 24 * time.Hour

// abandoned is how an event ends, or one of its recipes, that has waited so long: in the review list. Else it would be
// postponed without end, and stand nowhere.
func (w *Worker) abandoned(ev inbox.Event, cause error) (ending, bool) {
	if !notUsable(cause) || w.Now().Sub(ev.ReceivedAt) < patience {
		return ending{}, false
	}
	return ending{parked: true, reason: "its configuration is not there any more, or cannot be read", category: operation.CategoryConfiguration}, true
}

// notUsable tells whether a fault is one of what was applied, and not of asking for it.
func notUsable(err error) bool {
	return errors.Is(err, config.ErrUnknown) || errors.Is(err, config.ErrUnreadable)
}

// postpone makes the open index bring the event back, so that the message can be deleted.
func (w *Worker) postpone(ctx context.Context, ev inbox.Event, until time.Time) error {
	err := w.Store.PushDue(ctx, ev.ID, ev.Generation, until)
	if err != nil && !errors.Is(err, inbox.ErrStale) { // stale: settled or reopened meanwhile; a reopened event is in the index
		return fmt.Errorf("postpone event %s: %w", ev.ID, err)
	}
	return errPostponed
}

// wait gives the message back until a moment that is near, and holds the recipe where it is far.
func (w *Worker) wait(until time.Time, why string) error {
	left := max(until.Sub(w.Now()), 0)
	if left > w.Limits.Hide {
		return &heldError{until, why}
	}
	return &Later{After: left, Why: why}
}

// jitter is a random part of d.
func (w *Worker) jitter(d time.Duration) time.Duration {
	return time.Duration(w.Random() * float64(d))
}
