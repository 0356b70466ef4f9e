package config_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"engang/shared/config"
	"engang/shared/config/configtest"
	"engang/shared/inbox"
	"engang/shared/recipe/compiled"
)

const ttl = 10 * time.Second

var card3 = inbox.RecipeRef{Name: "product-card", Version: 3}

// reader reads recipes too.
type reader = config.Recipes[*compiled.Recipe]

func cached(t *testing.T) (*configtest.Store, *configtest.Clock, reader) {
	t.Helper()
	f, now := configtest.NewStore(), configtest.NewClock()
	configtest.Publish(t, f, configtest.Set())
	clear(f.Reads)
	return f, now, config.NewRecipes(config.NewCache(f, ttl, now.Now), compiled.New)
}

func TestCacheAsksTheStoreOnceWithinItsTime(t *testing.T) {
	f, now, c := cached(t)
	for range 5 {
		e, p, err := c.Endpoint(t.Context(), "woo-shop")
		if err != nil || e.Name != "woo-shop" || p.Revision != 1 {
			t.Fatalf("Endpoint = %q, revision %d, %v", e.Name, p.Revision, err)
		}
		if _, err := c.Recipe(t.Context(), configtest.Shop, card3); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Common(t.Context(), configtest.Shop); err != nil {
			t.Fatal(err)
		}
		now.Advance(ttl/5 - 1)
	}
	if f.Count("address") != 1 || f.Count("pointer") != 1 || f.Count("version") != 3 {
		t.Errorf("reads %v, want one address, one pointer, three versions", f.Reads)
	}
}

func TestCacheKeepsVersionsAndAsksForThePointerAgain(t *testing.T) {
	f, now, c := cached(t)
	for range 3 {
		if _, _, err := c.Endpoint(t.Context(), "woo-shop"); err != nil {
			t.Fatal(err)
		}
		now.Advance(ttl)
	}
	if f.Count("address") != 3 || f.Count("pointer") != 3 || f.Count("version") != 1 {
		t.Errorf("reads %v, want three addresses, three pointers, one version", f.Reads)
	}
}

func TestCacheShowsAChangeAfterItsTime(t *testing.T) {
	f, now, c := cached(t)
	limit := func() int {
		e, _, err := c.Endpoint(t.Context(), "woo-shop")
		if err != nil {
			t.Fatal(err)
		}
		return e.MaxBody
	}
	before := limit()
	s := configtest.Set()
	s.Endpoints[0].MaxBody = 1000
	configtest.Publish(t, f, s)
	now.Advance(ttl - 1)
	if got := limit(); got != before {
		t.Errorf("limit %d within the time, want the one that was read", got)
	}
	now.Advance(1)
	if got := limit(); got != 1000 {
		t.Errorf("limit %d after the time, want 1000", got)
	}
}

func TestCacheRemembersUnknownNames(t *testing.T) {
	f, now, c := cached(t)
	ask := func() {
		t.Helper()
		if _, _, err := c.Endpoint(t.Context(), "nobody"); !errors.Is(err, config.ErrUnknown) {
			t.Fatalf("error %v, want ErrUnknown", err)
		}
	}
	ask()
	ask()
	if f.Count("address") != 1 {
		t.Errorf("%d reads for one unknown name, want 1", f.Count("address"))
	}
	now.Advance(ttl)
	ask()
	if f.Count("address") != 2 {
		t.Errorf("%d reads after the time, want 2", f.Count("address"))
	}
	f.Addresses["nobody"] = configtest.Shop
	s := configtest.Set()
	s.Endpoints = append(s.Endpoints, configtest.Endpoint("nobody"))
	configtest.Publish(t, f, s)
	now.Advance(ttl)
	if _, _, err := c.Endpoint(t.Context(), "nobody"); err != nil {
		t.Errorf("error %v after the name was configured", err)
	}
}

// The store refuses an empty key, which would look as if it were down.
func TestCacheNeverAsksForTheEmptyName(t *testing.T) {
	f, _, c := cached(t)
	if _, _, err := c.Endpoint(t.Context(), ""); !errors.Is(err, config.ErrUnknown) || f.Count("address") != 0 {
		t.Errorf("error %v after %d reads, want ErrUnknown after none", err, f.Count("address"))
	}
}

