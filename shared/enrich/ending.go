package enrich

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"engang/shared/inbox"
	"engang/shared/operation"
)

// An ending is what one recipe of an event came to.
type ending struct {
	outcome  inbox.Outcome
	parked   bool
	op       string // the operation's name; empty where the input was invalid
	token    int64  // that it failed with
	reason   string
	category operation.Category
}

func (j *job) ended(how inbox.Outcome) ending { return ending{outcome: how, op: j.key.String()} }

// broken takes notice of an operation that failed, now or earlier: this event's rank on the operation, so that a
// redrive works for the newest event. Its notice is sent when the event is parked. Where a person has dismissed or
// cancelled it since it was met, it is no news any more: an event that is parked on it would stand in no list. Where a
// newer event waits for it, that one does the work of this one.
func (j *job) broken(ctx context.Context, met operation.Operation) (ending, error) {
	e := ending{parked: true, op: j.key.String(), token: met.Token, reason: met.Reason, category: met.Category}
	r := operation.Raise{Seen: operation.Failed, Listed: true, Before: met.Event, Now: j.Now()}
	r.Due, r.ExpiresAt = r.Now, r.Now.AddDate(0, 0, j.common.EventDays)
	if met.Event != j.ev.ID && j.ev.Rank.Newer(met.Rank) {
		older, err := j.Store.Event(ctx, met.Event)
		switch {
		case err == nil:
			r.Older = &older
		case !errors.Is(err, inbox.ErrNotFound):
			return e, fmt.Errorf("read older event %s: %w", met.Event, err)
		}
	}
	found, stored, err := j.raise(ctx, r)
	switch found {
	case operation.DecidedSince:
		return j.decidedBefore(ctx)
	case operation.NewerWaits:
		return j.coalescedBy(stored.Event), err
	}
	return e, err
}

// failedBefore is the end of an event that meets a failed operation.
func (j *job) failedBefore(ctx context.Context, stored operation.Operation) (ending, error) {
	if stored.Category == operation.CategoryCancelled || stored.Dismissed != nil {
		return j.decidedBefore(ctx)
	}
	return j.broken(ctx, stored)
}

// decidedBefore is the end of an event that meets a failure which a person cancelled or dismissed: it is no news to
// anybody, and its repeats settle without a notice.
func (j *job) decidedBefore(ctx context.Context) (ending, error) {
	_, _, err := j.raise(ctx, operation.Raise{Seen: operation.Failed})
	return j.ended(inbox.Cancelled), err
}

// waiting takes notice of a draft, or of one that was rejected: nobody is asked twice, no call is made.
func (j *job) waiting(ctx context.Context, seen operation.State) (ending, error) {
	how := inbox.InReview
	if seen == operation.Rejected {
		how = inbox.Rejected
	}
	_, _, err := j.raise(ctx, operation.Raise{Seen: seen})
	return j.ended(how), err
}

// raise gives the operation this event's rank, if it is the newest that asked (W10). It tells what waits for it then:
// this event, or, as it found it, what is stored.
func (j *job) raise(ctx context.Context, r operation.Raise) (found operation.Raising, stored operation.Operation, err error) {
	r.Key, r.Rank, r.Event = j.key, j.ev.Rank, j.ev.ID
	err = j.Store.Raise(ctx, r)
	refused, isRefused := errors.AsType[*operation.RefusedError](err)
	switch {
	case err == nil:
		return operation.KnownAlready, stored, nil
	case isRefused:
		found, stored = operation.JudgeRaise(refused.Stored, r), refused.Stored
	case !errors.Is(err, inbox.ErrStale): // stale: the older event moved on
		return found, stored, fmt.Errorf("raise rank of operation %s: %w", j.key, err)
	}
	if found == operation.MovedOn {
		return found, stored, &Later{After: j.jitter(time.Second), Why: "redriven or decided meanwhile"}
	}
	return found, stored, nil
}

