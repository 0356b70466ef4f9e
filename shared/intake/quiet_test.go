package intake_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/intake"
)

// The head is written after the event, so that no older one is coalesced by an event that is nowhere, and before
// the message, so that the worker finds it.
func TestAQuietPeriodDelaysTheMessageAndLeavesAHead(t *testing.T) {
	tests := []struct {
		name    string
		seconds int
		speed   float64
		trace   string
		delays  []time.Duration
		due     time.Duration
	}{
		{"none", 0, 0, "receive send", []time.Duration{0}, 5 * time.Minute},
		{"of thirty seconds", 30, 0, "receive head send", []time.Duration{30 * time.Second}, 5*time.Minute + 30*time.Second},
		{"of a faster system", 30, 10, "receive head send", []time.Duration{3 * time.Second}, 5*time.Minute + 3*time.Second},
		{"longer than a message can wait", 3600, 0, "receive head", nil, time.Hour},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.Limits.Speed = tt.speed
			if tt.seconds > 0 {
				w.pointer.Quiet = map[string]int{"product-card": tt.seconds, "follow-up": 7}
			}
			reply, err := w.deliver(w.woo("product.updated", product))
			if err != nil || reply.Status != intake.Accepted {
				t.Fatal(reply, err)
			}
			acts := slices.DeleteFunc(slices.Clone(w.trace), func(act string) bool { return !slices.Contains([]string{"receive", "head", "send"}, act) })
			if diff := cmp.Diff(tt.trace, strings.Join(acts, " ")); diff != "" {
				t.Errorf("acts (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.delays, w.delays); diff != "" {
				t.Errorf("delays (-want +got):\n%s", diff)
			}
			ev := w.stored[reply.Event]
			if got := ev.DueAt.Sub(received); got != tt.due {
				t.Errorf("due after %v, want %v", got, tt.due)
			}
			for _, h := range w.heads {
				if h.Event != ev.ID || h.Rank != ev.Rank || h.Object != ev.Object || h.Recipe != "product-card" {
					t.Errorf("head %+v of event %+v", h, ev)
				}
			}
		})
	}
}

// The first delivery's process may have died before it wrote the head.
func TestARepeatOfAnOpenEventWritesTheHeadAgain(t *testing.T) {
	w := newWorld(t)
	w.pointer.Quiet = map[string]int{"product-card": 30}
	for range 2 {
		if _, err := w.deliver(w.woo("product.updated", product)); err != nil {
			t.Fatal(err)
		}
	}
	if len(w.heads) != 2 || len(w.sent) != 2 || w.heads[0].Rank != w.heads[1].Rank {
		t.Errorf("%d heads, %d sent: %+v", len(w.heads), len(w.sent), w.heads)
	}
}

func TestAHeadThatCannotBeWrittenFailsNobody(t *testing.T) {
	w := newWorld(t)
	w.pointer.Quiet = map[string]int{"product-card": 30}
	w.fail["head"] = errors.New("throttled")
	if reply, err := w.deliver(w.woo("product.updated", product)); err != nil || reply.Status != intake.Accepted || len(w.sent) != 1 {
		t.Errorf("Deliver = %+v, %v; %d sent", reply, err, len(w.sent))
	}
}
