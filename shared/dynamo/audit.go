package dynamo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"engang/shared/audit"
	"engang/shared/object"
)

// Audit records an act. An act is recorded once, by its time and id, and never changed: the same again is success, and
// what says anything else is refused with [audit.ErrOther].
func (t *Table) Audit(ctx context.Context, e audit.Entry) error {
	k := key{auditHash(e.Scope, e.At), stamp(e.At, e.ID)}
	err := errVanishing
	for range vanishing {
		it := item{}
		it.set(map[string]string{"by": e.By, "act": e.Act, "target": e.Target, "note": e.Reason})
		it.setExpiry(e.ExpiresAt)
		err = t.put(ctx, putEntry, k, it, nil)
		refused, ok := errors.AsType[*refusal](err)
		if ok && len(refused.stored) == 0 {
			err = errVanishing
			continue
		}
		if ok {
			err = sameEntry(e, refused.stored)
		}
		break
	}
	if err != nil {
		return fmt.Errorf("record act %s on %s: %w", e.Act, e.Target, err)
	}
	return nil
}

// sameEntry is nil where what is stored says the same: then it is our own record whose answer was lost.
func sameEntry(e audit.Entry, stored item) error {
	recorded, err := readEntry(e.Scope, stored)
	if err == nil && !recorded.Same(e) {
		err = audit.ErrOther
	}
	return err
}

// Acts reads one page of the acts of a day (UTC) in a scope, the newest first. Next is empty at the end of the day.
func (t *Table) Acts(ctx context.Context, s object.Scope, day time.Time, page Page) (acts []audit.Entry, next string, err error) {
	before := page.After
	if before == "" {
		before = "~" // behind every range key
	}
	for more := true; more && len(acts) < page.Limit; {
		var items []item
		room := int32(page.Limit - len(acts))
		items, more, err = t.query(ctx, search{call: "audit", when: collectionUntil, backward: true, limit: min(room, t.limit(room)),
			given: item{":hash": str(auditHash(s, day)), ":before": str(before)}})
		if err != nil {
			return nil, "", fmt.Errorf("read acts of %s on %s: %w", s, dayText(day), err)
		}
		for _, it := range items {
			e, err := readEntry(s, it)
			if err != nil {
				return nil, "", fmt.Errorf("read acts of %s on %s: %w", s, dayText(day), err)
			}
			acts, before = append(acts, e), stamp(e.At, e.ID)
		}
		if next = ""; more && len(items) > 0 {
			next = before
		}
		more = next != ""
	}
	return acts, next, nil
}

// AuditTrail reads all acts of a day (UTC) in a scope, the oldest first.
func (t *Table) AuditTrail(ctx context.Context, s object.Scope, day time.Time) ([]audit.Entry, error) {
	items, err := t.collection(ctx, "audit", auditHash(s, day))
	if err != nil {
		return nil, fmt.Errorf("read acts of %s on %s: %w", s, dayText(day), err)
	}
	var trail []audit.Entry
	for _, it := range items {
		e, err := readEntry(s, it)
		if err != nil {
			return nil, fmt.Errorf("read acts of %s on %s: %w", s, dayText(day), err)
		}
		trail = append(trail, e)
	}
	return trail, nil
}

func readEntry(s object.Scope, it item) (audit.Entry, error) {
	r := &reader{it: it}
	e := audit.Entry{Scope: s, By: r.text("by"), Act: r.text("act"), Target: r.text("target"), Reason: r.text("note"), ExpiresAt: r.expiry()}
	at, id, err := stamped(r.text("sk"))
	e.At, e.ID = at, id
	return e, errors.Join(err, r.err)
}
