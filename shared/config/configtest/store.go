// Package configtest is a store of configuration in memory, and a configuration to put into it.
package configtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"engang/shared/config"
	"engang/shared/config/apply"
	"engang/shared/document"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/recipe"
	"engang/shared/secrets"
)

// The scopes of the samples.
var (
	Shop    = object.Scope{Tenant: "shop", Environment: "test"}
	Another = object.Scope{Tenant: "another", Environment: "test"}
)

// ErrDown is what a store that is down says, for [Store.SetDown].
var ErrDown = errors.New("store is down")

// A Store keeps the rules of the real one, and counts. It is safe for concurrent use; its fields are not.
type Store struct {
	Addresses map[string]object.Scope
	Pointers  map[object.Scope]config.Pointer
	Versions  map[string]config.Version // by [Key]
	Reads     map[string]int            // of "address", "pointer" and "version"
	Writes    int
	OnMove    func() // runs before a pointer moves

	mu   sync.Mutex
	down error // what every call returns while it is set
}

// NewStore makes an empty one.
func NewStore() *Store {
	return &Store{Addresses: map[string]object.Scope{}, Pointers: map[object.Scope]config.Pointer{}, Versions: map[string]config.Version{}, Reads: map[string]int{}}
}

// Key is where a version stands in [Store.Versions].
func Key(scope object.Scope, kind, name string, version int) string {
	return fmt.Sprintf("%s %s %s %d", scope, kind, name, version)
}

func (s *Store) read(what string) error {
	s.Reads[what]++
	return s.down
}

// Address is whose an address is.
func (s *Store) Address(_ context.Context, name string) (object.Scope, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.read("address"); err != nil {
		return object.Scope{}, err
	}
	scope, ok := s.Addresses[name]
	if !ok {
		return object.Scope{}, fmt.Errorf("read address: %w", config.ErrUnknown)
	}
	return scope, nil
}

// Pointer is what is live.
func (s *Store) Pointer(_ context.Context, scope object.Scope) (config.Pointer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.read("pointer"); err != nil {
		return config.Pointer{}, err
	}
	p, ok := s.Pointers[scope]
	if !ok {
		return config.Pointer{}, config.ErrUnknown
	}
	return p, nil
}

// Version is the content of a version.
func (s *Store) Version(_ context.Context, scope object.Scope, kind, name string, version int) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.read("version"); err != nil {
		return nil, err
	}
	v, ok := s.Versions[Key(scope, kind, name, version)]
	if !ok {
		return nil, config.ErrUnknown
	}
	return v.JSON, nil
}

// ClaimAddress gives an address to a scope.
func (s *Store) ClaimAddress(_ context.Context, name string, scope object.Scope) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down != nil {
		return s.down
	}
	if owner, taken := s.Addresses[name]; taken && owner != scope {
		return fmt.Errorf("claim address: %w", config.ErrChanged)
	}
	s.Addresses[name] = scope
	return nil
}

// PutVersion writes a version.
func (s *Store) PutVersion(_ context.Context, v config.Version) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down != nil {
		return s.down
	}
	key := Key(v.Scope, v.Kind, v.Name, v.Version)
	if stored, taken := s.Versions[key]; taken {
		if stored.Digest != v.Digest {
			return fmt.Errorf("write version: %w", config.ErrChanged)
		}
		return nil
	}
	s.Writes++
	s.Versions[key] = v
	return nil
}

// MovePointer makes versions live.
func (s *Store) MovePointer(_ context.Context, scope object.Scope, seen int, p config.Pointer, writeID string) error {
	if s.OnMove != nil {
		s.OnMove()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down != nil {
		return s.down
	}
	if writeID == "" {
		return errors.New("a move without a write id")
	}
	if s.Pointers[scope].Revision != seen {
		return fmt.Errorf("move pointer: %w", config.ErrChanged)
	}
	s.Writes++
	s.Pointers[scope] = p
	return nil
}

// SetDown makes every call fail, or with nil none.
func (s *Store) SetDown(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = err
}

// Count is how often something was read.
func (s *Store) Count(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Reads[what]
}

// A Clock is set by hand.
type Clock struct {
	mu sync.Mutex
	at time.Time
}

// NewClock is at noon of some day.
func NewClock() *Clock { return &Clock{at: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)} }

// Now is what it shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

// Advance moves it on, or back.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// Pointer reads a pointer of a sample.
func Pointer(text string) document.Pointer {
	p, err := document.ParsePointer(text)
	if err != nil {
		panic(err)
	}
	return p
}

// Recipe is a version of the recipe of [Set].
func Recipe(version int) recipe.Recipe {
	name := Pointer("/name")
	return recipe.Recipe{
		Name: "product-card", Version: version,
		Input:        recipe.Fields{Fields: map[string]recipe.Field{"name": {From: &name}}, Required: []string{"name"}},
		Model:        recipe.Model{Provider: "openai", Name: "gpt-5.4-mini-2026-03-17", Mode: "direct", Options: recipe.Options{MaxOutputTokens: 1200}},
		Instructions: "Describe & summarise <briefly>.",
		Output:       recipe.Output{Name: "card", Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["z","a"],"properties":{"z":{"type":"string"},"a":{"type":"string"}}}`)},
		Checks:       []recipe.Check{{Path: Pointer("/z"), Length: &[2]int{1, 10}}},
		Policy:       recipe.PolicyAuto,
	}
}

// Endpoint is one of WooCommerce, as that of [Set].
func Endpoint(name string) config.Endpoint {
	version := Pointer("/date_modified_gmt")
	return config.Endpoint{
		Name: name, Scope: Shop, Provider: "woocommerce", Secrets: []secrets.Ref{"ssm:hooks/woo-shop/1"}, MaxBody: 512 << 10,
		Events: map[string]config.EventRule{
			"product.updated": {Recipes: []string{"product-card"}, Object: &config.ObjectRule{Kind: "product", ID: Pointer("/id")}, Version: &version},
			"product.deleted": {Ignore: true},
		},
	}
}

// Set is a configuration without a fault.
func Set() config.Set {
	return config.Set{
		Scope: Shop,
		Common: config.Common{EventDays: 30, ResultDays: 400, Providers: map[string]config.Provider{"openai": {
			APIKey: "ssm:models/openai", Prices: map[string]operation.Price{"gpt-5.4-mini-2026-03-17": {Input: 400_000, Cached: 40_001, CacheWrite: 400_000, Output: 1_600_000, AsOf: "2026-11-29"}},
		}}},
		Endpoints: []config.Endpoint{Endpoint("woo-shop")},
		Recipes:   []recipe.Recipe{Recipe(3)},
	}
}

// IDs makes write ids.
func IDs() func() string {
	n := 0
	return func() string { n++; return fmt.Sprintf("write-%d", n) }
}

// Publish makes a configuration live.
func Publish(t *testing.T, f *Store, s config.Set) config.Pointer {
	t.Helper()
	p, err := apply.Publish(t.Context(), f, s, IDs())
	if err != nil {
		t.Fatalf("Publish: %v", err)
	}
	return p
}
