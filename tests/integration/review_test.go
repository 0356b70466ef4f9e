package integration_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"engang/infra/local"
)

// What is approved becomes the result, byte for byte, and nothing is left to do.
func TestWhatIsApprovedIsTheResult(t *testing.T) {
	eachWithDrafts(t, local.Options{Speed: calm}, func(t *testing.T, s *system) {
		id := s.accept(s.product(oldChair))
		s.settle()
		s.outcomes(id, "review")
		o := s.draftOf(oldVersion)
		if got := s.waits("kind=draft&owner=catalogue"); !slices.Equal(got, []string{"draft " + o.ID}) || len(s.items().Results()) != 0 {
			t.Fatalf("waiting %q, results %v", got, s.items().Results())
		}
		looked := s.bytesOf("O#product-card@000004#")
		before := s.Record().Counts()
		d := s.decide("ann", "approve", of(o))
		if d.Code != http.StatusOK || d.Done.Decision != "approved" || d.Done.By != people+"ann" || d.Done.Already || d.Done.Digest != o.Review.Digest || d.Done.ObjectVersion != oldVersion {
			t.Fatalf("answered %+v", d)
		}
		now := s.Record().Counts()
		if n := now["W17 approve"] - before["W17 approve"]; n != 1 {
			t.Errorf("%d transactions", n)
		}
		if got := s.bytesOf("R#product-card#000004"); got != looked || got == "" {
			t.Errorf("the result is %q, what was looked at %q", got, looked)
		}
		if s.open() != 0 || s.step() != 0 || len(s.waits("")) != 0 {
			t.Errorf("something is left: %d open, waiting %q", s.open(), s.waits(""))
		}
		shown := s.object("product:794")
		op := shown.Operations[0]
		if op.State != "completed" || op.Decision == nil || op.Decision.By != people+"ann" || op.Decision.Note != "says ann" || op.Result == nil || op.Result.Digest != o.Review.Digest || op.Review != nil || op.ExpiresAt == nil {
			t.Errorf("operation %+v", op)
		}
		s.rest()
		s.recordedActs("ann: approve draft")
		if s.calls() != 1 {
			t.Errorf("%d calls", s.calls())
		}
	})
}

func TestScenario30DoubleClickOnApprove(t *testing.T) {
	eachWithDrafts(t, local.Options{Speed: calm}, func(t *testing.T, s *system) {
		s.accept(s.product(oldChair))
		s.settle()
		o := s.draftOf(oldVersion)
		const clicks = 10
		all := make([]decision, clicks)
		atOnce(clicks, func(i int) {
			var err error
			if all[i], err = s.asks("ann", "approve", of(o)); err != nil {
				t.Error(err)
			}
		})
		first := 0
		for _, d := range all {
			if d.Code != http.StatusOK || d.Done.By != people+"ann" || d.Done.At != all[0].Done.At {
				t.Errorf("answered %+v", d)
			}
			if !d.Done.Already {
				first++
			}
		}
		if first != 1 {
			t.Errorf("%d of %d clicks decided", first, clicks)
		}
		s.rest()
		if r := s.items().Results(); len(r) != 1 || s.calls() != 1 {
			t.Errorf("results %v, %d calls", r, s.calls())
		}
	})
}

// Only the draft that was looked at is decided, and only once.
func TestADecisionIsForOneDraft(t *testing.T) {
	eachWithDrafts(t, local.Options{Speed: calm}, func(t *testing.T, s *system) {
		s.accept(s.product(oldChair))
		s.settle()
		o := s.draftOf(oldVersion)
		wrong := of(o)
		wrong["digest"] = "sha256:" + strings.Repeat("0", 64)
		for _, what := range []string{"approve", "reject"} {
			if d := s.decide("ann", what, wrong); d.Code != http.StatusConflict || d.Problem.Type != "urn:engang:problem:other-draft" || d.Problem.Stands.Digest != o.Review.Digest {
				t.Errorf("%s with another digest: %+v", what, d)
			}
		}
		for name, in := range map[string]map[string]any{
			"no digest": {"id": o.ID}, "no reason": {"id": o.ID, "digest": o.Review.Digest, "reason": " "},
		} {
			if d := s.decide("ann", "approve", in); d.Code != http.StatusBadRequest {
				t.Errorf("%s: %+v", name, d)
			}
		}
		if d := s.decide("ann", "dismiss", map[string]any{"id": o.ID}); d.Code != http.StatusConflict || d.Problem.Type != "urn:engang:problem:not-waiting" {
			t.Errorf("a draft is not dismissed: %+v", d)
		}
		if s.draftOf(oldVersion).Review.Digest != o.Review.Digest || len(s.items().Results()) != 0 {
			t.Error("something was decided")
		}
		if d := s.decide("ann", "approve", of(o)); d.Code != http.StatusOK {
			t.Fatalf("approved: %+v", d)
		}
		d := s.decide("bob", "reject", of(o))
		if d.Code != http.StatusConflict || d.Problem.Type != "urn:engang:problem:decided" || d.Problem.Stands.By != people+"ann" || d.Problem.Stands.State != "completed" || !strings.Contains(d.Problem.Detail, "approved by "+people+"ann at ") {
			t.Errorf("rejected after the approval: %+v", d)
		}
		s.rest()
		s.recordedActs("ann: approve draft, refused", "ann: reject draft, refused", "ann: dismiss operation, refused", "ann: approve draft", "bob: reject draft, refused")
	})
}

