package queue

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"engang/shared/inbox"
	"engang/shared/object"
)

// MaxBytes is the largest message that every queue takes.
const MaxBytes = 262_144

// ErrNotOurs says that a message is neither a reference of an event nor a notice: a worker does not
// touch it, and the queue's redrive policy sets it aside.
var ErrNotOurs = errors.New("not a message of ours")

// A Message is what one message of our queues says: either an event to work on, or a notice, which is
// on the work queue only when a person moved it there from the dead-letter queue.
type Message struct {
	Event  inbox.EventID // empty for a notice
	Notice *inbox.Notice
}

// wire is a message as it is written: {"event":"evt_…"} or {"notice":{…}}.
type wire struct {
	Event  inbox.EventID `json:"event,omitempty"`
	Notice *wireNotice   `json:"notice,omitempty"`
}

type wireNotice struct {
	Event       inbox.EventID `json:"event"`
	Operation   string        `json:"operation,omitempty"`
	Token       int64         `json:"token,omitempty"`
	Reason      string        `json:"reason"`
	Category    string        `json:"category"`
	Generation  int           `json:"generation"`
	Tenant      string        `json:"tenant"`
	Environment string        `json:"environment"`
}

// Decode reads the body of a message. Whatever is not ours wraps [ErrNotOurs]; the error does not
// repeat the body.
func Decode(body string) (Message, error) {
	var w wire
	if err := json.Unmarshal([]byte(body), &w); err != nil {
		return Message{}, fmt.Errorf("no JSON object: %w", ErrNotOurs)
	}
	switch n := w.Notice; {
	case n == nil && inbox.IsEventID(string(w.Event)):
		return Message{Event: w.Event}, nil
	case n != nil && w.Event == "" && inbox.IsEventID(string(n.Event)):
		return Message{Notice: &inbox.Notice{
			Event:      n.Event,
			Generation: n.Generation,
			Scope:      object.Scope{Tenant: n.Tenant, Environment: n.Environment},
			Operation:  n.Operation,
			Token:      n.Token,
			Reason:     n.Reason,
			Category:   n.Category,
		}}, nil
	}
	return Message{}, fmt.Errorf("no event id: %w", ErrNotOurs)
}

func encode(m Message) (string, error) {
	w := wire{Event: m.Event}
	if n := m.Notice; n != nil {
		w.Notice = &wireNotice{n.Event, n.Operation, n.Token, n.Reason, n.Category, n.Generation, n.Scope.Tenant, n.Scope.Environment}
	}
	b, err := json.Marshal(w)
	if err != nil {
		return "", fmt.Errorf("write message: %w", err)
	}
	text := sendable(string(b)) // in JSON such a character stands inside a text alone, where its number means the same
	if len(text) > MaxBytes {
		return "", fmt.Errorf("message of %d bytes, at most %d", len(text), MaxBytes)
	}
	return text, nil
}

// sendable writes the characters that SQS takes in no message (the SDK's SendMessage lists the others) as their
// numbers. What is refused once would be refused for ever, and the event that the message tells of never be parked.
func sendable(text string) string {
	odd := func(r rune) bool {
		return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xfffe || r == 0xffff
	}
	text = strings.ToValidUTF8(text, "\ufffd")
	if !strings.ContainsFunc(text, odd) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if odd(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