// Whoever asks for made-up names must neither fill the memory nor push out what is configured.
func TestCacheBoundsUnknownNames(t *testing.T) {
	f, _, c := cached(t)
	if _, _, err := c.Endpoint(t.Context(), "woo-shop"); err != nil {
		t.Fatal(err)
	}
	const flood = 3000
	for i := range flood {
		if _, _, err := c.Endpoint(t.Context(), fmt.Sprint("made-up-", i)); !errors.Is(err, config.ErrUnknown) {
			t.Fatal(err)
		}
	}
	reads := f.Count("address")
	if _, _, err := c.Endpoint(t.Context(), "woo-shop"); err != nil || f.Count("address") != reads {
		t.Errorf("the configured endpoint was pushed out (%v)", err)
	}
	if _, _, err := c.Endpoint(t.Context(), fmt.Sprint("made-up-", flood-1)); !errors.Is(err, config.ErrUnknown) || f.Count("address") != reads {
		t.Errorf("the last unknown name was not remembered (%v)", err)
	}
	if _, _, err := c.Endpoint(t.Context(), "made-up-0"); !errors.Is(err, config.ErrUnknown) || f.Count("address") != reads+1 {
		t.Errorf("the first of %d unknown names is still remembered (%v)", flood, err)
	}
}

func TestCacheFailsWhileTheStoreIsDownAndNothingIsFresh(t *testing.T) {
	f, now, c := cached(t)
	read := func() error {
		_, _, err := c.Endpoint(t.Context(), "woo-shop")
		return err
	}
	f.SetDown(configtest.ErrDown)
	if err := read(); !errors.Is(err, configtest.ErrDown) || errors.Is(err, config.ErrUnknown) {
		t.Fatalf("error %v, want the store's", err)
	}
	f.SetDown(nil)
	if err := read(); err != nil {
		t.Fatalf("the store's error was kept: %v", err)
	}
	f.SetDown(configtest.ErrDown)
	if err := read(); err != nil {
		t.Errorf("error %v while what was read is fresh", err)
	}
	now.Advance(ttl)
	if err := read(); !errors.Is(err, configtest.ErrDown) {
		t.Errorf("error %v, want the store's: what was read is too old", err)
	}
	if _, err := c.Common(t.Context(), configtest.Shop); !errors.Is(err, configtest.ErrDown) {
		t.Errorf("common: error %v, want the store's", err)
	}
	if _, err := c.Recipe(t.Context(), configtest.Shop, card3); !errors.Is(err, configtest.ErrDown) {
		t.Errorf("recipe: error %v, want the store's", err)
	}
}

func TestCacheDoesNotLiveLongerWhenTheClockIsSetBack(t *testing.T) {
	f, now, c := cached(t)
	for range 2 {
		if _, _, err := c.Endpoint(t.Context(), "woo-shop"); err != nil {
			t.Fatal(err)
		}
		now.Advance(-time.Hour)
	}
	if f.Count("pointer") != 2 {
		t.Errorf("%d reads of the pointer, want 2", f.Count("pointer"))
	}
}

