package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"engang/shared/config"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/problem"
)

// MaxRuns is how many events one page of a replay opens at most, so that it ends well within the function's time.
const MaxRuns = 50

// A Replaying asks to run the events of a time again. An empty field chooses all.
type Replaying struct {
	Span
	Endpoint string
	Object   string // "product:794"
	Recipe   string // "product-card", or with its live version
	Runs     int    // most events that one page opens; zero: [MaxRuns], which is the most
	DryRun   bool
	By       string // the caller's identity; of a dry run nobody's
	Reason   string
}

// A Replayed says what one page of a replay found and did. Each event is counted once: finished, would run,
// waiting, dismissed, running or unreadable.
type Replayed struct {
	Kind       string          `json:"kind"` // "replay"
	DryRun     bool            `json:"dry_run"`
	Events     int             `json:"events"`
	Finished   int             `json:"finished"`   // nothing to do
	WouldRun   int             `json:"would_run"`  // under a raised recipe for the first time; without a dry run they are open now
	Waiting    int             `json:"waiting"`    // for a person
	Dismissed  int             `json:"dismissed"`  // never done: a person took what failed off the list
	Running    int             `json:"running"`    // open: workers or the reconciler have them
	Unreadable int             `json:"unreadable"` // would run, but their body cannot be read (any more)
	Calls      int             `json:"calls"`      // of a model, at most
	CostUSD    operation.Money `json:"cost_usd"`   // at most, if no call has to be repeated
	Effects    int             `json:"effects"`    // none until effects exist
	Sent       int             `json:"sent"`       // to the work queue; the reconciler sends the others
	Reached    *time.Time      `json:"reached"`    // when the last event of this page was received; null without one
	Next       string          `json:"next"`       // asks for the page behind this one; empty at the end
}

// Replay goes through the events of a time, the newest first, one page a call, and runs again what has something
// to do. It is harmless: an event whose work is done under its recipes' versions is finished, and nothing at all
// is done about it. Where the live version of a recipe is higher than the event's, the newest event of the object
// is opened under that version and sent; its former result stays. Older ones are finished: they would be
// superseded at best. What a person cancelled is finished.
//
// A page that is asked for again finds what it opened before open or finished. What is opened is recorded first,
// event by event. A dry run does nothing, needs no reason, and counts the calls that would be made and what they
// cost at most.
//
// It returns [ErrReason], [ErrCursor], and a [problem.QueryError] for an object or a recipe that there cannot be.
func (c *Control) Replay(ctx context.Context, scope object.Scope, r Replaying) (Replayed, error) {
	if err := r.usable(); err != nil {
		return Replayed{}, err
	}
	x, err := c.replaying(ctx, scope, r)
	if err != nil {
		return Replayed{}, fmt.Errorf("replay events of %s: %w", scope, err)
	}
	if r.Limit <= 0 {
		r.Limit = MaxLimit
	}
	span := r.Span.complete(x.now)
	w, err := c.walkWith(scope, span, span.Limit, x.load)
	if err != nil {
		return Replayed{}, err
	}
	for x.doc.Events < span.Limit && x.runs > 0 {
		e, ok, err := w.next(ctx)
		if err == nil && ok {
			x.doc.Reached = at(e.ReceivedAt)
			err = x.one(ctx, e)
		}
		if err != nil {
			return Replayed{}, fmt.Errorf("replay events of %s: %w", scope, err)
		}
		if !ok {
			break
		}
	}
	x.doc.Next = w.cursor()
	return x.doc, nil
}

// load is a [loader] of events without what is counted beside them: one look each, of thousands.
func (x *replaying) load(ctx context.Context, ids []inbox.EventID) ([]Event, error) {
	found, faults := make([]inbox.Event, len(ids)), make([]error, len(ids))
	sideBySide(len(ids), func(i int) { found[i], faults[i] = x.c.d.Store.Event(ctx, ids[i]) })
	var all []Event
	for i, e := range found {
		switch {
		case errors.Is(faults[i], inbox.ErrNotFound): // its time was over meanwhile
		case faults[i] != nil:
			return nil, faults[i]
		default:
			x.loaded[string(e.ID)] = e
			all = append(all, eventOf(e, inbox.Seen{}, nil))
		}
	}
	return all, nil
}

