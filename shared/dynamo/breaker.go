package dynamo

import (
	"context"
	"errors"
	"fmt"

	"engang/shared/operation"
	"engang/shared/pause"
)

// Breaker reads the breaker of a model consistently. It is zero, and so closed, if it was never opened.
func (t *Table) Breaker(ctx context.Context, m pause.Model) (pause.Breaker, error) {
	it, err := t.read(ctx, breakerKey(m))
	if err != nil {
		return pause.Breaker{}, fmt.Errorf("read breaker of %s: %w", m, err)
	}
	if len(it) == 0 {
		return pause.Breaker{}, nil
	}
	b, err := readBreaker(m, it)
	if err != nil {
		return pause.Breaker{}, fmt.Errorf("read breaker of %s: %w", m, err)
	}
	return b, nil
}

func readBreaker(m pause.Model, it item) (pause.Breaker, error) {
	r := &reader{it: it}
	return pause.Breaker{
		Model: m, State: pause.State(r.text("st")), Until: r.millis("til"), Owner: operation.AttemptID(r.text("own")),
		Reason: r.text("why"), At: r.millis("at"), WriteID: r.text("wid"),
	}, r.err
}

// OpenBreaker opens the breaker of a model that cannot serve (W23). It returns [pause.ErrStale] when it is
// open already; our own opening whose answer was lost is success, as long as nobody probed since.
func (t *Table) OpenBreaker(ctx context.Context, o pause.Opening) error {
	given := item{":next": millis(o.Until), ":reason": str(o.Reason), ":now": millis(o.Now), ":write": str(o.WriteID)}
	err := t.change(ctx, openBreaker, breakerKey(o.Model), given)
	return moved("open breaker", o.Model, err, func(b pause.Breaker) bool { return b.State == pause.Open && b.WriteID == o.WriteID })
}

// Probe asks to be the one that tries (W25). Of any number that saw the same probe time one is granted; the
// others meet [pause.ErrStale]. Our own probe whose answer was lost is granted.
func (t *Table) Probe(ctx context.Context, p pause.Probe) error {
	given := item{":next": millis(p.Next), ":seen": millis(p.Seen), ":me": str(p.Owner), ":write": str(p.WriteID)}
	err := t.change(ctx, probeBreaker, breakerKey(p.Model), given)
	return moved("probe", p.Model, err, func(b pause.Breaker) bool {
		return b.State == pause.Open && b.Owner == p.Owner && b.WriteID == p.WriteID
	})
}

// CloseBreaker closes the breaker after the owner's probe was answered, or without an owner on behalf of a
// person (W26). It returns [pause.ErrStale] when it is closed, or when another one probes by now; our own
// closing whose answer was lost is success.
func (t *Table) CloseBreaker(ctx context.Context, c pause.Closing) error {
	s, given := closeBreaker, item{":now": millis(c.Now), ":write": str(c.WriteID), ":me": str(c.Owner)}
	if c.Owner == "" {
		s = resumeBreaker
		delete(given, ":me")
	}
	err := t.change(ctx, s, breakerKey(c.Model), given)
	return moved("close breaker", c.Model, err, func(b pause.Breaker) bool { return b.State == pause.Closed && b.WriteID == c.WriteID })
}

// moved makes a refused condition success where the stored breaker is as our own write left it, else
// [pause.ErrStale], and wraps what is something else.
func moved(act string, m pause.Model, err error, own func(pause.Breaker) bool) error {
	if refused, ok := errors.AsType[*refusal](err); ok {
		var stored pause.Breaker
		if stored, err = readBreaker(m, refused.stored); err == nil {
			if own(stored) {
				return nil
			}
			err = pause.ErrStale
		}
	}
	if err != nil {
		return fmt.Errorf("%s of %s: %w", act, m, err)
	}
	return nil
}
