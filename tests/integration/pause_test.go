package integration_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"engang/infra/local"
	"engang/shared/control"
)

const (
	localModel  = "openai/gpt-5.4-mini-2026-03-17"
	aContact    = `{"type":"contact.created","timestamp":"2026-11-29T12:00:00Z","data":{"id":"c_1","email":"ann@example.com","name":"Ann","company":"Acme","notes":"Met at the fair."}}`
	localRecipe = "product-card"
)

// holds is what the API says is held.
func (s *system) holdsNow() []control.Hold {
	s.t.Helper()
	var list control.List[control.Hold]
	if code := s.get("/api/pauses", &list); code != http.StatusOK {
		s.t.Fatalf("pauses: %d", code)
	}
	return list.Items
}

func (s *system) pause(kind, name string) control.Hold {
	s.t.Helper()
	var h control.Hold
	s.does(http.StatusOK, "/api/pause", map[string]string{"kind": kind, "name": name, "reason": "incident 12"}, &h)
	return h
}

func (s *system) resume(kind, name string) control.Resumption {
	s.t.Helper()
	var r control.Resumption
	s.does(http.StatusOK, "/api/resume", map[string]string{"kind": kind, "name": name, "reason": "over"}, &r)
	return r
}

// due is when an event is looked at next, as it stands now.
func (s *system) due(event string) time.Time {
	s.t.Helper()
	e := s.event(event)
	if e.DueAt == nil {
		s.t.Fatalf("event %+v is not open", e)
	}
	return *e.DueAt
}

// held works until an event that was due was put off: nothing was claimed for it, and no send was counted.
func (s *system) held(event string, due time.Time) {
	s.t.Helper()
	for began := time.Now(); time.Since(began) < 20*time.Second; {
		if e := s.event(event); e.State == "received" && !e.DueAt.Equal(due) && e.Sends == 0 {
			return
		}
		s.step()
	}
	s.t.Fatalf("event %+v is not held", s.event(event))
}

// A pausing is what is held while something is paused.
type pausing struct {
	kind, name string
	crm        bool // the other endpoint is held too
}

var pausings = map[string]pausing{
	"an endpoint": {"endpoint", "woo-shop", false},
	"a recipe":    {"recipe", localRecipe, false},
	"a model":     {"model", localModel, true},
	"everything":  {"everything", "", true},
}

// What is paused is taken and answered as ever, costs no attempt, and goes on by itself when it is resumed.
func TestWhatIsPausedWaitsAndIsNotLost(t *testing.T) {
	eachCase(t, pausings, func(pausing) local.Options { return local.Options{} }, func(t *testing.T, s *system, p pausing) {
		before := s.accept(s.product(oldChair)) // before the pause, and not worked on yet
		if h := s.pause(p.kind, p.name); h.By != asAnn || h.Held.EventsAtLeast != 1 || !h.Held.Complete || h.Until != nil {
			t.Errorf("%+v", h)
		}
		other := s.accept(s.contact("msg_1", aContact))
		due, otherDue := s.due(before), s.due(other)
		s.held(before, due)
		if !p.crm {
			for s.event(other).State == "received" {
				s.step()
			}
		}
		during := s.accept(s.product(product{ID: 795, Name: "table"}))
		duringDue := s.due(during)
		if again := s.product(product{ID: 795, Name: "table"}); again.Status != "duplicate" {
			t.Errorf("again %+v", again)
		}
		s.held(during, duringDue)
		calls, held := 1, 2
		if p.crm {
			s.held(other, otherDue)
			calls, held = 0, 3
		}
		if all := s.holdsNow(); s.calls() != calls || len(all) != 1 || all[0].What != p.kind || all[0].Name != p.name || all[0].Reason != "incident 12" || all[0].Held.EventsAtLeast != held {
			t.Errorf("%d calls, held %+v", s.calls(), all)
		}
		if o := s.object("product:794"); len(o.Operations) != 0 {
			t.Errorf("operations %+v", o.Operations)
		}

		r := s.resume(p.kind, p.name)
		if len(r.Resumed) != 1 || r.Resumed[0].Held.EventsAtLeast != held || len(r.Remaining) != 0 || r.DueWithinS != 300 {
			t.Errorf("%+v", r)
		}
		s.rest()
		if all := s.holdsNow(); len(all) != 0 {
			t.Errorf("held %+v", all)
		}
		for _, id := range []string{"product:794", "product:795"} {
			if op := s.object(id).Operations[0]; op.State != "completed" || op.Claims != 1 {
				t.Errorf("%s: %+v", id, op)
			}
		}
		if again := s.resume(p.kind, p.name); len(again.Resumed) != 0 {
			t.Errorf("again %+v", again)
		}
		name := strings.TrimSpace(p.kind + " " + p.name)
		if acts := s.audited(); !slices.Equal(acts, []string{"pause " + name + ": incident 12", "resume " + name + ": over", "resume " + name + ": over"}) {
			t.Errorf("audit %q", acts)
		}
	})
}

