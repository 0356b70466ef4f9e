package problem

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"engang/shared/inbox"
	"engang/shared/operation"
	"engang/shared/pause"
)

// The problems of a decision that took no effect.
var (
	decided = Problem{
		Type: "urn:engang:problem:decided", Title: "Decided already", Status: http.StatusConflict,
		Detail: "The draft was decided already, and nothing was done: one decision is all there is.",
	}
	otherDraft = Problem{
		Type: "urn:engang:problem:other-draft", Title: "Another draft", Status: http.StatusConflict,
		Detail: "The digest is not that of the draft which stands there, and nothing was done. Look at that draft: it needs a decision of its own.",
	}
	newerDraft = Problem{
		Type: "urn:engang:problem:newer-draft", Title: "A newer draft waits", Status: http.StatusConflict,
		Detail: "A newer draft of this object waits for its own decision, and nothing was done. Decide that one, or say that this one is meant all the same (`--although-newer`).",
	}
	outlived = Problem{
		Type: "urn:engang:problem:outlived", Title: "Older than results are kept", Status: http.StatusConflict,
		Detail: "The draft is older than results are kept: a newer version of the object may have had its result since, and nothing was done. Reject it, and save the object once more in its source, with a change.",
	}
	otherFailure = Problem{
		Type: "urn:engang:problem:other-failure", Title: "Another failure", Status: http.StatusConflict,
		Detail: "Since it was looked at it has failed again, or a newer event waits for it, and nothing was done. Look at it again: what stands there needs a decision of its own.",
	}
	inWork = Problem{
		Type: "urn:engang:problem:in-work", Title: "Still in work", Status: http.StatusConflict,
		Detail: "The event that waits for it is still in work, and nothing was done. Ask again in a moment; where a pause or a limit holds the event, when that is over.",
	}
	formerRecipe = Problem{
		Type: "urn:engang:problem:former-recipe", Title: "Under a raised recipe", Status: http.StatusConflict,
		Detail: "The event that waits for it was replayed and runs under a later version of the recipe, so that nobody would work on this one, and nothing was done. Look at what the later version came to.",
	}
	newerResult = Problem{
		Type: "urn:engang:problem:set-aside", Title: "Set aside", Status: http.StatusConflict,
		Detail: "A newer version of the object has its result already, so the draft was set aside and nothing of it became a result. There is nothing left to decide.",
	}
	longerPause = Problem{
		Type: "urn:engang:problem:longer-pause", Title: "Paused for longer", Status: http.StatusConflict,
		Detail: "A pause that ends later was in force when this one was asked for, and nothing was done. Look at what is paused; `resume` ends it.",
	}
	notWaiting = Problem{
		Type: "urn:engang:problem:not-waiting", Title: "Does not wait for this", Status: http.StatusConflict,
		Detail: "It does not wait for this decision, and nothing was done. Drafts are approved or rejected; what failed, is parked or in conflict is dismissed.",
	}
)

// pausedBy says who paused it, when, why and until when.
func pausedBy(p *Problem, err error) {
	e, ok := errors.AsType[*pause.LongerError](err)
	if !ok || e.Stored.By == "" { // resumed before it could be looked at
		return
	}
	was := e.Stored
	since, until := was.At.UTC(), "until it is resumed"
	p.Stands = &Standing{ID: was.Target.String(), State: "paused", By: was.By, At: &since, Note: was.Reason}
	if !was.Until.IsZero() {
		end := was.Until.UTC()
		p.Stands.Until, until = &end, "until "+end.Format(time.RFC3339)
	}
	p.Detail = fmt.Sprintf("%s is paused by %s since %s, %s: %s. A pause that ends sooner would cut that one short, and nothing was done. If that is what is meant, `resume` ends it first.",
		was.Target, was.By, since.Format(time.RFC3339), until, was.Reason)
}

// stands says what stands where the act was refused.
func stands(p *Problem, err error) {
	if e, ok := errors.AsType[*operation.OvertakenError](err); ok {
		r := e.Newer
		p.Stands = &Standing{ID: r.Operation.String(), State: "result", ObjectVersion: r.Rank.Version().String(), Digest: hashed(r.Digest)}
		return
	}
	e, ok := errors.AsType[*operation.RefusedError](err)
	if !ok || e.Stored.State == "" {
		return
	}
	o := e.Stored
	p.Stands = &Standing{ID: o.Key.String(), State: string(o.State), ObjectVersion: o.Rank.Version().String(), Digest: hashed(o.Digest)}
	d := o.Decision
	if d == nil {
		d = o.Dismissed
	}
	if d != nil {
		at := d.At.UTC()
		p.Stands.By, p.Stands.At, p.Stands.Note = d.By, &at, d.Note
	}
}

// standsAnew is stands for what failed, also an event that was parked alone.
func standsAnew(p *Problem, err error) {
	stands(p, err)
	if e, ok := errors.AsType[*inbox.RefusedError](err); ok {
		p.Stands = &Standing{ID: string(e.Stored.ID), State: string(e.Stored.State), ObjectVersion: e.Stored.Rank.Version().String()}
	}
}

func hashed(digest string) string {
	if digest == "" {
		return ""
	}
	return "sha256:" + digest
}

// decidedBy says how, by whom and when.
func decidedBy(p *Problem, err error) {
	stands(p, err)
	if s := p.Stands; s != nil && s.At != nil {
		p.Detail = fmt.Sprintf("The draft was %s by %s at %s, and nothing was done: one decision is all there is.", wordOf(operation.State(s.State)), s.By, s.At.Format(time.RFC3339))
		if s.State == string(operation.Completed) {
			p.Detail += " It is the result; a newer version of the object brings another draft."
		} else {
			p.Detail += " To have the work done again, redrive it by name."
		}
	}
}

// wordOf is what a person did to a draft that stands so now.
func wordOf(s operation.State) string {
	switch s {
	case operation.Completed:
		return "approved"
	case operation.Failed:
		return "cancelled"
	case operation.Superseded:
		return "set aside"
	}
	return string(s)
}

// version names the object version of what stands there.
func version(p *Problem, err error) {
	stands(p, err)
	if s := p.Stands; s != nil && s.ObjectVersion != "" {
		p.Detail += fmt.Sprintf(" The newer one is of version %s: %s.", s.ObjectVersion, s.ID)
	}
}
