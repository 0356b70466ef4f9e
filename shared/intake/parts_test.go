package intake_test

import (
	"context"
	"errors"
	"fmt"
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
	if err != nil || len(parts.Events) != 2 || parts.LeftOut != "left out of 3 events: 1 of the type company.deletion, which the endpoint ignores" {
		t.Fatalf("parts %+v, %v; want the two that are enabled", parts, err)
	}
	if p := parts.Events[0]; p.Object.String() != "contact:123" || p.Type != "contact.creation" || len(p.Recipes) != 1 || p.Batch || p.DueAt.IsZero() || !p.ReceivedAt.Equal(batch.ReceivedAt) {
		t.Errorf("part %+v", p)
	}
	again, err := w.splitter().Parts(context.Background(), batch, []byte(retry))
	if err != nil || again.Events[0].ID != parts.Events[0].ID || again.Events[0].Digest != parts.Events[0].Digest || again.Events[0].Rank != parts.Events[0].Rank {
		t.Errorf("the same part is another event on a second try: %+v, %v", again, err)
	}
	broken := strings.Replace(hubspotBatch, `"subscriptionType":"contact.creation"`, `"other":1`, 1)
	rest, err := w.splitter().Parts(context.Background(), batch, []byte(broken))
	if !errors.Is(err, inbox.ErrPart) || len(rest.Events) != 1 {
		t.Errorf("a part that is no event: %d others, %v", len(rest.Events), err)
	}
}

// What is not stored of a delivery is told with it: a type may have been enabled when it arrived, and be ignored when it is
// taken apart. What the endpoint does not name is any text, and told nobody.
func TestWhatIsLeftOutOfADeliveryIsTold(t *testing.T) {
	const event = `{"eventId":%d,"subscriptionId":11,"portalId":62515,"appId":54321,"occurredAt":1795982400000,"subscriptionType":%q,"attemptNumber":0,"objectId":%d}`
	events := map[string]config.EventRule{"a.kept": {}}
	var types []string
	for _, kind := range []string{"b", "c", "d", "e", "f", "g"} {
		events[kind+".gone"] = config.EventRule{Ignore: true}
		types = append(types, kind+".gone")
	}
	for _, tt := range []struct {
		name  string
		types []string
		want  string
	}{
		{"nothing", []string{"a.kept", "a.kept"}, ""},
		{"an ignored type", []string{"a.kept", "b.gone", "b.gone"}, "left out of 3 events: 2 of the type b.gone, which the endpoint ignores"},
		{"everything", []string{"b.gone"}, "left out of 1 events: 1 of the type b.gone, which the endpoint ignores"},
		{"types that nobody named, the most frequent first", []string{"b.gone", marker, marker + ".b"}, "left out of 3 events: 2 of types that the endpoint does not name, 1 of the type b.gone, which the endpoint ignores"},
		{"more than anybody reads", types, "left out of 6 events: 1 of the type b.gone, which the endpoint ignores, 1 of the type c.gone, which the endpoint ignores, 1 of the type d.gone, which the endpoint ignores, " +
			"1 of the type e.gone, which the endpoint ignores, 1 of the type f.gone, which the endpoint ignores, more of other types"},
	} {
		w := newWorld(t)
		w.add("hub", "hubspot", func(e *config.Endpoint) {
			e.PublicURL, e.Events = "https://hooks.example.com/hooks/hub", events
		})
		var parts []string
		for i, kind := range tt.types {
			parts = append(parts, fmt.Sprintf(event, i+1, kind, i+100))
		}
		got, err := w.splitter().Parts(t.Context(), inbox.Event{ID: "evt_1", Endpoint: "hub", ReceivedAt: now}, []byte("["+strings.Join(parts, ",")+"]"))
		if err != nil || got.LeftOut != tt.want || len(got.Events) != strings.Count(strings.Join(tt.types, " "), "a.kept") {
			t.Errorf("%s: %q, %d events, %v", tt.name, got.LeftOut, len(got.Events), err)
		}
	}
}
