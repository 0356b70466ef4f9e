package integration_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"engang/infra/local"
	"engang/infra/local/wire"
	"engang/shared/control"
)

// failure is what the review list shows of the one failure that waits.
func (s *system) failure() control.Waiting {
	s.t.Helper()
	var list control.List[control.Waiting]
	if code := s.get("/api/review", &list); code != http.StatusOK || len(list.Items) != 1 || list.Items[0].Kind != control.KindFailed || list.Items[0].Seen == "" {
		s.t.Fatalf("%d, waiting %+v", code, list.Items)
	}
	return list.Items[0]
}

// A dead letter is dismissed while a newer event of the same content is in work: whenever the dismissal comes, no
// event is parked in no list afterwards.
func TestADismissalMeetsANewerEvent(t *testing.T) {
	eachGated(t, local.Options{Speed: calm}, "W10 raise", wire.Before, func(t *testing.T, s *system, g *gate) {
		s.fails("refusal", 1)
		first := s.accept(s.product(oldChair))
		b := s.work()
		pass := g.next(t) // failed, and not parked yet
		w := s.failure()
		if d := s.decide("ann", "dismiss", map[string]any{"id": w.ID, "seen": w.Seen}); d.Code != http.StatusConflict || d.Problem.Type != "urn:engang:problem:in-work" || d.Problem.Stands == nil || d.Problem.Stands.State != "failed" {
			t.Errorf("before its event is parked: %+v", d)
		}
		pass()
		b.wait()

		second := s.accept(s.product(echo))
		b = s.work()
		pass = g.next(t) // it has met the failure, and takes it for news
		if d := s.decide("ann", "dismiss", map[string]any{"id": w.ID, "seen": w.Seen}); d.Code != http.StatusOK || d.Done.Already {
			t.Errorf("dismissed: %+v", d)
		}
		pass()
		g.next(t)() // now as one that was dismissed
		b.wait()
		if a, e := s.event(first), s.event(second); a.State != "parked" || a.Dismissed == nil || a.ExpiresAt == nil || e.State != "settled" || e.Outcome != "cancelled" {
			t.Errorf("the event that was parked: %+v\nthe newer one: %+v", a, e)
		}
		if op := s.object("product:794").Operations[0]; op.Dismissed == nil || op.Review != nil || op.ObjectVersion != newVersion || len(s.deadLetters()) != 1 || s.calls() != 1 || len(s.waits("")) != 0 {
			t.Errorf("operation %+v, %d letters, %d calls, waiting %q", op, len(s.deadLetters()), s.calls(), s.waits(""))
		}
		s.rest()
		s.recordedActs("ann: dismiss operation, refused", "ann: dismiss operation")
	})
}

// What failed anew, or what a newer event waits for, is not what was looked at.
func TestADismissalIsOfTheFailureThatWasLookedAt(t *testing.T) {
	each(t, local.Options{Speed: calm}, func(t *testing.T, s *system) {
		s.fails("refusal", 2)
		s.accept(s.product(oldChair))
		s.settle()
		seen := []control.Waiting{s.failure()}
		s.done(&struct{}{}, "redrive", seen[0].ID, "--reason", "another try")
		s.settle()
		seen = append(seen, s.failure())
		newest := s.accept(s.product(echo))
		s.settle()
		for _, w := range seen {
			if d := s.decide("ann", "dismiss", map[string]any{"id": w.ID, "seen": w.Seen}); d.Code != http.StatusConflict || d.Problem.Type != "urn:engang:problem:other-failure" || d.Problem.Stands == nil || d.Problem.Stands.ObjectVersion != newVersion {
				t.Errorf("looked at %q: %+v", w.Seen, d)
			}
		}
		w := s.failure()
		if op := s.object("product:794").Operations[0]; op.Review == nil || op.Review.Seen != w.Seen || w.Event != newest {
			t.Errorf("the list says %+v, the operation %+v", w, op.Review)
		}
		s.exits(4, "Look at it again", "dismiss", w.ID, "--seen", seen[0].Seen, "--reason", "gone")
		s.done(&struct{}{}, "dismiss", w.ID, "--seen", w.Seen, "--reason", "gone")
		if e := s.event(newest); e.Dismissed == nil || len(s.waits("")) != 0 {
			t.Errorf("event %+v, waiting %q", e, s.waits(""))
		}
		s.rest()
	})
}

// Two people dismiss the two failures of one event at once: one of them takes the event with it.
func TestBothFailuresOfAnEventAreDismissedAtOnce(t *testing.T) {
	each(t, local.Options{ConfigFiles: []string{twoRecipes(t)}, Speed: calm}, func(t *testing.T, s *system) {
		s.fails("refusal", 2)
		id := s.accept(s.product(oldChair))
		s.settle()
		ops := s.object("product:794").Operations
		if len(ops) != 2 || len(s.waits("kind=failed")) != 2 {
			t.Fatalf("operations %+v", ops)
		}
		atOnce(8, func(i int) {
			if d, err := s.asks(fmt.Sprint("person", i), "dismiss", map[string]any{"id": ops[i%2].ID}); err != nil || d.Code != http.StatusOK {
				t.Errorf("%+v, %v", d, err)
			}
		})
		if e := s.event(id); e.State != "parked" || e.Dismissed == nil || len(s.waits("")) != 0 {
			t.Errorf("event %+v, waiting %q", e, s.waits(""))
		}
		s.rest()
		acts := s.acts()
		if n := len(slices.DeleteFunc(slices.Clone(acts), func(a string) bool { return a[len(a)-len("operation"):] != "operation" })); n != 2 {
			t.Errorf("the audit log holds %q, want two dismissals", acts)
		}
	})
}
