package integration_test

import (
	"strings"
	"testing"

	"engang/infra/local"
	"engang/infra/local/wire"
	"engang/shared/control"
)

// stands demands what the object shows in the end: one result, of this version and event and about this
// name, and so many calls and operations.
func (s *system) stands(version, event, name string, operations, calls int) control.Object {
	s.t.Helper()
	o := s.object("product:794")
	if len(o.Results) != 1 || o.Results[0].ObjectVersion != version || o.Results[0].Event != event {
		s.t.Errorf("results %+v, want one of %s by %s", o.Results, version, event)
	}
	if out := s.items().Results()[0]["out"]; !strings.Contains(out, name) {
		s.t.Errorf("the result does not speak of %s: %s", name, out)
	}
	if len(o.Operations) != operations || s.calls() != calls {
		s.t.Errorf("%d operations, %d calls, want %d and %d", len(o.Operations), s.calls(), operations, calls)
	}
	return o
}

// outcomes demands how events were settled, in the order given: id, outcome.
func (s *system) outcomes(want ...string) {
	s.t.Helper()
	for i := 0; i < len(want); i += 2 {
		if e := s.event(want[i]); e.State != "settled" || e.Outcome != want[i+1] {
			s.t.Errorf("event %d is %s, %s, want settled, %s", i/2+1, e.State, e.Outcome, want[i+1])
		}
	}
}

var (
	oldChair = product{ID: 794, Name: "Chair", Modified: "2026-11-29T11:00:00"}
	newTable = product{ID: 794, Name: "Table", Modified: "2026-11-29T12:00:00"}
	echo     = product{ID: 794, Name: "Chair", Modified: "2026-11-29T12:00:00"} // the old content under the newer version
)

const (
	oldVersion = "2026-11-29T11:00:00Z"
	newVersion = "2026-11-29T12:00:00Z"
)

func TestScenario14EventsOutOfOrder(t *testing.T) {
	t.Run("the older one arrives late", func(t *testing.T) {
		each(t, local.Options{Speed: calm}, func(t *testing.T, s *system) {
			newer := s.accept(s.product(newTable))
			s.settle()
			older := s.accept(s.product(oldChair))
			s.rest()
			o := s.stands(newVersion, newer, "Table", 2, 1)
			s.outcomes(newer, "completed", older, "superseded")
			if op := operationOf(t, o, older, oldVersion); op.State != "superseded" || op.Claims != 0 || len(op.Attempts) != 0 {
				t.Errorf("the older operation %+v, want superseded without an attempt", op)
			}
		})
	})
	t.Run("the older one is worked on last", func(t *testing.T) {
		each(t, local.Options{Speed: calm}, func(t *testing.T, s *system) {
			older := s.accept(s.product(oldChair))
			newer := s.accept(s.product(newTable))
			if _, err := s.Invoke(t.Context(), "enrichment", message(t, newer)); err != nil {
				t.Fatal(err)
			}
			s.rest()
			s.stands(newVersion, newer, "Table", 2, 1)
			s.outcomes(newer, "completed", older, "superseded")
		})
	})
	t.Run("the older one finishes last", func(t *testing.T) {
		eachGated(t, local.Options{Speed: calm}, "W4 complete", wire.Before, func(t *testing.T, s *system, g *gate) {
			older := s.accept(s.product(oldChair))
			slow := s.work()
			let := g.next(t) // it has its paid answer in hand
			newer := s.accept(s.product(newTable))
			quick := s.work()
			g.next(t)()
			quick.wait()
			s.outcomes(newer, "completed")
			let()
			slow.wait()
			s.rest()
			o := s.stands(newVersion, newer, "Table", 2, 2)
			s.outcomes(newer, "completed", older, "superseded")
			if op := operationOf(t, o, older, oldVersion); op.State != "completed" || op.Result != nil {
				t.Errorf("the older operation %+v, want completed, and not the result", op)
			}
		})
	})
}

// operationOf finds the operation of a version of the object.
func operationOf(t testing.TB, o control.Object, event, version string) control.Operation {
	t.Helper()
	for _, op := range o.Operations {
		if op.ObjectVersion == version {
			if len(op.Events) == 0 || op.Events[0] != event {
				t.Errorf("operation of %s is asked for by %v, want %s", version, op.Events, event)
			}
			return op
		}
	}
	t.Fatalf("no operation of %s in %+v", version, o.Operations)
	return control.Operation{}
}

