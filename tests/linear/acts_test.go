package linear_test

import (
	"fmt"
	"strings"

	"engang/shared/inbox"
	"engang/shared/lifecycle"
	"engang/shared/object"
	"engang/shared/operation"
)

// claiming asks for the lease: of what is not there, of what waits and may be tried again, of what was overtaken for
// something newer, and of what somebody has whose time is over for certain.
type claiming struct{ operation.Claim }

func (c claiming) String() string {
	return fmt.Sprintf("claim by %s at %d for %s", c.Attempt, millis(c.Now), c.Rank)
}

func (c claiming) on(s state) (state, reason) {
	i := s.Item
	left := i.Claims < c.Limit
	free := i.State == "" || may(operation.Begin, i.State) && map[operation.State]bool{
		operation.Pending:    left && i.NotBefore <= millis(c.Now),
		operation.Running:    left && i.Until < millis(c.Past()),
		operation.Superseded: c.Rank.Newer(i.Rank),
	}[i.State]
	if !free {
		return s, byOperation
	}
	i.State, i.Token, i.Claims = operation.Begin.To, i.Token+1, i.Claims+1
	i.Owner, i.Until, i.WriteID, i.Event, i.Rank = c.Attempt, millis(c.Until), c.WriteID, c.Event, c.Rank
	s.Item = i
	return s, granted
}

func (c claiming) ours(s state) bool {
	return s.Item.State == operation.Running && s.Item.WriteID == c.WriteID && s.Item.Owner == c.Attempt
}

// finishing ends a lease: only who has it may, by token and by name.
type finishing struct {
	how lifecycle.Transition[operation.State]
	operation.Finish
}

func (f finishing) String() string {
	return fmt.Sprintf("%s by %s with token %d", f.how.Name, f.Lease.Attempt, f.Lease.Token)
}

func (f finishing) on(s state) (state, reason) {
	i := s.Item
	if !may(f.how, i.State) || i.Token != f.Lease.Token || i.Owner != f.Lease.Attempt {
		return s, byOperation
	}
	i.State, i.Owner, i.Until, i.WriteID = f.how.To, "", 0, f.WriteID
	i.Listed = f.how.Name == operation.Hold.Name || f.how.Name == operation.Fail.Name
	if f.how.Name != operation.Overtake.Name { // which made no call
		i.Log = logOf(f.Attempts)
	}
	switch f.how.Name {
	case operation.Complete.Name, operation.Hold.Name:
		i.Digest = f.Digest
	case operation.Retry.Name:
		i.NotBefore = millis(f.NotBefore)
	case operation.Pause.Name:
		i.NotBefore = millis(f.NotBefore)
		i.Claims--
	case operation.Overtake.Name:
		i.Claims--
	}
	s.Item = i
	return s, granted
}

func (f finishing) ours(s state) bool {
	return s.Item.State == f.how.To && s.Item.WriteID == f.WriteID
}

// exhausting gives up what was claimed too often while nobody has it.
type exhausting struct{ operation.Exhaustion }

func (e exhausting) String() string { return fmt.Sprintf("exhaust at %d", millis(e.Now)) }

func (e exhausting) on(s state) (state, reason) {
	i := s.Item
	held := i.State == operation.Running && i.Until >= millis(e.Past())
	if !may(operation.Exhaust, i.State) || held || i.Claims < e.Limit {
		return s, byOperation
	}
	i.State, i.Owner, i.Until, i.WriteID, i.Listed = operation.Exhaust.To, "", 0, e.WriteID, true
	s.Item = i
	return s, granted
}

func (e exhausting) ours(s state) bool {
	return s.Item.State == operation.Failed && s.Item.WriteID == e.WriteID
}

// raising makes a newer event the one that waits: for what failed only while it stands, or stands no more, in the
// review list as it was seen.
type raising struct{ operation.Raise }

func (r raising) String() string { return fmt.Sprintf("raise %s to %s", r.Seen, r.Rank) }

func (r raising) on(s state) (state, reason) {
	if !r.stands(s) || !r.Rank.Newer(s.Item.Rank) || r.Listed && s.Item.Event != r.Before {
		return s, byOperation
	}
	s.Item.Rank, s.Item.Event = r.Rank, r.Event
	return s, granted
}

// ours holds as well where another one that is as new waits already: there is nothing to do.
func (r raising) ours(s state) bool { return r.stands(s) && !r.Rank.Newer(s.Item.Rank) }

func (r raising) stands(s state) bool {
	return s.Item.State == r.Seen && (r.Seen != operation.Failed || s.Item.Listed == r.Listed)
}

// redriving opens what failed or was rejected, and its event with it.
type redriving struct{ operation.Redrive }

func (r redriving) String() string {
	return fmt.Sprintf("redrive %s with token %d of %s", r.Seen, r.Token, r.Event)
}

