package control

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"engang/shared/audit"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/problem"
)

// Drafts is where decisions on drafts are written. Each is refused with an error that wraps
// [operation.ErrRefused] when the draft does not stand as it was looked at; an approval also with
// [operation.ErrNewerResult]. Our own decision whose answer was lost is no refusal.
type Drafts interface {
	Approve(ctx context.Context, a operation.Approval) error
	Reject(ctx context.Context, r operation.Rejection) error
	SetAside(ctx context.Context, s operation.SettingAside) error
}

// A Deciding asks for a decision on what waits for a person.
type Deciding struct {
	ID            string // an operation, of which a unique beginning is enough; see also [Control.Dismiss]
	Digest        string // of the draft that was looked at
	Seen          string // which failure was looked at, as [Waiting].Seen says it; empty: the one that stands there. Of a dismissal
	AlthoughNewer bool   // an older draft is meant although a newer one waits
	By            string // the caller's identity
	Reason        string
}

// Approve makes a draft the result: the bytes whose digest was looked at, with the newest rank that
// asked for them. One decision is all there is, however often and by however many it is asked for at
// once; who asks for the same again is told who decided it. Nothing is open afterwards: the result is
// written with the decision.
//
// When the object has a newer result, the draft is set aside and the error is an
// *[operation.OvertakenError]. Other refusals are [operation.ErrDecided], [operation.ErrOtherDraft],
// [operation.ErrNewerDraft] unless AlthoughNewer is said, [operation.ErrOutlived], and [operation.ErrNotWaiting], each with an
// *[operation.RefusedError] that says what stands; [ErrReason], [problem.ErrIdentity] and the errors of
// [Control.Show] come before anything is done. Every decision that was asked for on a draft is kept in
// the audit log, also one that was refused.
func (c *Control) Approve(ctx context.Context, scope object.Scope, d Deciding) (Decided, error) {
	return c.decide(ctx, scope, d, choice{"approve draft", (*act).approve})
}

// Reject refuses a draft for good: the same content coming again makes no call. Only a person opens it
// again, by redriving it. Else as Approve, except that neither a newer draft nor a newer result matters.
func (c *Control) Reject(ctx context.Context, scope object.Scope, d Deciding) (Decided, error) {
	return c.decide(ctx, scope, d, choice{"reject draft", (*act).reject})
}

// looks is how often a decision looks again while others change what it is about.
const looks = 10

// errAgain says that what was looked at changed before the decision could be written.
var errAgain = errors.New("changed since it was looked at")

// A choice is a kind of decision.
type choice struct {
	name string // in the audit log
	try  func(*act, context.Context) (Decided, error)
}

// An act is one decision that somebody asked for, with everything that its repeats have in common.
type act struct {
	c       *Control
	scope   object.Scope
	asked   Deciding
	writeID string
	now     time.Time
	days    int       // how long its record is kept, in days; zero: without end
	end     time.Time // of operations and results; zero: there is none
	brief   time.Time // of events, likewise
	target  string    // as the audit log names it; empty until something was found
	written bool      // a write was sent: without its answer the decision may have taken effect
}

func (c *Control) decide(ctx context.Context, scope object.Scope, d Deciding, what choice) (Decided, error) {
	if err := answerable(d.By, d.Reason); err != nil {
		return Decided{}, err
	}
	common, err := c.d.Endpoints.Common(ctx, scope)
	if err != nil {
		return Decided{}, fmt.Errorf("%s: %w", what.name, err)
	}
	a := &act{c: c, scope: scope, asked: d, writeID: c.d.NewID(), now: c.d.Now().UTC().Truncate(time.Millisecond), days: common.ResultDays}
	a.end, a.brief = daysAfter(a.now, common.ResultDays), daysAfter(a.now, common.EventDays)
	for range looks {
		done, err := what.try(a, ctx)
		if errors.Is(err, errAgain) {
			continue
		}
		if err != nil {
			err = fmt.Errorf("%s %s: %w", what.name, a.target, err)
		}
		return done, errors.Join(err, a.record(ctx, what.name, done, err))
	}
	return Decided{}, fmt.Errorf("%s %s: %w: %w", what.name, a.target, errAgain, problem.ErrUnavailable)
}

func (a *act) approve(ctx context.Context) (Decided, error) {
	seen, err := a.look(ctx)
	if err != nil {
		return Decided{}, err
	}
	overtaken := seen.result != nil && !seen.draft.Rank.Newer(seen.result.Rank)
	if overtaken && seen.draft.State == operation.Superseded && seen.draft.Digest == a.digest() { // set aside, by us or by others
		return Decided{}, &operation.OvertakenError{Newer: *seen.result}
	}
	if done, err := a.judge(seen.draft, operation.Completed); err != nil || done.Kind != "" {
		return done, err
	}
	switch {
	case overtaken:
		return Decided{}, a.setAside(ctx, seen)
	case seen.result == nil && !a.end.IsZero() && operation.Outlived(seen.draft.Attempts, time.Time{}, a.now, a.end.Sub(a.now)):
		return Decided{}, refused(operation.ErrOutlived, seen.draft)
	case seen.newer != nil && !a.asked.AlthoughNewer:
		return Decided{}, refused(operation.ErrNewerDraft, *seen.newer)
	}
	a.written = true
	err = a.c.d.Store.Approve(ctx, operation.Approval{
		Seen: seen.draft, By: a.asked.By, Note: a.asked.Reason, WriteID: a.writeID, Now: a.now, ExpiresAt: a.end, ResultExpiresAt: a.end,
	})
	return a.wrote(seen.draft, operation.Completed, err)
}

