package control_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"engang/shared/audit"
	"engang/shared/config"
	"engang/shared/control"
	"engang/shared/document"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/recipe"
	"engang/shared/recipe/compiled"
)

// A counter is a table with a review list, in which others may act between a look and a write.
type counter struct {
	*memory
	between func(d *counter) // runs once, before the next decisive write
	ahead   func(d *counter) // runs once, before the next look at an event
	writes  []string
	unread  error // answers every look at an event
	lost    error // answers every decisive write, which has taken effect
	acts    int
	days    *int                // that results are kept; nil: 400
	groups  map[string][]string // who decides, by recipe
}

func newCounter() *counter { return &counter{memory: newMemory()} }

func (d *counter) control() *control.Control {
	return control.New(control.Deps{Store: d, Endpoints: d, Bodies: d, Now: func() time.Time { return noon }, NewID: func() string {
		d.acts++
		return fmt.Sprint("act-", d.acts)
	}})
}

// before lets others act, and notes the write.
func (d *counter) before(write string) {
	d.writes = append(d.writes, write)
	if act := d.between; act != nil {
		d.between = nil
		act(d)
	}
}

// at finds a stored operation by its key.
func (d *counter) at(k operation.Key) *operation.Operation {
	for i := range d.ops {
		if d.ops[i].Key == k {
			return &d.ops[i]
		}
	}
	return &operation.Operation{Key: k}
}

func decision(by, note string, at time.Time) *operation.Decision {
	return &operation.Decision{By: by, At: at, Note: note}
}

func (d *counter) Approve(_ context.Context, a operation.Approval) error {
	d.before("approve")
	o := d.at(a.Seen.Key)
	if o.State != operation.Review || o.Digest != a.Seen.Digest || o.Rank != a.Seen.Rank {
		return &operation.RefusedError{Stored: *o}
	}
	at := slices.IndexFunc(d.results, func(r operation.Result) bool { return r.Object == o.Key.Object && r.Recipe == o.Key.Recipe })
	if at >= 0 && !o.Rank.Newer(d.results[at].Rank) {
		return operation.ErrNewerResult
	}
	o.State, o.Decision, o.WriteID, o.ExpiresAt, o.QueuedAt = operation.Completed, decision(a.By, a.Note, a.Now), a.WriteID, a.ExpiresAt, time.Time{}
	res := operation.Result{Scope: o.Key.Scope, Object: o.Key.Object, Recipe: o.Key.Recipe, Rank: o.Rank, Operation: o.Key, Event: o.Event, Output: o.Output, Digest: o.Digest, At: a.Now, ExpiresAt: a.ResultExpiresAt}
	if at < 0 {
		d.results = append(d.results, res)
	} else {
		d.results[at] = res
	}
	return d.lost
}

func (d *counter) Reject(_ context.Context, r operation.Rejection) error {
	d.before("reject")
	o := d.at(r.Key)
	if o.State != operation.Review || o.Digest != r.Digest {
		return &operation.RefusedError{Stored: *o}
	}
	o.State, o.Decision, o.WriteID, o.QueuedAt = operation.Rejected, decision(r.By, r.Note, r.Now), r.WriteID, time.Time{}
	return d.lost
}

func (d *counter) SetAside(_ context.Context, s operation.SettingAside) error {
	d.before("set aside")
	o := d.at(s.Key)
	if o.State != operation.Review || o.Rank != s.Rank {
		return &operation.RefusedError{Stored: *o}
	}
	o.State, o.WriteID, o.ExpiresAt, o.QueuedAt = operation.Superseded, s.WriteID, s.ExpiresAt, time.Time{}
	return d.lost
}

func (d *counter) Dismiss(_ context.Context, m operation.Dismissal) error {
	d.before("dismiss")
	o := d.at(m.Key)
	e, kept := d.events[m.Event]
	waits := e.State == inbox.Parked && len(e.Operations) > 0 && e.Dismissed == nil
	switch {
	case o.State != operation.Failed || o.QueuedAt.IsZero() || o.Token != m.Token || o.Event != m.Event:
		return &operation.RefusedError{Stored: *o}
	case !m.EventGone && (!kept || e.Generation != m.Generation), m.WithEvent && !waits:
		return fmt.Errorf("event %s: %w", m.Event, inbox.ErrStale)
	case m.Beside != nil && !d.at(*m.Beside).Needs(m.Event):
		return &operation.RefusedError{Stored: *d.at(*m.Beside)}
	}
	o.Dismissed, o.WriteID, o.ExpiresAt, o.QueuedAt = decision(m.By, m.Note, m.Now), m.WriteID, m.ExpiresAt, time.Time{}
	if m.WithEvent {
		e.Dismissed, e.ExpiresAt = &inbox.Dismissed{By: m.By, At: m.Now, Note: m.Note}, m.EventExpiresAt
		d.events[m.Event] = e
	}
	return d.lost
}

