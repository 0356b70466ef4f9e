package control

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
)

// A Look asks for content. It is recorded with who asked and why, before anything is shown.
type Look struct {
	ID     string // an event for its body, an operation (a unique beginning) for its output
	By     string // the caller's identity
	Reason string
}

// Reveal shows the exact body of an event's first delivery, or the output of an operation: a result or
// a draft. If the look cannot be recorded, nothing is shown.
//
// It returns [problem.ErrIdentity] without a caller, [ErrReason] without a reason, [ErrGone] when there is no such content (any more), and the
// errors of [Control.Show].
func (c *Control) Reveal(ctx context.Context, scope object.Scope, l Look) (Content, error) {
	if err := answerable(l.By, l.Reason); err != nil {
		return Content{}, err
	}
	if inbox.IsEventID(l.ID) {
		return c.body(ctx, scope, l)
	}
	return c.output(ctx, scope, l)
}

func (c *Control) body(ctx context.Context, scope object.Scope, l Look) (Content, error) {
	e, _, _, err := c.d.Store.Deliveries(ctx, inbox.EventID(l.ID))
	if err == nil && e.Scope != scope {
		err = inbox.ErrNotFound
	}
	if err != nil {
		return Content{}, fmt.Errorf("show body of %s: %w", l.ID, err)
	}
	if e.Body.Key == "" && len(e.Body.Packed) == 0 {
		return Content{}, fmt.Errorf("show body of %s: %w", l.ID, ErrGone)
	}
	if err := c.recordNow(ctx, scope, "show body", l); err != nil {
		return Content{}, err
	}
	raw, err := c.d.Bodies.Read(ctx, e.Body)
	if err != nil {
		return Content{}, fmt.Errorf("show body of %s: %w", l.ID, err)
	}
	return Content{Kind: "body", ID: l.ID, Bytes: len(raw), Body: raw}, nil
}

func (c *Control) output(ctx context.Context, scope object.Scope, l Look) (Content, error) {
	o, _, err := c.one(ctx, scope, l.ID)
	if err != nil {
		return Content{}, fmt.Errorf("show output: %w", err)
	}
	l.ID = o.Key.String()
	if len(o.Output) == 0 {
		return Content{}, fmt.Errorf("show output of %s: %w", l.ID, ErrGone)
	}
	if err := c.recordNow(ctx, scope, "show output", l); err != nil {
		return Content{}, err
	}
	return Content{Kind: "output", ID: l.ID, Digest: digest(o.Digest), Bytes: len(o.Output), Output: json.RawMessage(o.Output)}, nil
}

// one finds the one operation that a name, or a unique beginning of one, means, with all that is kept of its
// object. The object alone is such a beginning where it has one operation.
func (c *Control) one(ctx context.Context, scope object.Scope, name string) (operation.Operation, collection, error) {
	id, ref, _, err := operation.ParseName(name)
	if err != nil {
		return operation.Operation{}, collection{}, err
	}
	all, err := c.collect(ctx, scope, id)
	if of, ok := ofRecipe(name); err == nil && len(all.ops) == 0 && ref == "" && ok {
		id = of
		all, err = c.collect(ctx, scope, id)
	}
	if err != nil {
		return operation.Operation{}, collection{}, err
	}
	docs := make([]Operation, len(all.ops))
	for i, o := range all.ops {
		docs[i].ID = o.Key.String()
	}
	found, err := pick(docs, name)
	if err != nil {
		return operation.Operation{}, collection{}, fmt.Errorf("object %s: %w", id, err)
	}
	at := slices.IndexFunc(all.ops, func(o operation.Operation) bool { return o.Key.String() == found.ID })
	return all.ops[at], all, nil
}

// ofRecipe reads "product:794/product-card", the beginning of an operation's name that stops before the version,
// and so may be the name of an object too.
func ofRecipe(name string) (object.ID, bool) {
	at := strings.LastIndexByte(name, '/')
	if at < 0 {
		return object.ID{}, false
	}
	id, err := object.ParseID(name[:at])
	return id, err == nil
}
