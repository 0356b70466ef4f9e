package control

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"engang/shared/config"
	"engang/shared/inbox"
	"engang/shared/object"
)

// maxShown is how much content one answer holds, so that it fits into what a function may answer (6 MB, of which
// base64 takes a third). One body alone may be larger, up to what an endpoint takes.
const maxShown = 2 << 20

// An Exporting asks for everything that is held of an object.
type Exporting struct {
	Object object.ID
	By     string
	Reason string
	After  string // where an export goes on: Next of the answer before
}

// An Export is one page of everything that is held of an object. Purposes and recipients stand on the first;
// operations come before results, results before events, and what was done to it comes last.
type Export struct {
	Kind        string          `json:"kind"` // "export"
	Object      string          `json:"object"`
	Tenant      string          `json:"tenant"`
	Environment string          `json:"environment"`
	At          time.Time       `json:"at"`
	By          string          `json:"by"`
	Reason      string          `json:"reason"`
	Purposes    []Purpose       `json:"purposes"`
	Recipients  []Recipient     `json:"recipients"`
	Operations  []HeldOperation `json:"operations"`
	Results     []HeldResult    `json:"results"`
	Events      []HeldEvent     `json:"events"` // the newest first
	Acts        []Act           `json:"acts"`   // on it, its operations and its events, the newest first
	Next        string          `json:"next"`   // asks for the page behind this one; empty at the end
}

// A Purpose is what an object's data is used for: a recipe, and what of a payload goes into it.
type Purpose struct {
	Recipe string   `json:"recipe"` // with its version
	Fields []string `json:"fields"` // of the input, which is all that leaves the account; none where the recipe is not known any more
}

// A Recipient is who was sent data of the object.
type Recipient struct {
	Name   string   `json:"name"` // "openai"
	Models []string `json:"models"`
	Calls  int      `json:"calls"` // that were begun, or may have been
}

// A HeldEvent is an event with the exact body of its first delivery.
type HeldEvent struct {
	Event Event  `json:"event"`
	Body  []byte `json:"body_base64,omitempty"` // missing where none is kept
}

// A HeldOperation is an operation with its output.
type HeldOperation struct {
	Operation Operation       `json:"operation"`
	Output    json.RawMessage `json:"output,omitempty"`
}

// A HeldResult is a result with its output.
type HeldResult struct {
	Result Result          `json:"result"`
	Output json.RawMessage `json:"output,omitempty"`
}

// The stages of an export.
const (
	stageOperations = ""
	stageResults    = "results"
	stageOlder      = "older" // events further back than the walk goes
	stageEvents     = "events"
	stageActs       = "acts"
)

// Export shows everything that is held of an object: its events with their bodies, operations with attempts,
// decisions and outputs, results, what it is used for and who was sent something of it. It takes several
// calls, one page each, until Next is empty. It is recorded before anything is shown, once.
//
// It returns [problem.ErrIdentity], [ErrReason], [ErrCursor].
func (c *Control) Export(ctx context.Context, scope object.Scope, in Exporting) (Export, error) {
	if err := answerable(in.By, in.Reason); err != nil {
		return Export{}, err
	}
	j, err := c.begin(errand{scope, "export", in.Object.String(), in.By}, in.After)
	if err != nil {
		return Export{}, err
	}
	if err := c.recordJourney(ctx, j, in.Reason); err != nil {
		return Export{}, err
	}
	doc := Export{
		Kind: "export", Object: in.Object.String(), Tenant: scope.Tenant, Environment: scope.Environment, At: j.At, By: in.By, Reason: in.Reason,
		Purposes: []Purpose{}, Recipients: []Recipient{}, Operations: []HeldOperation{}, Results: []HeldResult{}, Events: []HeldEvent{}, Acts: []Act{},
	}
	x := &exporter{Control: c, scope: scope, id: in.Object, journey: j, doc: &doc}
	if err := x.page(ctx, in.After == ""); err != nil {
		return Export{}, fmt.Errorf("export %s: %w", in.Object, err)
	}
	return doc, nil
}

// An exporter makes one page of an export.
type exporter struct {
	*Control
	scope   object.Scope
	id      object.ID
	journey journey
	doc     *Export
	shown   int // bytes of content on the page
	any     bool
}

// page goes from stage to stage until the page is full.
func (x *exporter) page(ctx context.Context, first bool) error {
	all, err := x.collect(ctx, x.scope, x.id)
	if err != nil {
		return err
	}
	if first {
		if err := x.head(ctx, all); err != nil {
			return err
		}
	}
	for {
		full, next := false, ""
		switch x.journey.Stage {
		case stageOperations:
			full, next = x.operations(all), stageResults
		case stageResults:
			full, next = x.results(all), stageOlder
		case stageOlder:
			full, err = x.older(ctx, all)
			next = stageEvents
		case stageEvents:
			full, err = x.events(ctx)
			next = stageActs
		case stageActs:
			full, err = x.acts(ctx)
		default:
			return ErrCursor
		}
		switch {
		case err != nil:
			return err
		case full:
			x.doc.Next, err = x.journey.cursor()
			return err
		case next == "":
			return nil
		}
		x.journey.Stage, x.journey.Index, x.journey.Place = next, 0, ""
	}
}

