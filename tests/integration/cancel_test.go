package integration_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"engang/infra/local"
	"engang/infra/local/wire"
	"engang/shared/control"
)

// ann is who acts, and as what the functions know her.
const (
	ann   = "ann"
	asAnn = "arn:aws:iam::000000000000:user/ann"
)

// does has a person do something by the API, and reads the answer where it is the expected one.
func (s *system) does(code int, path string, say map[string]string, into any) string {
	s.t.Helper()
	body, err := json.Marshal(say)
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.URL()+path, bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("X-Engang-As", ann)
	a := s.send(r)
	if a.Code != code {
		s.t.Fatalf("%s %s: %d %s, want %d", path, body, a.Code, a.Body, code)
	}
	if into != nil {
		if err := json.Unmarshal([]byte(a.Body), into); err != nil {
			s.t.Fatalf("%s: %s: %v", path, a.Body, err)
		}
	}
	return a.Body
}

func (s *system) cancel(id string) control.Cancellation {
	s.t.Helper()
	var doc control.Cancellation
	s.does(http.StatusOK, "/api/cancel", map[string]string{"id": id, "reason": "wrong supplier feed"}, &doc)
	return doc
}

// cancelled holds that an operation was cancelled by ann, is in nobody's list, and has no result.
func (s *system) cancelled(object string) control.Operation {
	s.t.Helper()
	o := s.object(object)
	if len(o.Operations) != 1 || len(o.Results) != 0 {
		s.t.Fatalf("object %+v", o)
	}
	op := o.Operations[0]
	if op.State != "failed" || op.Category != "cancelled" || op.Decision == nil || op.Decision.By != asAnn || op.Decision.Note != "wrong supplier feed" || op.ExpiresAt == nil {
		s.t.Errorf("operation %+v", op)
	}
	if op.Review != nil && op.Review.OpenedAt != nil {
		s.t.Errorf("it stands in the review list: %+v", op.Review)
	}
	if letters := s.deadLetters(); len(letters) != 0 {
		s.t.Errorf("%d dead letters", len(letters))
	}
	return op
}

// settledAs holds how an event was settled.
func (s *system) settledAs(id, outcome string) {
	s.t.Helper()
	if e := s.event(id); e.State != "settled" || e.Outcome != outcome || e.ExpiresAt == nil {
		s.t.Errorf("event %s, %s, expires %v, want %s", e.State, e.Outcome, e.ExpiresAt, outcome)
	}
}

// audited are the acts of the person, oldest first.
func (s *system) audited() (acts []string) {
	s.t.Helper()
	for _, i := range s.stored() {
		if strings.HasPrefix(i["pk"], "A#") && i["by"] == asAnn {
			if i["expires_at"] == "" {
				s.t.Errorf("kept without end: %v", i)
			}
			acts = append(acts, i["act"]+" "+i["target"]+": "+i["note"])
		}
	}
	return acts
}

// A worker whose operation is cancelled while it waits for its answer commits nothing. What it paid is known.
func TestCancelFencesWhoIsAtWork(t *testing.T) {
	eachGated(t, local.Options{Speed: calm}, "W4 complete", wire.Before, func(t *testing.T, s *system, g *gate) {
		event := s.accept(s.product(oldChair))
		working := s.work()
		pass := g.next(t)
		op := s.object("product:794").Operations[0]
		got := s.cancel("product:794/" + op.Recipe)
		if got.ID != op.ID || got.Was != "running" || got.Already || !slices.Equal(got.Operations, []string{op.ID}) {
			t.Errorf("%+v", got)
		}
		pass()
		working.wait()
		s.rest()
		op = s.cancelled("product:794")
		s.settledAs(event, "cancelled")
		if a := op.Attempts; len(a) != 1 || a[0].Outcome != "lost" || a[0].CostUSD == nil || op.CostUSD == 0 || op.CostAtLeast || s.calls() != 1 {
			t.Errorf("%d calls, attempts %+v", s.calls(), op.Attempts)
		}

		// The delivery again is a duplicate, and the same content in a newer version is not worked on.
		if again := s.product(oldChair); again.Status != "duplicate" || again.Event != event {
			t.Errorf("again: %+v", again)
		}
		newer := oldChair
		newer.Modified = "2026-11-30T11:59:58"
		later := s.accept(s.product(newer))
		s.rest()
		s.settledAs(later, "cancelled")
		s.cancelled("product:794")
		if again := s.cancel(op.ID); !again.Already || again.Decision.By != asAnn || s.calls() != 1 {
			t.Errorf("again: %+v, %d calls", again, s.calls())
		}
		if acts := s.audited(); !slices.Equal(acts, []string{"cancel " + op.ID + ": wrong supplier feed", "cancel, done already " + op.ID + ": wrong supplier feed"}) {
			t.Errorf("audit %q", acts)
		}
	})
}