// Two changes within one second of the shop's clock: the one that was stored later wins, whoever works on
// which first.
func TestScenario15SameSecondDifferentContent(t *testing.T) {
	chair := product{ID: 794, Name: "Chair", Modified: newTable.Modified}
	both := func(s *system) (first, second string) {
		first = s.accept(s.product(chair))
		tick()
		return first, s.accept(s.product(newTable))
	}
	t.Run("worked on in the order stored", func(t *testing.T) {
		each(t, local.Options{Speed: calm}, func(t *testing.T, s *system) {
			first := s.accept(s.product(chair))
			s.settle()
			s.stands(newVersion, first, "Chair", 1, 1)
			second := s.accept(s.product(newTable))
			s.rest()
			s.stands(newVersion, second, "Table", 2, 2)
			s.outcomes(first, "completed", second, "completed")
		})
	})
	t.Run("worked on in the other order", func(t *testing.T) {
		each(t, local.Options{Speed: calm}, func(t *testing.T, s *system) {
			first, second := both(s)
			if _, err := s.Invoke(t.Context(), "enrichment", message(t, second)); err != nil {
				t.Fatal(err)
			}
			s.rest()
			s.stands(newVersion, second, "Table", 2, 1)
			s.outcomes(first, "superseded", second, "completed")
		})
	})
	t.Run("in one batch", func(t *testing.T) {
		each(t, local.Options{Speed: calm}, func(t *testing.T, s *system) {
			_, second := both(s)
			s.rest()
			o := s.object("product:794")
			s.stands(newVersion, second, "Table", 2, s.calls())
			if s.calls() > 2 || len(o.Events) != 2 {
				t.Errorf("%d calls, events %+v", s.calls(), o.Events)
			}
		})
	})
	for finish, outcome := range map[string]string{"first": "completed", "second": "superseded"} {
		t.Run("at once, the "+finish+" one finishes first", func(t *testing.T) {
			eachGated(t, local.Options{Speed: calm}, "W4 complete", wire.Before, func(t *testing.T, s *system, g *gate) {
				first := s.accept(s.product(chair))
				one := s.work()
				letOne := g.next(t)
				tick()
				second := s.accept(s.product(newTable))
				two := s.work()
				letTwo := g.next(t)
				if finish == "first" {
					letOne()
					one.wait()
					letTwo()
				} else {
					letTwo()
					two.wait()
					letOne()
				}
				one.wait()
				two.wait()
				s.rest()
				s.stands(newVersion, second, "Table", 2, 2)
				s.outcomes(first, outcome, second, "completed")
			})
		})
	}
}

// What is written back to the shop comes as a change of the product: other fields, newer, same input.
func TestScenario19EchoOfOurOwnWriteBack(t *testing.T) {
	each(t, local.Options{Speed: calm}, func(t *testing.T, s *system) {
		first := s.accept(s.product(oldChair))
		s.settle()
		before := s.stands(oldVersion, first, "Chair", 1, 1)
		written := echo
		written.Extra = `,"short_description":"<p>Chair of solid oak<\/p>","meta_data":[{"key":"_engang_key","value":"k"}]`
		second := s.accept(s.product(written))
		s.rest()
		after := s.stands(newVersion, second, "Chair", 1, 1)
		s.outcomes(first, "completed", second, "completed")
		if was, is := before.Results[0], after.Results[0]; is.Rank <= was.Rank || is.Digest != was.Digest || is.Operation != was.Operation {
			t.Errorf("result %+v became %+v, want the same output with a higher rank", was, is)
		}
		if op := after.Operations[0]; len(op.Attempts) != 1 || op.FencingToken != 1 || op.Deliveries != 2 {
			t.Errorf("operation %+v", op)
		}
	})
}

// One save of a new product sends product.created and product.updated with the same body.
func TestScenario20CreatedAndUpdatedPair(t *testing.T) {
	check := func(t *testing.T, s *system, created, updated string) {
		t.Helper()
		s.rest()
		o := s.object("product:794")
		if created == updated || len(o.Events) != 2 || len(o.Operations) != 1 || len(o.Results) != 1 || s.calls() != 1 {
			t.Fatalf("%d events, %d operations, %d results, %d calls", len(o.Events), len(o.Operations), len(o.Results), s.calls())
		}
		s.outcomes(created, "completed", updated, "completed")
		for i, typ := range []string{"product.created", "product.updated"} {
			if e := o.Events[i]; e.Type != typ || e.Object != "product:794" || e.Deliveries != 1 {
				t.Errorf("event %+v, want %s", e, typ)
			}
		}
		if op := o.Operations[0]; op.State != "completed" || len(op.Events) != 2 || len(op.Attempts) != 1 {
			t.Errorf("operation %+v", op)
		}
	}
	t.Run("one after the other", func(t *testing.T) {
		each(t, local.Options{Speed: calm}, func(t *testing.T, s *system) {
			created := s.accept(s.woo("product.created", oldChair.Body()))
			s.settle()
			check(t, s, created, s.accept(s.woo("product.updated", oldChair.Body())))
		})
	})
	t.Run("the second while the first is in its call", func(t *testing.T) {
		eachGated(t, local.Options{Speed: calm}, "model call", wire.After, func(t *testing.T, s *system, g *gate) {
			created := s.accept(s.woo("product.created", oldChair.Body()))
			one := s.work()
			let := g.next(t)
			tick()
			updated := s.accept(s.woo("product.updated", oldChair.Body()))
			out, err := s.Invoke(t.Context(), "enrichment", message(t, updated)) // finds the operation busy
			if err != nil || !strings.Contains(string(out), "itemIdentifier") || s.event(updated).State != "received" {
				t.Errorf("while the first is in its call the second came to %s, %v", out, err)
			}
			let()
			one.wait()
			check(t, s, created, updated)
		})
	})
}

