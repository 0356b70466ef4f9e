package apply

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"engang/shared/config"
	"engang/shared/document"
	"engang/shared/object"
	"engang/shared/recipe"
	"engang/shared/recipe/compiled"
)

// maxSkips is how many versions of others, written and never made live, are passed over.
const maxSkips = 1_000

// publisher is where configuration is written. A refused write returns an error that wraps [ErrChanged]:
// an address of another scope, a version that is stored with another digest, a pointer of another
// revision. Each write may be repeated: what stands already as it should is no error.
type publisher interface {
	ClaimAddress(ctx context.Context, name string, scope object.Scope) error
	Pointer(ctx context.Context, scope object.Scope) (config.Pointer, error)
	PutVersion(ctx context.Context, v config.Version) error
	MovePointer(ctx context.Context, scope object.Scope, seenRevision int, p config.Pointer, writeID string) error
}

// A Move is one act of publishing.
type Move struct {
	Seen    int       // revision of the pointer that it replaces; zero: there was none
	By      string    // who does it
	At      time.Time // when
	WriteID string    // random; the same on every repeat of the act
}

// Publish makes a whole configuration live: all of it or nothing. It claims the addresses, writes
// immutable versions, and then moves the pointer in one conditional write that names the revision it
// read; a crash before that leaves only versions that nothing refers to. What is live already is not
// written again, and when nothing differs the pointer stays as it is.
//
// Recipes bring their version; endpoints and the common part take the next one when their content
// differs from the live one. It fails with an error that wraps [ErrChanged] when an applied recipe
// version has other content, when a recipe's version goes back, when another tenant or environment has
// an endpoint's name, and when somebody else published meanwhile. newID makes the write id of the
// pointer's move. It does not [Check] the set.
func Publish(ctx context.Context, to publisher, set config.Set, newID func() string) (config.Pointer, error) {
	seen, err := config.LivePointer(ctx, to, set.Scope)
	if err != nil {
		return config.Pointer{}, err
	}
	return publish(ctx, to, set, over{seen, Move{Seen: seen.Revision, WriteID: newID()}})
}

// PublishOver does what [Publish] does, and only while the pointer is the one that was seen: else nothing
// is written, and the error wraps [ErrMoved].
func PublishOver(ctx context.Context, to publisher, set config.Set, m Move) (config.Pointer, error) {
	seen, err := config.LivePointer(ctx, to, set.Scope)
	if err != nil {
		return config.Pointer{}, err
	}
	if seen.Revision != m.Seen {
		return config.Pointer{}, fmt.Errorf("publish over revision %d of %s: %w", m.Seen, set.Scope, config.ErrMoved)
	}
	p, err := publish(ctx, to, set, over{seen, m})
	if errors.Is(err, errMove) && errors.Is(err, config.ErrChanged) {
		err = fmt.Errorf("publish over revision %d of %s: %w", m.Seen, set.Scope, config.ErrMoved)
	}
	return p, err
}

// over is the pointer that is replaced, and the act that replaces it.
type over struct {
	seen config.Pointer
	move Move
}

// errMove marks a pointer that somebody else moved.
var errMove = errors.New("move pointer")

func publish(ctx context.Context, to publisher, set config.Set, o over) (config.Pointer, error) {
	if err := checkSet(set); err != nil {
		return config.Pointer{}, err
	}
	if err := checkVersions(o.seen, set); err != nil {
		return config.Pointer{}, err
	}
	for _, e := range set.Endpoints {
		if err := to.ClaimAddress(ctx, e.Name, set.Scope); err != nil {
			return config.Pointer{}, fmt.Errorf("claim address of endpoint %s: %w", e.Name, err)
		}
	}
	next, err := putVersions(ctx, to, set, o.seen)
	if err != nil {
		return config.Pointer{}, err
	}
	if next.Common == o.seen.Common && maps.Equal(next.Endpoints, o.seen.Endpoints) && maps.Equal(next.Recipes, o.seen.Recipes) {
		return o.seen, nil
	}
	next.Revision, next.At, next.By = o.move.Seen+1, o.move.At, o.move.By
	if err := to.MovePointer(ctx, set.Scope, o.move.Seen, next, o.move.WriteID); err != nil {
		return config.Pointer{}, fmt.Errorf("%w of %s: %w", errMove, set.Scope, err)
	}
	return next, nil
}

