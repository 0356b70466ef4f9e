package text_test

import (
	"strings"
	"testing"
	"time"

	"engang/infra/engang/text"
	"engang/shared/control"
)

func TestAnEventSaysThatItWasFetchedOrErased(t *testing.T) {
	for _, c := range []struct {
		name  string
		event control.Event
		want  []string
		not   string
	}{
		{"delivered twice", control.Event{Deliveries: 2, LastSeenAt: &noon}, []string{"event evt_a product.updated settled, completed", "repeats evt_a product.updated 1 duplicate"}, "fetched"},
		{"fetched", control.Event{CaughtUp: true}, []string{"fetched from its source; settled, completed"}, "repeats"},
		{"fetched, and delivered late", control.Event{CaughtUp: true, Deliveries: 1, LastSeenAt: &noon}, []string{"fetched from its source", "1 duplicate"}, "erased"},
		{"erased", control.Event{Deliveries: 1, ErasedAt: at(time.Hour)}, []string{"2026-11-29 13:00:00.000 erased evt_a product.updated what it said is gone"}, "repeats"},
	} {
		e := c.event
		e.ID, e.Type, e.State, e.Outcome, e.ReceivedAt = "evt_a", "product.updated", "settled", "completed", noon
		_, lines := shown(t, control.Any{Object: &control.Object{ID: "product:1", Complete: true, Events: []control.Event{e}}})
		all := strings.Join(strings.Fields(strings.Join(lines, " ")), " ")
		for _, want := range c.want {
			if !strings.Contains(all, want) {
				t.Errorf("%s: no %q in %s", c.name, want, all)
			}
		}
		if strings.Contains(all, c.not) {
			t.Errorf("%s: %q in %s", c.name, c.not, all)
		}
	}
}

func TestWhatAnErasureDid(t *testing.T) {
	for _, c := range []struct {
		erased control.Erased
		want   string
	}{
		{control.Erased{Object: "product:1"}, "product:1: nothing is held\n"},
		{control.Erased{Object: "product:1", Events: 1, Items: 1}, "product:1: 1 event emptied, 1 operation, attempt or result removed\n"},
		{control.Erased{Object: "a\nb", Cancelled: 2, Bodies: 2, DryRun: true}, "a\\u{a}b: 2 operations would be stopped, 2 bodies would be removed from the bucket\nNothing was changed. Without --dry-run it is, for good.\n"},
	} {
		var b strings.Builder
		if err := text.Erased(&b, c.erased); err != nil || b.String() != c.want {
			t.Errorf("got %q, want %q, %v", b.String(), c.want, err)
		}
	}
}
