package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/problem"
)

// Show finds what an id names: an event ("evt_…"), an object ("product:794"), or an operation
// ("product:794/product-card@3/9f2c"), of which a unique beginning is enough. Since says how far back
// an object's events are looked for; zero is three days.
//
// It returns [inbox.ErrNotFound] or [operation.ErrNotFound] when there is no such thing,
// [object.ErrNoID] for what is no id, and [ErrAmbiguous].
func (c *Control) Show(ctx context.Context, scope object.Scope, id string, since time.Time) (Any, error) {
	if inbox.IsEventID(id) {
		e, err := c.event(ctx, scope, inbox.EventID(id))
		return Any{Event: &e}, err
	}
	name, ref, _, err := operation.ParseName(id)
	if err != nil {
		return Any{}, err
	}
	o, err := c.object(ctx, scope, name, since)
	if of, ok := ofRecipe(id); errors.Is(err, inbox.ErrNotFound) && ref == "" && ok {
		name, ref = of, "any"
		o, err = c.object(ctx, scope, name, since)
	}
	if err != nil && !errors.Is(err, inbox.ErrNotFound) || ref == "" {
		return Any{Object: &o}, err
	}
	var op *Operation
	if err == nil {
		op, err = pick(o.Operations, id)
	}
	if errors.Is(err, inbox.ErrNotFound) || errors.Is(err, operation.ErrNotFound) {
		if whole, bad := object.ParseID(id); bad == nil { // a sender may call an object what looks like an operation
			if o, none := c.object(ctx, scope, whole, since); none == nil {
				return Any{Object: &o}, nil
			}
		}
	}
	return Any{Operation: op}, err
}

// findLooks is how many pages one call looks through for an event, so that it ends well within the function's time.
const findLooks = 4

// Find looks an event up by the id that its sender gave it, or one of its deliveries. Where more events came since then
// than one call looks through, and it is not among the newest, that is a [problem.QueryError].
func (c *Control) Find(ctx context.Context, scope object.Scope, endpoint, eventID string, since time.Time) (Any, error) {
	// Where the sender's id is the event key, the event is found without a search, however old it is.
	if e, err := c.event(ctx, scope, inbox.NewEventID(scope, endpoint, eventID)); err == nil {
		return Any{Event: &e}, nil
	}
	span := Span{Since: since, Limit: 1}
	for range findLooks {
		list, err := c.Events(ctx, scope, EventFilter{Endpoint: endpoint, EventID: eventID}, span)
		switch {
		case err != nil:
			return Any{}, err
		case len(list.Items) > 0:
			return Any{Event: &list.Items[0]}, nil
		case list.Next == "":
			return Any{}, fmt.Errorf("event of endpoint %s by its sender's id: %w", endpoint, inbox.ErrNotFound)
		}
		span.After = list.Next
	}
	return Any{}, &problem.QueryError{Parameter: "since", Want: "a later time, since more events came than one call looks through, or the list of events by event_id, page after page,"}
}

func (c *Control) event(ctx context.Context, scope object.Scope, id inbox.EventID) (Event, error) {
	e, seen, conflicts, err := c.d.Store.Deliveries(ctx, id)
	if err == nil && e.Scope != scope {
		err = fmt.Errorf("event %s: %w", id, inbox.ErrNotFound) // it belongs to others
	}
	if err != nil {
		return Event{}, err
	}
	doc := eventOf(e, seen, conflicts)
	doc.Now, err = c.standings(ctx, scope, doc.Operations)
	return doc, err
}

// standings are those of the operations that an event names, without those that are gone.
func (c *Control) standings(ctx context.Context, scope object.Scope, names []string) (all []Standing, err error) {
	for _, name := range names {
		key, err := operation.ParseKey(scope, name)
		if err != nil {
			return nil, err
		}
		op, err := c.d.Store.Operation(ctx, key)
		switch {
		case errors.Is(err, operation.ErrNotFound):
			continue
		case err != nil:
			return nil, err
		}
		all = append(all, Standing{name, string(op.State), decisionOf(op.Decision)})
	}
	return all, nil
}