// checkSet refuses a set that could not be read back.
func checkSet(set config.Set) error {
	var faults []error
	names := map[string]bool{}
	for _, r := range set.Recipes {
		if _, err := compiled.New(r); err != nil {
			faults = append(faults, fmt.Errorf("recipe %s: %w", r.Name, err))
		}
		if names[r.Name] {
			faults = append(faults, fmt.Errorf("recipe %s stands twice in the set", r.Name))
		}
		names[r.Name] = true
	}
	endpoints := map[string]bool{}
	for _, e := range set.Endpoints {
		if e.Scope != set.Scope {
			faults = append(faults, fmt.Errorf("endpoint %s belongs to %s, the set to %s", e.Name, e.Scope, set.Scope))
		}
		if endpoints[e.Name] {
			faults = append(faults, fmt.Errorf("endpoint %s stands twice in the set", e.Name))
		}
		endpoints[e.Name] = true
		for _, kind := range slices.Sorted(maps.Keys(e.Events)) {
			for _, name := range e.Events[kind].Recipes {
				if !names[name] {
					faults = append(faults, fmt.Errorf("endpoint %s: event %s names recipe %s, which is not in the set", e.Name, kind, name))
				}
			}
		}
	}
	return errors.Join(faults...)
}

func checkVersions(seen config.Pointer, set config.Set) error {
	var faults []error
	for _, r := range set.Recipes {
		if live := seen.Recipes[r.Name]; r.Version < live {
			faults = append(faults, fmt.Errorf("recipe %s goes back from version %d to %d: %w", r.Name, live, r.Version, config.ErrChanged))
		}
	}
	return errors.Join(faults...)
}

// putVersions writes what is not stored yet and returns the pointer that makes it live.
func putVersions(ctx context.Context, to publisher, set config.Set, seen config.Pointer) (config.Pointer, error) {
	next := config.Pointer{Endpoints: map[string]int{}, Recipes: map[string]int{}}
	var faults []error
	for _, r := range set.Recipes {
		v, err := newVersion(set.Scope, config.KindRecipe, r.Name, r)
		if err != nil {
			return config.Pointer{}, err
		}
		v.Version = r.Version
		next.Recipes[r.Name] = r.Version
		quiet(&next, r)
		switch err := to.PutVersion(ctx, v); {
		case errors.Is(err, config.ErrChanged):
			faults = append(faults, fmt.Errorf("recipe %s was applied with other content, raise its version: %w", r.Ref(), err))
		case err != nil:
			return config.Pointer{}, fmt.Errorf("write recipe %s: %w", r.Ref(), err)
		}
	}
	if len(faults) > 0 {
		return config.Pointer{}, errors.Join(faults...)
	}
	for _, e := range set.Endpoints {
		n, err := putNumbered(ctx, to, set.Scope, numbered{config.KindEndpoint, e.Name, e, seen.Endpoints[e.Name]})
		if err != nil {
			return config.Pointer{}, err
		}
		next.Endpoints[e.Name] = n
	}
	n, err := putNumbered(ctx, to, set.Scope, numbered{config.KindCommon, config.CommonName, set.Common, seen.Common})
	next.Common = n
	return next, err
}

// quiet notes a recipe's quiet period: who stores an event reads the pointer, and no recipe.
func quiet(p *config.Pointer, r recipe.Recipe) {
	if r.QuietSeconds == 0 {
		return
	}
	if p.Quiet == nil {
		p.Quiet = map[string]int{}
	}
	p.Quiet[r.Name] = r.QuietSeconds
}

// numbered is something whose version is counted by us.
type numbered struct {
	kind    string
	name    string
	content any
	live    int
}

// putNumbered returns the live version if it has this content, else the next that is free or has it.
// A removed endpoint that comes back finds its own former versions in the same way.
func putNumbered(ctx context.Context, to publisher, scope object.Scope, what numbered) (int, error) {
	v, err := newVersion(scope, what.kind, what.name, what.content)
	if err != nil {
		return 0, err
	}
	first := max(what.live, 1)
	for v.Version = first; v.Version <= first+maxSkips; v.Version++ {
		err := to.PutVersion(ctx, v)
		if err == nil {
			return v.Version, nil
		}
		if !errors.Is(err, config.ErrChanged) {
			return 0, fmt.Errorf("write %s %s@%d: %w", v.Kind, v.Name, v.Version, err)
		}
	}
	return 0, fmt.Errorf("write %s %s: versions %d to %d are taken: %w", v.Kind, v.Name, first, first+maxSkips, config.ErrChanged)
}

func newVersion(scope object.Scope, kind, name string, content any) (config.Version, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(content); err != nil {
		return config.Version{}, fmt.Errorf("encode %s %s: %w", kind, name, err)
	}
	raw := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	return config.Version{Scope: scope, Kind: kind, Name: name, JSON: raw, Digest: document.Digest(raw)}, nil
}
