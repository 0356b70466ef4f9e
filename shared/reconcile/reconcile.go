// Package reconcile is the net below everything: it finds what is stored and not settled, and whose
// time has come, and sends it to the work queue again.
//
// The open event is the only debt (infra/protocol.md section 1), so that one sparse index finds all of it:
// what was stored and never queued, what a dead worker left, what waits for its not-before time. An
// event that was sent too often without a sign of life is parked with a reason.
package reconcile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"engang/shared/inbox"
	"engang/shared/operation"
	"engang/shared/telemetry"
)

// Events is the table, as far as a sweep needs it.
type Events interface {
	Due(ctx context.Context, shard int, before time.Time, after string) (ids []inbox.EventID, next string, err error)
	Event(ctx context.Context, id inbox.EventID) (inbox.Event, error)
	PushSend(ctx context.Context, id inbox.EventID, seenDueKey string, due time.Time) error
	ParkUnsent(ctx context.Context, u inbox.Unsent) error
	Reviews(ctx context.Context, after string, limit int) (waiting []operation.Waiting, next string, err error)
}

// Queue is the work queue.
type Queue interface {
	Send(ctx context.Context, ref inbox.Reference) error
	Backlog(ctx context.Context) (int, error)
}

// Notices sends a notice of parked work to the dead-letter queue.
type Notices interface {
	Notify(ctx context.Context, n inbox.Notice) error
}

// Limits are the times and counts that a sweep keeps to.
type Limits struct {
	Age     time.Duration // first wait before an event is sent again; longer than worker timeout + lease + skew
	MaxWait time.Duration // the wait doubles with each send up to this
	Sends   int           // without a sign of life before an event is parked
	Backlog int           // visible messages above which nothing is sent and nothing counted: slow is not lost
	Shards  int           // of the open index
	Rate    int           // events handled in one sweep: what was held drains at this rate; zero is no bound
}

// Deps is what a [Sweeper] works with.
type Deps struct {
	Events  Events
	Queue   Queue
	Notices Notices
	Limits  Limits
	Log     *slog.Logger
	Now     func() time.Time
}

// A Sweeper makes sweeps. Two at once do no harm: each write names the due time that was read.
type Sweeper struct {
	Deps
	sent *watch
}

// New makes a Sweeper.
func New(d Deps) *Sweeper { return &Sweeper{Deps: d, sent: &watch{}} }

// A Report counts what one sweep did.
type Report struct {
	Backlog int           // visible messages in the work queue; -1 where the queue could not be looked at
	Due     int           // open events whose time had come, as far as the sweep came
	Sent    int           // to the work queue
	Parked  int           // sent too often without a sign of life
	Faults  int           // events that could not be handled; the next sweep meets them again
	Oldest  time.Duration // age of the oldest open event that was due, or was sent again and shows no sign of life
	Waits   time.Duration // how long the first of the review list has been waiting for a person

	Complete   bool // every shard was read to its end, or as far as rate or backlog allow
	AgeKnown   bool // nothing that was to be looked at for Oldest was missed
	WaitsKnown bool
}

// maxLooked is how many events of a shard are looked at where nothing is done with them: those whose time came first
// tell how old the work is. An older one behind them, which a worker had postponed until now, is met when they are done.
const maxLooked = 100

// maxTold is how many events the error of a sweep names: the report counts the others.
const maxTold = 10

// Sweep goes once through the open index, no further than rate and backlog allow: how long it takes does not grow with
// what waits. A fault with one event does not keep the others waiting; the error tells that there were some. Where the
// work queue cannot be looked at nothing is sent, and what waits is measured all the same.
func (s *Sweeper) Sweep(ctx context.Context) (Report, error) {
	r := Report{Complete: true}
	backlog, unseen := s.Queue.Backlog(ctx)
	if r.Backlog = backlog; unseen != nil {
		r.Backlog, r.Complete = -1, false
		unseen = fmt.Errorf("look at the work queue: %w", unseen)
	}
	var faults []error
	first := int(s.Now().Unix()/60) % max(s.Limits.Shards, 1) // another one each minute: where the rate ends a sweep, none is always the last
	for i := range s.Limits.Shards {
		faults = append(faults, s.shard(ctx, (first+i)%s.Limits.Shards, &r))
	}
	missed := errors.Join(append(faults, s.look(ctx, &r))...)
	unlisted := s.review(ctx, &r)
	r.AgeKnown, r.WaitsKnown = missed == nil, unlisted == nil
	return r, errors.Join(unseen, missed, unlisted)
}

