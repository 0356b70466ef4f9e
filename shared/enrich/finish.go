package enrich

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"engang/shared/document"
	"engang/shared/inbox"
	"engang/shared/operation"
	"engang/shared/spend"
)

// errFenced says that a finish was refused: the lease is another attempt's. The message goes back, and
// whoever reads the operation next goes on from what is there.
var errFenced = errors.New("the lease was taken over")

// A write is one of the [Finishes].
type write func(ctx context.Context, f operation.Finish) error

// finish ends the lease. It repeats the write, with the same write id, as long as no answer comes:
// what it records may have been paid for. A refusal that is neither our own lost answer nor covered by
// a later write means that the lease is lost: then the attempt is recorded beside the operation, if it
// made a call, and nothing else is touched.
func (j *job) finish(ctx context.Context, do write, next operation.State, f operation.Finish, a operation.Attempt) error {
	j.measure(ctx, a)
	f.WriteID, f.Now = j.NewID(), j.Now()
	f.Attempts = f.Lease.Log(a)
	err := j.persist(ctx, func(ctx context.Context) error { return do(ctx, f) })
	refused, isRefused := errors.AsType[*operation.RefusedError](err)
	if !isRefused {
		if err != nil {
			return fmt.Errorf("finish operation %s as %s: %w", j.key, next, err)
		}
		return nil
	}
	switch operation.JudgeFinish(refused.Stored, f, next) {
	case operation.OwnFinish:
		return nil
	case operation.LeaseLost:
		if a.Called {
			losing := f.Attempts[len(f.Attempts)-1]
			if err := j.persist(ctx, func(ctx context.Context) error { return j.Store.RecordLosing(ctx, j.key, losing) }); err != nil {
				return fmt.Errorf("record losing attempt of %s: %w", j.key, err)
			}
		}
	case operation.Covered:
	}
	return &Later{After: j.jitter(time.Second), Why: errFenced.Error()}
}

// answerTime is how long one try of a write waits for its answer where the limits say nothing: many times what a slow
// one takes, and several tries go into what is kept free for finishing.
const answerTime = 3 * time.Second

// persist repeats a write that got no answer until it has one or the function's time is over. No try may use that
// time up: a dead connection does not say that it is. A try that was given up may take effect all the same, before
// the repeat or behind it; then the one that comes later is refused, and finds its own write id, or the answer is known.
func (w *Worker) persist(ctx context.Context, do func(context.Context) error) error {
	try := func() error {
		ctx, cancel := context.WithTimeout(ctx, cmp.Or(w.Limits.Answer, answerTime))
		defer cancel()
		return do(ctx)
	}
	pause := 50 * time.Millisecond
	for {
		err := try()
		_, refused := errors.AsType[*operation.RefusedError](err)
		if err == nil || refused || errors.Is(err, spend.ErrUsedUp) || ctx.Err() != nil || w.Wait(ctx, pause) != nil {
			return err
		}
		pause = min(2*pause, 2*time.Second)
	}
}