// A pause that ends by itself needs no person.
func TestAPauseEndsByItself(t *testing.T) {
	each(t, local.Options{}, func(t *testing.T, s *system) {
		until := time.Now().Add(6 * time.Second).UTC().Format(time.RFC3339)
		s.does(http.StatusOK, "/api/pause", map[string]string{"kind": "everything", "until": until, "reason": "a deploy"}, nil)
		event := s.accept(s.product(oldChair))
		s.held(event, s.due(event))
		if e := s.event(event); e.DueAt.UTC().Format(time.RFC3339) > until {
			t.Errorf("due at %s, paused until %s", e.DueAt, until)
		}
		s.rest()
		s.settledAs(event, "completed")
		if all := s.holdsNow(); len(all) != 0 {
			t.Errorf("held %+v", all)
		}
	})
}

// A person may cancel what is held, and it is over at once: nothing of it comes back when the pause is.
func TestWhatIsHeldCanBeCancelled(t *testing.T) {
	each(t, local.Options{}, func(t *testing.T, s *system) {
		s.pause("endpoint", "woo-shop")
		event := s.accept(s.product(oldChair))
		s.held(event, s.due(event))
		if got := s.cancel(event); got.Was != "received" || len(got.Operations) != 1 {
			t.Errorf("%+v", got)
		}
		s.settledAs(event, "cancelled")
		s.resume("endpoint", "woo-shop")
		s.rest()
		if s.calls() != 0 {
			t.Errorf("%d calls", s.calls())
		}
	})
}

// A model that cannot serve is held by its breaker, which a person sees, and may close.
func TestAPersonResumesAModelThatCannotServe(t *testing.T) {
	each(t, local.Options{Speed: 20}, func(t *testing.T, s *system) {
		s.fails("quota", 1)
		event := s.accept(s.product(oldChair))
		s.step()
		all := s.holdsNow()
		if len(all) != 1 || all[0].Kind != "breaker" || all[0].Name != localModel || all[0].Until == nil || all[0].Reason == "" || all[0].Held.EventsAtLeast != 1 {
			t.Fatalf("held %+v", all)
		}
		other := s.accept(s.contact("msg_1", aContact))
		s.held(other, s.due(other))
		r := s.resume("model", localModel)
		if len(r.Resumed) != 1 || r.Resumed[0].Kind != "breaker" || r.Resumed[0].Held.EventsAtLeast != 2 {
			t.Errorf("%+v", r)
		}
		if all := s.holdsNow(); len(all) != 0 {
			t.Errorf("held %+v", all)
		}
		s.rest()
		s.settledAs(event, "completed")
		s.settledAs(other, "completed")
		if s.calls() != 3 {
			t.Errorf("%d calls", s.calls())
		}
	})
}

func TestWhatIsNotConfiguredIsNotPaused(t *testing.T) {
	each(t, local.Options{}, func(t *testing.T, s *system) {
		for _, say := range []map[string]string{
			{"kind": "endpoint", "name": "woo-shpo"}, {"kind": "recipe", "name": "cards"}, {"kind": "model", "name": "openai/gpt-2"},
		} {
			say["reason"] = "why"
			s.does(http.StatusNotFound, "/api/pause", say, nil)
		}
		for _, say := range []map[string]string{
			{"kind": "hook", "name": "x", "reason": "why"}, {"kind": "everything", "name": "x", "reason": "why"}, {"kind": "everything"}, {"kind": "recipe", "name": "product-card@1", "reason": "why"},
			{"kind": "everything", "until": "2020-01-01T00:00:00Z", "reason": "why"},
		} {
			s.does(http.StatusBadRequest, "/api/pause", say, nil)
		}
		if all := s.holdsNow(); len(all) != 0 || len(s.audited()) != 0 {
			t.Errorf("held %+v", all)
		}
	})
}

// Sums are those of what the API shows one by one; an attempt that was lost makes the cost a lower bound.
func TestStatsAreTheSumsOfWhatIsShown(t *testing.T) {
	each(t, local.Options{}, func(t *testing.T, s *system) {
		if err := s.Faults().Add("worker:kill@after-call"); err != nil {
			t.Fatal(err)
		}
		s.accept(s.product(oldChair))
		s.product(oldChair)
		s.accept(s.contact("msg_1", aContact))
		s.rest()
		s.accept(s.product(product{ID: 795, Name: "table"}))
		var got control.Stats
		if code := s.get("/api/stats", &got); code != http.StatusOK {
			t.Fatal(code)
		}
		card, contact := s.object("product:794").Operations[0], s.object("contact:c_1").Operations[0]
		want := control.Sums{
			Events: 3, Deliveries: 4, Operations: 2, Attempts: len(card.Attempts) + len(contact.Attempts), PaidCalls: 2, Results: 2,
			Unsettled: control.Unsettled{Open: 1}, CostUSD: card.CostUSD + contact.CostUSD, CostAtLeast: true,
		}
		want.UnknownCalls = want.Attempts - 2
		if got.Total != want || want.UnknownCalls < 1 || got.Next != "" {
			t.Errorf("%+v, want %+v", got.Total, want)
		}
		if shop, crm := got.ByEndpoint["woo-shop"], got.ByEndpoint["crm"]; shop.Events != 2 || shop.CostUSD != card.CostUSD || crm.Events != 1 || crm.CostUSD != contact.CostUSD {
			t.Errorf("by endpoint %+v", got.ByEndpoint)
		}
		if got.ByRecipe[card.Recipe].CostUSD != card.CostUSD || got.ByRecipe[contact.Recipe].CostUSD != contact.CostUSD {
			t.Errorf("by recipe %+v", got.ByRecipe)
		}
		s.rest()
	})
}
