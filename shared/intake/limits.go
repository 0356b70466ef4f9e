package intake

import "time"

// Limits are the times and sizes that an intake keeps to. A zero field means the one of [UsualLimits].
type Limits struct {
	Body    int           // bytes, where the endpoint says nothing
	OpenAge time.Duration // from the first put until the reconciler looks after the event

	Stored time.Duration // from arrival until the event is stored: configuration, secrets, a body in the bucket, the put
	Send   time.Duration // a reference to the queue, or a conflict to the store
	Head   time.Duration // of all heads that the event writes
	Count  time.Duration // of a duplicate

	Speed float64 // divides quiet periods; zero: they are as long as the recipe says
}

// The longest that a delivery can wait for outside calls. The most impatient sender (Slack) gives up
// after three seconds, counted from before the network on both sides and our own work. What must happen
// before the put shares one deadline: a first request reads more and connects anew, and a sender that
// does not retry must not lose its event to a share of time that another step did not need.
const (
	storedTime = 2000 * time.Millisecond
	sendTime   = 400 * time.Millisecond
	headTime   = 150 * time.Millisecond
	countTime  = 150 * time.Millisecond

	longest  = storedTime + headTime + sendTime + countTime
	patience = 3*time.Second - 300*time.Millisecond
)

const _ = uint64(patience - longest) // does not compile when the calls may take longer than a sender waits

// UsualLimits are the limits of a deployed receiver. Body and OpenAge are what its settings say when
// they say nothing.
var UsualLimits = Limits{
	Body:    1 << 20,
	OpenAge: 5 * time.Minute,
	Stored:  storedTime,
	Send:    sendTime,
	Head:    headTime,
	Count:   countTime,
}

func (l Limits) orUsual() Limits {
	if l.Body == 0 {
		l.Body = UsualLimits.Body
	}
	for _, f := range []struct {
		of    *time.Duration
		usual time.Duration
	}{
		{&l.OpenAge, UsualLimits.OpenAge},
		{&l.Stored, UsualLimits.Stored},
		{&l.Send, UsualLimits.Send},
		{&l.Head, UsualLimits.Head},
		{&l.Count, UsualLimits.Count},
	} {
		if *f.of == 0 {
			*f.of = f.usual
		}
	}
	return l
}