// notify sends the notice of parked work. It names things and holds no content.
func (w *Worker) notify(ctx context.Context, ev inbox.Event, e ending) error {
	err := w.Notices.Notify(ctx, inbox.Notice{
		Event: ev.ID, Scope: ev.Scope, Generation: ev.Generation,
		Operation: e.op, Token: e.token, Reason: e.reason, Category: string(e.category),
	})
	if err != nil {
		return fmt.Errorf("send notice of event %s: %w", ev.ID, err)
	}
	return nil
}

// end writes the one end of the event (W6, or W6r where no operation failed): parked if one recipe is,
// else in review if one waits, else completed if one is, else what they have in common.
func (w *Worker) end(ctx context.Context, ev inbox.Event, all []ending) error {
	now := w.Now()
	e := inbox.Ending{Event: ev.ID, Generation: ev.Generation, At: now, Outcome: combined(all)}
	var failed, reasons []string
	alone := false // for a reason that stands at no operation: only the event can tell it, in the list itself
	for _, one := range all {
		if !one.parked {
			continue
		}
		e.Parked, e.Category = true, string(one.category)
		reasons = append(reasons, one.reason)
		if alone = alone || one.op == ""; one.op != "" {
			failed = append(failed, one.op)
		}
		if err := w.notify(ctx, ev, one); err != nil { // a crash behind it sends the notice twice; what failed exists once
			return err
		}
	}
	if alone {
		failed = nil
	}
	if e.Parked {
		e.Scope, e.Outcome, e.Operations, e.Reason = ev.Scope, "", failed, joined(reasons)
	} else {
		for _, one := range all {
			if one.op != "" {
				e.Operations = append(e.Operations, one.op)
			}
			if one.outcome == e.Outcome && (e.Outcome == inbox.Coalesced || e.Outcome == inbox.Split) {
				e.Reason = one.reason
			}
		}
		days, err := w.eventDays(ctx, ev)
		if err != nil {
			return err
		}
		e.ExpiresAt = now.AddDate(0, 0, days)
	}
	return w.write(ctx, e)
}

// write ends the event. A refusal is not looked at: it was settled already, or reopened since, and then
// it is in the open index. Only a parking is given back, since the redrive that reopened it may be for us, and a newer
// event may wait in its place.
func (w *Worker) write(ctx context.Context, e inbox.Ending) error {
	err := w.Store.End(ctx, e)
	switch {
	case errors.Is(err, inbox.ErrStale) && e.Parked:
		return &Later{After: w.jitter(time.Second), Why: "reopened meanwhile"}
	case err != nil && !errors.Is(err, inbox.ErrStale):
		return fmt.Errorf("end event %s: %w", e.Event, err)
	case err != nil:
		return nil
	case e.Parked:
		w.Log.WarnContext(ctx, "event parked", "category", e.Category, "reason", e.Reason)
	default:
		w.Log.InfoContext(ctx, "event settled", "outcome", e.Outcome)
	}
	return nil
}

// combined is the outcome of an event whose recipes ended so.
func combined(all []ending) inbox.Outcome {
	for _, how := range []inbox.Outcome{inbox.Split, inbox.InReview, inbox.Completed, inbox.Rejected, inbox.Superseded, inbox.Coalesced, inbox.Cancelled} {
		if slices.ContainsFunc(all, func(e ending) bool { return e.outcome == how }) {
			return how
		}
	}
	return inbox.NoRecipe
}

func (w *Worker) eventDays(ctx context.Context, ev inbox.Event) (int, error) {
	common, err := w.Recipes.Common(ctx, ev.Scope)
	if err != nil {
		return 0, fmt.Errorf("read retention for event %s: %w", ev.ID, err)
	}
	return common.EventDays, nil
}

// joined makes one sentence of reasons, without repeating one.
func joined(reasons []string) string {
	var once []string
	for _, reason := range reasons {
		if !slices.Contains(once, reason) {
			once = append(once, reason)
		}
	}
	return strings.Join(once, "; ")
}