func (r Replaying) usable() error {
	if !r.DryRun {
		if err := answerable(r.By, r.Reason); err != nil {
			return err
		}
	}
	if r.Object != "" {
		if _, err := object.ParseID(r.Object); err != nil {
			return &problem.QueryError{Parameter: "object", Want: "kind:id"}
		}
	}
	return nil
}

// A replaying is one page of a replay.
type replaying struct {
	c       *Control
	scope   object.Scope
	r       Replaying
	now     time.Time
	pointer config.Pointer
	common  config.Common
	recipe  string // name that is chosen; empty: all
	runs    int    // that this page has left
	known   map[string]standings
	loaded  map[string]inbox.Event
	doc     Replayed
}

func (c *Control) replaying(ctx context.Context, scope object.Scope, r Replaying) (*replaying, error) {
	x := &replaying{c: c, scope: scope, r: r, now: c.d.Now(), runs: r.Runs, known: map[string]standings{}, loaded: map[string]inbox.Event{}, doc: Replayed{Kind: "replay", DryRun: r.DryRun}}
	if x.runs <= 0 || x.runs > MaxRuns {
		x.runs = MaxRuns
	}
	var err error
	if x.pointer, err = c.d.Endpoints.Pointer(ctx, scope); err != nil {
		return nil, err
	}
	if x.common, err = c.d.Endpoints.Common(ctx, scope); err != nil {
		return nil, err
	}
	name, _, versioned := strings.Cut(r.Recipe, "@")
	live, ok := x.pointer.Recipes[name]
	ref := inbox.RecipeRef{Name: name, Version: live}
	switch {
	case name == "" && r.Recipe == "":
	case !ok:
		return nil, &problem.QueryError{Parameter: "recipe", Want: "the name of a live recipe"}
	case versioned && r.Recipe != ref.String():
		return nil, &problem.QueryError{Parameter: "recipe", Want: ref.String() + ", the live version, under which alone an event can be run,"}
	}
	x.recipe = name
	return x, nil
}

// one counts one event, and opens it where it has something to do.
func (x *replaying) one(ctx context.Context, e Event) error {
	if !x.meant(e) {
		return nil
	}
	x.doc.Events++
	switch {
	case e.State == string(inbox.Received):
		x.doc.Running++
		return nil
	case e.State == string(inbox.Parked), e.Outcome == string(inbox.InReview) && len(x.raised(e)) == 0:
		return x.waits(ctx, e)
	case e.Object == "", e.Outcome == string(inbox.Cancelled), len(x.raised(e)) == 0:
		x.doc.Finished++
		return nil
	}
	return x.again(ctx, e)
}

func (x *replaying) meant(e Event) bool {
	return (x.r.Endpoint == "" || e.Endpoint == x.r.Endpoint) &&
		(x.r.Object == "" || e.Object == x.r.Object) &&
		(x.recipe == "" || slices.ContainsFunc(e.Recipes, func(ref string) bool { return strings.HasPrefix(ref, x.recipe+"@") }))
}

// raised are the event's recipes whose live version is higher than the event's, as they are live.
func (x *replaying) raised(e Event) (refs []inbox.RecipeRef) {
	for _, text := range e.Recipes {
		ref, err := inbox.ParseRecipeRef(text)
		if err != nil || x.recipe != "" && ref.Name != x.recipe {
			continue
		}
		if live := x.pointer.Recipes[ref.Name]; live > ref.Version {
			refs = append(refs, inbox.RecipeRef{Name: ref.Name, Version: live})
		}
	}
	return refs
}

// waits counts an event that was parked or went into review: a person has decided about it since, or must.
func (x *replaying) waits(ctx context.Context, e Event) error {
	var waiting, dismissed bool
	if e.State == string(inbox.Parked) && len(e.Operations) == 0 {
		dismissed = x.loaded[e.ID].Dismissed != nil
		waiting = !dismissed
	} else {
		all, err := x.object(ctx, e.Object)
		if err != nil {
			return err
		}
		waiting = slices.ContainsFunc(e.Operations, func(name string) bool { return all.waits[name] })
		dismissed = slices.ContainsFunc(e.Operations, func(name string) bool { return all.dismissed[name] })
	}
	switch {
	case waiting:
		x.doc.Waiting++
	case dismissed:
		x.doc.Dismissed++
	default:
		x.doc.Finished++
	}
	return nil
}

