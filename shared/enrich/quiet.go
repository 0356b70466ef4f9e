package enrich

import (
	"context"
	"errors"
	"fmt"

	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
)

// Heads knows the newest stored event of an object that a recipe with a quiet period waits for.
type Heads interface {
	PutHead(ctx context.Context, h inbox.Head) error
	Head(ctx context.Context, scope object.Scope, id object.ID, recipe string) (inbox.Head, bool, error)
}

// newer names the stored event inside the quiet period that is newer than this one; empty if there is none, or
// no quiet period. It is read after the claim: an operation of a coalesced event is given back, never left running.
func (j *job) newer(ctx context.Context) (inbox.EventID, error) {
	if j.recipe.QuietSeconds == 0 {
		return "", nil
	}
	head, found, err := j.Store.Head(ctx, j.key.Scope, j.key.Object, j.recipe.Name)
	if err != nil {
		return "", fmt.Errorf("read head of %s: %w", j.key.Object, err)
	}
	if !found || !head.Rank.Newer(j.ev.Rank) {
		return "", nil
	}
	newer, err := j.Store.Event(ctx, head.Event)
	switch {
	case errors.Is(err, inbox.ErrNotFound), err == nil && (newer.Outcome == inbox.Cancelled || newer.Dismissed != nil): // a person has done with it, or it is gone: it does nobody's work
		return "", nil
	case err != nil:
		return "", fmt.Errorf("read newer event %s: %w", head.Event, err)
	case !newer.Rank.Newer(j.ev.Rank): // a repeat was received later than what it repeats, of which only the first rank counts
		return "", nil
	}
	return head.Event, nil
}

// coalesced gives the lease back (W8): a newer event does the work of this one.
func (j *job) coalesced(ctx context.Context, lease operation.Lease, newer inbox.EventID) (ending, error) {
	f := operation.Finish{Lease: lease, ExpiresAt: j.resultExpiry()}
	if err := j.finish(ctx, j.Store.Supersede, operation.Superseded, f, operation.Attempt{}); err != nil {
		return ending{}, err
	}
	return j.coalescedBy(newer), nil
}

func (j *job) coalescedBy(newer inbox.EventID) ending {
	e := j.ended(inbox.Coalesced)
	e.reason = string(newer)
	return e
}

// overtaken is the end of an event whose operation was superseded by something newer: a result, or an event
// inside the quiet period.
func (j *job) overtaken(ctx context.Context) (ending, error) {
	newer, err := j.newer(ctx)
	if err != nil {
		return ending{}, err
	}
	if newer != "" {
		return j.coalescedBy(newer), nil
	}
	return j.ended(inbox.Superseded), nil
}
