package integration_test

import (
	"net/http"
	"testing"

	"engang/infra/local"
	"engang/infra/local/wire"
	"engang/shared/control"
)

// A troubledDecision is what goes wrong with the write of a decision, and what the person is told.
type troubledDecision struct {
	phase   wire.Phase
	verdict wire.Verdict
	always  bool
	code    int
	already bool // the same asked again finds it done
}

var troubledDecisions = map[string]troubledDecision{
	"the request is lost once":                      {wire.Before, wire.Fail, false, http.StatusOK, true},
	"the answer is lost once":                       {wire.After, wire.Fail, false, http.StatusOK, true},
	"no request comes through":                      {wire.Before, wire.Fail, true, http.StatusServiceUnavailable, false},
	"no answer comes through":                       {wire.After, wire.Fail, true, http.StatusServiceUnavailable, true},
	"the console dies before it, decided by nobody": {wire.Before, wire.Kill, false, http.StatusInternalServerError, false},
	"the console dies behind it, decided by ann":    {wire.After, wire.Kill, false, http.StatusInternalServerError, true},
}

// Whatever happens around the one decisive write: the same asked again tells what came of it, the audit log
// then holds the decision, and nothing was decided twice.
func TestADecisionInTrouble(t *testing.T) {
	for what, call := range map[string]string{"approve": "W17 approve", "reject": "W18 reject", "dismiss": "W27 dismiss"} {
		t.Run(what, func(t *testing.T) {
			onEach(t, func(t *testing.T, begin func(local.Options) *system) {
				all := &trouble{}
				s := begin(local.Options{Judge: all.judge, Speed: calm})
				s.drafts()
				n := 0
				for name, c := range troubledDecisions {
					n++
					id := s.waiting(n, what)
					rule := once(call, c.phase, c.verdict)
					if c.always {
						rule = every(call, c.phase, c.verdict)
					}
					all.is(rule)
					first, err := s.asks("ann", what, id())
					if err == nil && first.Code != c.code || err != nil && c.verdict != wire.Kill {
						t.Errorf("%s: %+v, %v", name, first, err)
					}
					all.is(nil)
					again := s.decide("bob", what, id())
					if again.Code != http.StatusOK || again.Done.Already != c.already || (again.Done.By == people+"ann") != c.already {
						t.Errorf("%s, asked again: %+v", name, again)
					}
					s.holdsEntry(again.Done, map[string]string{"approve": "approve draft", "reject": "reject draft", "dismiss": "dismiss operation"}[what])
				}
				s.rest()
				if want := map[string]int{"approve": n}[what]; len(s.items().Results()) != want || len(s.waits("")) != 0 {
					t.Errorf("%d results, want %d; waiting %q", len(s.items().Results()), want, s.waits(""))
				}
			})
		})
	}
}

// waiting makes a new thing that waits for such a decision, and returns what names it.
func (s *system) waiting(n int, what string) func() map[string]any {
	s.t.Helper()
	if what == "dismiss" {
		s.fails("refusal", 1)
	}
	s.accept(s.product(product{ID: n, Name: "Chair"}))
	s.settle()
	var list control.List[control.Waiting]
	if code := s.get("/api/review", &list); code != http.StatusOK || len(list.Items) != 1 {
		s.t.Fatalf("%d, waiting %+v", code, list.Items)
	}
	w := list.Items[0]
	return func() map[string]any {
		if what == "dismiss" {
			return map[string]any{"id": w.ID}
		}
		return map[string]any{"id": w.ID, "digest": w.Digest}
	}
}

// holdsEntry demands one entry of the audit log for a decision, by who made it, with when and why.
func (s *system) holdsEntry(d control.Decided, act string) {
	s.t.Helper()
	found := 0
	for _, i := range s.items() {
		if i["act"] == act && len(i["target"]) >= len(d.ID) && i["target"][:len(d.ID)] == d.ID {
			if found++; i["by"] != d.By || i["note"] != d.Note {
				s.t.Errorf("entry %v, decided %+v", i, d)
			}
		}
	}
	if found != 1 {
		s.t.Errorf("%d entries of %s %s", found, act, d.ID)
	}
}