// room tells whether so many bytes more fit on the page, and counts them. The first always fit.
func (x *exporter) room(n int) bool {
	if x.any && x.shown+n > maxShown {
		return false
	}
	x.any, x.shown = true, x.shown+n
	return true
}

func (x *exporter) operations(all collection) (full bool) {
	for _, o := range all.ops[min(x.journey.Index, len(all.ops)):] {
		if !x.room(len(o.Output)) {
			return true
		}
		x.doc.Operations = append(x.doc.Operations, HeldOperation{operationOf(o, all.losing, all.results), o.Output})
		x.journey.Index++
	}
	return false
}

func (x *exporter) results(all collection) (full bool) {
	for _, r := range all.results[min(x.journey.Index, len(all.results)):] {
		if !x.room(len(r.Output)) {
			return true
		}
		x.doc.Results = append(x.doc.Results, HeldResult{resultOf(r), r.Output})
		x.journey.Index++
	}
	return false
}

// older shows events that the walk does not reach and work still names.
func (x *exporter) older(ctx context.Context, all collection) (full bool, err error) {
	ids := all.named()
	for _, id := range ids[min(x.journey.Index, len(ids)):] {
		e, doc, there, err := x.whole(ctx, id)
		if err != nil {
			return false, err
		}
		if there && e.Object == x.id && e.ReceivedAt.Before(x.journey.At.Add(-reach)) {
			if full, err := x.event(ctx, e, doc); full || err != nil {
				return full, err
			}
		}
		x.journey.Index++
	}
	return false, nil
}

// events walks through the events that may be of the object.
func (x *exporter) events(ctx context.Context) (full bool, err error) {
	w, err := x.walkAll(x.scope, x.journey)
	if err != nil {
		return false, err
	}
	for {
		x.journey.Place = cmp.Or(w.cursor(), x.journey.Place)
		listed, ok, err := w.next(ctx)
		if err != nil {
			return false, err
		}
		if !ok {
			x.journey.Place = w.cursor()
			return x.journey.Place != "", nil
		}
		if listed.Object != x.id.String() {
			continue
		}
		e, doc, there, err := x.whole(ctx, inbox.EventID(listed.ID))
		if err != nil {
			return false, err
		}
		if !there {
			continue
		}
		if full, err := x.event(ctx, e, doc); full || err != nil {
			return full, err
		}
	}
}

// event shows an event, unless the page has no room for its body.
func (x *exporter) event(ctx context.Context, e inbox.Event, doc Event) (full bool, err error) {
	if !x.room(e.Body.Bytes) {
		return true, nil
	}
	held := HeldEvent{Event: doc}
	if e.Body.Key != "" || len(e.Body.Packed) > 0 {
		if held.Body, err = x.d.Bodies.Read(ctx, e.Body); err != nil && !errors.Is(err, ErrGone) {
			return false, err
		}
	}
	x.doc.Events = append(x.doc.Events, held)
	return false, nil
}

// head says what the object is used for, and who was sent something of it.
func (x *exporter) head(ctx context.Context, all collection) error {
	providers := map[inbox.RecipeRef]string{}
	for _, o := range all.ops {
		ref := o.Key.Recipe
		if _, known := providers[ref]; !known {
			purpose, provider, err := x.purpose(ctx, ref)
			if err != nil {
				return err
			}
			providers[ref] = provider
			x.doc.Purposes = append(x.doc.Purposes, purpose)
		}
		for _, a := range attempts(o, all.losing) {
			if a.Called == nil || *a.Called { // where nobody knows, it may have been sent
				x.sent(providers[ref], cmp.Or(a.Model, a.ModelAsked))
			}
		}
	}
	return nil
}

// purpose is what a recipe uses of a payload, and whose model it asks.
func (x *exporter) purpose(ctx context.Context, ref inbox.RecipeRef) (Purpose, string, error) {
	p := Purpose{Recipe: ref.String(), Fields: []string{}}
	compiled, err := x.d.Endpoints.Recipe(ctx, x.scope, ref)
	if errors.Is(err, config.ErrUnknown) {
		return p, unknownProvider, nil
	}
	if err != nil {
		return p, "", err
	}
	p.Fields = slices.Sorted(maps.Keys(compiled.Recipe().Input.Fields))
	return p, compiled.Recipe().Model.Provider, nil
}

const unknownProvider = "unknown"

// sent counts a call of a provider's model.
func (x *exporter) sent(provider, model string) {
	i := slices.IndexFunc(x.doc.Recipients, func(r Recipient) bool { return r.Name == provider })
	if i < 0 {
		i = len(x.doc.Recipients)
		x.doc.Recipients = append(x.doc.Recipients, Recipient{Name: provider, Models: []string{}})
	}
	r := &x.doc.Recipients[i]
	r.Calls++
	if model != "" && !slices.Contains(r.Models, model) {
		r.Models = append(r.Models, model)
	}
}
