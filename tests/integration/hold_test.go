package integration_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"engang/infra/local"
	"engang/infra/local/wire"
)

const cardVersion = "    version: 3                        # immutable once applied; a change of anything below needs 4\n"

// saves are quick changes of one product, the newest last.
func saves(n int) (all []product) {
	for i := range n {
		all = append(all, product{ID: 794, Name: fmt.Sprintf("Chair, text %d", i), Modified: fmt.Sprintf("2026-11-29T11:59:%02d", 10+i)})
	}
	return all
}

// newest demands that the result of product 794 is that of the newest save, and counts what it cost.
func (s *system) newest(ids []string, calls int) {
	s.t.Helper()
	o := s.object("product:794")
	last := ids[len(ids)-1]
	if len(o.Results) != 1 || o.Results[0].Event != last || s.calls() > calls {
		s.t.Errorf("results %+v after %d calls, want that of %s after at most %d", o.Results, s.calls(), last, calls)
	}
	for _, id := range ids {
		e := s.event(id)
		if e.State != "settled" || e.Outcome != "completed" && e.Outcome != "coalesced" && e.Outcome != "superseded" {
			s.t.Errorf("event %s %s", e.State, e.Outcome)
		}
		if e.Outcome == "coalesced" && s.event(e.Reason).Outcome == "" {
			s.t.Errorf("coalesced by %q, which is no settled event", e.Reason)
		}
	}
}

func TestFiveQuickSavesAreOneCall(t *testing.T) {
	quiet := edited(t, cardVersion, cardVersion+"    quiet_period: 100s\n")
	each(t, local.Options{ConfigFiles: []string{quiet}}, func(t *testing.T, s *system) {
		var ids []string
		for _, p := range saves(5) {
			ids = append(ids, s.accept(s.product(p)))
		}
		s.rest()
		s.newest(ids, 1)
		if s.calls() != 1 {
			t.Errorf("%d calls", s.calls())
		}
		for _, id := range ids[:4] { // superseded: the newest one had its result before this one's turn came
			if e := s.event(id); e.Outcome != "coalesced" && e.Outcome != "superseded" {
				t.Errorf("event %s %s", e.State, e.Outcome)
			}
		}
	})
}

// A receiver that dies between an event and its head costs one call more, whichever save it was.
func TestACrashInAQuietPeriodCostsOneCall(t *testing.T) {
	quiet := edited(t, cardVersion, cardVersion+"    quiet_period: 100s\n")
	onEach(t, func(t *testing.T, begin func(local.Options) *system) {
		for dies := range 5 {
			t.Run(fmt.Sprintf("save %d", dies+1), func(t *testing.T) {
				t.Parallel() // each waits for the reconciler
				all := &trouble{}
				s := begin(local.Options{ConfigFiles: []string{quiet}, Judge: all.judge}).in(t)
				var ids []string
				for i, p := range saves(5) {
					if i != dies {
						ids = append(ids, s.accept(s.product(p)))
						continue
					}
					all.is(every("W21 head", wire.Before, wire.Kill))
					if a := s.product(p); a.Code < 500 {
						t.Fatalf("answered %d %s by a receiver that died", a.Code, a.Body)
					}
					all.is(nil)
					ids = append(ids, s.newestEvent("product:794"))
				}
				s.rest()
				s.newest(ids, 2)
			})
		}
	})
}

// newestEvent is the event of an object that was stored last.
func (s *system) newestEvent(object string) string {
	s.t.Helper()
	events := s.object(object).Events
	if len(events) == 0 {
		s.t.Fatalf("no event of %s is stored", object)
	}
	return events[len(events)-1].ID
}

// A used-up quota costs the calls that were under way, and no attempt; a probe drains what was held.
func TestAUsedUpQuotaHoldsAllWorkAndAProbeDrainsIt(t *testing.T) {
	const events, refusals = 12, 6 // more than one batch makes at once: a probe meets it too
	each(t, local.Options{Speed: 60}, func(t *testing.T, s *system) {
		s.fails("quota", refusals)
		var ids []string
		for i := range events {
			ids = append(ids, s.accept(s.product(product{ID: i + 1, Name: fmt.Sprintf("Chair %d", i)})))
		}
		for s.step() > 0 {
		}
		if n := s.calls(); n == 0 || n >= refusals {
			t.Errorf("%d calls met the quota, want those under way only", n)
		}
		for i, id := range ids {
			e := s.event(id)
			if e.State != "received" || e.DueAt == nil || e.Sends != 0 {
				t.Errorf("event %+v", e)
			}
			for _, op := range s.object(fmt.Sprintf("product:%d", i+1)).Operations {
				if op.State != "pending" || op.Claims != 0 {
					t.Errorf("operation %s with %d claims", op.State, op.Claims)
				}
			}
		}
		s.rest()
		if n := s.calls(); n != events+refusals {
			t.Errorf("%d calls for %d events and %d refusals", n, events, refusals)
		}
		for i := range ids {
			op := s.object(fmt.Sprintf("product:%d", i+1)).Operations[0]
			if op.State != "completed" || op.Claims != 1 {
				t.Errorf("operation %s after %d claims", op.State, op.Claims)
			}
		}
	})
}

// A day that is used up waits for the next one, across all workers: nothing is called, nothing fails.
func TestAUsedUpDayWaitsForTheNext(t *testing.T) {
	limited := edited(t, "    policy: auto                      # draft = a person decides\n    limits: {attempts: 5}             # also usd_per_event, usd_per_day, per_minute\n",
		"    policy: auto                      # draft = a person decides\n    limits: {attempts: 5, usd_per_day: \"0.0075\"}\n")
	each(t, local.Options{ConfigFiles: []string{limited}, Speed: calm}, func(t *testing.T, s *system) {
		today := time.Now().UTC().Truncate(24 * time.Hour)
		var held []string
		for i := range 20 {
			id := s.accept(s.product(product{ID: i + 1, Name: fmt.Sprintf("Chair %d", i)}))
			for s.step() > 0 {
			}
			if s.event(id).State == "received" {
				held = append(held, id)
			}
		}
		if time.Now().UTC().Truncate(24*time.Hour) != today {
			t.Skip("the day changed while the test ran: a new day has a limit of its own")
		}
		spent := s.spent("product-card", today)
		if len(held) == 0 || s.calls() != 20-len(held) || spent > 0.0075 {
			t.Fatalf("%d of 20 are held after %d calls for $%f", len(held), s.calls(), spent)
		}
		for _, id := range held {
			if e := s.event(id); e.DueAt == nil || e.DueAt.Before(today.AddDate(0, 0, 1)) || e.Sends != 0 {
				t.Errorf("event %+v", e)
			}
		}
	})
}

// spent is what a recipe has spent and set aside on a day, in dollars.
func (s *system) spent(recipe string, day time.Time) float64 {
	s.t.Helper()
	for _, i := range s.items() {
		if i["pk"] == "K#spend#shop#test#"+recipe && i["sk"] == day.Format(time.DateOnly) {
			pico, err := strconv.ParseFloat(i["sum"], 64)
			if err != nil {
				s.t.Fatal(err)
			}
			return pico / 1e12
		}
	}
	s.t.Fatalf("nothing was spent on %s", recipe)
	return 0
}
