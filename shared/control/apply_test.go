package control_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/audit"
	"engang/shared/config"
	"engang/shared/control"
	"engang/shared/document"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/problem"
	"engang/shared/recipe"
	"engang/shared/secrets"
)

// A shelf keeps configurations as the table does.
type shelf struct {
	addresses map[string]object.Scope
	pointers  map[object.Scope]config.Pointer
	versions  map[string]config.Version
	down      error
	onMove    func()
	moves     []string // write ids
}

func newShelf() *shelf {
	return &shelf{addresses: map[string]object.Scope{}, pointers: map[object.Scope]config.Pointer{}, versions: map[string]config.Version{}}
}

func (s *shelf) key(scope object.Scope, kind, name string, version int) string {
	return fmt.Sprint(scope, kind, name, version)
}

func (s *shelf) Address(_ context.Context, name string) (object.Scope, error) {
	owner, ok := s.addresses[name]
	if !ok {
		return owner, errors.Join(config.ErrUnknown, s.down)
	}
	return owner, s.down
}

func (s *shelf) Pointer(_ context.Context, scope object.Scope) (config.Pointer, error) {
	p, ok := s.pointers[scope]
	switch {
	case s.down != nil:
		return p, s.down
	case !ok:
		return p, config.ErrUnknown
	}
	return p, nil
}

func (s *shelf) Version(_ context.Context, scope object.Scope, kind, name string, version int) ([]byte, error) {
	v, ok := s.versions[s.key(scope, kind, name, version)]
	if !ok {
		return nil, config.ErrUnknown
	}
	return v.JSON, s.down
}

func (s *shelf) ClaimAddress(_ context.Context, name string, scope object.Scope) error {
	if owner, taken := s.addresses[name]; taken && owner != scope {
		return config.ErrChanged
	}
	s.addresses[name] = scope
	return s.down
}

func (s *shelf) PutVersion(_ context.Context, v config.Version) error {
	k := s.key(v.Scope, v.Kind, v.Name, v.Version)
	if there, taken := s.versions[k]; taken && there.Digest != v.Digest {
		return config.ErrChanged
	}
	s.versions[k] = v
	return s.down
}

func (s *shelf) MovePointer(_ context.Context, scope object.Scope, seen int, p config.Pointer, writeID string) error {
	if s.onMove != nil {
		s.onMove()
	}
	if s.pointers[scope].Revision != seen {
		return config.ErrChanged
	}
	s.pointers[scope], s.moves = p, append(s.moves, writeID)
	return s.down
}

// desk is a control whose acts have ids of their own.
func desk(m *memory, s *shelf) *control.Control {
	n := 0
	return control.New(control.Deps{Store: m, Endpoints: m, Configs: s, Bodies: m, Now: func() time.Time { return noon }, NewID: func() string { n++; return fmt.Sprint("id-", n) }})
}

