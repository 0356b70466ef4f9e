package simulation

import (
	"context"
	"fmt"
	"time"

	"engang/shared/inbox"
	shared "engang/shared/queue"
)

// What SQS is told by template.yaml.
const (
	visibility  = 720 * time.Second
	mostReceive = 20
)

// A queue is an SQS standard queue in virtual time: messages come in any order, now and then twice, are hidden while
// somebody has them, and go to the dead letters when they were received too often.
type queue struct {
	w        *world
	name     string
	letters  *queue
	messages []*message
	made     int
	polls    int
}

// A message is one that was sent.
type message struct {
	shared.Message
	id       string
	from     time.Duration // visible from then on
	receives int
	receipt  int // that is good
	sent     time.Duration
}

func (m *message) handle() string { return fmt.Sprintf("%s/%d", m.id, m.receipt) }

// put adds a message.
func (q *queue) put(m shared.Message, delay time.Duration) *message {
	q.made++
	kept := &message{Message: m, id: fmt.Sprintf("m%d", q.made), from: q.w.clock + delay, sent: q.w.clock}
	q.messages = append(q.messages, kept)
	return kept
}

// call is a call of this queue, repeated as the client of SQS repeats it.
func (q *queue) call(ctx context.Context, c call, do func() string) error {
	a := actorOf(ctx)
	if a == nil {
		do()
		return nil
	}
	var err error
	for c.try = 1; c.try <= tries; c.try++ {
		if err = a.step(c, do); err == nil || a.dead {
			break
		}
	}
	return err
}

// Send sends a reference of an event.
func (q *queue) Send(ctx context.Context, ref inbox.Reference) error {
	return q.call(ctx, call{name: "send event", on: string(ref.Event)}, func() string {
		return q.put(shared.Message{Event: ref.Event}, min(ref.Delay, inbox.MaxDelay)).id
	})
}

// Notify sends a notice.
func (q *queue) Notify(ctx context.Context, n inbox.Notice) error {
	return q.call(ctx, call{name: "send notice", on: fmt.Sprintf("%s %s", n.Event, n.Reason)}, func() string {
		q.w.told[notice{n.Event, n.Generation}] = true
		return q.put(shared.Message{Notice: &n}, 0).id
	})
}

// Hide hides a message that was received.
func (q *queue) Hide(ctx context.Context, handle string, d time.Duration) error {
	return q.call(ctx, call{name: "change visibility", on: fmt.Sprintf("%s for %s", handle, d.Round(time.Millisecond))}, func() string {
		if m := q.by(handle); m != nil {
			m.from = q.w.clock + min((d+time.Second-1).Truncate(time.Second), shared.MaxHide)
			return "hidden"
		}
		return "not there"
	})
}

// delete removes a message that was received; a receipt that is not the last one any more does not.
func (q *queue) delete(ctx context.Context, handle string) error {
	return q.call(ctx, call{name: "delete message", on: handle}, func() string { return q.remove(handle) })
}

func (q *queue) remove(handle string) string {
	for i, m := range q.messages {
		if m.handle() == handle {
			q.messages = append(q.messages[:i], q.messages[i+1:]...)
			return "deleted"
		}
	}
	return "not there"
}

func (q *queue) by(handle string) *message {
	for _, m := range q.messages {
		if m.handle() == handle {
			return m
		}
	}
	return nil
}

// Backlog is how many messages are visible.
func (q *queue) Backlog(ctx context.Context) (n int, err error) {
	err = q.call(ctx, call{name: "read backlog"}, func() string {
		n = q.visible()
		return fmt.Sprint(n)
	})
	return n, err
}

func (q *queue) visible() int {
	n := 0
	for _, m := range q.messages {
		if m.from <= q.w.clock {
			n++
		}
	}
	return n
}

// next is when the next message that is hidden becomes visible.
func (q *queue) next() (first time.Duration, ok bool) {
	for _, m := range q.messages {
		if m.from > q.w.clock && (!ok || m.from < first) {
			first, ok = m.from, true
		}
	}
	return first, ok
}

// receive takes any visible message, and hides it but for the few that are given twice. It is nil where the only ones
// were received too often: they go to the dead letters.
func (q *queue) receive() *message {
	var all []*message
	for _, m := range q.messages {
		if m.from <= q.w.clock {
			all = append(all, m)
		}
	}
	q.polls++
	m := all[q.w.dice.below(len(all), "message", q.polls)]
	if m.receives >= mostReceive {
		q.receiptOf(m)
		q.remove(m.handle())
		q.letters.put(m.Message, 0)
		q.w.note(nil, "dead letter "+m.id, "received too often")
		return nil
	}
	m.receives++
	q.receiptOf(m)
	m.from = q.w.clock + visibility
	if !q.w.calm() && q.w.dice.chance(40, "twice "+m.id, m.receives) && q.w.happens(fmt.Sprintf("message %s is given twice at receive %d", m.id, m.receives)) {
		m.from = q.w.clock
		q.w.counts.Repeats++
	}
	return m
}

func (q *queue) receiptOf(m *message) { m.receipt = m.receives }

// Peek looks at letters.
func (q *queue) Peek(ctx context.Context, limit int, hide time.Duration) (letters []inbox.Letter, more bool, err error) {
	err = q.call(ctx, call{name: "receive letters"}, func() string {
		letters = nil
		for _, m := range q.messages {
			if m.from > q.w.clock || len(letters) == limit {
				continue
			}
			m.receives++
			m.receipt, m.from = m.receives, q.w.clock+hide
			l := inbox.Letter{ID: m.id, Handle: m.handle(), SentAt: noon.Add(m.sent), Receives: m.receives, Event: m.Event, Notice: m.Notice}
			if m.Notice != nil {
				l.Event = m.Notice.Event
			}
			letters = append(letters, l)
		}
		return fmt.Sprint(len(letters))
	})
	return letters, len(letters) == limit, err
}

// Return makes letters visible again.
func (q *queue) Return(ctx context.Context, handles []string) error {
	return q.call(ctx, call{name: "return letters"}, func() string {
		for _, h := range handles {
			if m := q.by(h); m != nil {
				m.from = q.w.clock
			}
		}
		return fmt.Sprint(len(handles))
	})
}

// Delete removes letters.
func (q *queue) Delete(ctx context.Context, handles []string) error {
	return q.call(ctx, call{name: "delete letters"}, func() string {
		for _, h := range handles {
			q.remove(h)
		}
		return fmt.Sprint(len(handles))
	})
}