// Event reads an event, before which others may act as well.
func (d *counter) Event(ctx context.Context, id inbox.EventID) (inbox.Event, error) {
	if act := d.ahead; act != nil {
		d.ahead = nil
		act(d)
	}
	if d.unread != nil {
		return inbox.Event{}, d.unread
	}
	return d.memory.Event(ctx, id)
}

func (d *counter) DismissEvent(_ context.Context, m inbox.Dismissal) error {
	d.before("dismiss event")
	dismissed := &inbox.Dismissed{By: m.By, At: m.Now, Note: m.Note}
	for i, x := range d.conflicts[m.Event] {
		if m.Conflict != "" && x.Digest == m.Conflict && x.Dismissed == nil {
			d.conflicts[m.Event][i].Dismissed = dismissed
			return d.lost
		}
	}
	e, ok := d.events[m.Event]
	if !ok || m.Conflict != "" || e.State != inbox.Parked || e.Dismissed != nil || len(e.Operations) > 0 || e.Generation != m.Generation {
		return fmt.Errorf("dismiss event %s: %w", m.Event, inbox.ErrStale)
	}
	e.Dismissed, e.ExpiresAt = dismissed, m.ExpiresAt
	d.events[m.Event] = e
	return d.lost
}

// Reviews pages through what waits by the time since when it does, as the index does.
func (d *counter) Reviews(_ context.Context, after string, limit int) (page []operation.Waiting, next string, err error) {
	type entry struct {
		key string
		w   operation.Waiting
	}
	var all []entry
	add := func(w operation.Waiting, name string) {
		all = append(all, entry{fmt.Sprintf("%013d#%s", w.Since.UnixMilli(), name), w})
	}
	for _, o := range d.ops {
		if !o.QueuedAt.IsZero() {
			key := o.Key
			add(operation.Waiting{Operation: &key, Since: o.QueuedAt}, key.Scope.String()+key.String())
		}
	}
	for id, e := range d.events {
		if e.State == inbox.Parked && len(e.Operations) == 0 && e.Dismissed == nil {
			add(operation.Waiting{Event: id, Since: e.EndedAt}, string(id))
		}
		for _, x := range d.conflicts[id] {
			if x.Dismissed == nil {
				add(operation.Waiting{Event: id, Conflict: x.Digest, Since: x.At}, string(id)+x.Digest)
			}
		}
	}
	slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	for _, e := range all {
		if e.key <= after {
			continue
		}
		if len(page) == limit {
			return page, next, nil
		}
		page, next = append(page, e.w), e.key
	}
	return page, "", nil
}

// Recipe is one that does nothing much, with the groups that decide about it.
func (d *counter) Recipe(_ context.Context, _ object.Scope, ref inbox.RecipeRef) (*compiled.Recipe, error) {
	by, ok := d.groups[ref.Name]
	if !ok {
		return nil, config.ErrUnknown
	}
	name, err := document.ParsePointer("/name")
	if err != nil {
		return nil, err
	}
	return compiled.New(recipe.Recipe{
		Name: ref.Name, Version: ref.Version, Policy: recipe.PolicyDraft, Instructions: "Say what it is.",
		Input:  recipe.Fields{Fields: map[string]recipe.Field{"name": {From: &name}}},
		Model:  recipe.Model{Provider: "openai", Name: "gpt-5.4-mini-2026-03-17", Mode: "direct", Options: recipe.Options{MaxOutputTokens: 100}},
		Output: recipe.Output{Name: "out", Schema: []byte(`{"type":"object","additionalProperties":false,"required":["a"],"properties":{"a":{"type":"string"}}}`)},
		Review: &recipe.Review{By: by},
	})
}

// Common keeps deliveries for less long than what was made of them.
func (d *counter) Common(context.Context, object.Scope) (config.Common, error) {
	results := 400
	if d.days != nil {
		results = *d.days
	}
	return config.Common{EventDays: 30, ResultDays: results}, nil
}

// trailOf is the audit log in short.
func (d *counter) trailOf() (acts []string) {
	for _, e := range d.trail {
		acts = append(acts, fmt.Sprintf("%s %s: %s of %s because %s", e.ID, e.By, e.Act, e.Target, e.Reason))
	}
	return acts
}

// Audit keeps an act once by its time and id, as the table does.
func (d *counter) Audit(ctx context.Context, e audit.Entry) error {
	if have, ok := d.recorded(e); ok && have.Same(e) {
		return d.noAudit
	}
	return d.memory.Audit(ctx, e)
}

var errDown = errors.New("no answer from the store")
