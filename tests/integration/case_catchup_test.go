package integration_test

import (
	"fmt"
	"testing"

	"engang/infra/local"
)

func TestCaseWOO12SomeEventsAreRandomlyNeverSent(t *testing.T) {
	each(t, local.Options{}, func(t *testing.T, s *system) {
		o := openShop(t)
		s.catchUp(o)
		o.Products = hundred()[:10]
		for i, p := range o.Products {
			if i != 3 && i != 8 {
				s.accept(s.product(p))
			}
		}
		s.settle()
		if err := s.reconcile(); err != nil {
			t.Fatal(err)
		}
		s.rest()
		for i, p := range o.Products {
			lost := i == 3 || i == 8
			e := s.object(fmt.Sprintf("product:%d", p.ID)).Events
			if len(e) != 1 || e[0].CaughtUp != lost || e[0].Outcome != "completed" {
				t.Errorf("product %d: %+v", p.ID, e)
			}
			if a := s.product(p); a.Status != "duplicate" || a.Event != e[0].ID {
				t.Errorf("product %d comes late: %d %s", p.ID, a.Code, a.Body)
			}
		}
		if s.rest(); s.calls() != 10 || len(s.items().Events()) != 10 {
			t.Errorf("%d calls, %d events", s.calls(), len(s.items().Events()))
		}
	})
}