// pick finds the one operation that a name, or the beginning of one, means. A whole recipe, and a whole version of
// it, goes before one that only begins so: product-card@3 is not product-card@30.
func pick(all []Operation, name string) (*Operation, error) {
	var fit []Operation
	for _, o := range all {
		if strings.HasPrefix(o.ID, name) {
			fit = append(fit, o)
		}
	}
	if whole := slices.DeleteFunc(slices.Clone(fit), func(o Operation) bool {
		return !strings.HasPrefix(o.ID, name+"/") && !strings.HasPrefix(o.ID, name+"@")
	}); len(whole) > 0 {
		fit = whole
	}
	switch len(fit) {
	case 0:
		return nil, operation.ErrNotFound
	case 1:
		return &fit[0], nil
	}
	return nil, fmt.Errorf("%d operations: %w", len(fit), ErrAmbiguous)
}

func (c *Control) object(ctx context.Context, scope object.Scope, id object.ID, since time.Time) (Object, error) {
	span := Span{Since: since, Limit: MaxLimit}.complete(c.d.Now())
	doc := Object{Kind: "object", ID: id.String(), Tenant: scope.Tenant, Environment: scope.Environment, Since: span.Since.UTC(), Operations: []Operation{}, Results: []Result{}}
	var err error
	if doc.Events, doc.Complete, err = c.eventsOf(ctx, scope, id, span); err != nil {
		return Object{}, err
	}
	// Events come first: one that is seen settled then has its work beside it, never the other way round.
	all, err := c.collect(ctx, scope, id)
	if err != nil {
		return Object{}, err
	}
	if doc.Events, err = c.withNamed(ctx, doc.Events, all); err != nil {
		return Object{}, err
	}
	for _, o := range all.ops {
		op, err := c.owned(ctx, o, operationOf(o, all.losing, all.results))
		if err != nil {
			return Object{}, err
		}
		doc.Operations = append(doc.Operations, withEvents(op, o, all, doc.Events))
	}
	for _, r := range all.results {
		doc.Results = append(doc.Results, resultOf(r))
	}
	for _, e := range doc.Events {
		doc.Deliveries += e.Deliveries
		if doc.FirstAt == nil || e.ReceivedAt.Before(*doc.FirstAt) {
			doc.FirstAt = at(e.ReceivedAt)
		}
		if doc.LastAt == nil || e.LastSeenAt.After(*doc.LastAt) {
			doc.LastAt = e.LastSeenAt
		}
	}
	if len(doc.Events)+len(doc.Operations)+len(doc.Results) == 0 {
		return Object{}, fmt.Errorf("object %s: %w", id, inbox.ErrNotFound)
	}
	return doc, nil
}

// eventsOf finds the events of an object in a span, and tells whether these are all.
func (c *Control) eventsOf(ctx context.Context, scope object.Scope, id object.ID, span Span) (events []Event, complete bool, err error) {
	w, err := c.walk(scope, span)
	if err != nil {
		return nil, false, err
	}
	for {
		e, ok, err := w.next(ctx)
		if err != nil || !ok {
			return events, w.done, err
		}
		if e.Object == id.String() {
			events = append(events, e)
		}
	}
}

// withNamed adds older events that operations and results name. The oldest comes first.
func (c *Control) withNamed(ctx context.Context, events []Event, all collection) ([]Event, error) {
	seen := map[string]bool{}
	for _, e := range events {
		seen[e.ID] = true
	}
	var named []inbox.EventID
	name := func(id inbox.EventID) {
		if id != "" && !seen[string(id)] {
			named, seen[string(id)] = append(named, id), true
		}
	}
	for _, o := range all.ops {
		name(o.Event)
	}
	for _, r := range all.results {
		name(r.Event)
	}
	older, err := c.read(ctx, named)
	if err != nil {
		return nil, err
	}
	events = slices.Concat([]Event{}, events, older)
	slices.SortStableFunc(events, func(a, b Event) int { return a.ReceivedAt.Compare(b.ReceivedAt) })
	return events, nil
}

// withEvents adds to an operation the events that asked for it.
func withEvents(doc Operation, o operation.Operation, all collection, events []Event) Operation {
	asked := map[string]bool{string(o.Event): true}
	for _, r := range all.results {
		if r.Operation == o.Key {
			asked[string(r.Event)] = true
		}
	}
	for _, e := range events {
		if asked[e.ID] || slices.Contains(e.Operations, doc.ID) {
			doc.Events = append(doc.Events, e.ID)
			doc.Deliveries += e.Deliveries
		}
	}
	return doc
}