// The newest approved version is the result, in whatever order people decide.
func TestAnOlderDraftAndANewerOne(t *testing.T) {
	eachWithDrafts(t, local.Options{Speed: calm}, func(t *testing.T, s *system) {
		s.accept(s.product(oldChair))
		s.settle()
		s.accept(s.product(newTable))
		s.settle()
		older, newer := s.draftOf(oldVersion), s.draftOf(newVersion)
		if got := s.waits("limit=1"); !slices.Equal(got, []string{"draft " + older.ID}) {
			t.Errorf("the longest waiting is %q", got)
		}
		d := s.decide("ann", "approve", of(older))
		if d.Code != http.StatusConflict || d.Problem.Type != "urn:engang:problem:newer-draft" || d.Problem.Stands.ID != newer.ID || d.Problem.Stands.ObjectVersion != newVersion {
			t.Fatalf("with a newer draft: %+v", d)
		}
		second := of(older)
		second["although_newer"] = true
		if d := s.decide("ann", "approve", second); d.Code != http.StatusOK || s.object("product:794").Results[0].ObjectVersion != oldVersion {
			t.Fatalf("with a second word: %+v", d)
		}
		if d := s.decide("bob", "approve", of(newer)); d.Code != http.StatusOK {
			t.Fatalf("the newer one: %+v", d)
		}
		s.rest()
		if r := s.object("product:794").Results; len(r) != 1 || r[0].ObjectVersion != newVersion || r[0].Operation != newer.ID {
			t.Errorf("results %+v", r)
		}
	})
}

// After a newer version's result the older draft can only be set aside; its content coming back as a newer
// version waits again, without another call.
func TestADraftOfAnOlderVersionIsSetAside(t *testing.T) {
	eachWithDrafts(t, local.Options{Speed: calm}, func(t *testing.T, s *system) {
		s.accept(s.product(oldChair))
		s.settle()
		s.accept(s.product(newTable))
		s.settle()
		older, newer := s.draftOf(oldVersion), s.draftOf(newVersion)
		if d := s.decide("ann", "approve", of(newer)); d.Code != http.StatusOK {
			t.Fatalf("the newer one: %+v", d)
		}
		for range 2 {
			d := s.decide("bob", "approve", of(older))
			if d.Code != http.StatusConflict || d.Problem.Type != "urn:engang:problem:set-aside" || d.Problem.Stands.ID != newer.ID || d.Problem.Stands.State != "result" {
				t.Fatalf("the older one: %+v", d)
			}
		}
		if got := s.waits(""); len(got) != 0 {
			t.Errorf("waiting %q", got)
		}
		again := oldChair
		again.Modified = "2026-11-29T13:00:00"
		id := s.accept(s.product(again))
		s.settle()
		s.outcomes(id, "review")
		o := s.draftOf("2026-11-29T13:00:00Z")
		if o.ID != older.ID || o.Review.Digest != older.Review.Digest || s.calls() != 2 {
			t.Errorf("%d calls, operation %+v", s.calls(), o)
		}
		if d := s.decide("bob", "approve", of(o)); d.Code != http.StatusOK {
			t.Errorf("as the newest: %+v", d)
		}
		s.rest()
		if r := s.object("product:794").Results; len(r) != 1 || r[0].ObjectVersion != "2026-11-29T13:00:00Z" || r[0].Event != id {
			t.Errorf("results %+v", r)
		}
	})
}

// A newer version with the same content raises the draft: nobody is asked twice, and the approval publishes
// with the newer rank.
func TestAnEchoRaisesTheRankOfADraft(t *testing.T) {
	eachWithDrafts(t, local.Options{Speed: calm}, func(t *testing.T, s *system) {
		s.accept(s.product(oldChair))
		s.settle()
		looked := s.draftOf(oldVersion)
		id := s.accept(s.product(echo))
		s.settle()
		s.outcomes(id, "review")
		if got := s.waits(""); len(got) != 1 || s.calls() != 1 {
			t.Errorf("waiting %q, %d calls", got, s.calls())
		}
		if d := s.decide("ann", "approve", of(looked)); d.Code != http.StatusOK || d.Done.ObjectVersion != newVersion {
			t.Fatalf("%+v", d)
		}
		late := newTable
		late.Modified = "2026-11-29T11:30:00" // between the two: it must not replace the result
		between := s.accept(s.product(late))
		s.rest()
		s.outcomes(between, "superseded")
		if r := s.object("product:794").Results; len(r) != 1 || r[0].ObjectVersion != newVersion || r[0].Event != id || r[0].Digest != looked.Review.Digest {
			t.Errorf("results %+v", r)
		}
	})
}

