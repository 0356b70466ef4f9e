package enrich

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"engang/shared/inbox"
	"engang/shared/operation"
	"engang/shared/pause"
)

// Holds says what is held on purpose, and moves the breaker of a model.
type Holds interface {
	Pauses(ctx context.Context) (pause.Pauses, error)
	Breaker(ctx context.Context, m pause.Model) (pause.Breaker, error)
	OpenBreaker(ctx context.Context, o pause.Opening) error
	Probe(ctx context.Context, p pause.Probe) error
	CloseBreaker(ctx context.Context, c pause.Closing) error
}

// A heldError says that a recipe's work is held: nothing is claimed, no attempt is counted, and the event is
// due again at a time. The event's other recipes go on.
type heldError struct {
	until time.Time
	why   string
}

func (h *heldError) Error() string { return "held: " + h.why }

// sooner is the one of two that ends first; either may be nil.
func (h *heldError) sooner(other *heldError) *heldError {
	if h == nil || other != nil && other.until.Before(h.until) {
		return other
	}
	return h
}

// A memory keeps what was read of pauses and breakers for a short time, so that a batch reads them once. What is
// too old costs one call or one push, never a wrong write.
type memory struct {
	mu       sync.Mutex
	pauses   read[pause.Pauses]
	breakers map[pause.Model]read[pause.Breaker]
}

// A read is a value and when it was asked for.
type read[V any] struct {
	value V
	at    time.Time
}

func (r read[V]) fresh(now time.Time, ttl time.Duration) bool {
	return !r.at.IsZero() && now.Sub(r.at) < ttl && !now.Before(r.at)
}

const maxBreakers = 1_000 // remembered; more models than that are read each time they change

func (w *Worker) pauses(ctx context.Context) (pause.Pauses, error) {
	w.seen.mu.Lock()
	known, now := w.seen.pauses, w.Now()
	w.seen.mu.Unlock()
	if known.fresh(now, w.Limits.Remember) {
		return known.value, nil
	}
	all, err := w.Store.Pauses(ctx)
	if err != nil {
		return nil, fmt.Errorf("read pauses: %w", err)
	}
	w.seen.mu.Lock()
	defer w.seen.mu.Unlock()
	w.seen.pauses = read[pause.Pauses]{all, now}
	return all, nil
}

func (w *Worker) breaker(ctx context.Context, m pause.Model) (pause.Breaker, error) {
	w.seen.mu.Lock()
	known, now := w.seen.breakers[m], w.Now()
	w.seen.mu.Unlock()
	if known.fresh(now, w.Limits.Remember) {
		return known.value, nil
	}
	b, err := w.Store.Breaker(ctx, m)
	if err != nil {
		return b, fmt.Errorf("read breaker of %s: %w", m, err)
	}
	w.remember(m, b, now)
	return b, nil
}

func (w *Worker) remember(m pause.Model, b pause.Breaker, at time.Time) {
	w.seen.mu.Lock()
	defer w.seen.mu.Unlock()
	if w.seen.breakers == nil || len(w.seen.breakers) >= maxBreakers {
		w.seen.breakers = map[pause.Model]read[pause.Breaker]{}
	}
	w.seen.breakers[m] = read[pause.Breaker]{b, at}
}

// paused postpones an event whose endpoint, or everything, is paused by a person. Nil means that it is not.
func (w *Worker) paused(ctx context.Context, ev inbox.Event) error {
	held, err := w.heldBy(ctx, pause.Target{Scope: ev.Scope, Kind: pause.Everything}, pause.Target{Scope: ev.Scope, Kind: pause.Endpoint, Name: ev.Endpoint})
	if err != nil || held == nil {
		return err
	}
	return w.postpone(ctx, ev, held.until)
}

// heldBy finds a pause of one of the targets. What it holds is looked at again before its end, since a person
// may resume it at any time.
func (w *Worker) heldBy(ctx context.Context, targets ...pause.Target) (*heldError, error) {
	all, err := w.pauses(ctx)
	if err != nil {
		return nil, err
	}
	now := w.Now()
	p, ok := all.Of(now, targets...)
	if !ok {
		return nil, nil
	}
	until := now.Add(w.Limits.Pause)
	if !p.Until.IsZero() && p.Until.Before(until) {
		until = p.Until
	}
	return &heldError{until, p.Target.String() + " is paused"}, nil
}