func (r redriving) on(s state) (state, reason) {
	how, i := operation.Reopen, s.Item
	if r.Seen == operation.Rejected {
		how = operation.Renew
		i.Digest = ""
	}
	if !may(how, i.State) || i.Event != r.Event || i.Token != r.Token {
		return s, byOperation
	}
	i.State, i.NotBefore, i.Claims, i.WriteID, i.Listed = how.To, millis(r.Now), 0, r.WriteID, false
	s.Item = i
	s.Event = opened(s.Event, inbox.Redrive)
	return s, granted
}

func (r redriving) ours(s state) bool {
	return s.Item.State == operation.Pending && s.Item.WriteID == r.WriteID
}

// opened is an event that is opened again, in another generation.
func opened(e event, how lifecycle.Transition[inbox.State]) event {
	e.State, e.Generation, e.Outcome = how.To, e.Generation+1, ""
	return e
}

// approving makes a draft that was looked at the result, unless a newer one is there.
type approving struct{ operation.Approval }

func (a approving) String() string {
	return fmt.Sprintf("approve %s of %s by %s", a.Seen.Digest, a.Seen.Rank, a.By)
}

func (a approving) on(s state) (state, reason) {
	i := s.Item
	if !may(operation.Approve, i.State) || i.Digest != a.Seen.Digest || i.Rank != a.Seen.Rank {
		return s, byOperation
	}
	if s.Result.Rank != "" && !a.Seen.Rank.Newer(s.Result.Rank) {
		return s, byResult
	}
	s.Item.State, s.Item.WriteID, s.Item.Listed = operation.Approve.To, a.WriteID, false
	s.Result = result{a.Seen.Rank, a.Seen.Digest}
	return s, granted
}

func (a approving) ours(s state) bool {
	return s.Item.State == operation.Completed && s.Item.WriteID == a.WriteID
}

// deciding is what else a person does about a draft, or about work that is not final.
type deciding struct {
	how     lifecycle.Transition[operation.State]
	seen    item
	writeID string
}

func (d deciding) String() string { return fmt.Sprintf("%s %+v", d.how.Name, d.seen) }

func (d deciding) on(s state) (state, reason) {
	i := s.Item
	stands := map[string]bool{
		operation.Reject.Name:   i.Digest == d.seen.Digest,
		operation.SetAside.Name: i.Rank == d.seen.Rank,
		operation.Cancel.Name:   i.Token == d.seen.Token,
	}[d.how.Name]
	if !may(d.how, i.State) || !stands {
		return s, byOperation
	}
	i.State, i.WriteID, i.Listed = d.how.To, d.writeID, false
	switch d.how.Name {
	case operation.SetAside.Name:
		i.Claims = 0
	case operation.Cancel.Name: // it takes a token of its own
		i.Owner, i.Until, i.Token = "", 0, i.Token+1
	}
	s.Item = i
	return s, granted
}

func (d deciding) ours(s state) bool { return s.Item.State == d.how.To && s.Item.WriteID == d.writeID }

// publishing writes a result, unless one that is as new is there.
type publishing struct {
	rank   object.Rank
	digest string
}

func (p publishing) String() string { return fmt.Sprintf("publish %s of %s", p.digest, p.rank) }

func (p publishing) on(s state) (state, reason) {
	if s.Result.Rank != "" && !p.rank.Newer(s.Result.Rank) {
		return s, byResult
	}
	s.Result = result{p.rank, p.digest}
	return s, granted
}

func (p publishing) ours(state) bool { return false } // a repeat is told what stands

// ending settles or parks the event, in the generation that was seen; with an operation only on one that failed, and
// waits with it.
type ending struct{ inbox.Ending }

func (e ending) String() string {
	return fmt.Sprintf("end generation %d %s", e.Generation, strings.TrimSpace(string(e.Outcome)+" "+e.Reason))
}

func (e ending) on(s state) (state, reason) {
	how := inbox.Settle
	if e.Parked {
		how = inbox.Park
	}
	alone := e.Parked && len(e.Operations) > 0 && (s.Item.State != operation.Failed || s.Item.Event != e.Event)
	if !may(how, s.Event.State) || s.Event.Generation != e.Generation || alone {
		return s, byEvent
	}
	s.Event.State, s.Event.Outcome = how.To, e.Outcome
	return s, granted
}

func (e ending) ours(state) bool { return false } // a repeat is told that it is over

// reopening opens the event alone: a parked one, or a settled one under raised recipes.
type reopening struct {
	how            lifecycle.Transition[inbox.State]
	former, raised []inbox.RecipeRef
}

func (r reopening) String() string { return r.how.Name + " the event" }

func (r reopening) on(s state) (state, reason) {
	if !may(r.how, s.Event.State) || r.raised != nil && s.Event.Recipes != recipes(r.former) {
		return s, byEvent
	}
	s.Event = opened(s.Event, r.how)
	if r.raised != nil {
		s.Event.Recipes = recipes(r.raised)
	}
	return s, granted
}

func (r reopening) ours(state) bool { return false }

// looking does nothing.
type looking struct{}

func (looking) String() string             { return "look" }
func (looking) on(s state) (state, reason) { return s, granted }
func (looking) ours(state) bool            { return true }
