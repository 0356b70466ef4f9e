package control

import (
	"context"
	"fmt"
	"strings"
	"time"

	"engang/shared/audit"
	"engang/shared/object"
	"engang/shared/problem"
)

// answerable refuses an act that nobody stands for, or of which nobody says why.
func answerable(by, reason string) error {
	if err := identified(by); err != nil {
		return err
	}
	if strings.TrimSpace(reason) == "" {
		return ErrReason
	}
	return nil
}

// identified refuses an act that nobody stands for.
func identified(by string) error {
	if strings.TrimSpace(by) == "" {
		return problem.ErrIdentity
	}
	return nil
}

// recordNow records an act that was just asked for. Each time it is asked for is an act of its own.
func (c *Control) recordNow(ctx context.Context, scope object.Scope, act string, l Look) error {
	return c.record(ctx, audit.Entry{Scope: scope, At: c.d.Now(), ID: c.d.NewID(), By: l.By, Act: act, Target: l.ID, Reason: l.Reason})
}

// record records an act, for as long as what is live says.
func (c *Control) record(ctx context.Context, e audit.Entry) error {
	common, err := c.d.Endpoints.Common(ctx, e.Scope)
	if err != nil {
		return fmt.Errorf("record %s: %w", e.Act, err)
	}
	return c.keep(ctx, e, common.ResultDays)
}

// keep records an act for some days. The table refuses it where another act stands at its time and under its id.
func (c *Control) keep(ctx context.Context, e audit.Entry, days int) error {
	e.ExpiresAt = daysAfter(e.At, days)
	if err := c.d.Store.Audit(ctx, e); err != nil {
		return fmt.Errorf("record %s: %w", e.Act, err)
	}
	return nil
}

// daysAfter is when something leaves the table; zero where it is kept without end.
func daysAfter(at time.Time, days int) time.Time {
	if days <= 0 {
		return time.Time{}
	}
	return at.AddDate(0, 0, days)
}