// Only what was never applied is unknown (404); what is live and cannot be used is not (503).
func TestCacheTellsUnknownFromUnreadable(t *testing.T) {
	endpointKey := configtest.Key(configtest.Shop, config.KindEndpoint, "woo-shop", 1)
	recipeKey := configtest.Key(configtest.Shop, config.KindRecipe, "product-card", 3)
	tests := []struct {
		name   string
		change func(*configtest.Store)
		ask    func(*testing.T, reader) error
		want   error
	}{
		{"an endpoint that was taken out of the configuration", func(f *configtest.Store) { delete(f.Pointers[configtest.Shop].Endpoints, "woo-shop") }, askEndpoint, config.ErrUnknown},
		{"an address that was claimed and never made live", func(f *configtest.Store) { delete(f.Pointers, configtest.Shop) }, askEndpoint, config.ErrUnknown},
		{"a live endpoint that is not stored", func(f *configtest.Store) { delete(f.Versions, endpointKey) }, askEndpoint, config.ErrUnreadable},
		{"a live endpoint that is no JSON", func(f *configtest.Store) { f.Versions[endpointKey] = config.Version{JSON: []byte("{confidential")} }, askEndpoint, config.ErrUnreadable},
		{"a common part that is not stored", func(f *configtest.Store) {
			delete(f.Versions, configtest.Key(configtest.Shop, config.KindCommon, config.CommonName, 1))
		}, askCommon, config.ErrUnreadable},
		{"a recipe version that was never applied", func(f *configtest.Store) { delete(f.Versions, recipeKey) }, askRecipe, config.ErrUnknown},
		{"a recipe that does not compile", func(f *configtest.Store) { f.Versions[recipeKey] = config.Version{JSON: []byte(`{}`)} }, askRecipe, config.ErrUnreadable},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f, _, c := cached(t)
			test.change(f)
			err := test.ask(t, c)
			if !errors.Is(err, test.want) {
				t.Fatalf("error %v, want %v", err, test.want)
			}
			if test.want == config.ErrUnreadable && errors.Is(err, config.ErrUnknown) {
				t.Errorf("error %v is both", err)
			}
			if strings.Contains(err.Error(), "confidential") {
				t.Errorf("error %v repeats what is stored", err)
			}
		})
	}
}

func askEndpoint(t *testing.T, c reader) error {
	_, _, err := c.Endpoint(t.Context(), "woo-shop")
	return err
}

func askCommon(t *testing.T, c reader) error {
	_, err := c.Common(t.Context(), configtest.Shop)
	return err
}

func askRecipe(t *testing.T, c reader) error {
	_, err := c.Recipe(t.Context(), configtest.Shop, card3)
	return err
}

// An event carries the recipe version that was live when it was stored.
func TestCacheReadsRecipeVersionsThatAreNotLiveAnyMore(t *testing.T) {
	f, _, c := cached(t)
	s := configtest.Set()
	s.Recipes[0] = configtest.Recipe(4)
	configtest.Publish(t, f, s)
	for _, version := range []int{3, 4} {
		r, err := c.Recipe(t.Context(), configtest.Shop, inbox.RecipeRef{Name: "product-card", Version: version})
		if err != nil || r.Recipe().Version != version {
			t.Errorf("version %d: %v", version, err)
		}
	}
}

func TestCacheKeepsScopesApart(t *testing.T) {
	f, _, c := cached(t)
	s := configtest.Set()
	s.Scope = configtest.Another
	s.Endpoints = nil
	s.Common.EventDays = 7
	configtest.Publish(t, f, s)
	for scope, days := range map[string]int{"shop": 30, "another": 7} {
		where := configtest.Shop
		where.Tenant = scope
		common, err := c.Common(t.Context(), where)
		if err != nil || common.EventDays != days {
			t.Errorf("%s: %d days, %v, want %d", scope, common.EventDays, err, days)
		}
	}
}

func TestCacheIsSafeForConcurrentUse(t *testing.T) {
	_, now, c := cached(t)
	var group sync.WaitGroup
	recipes := make([]*compiled.Recipe, 16)
	for i := range recipes {
		group.Go(func() {
			for n := range 100 {
				if _, _, err := c.Endpoint(t.Context(), "woo-shop"); err != nil {
					t.Error(err)
				}
				if _, _, err := c.Endpoint(t.Context(), fmt.Sprint("nobody-", n)); !errors.Is(err, config.ErrUnknown) {
					t.Error(err)
				}
				if _, err := c.Common(t.Context(), configtest.Shop); err != nil {
					t.Error(err)
				}
				r, err := c.Recipe(t.Context(), configtest.Shop, card3)
				if err != nil {
					t.Error(err)
				}
				recipes[i] = r
				now.Advance(time.Second)
			}
		})
	}
	group.Wait()
	for _, r := range recipes {
		if r == nil || r.Recipe().Name != "product-card" {
			t.Fatal("a caller got no recipe")
		}
	}
}