func configuration() config.Set {
	at := func(text string) document.Pointer {
		p, err := document.ParsePointer(text)
		if err != nil {
			panic(err)
		}
		return p
	}
	name, version := at("/name"), at("/date_modified_gmt")
	return config.Set{
		Scope: shop,
		Common: config.Common{EventDays: 30, ResultDays: 400, Providers: map[string]config.Provider{"openai": {
			APIKey: "ssm:models/openai", Prices: map[string]operation.Price{"gpt-5.4-mini-2026-03-17": {Input: 400_000, Output: 1_600_000, AsOf: "2026-11-29"}},
		}}},
		Endpoints: []config.Endpoint{{
			Name: "woo-shop", Scope: shop, Provider: "woocommerce", Secrets: []secrets.Ref{"ssm:hooks/woo-shop/1"}, MaxBody: 1000,
			Events: map[string]config.EventRule{"product.updated": {Recipes: []string{"card"}, Object: &config.ObjectRule{Kind: "product", ID: at("/id")}, Version: &version}},
		}},
		Recipes: []recipe.Recipe{{
			Name: "card", Version: 3, Input: recipe.Fields{Fields: map[string]recipe.Field{"name": {From: &name}}}, Instructions: "Be short.", Policy: recipe.PolicyDraft,
			Model:  recipe.Model{Provider: "openai", Name: "gpt-5.4-mini-2026-03-17", Mode: "direct", Options: recipe.Options{MaxOutputTokens: 100}},
			Output: recipe.Output{Name: "card", Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["a"],"properties":{"a":{"type":"string"}}}`)},
		}},
	}
}

func TestApplyMakesWhatWasPlannedLiveAndRecordsIt(t *testing.T) {
	m, s := newMemory(), newShelf()
	c := desk(m, s)
	plan, err := c.Plan(t.Context(), control.Proposal{Set: configuration(), By: "ann"})
	if err != nil || plan.Kind != "plan" || plan.Revision != 0 || len(plan.Changes) != 3 || len(s.versions)+len(m.trail) != 0 {
		t.Fatalf("plan %+v, %v, %d versions", plan, err, len(s.versions))
	}
	done, err := c.Apply(t.Context(), control.Proposal{Set: configuration(), By: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	want := control.Application{Kind: "applied", Tenant: "shop", Environment: "test", Revision: 1, AppliedAt: &noon, AppliedBy: "ann", Changes: plan.Changes}
	if diff := cmp.Diff(want, done); diff != "" {
		t.Error(diff)
	}
	trail := []audit.Entry{{Scope: shop, At: noon, ID: "id-2", By: "ann", Act: "apply configuration", Target: "revision 1: common common 0 to 1, endpoint woo-shop 0 to 1, recipe card 0 to 3", ExpiresAt: noon.AddDate(0, 0, 400)}}
	if diff := cmp.Diff(trail, m.trail); diff != "" || s.moves[0] != "id-1" {
		t.Errorf("moves %v %s", s.moves, diff)
	}

	live, err := c.Config(t.Context(), shop)
	if err != nil || live.Revision != 1 || live.AppliedBy != "ann" || live.Common.Version != 1 || live.Common.EventDays != 30 || len(live.Recipes) != 1 {
		t.Fatalf("live %+v, %v", live, err)
	}
	rule := control.EventRule{Recipes: []string{"card@3"}, ObjectKind: "product", ObjectID: "/id", Version: "/date_modified_gmt"}
	if diff := cmp.Diff(rule, live.Endpoints[0].Events["product.updated"]); diff != "" || live.Endpoints[0].MaxBody != 1000 {
		t.Error(diff)
	}
}

func TestApplyAgainDoesNothing(t *testing.T) {
	m, s := newMemory(), newShelf()
	c := desk(m, s)
	for range 2 { // the second time for an answer that was lost: it still names no revision
		done, err := c.Apply(t.Context(), control.Proposal{Set: configuration(), By: "ann"})
		if err != nil || done.Revision != 1 {
			t.Fatalf("%+v, %v", done, err)
		}
	}
	if len(m.trail) != 1 || len(s.moves) != 1 {
		t.Errorf("%d entries, %d moves", len(m.trail), len(s.moves))
	}
}

func TestOfTwoWhoApplyTheSecondIsTold(t *testing.T) {
	m, s := newMemory(), newShelf()
	c := desk(m, s)
	if _, err := c.Apply(t.Context(), control.Proposal{Set: configuration(), By: "ann"}); err != nil {
		t.Fatal(err)
	}
	mine := configuration()
	mine.Endpoints[0].MaxBody = 2000
	versions := len(s.versions)
	for _, seen := range []int{0, 2} {
		if _, err := c.Apply(t.Context(), control.Proposal{Set: mine, Seen: seen, By: "ann"}); !errors.Is(err, config.ErrMoved) {
			t.Errorf("over revision %d: %v", seen, err)
		}
	}
	// What the other one did may also refuse ours: it is not what we looked at, all the same.
	other := configuration()
	other.Recipes[0].Instructions = "Other."
	if _, err := c.Apply(t.Context(), control.Proposal{Set: other, By: "ann"}); !errors.Is(err, config.ErrMoved) {
		t.Errorf("refused, over another revision: %v", err)
	}
	if len(s.versions) != versions || len(m.trail) != 1 {
		t.Error("something was written")
	}
	s.onMove = func() { s.pointers[shop] = config.Pointer{Revision: 2} } // while ours is on its way
	if _, err := c.Apply(t.Context(), control.Proposal{Set: mine, Seen: 1, By: "bea"}); !errors.Is(err, config.ErrMoved) {
		t.Errorf("overtaken: %v", err)
	}
	if last := m.trail[len(m.trail)-1]; len(m.trail) != 3 || last.Act != "apply configuration, overtaken" || last.By != "bea" || last.Target != "revision 2" {
		t.Errorf("trail %+v", m.trail)
	}
}

func TestNothingIsAppliedThatNobodyStandsFor(t *testing.T) {
	for _, by := range []string{"", " \t"} {
		m, s := newMemory(), newShelf()
		if _, err := desk(m, s).Apply(t.Context(), control.Proposal{Set: configuration(), By: by}); !errors.Is(err, problem.ErrIdentity) || len(m.trail)+len(s.versions) != 0 {
			t.Errorf("by %q: %v, recorded %+v, %d versions", by, err, m.trail, len(s.versions))
		}
	}
}

func TestNothingIsAppliedThatIsNotRecorded(t *testing.T) {
	m, s := newMemory(), newShelf()
	m.noAudit = errors.New("store down")
	if _, err := desk(m, s).Apply(t.Context(), control.Proposal{Set: configuration(), By: "ann"}); !errors.Is(err, m.noAudit) || len(s.versions) != 0 {
		t.Errorf("%v, %d versions", err, len(s.versions))
	}
}

func TestWhatIsRefusedIsRefusedWhoeverHasCheckedIt(t *testing.T) {
	production := object.Scope{Tenant: "other", Environment: "production"}
	for _, test := range []struct {
		name   string
		change func(*config.Set)
		at     string
		says   string
	}{
		{"a fault of its own", func(s *config.Set) { s.Endpoints[0].Provider = "magento" }, "/endpoints/woo-shop/provider", "not a sender"},
		{"a fault of what is live", func(s *config.Set) { s.Recipes[0].Version = 2 }, "/recipes/card/version", "goes back"},
		{"a secret of another environment", func(s *config.Set) {
			s.Endpoints[0].Secrets = []secrets.Ref{"ssm:hooks/woo-shop/1", "ssm:hooks/live/1"}
		}, "/endpoints/woo-shop/secrets/1", "the secret of another endpoint"},
	} {
		m, s := newMemory(), newShelf()
		m.scopes = []object.Scope{production, shop}
		c := desk(m, s)
		there := configuration()
		there.Scope, there.Endpoints[0].Scope = production, production
		there.Endpoints[0].Name, there.Endpoints[0].Secrets = "live", []secrets.Ref{"ssm:hooks/live/1"}
		for _, set := range []config.Set{configuration(), there} {
			if set.Scope == production {
				m.scopes = []object.Scope{shop}
			}
			if _, err := c.Apply(t.Context(), control.Proposal{Set: set, By: "ann"}); err != nil {
				t.Fatal(err)
			}
		}
		m.scopes = []object.Scope{production, shop}
		plan, err := c.Plan(t.Context(), control.Proposal{Set: configuration()})
		want := []control.Other{{Tenant: "other", Environment: "production", Endpoint: "live", Secrets: []string{"ssm:hooks/live/1"}}}
		if diff := cmp.Diff(want, plan.Others); diff != "" || err != nil {
			t.Fatalf("%v %s", err, diff)
		}
		set := configuration()
		test.change(&set)
		moves := len(s.moves)
		for what, act := range map[string]func(context.Context, control.Proposal) (control.Application, error){"plan": c.Plan, "apply": c.Apply} {
			_, err := act(t.Context(), control.Proposal{Set: set, Seen: 1, By: "ann"})
			faults, ok := errors.AsType[config.Faults](err)
			if !ok || len(faults) != 1 || faults[0].At != test.at || !strings.Contains(faults[0].Reason, test.says) {
				t.Errorf("%s: %s: %v", test.name, what, err)
			}
		}
		if len(s.moves) != moves {
			t.Errorf("%s: applied", test.name)
		}
	}
}

func TestAStoreThatIsDownIsNoRefusal(t *testing.T) {
	m, s := newMemory(), newShelf()
	s.down = errors.New("store down")
	c := desk(m, s)
	_, planned := c.Plan(t.Context(), control.Proposal{Set: configuration()})
	_, done := c.Apply(t.Context(), control.Proposal{Set: configuration(), By: "ann"})
	_, shown := c.Config(t.Context(), shop)
	for _, err := range []error{planned, done, shown} {
		if !errors.Is(err, s.down) {
			t.Errorf("%v", err)
		}
	}
	if _, err := desk(m, newShelf()).Config(t.Context(), shop); !errors.Is(err, config.ErrUnknown) {
		t.Errorf("nothing applied: %v", err)
	}
}

func TestAnEventSaysWhoseItIs(t *testing.T) {
	m := newMemory()
	e := m.event(1, "product:794", 5)
	if got, err := m.control().ScopeOf(t.Context(), e.ID); err != nil || got != shop {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := m.control().ScopeOf(t.Context(), "evt_aaaaaaaaaaaaaaaa"); !errors.Is(err, inbox.ErrNotFound) {
		t.Error(err)
	}
}