// Work that waits for another try is not tried again.
func TestCancelOfWorkThatBacksOff(t *testing.T) {
	each(t, local.Options{Speed: calm}, func(t *testing.T, s *system) {
		s.fails("429", 1)
		event := s.accept(s.product(oldChair))
		s.step()
		op := s.object("product:794").Operations[0]
		if op.State != "pending" {
			t.Fatalf("operation %+v", op)
		}
		if got := s.cancel(event); got.Was != "received" || !slices.Equal(got.Operations, []string{op.ID}) {
			t.Errorf("%+v", got)
		}
		s.settledAs(event, "cancelled")
		s.rest()
		s.cancelled("product:794")
		if s.calls() != 1 {
			t.Errorf("%d calls", s.calls())
		}
	})
}

// A draft that is cancelled waits for nobody any more; its event had been settled with it.
func TestCancelOfADraft(t *testing.T) {
	each(t, local.Options{Speed: calm, ConfigFiles: []string{budgetCard(t, "draft")}}, func(t *testing.T, s *system) {
		event := s.accept(s.product(oldChair))
		s.rest()
		op := s.object("product:794").Operations[0]
		if op.State != "review" {
			t.Fatalf("operation %+v", op)
		}
		if got := s.cancel(op.ID); got.Was != "review" {
			t.Errorf("%+v", got)
		}
		s.rest()
		s.cancelled("product:794")
		s.settledAs(event, "review")
	})
}

// An event that nobody has worked on yet is over at once. Its operation stands there, cancelled, so that it can be
// redriven by its name, and nothing was paid for it.
func TestCancelOfAnEventThatWaits(t *testing.T) {
	each(t, local.Options{}, func(t *testing.T, s *system) {
		event := s.accept(s.product(oldChair))
		if got := s.cancel(event); got.Was != "received" || len(got.Operations) != 1 || got.Already {
			t.Errorf("%+v", got)
		}
		if got := s.cancel(event); !got.Already {
			t.Errorf("again %+v", got)
		}
		if again := s.product(oldChair); again.Status != "duplicate" {
			t.Errorf("again: %+v", again)
		}
		s.rest()
		s.settledAs(event, "cancelled")
		op := s.cancelled("product:794")
		if s.calls() != 0 || op.CostAtLeast || op.CostUSD != 0 || len(op.Attempts) != 1 || op.Attempts[0].Outcome != "stopped" {
			t.Errorf("%d calls, operation %+v", s.calls(), op)
		}

		s.does(http.StatusOK, "/api/redrive", map[string]string{"id": op.ID, "reason": "it was right after all"}, nil)
		s.rest()
		s.settledAs(event, "completed")
		if op := s.object("product:794").Operations[0]; op.State != "completed" || op.Decision != nil || s.calls() != 1 {
			t.Errorf("redriven: %d calls, operation %+v", s.calls(), op)
		}
	})
}

// A worker that has read the event, and stands before its claim while it is cancelled, calls nobody, and leaves
// nothing behind that waits for an event.
func TestCancelMeetsAWorkerBeforeItsClaim(t *testing.T) {
	eachGated(t, local.Options{Speed: calm}, "W3 claim", wire.Before, func(t *testing.T, s *system, g *gate) {
		event := s.accept(s.product(oldChair))
		working := s.work()
		pass := g.next(t)
		if got := s.cancel(event); len(got.Operations) != 1 {
			t.Errorf("%+v", got)
		}
		pass()
		working.wait()
		s.rest()
		s.settledAs(event, "cancelled")
		s.cancelled("product:794")
		if s.calls() != 0 {
			t.Errorf("%d calls", s.calls())
		}
	})
}