// full tells whether nothing more is done with events in this sweep, and they are only looked at. One that could not be
// handled counts against the rate too: a queue that takes nothing must not lead a sweep through all that waits.
func (s *Sweeper) full(r Report) bool {
	return r.Backlog < 0 || r.Backlog > s.Limits.Backlog || s.Limits.Rate > 0 && r.Due >= s.Limits.Rate
}

// shard goes through one shard of the index, page by page.
func (s *Sweeper) shard(ctx context.Context, shard int, r *Report) error {
	before, after, looked := s.Now(), "", 0
	var faults []error
	for {
		ids, next, err := s.Events.Due(ctx, shard, before, after)
		if err != nil {
			r.Complete = false
			return errors.Join(append(faults, fmt.Errorf("read shard %d of the open index: %w", shard, err))...)
		}
		for _, id := range ids {
			full := s.full(*r)
			if full && looked >= maxLooked {
				return errors.Join(faults...) // the next sweep meets the rest
			}
			looked++
			r.Due++
			if err := s.one(ctx, id, full, r); err != nil {
				if r.Faults++; r.Faults <= maxTold {
					faults = append(faults, fmt.Errorf("event %s: %w", id, err))
				}
			}
		}
		if next == "" || s.full(*r) && looked >= maxLooked {
			return errors.Join(faults...)
		}
		after = next
	}
}

// one handles one due event, or only looks at it: the index may be old, so the event itself is read first.
// A panic is a bug: the next sweep meets the event again, and the others have theirs in this one.
func (s *Sweeper) one(ctx context.Context, id inbox.EventID, look bool, r *Report) (err error) {
	defer telemetry.Recover(ctx, s.Log, &err, slog.String("event_id", string(id)))
	ev, err := s.Events.Event(ctx, id)
	if errors.Is(err, inbox.ErrNotFound) {
		return nil // the index is behind
	}
	if err != nil {
		return err
	}
	if ev.State != inbox.Received || ev.DueAt.After(s.Now()) {
		return nil // settled, or pushed by a worker since
	}
	r.Oldest = max(r.Oldest, s.Now().Sub(ev.ReceivedAt))
	switch {
	case look:
		return nil
	case ev.Sends >= s.Limits.Sends:
		return s.park(ctx, ev, r)
	}
	return s.send(ctx, ev, r)
}

// send pushes the due time before it sends, so that two sweeps do not both send. A crash between leaves
// the event unsent until its next due time.
func (s *Sweeper) send(ctx context.Context, ev inbox.Event, r *Report) error {
	err := s.Events.PushSend(ctx, ev.ID, ev.DueKey, s.Now().Add(s.wait(ev.Sends)))
	if errors.Is(err, inbox.ErrStale) {
		return nil // settled, or another sweep was faster
	}
	if err != nil {
		return err
	}
	if err := s.Queue.Send(ctx, inbox.Reference{Event: ev.ID, Tenant: ev.Scope.Tenant}); err != nil {
		return err
	}
	r.Sent++
	s.sent.add(ev.ID)
	s.Log.InfoContext(ctx, "event sent again", "event_id", ev.ID, "sends", ev.Sends+1, "age", s.Now().Sub(ev.ReceivedAt))
	return nil
}

// wait doubles with each send.
func (s *Sweeper) wait(sends int) time.Duration {
	d := s.Limits.Age
	for range sends {
		if d *= 2; d >= s.Limits.MaxWait {
			return s.Limits.MaxWait
		}
	}
	return d
}

// park sets aside an event that was sent again and again and shows no sign of life: the notice first,
// so that a crash between leaves one more notice and never a parked event without one.
func (s *Sweeper) park(ctx context.Context, ev inbox.Event, r *Report) error {
	reason := fmt.Sprintf("sent %d times without an outcome: its worker never came to an end", ev.Sends)
	err := s.Notices.Notify(ctx, inbox.Notice{
		Event: ev.ID, Scope: ev.Scope, Generation: ev.Generation, Reason: reason, Category: category,
	})
	if err != nil {
		return err
	}
	err = s.Events.ParkUnsent(ctx, inbox.Unsent{ID: ev.ID, DueKey: ev.DueKey, Limit: s.Limits.Sends, Reason: reason, At: s.Now()})
	if errors.Is(err, inbox.ErrStale) {
		return nil
	}
	if err != nil {
		return err
	}
	r.Parked++
	s.Log.ErrorContext(ctx, "event parked", "event_id", ev.ID, "reason", reason)
	return nil
}

// category of an event that its workers never brought to an end: anything else is known to them.
const category = "bug"
