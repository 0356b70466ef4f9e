package control

import (
	"context"
	"errors"
	"slices"
	"strings"

	"engang/shared/inbox"
	"engang/shared/lifecycle"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/problem"
)

// An EventFilter chooses events. An empty field chooses all.
type EventFilter struct {
	Endpoint   string
	Type       string
	Object     string // "product:794"
	State      string // of the event, or how it was settled
	EventID    string // as the sender knows it, or a delivery's id
	Duplicates bool   // only those that were delivered again
}

// EventStates are the words that [EventFilter].State takes: the states of an event, and how it was settled.
func EventStates() []string {
	words := names(inbox.Lifecycle.States)
	for _, o := range []inbox.Outcome{inbox.Completed, inbox.Superseded, inbox.InReview, inbox.Rejected, inbox.Coalesced, inbox.Split, inbox.NoRecipe, inbox.Cancelled} {
		words = append(words, string(o))
	}
	return words
}

// OperationStates are the words that [OperationFilter].State takes.
func OperationStates() []string { return names(operation.Lifecycle.States) }

// Categories are the words that [OperationFilter].Category takes.
func Categories() []string {
	return []string{
		string(operation.CategoryTransient), string(operation.CategoryProviderPaused), string(operation.CategoryInvalidInput),
		string(operation.CategoryUnusableOutput), string(operation.CategoryConfiguration), string(operation.CategoryBug),
		string(operation.CategorySpendLimit), string(operation.CategoryCancelled),
	}
}

func names[S ~string](states []lifecycle.State[S]) []string {
	list := make([]string, len(states))
	for i, s := range states {
		list[i] = string(s.Name)
	}
	return list
}

// oneOf refuses a word that nothing can have: an empty list would look as if there was nothing of it.
func oneOf(parameter, word string, words []string) error {
	if word == "" || slices.Contains(words, word) {
		return nil
	}
	return &problem.QueryError{Parameter: parameter, Want: "one of " + strings.Join(words, ", ")}
}

func (f EventFilter) fits(e Event) bool {
	return (f.Endpoint == "" || f.Endpoint == e.Endpoint) &&
		(f.Type == "" || f.Type == e.Type) &&
		(f.Object == "" || f.Object == e.Object) &&
		(f.State == "" || f.State == e.State || f.State == e.Outcome) &&
		(f.EventID == "" || f.EventID == e.EventID || f.EventID == e.DeliveryID) &&
		(!f.Duplicates || e.Deliveries > 1)
}

// Events lists what was taken, the newest first. A page may be shorter than asked for, even empty,
// with more behind it: only an empty next is the end. A state that there is not is a [problem.QueryError].
func (c *Control) Events(ctx context.Context, scope object.Scope, f EventFilter, span Span) (List[Event], error) {
	none := List[Event]{Items: []Event{}}
	if err := oneOf("state", f.State, EventStates()); err != nil {
		return none, err
	}
	span = span.complete(c.d.Now())
	w, err := c.walk(scope, span)
	if err != nil {
		return none, err
	}
	return gather(ctx, w, span.Limit, func(_ context.Context, e Event) ([]Event, error) {
		if !f.fits(e) {
			return nil, nil
		}
		return []Event{e}, nil
	})
}

// An OperationFilter chooses operations. An empty field chooses all.
type OperationFilter struct {
	Recipe   string // "product-card", or with a version
	State    string
	Category string
	Object   string
}

func (f OperationFilter) fits(o Operation) bool {
	name, _, _ := strings.Cut(o.Recipe, "@")
	return (f.Recipe == "" || f.Recipe == o.Recipe || f.Recipe == name) &&
		(f.State == "" || f.State == o.State) &&
		(f.Category == "" || f.Category == o.Category) &&
		(f.Object == "" || f.Object == o.Object)
}

// Operations lists work, that of the newest event first. An operation stands where the newest event
// stands that it works for, so that each is listed once, however many events asked for it.
//
// It goes through the events of the span and reads each object once a page; pages are as those of
// [Control.Events], and may be longer than asked for by what works for the last event. A state or category
// that there is not is a [problem.QueryError].
func (c *Control) Operations(ctx context.Context, scope object.Scope, f OperationFilter, span Span) (List[Operation], error) {
	none := List[Operation]{Items: []Operation{}}
	if err := errors.Join(oneOf("state", f.State, OperationStates()), oneOf("category", f.Category, Categories())); err != nil {
		return none, err
	}
	span = span.complete(c.d.Now())
	w, err := c.walk(scope, span)
	if err != nil {
		return none, err
	}
	known := map[string]collection{}
	return gather(ctx, w, span.Limit, func(ctx context.Context, e Event) ([]Operation, error) {
		ops, err := c.askedBy(ctx, scope, e, known)
		return slices.DeleteFunc(ops, func(o Operation) bool { return !f.fits(o) }), err
	})
}

// A collection is all that is kept of one object.
type collection struct {
	ops     []operation.Operation
	losing  []operation.Losing
	results []operation.Result
}

// askedBy gives the operations of the event's object that work for this event.
func (c *Control) askedBy(ctx context.Context, scope object.Scope, e Event, known map[string]collection) ([]Operation, error) {
	if e.Object == "" {
		return nil, nil
	}
	all, ok := known[e.Object]
	if !ok {
		id, err := object.ParseID(e.Object)
		if err != nil {
			return nil, err
		}
		if all, err = c.collect(ctx, scope, id); err != nil {
			return nil, err
		}
		known[e.Object] = all
	}
	var out []Operation
	for _, o := range all.ops {
		if string(o.Event) == e.ID {
			doc, err := c.owned(ctx, o, operationOf(o, all.losing, all.results))
			if err != nil {
				return nil, err
			}
			doc.Events, doc.Deliveries = []string{e.ID}, e.Deliveries
			out = append(out, doc)
		}
	}
	return out, nil
}

func (c *Control) collect(ctx context.Context, scope object.Scope, id object.ID) (collection, error) {
	ops, losing, results, err := c.d.Store.Object(ctx, scope, id)
	if err != nil {
		return collection{}, err
	}
	slices.SortStableFunc(ops, func(a, b operation.Operation) int { return a.BegunAt.Compare(b.BegunAt) })
	return collection{ops, losing, results}, nil
}
