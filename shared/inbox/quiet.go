package inbox

import "time"

// MaxDelay is the longest delay of a message: a longer quiet period goes by the event's due time alone.
const MaxDelay = 15 * time.Minute

// headLife is how long a head stays after its quiet period: long after its event is settled.
const headLife = 7 * 24 * time.Hour

// QuietPeriod is how long the event's work waits for a newer change of its object: the longest of its recipes'.
func (e Event) QuietPeriod() time.Duration {
	var longest time.Duration
	for _, d := range e.Quiet {
		longest = max(longest, d)
	}
	return longest
}

// Heads are the heads that the event is to write when it is stored, one for each of its recipes that has a quiet
// period; none for an event without an object.
func (e Event) Heads() []Head {
	if e.Object.IsZero() {
		return nil
	}
	var all []Head
	for _, ref := range e.Recipes {
		if d := e.Quiet[ref.Name]; d > 0 {
			all = append(all, Head{Scope: e.Scope, Object: e.Object, Recipe: ref.Name, Rank: e.Rank, Event: e.ID, ExpiresAt: e.ReceivedAt.Add(d + headLife)})
		}
	}
	return all
}

// A Reference is what is sent to the work queue for an event.
type Reference struct {
	Event  EventID
	Tenant string        // whose turn it is: one tenant's import does not hold up the others
	Delay  time.Duration // at most [MaxDelay]
}

// Reference is the event's message, and whether it is sent when the event is stored. Where the quiet period is
// longer than a message can wait, the event is sent when it is due.
func (e Event) Reference() (r Reference, now bool) {
	d := e.QuietPeriod()
	return Reference{Event: e.ID, Tenant: e.Scope.Tenant, Delay: d}, d <= MaxDelay
}

// DueAfter is when the reconciler looks at the event first: age after it could have been worked on; where no
// message is sent, as soon as the quiet period is over.
func (e Event) DueAfter(from time.Time, age time.Duration) time.Time {
	r, sent := e.Reference()
	if !sent {
		age = 0
	}
	return from.Add(r.Delay + age)
}
