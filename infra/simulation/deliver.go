package simulation

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"engang/shared/inbox"
	"engang/shared/intake"
	"engang/shared/webhook"
)

// retriesAfter is when a sender comes again that was not answered, each time after the one before.
var retriesAfter = []time.Duration{5 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour}

// plan has the senders send.
func (w *world) plan() {
	for _, d := range w.scene.deliveries {
		for i, t := range d.times {
			name := fmt.Sprintf("delivery %s, %d", d.name, i+1)
			if w.happens(name) {
				s := sending{at: t, body: d.body}
				if i > 0 {
					s.body = repeated(d.body)
				}
				w.send(d, name, s)
			}
		}
		if name := "another fact under " + d.name; d.other != nil && w.happens(name) {
			w.send(d, name, sending{at: d.times[len(d.times)-1] + time.Second, body: d.other})
		}
	}
}

// A sending is one try of a delivery.
type sending struct {
	at   time.Duration
	body []byte
	try  int
}

func (w *world) send(d delivery, name string, s sending) {
	w.at(s.at, name, func() {
		if w.waitsForErasure(d) {
			s.at = w.clock + 10*time.Second
			w.send(d, name, s)
			return
		}
		w.counts.Deliveries++
		p := w.processOf(fmt.Sprintf("receiver %d", 1+w.dice.below(2, "receiver for "+name, s.try)))
		a := &actor{name: fmt.Sprintf("%s try %d", name, s.try+1), process: p, end: w.clock + receiverTime}
		w.start(a, func(ctx context.Context) {
			if !w.deliver(ctx, p, d, s) && d.retries && s.try < len(retriesAfter) {
				w.send(d, name, sending{w.clock + retriesAfter[s.try], s.body, s.try + 1})
			}
		})
	})
}

// deliver makes one delivery, and tells whether the sender has been answered with a 2xx.
func (w *world) deliver(ctx context.Context, p *process, d delivery, s sending) bool {
	of := map[string]string{endpointName: "standard-webhooks", crmName: provider}
	scheme, _ := webhook.Lookup(of[d.endpoint])
	req := webhook.Request{Method: http.MethodPost, URL: "https://hooks.invalid/hooks/" + d.endpoint, Body: s.body, Header: http.Header{}}
	if d.endpoint == endpointName {
		req.Header.Set("Webhook-Id", d.event)
	}
	req, err := scheme.Sign(req, secret, noon.Add(w.clock))
	if err != nil {
		w.violated("sign delivery: %v", err)
		return true
	}
	_, erased := w.emptied[d.wants()]
	reply, err := p.receives().Deliver(ctx, intake.Delivery{Endpoint: d.endpoint, Request: req})
	a := actorOf(ctx)
	said := reply.Status
	if err != nil {
		said = "not taken"
		if !a.dead && w.calm() {
			w.violated("refuse-early: a sound delivery was not taken: %v", err)
		}
	}
	if a.step(call{name: "answer", on: string(reply.Event), try: 1}, func() string { return said }) != nil || err != nil {
		return false
	}
	if reply.Status != intake.Accepted && reply.Status != intake.Duplicate && reply.Status != intake.Conflict {
		w.violated("refuse-early: a sound delivery was answered with %q", reply.Status)
	}
	if erased && reply.Status != intake.Duplicate {
		w.violated("erase: a delivery of %s, which had been erased, was answered with %q", reply.Event, reply.Status)
	}
	w.taken[reply.Event] = true
	return true
}

// wants is the id of the event that a delivery is one of.
func (d delivery) wants() inbox.EventID { return inbox.NewEventID(scope, d.endpoint, d.key) }
