package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"engang/shared/config"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/pause"
	"engang/shared/problem"
	"engang/shared/recipe"
)

// Holds is what is held on purpose.
type Holds interface {
	Pauses(ctx context.Context) (pause.Pauses, error)
	PutPause(ctx context.Context, p pause.Pause) error
	RemovePause(ctx context.Context, t pause.Target) error
	Breaker(ctx context.Context, m pause.Model) (pause.Breaker, error)
	CloseBreaker(ctx context.Context, c pause.Closing) error
}

// backWithin is how soon a held event is due again, at the latest; the reconciler sends what is due every minute.
const backWithin = 5 * time.Minute

// The kinds of a [Hold].
const (
	aPause   = "pause"
	aBreaker = "breaker"
)

// A Hold is something that is held: by a person, or by the breaker of a model.
type Hold struct {
	Kind        string     `json:"kind"`           // "pause", or "breaker": a provider's model that cannot serve
	What        string     `json:"what"`           // everything, endpoint, recipe or model
	Name        string     `json:"name,omitempty"` // of the endpoint, of the recipe, "provider/model"
	Tenant      string     `json:"tenant"`
	Environment string     `json:"environment"`
	At          *time.Time `json:"at"`
	Until       *time.Time `json:"until"` // null: until it is resumed; of a breaker, when one operation is let through to try
	By          string     `json:"by,omitempty"`
	Reason      string     `json:"reason,omitempty"`
	Held        Held       `json:"held"`
	Replaced    *Replaced  `json:"replaced,omitempty"` // by a pause that was just stored
}

// A Replaced is the pause in whose place another one was stored. It ended no later.
type Replaced struct {
	By     string     `json:"by"`
	At     *time.Time `json:"at"`
	Until  *time.Time `json:"until"` // null: it had no end
	Reason string     `json:"reason"`
}

// Held counts what is held, as far as one look goes.
type Held struct {
	EventsAtLeast int       `json:"events_at_least"` // open events that it concerns
	LookedSince   time.Time `json:"looked_since"`    // received
	Complete      bool      `json:"complete"`        // false: more events came since then than one look reads
}

// A Resumption says what goes on.
type Resumption struct {
	Kind        string `json:"kind"` // "resumption"
	What        string `json:"what"`
	Name        string `json:"name,omitempty"`
	Tenant      string `json:"tenant"`
	Environment string `json:"environment"`
	Resumed     []Hold `json:"resumed"`      // as they stood; empty: it was not held
	Remaining   []Hold `json:"remaining"`    // what is held all the same
	DueWithinS  int    `json:"due_within_s"` // seconds until the last of what was held is due again
}

// A Pausing asks to pause something, or to resume it.
type Pausing struct {
	Target pause.Target
	Until  time.Time // zero: until it is resumed
	By     string
	Reason string
}

// Pauses lists what is held in a tenant and environment: pauses in force, and open breakers, with the number of
// open events that each concerns. It looks through the newest events only: every number is at least so much.
func (c *Control) Pauses(ctx context.Context, scope object.Scope) (List[Hold], error) {
	found, err := c.holds(ctx, scope)
	return List[Hold]{Items: found}, err
}

// Pause holds work on behalf of a person, and records it: workers notice within seconds. Nothing is lost: deliveries
// are taken and answered as ever, and no attempt is counted. A pause of the same target that ends no later is
// replaced, and named as it was looked at right before; one that ends later is never cut short.
//
// It returns [ErrReason], [config.ErrUnknown] for what is not live, a *[problem.QueryError] for what is no
// target and for an end that is over, and a *[pause.LongerError] where a pause that ends later is in force.
func (c *Control) Pause(ctx context.Context, p Pausing) (Hold, error) {
	now := c.d.Now()
	if err := errors.Join(answerable(p.By, p.Reason), shaped(p.Target)); err != nil {
		return Hold{}, err
	}
	if !p.Until.IsZero() && !p.Until.After(now) {
		return Hold{}, &problem.QueryError{Parameter: "until", Want: "a time to come, or none: until it is resumed"}
	}
	live, err := config.ReadLive(ctx, c.d.Configs, p.Target.Scope)
	if err != nil {
		return Hold{}, err
	}
	if !configured(live, p.Target) {
		return Hold{}, fmt.Errorf("pause %s of %s: %w", p.Target, p.Target.Scope, config.ErrUnknown)
	}
	stored := pause.Pause{Target: p.Target, Until: p.Until, By: p.By, Reason: p.Reason, At: now.UTC()}
	before, err := c.d.Store.Pauses(ctx) // to name what is replaced: the write itself decides whether it may be
	if err != nil {
		return Hold{}, err
	}
	act := "pause"
	err = c.d.Store.PutPause(ctx, stored)
	if refused := errors.Is(err, pause.ErrLonger); err != nil && !refused {
		return Hold{}, err
	} else if refused {
		act += ", refused"
	}
	if err := errors.Join(err, c.recordNow(ctx, p.Target.Scope, act, Look{ID: p.Target.String(), By: p.By, Reason: p.Reason})); err != nil {
		return Hold{}, err
	}
	open, err := c.census(ctx, p.Target.Scope)
	if err != nil {
		return Hold{}, err
	}
	doc := pauseOf(stored, open)
	if was, ok := before.Of(now, p.Target); ok && !sameHold(was, stored) {
		doc.Replaced = &Replaced{By: was.By, At: at(was.At), Until: at(was.Until), Reason: was.Reason}
	}
	return doc, nil
}

