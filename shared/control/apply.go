package control

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"engang/shared/audit"
	"engang/shared/config"
	"engang/shared/config/apply"
	"engang/shared/inbox"
	"engang/shared/object"
)

// Configs is where configuration is kept, past every cache. Errors are those that [apply.Publish] and
// [config.ReadLive] speak of.
type Configs interface {
	Address(ctx context.Context, name string) (object.Scope, error)
	Pointer(ctx context.Context, scope object.Scope) (config.Pointer, error)
	Version(ctx context.Context, scope object.Scope, kind, name string, version int) ([]byte, error)
	ClaimAddress(ctx context.Context, name string, scope object.Scope) error
	PutVersion(ctx context.Context, v config.Version) error
	MovePointer(ctx context.Context, scope object.Scope, seenRevision int, p config.Pointer, writeID string) error
}

// A Proposal is a whole configuration that is to become the live one of its tenant and environment.
type Proposal struct {
	Set              config.Set
	Seen             int  // revision that the caller looked at, for [Control.Apply]; zero: there was none
	AllowModelChange bool // a recipe may ask another model than its live version
	By               string
}

// Config shows what is live, by version. Where nothing was applied it returns [config.ErrUnknown].
func (c *Control) Config(ctx context.Context, scope object.Scope) (Config, error) {
	live, err := config.ReadLive(ctx, c.d.Configs, scope)
	if err != nil {
		return Config{}, err
	}
	if live.Revision == 0 {
		return Config{}, fmt.Errorf("show configuration of %s: %w", scope, config.ErrUnknown)
	}
	return configOf(live), nil
}

// Plan tells what applying would change. What is refused is [config.Faults], all of them at once, whoever
// has checked it before: what comes from outside is trusted by nobody. Nothing is written.
func (c *Control) Plan(ctx context.Context, p Proposal) (Application, error) {
	live, others, err := c.look(ctx, p)
	if err != nil {
		return Application{}, err
	}
	changes, err := c.compare(ctx, p, comparison{live, others})
	if err != nil {
		return Application{}, err
	}
	return Application{
		Kind: "plan", Tenant: p.Set.Scope.Tenant, Environment: p.Set.Scope.Environment, Revision: live.Revision,
		AppliedAt: at(live.At), AppliedBy: live.By, Changes: changes, Others: others,
	}, nil
}

// Apply makes the configuration live: all of it, or nothing. It is recorded before it is done. When
// somebody else has applied since the caller looked, nothing is written, and the error wraps
// [config.ErrMoved]; refusals are those of [Control.Plan]. When nothing differs, nothing is done, which
// makes it safe to ask again where an answer was lost. Nobody's is [problem.ErrIdentity].
func (c *Control) Apply(ctx context.Context, p Proposal) (Application, error) {
	if err := identified(p.By); err != nil {
		return Application{}, err
	}
	live, others, err := c.look(ctx, p)
	if err != nil {
		return Application{}, err
	}
	changes, err := c.compare(ctx, p, comparison{live, others})
	switch {
	case err == nil && len(changes) == 0:
		return applied(p.Set.Scope, live.Pointer, changes), nil
	case live.Revision != p.Seen: // what it would be refused for now is not what the caller looked at
		return Application{}, fmt.Errorf("apply over revision %d of %s: %w", p.Seen, p.Set.Scope, config.ErrMoved)
	case err != nil:
		return Application{}, c.overtaken(ctx, p, err)
	}
	move := apply.Move{Seen: p.Seen, By: p.By, At: c.d.Now().UTC(), WriteID: c.d.NewID()}
	target := fmt.Sprintf("revision %d", p.Seen+1)
	if err := c.recordApply(ctx, p, "apply configuration", target+": "+summary(changes)); err != nil {
		return Application{}, err
	}
	pointer, err := apply.PublishOver(ctx, c.d.Configs, p.Set, move)
	if errors.Is(err, config.ErrChanged) { // the record stands: say what came of it
		err = errors.Join(err, c.recordApply(ctx, p, "apply configuration, overtaken", target))
	}
	if err != nil {
		return Application{}, err
	}
	return applied(p.Set.Scope, pointer, changes), nil
}

