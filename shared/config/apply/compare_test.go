package apply_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/config"
	"engang/shared/config/apply"
	"engang/shared/config/configtest"
	"engang/shared/document"
	"engang/shared/object"
	"engang/shared/recipe"
)

func compare(t *testing.T, f *configtest.Store, s config.Set, allowModel bool) apply.Comparison {
	t.Helper()
	live, err := config.ReadLive(t.Context(), f, s.Scope)
	if err != nil {
		t.Fatal(err)
	}
	found, err := apply.Replacement{Live: live, Set: s, AllowModelChange: allowModel}.Compare(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestLiveIsWhatWasPublished(t *testing.T) {
	f := configtest.NewStore()
	live, err := config.ReadLive(t.Context(), f, configtest.Shop)
	if err != nil || live.Revision != 0 || live.Set.Scope != configtest.Shop || len(live.Set.Endpoints) != 0 {
		t.Fatalf("nothing applied: %+v, %v", live, err)
	}
	p := configtest.Publish(t, f, configtest.Set())
	if live, err = config.ReadLive(t.Context(), f, configtest.Shop); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(config.Live{Pointer: p, Set: configtest.Set()}, live, cmp.AllowUnexported(document.Pointer{})); diff != "" {
		t.Error(diff)
	}
	delete(f.Versions, configtest.Key(configtest.Shop, "recipe", "product-card", 3))
	if _, err := config.ReadLive(t.Context(), f, configtest.Shop); !errors.Is(err, config.ErrUnreadable) {
		t.Errorf("a version that is gone: %v", err)
	}
	f.SetDown(configtest.ErrDown)
	if _, err := config.ReadLive(t.Context(), f, configtest.Shop); !errors.Is(err, configtest.ErrDown) {
		t.Errorf("a store that is down: %v", err)
	}
}

func raw(text string) json.RawMessage { return json.RawMessage(text) }

func TestCompareTellsWhatChanges(t *testing.T) {
	tests := []struct {
		name   string
		change func(*config.Set)
		want   []config.Change
	}{
		{"nothing", func(*config.Set) {}, nil},
		{"an endpoint", func(s *config.Set) {
			s.Endpoints[0].MaxBody, s.Endpoints[0].Source = 1000, "https://shop.example.com/"
			s.Endpoints[0].Events = map[string]config.EventRule{"product.updated": s.Endpoints[0].Events["product.updated"]}
		}, []config.Change{{Kind: "endpoint", Name: "woo-shop", From: 1, To: 2, Fields: []config.Field{
			{At: "/events/product.deleted", From: raw(`{"ignore":true}`), To: raw("null")},
			{At: "/max_body", From: raw("524288"), To: raw("1000")},
			{At: "/source", From: raw("null"), To: raw(`"https://shop.example.com/"`)},
		}}}},
		{"a list of another length", func(s *config.Set) { s.Endpoints[0].Secrets = append(s.Endpoints[0].Secrets, "ssm:hooks/woo-shop/2") },
			[]config.Change{{Kind: "endpoint", Name: "woo-shop", From: 1, To: 2, Fields: []config.Field{
				{At: "/secrets", From: raw(`["ssm:hooks/woo-shop/1"]`), To: raw(`["ssm:hooks/woo-shop/1","ssm:hooks/woo-shop/2"]`)}}}}},
		{"an element of a list", func(s *config.Set) {
			s.Endpoints[0].Secrets = s.Endpoints[0].Secrets[:0:0]
			s.Endpoints[0].Secrets = append(s.Endpoints[0].Secrets, "ssm:hooks/woo-shop/2")
		},
			[]config.Change{{Kind: "endpoint", Name: "woo-shop", From: 1, To: 2, Fields: []config.Field{
				{At: "/secrets/0", From: raw(`"ssm:hooks/woo-shop/1"`), To: raw(`"ssm:hooks/woo-shop/2"`)}}}}},
		{"retention", func(s *config.Set) { s.Common.EventDays = 10 },
			[]config.Change{{Kind: "common", Name: "common", From: 1, To: 2, Fields: []config.Field{{At: "/event_days", From: raw("30"), To: raw("10")}}}}},
		{"another endpoint", func(s *config.Set) { s.Endpoints = append(s.Endpoints, configtest.Endpoint("woo-two")) },
			[]config.Change{{Kind: "endpoint", Name: "woo-two", To: 1, Fields: []config.Field{}}}},
		{"no endpoint", func(s *config.Set) { s.Endpoints = nil }, []config.Change{{Kind: "endpoint", Name: "woo-shop", From: 1}}},
		{"a recipe", func(s *config.Set) { s.Recipes[0] = configtest.Recipe(5); s.Recipes[0].Instructions = "Other." },
			[]config.Change{{Kind: "recipe", Name: "product-card", From: 3, To: 5, Fields: []config.Field{
				{At: "/instructions", From: raw(`"Describe & summarise <briefly>."`), To: raw(`"Other."`)}, {At: "/version", From: raw("3"), To: raw("5")}}}}},
		{"the order of an answer", func(s *config.Set) {
			s.Recipes[0] = configtest.Recipe(4)
			s.Recipes[0].Output.Schema = raw(strings.Replace(string(s.Recipes[0].Output.Schema), `"z":{"type":"string"},"a":{"type":"string"}`, `"a":{"type":"string"},"z":{"type":"string"}`, 1))
		}, []config.Change{{Kind: "recipe", Name: "product-card", From: 3, To: 4, Fields: []config.Field{{At: "/version", From: raw("3"), To: raw("4")}}}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f, s := configtest.NewStore(), configtest.Set()
			configtest.Publish(t, f, s)
			test.change(&s)
			writes := f.Writes
			found := compare(t, f, s, false)
			if diff := cmp.Diff(test.want, found.Changes); diff != "" || len(found.Faults) != 0 {
				t.Errorf("changes (-want +got):\n%s\nfaults: %v", diff, found.Faults)
			}
			if f.Writes != writes {
				t.Error("comparing wrote something")
			}
			// The version that is told is the one that publishing takes.
			p := configtest.Publish(t, f, s)
			for _, c := range found.Changes {
				got := map[string]int{"common": p.Common, "endpoint": p.Endpoints[c.Name], "recipe": p.Recipes[c.Name]}[c.Kind]
				if got != c.To {
					t.Errorf("%s %s became version %d, told was %d", c.Kind, c.Name, got, c.To)
				}
			}
		})
	}
}

// What a publisher that died left behind is passed over, by both in the same way.
func TestCompareForeseesTheVersion(t *testing.T) {
	f, s := configtest.NewStore(), configtest.Set()
	configtest.Publish(t, f, s)
	f.OnMove = func() { f.SetDown(configtest.ErrDown) }
	s.Endpoints[0].MaxBody = 1000
	if _, err := apply.Publish(t.Context(), f, s, configtest.IDs()); !errors.Is(err, configtest.ErrDown) {
		t.Fatal(err)
	}
	f.OnMove = nil
	f.SetDown(nil)
	for body, want := range map[int]int{1000: 2, 2000: 3} {
		s.Endpoints[0].MaxBody = body
		if found := compare(t, f, s, false); len(found.Changes) != 1 || found.Changes[0].To != want {
			t.Errorf("body %d: %+v", body, found.Changes)
		}
	}
}

func TestCompareRefusesForWhatIsLive(t *testing.T) {
	production := object.Scope{Tenant: "shop", Environment: "production"}
	tests := []struct {
		name   string
		change func(*configtest.Store, *config.Set)
		at     string
		says   string
		remedy string
	}{
		{"an applied recipe version with other content", func(_ *configtest.Store, s *config.Set) { s.Recipes[0].Instructions = "Other." }, cardAt + "/version", "version 3 was applied with other content", "raise it to 4"},
		{"a version that somebody wrote and never made live", func(f *configtest.Store, s *config.Set) {
			f.Versions[configtest.Key(configtest.Shop, "recipe", "product-card", 4)] = config.Version{JSON: []byte("{}")}
			s.Recipes[0] = configtest.Recipe(4)
		}, cardAt + "/version", "version 4 was applied with other content", "raise it to 5"},
		{"a version that goes back", func(_ *configtest.Store, s *config.Set) { s.Recipes[0] = configtest.Recipe(2) }, cardAt + "/version", "goes back from 3 to 2", "raise it to 4"},
		{"another model", func(_ *configtest.Store, s *config.Set) {
			s.Recipes[0] = configtest.Recipe(4)
			s.Recipes[0].Model.Name = "gpt-6-2026-11-01"
		}, cardAt + "/model/name", "another model than the live version", "--allow-model-change"},
		{"a recipe in use that is removed", func(_ *configtest.Store, s *config.Set) { s.Recipes, s.Endpoints = nil, nil }, cardAt, "in use is removed: endpoint woo-shop", "retire it"},
		{"an endpoint name of another tenant", func(f *configtest.Store, s *config.Set) {
			f.Addresses["taken"] = configtest.Another
			s.Endpoints = append(s.Endpoints, configtest.Endpoint("taken"))
		}, "/endpoints/taken", "belongs to another/test", "another name"},
		{"auto at first in production", func(_ *configtest.Store, s *config.Set) {
			s.Scope = production
			s.Endpoints = nil
		}, cardAt + "/policy", "auto in the first version", "policy: draft"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f, s := configtest.NewStore(), configtest.Set()
			configtest.Publish(t, f, s)
			test.change(f, &s)
			faults := compare(t, f, s, false).Faults
			if len(faults) != 1 || faults[0].At != test.at || !strings.Contains(faults[0].Reason, test.says) || !strings.Contains(faults[0].Remedy, test.remedy) {
				t.Errorf("faults %v", faults)
			}
		})
	}
}

func TestCompareAllowsWhatWasRefusedForARightReason(t *testing.T) {
	f, s := configtest.NewStore(), configtest.Set()
	configtest.Publish(t, f, s)
	another := configtest.Set()
	another.Recipes[0] = configtest.Recipe(4)
	another.Recipes[0].Model.Name = "gpt-6-2026-11-01"
	if faults := compare(t, f, another, true).Faults; len(faults) != 0 {
		t.Errorf("a model change that is allowed: %v", faults)
	}
	retired := configtest.Set()
	retired.Endpoints[0].Events = map[string]config.EventRule{"product.deleted": {Ignore: true}}
	configtest.Publish(t, f, retired)
	retired.Recipes = nil
	if faults := compare(t, f, retired, false).Faults; len(faults) != 0 {
		t.Errorf("a recipe that was retired: %v", faults)
	}
	production := configtest.Set()
	production.Scope.Environment, production.Endpoints = "production", nil
	production.Recipes[0].Policy = recipe.PolicyDraft
	configtest.Publish(t, f, production)
	production.Recipes[0] = configtest.Recipe(4)
	if faults := compare(t, f, production, false).Faults; len(faults) != 0 {
		t.Errorf("auto after draft: %v", faults)
	}
}

func TestPublishOverNamesWhatItReplaces(t *testing.T) {
	f, s := configtest.NewStore(), configtest.Set()
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	p, err := apply.PublishOver(t.Context(), f, s, apply.Move{By: "ann", At: at, WriteID: "w1"})
	if err != nil || p.Revision != 1 || p.By != "ann" || !p.At.Equal(at) {
		t.Fatalf("first: %+v, %v", p, err)
	}
	s.Endpoints[0].MaxBody = 1000
	writes := f.Writes
	for _, seen := range []int{0, 2} {
		if _, err := apply.PublishOver(t.Context(), f, s, apply.Move{Seen: seen, WriteID: "w2"}); !errors.Is(err, config.ErrMoved) || !errors.Is(err, config.ErrChanged) {
			t.Errorf("over revision %d: %v", seen, err)
		}
	}
	if f.Writes != writes {
		t.Error("a refused act wrote something")
	}
	f.OnMove = func() { f.Pointers[configtest.Shop] = config.Pointer{Revision: 2} } // between our look and our move
	if _, err := apply.PublishOver(t.Context(), f, s, apply.Move{Seen: 1, WriteID: "w3"}); !errors.Is(err, config.ErrMoved) {
		t.Errorf("overtaken: %v", err)
	}
	f.OnMove = func() { f.SetDown(configtest.ErrDown) }
	if _, err := apply.PublishOver(t.Context(), f, s, apply.Move{Seen: 2, WriteID: "w4"}); !errors.Is(err, configtest.ErrDown) || errors.Is(err, config.ErrMoved) {
		t.Errorf("a store that fails is not somebody else: %v", err)
	}
}

func TestNothingIsComparedWithAStoreThatIsDown(t *testing.T) {
	f, s := configtest.NewStore(), configtest.Set()
	configtest.Publish(t, f, s)
	live, err := config.ReadLive(t.Context(), f, configtest.Shop)
	if err != nil {
		t.Fatal(err)
	}
	f.SetDown(configtest.ErrDown)
	if found, err := (apply.Replacement{Live: live, Set: s}).Compare(t.Context(), f); !errors.Is(err, configtest.ErrDown) || !slices.Equal(found.Faults, nil) {
		t.Errorf("%+v, %v", found, err)
	}
}
