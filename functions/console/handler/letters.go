package handler

import (
	"context"
	"time"

	"engang/shared/control"
	"engang/shared/inbox"
	"engang/shared/queue"
)

func (h *Handler) letters(ctx context.Context, c call) (any, error) {
	if err := known(c, "tenant", "environment", "after"); err != nil {
		return nil, err
	}
	return h.desk.Letters(ctx, named(c), c.query.Get("after"))
}

func (h *Handler) tidy(ctx context.Context, c call) (any, error) {
	var in struct {
		Native bool   `json:"native"`
		After  string `json:"after"`
		Reason string `json:"reason"`
	}
	if err := act(c, &in); err != nil {
		return nil, err
	}
	return h.desk.Tidy(ctx, named(c), control.Tidying{Native: in.Native, After: in.After, By: c.caller, Reason: in.Reason})
}

// letters is the dead-letter queue as the use case sees it.
type letters struct{ queue *queue.Queue }

// Peek looks at letters, which stay in the queue.
func (l letters) Peek(ctx context.Context, limit int, hide time.Duration) ([]inbox.Letter, bool, error) {
	found, more, err := l.queue.Peek(ctx, limit, hide)
	return found, more, reached(err)
}

// Return makes letters visible again.
func (l letters) Return(ctx context.Context, handles []string) error {
	return reached(l.queue.Return(ctx, handles))
}

// Delete removes letters.
func (l letters) Delete(ctx context.Context, handles []string) error {
	return reached(l.queue.Delete(ctx, handles))
}
