package dynamo

import (
	"context"
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
		p := pause.Pause{Target: target, Until: r.millis("til"), By: r.text("by"), Reason: r.text("why"), At: r.millis("at")}
		if r.err != nil {
			return nil, fmt.Errorf("read pause of %s: %w", target, r.err)
		}
		all = append(all, p)
	}
	return all, nil
}

// PutPause holds what is named from now on. It replaces a pause of the same target; of several at once the
// last one stands.
func (t *Table) PutPause(ctx context.Context, p pause.Pause) error {
	it := item{"at": millis(p.At)}
	it.set(map[string]string{"by": p.By, "why": p.Reason})
	if !p.Until.IsZero() {
		it["til"] = millis(p.Until)
		it.setExpiry(p.Until.AddDate(0, 0, overDays))
	}
	if err := t.put(ctx, putPause, pauseKey(p.Target), it, nil); err != nil {
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
