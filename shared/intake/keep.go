package intake

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"engang/shared/config"
	"engang/shared/inbox"
	"engang/shared/problem"
	"engang/shared/telemetry"
	"engang/shared/webhook"
)

// keep stores the event and acknowledges the delivery. A crash after Bodies leaves a body that nothing
// names; a crash after Receive an open event, which the sender's repeat or the reconciler sends.
func (in *Intake) keep(ctx context.Context, ev inbox.Event, raw []byte) (Reply, error) {
	var err error
	if ev.Body, err = in.Bodies.Keep(ctx, ev.ID, raw); err != nil {
		return Reply{}, fmt.Errorf("keep body of event %s: %w: %w", ev.ID, problem.ErrUnavailable, err)
	}
	receipt, err := in.Store.Receive(ctx, ev)
	if err != nil {
		return Reply{}, fmt.Errorf("store event %s: %w: %w", ev.ID, problem.ErrUnavailable, err)
	}
	ctx = context.WithoutCancel(ctx) // it is stored: a caller that hangs up, or time that is up, stops nothing now
	reply := Reply{Event: ev.ID, Type: ev.Type}
	switch receipt {
	case inbox.Accepted:
		in.lead(ctx, ev)
		in.send(ctx, ev)
		reply.Status = Accepted
	case inbox.DuplicateOpen: // perhaps never sent: the first delivery's process may have died before
		in.lead(ctx, ev)
		in.send(ctx, ev)
		in.count(ctx, ev)
		reply.Status = Duplicate
	case inbox.Duplicate:
		in.count(ctx, ev)
		reply.Status = Duplicate
	case inbox.Forgotten:
		in.drop(ctx, ev, in.Limits.Send)
		in.count(ctx, ev)
		reply.Status = Duplicate
	case inbox.Conflicting, inbox.Reread:
		if err := in.conflict(ctx, ev); err != nil {
			return Reply{}, fmt.Errorf("record conflict of event %s: %w: %w", ev.ID, problem.ErrUnavailable, err)
		}
		if receipt == inbox.Conflicting { // else the stored event's own body would go
			in.drop(ctx, ev, in.Limits.Head+in.Limits.Count) // a conflict needs neither
		}
		reply.Status = Conflict
	default:
		return Reply{}, fmt.Errorf("store event %s: unknown receipt %d", ev.ID, receipt)
	}
	return reply, nil
}

// lead makes the event the head of its object's quiet periods, unless a newer one is (W21). It comes after the
// event is stored, so that no older event is coalesced by one that is nowhere, and before it is sent. It never
// fails the delivery: without a head the older events make calls of their own.
func (in *Intake) lead(ctx context.Context, ev inbox.Event) {
	ctx, cancel := context.WithTimeout(ctx, in.Limits.Head)
	defer cancel()
	for _, h := range ev.Heads() {
		if err := in.Store.PutHead(ctx, h); err != nil {
			in.Log.WarnContext(ctx, "head of a quiet period not written", "event_id", ev.ID, "endpoint", ev.Endpoint, "recipe", h.Recipe, "err", err)
		}
	}
}

// send never fails the delivery: an event that is not sent stands in the open index, and the
// reconciler sends it.
func (in *Intake) send(ctx context.Context, ev inbox.Event) {
	ref, now := ev.Reference()
	if !now {
		return // its quiet period is longer than a message can wait: the reconciler sends it
	}
	ctx, cancel := context.WithTimeout(ctx, in.Limits.Send)
	defer cancel()
	if err := in.Queue.Send(ctx, ref); err != nil {
		in.Log.ErrorContext(ctx, "event not sent, left to the reconciler", "event_id", ev.ID, "endpoint", ev.Endpoint, "err", err)
		telemetry.MeasureEndpoint(ctx, in.Log, ev.Endpoint, telemetry.Count("SendFailed", 1))
	}
}

// drop takes back a body that nothing names: of an event that was erased, or of a delivery in conflict with the stored
// one. It never fails the delivery: the bucket's own rule removes what is left.
func (in *Intake) drop(ctx context.Context, ev inbox.Event, limit time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := in.Bodies.Drop(ctx, ev.Body); err != nil {
		in.Log.ErrorContext(ctx, "body that nothing names not dropped", "event_id", ev.ID, "endpoint", ev.Endpoint, "err", err)
	}
}

// count never fails the delivery: a duplicate that is not counted is a duplicate all the same.
func (in *Intake) count(ctx context.Context, ev inbox.Event) {
	if ev.CaughtUp {
		return // nobody delivered it
	}
	ctx, cancel := context.WithTimeout(ctx, in.Limits.Count)
	defer cancel()
	if err := in.Store.CountSeen(ctx, ev.ID, ev.ReceivedAt); err != nil {
		in.Log.WarnContext(ctx, "duplicate not counted", "event_id", ev.ID, "endpoint", ev.Endpoint, "err", err)
	}
}

// conflict must be recorded before it is acknowledged: nothing else would ever show it to a person.
func (in *Intake) conflict(ctx context.Context, ev inbox.Event) error {
	ctx, cancel := context.WithTimeout(ctx, in.Limits.Send)
	defer cancel()
	return in.Store.RecordConflict(ctx, inbox.Conflict{Event: ev.ID, Digest: ev.Digest, At: ev.ReceivedAt, DeliveryID: ev.DeliveryID})
}

// unlessUnknown keeps an unknown name apart from a configuration that cannot be read.
func unlessUnknown(err error) error {
	if errors.Is(err, config.ErrUnknown) {
		return err
	}
	return fmt.Errorf("look up endpoint: %w: %w", problem.ErrUnavailable, err)
}

// metrics by what was answered; a ping is "Pong".
var metrics = map[string]string{Accepted: "Accepted", Duplicate: "Duplicate", Conflict: "Conflict", Ignored: "Ignored"}

func metricOf(r Reply, err error) string {
	switch {
	case err == nil && metrics[r.Status] != "":
		return metrics[r.Status]
	case err == nil:
		return "Pong"
	case problem.Of(err, "").Status >= http.StatusInternalServerError:
		return "Unavailable"
	case errors.Is(err, webhook.ErrSignature), errors.Is(err, webhook.ErrTimestamp), errors.Is(err, webhook.ErrSource):
		return "SignatureRefused"
	}
	return "Refused"
}
