package handler

import (
	"context"
	"time"

	"engang/shared/dynamo"
	"engang/shared/inbox"
	"engang/shared/operation"
)

// eraser is the table as an erasure sees it.
type eraser struct{ table *dynamo.Table }

// EmptyEvent takes away what an event holds of its content.
func (e eraser) EmptyEvent(ctx context.Context, id inbox.EventID, at time.Time) error {
	return reached(e.table.EmptyEvent(ctx, id, at))
}

// DeleteWork removes what is kept of an object.
func (e eraser) DeleteWork(ctx context.Context, d operation.Deletion) (operation.Deleted, error) {
	done, err := e.table.DeleteWork(ctx, d)
	return done, reached(err)
}
