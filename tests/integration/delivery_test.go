package integration_test

import (
	"sync"
	"testing"

	"engang/infra/local"
)

func TestScenario01ValidDelivery(t *testing.T) {
	each(t, local.Options{Speed: calm}, func(t *testing.T, s *system) {
		id := s.accept(s.product(product{ID: 794, Name: "Chair"}))
		s.rest()
		o := s.object("product:794")
		if o.Deliveries != 1 || len(o.Events) != 1 || len(o.Operations) != 1 || len(o.Results) != 1 || s.calls() != 1 {
			t.Fatalf("object %+v, %d calls", o, s.calls())
		}
		op := o.Operations[0]
		if op.State != "completed" || op.FencingToken != 1 || len(op.Attempts) != 1 || op.Attempts[0].Outcome != "usable" || op.Attempts[0].Called == nil || !*op.Attempts[0].Called || op.CostUSD == 0 {
			t.Errorf("operation %+v", op)
		}
		if ev := s.event(id); ev.State != "settled" || ev.Outcome != "completed" || ev.Object != "product:794" {
			t.Errorf("event %+v", ev)
		}
	})
}

func TestScenario04DuplicateSequential(t *testing.T) {
	each(t, local.Options{Speed: calm}, func(t *testing.T, s *system) {
		p := product{ID: 794, Name: "Chair"}
		first := s.accept(s.product(p))
		for range 3 { // while it is open
			if a := s.product(p); a.Code != 200 || a.Status != "duplicate" || a.Event != first {
				t.Fatalf("answered %d %s", a.Code, a.Body)
			}
		}
		s.settle()
		sends := s.Record().Counts()["send event"]
		for range 3 { // once it is settled
			if a := s.product(p); a.Status != "duplicate" || a.Event != first {
				t.Fatalf("answered %d %s", a.Code, a.Body)
			}
		}
		if n := s.Record().Counts()["send event"]; n != sends {
			t.Errorf("%d sends for duplicates of a settled event", n-sends)
		}
		s.rest()
		if o := s.object("product:794"); o.Deliveries != 7 || len(o.Events) != 1 || len(o.Operations) != 1 || s.calls() != 1 {
			t.Errorf("%d deliveries, %d events, %d operations, %d calls", o.Deliveries, len(o.Events), len(o.Operations), s.calls())
		}
	})
}

func TestScenario05FiftyConcurrentDuplicates(t *testing.T) {
	each(t, local.Options{Speed: calm}, func(t *testing.T, s *system) {
		var mu sync.Mutex
		counts := map[string]int{}
		atOnce(50, func(int) {
			a, err := s.try(s.signed("woo-shop", "woocommerce", map[string][]string{"X-Wc-Webhook-Topic": {"product.updated"}}, product{ID: 900, Name: "Chair"}.Body()))
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			counts[a.Status]++
		})
		if counts["accepted"] != 1 || counts["duplicate"] != 49 {
			t.Errorf("answers %v, want 1 accepted and 49 duplicate", counts)
		}
		s.rest()
		if o := s.object("product:900"); o.Deliveries != 50 || len(o.Operations) != 1 || len(o.Results) != 1 || s.calls() != 1 {
			t.Errorf("%d deliveries, %d operations, %d results, %d calls", o.Deliveries, len(o.Operations), len(o.Results), s.calls())
		}
	})
}
