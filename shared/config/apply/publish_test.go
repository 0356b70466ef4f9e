package apply_test

import (
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"engang/shared/config"
	"engang/shared/config/apply"
	"engang/shared/config/configtest"
	"engang/shared/document"
	"engang/shared/recipe"
	"engang/shared/recipe/compiled"
)

func TestPublishMakesAWholeSetLive(t *testing.T) {
	f := configtest.NewStore()
	got := configtest.Publish(t, f, configtest.Set())
	want := config.Pointer{Revision: 1, Common: 1, Endpoints: map[string]int{"woo-shop": 1}, Recipes: map[string]int{"product-card": 3}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pointer (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, f.Pointers[configtest.Shop]); diff != "" {
		t.Errorf("stored pointer (-want +got):\n%s", diff)
	}
	for key, v := range f.Versions {
		if v.Digest != document.Digest(v.JSON) || strings.Contains(string(v.JSON), `\u003c`) {
			t.Errorf("%s is stored with a digest or escapes that are not those of its text: %s", key, v.JSON)
		}
	}
}

// What is read back must be what was applied, to the last price and pointer.
func TestPublishedSetIsReadBackAsItWas(t *testing.T) {
	f, s := configtest.NewStore(), configtest.Set()
	configtest.Publish(t, f, s)
	c := config.NewRecipes(config.NewCache(f, 0, configtest.NewClock().Now), compiled.New)
	e, p, err := c.Endpoint(t.Context(), "woo-shop")
	if err != nil {
		t.Fatal(err)
	}
	common, err := c.Common(t.Context(), configtest.Shop)
	if err != nil {
		t.Fatal(err)
	}
	refs, _ := p.Refs(e.Events["product.updated"].Recipes)
	r, err := c.Recipe(t.Context(), configtest.Shop, refs[0])
	if err != nil {
		t.Fatal(err)
	}
	got := config.Set{Scope: configtest.Shop, Common: common, Endpoints: []config.Endpoint{e}, Recipes: []recipe.Recipe{r.Recipe()}}
	if diff := cmp.Diff(s, got, cmp.AllowUnexported(document.Pointer{})); diff != "" {
		t.Errorf("set (-want +got):\n%s", diff)
	}
}

func TestPublishAgainChangesNothing(t *testing.T) {
	f := configtest.NewStore()
	first := configtest.Publish(t, f, configtest.Set())
	writes := f.Writes
	if diff := cmp.Diff(first, configtest.Publish(t, f, configtest.Set())); diff != "" {
		t.Errorf("pointer (-first +second):\n%s", diff)
	}
	if f.Writes != writes {
		t.Errorf("%d writes on the second time", f.Writes-writes)
	}
}

func TestPublishNumbersWhatChanged(t *testing.T) {
	tests := []struct {
		name   string
		change func(*config.Set)
		want   config.Pointer
	}{
		{"an endpoint", func(s *config.Set) { s.Endpoints[0].MaxBody++ },
			config.Pointer{Revision: 2, Common: 1, Endpoints: map[string]int{"woo-shop": 2}, Recipes: map[string]int{"product-card": 3}}},
		{"a price", func(s *config.Set) { s.Common.EventDays++ },
			config.Pointer{Revision: 2, Common: 2, Endpoints: map[string]int{"woo-shop": 1}, Recipes: map[string]int{"product-card": 3}}},
		{"a recipe", func(s *config.Set) { s.Recipes[0] = configtest.Recipe(4) },
			config.Pointer{Revision: 2, Common: 1, Endpoints: map[string]int{"woo-shop": 1}, Recipes: map[string]int{"product-card": 4}}},
		{"an endpoint that is gone", func(s *config.Set) { s.Endpoints = nil },
			config.Pointer{Revision: 2, Common: 1, Endpoints: map[string]int{}, Recipes: map[string]int{"product-card": 3}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f, s := configtest.NewStore(), configtest.Set()
			configtest.Publish(t, f, s)
			test.change(&s)
			if diff := cmp.Diff(test.want, configtest.Publish(t, f, s)); diff != "" {
				t.Errorf("pointer (-want +got):\n%s", diff)
			}
		})
	}
}

// A publisher that died before it moved the pointer leaves versions that nothing refers to.
func TestPublishPassesOverVersionsThatNobodyMadeLive(t *testing.T) {
	f, s := configtest.NewStore(), configtest.Set()
	configtest.Publish(t, f, s)
	f.OnMove = func() { f.SetDown(configtest.ErrDown) }
	s.Endpoints[0].MaxBody = 1000
	if _, err := apply.Publish(t.Context(), f, s, configtest.IDs()); !errors.Is(err, configtest.ErrDown) {
		t.Fatalf("error %v, want the store's", err)
	}
	f.OnMove = nil
	f.SetDown(nil)
	if got := f.Pointers[configtest.Shop].Endpoints["woo-shop"]; got != 1 {
		t.Fatalf("version %d is live after a move that failed", got)
	}
	s.Endpoints[0].MaxBody = 2000
	if got := configtest.Publish(t, f, s).Endpoints["woo-shop"]; got != 3 {
		t.Errorf("version %d is live, want 3: 2 has other content", got)
	}
	s.Endpoints[0].MaxBody = 1000
	if got := configtest.Publish(t, f, s).Endpoints["woo-shop"]; got == 2 || got == 3 {
		t.Errorf("version %d is live: it goes back, or has other content", got)
	}
}

func TestPublishRefuses(t *testing.T) {
	tests := []struct {
		name   string
		change func(*config.Set)
		want   string
		is     error
	}{
		{"an applied recipe version with other content", func(s *config.Set) { s.Recipes[0].Instructions = "Other." }, "product-card@3 was applied with other content", config.ErrChanged},
		{"a recipe version that goes back", func(s *config.Set) { s.Recipes[0].Version = 2 }, "goes back from version 3 to 2", config.ErrChanged},
		{"an endpoint name of another scope", func(s *config.Set) { s.Endpoints = append(s.Endpoints, configtest.Endpoint("taken")) }, "claim address of endpoint taken", config.ErrChanged},
		{"an endpoint of another scope", func(s *config.Set) { s.Endpoints[0].Scope = configtest.Another }, "belongs to another/test", nil},
		{"an endpoint twice", func(s *config.Set) { s.Endpoints = append(s.Endpoints, s.Endpoints[0]) }, "stands twice", nil},
		{"a recipe twice", func(s *config.Set) { s.Recipes = append(s.Recipes, s.Recipes[0]) }, "stands twice", nil},
		{"a recipe that is named and not there", func(s *config.Set) { s.Recipes = nil }, "names recipe product-card", nil},
		{"a recipe that does not compile", func(s *config.Set) { s.Recipes[0].Policy = "yolo" }, "unknown policy", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f, s := configtest.NewStore(), configtest.Set()
			f.Addresses["taken"] = configtest.Another
			configtest.Publish(t, f, s)
			before := maps.Clone(f.Versions)
			test.change(&s)
			_, err := apply.Publish(t.Context(), f, s, configtest.IDs())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error %v, want it to say %q", err, test.want)
			}
			if test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("error %v is not %v", err, test.is)
			}
			if f.Pointers[configtest.Shop].Revision != 1 || len(f.Versions) != len(before) {
				t.Error("something was written")
			}
		})
	}
}

