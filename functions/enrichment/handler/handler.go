// Package handler is the enrichment function without its process: it decodes SQS events, has each
// message worked on, and says which must come again.
package handler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"engang/shared/enrich"
	"engang/shared/inbox"
	"engang/shared/queue"
	"engang/shared/telemetry"
)

// runner is the use case.
type runner interface {
	Run(ctx context.Context, id inbox.EventID) error
	Redriven(ctx context.Context, n inbox.Notice) error
}

// hider makes a message invisible for a while.
type hider interface {
	Hide(ctx context.Context, receiptHandle string, d time.Duration) error
}

// A Handler answers the events of the enrichment function. It is safe for concurrent use.
type Handler struct {
	runner runner
	queue  hider
	retry  time.Duration // upper bound of the wait after a failure of ours, doubling with each receive
	log    *slog.Logger
}

// Handle works on the messages side by side, so that one waiting model call does not hold up or bill
// the whole batch, and reports those that SQS must deliver again. One bad message never re-runs its neighbours.
func (h *Handler) Handle(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		ctx = telemetry.About(ctx, slog.String("request_id", lc.AwsRequestID))
	}
	again := make([]bool, len(e.Records))
	var all sync.WaitGroup
	for i, m := range e.Records {
		all.Go(func() { again[i] = !h.one(ctx, m) })
	}
	all.Wait()
	var out events.SQSEventResponse
	for i, m := range e.Records {
		if again[i] {
			out.BatchItemFailures = append(out.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
		}
	}
	return out, nil
}

// one works on a message and tells whether it is done with. Its lines say which event it is about.
func (h *Handler) one(ctx context.Context, m events.SQSMessage) (done bool) {
	start := time.Now()
	ctx = telemetry.About(ctx, slog.String("message_id", m.MessageId))
	msg, err := queue.Decode(m.Body) // what is not ours stays until the queue's own policy moves it to the dead-letter queue
	if err == nil {
		ctx = telemetry.About(ctx, slog.String("event_id", string(eventOf(msg))))
		err = h.run(ctx, m, msg)
	}
	if err == nil {
		h.log.InfoContext(ctx, "message done", "ms", time.Since(start).Milliseconds())
		return true
	}
	wait := h.wait(m, err)
	level := slog.LevelWarn
	if _, planned := errors.AsType[*enrich.Later](err); planned {
		level = slog.LevelInfo
	}
	h.log.Log(ctx, level, "message comes again", "after", wait.String(), "err", err)
	if err := h.queue.Hide(ctx, m.ReceiptHandle, wait); err != nil {
		h.log.WarnContext(ctx, "message keeps its visibility", "err", err)
	}
	return false
}

// run sends a message to the use case. A panic is a bug: it costs this message an attempt, and not its
// neighbours theirs.
func (h *Handler) run(ctx context.Context, m events.SQSMessage, msg queue.Message) (err error) {
	defer telemetry.Recover(ctx, h.log, &err, slog.String("message_id", m.MessageId))
	if msg.Notice != nil {
		return h.runner.Redriven(ctx, *msg.Notice)
	}
	return h.runner.Run(ctx, msg.Event)
}

// eventOf is the event that a message is about.
func eventOf(msg queue.Message) inbox.EventID {
	if msg.Notice != nil {
		return msg.Notice.Event
	}
	return msg.Event
}

// wait is how long a message stays away: what the work asks for, else a random time below a bound that
// doubles with each receive.
func (h *Handler) wait(m events.SQSMessage, err error) time.Duration {
	if later, ok := errors.AsType[*enrich.Later](err); ok {
		return later.After
	}
	bound := h.retry << min(receives(m), 6)
	return time.Duration(rand.Float64() * float64(bound))
}

func receives(m events.SQSMessage) int {
	n := 0
	if _, err := fmt.Sscan(m.Attributes["ApproximateReceiveCount"], &n); err != nil || n < 0 {
		return 0
	}
	return n
}