func TestScenario21RecipeVersionRaised(t *testing.T) {
	path := edited(t, "    version: 3  ", "    version: 4  ", "You write short, factual product texts", "You write very short, factual product texts")
	each(t, local.Options{Speed: calm}, func(t *testing.T, s *system) {
		first := s.accept(s.product(oldChair))
		s.settle()
		kept := s.items().Results()
		before := s.accept(s.product(newTable)) // stored, and not worked on yet
		s.apply(path)
		s.settle()
		s.outcomes(first, "completed", before, "completed")
		if e := s.event(before); len(e.Recipes) != 1 || e.Recipes[0] != "product-card@3" {
			t.Errorf("an event stored before has the recipes %v", e.Recipes)
		}
		if r := s.items().Results(); len(r) != 1 || r[0]["sk"] != "R#product-card#000003" || r[0]["rank"] <= kept[0]["rank"] || s.calls() != 2 {
			t.Fatalf("after the raise an event stored before gave %d calls and results %v", s.calls(), r)
		}
		kept = s.items().Results()

		if a := s.product(newTable); a.Status != "duplicate" || a.Event != before { // a repeat is no new event, and no new work
			t.Errorf("a repeat was answered %s", a.Body)
		}
		same := newTable // the same content again: another recipe version is another operation
		same.Extra = `,"price":"9"`
		next := s.accept(s.product(same))
		s.rest()
		s.outcomes(next, "completed")
		r := s.items().Results()
		if len(r) != 2 || r[0]["sk"] != "R#product-card#000003" || r[1]["sk"] != "R#product-card#000004" || s.calls() != 3 {
			t.Fatalf("%d calls, results %v", s.calls(), r)
		}
		for name, value := range kept[0] {
			if r[0][name] != value {
				t.Errorf("the old result's %s was %q and is %q", name, value, r[0][name])
			}
		}
		if o := s.object("product:794"); len(o.Operations) != 3 || len(o.Results) != 2 || s.event(next).Recipes[0] != "product-card@4" {
			t.Errorf("operations %+v, results %+v", o.Operations, o.Results)
		}
	})
}

// The content comes back that an older version had.
func TestTheSameContentComesBack(t *testing.T) {
	a1, b2, a3 := oldChair, newTable, oldChair
	a3.Modified = "2026-11-29T13:00:00"
	for _, c := range []struct {
		name     string
		order    []product
		outcomes []string
		token    int64 // of the operation on A: it is claimed again only if it was superseded
	}{
		{"A, B, A in order: the second A is an echo", []product{a1, b2, a3}, []string{"completed", "completed", "completed"}, 1},
		{"B, then a late A: it is taken up again for a newer A", []product{b2, a1, a3}, []string{"completed", "superseded", "completed"}, 2},
		{"B, then both A, the older one last: its operation is the result already", []product{b2, a3, a1}, []string{"completed", "completed", "completed"}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, local.Options{Speed: calm}, func(t *testing.T, s *system) {
				var ids []string
				for _, p := range c.order {
					ids = append(ids, s.accept(s.product(p)))
					s.settle()
				}
				s.rest()
				newest := ids[2]
				if c.order[1] == a3 {
					newest = ids[1]
				}
				o := s.stands("2026-11-29T13:00:00Z", newest, "Chair", 2, 2)
				for i, id := range ids {
					s.outcomes(id, c.outcomes[i])
				}
				for _, op := range o.Operations {
					if op.ID == o.Results[0].Operation && (op.FencingToken != c.token || len(op.Attempts) != 1) {
						t.Errorf("the operation on A: %+v, want token %d and one attempt", op, c.token)
					}
				}
			})
		})
	}
}