func TestOfTwoPublishersOneIsTold(t *testing.T) {
	f := configtest.NewStore()
	configtest.Publish(t, f, configtest.Set())
	var both sync.WaitGroup
	both.Add(2)
	f.OnMove = func() { both.Done(); both.Wait() } // each has read the pointer before either moves it
	errs := make([]error, 2)
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() {
			s := configtest.Set()
			s.Endpoints[0].MaxBody = 1000 + i
			_, errs[i] = apply.Publish(t.Context(), f, s, configtest.IDs())
		})
	}
	group.Wait()
	won := 0
	for _, err := range errs {
		switch {
		case err == nil:
			won++
		case !errors.Is(err, config.ErrChanged):
			t.Errorf("error %v, want ErrChanged", err)
		}
	}
	if won != 1 || f.Pointers[configtest.Shop].Revision != 2 {
		t.Errorf("%d publishers won, revision %d; want one and revision 2", won, f.Pointers[configtest.Shop].Revision)
	}
}

func TestPublishReturnsTheStoresError(t *testing.T) {
	f := configtest.NewStore()
	f.SetDown(configtest.ErrDown)
	if _, err := apply.Publish(t.Context(), f, configtest.Set(), configtest.IDs()); !errors.Is(err, configtest.ErrDown) {
		t.Errorf("error %v, want the store's", err)
	}
}