// sameHold tells whether two pauses say the same: then one is the repeat of the other.
func sameHold(a, b pause.Pause) bool {
	return a.By == b.By && a.Reason == b.Reason && a.Until.Equal(b.Until)
}

// Resume ends a pause, and for a model closes its breaker too, whoever opened it; and records it. What was not
// held is no error, which makes it safe to ask again. Held events come back by themselves. Errors are those
// of [Control.Pause]; what is not configured any more can be resumed as long as it is held.
func (c *Control) Resume(ctx context.Context, p Pausing) (Resumption, error) {
	if err := errors.Join(answerable(p.By, p.Reason), shaped(p.Target)); err != nil {
		return Resumption{}, err
	}
	scope := p.Target.Scope
	found, err := c.holds(ctx, scope)
	if err != nil {
		return Resumption{}, err
	}
	if err := c.resumable(ctx, p.Target); err != nil {
		return Resumption{}, err
	}
	doc := Resumption{
		Kind: "resumption", What: string(p.Target.Kind), Name: p.Target.Name, Tenant: scope.Tenant, Environment: scope.Environment,
		Resumed: []Hold{}, Remaining: []Hold{}, DueWithinS: int(backWithin.Seconds()),
	}
	for _, h := range found {
		if h.What != doc.What || h.Name != doc.Name {
			doc.Remaining = append(doc.Remaining, h)
			continue
		}
		doc.Resumed = append(doc.Resumed, h)
		if h.Kind == aBreaker && h.Until != nil { // what it holds is due at its probe time, which the provider may have put off
			doc.DueWithinS = max(doc.DueWithinS, int(math.Ceil(h.Until.Sub(c.d.Now()).Seconds())))
		}
	}
	if err := c.d.Store.RemovePause(ctx, p.Target); err != nil { // one whose time is over, too
		return Resumption{}, err
	}
	if p.Target.Kind == pause.AModel {
		err := c.d.Store.CloseBreaker(ctx, pause.Closing{Model: modelOf(p.Target), WriteID: c.d.NewID(), Now: c.d.Now()})
		if err != nil && !errors.Is(err, pause.ErrStale) { // stale: it is not open
			return Resumption{}, err
		}
	}
	return doc, c.recordNow(ctx, scope, "resume", Look{ID: p.Target.String(), By: p.By, Reason: p.Reason})
}

// resumable refuses a target that is not configured and not held either: a misspelt name must not look as if it went on.
func (c *Control) resumable(ctx context.Context, t pause.Target) error {
	live, err := config.ReadLive(ctx, c.d.Configs, t.Scope)
	if err != nil || configured(live, t) {
		return err
	}
	all, err := c.d.Store.Pauses(ctx)
	if err != nil || slices.ContainsFunc(all, func(p pause.Pause) bool { return p.Target == t }) {
		return err
	}
	if t.Kind == pause.AModel {
		if b, err := c.d.Store.Breaker(ctx, modelOf(t)); err != nil || b.Holds() {
			return err
		}
	}
	return fmt.Errorf("resume %s of %s: %w", t, t.Scope, config.ErrUnknown)
}

// shaped refuses what is no target.
func shaped(t pause.Target) error {
	want := map[pause.Kind]string{
		pause.Endpoint: "the name of an endpoint", pause.Recipe: "the name of a recipe without a version: all of them are meant", pause.AModel: "provider/model",
	}[t.Kind]
	provider, model, _ := strings.Cut(t.Name, "/")
	switch {
	case t.Kind == pause.Everything && t.Name == "":
		return nil
	case t.Kind == pause.Everything:
		want = "none: everything is all work of a tenant and environment"
	case t.Name == "", t.Kind == pause.Recipe && strings.Contains(t.Name, "@"), t.Kind == pause.AModel && (provider == "" || model == ""):
	default:
		return nil
	}
	return &problem.QueryError{Parameter: "name", Want: want}
}

// configured tells whether a target is one that events of the live configuration can meet.
func configured(live config.Live, t pause.Target) bool {
	switch t.Kind {
	case pause.Endpoint:
		return live.Endpoints[t.Name] > 0
	case pause.Recipe:
		return live.Recipes[t.Name] > 0
	case pause.AModel:
		return slices.Contains(models(live), modelOf(t))
	}
	return live.Revision > 0
}