// standings are what is kept of an object, as far as a replay asks.
type standings struct {
	newest    map[string]object.Rank // by the name of the recipe
	states    map[string]operation.State
	waits     map[string]bool // operations that wait for a person
	dismissed map[string]bool // that failed, and that a person took off the list
}

// object reads what is kept of an object, once a page.
func (x *replaying) object(ctx context.Context, name string) (standings, error) {
	if known, ok := x.known[name]; ok {
		return known, nil
	}
	id, err := object.ParseID(name)
	if err != nil {
		return standings{}, err
	}
	ops, _, results, err := x.c.d.Store.Object(ctx, x.scope, id)
	if err != nil {
		return standings{}, err
	}
	s := standings{newest: map[string]object.Rank{}, states: map[string]operation.State{}, waits: map[string]bool{}, dismissed: map[string]bool{}}
	for _, o := range ops {
		s.newest[o.Key.Recipe.Name] = max(s.newest[o.Key.Recipe.Name], o.Rank)
		s.states[o.Key.String()] = o.State
		s.dismissed[o.Key.String()] = o.State == operation.Failed && o.Dismissed != nil
		s.waits[o.Key.String()] = o.State == operation.Review || o.State == operation.Failed && o.Dismissed == nil && o.Category != operation.CategoryCancelled
	}
	for _, r := range results {
		s.newest[r.Recipe.Name] = max(s.newest[r.Recipe.Name], r.Rank)
	}
	x.known[name] = s
	return s, nil
}

// again opens a settled event under the recipes that were raised, as far as it is the newest of its object.
func (x *replaying) again(ctx context.Context, e Event) error {
	all, err := x.object(ctx, e.Object)
	if err != nil {
		return err
	}
	raised := slices.DeleteFunc(x.raised(e), func(ref inbox.RecipeRef) bool { return all.newest[ref.Name].Newer(object.Rank(e.Rank)) })
	if len(raised) == 0 {
		x.doc.Finished++
		return nil
	}
	ev := x.loaded[e.ID]
	b, err := x.estimate(ctx, ev, raised)
	if err != nil {
		return err
	}
	if b.unreadable {
		x.doc.Unreadable++
		return nil
	}
	if !x.r.DryRun {
		opened, err := x.open(ctx, ev, raised)
		if err != nil {
			return err
		}
		if !opened {
			x.doc.Running++
			return nil
		}
	}
	x.runs--
	x.doc.WouldRun++
	x.doc.Calls, x.doc.CostUSD = x.doc.Calls+b.calls, x.doc.CostUSD+b.cost
	return nil
}

// open records it, opens the event and sends it. It tells whether the event was opened by this: another replay may
// have been faster, and so may we, where the answer was lost. A crash before the send leaves the event open.
func (x *replaying) open(ctx context.Context, ev inbox.Event, raised []inbox.RecipeRef) (bool, error) {
	refs := slices.Clone(ev.Recipes)
	for i, ref := range refs {
		if at := slices.IndexFunc(raised, func(r inbox.RecipeRef) bool { return r.Name == ref.Name }); at >= 0 {
			refs[i] = raised[at]
		}
	}
	if err := x.c.recordNow(ctx, x.scope, "replay", Look{ID: string(ev.ID), By: x.r.By, Reason: x.r.Reason}); err != nil {
		return false, err
	}
	err := x.c.d.Store.Replay(ctx, ev.ID, ev.Recipes, refs, x.now.Add(x.c.d.OpenAge))
	if errors.Is(err, inbox.ErrStale) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if x.c.d.Work.Send(ctx, inbox.Reference{Event: ev.ID, Tenant: ev.Scope.Tenant}) == nil {
		x.doc.Sent++
	}
	return true, nil
}
