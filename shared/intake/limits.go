package intake

import "time"

// Limits are the times and sizes that an intake keeps to. A zero field means the one of [UsualLimits].
type Limits struct {
	Body    int           // bytes, where the endpoint says nothing
	OpenAge time.Duration // from the first put until the reconciler looks after the event

	Endpoint time.Duration // configuration: up to three reads
	Secrets  time.Duration
	Keep     time.Duration // a body in the bucket
	Store    time.Duration // the one conditional put
	Send     time.Duration // a reference to the queue, or a conflict to the store
	Count    time.Duration // of a duplicate
}

// The longest that a delivery can wait for outside calls. The most impatient sender (Slack) gives up
// after three seconds, counted from before the network on both sides and our own work.
const (
	endpointTime = 500 * time.Millisecond
	secretsTime  = 400 * time.Millisecond
	keepTime     = 500 * time.Millisecond
	storeTime    = 700 * time.Millisecond
	sendTime     = 400 * time.Millisecond
	countTime    = 200 * time.Millisecond

	longest  = endpointTime + secretsTime + keepTime + storeTime + sendTime + countTime
	patience = 3*time.Second - 300*time.Millisecond
)

const _ = uint64(patience - longest) // does not compile when the calls may take longer than a sender waits

// UsualLimits are the limits of a deployed receiver. Body and OpenAge are what its settings say when
// they say nothing.
var UsualLimits = Limits{
	Body:     1 << 20,
	OpenAge:  5 * time.Minute,
	Endpoint: endpointTime,
	Secrets:  secretsTime,
	Keep:     keepTime,
	Store:    storeTime,
	Send:     sendTime,
	Count:    countTime,
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
		{&l.Endpoint, UsualLimits.Endpoint},
		{&l.Secrets, UsualLimits.Secrets},
		{&l.Keep, UsualLimits.Keep},
		{&l.Store, UsualLimits.Store},
		{&l.Send, UsualLimits.Send},
		{&l.Count, UsualLimits.Count},
	} {
		if *f.of == 0 {
			*f.of = f.usual
		}
	}
	return l
}