// overtaken is what a proposal is refused for, unless somebody else has applied since what is live was read: then it may
// be their version that refuses it, which is not what the caller looked at.
func (c *Control) overtaken(ctx context.Context, p Proposal, refused error) error {
	live, err := config.LivePointer(ctx, c.d.Configs, p.Set.Scope)
	if err == nil && live.Revision != p.Seen {
		return fmt.Errorf("apply over revision %d of %s: %w", p.Seen, p.Set.Scope, config.ErrMoved)
	}
	return refused
}

func applied(scope object.Scope, p config.Pointer, changes []config.Change) Application {
	return Application{Kind: "applied", Tenant: scope.Tenant, Environment: scope.Environment, Revision: p.Revision, AppliedAt: at(p.At), AppliedBy: p.By, Changes: changes}
}

func (c *Control) recordApply(ctx context.Context, p Proposal, act, target string) error {
	return c.keep(ctx, audit.Entry{Scope: p.Set.Scope, At: c.d.Now(), ID: c.d.NewID(), By: p.By, Act: act, Target: target}, p.Set.Common.ResultDays)
}

// summary says in one line what changes, by version.
func summary(changes []config.Change) string {
	const most = 20
	var parts []string
	for _, ch := range changes[:min(len(changes), most)] {
		parts = append(parts, fmt.Sprintf("%s %s %d to %d", ch.Kind, ch.Name, ch.From, ch.To))
	}
	if more := len(changes) - most; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(parts, ", ")
}

// look checks a proposal by itself, and reads what it will be held against.
func (c *Control) look(ctx context.Context, p Proposal) (config.Live, []Other, error) {
	if faults := apply.Check(p.Set); len(faults) > 0 {
		return config.Live{}, nil, faults
	}
	live, err := config.ReadLive(ctx, c.d.Configs, p.Set.Scope)
	if err != nil {
		return config.Live{}, nil, err
	}
	others, err := c.others(ctx, p.Set.Scope)
	return live, others, err
}

// others are the endpoints of other environments: no secret may be shared with them.
func (c *Control) others(ctx context.Context, own object.Scope) ([]Other, error) {
	scopes, err := c.d.Store.Scopes(ctx)
	if err != nil {
		return nil, err
	}
	found := []Other{}
	for _, scope := range scopes {
		if scope.Environment == own.Environment {
			continue
		}
		live, err := config.ReadLive(ctx, c.d.Configs, scope)
		if err != nil {
			return nil, err
		}
		for _, e := range live.Set.Endpoints {
			other := Other{Tenant: scope.Tenant, Environment: scope.Environment, Endpoint: e.Name}
			for _, ref := range e.Secrets {
				other.Secrets = append(other.Secrets, string(ref))
			}
			found = append(found, other)
		}
	}
	return found, nil
}

// A comparison is what a proposal is held against.
type comparison struct {
	live   config.Live
	others []Other
}

func (c *Control) compare(ctx context.Context, p Proposal, with comparison) ([]config.Change, error) {
	found, err := apply.Replacement{Live: with.live, Set: p.Set, AllowModelChange: p.AllowModelChange}.Compare(ctx, c.d.Configs)
	if err != nil {
		return nil, err
	}
	faults := append(found.Faults, shared(p.Set, with.others)...)
	if len(faults) > 0 {
		return nil, faults
	}
	if found.Changes == nil {
		found.Changes = []config.Change{}
	}
	return found.Changes, nil
}

// shared finds secrets whose reference another environment uses too.
func shared(set config.Set, others []Other) config.Faults {
	owners := map[string]Other{}
	for _, o := range others {
		for _, ref := range o.Secrets {
			owners[ref] = o
		}
	}
	var faults config.Faults
	for _, e := range set.Endpoints {
		for i, ref := range e.Secrets {
			if o, ok := owners[string(ref)]; ok {
				faults = append(faults, config.Fault{
					At:     fmt.Sprintf("/endpoints/%s/secrets/%d", e.Name, i),
					Reason: fmt.Sprintf("the secret of endpoint %s in %s, too: nothing is shared between environments", o.Endpoint, o.Environment),
					Remedy: "make a secret of its own",
				})
			}
		}
	}
	return faults
}

// ScopeOf finds the tenant and environment of an event, whose id says it by itself.
func (c *Control) ScopeOf(ctx context.Context, id inbox.EventID) (object.Scope, error) {
	e, _, _, err := c.d.Store.Deliveries(ctx, id)
	if err != nil {
		return object.Scope{}, fmt.Errorf("look up event %s: %w", id, err)
	}
	return e.Scope, nil
}
