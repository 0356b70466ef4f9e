package dynamo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
)

// RecordLosing records the attempt of a worker that was fenced after its call, beside the operation
// (W15). It is recorded once, however often it is given.
func (t *Table) RecordLosing(ctx context.Context, k operation.Key, a operation.Attempt) error {
	text, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("record losing attempt of operation %s: %w", k, err)
	}
	err = t.put(ctx, putLosing, losingKey(k, a.ID), item{"att": str(string(text))}, nil)
	if _, refused := errors.AsType[*refusal](err); err != nil && !refused {
		return fmt.Errorf("record losing attempt of operation %s: %w", k, err)
	}
	return nil
}

func readLosing(it item) (operation.Losing, error) {
	r := &reader{it: it}
	k, _, err := readOperationKey(r.text("pk"), r.text("sk"))
	if err != nil {
		return operation.Losing{}, err
	}
	l := operation.Losing{Key: k}
	r.json("att", &l.Attempt)
	return l, r.err
}

// Result reads the result of an object under one recipe version consistently. False means that there
// is none.
func (t *Table) Result(ctx context.Context, s object.Scope, id object.ID, ref inbox.RecipeRef) (operation.Result, bool, error) {
	it, err := t.read(ctx, resultKey(s, id, ref))
	if err != nil {
		return operation.Result{}, false, fmt.Errorf("read result of %s: %w", id, err)
	}
	if len(it) == 0 {
		return operation.Result{}, false, nil
	}
	res, err := readResult(it)
	if err != nil {
		return operation.Result{}, false, fmt.Errorf("read result of %s: %w", id, err)
	}
	return res, true, nil
}

// PutResult writes a result unless one of the same or a higher rank stands (W5). It returns what stands
// then, and whether this call wrote it; after our own lost answer, what stands is what we wrote.
func (t *Table) PutResult(ctx context.Context, res operation.Result) (stored operation.Result, written bool, err error) {
	for range vanishing {
		err := t.put(ctx, putResult, resultKey(res.Scope, res.Object, res.Recipe), resultItem(res), item{":rank": str(res.Rank)})
		refused, ok := errors.AsType[*refusal](err)
		switch {
		case err == nil:
			return res, true, nil
		case !ok:
			return operation.Result{}, false, fmt.Errorf("write result of operation %s: %w", res.Operation, err)
		case len(refused.stored) == 0:
			continue
		}
		if stored, err = readResult(refused.stored); err != nil {
			return operation.Result{}, false, fmt.Errorf("write result of operation %s: %w", res.Operation, err)
		}
		return stored, false, nil
	}
	return operation.Result{}, false, fmt.Errorf("write result of operation %s: %w", res.Operation, errVanishing)
}
