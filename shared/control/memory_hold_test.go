package control_test

import (
	"context"
	"slices"
	"time"

	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/pause"
	"engang/shared/spend"
)

// stopped is the part of the table that cancel, pause and stats write.
type stopped struct {
	meanwhile func() // once, before the next write is judged
	noAnswer  error  // of the next write, which takes effect
	claims    []operation.Claim
	tries     int // to cancel an operation, refused or not
	stops     []operation.Cancellation
	ends      []inbox.Ending
	pauses    pause.Pauses
	breakers  map[pause.Model]pause.Breaker
	closings  []pause.Closing
	spent     map[string]spend.Day // by recipe and day
}

// judge lets happen what happens meanwhile.
func (s *stopped) judge() {
	if do := s.meanwhile; do != nil {
		s.meanwhile = nil
		do()
	}
}

// answer loses an answer where a test asks for it.
func (s *stopped) answer() error {
	err := s.noAnswer
	s.noAnswer = nil
	return err
}

func (m *memory) find(key operation.Key) *operation.Operation {
	i := slices.IndexFunc(m.ops, func(o operation.Operation) bool { return o.Key == key })
	return &m.ops[i]
}

// Claim makes an operation, or takes up one that was overtaken.
func (m *memory) Claim(_ context.Context, c operation.Claim) (operation.Lease, error) {
	m.judge()
	i := slices.IndexFunc(m.ops, func(o operation.Operation) bool { return o.Key == c.Key })
	if i < 0 {
		m.ops = append(m.ops, operation.Operation{Key: c.Key})
		i = len(m.ops) - 1
	} else if o := m.ops[i]; o.State != operation.Superseded || !c.Rank.Newer(o.Rank) {
		return operation.Lease{}, &operation.RefusedError{Stored: o}
	}
	o := &m.ops[i]
	before := *o
	o.State, o.Owner, o.BegunAt, o.LeaseEnd, o.Event, o.Rank, o.Token = operation.Running, c.Attempt, c.Now, c.Until, c.Event, c.Rank, o.Token+1
	m.claims = append(m.claims, c)
	return operation.Lease{Key: c.Key, Attempt: c.Attempt, Token: o.Token, Begun: c.Now, Until: c.Until, Before: before}, m.answer()
}

func (m *memory) Pause(_ context.Context, f operation.Finish) error {
	m.judge()
	o := m.find(f.Lease.Key)
	if o.State != operation.Running || o.Token != f.Lease.Token || o.Owner != f.Lease.Attempt {
		return &operation.RefusedError{Stored: *o}
	}
	o.State, o.Attempts, o.NotBefore = operation.Pending, f.Attempts, f.NotBefore
	return nil
}

func (m *memory) Cancel(_ context.Context, c operation.Cancellation) error {
	m.judge()
	m.tries++
	o := m.find(c.Key)
	if o.Token != c.Token || !slices.Contains(operation.Cancel.From, o.State) {
		return &operation.RefusedError{Stored: *o}
	}
	m.stops = append(m.stops, c)
	o.Token, o.Fences = o.Token+1, append(o.Fences, o.Token+1)
	o.State, o.Category, o.QueuedAt, o.WriteID, o.ExpiresAt = operation.Failed, operation.CategoryCancelled, time.Time{}, c.WriteID, c.ExpiresAt
	o.Decision = &operation.Decision{By: c.By, At: c.Now, Note: c.Note}
	return m.answer()
}

func (m *memory) End(_ context.Context, end inbox.Ending) error {
	m.judge()
	e := m.events[end.Event]
	if e.State != inbox.Received || e.Generation != end.Generation {
		return inbox.ErrStale
	}
	m.ends = append(m.ends, end)
	e.State, e.Outcome, e.Operations, e.EndedAt, e.ExpiresAt = inbox.Settled, end.Outcome, end.Operations, end.At, end.ExpiresAt
	m.events[e.ID] = e
	return m.answer()
}

// opened stores an event that is not settled.
func (m *memory) opened(n int, name string, minutes int) inbox.Event {
	e := m.event(n, name, minutes)
	e.State, e.Outcome, e.EndedAt = inbox.Received, "", time.Time{}
	m.events[e.ID] = e
	return e
}

// working stores an operation in a state that works for an event.
func (m *memory) working(e inbox.Event, digest string, state operation.State) operation.Operation {
	m.ops = append(m.ops, operation.Operation{
		Key: operation.Key{Scope: shop, Object: e.Object, Recipe: card, Digest: digest}, State: state, Token: 3, Claims: 1, Event: e.ID, Rank: e.Rank, BegunAt: e.ReceivedAt,
	})
	return m.ops[len(m.ops)-1]
}

func (m *memory) Pauses(context.Context) (pause.Pauses, error) { return slices.Clone(m.pauses), nil }

func (m *memory) PutPause(ctx context.Context, p pause.Pause) error {
	m.judge()
	for _, stored := range m.pauses {
		if stored.Target == p.Target && !p.Until.IsZero() && (stored.Until.IsZero() || stored.Until.After(p.Until)) {
			return &pause.LongerError{Stored: stored}
		}
	}
	err := m.RemovePause(ctx, p.Target)
	m.pauses = append(m.pauses, p)
	return err
}

func (m *memory) RemovePause(_ context.Context, t pause.Target) error {
	m.pauses = slices.DeleteFunc(m.pauses, func(p pause.Pause) bool { return p.Target == t })
	return nil
}

func (m *memory) Breaker(_ context.Context, model pause.Model) (pause.Breaker, error) {
	return m.breakers[model], nil
}

func (m *memory) CloseBreaker(_ context.Context, c pause.Closing) error {
	b := m.breakers[c.Model]
	if !b.Holds() || c.Owner != "" && b.Owner != c.Owner {
		return pause.ErrStale
	}
	b.State = pause.Closed
	m.breakers[c.Model], m.closings = b, append(m.closings, c)
	return nil
}

func (m *memory) Spent(_ context.Context, _ object.Scope, recipe, day string) (spend.Day, error) {
	return m.spent[recipe+" "+day], nil
}