func (a *act) reject(ctx context.Context) (Decided, error) {
	seen, err := a.look(ctx)
	if err != nil {
		return Decided{}, err
	}
	if done, err := a.judge(seen.draft, operation.Rejected); err != nil || done.Kind != "" {
		return done, err
	}
	a.written = true
	err = a.c.d.Store.Reject(ctx, operation.Rejection{
		Key: seen.draft.Key, Digest: seen.draft.Digest, By: a.asked.By, Note: a.asked.Reason, WriteID: a.writeID, Now: a.now,
	})
	return a.wrote(seen.draft, operation.Rejected, err)
}

// setAside takes the draft off the review list, since the object has a newer result.
func (a *act) setAside(ctx context.Context, seen draftLook) error {
	err := a.c.d.Store.SetAside(ctx, operation.SettingAside{Key: seen.draft.Key, Rank: seen.draft.Rank, WriteID: a.writeID, ExpiresAt: a.end})
	switch {
	case errors.Is(err, operation.ErrRefused): // raised or decided meanwhile
		return errAgain
	case err != nil:
		return err
	}
	return &operation.OvertakenError{Newer: *seen.result}
}

// wrote says what came of a decisive write. A refusal decides nothing by itself: the next look does.
func (a *act) wrote(o operation.Operation, next operation.State, err error) (Decided, error) {
	switch {
	case errors.Is(err, operation.ErrRefused), errors.Is(err, operation.ErrNewerResult):
		return Decided{}, errAgain
	case err != nil:
		return Decided{}, err
	}
	o.State, o.Decision = next, &operation.Decision{By: a.asked.By, At: a.now, Note: a.asked.Reason}
	return decidedOf(o, false), nil
}

// digest is that of the draft which was looked at, as it is stored.
func (a *act) digest() string { return strings.TrimPrefix(a.asked.Digest, "sha256:") }

// judge says what the stored operation means for a decision that would leave it in the state next:
// nothing and no error when it stands as it was looked at.
func (a *act) judge(stored operation.Operation, next operation.State) (Decided, error) {
	asked := operation.Operation{Digest: a.digest(), Rank: stored.Rank} // any rank: the bytes are what was looked at
	switch operation.JudgeDecision(stored, asked, a.writeID, next) {
	case operation.StillThere:
		return Decided{}, nil
	case operation.OwnDecision:
		return decidedOf(stored, false), nil
	case operation.OtherDraft:
		return Decided{}, refused(operation.ErrOtherDraft, stored)
	}
	switch {
	case stored.Decision == nil:
		return Decided{}, refused(operation.ErrNotWaiting, stored)
	case stored.State == next && stored.Digest == asked.Digest:
		return decidedOf(stored, true), nil
	}
	return Decided{}, refused(operation.ErrDecided, stored)
}

func refused(why error, stored operation.Operation) error {
	return fmt.Errorf("%w: %w", why, &operation.RefusedError{Stored: stored})
}

// A draftLook is what a decision looks at.
type draftLook struct {
	draft  operation.Operation
	result *operation.Result    // of the object under the draft's recipe version
	newer  *operation.Operation // the newest draft of the same, if it is newer than this one
}

// look reads the operation with all that stands beside it, consistently.
func (a *act) look(ctx context.Context) (draftLook, error) {
	if a.digest() == "" {
		return draftLook{}, &problem.QueryError{Parameter: "digest", Want: "that of the draft which was looked at"}
	}
	o, all, err := a.operation(ctx)
	if err != nil {
		return draftLook{}, err
	}
	a.target = o.Key.String() + ", draft " + digest(a.digest())
	seen := draftLook{draft: o}
	for i, r := range all.results {
		if r.Recipe == o.Key.Recipe {
			seen.result = &all.results[i]
		}
	}
	for i, other := range all.ops {
		newest := o.Rank
		if seen.newer != nil {
			newest = seen.newer.Rank
		}
		if other.Key.Recipe == o.Key.Recipe && other.State == operation.Review && other.Rank.Newer(newest) {
			seen.newer = &all.ops[i]
		}
	}
	return seen, nil
}

// operation finds the one operation that is meant; the next look finds that very one.
func (a *act) operation(ctx context.Context) (operation.Operation, collection, error) {
	o, all, err := a.c.one(ctx, a.scope, a.asked.ID)
	if err == nil {
		a.asked.ID = o.Key.String()
	}
	return o, all, err
}

// record keeps what was asked for, and what came of it. What was done already is recorded again as it
// was: whoever did it may have died before the record was written, and the same record twice is one.
func (a *act) record(ctx context.Context, name string, done Decided, err error) error {
	e := audit.Entry{Scope: a.scope, At: a.now, ID: a.writeID, By: a.asked.By, Act: name, Target: a.target, Reason: a.asked.Reason}
	switch {
	case done.Already:
		first := e
		first.At, first.ID, first.By, first.Reason = done.At, done.writeID, done.By, done.Note
		e.Act += ", done already"
		return errors.Join(a.c.keep(ctx, first, a.days), a.c.keep(ctx, e, a.days))
	case errors.Is(err, operation.ErrNewerResult):
		e.Act += ", set aside"
	case errors.Is(err, operation.ErrRefused):
		e.Act += ", refused"
	case err != nil && !a.written:
		return nil
	case err != nil: // beside the record of the decision, if a repeat finds that it stands
		e.Act, e.ID = e.Act+", outcome unknown", a.c.d.NewID()
	}
	return a.c.keep(ctx, e, a.days)
}
