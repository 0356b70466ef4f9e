package secrets

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// A Source is asked for secrets by path; it leaves out what does not exist. [engang/shared/parameters]
// is one.
type Source interface {
	Parameters(ctx context.Context, paths []string) (map[string]Value, error)
}

// What was not found is asked for again after a tenth of the time to live, so that a secret set late is
// soon found; while the source does not answer, what was known is used twelve times as long.
const (
	absentShare = 10
	staleTimes  = 12
)

// A Cache keeps secrets for a while, so that a delivery seldom waits for the parameter store. It is
// safe for concurrent use; callers that miss at once share one question to the source.
type Cache struct {
	source Source
	ttl    time.Duration
	now    func() time.Time
	log    *slog.Logger

	asking chan struct{} // holds one token while the source is asked

	mu    sync.Mutex
	known map[string]entry // by path
}

type entry struct {
	value  Value // empty: the source has none that can be used
	readAt time.Time
	askAt  time.Time // when the source is asked again
}

// NewCache returns an empty cache over source.
func NewCache(source Source, ttl time.Duration, now func() time.Time) *Cache {
	return &Cache{
		source: source, ttl: ttl, now: now, log: slog.New(slog.DiscardHandler),
		asking: make(chan struct{}, 1), known: map[string]entry{},
	}
}

// Log makes the cache report, by reference, secrets that are missing and times at which the source does
// not answer. It returns the cache.
func (c *Cache) Log(log *slog.Logger) *Cache {
	c.log = log
	return c
}

// Secret returns one secret. The error wraps [ErrUnusable] when the reference leads to none, and is the
// source's own when it does not answer and the secret is not known.
func (c *Cache) Secret(ctx context.Context, ref Ref) (Value, error) {
	values, err := c.Secrets(ctx, []Ref{ref})
	if err != nil {
		return Value{}, err
	}
	return values[0], nil
}

// Secrets returns the usable secrets of refs in their order, at least one. Those that lead to nothing
// usable are left out and logged; when none is left the error wraps [ErrUnusable].
func (c *Cache) Secrets(ctx context.Context, refs []Ref) ([]Value, error) {
	paths := make([]string, 0, len(refs))
	for _, ref := range refs {
		path, err := ref.Path()
		if err != nil {
			c.log.ErrorContext(ctx, "secret left out", "err", err) // without the text: it may be a secret
			continue
		}
		paths = append(paths, path)
	}
	if err := c.refresh(ctx, paths); err != nil {
		return nil, err
	}
	var usable []Value
	for _, path := range paths {
		if v := c.value(path); !v.IsEmpty() {
			usable = append(usable, v)
			continue
		}
		c.log.ErrorContext(ctx, "secret left out", "secret", path, "err", ErrUnusable)
	}
	if len(usable) == 0 {
		return nil, fmt.Errorf("look up %d references: %w", len(refs), ErrUnusable)
	}
	return usable, nil
}

// renewEvery bounds how often anybody can make the cache ask for one secret past its time: whoever sends
// wrong signatures must not use up the parameter store for everybody.
const renewEvery = 15 * time.Second

// Renewed asks the source again for secrets that do not fit, whatever their age, and tells whether one of
// them is another than before. A secret that was read in the last fifteen seconds is not asked for.
// Errors are those of [Cache.Secrets].
func (c *Cache) Renewed(ctx context.Context, refs []Ref) ([]Value, bool, error) {
	before, err := c.Secrets(ctx, refs)
	if err != nil {
		return nil, false, err
	}
	c.expire(refs)
	after, err := c.Secrets(ctx, refs)
	if err != nil {
		return nil, false, err
	}
	same := slices.EqualFunc(before, after, func(a, b Value) bool { return bytes.Equal(a.Reveal(), b.Reveal()) })
	return after, !same, nil
}

// expire makes secrets due that were not read just now.
func (c *Cache) expire(refs []Ref) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	for _, ref := range refs {
		path, err := ref.Path()
		if e, known := c.known[path]; err == nil && known && now.Sub(e.readAt) >= renewEvery {
			e.askAt = now
			c.known[path] = e
		}
	}
}

// refresh asks the source for what is due. When there is no answer it succeeds all the same if each
// path was answered before and not too long ago: a delivery is worth more than a prompt rotation.
func (c *Cache) refresh(ctx context.Context, paths []string) error {
	if len(c.due(paths)) == 0 {
		return nil
	}
	err := c.ask(ctx, paths)
	if err == nil {
		return nil
	}
	if !c.survives(paths) {
		return fmt.Errorf("read secrets: %w", err)
	}
	c.log.WarnContext(ctx, "secrets not read, older ones used", "err", err)
	return nil
}

func (c *Cache) ask(ctx context.Context, paths []string) error {
	select {
	case c.asking <- struct{}{}:
		defer func() { <-c.asking }()
	case <-ctx.Done():
		return ctx.Err()
	}
	due := c.due(paths) // another caller may have asked meanwhile
	if len(due) == 0 {
		return nil
	}
	found, err := c.source.Parameters(ctx, due)
	if err != nil {
		return err
	}
	c.keep(due, found)
	return nil
}

func (c *Cache) due(paths []string) (due []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	for _, path := range paths {
		if !now.Before(c.known[path].askAt) {
			due = append(due, path)
		}
	}
	return due
}

// survives tells whether all paths may be used as they were, and if so puts off the next question.
func (c *Cache) survives(paths []string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	for _, path := range paths {
		if now.Sub(c.known[path].readAt) >= staleTimes*c.ttl {
			return false
		}
	}
	for _, path := range paths {
		e := c.known[path]
		e.askAt = later(e.askAt, now.Add(c.ttl/absentShare))
		c.known[path] = e
	}
	return true
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (c *Cache) keep(paths []string, found map[string]Value) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	for _, path := range paths {
		e := entry{value: found[path], readAt: now, askAt: now.Add(c.ttl)}
		if len(bytes.TrimSpace(e.value.Reveal())) == 0 { // nothing but white space is as good as no secret
			e.value, e.askAt = Value{}, now.Add(c.ttl/absentShare)
		}
		c.known[path] = e
	}
}

func (c *Cache) value(path string) Value {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[path].value
}
