package intake_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/config"
	"engang/shared/document"
	"engang/shared/inbox"
	"engang/shared/intake"
	"engang/shared/problem"
	"engang/shared/webhook"
)

var asked = received.Add(-30 * time.Second)

func fetched(body string) inbox.Fetched {
	return inbox.Fetched{Endpoint: "woo-shop", Type: "product.updated", Body: []byte(body), At: asked.Add(456 * time.Microsecond)}
}

// What is fetched is stored as what would have been delivered: all but the time, the mark, and who delivered it.
func TestAFetchedObjectIsTheEventThatItWouldHaveBeenDeliveredAs(t *testing.T) {
	w := newWorld(t)
	reply, err := w.deliver(w.woo("product.updated", product))
	if err != nil {
		t.Fatal(err)
	}
	delivered := w.only()

	w = newWorld(t)
	got, err := intake.New(w.Deps).Take(t.Context(), fetched(product))
	if err != nil || got.Status != intake.Accepted || got.Event != reply.Event {
		t.Fatalf("Take = %+v, %v", got, err)
	}
	if diff := cmp.Diff([]string{"endpoint", "keep", "receive", "send"}, w.trace); diff != "" {
		t.Errorf("acts (-want +got):\n%s", diff)
	}
	want := delivered
	want.CaughtUp, want.DeliveryID, want.ReceivedAt = true, "", asked
	want.Rank = w.only().Rank
	if diff := cmp.Diff(want, w.only()); diff != "" {
		t.Errorf("event (-want +got):\n%s", diff)
	}
	// Within the shop's second, what was delivered since we asked is newer.
	if !delivered.Rank.Newer(w.only().Rank) || delivered.Rank.Version() != w.only().Rank.Version() {
		t.Errorf("ranks %s and %s", delivered.Rank, w.only().Rank)
	}
	if lines := w.metrics(); lines != nil {
		t.Errorf("counted as a delivery: %v", lines)
	}
}

func TestAFetchedObjectThatWasDeliveredTooIsADuplicateAndNoDelivery(t *testing.T) {
	w := newWorld(t)
	if _, err := w.deliver(w.woo("product.updated", product)); err != nil {
		t.Fatal(err)
	}
	first := w.only()
	reply, err := intake.New(w.Deps).Take(t.Context(), fetched(product))
	if err != nil || reply.Status != intake.Duplicate || reply.Event != first.ID {
		t.Errorf("Take = %+v, %v", reply, err)
	}
	if diff := cmp.Diff(first, w.only()); diff != "" {
		t.Errorf("the stored event was changed (-want +got):\n%s", diff)
	}
	if len(w.seen) != 0 {
		t.Errorf("counted among the deliveries: %v", w.seen)
	}
}

func TestWhatIsFetchedIsCheckedAsWhatIsDelivered(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*inbox.Fetched, *world)
		want   error
		status string
		stored int
	}{
		{"too large", func(f *inbox.Fetched, _ *world) { f.Body = make([]byte, 2001) }, problem.ErrTooLarge, "", 0},
		{"no JSON", func(f *inbox.Fetched, _ *world) { f.Body = []byte(marker) }, document.ErrMalformed, "", 0},
		{"an unknown endpoint", func(f *inbox.Fetched, _ *world) { f.Endpoint = "none" }, config.ErrUnknown, "", 0},
		{"of a sender that is never asked", func(f *inbox.Fetched, _ *world) { f.Endpoint, f.Type = "crm", "contact.created" }, webhook.ErrMalformed, "", 0},
		{"a type that is not enabled", func(f *inbox.Fetched, _ *world) { f.Type = "order.updated" }, nil, intake.Ignored, 0},
		{"a type that is ignored", func(f *inbox.Fetched, _ *world) { f.Type = "product.deleted" }, nil, intake.Ignored, 0},
		{"an object without an id", func(f *inbox.Fetched, _ *world) { f.Body = []byte(`{"name":"x"}`) }, nil, intake.Accepted, 1},
		{"the store is down", func(_ *inbox.Fetched, w *world) { w.fail["receive"] = errThrottled }, problem.ErrUnavailable, "", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			f := fetched(product)
			tc.change(&f, w)
			reply, err := intake.New(w.Deps).Take(t.Context(), f)
			if !errors.Is(err, tc.want) || reply.Status != tc.status || len(w.stored) != tc.stored {
				t.Errorf("Take = %+v, %v, %d stored", reply, err, len(w.stored))
			}
			if err != nil && strings.Contains(err.Error(), marker) {
				t.Errorf("repeats the body: %v", err)
			}
		})
	}
}

// What only a signature proves must not be had without one.
func TestNoDeliveryPassesForFetched(t *testing.T) {
	w := newWorld(t)
	d := w.woo("product.updated", product)
	d.Header = http.Header{"X-Wc-Webhook-Topic": {"product.updated"}}
	if _, err := w.deliver(d); !errors.Is(err, webhook.ErrSignature) || len(w.stored) != 0 {
		t.Errorf("got %v, %d stored", err, len(w.stored))
	}
}
