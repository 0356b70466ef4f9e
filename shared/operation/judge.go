package operation

import (
	"slices"
	"time"
)

// A Standing says what a refused claim found (infra/protocol.md section 4, W3).
type Standing int

// The standings.
const (
	Again          Standing = iota // claimable now: changed since the refusal, claim again
	Own                            // our own claim, its answer was lost
	Busy                           // another attempt holds the lease until Wait
	UsedUp                         // claims are at the limit and no lease runs
	Done                           // completed, or an echo: no call
	Broken                         // failed before
	WaitsForPerson                 // a draft, or one that was rejected
	Overtaken                      // older than what superseded it
	BackingOff                     // not before Wait
)

// JudgeClaim says what a refused claim means, from the stored operation, and until when to wait where
// waiting is the answer.
func JudgeClaim(stored Operation, c Claim) (Standing, time.Time) {
	over := stored.LeaseEnd.Before(c.Past())
	switch stored.State {
	case Running:
		switch {
		case stored.WriteID == c.WriteID && stored.Owner == c.Attempt:
			return Own, time.Time{}
		case !over:
			return Busy, stored.LeaseEnd.Add(c.Skew)
		case stored.Claims >= c.Limit:
			return UsedUp, time.Time{}
		}
	case Pending:
		switch {
		case stored.Claims >= c.Limit:
			return UsedUp, time.Time{}
		case stored.NotBefore.After(c.Now):
			return BackingOff, stored.NotBefore
		}
	case Completed:
		return Done, time.Time{}
	case Failed:
		return Broken, time.Time{}
	case Review, Rejected:
		return WaitsForPerson, time.Time{}
	case Superseded:
		if !c.Rank.Newer(stored.Rank) {
			return Overtaken, time.Time{}
		}
	}
	return Again, time.Time{}
}

// An Aftermath says what a refused finish found (infra/protocol.md section 4, W4, W7, W8, W16, W24).
type Aftermath int

// The aftermaths.
const (
	LeaseLost Aftermath = iota // taken over: record the losing attempt, touch nothing else
	OwnFinish                  // our own write, its answer was lost: go on
	Covered                    // our own write, and others have moved the operation on since
)

// JudgeFinish says what a refused finish means, from the stored operation: next is the state that the
// write would have left.
func JudgeFinish(stored Operation, f Finish, next State) Aftermath {
	if stored.State == next && stored.WriteID == f.WriteID {
		return OwnFinish
	}
	recorded := slices.ContainsFunc(stored.Attempts, func(a Attempt) bool {
		return a.ID == f.Lease.Attempt && a.Outcome != Lost
	})
	if recorded {
		return Covered
	}
	return LeaseLost
}
