package reconcile

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"engang/shared/inbox"
)

// maxWatched is how many events that were sent again are looked at in each sweep. One of many is old enough to tell.
const maxWatched = 100

// A watch remembers which events were sent again. Between two of its due times, up to an hour, an event that no
// worker takes would be seen by nobody, and its age not be measured. What a new process does not know it learns
// at the next due time.
type watch struct {
	mu  sync.Mutex
	ids []inbox.EventID
}

// add remembers an event; of too many the first ones, which are the oldest.
func (w *watch) add(id inbox.EventID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.ids) < maxWatched {
		w.ids = append(w.ids, id)
	}
}

// take gives what is remembered and forgets it.
func (w *watch) take() []inbox.EventID {
	w.mu.Lock()
	defer w.mu.Unlock()
	ids := w.ids
	w.ids = nil
	return ids
}

// look measures the age of events that were sent again and show no sign of life. One that does is forgotten.
func (s *Sweeper) look(ctx context.Context, r *Report) error {
	var faults []error
	looked := map[inbox.EventID]bool{}
	for _, id := range s.sent.take() {
		if looked[id] {
			continue
		}
		looked[id] = true
		ev, err := s.Events.Event(ctx, id)
		switch {
		case errors.Is(err, inbox.ErrNotFound):
			continue
		case err != nil:
			faults = append(faults, fmt.Errorf("look at event %s: %w", id, err))
		case ev.State != inbox.Received || ev.Sends == 0: // settled or parked, or a worker postponed it
			continue
		default:
			r.Oldest = max(r.Oldest, s.Now().Sub(ev.ReceivedAt))
		}
		s.sent.add(id)
	}
	return errors.Join(faults...)
}

// review measures how long the first of the review list has been waiting for a person.
func (s *Sweeper) review(ctx context.Context, r *Report) error {
	waiting, _, err := s.Events.Reviews(ctx, "", 1)
	if err != nil {
		return fmt.Errorf("look at the review list: %w", err)
	}
	if len(waiting) > 0 {
		r.Waits = max(0, s.Now().Sub(waiting[0].Since))
	}
	return nil
}
