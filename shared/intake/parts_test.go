package intake_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"engang/shared/config"
	"engang/shared/inbox"
	"engang/shared/intake"
	"engang/shared/webhook"
)

// splitter is what a worker uses on a batch that the world's intake has taken.
func (w *world) splitter() *intake.Splitter {
	return &intake.Splitter{Endpoints: w, Bodies: w, OpenAge: 5 * time.Minute, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return now.Add(time.Minute) }, NewID: w.NewID}
}

const hubspotBatch = `[{"eventId":1,"subscriptionId":11,"portalId":62515,"appId":54321,"occurredAt":1795982400000,"subscriptionType":"contact.creation","attemptNumber":0,"objectId":123},
 {"eventId":2,"subscriptionId":12,"portalId":62515,"appId":54321,"occurredAt":1795982400001,"subscriptionType":"contact.propertyChange","attemptNumber":0,"objectId":124,"propertyName":"email"},
 {"eventId":3,"subscriptionId":13,"portalId":62515,"appId":54321,"occurredAt":1795982400002,"subscriptionType":"company.deletion","attemptNumber":0,"objectId":9}]`

func TestADeliveryOfManyEventsIsOneBatchAndItsParts(t *testing.T) {
	w := newWorld(t)
	secret := w.add("hub", "hubspot", func(e *config.Endpoint) {
		e.PublicURL = "https://hooks.example.com/hooks/hub"
		e.Events = map[string]config.EventRule{"contact.creation": {Recipes: []string{"follow-up"}}, "contact.propertyChange": {}, "company.deletion": {Ignore: true}}
	})
	sign := func(body string) intake.Delivery {
		d := w.sign("hub", "hubspot", secret, webhook.Request{Method: "POST", URL: "https://hooks.example.com/hooks/hub", Header: http.Header{}, Body: []byte(body)})
		d.URL = "https://abc.execute-api.example.com/hooks/hub" // what stands behind the gateway
		return d
	}
	reply, err := w.deliver(sign(hubspotBatch))
	if err != nil || reply.Status != intake.Accepted {
		t.Fatalf("Deliver = %+v, %v", reply, err)
	}
	batch := w.only()
	if !batch.Batch || batch.Type != webhook.SplitType || len(batch.Recipes) != 0 || !batch.Object.IsZero() || batch.Reason != "" {
		t.Errorf("batch %+v", batch)
	}
	retry := strings.ReplaceAll(hubspotBatch, `"attemptNumber":0`, `"attemptNumber":1`)
	if reply, err := w.deliver(sign(retry)); err != nil || reply.Status != intake.Duplicate || reply.Event != batch.ID {
		t.Errorf("the sender's second try: %+v, %v", reply, err)
	}
	parts, err := w.splitter().Parts(context.Background(), batch, []byte(hubspotBatch))
	if err != nil || len(parts) != 2 {
		t.Fatalf("parts %+v, %v; want the two that are enabled", parts, err)
	}
	if p := parts[0]; p.Object.String() != "contact:123" || p.Type != "contact.creation" || len(p.Recipes) != 1 || p.Batch || p.DueAt.IsZero() || !p.ReceivedAt.Equal(batch.ReceivedAt) {
		t.Errorf("part %+v", p)
	}
	again, err := w.splitter().Parts(context.Background(), batch, []byte(retry))
	if err != nil || again[0].ID != parts[0].ID || again[0].Digest != parts[0].Digest || again[0].Rank != parts[0].Rank {
		t.Errorf("the same part is another event on a second try: %+v, %v", again, err)
	}
	broken := strings.Replace(hubspotBatch, `"subscriptionType":"contact.creation"`, `"other":1`, 1)
	rest, err := w.splitter().Parts(context.Background(), batch, []byte(broken))
	if !errors.Is(err, inbox.ErrPart) || len(rest) != 1 {
		t.Errorf("a part that is no event: %d others, %v", len(rest), err)
	}
}