// An event that was parked since nothing can be made of it need not stand in the review list for ever.
func TestCancelOfAnEventThatIsParkedWithoutAnOperation(t *testing.T) {
	each(t, local.Options{}, func(t *testing.T, s *system) {
		event := s.accept(s.woo("product.updated", `{"code":"rest_forbidden","message":"Sorry.","data":{"status":401}}`))
		s.rest()
		if e := s.event(event); e.State != "parked" || len(e.Operations) != 0 {
			t.Fatalf("event %+v", e)
		}
		if got := s.cancel(event); got.Was != "parked" {
			t.Errorf("%+v", got)
		}
		s.settledAs(event, "cancelled")
		s.rest()
		s.settledAs(event, "cancelled")
		if i := s.item(event); i["oq"] != "" || i["od"] != "" {
			t.Errorf("it stands in a list: %v", i)
		}
	})
}

// What is final is not cancelled, and the refusal says how it stands.
func TestCancelOfWhatIsFinal(t *testing.T) {
	each(t, local.Options{}, func(t *testing.T, s *system) {
		event := s.accept(s.product(oldChair))
		s.rest()
		op := s.object("product:794").Operations[0].ID
		for id, says := range map[string]string{op: "The operation is completed", event: "The event is settled"} {
			if answer := s.does(http.StatusConflict, "/api/cancel", map[string]string{"id": id, "reason": "why"}, nil); !strings.Contains(answer, says) {
				t.Errorf("%s: %s", id, answer)
			}
		}
		s.does(http.StatusBadRequest, "/api/cancel", map[string]string{"id": op}, nil)
		s.does(http.StatusNotFound, "/api/cancel", map[string]string{"id": "evt_aaaaaaaaaaaaaaaa", "reason": "why"}, nil)
		s.rest()
		if s.calls() != 1 {
			t.Errorf("%d calls", s.calls())
		}
	})
}

// Of many who cancel at once each is told that it is cancelled, one that it was him.
func TestManyCancelAtOnce(t *testing.T) {
	each(t, local.Options{Speed: calm}, func(t *testing.T, s *system) {
		s.fails("429", 1)
		s.accept(s.product(oldChair))
		s.step()
		op := s.object("product:794").Operations[0].ID
		answers := make([]control.Cancellation, 16)
		atOnce(len(answers), func(i int) { answers[i] = s.cancel(op) })
		first := 0
		for _, a := range answers {
			if !a.Already {
				first++
			}
		}
		if first != 1 {
			t.Errorf("%d were the first", first)
		}
		s.rest()
		s.cancelled("product:794")
	})
}

// Of two who redrive what they both saw fail one is late: what the first opened was cancelled before. It stays so.
func TestCancelIsNotUndoneByALateRedrive(t *testing.T) {
	onEach(t, func(t *testing.T, begin func(local.Options) *system) {
		g := newGate("W13 redrive", wire.Before)
		g.function = "console"
		s := begin(local.Options{Speed: calm, Judge: g.judge})
		t.Cleanup(func() { close(g.over) })
		s.fails("refusal", 1)
		event := s.accept(s.product(oldChair))
		s.rest()
		op := s.object("product:794").Operations[0]
		codes := make(chan int, 2)
		for range 2 {
			go func() {
				code, _, _ := s.command("redrive", op.ID, "--reason", "the provider is back")
				codes <- code
			}()
		}
		first, late := g.next(t), g.next(t)
		first()
		if code := <-codes; code != 0 {
			t.Fatalf("the first redrive: exit %d", code)
		}
		if got := s.cancel(op.ID); got.Was != "pending" {
			t.Errorf("%+v", got)
		}
		late()
		if code := <-codes; code != 4 {
			t.Errorf("the late redrive: exit %d", code)
		}
		s.rest()
		s.settledAs(event, "cancelled")
		if op := s.object("product:794").Operations[0]; op.State != "failed" || op.Category != "cancelled" || op.FencingToken != 2 || len(op.Attempts) != 1 || s.calls() != 1 {
			t.Errorf("%d calls, operation %+v", s.calls(), op)
		}
	})
}
