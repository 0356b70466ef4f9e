package program

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"engang/infra/engang/client"
	"engang/infra/engang/delivery"
	"engang/infra/engang/text"
)

// More than these are the business of a program that makes load.
const (
	maxRepeat   = 1_000_000
	maxParallel = 1_000
)

// noStatus stands for the status of a delivery that was not answered.
const noStatus = "0"

// A summary is what came of the deliveries.
type summary struct {
	Kind     string         `json:"kind"` // "deliveries"
	Endpoint string         `json:"endpoint"`
	Provider string         `json:"provider"`
	Sent     int            `json:"sent"`
	Answers  map[string]int `json:"answers"`  // "accepted": 1, "duplicate": 49
	Statuses map[string]int `json:"statuses"` // by HTTP status; noStatus where none came
	Events   []string       `json:"events"`
	Final    []final        `json:"final,omitempty"` // with --wait
	took     time.Duration
}

// A final is how the work on one event ended.
type final struct {
	Event   string `json:"event"`
	State   string `json:"state"`
	Outcome string `json:"outcome,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// A tally counts answers as they come, so that many deliveries need no more room than few.
type tally struct {
	mu      sync.Mutex
	sum     summary
	events  map[string]bool
	refused int
	last    client.Receipt // of those that were refused
	lost    error          // why there is no answer, where one is missing
	untyped bool           // nothing says what type the deliveries are of
}

func (t *tally) add(r client.Receipt) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := &t.sum
	s.Sent++
	s.Answers[r.Answer]++
	s.Statuses[strconv.Itoa(r.Status)]++
	if r.Event != "" && !t.events[r.Event] {
		if t.events == nil {
			t.events = map[string]bool{}
		}
		t.events[r.Event], s.Events = true, append(s.Events, r.Event)
	}
	switch {
	case r.Err != nil:
		t.lost = r.Err
	case r.Status < 200 || r.Status > 299:
		t.refused, t.last = t.refused+1, r
	}
}

// deliverAll sends until everything is sent, or a person interrupts: what was begun is waited for then.
func (p *program) deliverAll(ctx context.Context, c *client.Client, m *delivery.Maker, t *tally, s sending) error {
	begun := time.Now()
	slots := make(chan struct{}, s.parallel)
	var all sync.WaitGroup
	defer func() {
		all.Wait()
		t.sum.took = time.Since(begun)
	}()
	for range s.repeat {
		select {
		case <-ctx.Done():
			return nil
		case slots <- struct{}{}:
		}
		if ctx.Err() != nil { // of two that are ready, select takes either
			return nil
		}
		req, err := m.Make(p.Now())
		if err != nil {
			return err
		}
		all.Go(func() {
			defer func() { <-slots }()
			t.add(c.Deliver(context.WithoutCancel(ctx), t.sum.Endpoint, req))
		})
	}
	return nil
}

// failure is the error of deliveries that were not all sent and taken.
func (t *tally) failure(wanted int) error {
	switch {
	case t.lost != nil:
		return t.lost
	case t.refused > 0:
		return &failure{exitFailed, fmt.Errorf("%s of %d refused: %d %s%s", text.Count(t.refused, "delivery", "deliveries"), t.sum.Sent, t.last.Status, t.last.Answer, t.remedy())}
	case t.sum.Sent < wanted:
		return fmt.Errorf("%w: %d of %d were sent; the same command sends them again", errInterrupted, t.sum.Sent, wanted)
	}
	return nil
}

// remedy is what to do about a refusal that is not the delivery's fault, or that the command can mend.
func (t *tally) remedy() string {
	switch {
	case t.last.Status == http.StatusTooManyRequests:
		return ": more came than is let in within a moment; wait some seconds and give the command again, or send fewer at once"
	case t.last.Status == http.StatusBadRequest && t.untyped:
		return ": the file does not say what type of event it is; say it with --type"
	}
	return ""
}
