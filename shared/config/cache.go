package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"engang/shared/object"
)

// ErrUnreadable says that what is live cannot be used: the pointer names a version that is not stored,
// or one that does not decode or compile. It is never [ErrUnknown]: a sender must not be told that its
// endpoint does not exist.
var ErrUnreadable = errors.New("configuration is unreadable")

// The bounds of a cache. What does not fit pushes out what came first.
const (
	maxVersions  = 2_000
	maxUnknown   = 1_000
	maxAddresses = 10_000
)

// store is where configuration is read from. Each method returns an error that wraps [ErrUnknown] for
// what was never stored.
type store interface {
	Address(ctx context.Context, name string) (object.Scope, error)
	Pointer(ctx context.Context, scope object.Scope) (Pointer, error)
	Version(ctx context.Context, scope object.Scope, kind, name string, version int) ([]byte, error)
}

// A Cache reads configuration through memory. Addresses and pointers are at most a short time old, so
// that a change is live everywhere after that time; versions are immutable and kept without end, up to
// a bound. Names that are not configured are remembered for the same short time, up to a bound.
//
// A store that cannot be asked is an error, never an old answer: what is too old is not used. What it
// returns is shared and must not be changed. A Cache is safe for concurrent use; two callers that miss
// at once both ask the store.
type Cache struct {
	store store
	ttl   time.Duration
	now   func() time.Time

	mu        sync.Mutex
	addresses *bounded[string, dated[object.Scope]]
	unknown   *bounded[string, dated[error]]
	pointers  *bounded[object.Scope, dated[Pointer]]
	versions  *bounded[versionKey, any]
}

// dated is a value and when it was asked for.
type dated[V any] struct {
	value V
	at    time.Time
}

type versionKey struct {
	scope   object.Scope
	kind    string
	name    string
	version int
}

// NewCache makes a cache in front of a store. The time to live counts from before the store was asked.
func NewCache(s store, ttl time.Duration, now func() time.Time) *Cache {
	return &Cache{
		store: s, ttl: ttl, now: now,
		addresses: newBounded[string, dated[object.Scope]](maxAddresses),
		unknown:   newBounded[string, dated[error]](maxUnknown),
		pointers:  newBounded[object.Scope, dated[Pointer]](maxAddresses),
		versions:  newBounded[versionKey, any](maxVersions),
	}
}

// Endpoint is the live endpoint at the address /hooks/{name}, and the pointer that makes it so. It fails
// with [ErrUnknown] when there is none, with [ErrUnreadable] when what is stored cannot be used, and with
// the store's own error, wrapped.
func (c *Cache) Endpoint(ctx context.Context, name string) (Endpoint, Pointer, error) {
	if name == "" { // nobody's, and no key that a store could be asked for
		return Endpoint{}, Pointer{}, fmt.Errorf("endpoint without a name: %w", ErrUnknown)
	}
	scope, err := c.address(ctx, name)
	if err != nil {
		return Endpoint{}, Pointer{}, fmt.Errorf("read address of endpoint: %w", err)
	}
	p, err := c.Pointer(ctx, scope)
	if err != nil {
		return Endpoint{}, Pointer{}, err
	}
	n, live := p.Endpoints[name]
	if !live {
		return Endpoint{}, Pointer{}, fmt.Errorf("endpoint is not live in %s: %w", scope, ErrUnknown)
	}
	e, err := load(ctx, c, versionKey{scope, KindEndpoint, name, n}, decode[Endpoint])
	if err != nil {
		return Endpoint{}, Pointer{}, unreadable(err)
	}
	return e, p, nil
}

// Common is what all endpoints and recipes of a scope share. Errors are those of [Cache.Endpoint].
func (c *Cache) Common(ctx context.Context, scope object.Scope) (Common, error) {
	p, err := c.Pointer(ctx, scope)
	if err != nil {
		return Common{}, err
	}
	common, err := load(ctx, c, versionKey{scope, KindCommon, CommonName, p.Common}, decode[Common])
	if err != nil {
		return Common{}, unreadable(err)
	}
	return common, nil
}

// Pointer says which versions are live in a scope. It fails with [ErrUnknown] when nothing was applied
// there.
func (c *Cache) Pointer(ctx context.Context, scope object.Scope) (Pointer, error) {
	began := c.now()
	if p, ok := fresh(c, c.pointers, scope, began); ok {
		return p, nil
	}
	p, err := c.store.Pointer(ctx, scope)
	if err != nil {
		return Pointer{}, fmt.Errorf("read pointer of %s: %w", scope, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pointers.put(scope, dated[Pointer]{p, began})
	return p, nil
}

func (c *Cache) address(ctx context.Context, name string) (object.Scope, error) {
	began := c.now()
	if scope, ok := fresh(c, c.addresses, name, began); ok {
		return scope, nil
	}
	if err, ok := fresh(c, c.unknown, name, began); ok {
		return object.Scope{}, err
	}
	scope, err := c.store.Address(ctx, name)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		c.addresses.put(name, dated[object.Scope]{scope, began})
	case errors.Is(err, ErrUnknown):
		c.unknown.put(name, dated[error]{err, began})
	}
	return scope, err
}

// fresh looks an entry up that is not too old.
func fresh[K comparable, V any](c *Cache, entries *bounded[K, dated[V]], key K, now time.Time) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := entries.get(key)
	if !ok || now.Sub(e.at) >= c.ttl || now.Before(e.at) { // a clock set back must not make an entry last
		var none V
		return none, false
	}
	return e.value, true
}

// load reads an immutable version, once.
func load[V any](ctx context.Context, c *Cache, key versionKey, read func([]byte) (V, error)) (V, error) {
	var none V
	c.mu.Lock()
	known, _ := c.versions.get(key)
	c.mu.Unlock()
	if v, ok := known.(V); ok {
		return v, nil
	}
	raw, err := c.store.Version(ctx, key.scope, key.kind, key.name, key.version)
	if err != nil {
		return none, fmt.Errorf("read %s %s@%d of %s: %w", key.kind, key.name, key.version, key.scope, err)
	}
	v, err := read(raw)
	if err != nil {
		return none, fmt.Errorf("read %s %s@%d of %s: %w", key.kind, key.name, key.version, key.scope, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.versions.put(key, v)
	return v, nil
}

func decode[V any](raw []byte) (V, error) {
	var v V
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, fmt.Errorf("decode: %w", ErrUnreadable)
	}
	return v, nil
}

// unreadable turns "never stored" into "unreadable", for a version that the pointer calls live.
func unreadable(err error) error {
	if errors.Is(err, ErrUnknown) {
		return fmt.Errorf("%w: the pointer names a version that is not stored", ErrUnreadable)
	}
	return err
}
