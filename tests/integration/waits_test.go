package integration_test

import (
	"net/http"
	"testing"

	"engang/infra/local"
)

// overtaken has an event's work refused for good, and takes the same content again as a newer version, which waits for
// it instead.
func (s *system) overtaken(refusals int) (older, newer string) {
	s.t.Helper()
	s.fails("refusal", refusals)
	older = s.accept(s.product(oldChair))
	s.rest()
	newer = s.accept(s.product(echo))
	s.rest()
	return older, newer
}

// A dead letter, and the same content comes again as a newer version: the newer event waits in place of the older one,
// and one redrive does the work of both.
func TestANewerEventWaitsForWhatFailed(t *testing.T) {
	each(t, local.Options{Speed: calm}, func(t *testing.T, s *system) {
		first, second := s.overtaken(1)
		if e := s.event(first); e.State != "settled" || e.Outcome != "coalesced" || e.Reason != second || e.ExpiresAt == nil {
			t.Errorf("the older event %+v, the newer one is %s", e, second)
		}
		if w := s.failure(); w.Event != second || len(s.deadLetters()) != 2 {
			t.Errorf("waiting %+v, %d letters", w, len(s.deadLetters()))
		}
		s.done(&struct{}{}, "redrive", s.failure().ID, "--reason", "another try")
		s.rest()
		s.settledAs(second, "completed")
		if o := s.object("product:794"); len(o.Results) != 1 || o.Results[0].ObjectVersion != newVersion || s.calls() != 2 || len(s.waits("")) != 0 {
			t.Errorf("%d calls, results %+v, waiting %q", s.calls(), o.Results, s.waits(""))
		}
		s.exits(4, "", "redrive", first, "--reason", "and the older one")
	})
}

// The same where a person dismisses it: nothing is left that nobody sees.
func TestANewerEventIsDismissedForTheOlderOne(t *testing.T) {
	each(t, local.Options{Speed: calm}, func(t *testing.T, s *system) {
		first, second := s.overtaken(1)
		if d := s.decide("ann", "dismiss", map[string]any{"id": s.failure().ID}); d.Code != http.StatusOK {
			t.Errorf("dismissed: %+v", d)
		}
		for _, id := range []string{first, second} {
			if e := s.event(id); e.State == "received" || e.ExpiresAt == nil {
				t.Errorf("event %+v", e)
			}
		}
		s.rest()
	})
}

// Two recipes fail for one event; one of them takes the same out of a newer one.
func TestAnOlderEventWaitsForItsOtherRecipe(t *testing.T) {
	each(t, local.Options{ConfigFiles: []string{twoRecipes(t)}, Speed: calm}, func(t *testing.T, s *system) {
		first, second := s.overtaken(2)
		if e := s.event(first); e.Outcome != "coalesced" || e.Reason != second || e.Generation == 0 {
			t.Errorf("the older event %+v, the newer one is %s", e, second)
		}
		s.rest()
		s.done(&struct{}{}, "redrive", second, "--reason", "another try")
		s.rest()
		s.bothDone(second)
	})
}
