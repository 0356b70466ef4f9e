package intake_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"engang/shared/intake"
	"engang/shared/problem"
)

// A sender that hangs up, or a front that gives up, must not leave a stored event unsent.
func TestACallerThatHangsUpAfterThePutStopsNothing(t *testing.T) {
	w := newWorld(t)
	ctx, hangUp := context.WithCancel(t.Context())
	w.during = func(act string) {
		if act == "send" {
			hangUp()
		}
	}
	if reply, err := intake.New(w.Deps).Deliver(ctx, w.woo("product.updated", product)); err != nil || reply.Status != intake.Accepted || len(w.sent) != 1 {
		t.Errorf("Deliver = %+v, %v; %d sent", reply, err, len(w.sent))
	}
	hungUp, cancel := context.WithCancel(t.Context())
	cancel()
	if reply, err := intake.New(w.Deps).Deliver(hungUp, w.woo("product.updated", product)); !errors.Is(err, problem.ErrUnavailable) {
		t.Errorf("after it hung up, Deliver = %+v, %v", reply, err)
	}
}

// Slack gives up after three seconds, and some senders try only once.
func TestEachOutsideCallHasItsDeadline(t *testing.T) {
	for _, tc := range []struct {
		name    string
		act     string
		limit   func(*intake.Limits) *time.Duration
		arrange func(*world)
	}{
		{"configuration", "endpoint", func(l *intake.Limits) *time.Duration { return &l.Stored }, nil},
		{"secrets", "secrets", func(l *intake.Limits) *time.Duration { return &l.Stored }, nil},
		{"body", "keep", func(l *intake.Limits) *time.Duration { return &l.Stored }, nil},
		{"put", "receive", func(l *intake.Limits) *time.Duration { return &l.Stored }, nil},
		{"head", "head", func(l *intake.Limits) *time.Duration { return &l.Head }, func(w *world) { w.pointer.Quiet = map[string]int{"product-card": 30} }},
		{"send", "send", func(l *intake.Limits) *time.Duration { return &l.Send }, nil},
		{"count", "count", func(l *intake.Limits) *time.Duration { return &l.Count }, nil},
		{"conflict", "conflict", func(l *intake.Limits) *time.Duration { return &l.Send }, func(w *world) {
			for id, ev := range w.stored {
				ev.Digest = "another"
				w.stored[id] = ev
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, own := range []time.Duration{0, time.Hour} {
				w := newWorld(t)
				want := *tc.limit(&intake.UsualLimits)
				if own > 0 {
					*tc.limit(&w.Limits), want = own, own
				}
				if tc.arrange != nil {
					tc.arrange(w)
				}
				for range 2 { // the second one is a duplicate
					if _, err := w.deliver(w.woo("product.updated", product)); err != nil {
						t.Fatal(err)
					}
					if tc.arrange != nil {
						tc.arrange(w)
					}
				}
				if left := w.limits[tc.act]; left > want || left < want-10*time.Second {
					t.Errorf("%v are left of a limit of %v", left, want)
				}
			}
		})
	}
	usual := intake.UsualLimits
	if sum := usual.Stored + usual.Head + usual.Send + usual.Count; sum >= 3*time.Second {
		t.Errorf("the calls may take %v together", sum)
	}
}