// waitFor waits by the clock of this machine, or until the context ends.
func waitFor(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// complete commits the output (W4), then publishes it (W5). A crash between leaves a completed
// operation and an open event: any worker publishes from the operation, without a call.
func (j *job) complete(ctx context.Context, lease operation.Lease, a operation.Attempt, output []byte) (ending, error) {
	f := operation.Finish{Lease: lease, Output: output, Digest: document.Digest(output), ExpiresAt: j.resultExpiry()}
	if err := j.finish(ctx, j.Store.Complete, operation.Completed, f, a); err != nil {
		return ending{}, err
	}
	return j.publish(ctx, output, f.Digest)
}

// publish writes the result with this event's rank. A result of the same or a higher rank stays.
func (j *job) publish(ctx context.Context, output []byte, digest string) (ending, error) {
	stored, written, err := j.Store.PutResult(ctx, operation.Result{
		Scope: j.key.Scope, Object: j.key.Object, Recipe: j.key.Recipe, Rank: j.ev.Rank, Operation: j.key, Event: j.ev.ID,
		Output: output, Digest: digest, At: j.Now(), ExpiresAt: j.resultExpiry(),
	})
	if err != nil {
		return ending{}, fmt.Errorf("publish result of %s: %w", j.key, err)
	}
	if !written && stored.Operation != j.key {
		return j.ended(inbox.Superseded), nil
	}
	return j.ended(inbox.Completed), nil
}

// hold keeps the output as a draft that waits for a person (W16).
func (j *job) hold(ctx context.Context, lease operation.Lease, a operation.Attempt, output []byte, why string) (ending, error) {
	f := operation.Finish{Lease: lease, Output: output, Digest: document.Digest(output), Reason: why}
	if err := j.finish(ctx, j.Store.Hold, operation.Review, f, a); err != nil {
		return ending{}, err
	}
	return j.ended(inbox.InReview), nil
}

// again gives the operation back until its not-before time, or gives it up at the last permitted claim.
func (j *job) again(ctx context.Context, lease operation.Lease, a operation.Attempt, wait time.Duration) (ending, error) {
	if lease.Claims >= j.attempts() {
		a.Backoff, a.BackoffMax = 0, 0
		return j.fail(ctx, lease, a, fmt.Sprintf("%d attempts used up; the last: %s", lease.Claims, a.Reason), a.Category)
	}
	until := j.Now().Add(wait)
	if err := j.finish(ctx, j.Store.Retry, operation.Pending, operation.Finish{Lease: lease, NotBefore: until}, a); err != nil {
		return ending{}, err
	}
	return ending{}, j.wait(until, "after a passing failure: "+a.Reason)
}

// pause opens the model's breaker (W23), gives the attempt back (W24) and holds the recipe: the provider cannot
// serve. A crash before W24 counts one attempt.
func (j *job) pause(ctx context.Context, lease operation.Lease, a operation.Attempt) (ending, error) {
	until := j.Now().Add(max(j.Limits.Pause, a.RetryAfter))
	j.measureOpen(ctx, a)
	j.trip(ctx, a, until)
	if err := j.finish(ctx, j.Store.Pause, operation.Pending, operation.Finish{Lease: lease, NotBefore: j.Now()}, a); err != nil {
		return ending{}, err
	}
	return ending{}, &heldError{until, a.Reason}
}

// fail gives the operation up (W7) and parks what waits for it.
func (j *job) fail(ctx context.Context, lease operation.Lease, a operation.Attempt, why string, category operation.Category) (ending, error) {
	f := operation.Finish{Lease: lease, Reason: why, Category: category}
	if err := j.finish(ctx, j.Store.Fail, operation.Failed, f, a); err != nil {
		return ending{}, err
	}
	return j.broken(ctx, operation.Operation{Event: j.ev.ID, Rank: j.ev.Rank, Token: lease.Token, Reason: why, Category: category})
}

// superseded gives the lease back (W8): a newer version has its result, no call is made.
func (j *job) superseded(ctx context.Context, lease operation.Lease) (ending, error) {
	f := operation.Finish{Lease: lease, ExpiresAt: j.resultExpiry()}
	if err := j.finish(ctx, j.Store.Supersede, operation.Superseded, f, operation.Attempt{}); err != nil {
		return ending{}, err
	}
	return j.ended(inbox.Superseded), nil
}

// exhaust gives up an operation whose workers keep dying (W9), then parks. The bool asks for another claim.
func (j *job) exhaust(ctx context.Context, stored operation.Operation) (ending, bool, error) {
	x := operation.Exhaustion{Key: j.key, WriteID: j.NewID(), Now: j.Now(), Skew: j.Limits.Skew, Limit: j.attempts(),
		Reason: fmt.Sprintf("%d attempts used up without an outcome", stored.Claims)}
	err := j.Store.Exhaust(ctx, x)
	if _, refused := errors.AsType[*operation.RefusedError](err); refused {
		return ending{}, true, nil // someone was faster
	}
	if err != nil {
		return ending{}, false, fmt.Errorf("give up operation %s: %w", j.key, err)
	}
	stored.Reason, stored.Category = x.Reason, operation.CategoryTransient
	e, err := j.broken(ctx, stored)
	return e, false, err
}

func (j *job) resultExpiry() time.Time { return j.Now().Add(j.resultLife()) }

func (j *job) resultLife() time.Duration { return time.Duration(j.common.ResultDays) * 24 * time.Hour }