func (j *job) model() pause.Model {
	return pause.Model{Scope: j.ev.Scope, Provider: j.recipe.Model.Provider, Name: j.recipe.Model.Name}
}

// admitted tells whether the recipe's work may be claimed now: neither the recipe nor its model is paused, and
// the model's breaker is closed, or this attempt is the one that probes. Else it fails with a [heldError].
func (j *job) admitted(ctx context.Context, attempt operation.AttemptID) error {
	m := j.model()
	held, err := j.heldBy(ctx, pause.Target{Scope: m.Scope, Kind: pause.Recipe, Name: j.recipe.Name}, pause.Target{Scope: m.Scope, Kind: pause.AModel, Name: m.String()})
	if err != nil {
		return err
	}
	if held != nil {
		return held
	}
	b, err := j.breaker(ctx, m)
	_, granted := j.probes[m] // to this event, and not used for a call yet
	switch {
	case err != nil:
		return err
	case !b.Holds(), granted:
		return nil
	case !b.Due(j.Now()):
		return &heldError{b.Until, m.String() + " cannot serve"}
	}
	return j.probe(ctx, b, attempt)
}

// probe asks for the right to try. The next probe time is further away than a call and its finish, so that no
// second probe begins while this one is under way.
func (j *job) probe(ctx context.Context, b pause.Breaker, attempt operation.AttemptID) error {
	now := j.Now()
	next := now.Add(max(j.Limits.Pause, j.Limits.Call+j.Limits.Finish))
	err := j.Store.Probe(ctx, pause.Probe{Model: b.Model, Seen: b.Until, Next: next, Owner: attempt, WriteID: j.NewID()})
	if err != nil && !errors.Is(err, pause.ErrStale) {
		return fmt.Errorf("probe %s: %w", b.Model, err)
	}
	b.Until = next
	j.remember(b.Model, b, now)
	if err != nil {
		return &heldError{next, b.Model.String() + " is being probed"}
	}
	j.probes[b.Model] = attempt
	j.Log.InfoContext(ctx, "provider is probed", "model", b.Model.String())
	return nil
}

// probed takes the right to probe for a call that is about to be made. A recipe that needs no call leaves it to the
// event's next one: else that one would be held at each probe time.
func (j *job) probed() {
	j.probing = j.probes[j.model()]
	delete(j.probes, j.model())
}

// served notes that the provider answered, which closes the breaker if the call was the probe.
func (j *job) served() {
	if j.probing != "" {
		*j.closings = append(*j.closings, pause.Closing{Model: j.model(), Owner: j.probing, WriteID: j.NewID()})
	}
}

// trip opens the breaker of a model that cannot serve (W23). A breaker that is open already stays as it is.
// Without it the operation is given back all the same, and the next worker meets the fault itself.
func (j *job) trip(ctx context.Context, a operation.Attempt, until time.Time) {
	m, now := j.model(), j.Now()
	err := j.Store.OpenBreaker(ctx, pause.Opening{Model: m, Until: until, Reason: a.Reason, WriteID: j.NewID(), Now: now})
	switch {
	case errors.Is(err, pause.ErrStale):
		j.remember(m, pause.Breaker{}, time.Time{}) // whatever it is by now, it is read anew
		return
	case err != nil:
		j.Log.ErrorContext(ctx, "breaker not opened", "model", m.String(), "err", err)
		return
	}
	j.remember(m, pause.Breaker{Model: m, State: pause.Open, Until: until, Reason: a.Reason, At: now}, now)
	j.Log.ErrorContext(ctx, "provider cannot serve", "model", m.String(), "reason", a.Reason, "until", until)
}

// close closes the breakers whose probes were answered (W26). A crash before it leaves them open until the next
// probe time.
func (w *Worker) close(ctx context.Context, all []pause.Closing) {
	for _, c := range all {
		c.Now = w.Now()
		err := w.Store.CloseBreaker(ctx, c)
		if err != nil && !errors.Is(err, pause.ErrStale) { // stale: not our probe any more
			w.Log.ErrorContext(ctx, "breaker not closed", "model", c.Model.String(), "err", err)
			continue
		}
		w.remember(c.Model, pause.Breaker{}, time.Time{})
		w.Log.InfoContext(ctx, "provider serves again", "model", c.Model.String())
	}
}
