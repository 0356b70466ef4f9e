package intake

import (
	"context"
	"sync"
	"time"

	"engang/shared/object"
)

// Listeners note when an endpoint was last delivered to, for those whose silence is watched.
type Listeners interface {
	NoteDelivery(ctx context.Context, scope object.Scope, endpoint string, at time.Time) error
}

// hearEvery bounds how often a process notes that a sender is heard.
const hearEvery = 10 * time.Minute

// An ear remembers what this process has noted.
type ear struct {
	mu    sync.Mutex
	noted map[string]time.Time // by endpoint
}

// due tells whether a delivery is to be noted, and counts it as noted.
func (e *ear) due(endpoint string, now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if before, ok := e.noted[endpoint]; ok && now.Sub(before) < hearEvery && !now.Before(before) { // a clock set back must not make it last
		return false
	}
	if e.noted == nil {
		e.noted = map[string]time.Time{}
	}
	e.noted[endpoint] = now
	return true
}

func (e *ear) forget(endpoint string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.noted, endpoint)
}

// hear notes that the endpoint's sender was heard, beside whatever else is done. The returned function waits for
// that no longer than counting may take from now: a process that is frozen after its answer would lose the
// note. One that fails is tried again with the next delivery, and fails nothing.
func (in *Intake) hear(ctx context.Context, s source, at time.Time) (wait func()) {
	if in.Listeners == nil || s.endpoint.SilentAfterSeconds <= 0 || !in.ear.due(s.endpoint.Name, at) {
		return func() {}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), in.Limits.Count)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := in.Listeners.NoteDelivery(ctx, s.endpoint.Scope, s.endpoint.Name, at); err != nil {
			in.ear.forget(s.endpoint.Name)
			in.Log.WarnContext(ctx, "last delivery not noted", "endpoint", s.endpoint.Name, "err", err)
		}
	}()
	return func() {
		defer cancel()
		select {
		case <-done:
		case <-ctx.Done():
		}
	}
}
