package config_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"engang/shared/config"
	"engang/shared/document"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/recipe"
	"engang/shared/secrets"
)

var (
	shop    = object.Scope{Tenant: "shop", Environment: "test"}
	another = object.Scope{Tenant: "another", Environment: "test"}
	errDown = errors.New("store is down")
)

// A fake is a store in memory that keeps the rules of the real one, and counts.
type fake struct {
	mu        sync.Mutex
	addresses map[string]object.Scope
	pointers  map[object.Scope]config.Pointer
	versions  map[string]config.Version
	down      error // what every call returns while it is set
	reads     map[string]int
	writes    int
	onMove    func() // runs before a pointer moves
}

func newFake() *fake {
	return &fake{addresses: map[string]object.Scope{}, pointers: map[object.Scope]config.Pointer{}, versions: map[string]config.Version{}, reads: map[string]int{}}
}

func versionKey(scope object.Scope, kind, name string, version int) string {
	return fmt.Sprintf("%s %s %s %d", scope, kind, name, version)
}

func (f *fake) read(what string) error {
	f.reads[what]++
	return f.down
}

func (f *fake) Address(_ context.Context, name string) (object.Scope, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.read("address"); err != nil {
		return object.Scope{}, err
	}
	scope, ok := f.addresses[name]
	if !ok {
		return object.Scope{}, fmt.Errorf("read address: %w", config.ErrUnknown)
	}
	return scope, nil
}

func (f *fake) Pointer(_ context.Context, scope object.Scope) (config.Pointer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.read("pointer"); err != nil {
		return config.Pointer{}, err
	}
	p, ok := f.pointers[scope]
	if !ok {
		return config.Pointer{}, config.ErrUnknown
	}
	return p, nil
}

func (f *fake) Version(_ context.Context, scope object.Scope, kind, name string, version int) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.read("version"); err != nil {
		return nil, err
	}
	v, ok := f.versions[versionKey(scope, kind, name, version)]
	if !ok {
		return nil, config.ErrUnknown
	}
	return v.JSON, nil
}

func (f *fake) ClaimAddress(_ context.Context, name string, scope object.Scope) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down != nil {
		return f.down
	}
	if owner, taken := f.addresses[name]; taken && owner != scope {
		return fmt.Errorf("claim address: %w", config.ErrChanged)
	}
	f.addresses[name] = scope
	return nil
}

func (f *fake) PutVersion(_ context.Context, v config.Version) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down != nil {
		return f.down
	}
	key := versionKey(v.Scope, v.Kind, v.Name, v.Version)
	if stored, taken := f.versions[key]; taken {
		if stored.Digest != v.Digest {
			return fmt.Errorf("write version: %w", config.ErrChanged)
		}
		return nil
	}
	f.writes++
	f.versions[key] = v
	return nil
}

func (f *fake) MovePointer(_ context.Context, scope object.Scope, seen int, p config.Pointer, writeID string) error {
	if f.onMove != nil {
		f.onMove()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down != nil {
		return f.down
	}
	if writeID == "" {
		return errors.New("a move without a write id")
	}
	if f.pointers[scope].Revision != seen {
		return fmt.Errorf("move pointer: %w", config.ErrChanged)
	}
	f.writes++
	f.pointers[scope] = p
	return nil
}

func (f *fake) setDown(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = err
}

func (f *fake) count(what string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reads[what]
}

// A clock is set by hand.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func pointer(text string) document.Pointer {
	p, err := document.ParsePointer(text)
	if err != nil {
		panic(err)
	}
	return p
}

func card(version int) recipe.Recipe {
	name := pointer("/name")
	return recipe.Recipe{
		Name: "product-card", Version: version,
		Input:        recipe.Fields{Fields: map[string]recipe.Field{"name": {From: &name}}, Required: []string{"name"}},
		Model:        recipe.Model{Provider: "openai", Name: "gpt-5.4-mini-2026-03-17", Mode: "direct", Options: recipe.Options{MaxOutputTokens: 1200}},
		Instructions: "Describe & summarise <briefly>.",
		Output:       recipe.Output{Name: "card", Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["z","a"],"properties":{"z":{"type":"string"},"a":{"type":"string"}}}`)},
		Checks:       []recipe.Check{{Path: pointer("/z"), Length: &[2]int{1, 10}}},
		Policy:       recipe.PolicyAuto,
	}
}

func endpoint(name string) config.Endpoint {
	version := pointer("/date_modified_gmt")
	return config.Endpoint{
		Name: name, Scope: shop, Provider: "woocommerce", Secrets: []secrets.Ref{"ssm:hooks/woo-shop/1"}, MaxBody: 512 << 10,
		Events: map[string]config.EventRule{
			"product.updated": {Recipes: []string{"product-card"}, Object: &config.ObjectRule{Kind: "product", ID: pointer("/id")}, Version: &version},
			"product.deleted": {Ignore: true},
		},
	}
}

func set() config.Set {
	return config.Set{
		Scope: shop,
		Common: config.Common{EventDays: 30, ResultDays: 400, Providers: map[string]config.Provider{"openai": {
			APIKey: "ssm:models/openai", Prices: map[string]operation.Price{"gpt-5.4-mini-2026-03-17": {Input: 400_000, Cached: 40_001, CacheWrite: 400_000, Output: 1_600_000, AsOf: "2026-11-29"}},
		}}},
		Endpoints: []config.Endpoint{endpoint("woo-shop")},
		Recipes:   []recipe.Recipe{card(3)},
	}
}

func ids() func() string {
	n := 0
	return func() string { n++; return fmt.Sprintf("write-%d", n) }
}

func publish(t *testing.T, f *fake, s config.Set) config.Pointer {
	t.Helper()
	p, err := config.Publish(t.Context(), f, s, ids())
	if err != nil {
		t.Fatalf("Publish: %v", err)
	}
	return p
}
