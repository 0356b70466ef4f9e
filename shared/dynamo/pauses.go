package dynamo

import (
	"context"
	"errors"
	"fmt"

	"engang/shared/pause"
)

// overDays is how long a pause is kept after its end, so that it can still be seen.
const overDays = 1

// Pauses reads all pauses of the stack consistently, in no certain order. Those that are over may be among them.
func (t *Table) Pauses(ctx context.Context) (pause.Pauses, error) {
	items, err := t.collection(ctx, "read pauses", pauseHash)
	if err != nil {
		return nil, fmt.Errorf("read pauses: %w", err)
	}
	var all pause.Pauses
	for _, it := range items {
		r := &reader{it: it}
		target, err := readPauseKey(r.text("sk"))
		if err != nil {
			return nil, fmt.Errorf("read pauses: %w", err)
		}
		p, err := readPause(target, it)
		if err != nil {
			return nil, fmt.Errorf("read pause of %s: %w", target, err)
		}
		all = append(all, p)
	}
	return all, nil
}

func readPause(target pause.Target, it item) (pause.Pause, error) {
	r := &reader{it: it}
	return pause.Pause{Target: target, Until: r.millis("til"), By: r.text("by"), Reason: r.text("why"), At: r.millis("at")}, r.err
}

// PutPause holds what is named from now on. It replaces a pause of the same target that ends no later; of several
// at once the one stands that ends last. Where one that ends later is in force, it is refused with a
// *[pause.LongerError] and changes nothing. The same write may be repeated: an equal end replaces an equal end.
func (t *Table) PutPause(ctx context.Context, p pause.Pause) error {
	it := item{"at": millis(p.At)}
	it.set(map[string]string{"by": p.By, "why": p.Reason})
	s, given := putPause, item(nil)
	if !p.Until.IsZero() {
		it["til"] = millis(p.Until)
		it.setExpiry(p.Until.AddDate(0, 0, overDays))
		s, given = putPauseUntil, item{":until": it["til"]}
	}
	err := t.put(ctx, s, pauseKey(p.Target), it, given)
	if refused, ok := errors.AsType[*refusal](err); ok {
		var stored pause.Pause
		if stored, err = readPause(p.Target, refused.stored); err == nil {
			err = &pause.LongerError{Stored: stored}
		}
	}
	if err != nil {
		return fmt.Errorf("pause %s: %w", p.Target, err)
	}
	return nil
}

// RemovePause ends the pause of a target. That there is none is success.
func (t *Table) RemovePause(ctx context.Context, target pause.Target) error {
	if err := t.remove(ctx, removePause, pauseKey(target), nil); err != nil {
		return fmt.Errorf("resume %s: %w", target, err)
	}
	return nil
}
