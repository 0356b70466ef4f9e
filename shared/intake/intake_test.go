package intake_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/config"
	"engang/shared/document"
	"engang/shared/inbox"
	"engang/shared/intake"
	"engang/shared/object"
	"engang/shared/problem"
	"engang/shared/secrets"
	"engang/shared/webhook"
)

func TestANewEventIsStoredThenSentThenAcknowledged(t *testing.T) {
	for _, tc := range []struct {
		name     string
		delivery func(*world) intake.Delivery
		want     inbox.Event // but for id, digest, rank and body
		version  string      // inside the rank
		bytes    int
	}{
		{
			name:     "of WooCommerce, by the provider's own row",
			delivery: func(w *world) intake.Delivery { return w.woo("product.updated", product) },
			want: inbox.Event{Scope: shop, Endpoint: "woo-shop", Provider: "woocommerce", Type: "product.updated",
				Object: object.ID{Kind: "product", Value: "794"}, Recipes: []inbox.RecipeRef{{Name: "product-card", Version: 3}}},
			version: "2026-11-29T19:59:58Z",
			bytes:   len(product),
		},
		{
			name:     "of Standard Webhooks, by the endpoint's own rule",
			delivery: func(w *world) intake.Delivery { return w.crm("msg_1", contact) },
			want: inbox.Event{Scope: shop, Endpoint: "crm", Provider: "standard-webhooks", Type: "contact.created", SenderID: "msg_1",
				Object: object.ID{Kind: "contact", Value: "c-17"}, Recipes: []inbox.RecipeRef{{Name: "follow-up", Version: 1}, {Name: "product-card", Version: 3}}},
			version: "12",
			bytes:   len(contact),
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			d := tc.delivery(w)
			reply, err := w.deliver(d)
			if err != nil {
				t.Fatal(err)
			}
			ev := w.only()
			if diff := cmp.Diff(intake.Reply{Status: intake.Accepted, Event: ev.ID, Type: tc.want.Type, Answer: webhook.Reply{Status: 200}}, reply); diff != "" {
				t.Errorf("reply (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"endpoint", "secrets", "keep", "receive", "send"}, w.trace); diff != "" {
				t.Errorf("acts (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"shop/" + string(ev.ID)}, w.sent); diff != "" {
				t.Errorf("sent (-want +got):\n%s", diff)
			}
			scheme, _ := webhook.Lookup(tc.want.Provider)
			doc, _ := document.Decode(d.Body)
			fact, err := scheme.Identify(d.Request, doc, webhook.Rule{}, received)
			if err != nil {
				t.Fatal(err)
			}
			want := tc.want
			want.ID = inbox.NewEventID(shop, want.Endpoint, fact.Key)
			want.Digest = fact.Digest
			want.DeliveryID = fact.DeliveryID
			want.ReceivedAt, want.DueAt = received, received.Add(5*time.Minute)
			want.State, want.WriteID = inbox.Received, "write-1"
			want.Body = inbox.Body{Packed: []byte("packed of " + string(want.ID)), Bytes: tc.bytes}
			version, _ := object.ParseVersion(tc.version)
			want.Rank = object.NewRank(version, received, fact.Key)
			if diff := cmp.Diff(want, ev); diff != "" {
				t.Errorf("event (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"Accepted " + want.Endpoint}, w.metrics()); diff != "" {
				t.Errorf("metrics (-want +got):\n%s", diff)
			}
			w.quiet(nil, d)
		})
	}
}

func TestRepeatsAreAnsweredAndCounted(t *testing.T) {
	for _, tc := range []struct {
		name  string
		state inbox.State
		trace []string
	}{
		{"of an open event, which was perhaps never sent", inbox.Received, []string{"endpoint", "secrets", "keep", "receive", "send", "count"}},
		{"of a settled event", inbox.Settled, []string{"endpoint", "secrets", "keep", "receive", "count"}},
		{"of a parked event", inbox.Parked, []string{"endpoint", "secrets", "keep", "receive", "count"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			if _, err := w.deliver(w.woo("product.updated", product)); err != nil {
				t.Fatal(err)
			}
			first := w.only()
			first.State = tc.state
			w.stored[first.ID] = first
			w.trace = nil

			reply, err := w.deliver(w.woo("product.updated", product))
			if err != nil || reply.Status != intake.Duplicate || reply.Event != first.ID {
				t.Errorf("Deliver = %+v, %v", reply, err)
			}
			if diff := cmp.Diff(tc.trace, w.trace); diff != "" {
				t.Errorf("acts (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]inbox.EventID{first.ID}, w.seen); diff != "" {
				t.Errorf("seen (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(first, w.only()); diff != "" {
				t.Errorf("the stored event was changed (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"Accepted woo-shop", "Duplicate woo-shop"}, w.metrics()); diff != "" {
				t.Errorf("metrics (-want +got):\n%s", diff)
			}
		})
	}
}

// A write id that came twice would turn a duplicate into a second acceptance.
func TestEachDeliveryHasItsOwnWriteID(t *testing.T) {
	w := newWorld(t)
	for i, body := range []string{product, strings.Replace(product, "794", "795", 1)} {
		if _, err := w.deliver(w.woo("product.updated", body)); err != nil {
			t.Fatal(i, err)
		}
	}
	ids := map[string]bool{}
	for _, ev := range w.stored {
		ids[ev.WriteID] = true
	}
	if len(ids) != 2 {
		t.Errorf("%d write ids for 2 deliveries", len(ids))
	}
}

func TestAnotherFactUnderTheSameKeyIsRecordedAndChangesNothing(t *testing.T) {
	w := newWorld(t)
	w.large = true
	if _, err := w.deliver(w.crm("msg_1", contact)); err != nil {
		t.Fatal(err)
	}
	first := w.only()
	w.trace, w.sent = nil, nil
	other := w.crm("msg_1", strings.Replace(contact, "c-17", "c-18", 1))
	reply, err := w.deliver(other)
	if err != nil || reply.Status != intake.Conflict || reply.Event != first.ID {
		t.Fatalf("Deliver = %+v, %v", reply, err)
	}
	if diff := cmp.Diff([]string{"endpoint", "secrets", "keep", "receive", "conflict", "drop"}, w.trace); diff != "" {
		t.Errorf("acts (-want +got):\n%s", diff)
	}
	if len(w.conflicts) != 1 || w.conflicts[0].Event != first.ID || w.conflicts[0].Digest == first.Digest || w.conflicts[0].Digest == "" || !w.conflicts[0].At.Equal(received) {
		t.Errorf("recorded %+v", w.conflicts)
	}
	if diff := cmp.Diff(first, w.only()); diff != "" {
		t.Errorf("the stored event was changed (-want +got):\n%s", diff)
	}

	if body := "raw/" + string(first.ID) + "/" + document.Digest(other.Body); !slices.Equal(w.dropped, []string{body}) || body == first.Body.Key {
		t.Errorf("dropped %q, and the event has %q", w.dropped, first.Body.Key)
	}

	w.fail["drop"] = errors.New("throttled")
	if reply, err := w.deliver(other); err != nil || reply.Status != intake.Conflict || !strings.Contains(w.log.String(), "not dropped") {
		t.Errorf("a body that was not dropped: %+v, %v, log %s", reply, err, w.log.String())
	}
	w.fail["conflict"] = errors.New("throttled")
	if reply, err := w.deliver(other); !errors.Is(err, problem.ErrUnavailable) {
		t.Errorf("a conflict that nobody will ever see was acknowledged: %+v, %v", reply, err)
	}
}

// How a sender is read may change with a version of ours: the same bytes are another fact then, and are still those
// that the stored event names.
func TestTheBodyOfTheStoredEventIsNeverDropped(t *testing.T) {
	w := newWorld(t)
	w.large = true
	if _, err := w.deliver(w.crm("msg_1", contact)); err != nil {
		t.Fatal(err)
	}
	first := w.only()
	first.Digest = "as a former version read it"
	w.stored[first.ID] = first
	if reply, err := w.deliver(w.crm("msg_1", contact)); err != nil || reply.Status != intake.Conflict || len(w.conflicts) != 1 || len(w.dropped) != 0 {
		t.Errorf("Deliver = %+v, %v; recorded %+v, dropped %v", reply, err, w.conflicts, w.dropped)
	}
}

func TestRefusedBeforeAnythingIsStored(t *testing.T) {
	woo := func(w *world) intake.Delivery { return w.woo("product.updated", product) }
	crm := func(w *world) intake.Delivery { return w.crm("msg_1", contact) }
	for _, tc := range []struct {
		name     string
		delivery func(*world) intake.Delivery
		change   func(*intake.Delivery)
		want     error
		status   int
		metric   string
		trace    []string
	}{
		{"an unknown endpoint", woo, func(d *intake.Delivery) { d.Endpoint = "none" }, config.ErrUnknown, 404, "Refused", []string{"endpoint"}},
		{"another method", woo, func(d *intake.Delivery) { d.Method = http.MethodPut }, problem.ErrMethod, 405, "Refused woo-shop", []string{"endpoint"}},
		// WooCommerce pings by GET after a redirect: such a method is looked at, and still no delivery.
		{"a GET that is no ping", woo, func(d *intake.Delivery) { d.Method = http.MethodGet }, problem.ErrMethod, 405, "Refused woo-shop", []string{"endpoint"}},
		// Size before secrets: nobody makes us hash megabytes, signed or not.
		{"over the function's limit", woo, func(d *intake.Delivery) { d.Body = make([]byte, 2001) }, problem.ErrTooLarge, 413, "Refused woo-shop", []string{"endpoint"}},
		{"over the endpoint's own limit", crm, func(d *intake.Delivery) { d.Body = make([]byte, 1001) }, problem.ErrTooLarge, 413, "Refused crm", []string{"endpoint"}},
		{"another body than was signed", woo, func(d *intake.Delivery) { d.Body = append(d.Body, ' ') }, webhook.ErrSignature, 401, "SignatureRefused woo-shop", askedAgain},
		{"no signature", woo, func(d *intake.Delivery) { d.Header.Del("X-WC-Webhook-Signature") }, webhook.ErrSignature, 401, "SignatureRefused woo-shop", askedAgain},
		{"another source", woo, func(d *intake.Delivery) { d.Header.Set("X-WC-Webhook-Source", "https://other.example.com/") }, webhook.ErrSource, 401, "SignatureRefused woo-shop", verified},
		{"no JSON, signed", func(w *world) intake.Delivery { return w.woo("product.updated", "webhook="+marker) }, nil, document.ErrMalformed, 400, "Refused woo-shop", verified},
		// Only who holds the secret learns that the body is no JSON.
		{"no JSON, not signed", woo, func(d *intake.Delivery) { d.Body = []byte(marker) }, webhook.ErrSignature, 401, "SignatureRefused woo-shop", askedAgain},
		{"not UTF-8", func(w *world) intake.Delivery { return w.woo("product.updated", "{\"name\":\"\xff\"}") }, nil, document.ErrMalformed, 400, "Refused woo-shop", verified},
		{"nested without end", func(w *world) intake.Delivery { return w.woo("product.updated", strings.Repeat("[", 1999)) }, nil, document.ErrMalformed, 400, "Refused woo-shop", verified},
		{"no event type", func(w *world) intake.Delivery { return w.crm("msg_1", `{"data":"`+marker+`"}`) }, nil, webhook.ErrMalformed, 400, "Refused crm", verified},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			d := tc.delivery(w)
			if tc.change != nil {
				tc.change(&d)
			}
			reply, err := w.deliver(d)
			if !errors.Is(err, tc.want) || reply.Status != "" || reply.Event != "" {
				t.Errorf("Deliver = %+v, %v; want %v", reply, err, tc.want)
			}
			if got := problem.Of(err, "").Status; got != tc.status {
				t.Errorf("status %d, want %d", got, tc.status)
			}
			if diff := cmp.Diff(tc.trace, w.trace); diff != "" {
				t.Errorf("acts (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{tc.metric}, w.metrics()); diff != "" {
				t.Errorf("metrics (-want +got):\n%s", diff)
			}
			w.quiet(err, d)
		})
	}
}

var verified = []string{"endpoint", "secrets"}

// askedAgain: no secret fits, which a rotation would explain.
var askedAgain = []string{"endpoint", "secrets", "renew", "secrets"}

func TestStaleAndFutureTimestamps(t *testing.T) {
	for _, tc := range []struct {
		name string
		off  time.Duration
		want error
	}{
		{"at the edge of the window", 300 * time.Second, nil},
		{"stale", 302 * time.Second, webhook.ErrTimestamp},
		{"from the future", -302 * time.Second, webhook.ErrTimestamp},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			d := w.crm("msg_1", contact)
			w.Now = func() time.Time { return now.Truncate(time.Second).Add(tc.off) }
			if _, err := w.deliver(d); !errors.Is(err, tc.want) {
				t.Errorf("Deliver = %v, want %v", err, tc.want)
			}
			if stored := len(w.stored) > 0; stored != (tc.want == nil) {
				t.Errorf("stored: %v", stored)
			}
		})
	}
}

// A ping has no signature, so it must not wait for secrets either; what it would be refused for is not looked at.
func TestPingIsAnsweredAndStoresNothing(t *testing.T) {
	for _, method := range []string{http.MethodPost, http.MethodGet} {
		t.Run(method, func(t *testing.T) {
			w := newWorld(t)
			w.fail["secrets"] = secrets.ErrUnusable
			reply, err := w.deliver(intake.Delivery{Endpoint: "woo-shop", Request: webhook.Request{Method: method, Header: http.Header{}, Body: []byte("webhook_id=3")}})
			if err != nil || reply.Status != "pong" || reply.Event != "" {
				t.Errorf("Deliver = %+v, %v", reply, err)
			}
			if diff := cmp.Diff([]string{"endpoint"}, w.trace); diff != "" {
				t.Errorf("acts (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"Pong woo-shop"}, w.metrics()); diff != "" {
				t.Errorf("metrics (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTypesThatAreNotEnabledAreCountedAndNotStored(t *testing.T) {
	for _, tc := range []struct{ name, topic, shown string }{
		{"ignored on purpose", "product.deleted", "product.deleted"},
		{"never heard of", "order.created", ""}, // its text is the sender's: it stays out of our log
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			reply, err := w.deliver(w.woo(tc.topic, product))
			if diff := cmp.Diff(intake.Reply{Status: intake.Ignored, Type: tc.shown, Answer: webhook.Reply{Status: 200}}, reply); err != nil || diff != "" {
				t.Errorf("%v, reply (-want +got):\n%s", err, diff)
			}
			if diff := cmp.Diff(verified, w.trace); diff != "" {
				t.Errorf("acts (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"Ignored woo-shop"}, w.metrics()); diff != "" {
				t.Errorf("metrics (-want +got):\n%s", diff)
			}
		})
	}
}

var errThrottled = errors.New("throttled")

func TestWhatIsNotKnownToBeStoredIsNotAcknowledged(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*world)
		trace  []string
		metric string
	}{
		{"the configuration cannot be read", func(w *world) { w.fail["endpoint"] = errThrottled }, []string{"endpoint"}, "Unavailable"},
		{"what is configured is damaged", func(w *world) { w.fail["endpoint"] = config.ErrUnreadable }, []string{"endpoint"}, "Unavailable"},
		{"the provider is one of a later version", func(w *world) { w.endpoints["woo-shop"] = config.Endpoint{Name: "woo-shop", Provider: "later"} }, []string{"endpoint"}, "Unavailable"},
		{"the secrets cannot be read", func(w *world) { w.fail["secrets"] = errThrottled }, verified, "Unavailable woo-shop"},
		{"no secret is usable", func(w *world) { w.fail["secrets"] = secrets.ErrUnusable }, verified, "Unavailable woo-shop"},
		{"the only secret is a placeholder", func(w *world) { w.held["ssm:hooks/woo-shop/1"] = "changeme" }, askedAgain, "Unavailable woo-shop"},
		{"a recipe is not live", func(w *world) { delete(w.pointer.Recipes, "product-card") }, verified, "Unavailable woo-shop"},
		{"the body cannot be kept", func(w *world) { w.fail["keep"] = errThrottled }, []string{"endpoint", "secrets", "keep"}, "Unavailable woo-shop"},
		{"the store does not answer", func(w *world) { w.fail["receive"] = errThrottled }, []string{"endpoint", "secrets", "keep", "receive"}, "Unavailable woo-shop"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			d := w.woo("product.updated", product)
			tc.change(w)
			reply, err := w.deliver(d)
			if got := problem.Of(err, ""); got.Status != http.StatusServiceUnavailable || got.RetryAfter <= 0 || reply.Status != "" {
				t.Errorf("Deliver = %+v, %v: status %d", reply, err, got.Status)
			}
			if diff := cmp.Diff(tc.trace, w.trace); diff != "" {
				t.Errorf("acts (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{tc.metric}, w.metrics()); diff != "" {
				t.Errorf("metrics (-want +got):\n%s", diff)
			}
			w.quiet(err, d)
		})
	}
}

func TestWhatFailsAfterThePutFailsNobody(t *testing.T) {
	w := newWorld(t)
	w.fail["send"], w.fail["count"] = errThrottled, errThrottled
	d := w.woo("product.updated", product)
	for _, want := range []string{intake.Accepted, intake.Duplicate} {
		if reply, err := w.deliver(d); err != nil || reply.Status != want {
			t.Errorf("Deliver = %+v, %v; want %s", reply, err, want)
		}
	}
	if diff := cmp.Diff([]string{"Accepted woo-shop", "Duplicate woo-shop", "SendFailed woo-shop", "SendFailed woo-shop"}, w.metrics()); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	id := string(w.only().ID)
	for _, line := range w.lines("err") {
		if line["event_id"] != id || line["endpoint"] != "woo-shop" {
			t.Errorf("a failure that cannot be traced: %v", line)
		}
	}
	if n := len(w.lines("err")); n != 3 { // two sends, one count
		t.Errorf("%d lines about failures, want 3", n)
	}
}