// models are those that live recipes ask, and those that have a price: an older version may ask them yet.
func models(live config.Live) []pause.Model {
	var all []pause.Model
	for _, r := range live.Set.Recipes {
		all = append(all, pause.Model{Scope: live.Set.Scope, Provider: r.Model.Provider, Name: r.Model.Name})
	}
	for provider, p := range live.Set.Common.Providers {
		for name := range p.Prices {
			all = append(all, pause.Model{Scope: live.Set.Scope, Provider: provider, Name: name})
		}
	}
	return all
}

func modelOf(t pause.Target) pause.Model {
	provider, name, _ := strings.Cut(t.Name, "/")
	return pause.Model{Scope: t.Scope, Provider: provider, Name: name}
}

func pauseOf(p pause.Pause, open census) Hold {
	t := p.Target
	return Hold{
		Kind: aPause, What: string(t.Kind), Name: t.Name, Tenant: t.Scope.Tenant, Environment: t.Scope.Environment,
		At: at(p.At), Until: at(p.Until), By: p.By, Reason: p.Reason, Held: open.of(t),
	}
}

// holds finds pauses in force and open breakers, in the order of what they hold.
func (c *Control) holds(ctx context.Context, scope object.Scope) ([]Hold, error) {
	all, err := c.d.Store.Pauses(ctx)
	if err != nil {
		return nil, err
	}
	live, err := config.ReadLive(ctx, c.d.Configs, scope)
	if err != nil {
		return nil, err
	}
	open, err := c.census(ctx, scope)
	if err != nil {
		return nil, err
	}
	found := []Hold{}
	all = slices.SortedFunc(slices.Values(all), pause.Compare)
	for _, p := range all {
		if p.Target.Scope == scope && p.Holds(c.d.Now()) {
			found = append(found, pauseOf(p, open))
		}
	}
	asked := map[pause.Model]bool{}
	for _, m := range models(live) {
		asked[m] = true
	}
	for t := range open.concerned {
		if t.Kind == pause.AModel { // of a version that is live no more
			asked[modelOf(t)] = true
		}
	}
	for _, m := range slices.SortedFunc(maps.Keys(asked), func(a, b pause.Model) int { return strings.Compare(a.String(), b.String()) }) {
		b, err := c.d.Store.Breaker(ctx, m)
		if err != nil {
			return nil, err
		}
		if b.Holds() {
			t := pause.Target{Scope: scope, Kind: pause.AModel, Name: m.String()}
			found = append(found, Hold{
				Kind: aBreaker, What: string(t.Kind), Name: t.Name, Tenant: scope.Tenant, Environment: scope.Environment,
				At: at(b.At), Until: at(b.Until), Reason: b.Reason, Held: open.of(t),
			})
		}
	}
	return found, nil
}

// A census counts the open events among the newest, by what may hold them.
type census struct {
	concerned map[pause.Target]int
	since     time.Time
	complete  bool
}

func (n census) of(t pause.Target) Held {
	return Held{EventsAtLeast: n.concerned[t], LookedSince: n.since, Complete: n.complete}
}

// census looks through the events of the last days, at most as many as one look may read.
func (c *Control) census(ctx context.Context, scope object.Scope) (census, error) {
	span := Span{Limit: MaxLimit}.complete(c.d.Now())
	n := census{concerned: map[pause.Target]int{}, since: span.Since.UTC()}
	w, err := c.walk(scope, span)
	if err != nil {
		return n, err
	}
	asks := map[inbox.RecipeRef]string{}
	for {
		e, ok, err := w.next(ctx)
		if err != nil || !ok {
			n.complete = w.cursor() == ""
			return n, err
		}
		if e.State != string(inbox.Received) {
			continue
		}
		of := map[pause.Target]bool{{Scope: scope, Kind: pause.Everything}: true, {Scope: scope, Kind: pause.Endpoint, Name: e.Endpoint}: true}
		for _, ref := range e.Recipes {
			name, _, _ := strings.Cut(ref, "@")
			of[pause.Target{Scope: scope, Kind: pause.Recipe, Name: name}] = true
			model, err := c.modelAsked(ctx, scope, ref, asks)
			if err != nil {
				return n, err
			}
			if model != "" {
				of[pause.Target{Scope: scope, Kind: pause.AModel, Name: model}] = true
			}
		}
		for t := range of {
			n.concerned[t]++
		}
	}
}

// modelAsked is the model that a version of a recipe asks; empty where that version is not stored.
func (c *Control) modelAsked(ctx context.Context, scope object.Scope, text string, known map[inbox.RecipeRef]string) (string, error) {
	ref, err := inbox.ParseRecipeRef(text)
	if err != nil {
		return "", err
	}
	if model, ok := known[ref]; ok {
		return model, nil
	}
	raw, err := c.d.Configs.Version(ctx, scope, config.KindRecipe, ref.Name, ref.Version)
	if err != nil && !errors.Is(err, config.ErrUnknown) {
		return "", err
	}
	var stored struct{ Model recipe.Model }
	if err == nil && json.Unmarshal(raw, &stored) == nil && stored.Model.Name != "" {
		known[ref] = pause.Model{Provider: stored.Model.Provider, Name: stored.Model.Name}.String()
	} else {
		known[ref] = ""
	}
	return known[ref], nil
}