// What a person refused is not asked for again by whatever comes in, and is done anew for a person.
func TestARejectedOutputIsAskedForAgainByAPersonOnly(t *testing.T) {
	eachWithDrafts(t, local.Options{Speed: calm}, func(t *testing.T, s *system) {
		s.accept(s.product(oldChair))
		s.settle()
		o := s.draftOf(oldVersion)
		if d := s.decide("ann", "reject", of(o)); d.Code != http.StatusOK || d.Done.Decision != "rejected" {
			t.Fatalf("%+v", d)
		}
		if d := s.decide("ann", "reject", of(o)); d.Code != http.StatusOK || !d.Done.Already {
			t.Errorf("once more: %+v", d)
		}
		id := s.accept(s.product(echo))
		s.settle()
		s.outcomes(id, "rejected")
		op := s.object("product:794").Operations[0]
		if op.State != "rejected" || op.Review != nil || op.ExpiresAt != nil || s.calls() != 1 || len(s.waits("")) != 0 || len(s.items().Results()) != 0 {
			t.Fatalf("%d calls, operation %+v", s.calls(), op)
		}
		if letters := s.deadLetters(); len(letters) != 0 {
			t.Errorf("%d dead letters", len(letters))
		}
		s.again(op)
		again := s.draftOf(newVersion)
		if again.FencingToken != 2 || s.calls() != 2 {
			t.Errorf("%d calls, operation %+v", s.calls(), again)
		}
		if d := s.decide("bob", "approve", of(again)); d.Code != http.StatusOK || s.object("product:794").Results[0].Event != id {
			t.Errorf("%+v", d)
		}
		s.rest()
	})
}

// What failed, is parked or in conflict leaves the list when a person says that nothing is to be done.
func TestWhatIsDismissedIsOffTheList(t *testing.T) {
	eachWithDrafts(t, local.Options{Speed: calm}, func(t *testing.T, s *system) {
		s.fails("refusal", 1)
		failed := s.accept(s.product(oldChair))
		s.settle()
		parked := s.accept(s.woo("product.updated", `{"id":795,"date_modified_gmt":"2026-11-29T11:00:00"}`)) // without a name
		s.settle()
		s.accept(s.contact("msg_1", `{"type":"contact.created","timestamp":"2026-11-29T12:00:00Z","data":{"id":"c_1","company":"Acme"}}`))
		if a := s.contact("msg_1", `{"type":"contact.created","timestamp":"2026-11-29T12:00:00Z","data":{"id":"c_1","company":"Bcme"}}`); a.Status != "conflict" {
			t.Fatalf("answered %s", a.Body)
		}
		s.settle()
		op := s.object("product:794").Operations[0]
		list := s.waits("")
		if len(list) != 3 || list[0] != "failed "+op.ID || list[1] != "parked "+parked || !strings.HasPrefix(list[2], "conflict evt_") {
			t.Fatalf("waiting %q", list)
		}
		for _, w := range list {
			_, id, _ := strings.Cut(w, " ")
			in := func() map[string]any { return map[string]any{"id": id} }
			if d := s.decide("ann", "dismiss", in()); d.Code != http.StatusOK || d.Done.Decision != "dismissed" || d.Done.Already {
				t.Errorf("%s: %+v", w, d)
			}
			if d := s.decide("bob", "dismiss", in()); d.Code != http.StatusOK || !d.Done.Already || d.Done.By != people+"ann" {
				t.Errorf("%s again: %+v", w, d)
			}
		}
		if got := s.waits(""); len(got) != 0 {
			t.Errorf("waiting %q", got)
		}
		for id, state := range map[string]string{failed: "parked", parked: "parked"} {
			if e := s.event(id); e.State != state || e.Dismissed == nil || e.Dismissed.By != people+"ann" || e.ExpiresAt == nil {
				t.Errorf("event %+v", e)
			}
		}
		if op := s.object("product:794").Operations[0]; op.State != "failed" || op.Dismissed == nil || op.Dismissed.Note != "says ann" || op.ExpiresAt == nil || op.Review != nil {
			t.Errorf("operation %+v", op)
		}
		s.rest()
		want := []string{}
		for _, what := range []string{"operation", "event", "conflict"} {
			want = append(want, "ann: dismiss "+what, fmt.Sprintf("bob: dismiss %s, done already", what))
		}
		s.recordedActs(want...)
	})
}
