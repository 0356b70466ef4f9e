package intake_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"engang/shared/config"
	"engang/shared/inbox"
	"engang/shared/intake"
	"engang/shared/object"
)

// A 4xx to these would make the sender switch its webhook off: they are stored with the reason, and the
// worker parks them.
func TestVerifiedBodiesThatCannotBeWorkedOnAreStoredWithTheReason(t *testing.T) {
	for _, tc := range []struct{ name, body, reason string }{
		{"no object id", `{"name":"` + marker + `"}`, "no object id"},
		{"an object id that our keys cannot hold", `{"id":"` + strings.Repeat("9", object.MaxIDBytes+1) + `"}`, "longer than"},
		{"a signed error of the shop's REST interface", `{"code":"woocommerce_rest_product_invalid_id","message":"` + marker + `","data":{"status":404}}`, "REST"},
		{"an array where one object is expected", `[{"id":794,"name":"` + marker + `"}]`, "an array"},
		{"a bare text", `"` + marker + `"`, "a text"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			d := w.woo("product.updated", tc.body)
			reply, err := w.deliver(d)
			if err != nil || reply.Status != intake.Accepted {
				t.Fatalf("Deliver = %+v, %v", reply, err)
			}
			ev := w.only()
			if !strings.Contains(ev.Reason, tc.reason) || strings.Contains(ev.Reason, marker) || ev.Category != "invalid input" || !ev.Object.IsZero() {
				t.Errorf("stored as object %v with reason %q, category %q", ev.Object, ev.Reason, ev.Category)
			}
			if diff := cmp.Diff([]inbox.RecipeRef{{Name: "product-card", Version: 3}}, ev.Recipes); diff != "" {
				t.Errorf("recipes (-want +got):\n%s", diff)
			}
			if len(w.sent) != 1 {
				t.Error("it was not sent: nobody would park it before the reconciler")
			}
			w.quiet(err, d)
		})
	}
}

func TestAnEventThatAsksForNothingIsStored(t *testing.T) {
	w := newWorld(t)
	w.endpoints["woo-shop"].Events["product.updated"] = config.EventRule{}
	if reply, err := w.deliver(w.woo("product.updated", product)); err != nil || reply.Status != intake.Accepted || len(w.only().Recipes) != 0 {
		t.Errorf("Deliver = %+v, %v", reply, err)
	}
}

func TestWhichVersionRanksTheEvent(t *testing.T) {
	const unreadable = "the object's version is not readable"
	const atArrival = "2026-11-29T20:00:00.123Z"
	body := func(rev string) string { return strings.Replace(contact, `"12"`, rev, 1) }
	woo := func(modified string) string { return strings.Replace(product, "2026-11-29T19:59:58", modified, 1) }
	// plain is a delivery of an endpoint that does not say where the version is. It is signed at its arrival.
	plain := func(body string) func(*world) intake.Delivery {
		return func(w *world) intake.Delivery {
			rule := w.endpoints["crm"].Events["contact.created"]
			rule.Version = nil
			w.endpoints["crm"].Events["contact.created"] = rule
			return w.crm("msg_1", body)
		}
	}
	for _, tc := range []struct {
		name     string
		delivery func(*world) intake.Delivery
		version  string
		reason   string
	}{
		{"a time without a zone, as WooCommerce writes it", func(w *world) intake.Delivery { return w.woo("product.updated", product) }, "2026-11-29T19:59:58Z", ""},
		{"a whole number", func(w *world) intake.Delivery { return w.crm("msg_1", contact) }, "12", ""},
		{"none where the endpoint says: a time beside its numbers would be the newest for ever", func(w *world) intake.Delivery {
			return w.crm("msg_1", strings.Replace(contact, `"rev"`, `"other"`, 1))
		}, atArrival, "the body has no version at /data/contact/rev"},
		{"the event's own time in the body, never that of the try", plain(contact), "2026-11-29T19:59:59Z", ""},
		{"none in the body: when it was received, and not the time that is signed", plain(strings.Replace(contact, `"timestamp"`, `"other"`, 1)), atArrival, ""},
		{"not usable: it cannot be ordered", func(w *world) intake.Delivery { return w.crm("msg_1", body(`"`+marker+`"`)) }, atArrival, unreadable},
		{"none and no signed time: when it was received", func(w *world) intake.Delivery { return w.woo("product.updated", `{"id":794}`) }, atArrival, ""},
		{"not usable and no signed time", func(w *world) intake.Delivery { return w.woo("product.updated", woo(marker)) }, atArrival, unreadable},
		{"never modified, as WordPress writes it: when it was received", func(w *world) intake.Delivery { return w.woo("product.updated", woo("0000-00-00T00:00:00")) }, atArrival, ""},
		{"a number where the sender writes times", func(w *world) intake.Delivery { return w.woo("product.updated", woo("41")) }, "41", "the object's version is of another kind than the sender's other versions of it"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			d := tc.delivery(w)
			if reply, err := w.deliver(d); err != nil || reply.Status != intake.Accepted {
				t.Fatalf("Deliver = %+v, %v", reply, err)
			}
			if got := w.only().Rank.Version().String(); got != tc.version {
				t.Errorf("version %s, want %s", got, tc.version)
			}
			if warned := len(w.lines("err")) > 0; warned != (tc.reason == unreadable) {
				t.Errorf("warned: %v", warned)
			}
			if ev := w.only(); ev.Object.IsZero() != (tc.reason != "") || ev.Reason != tc.reason || (ev.Category == "") != (tc.reason == "") { // else it would replace what is newer
				t.Errorf("object %s, reason %q, category %q", ev.Object, ev.Reason, ev.Category)
			}
			w.quiet(nil, d)
		})
	}
}

// Two contents in one second: the one stored later is newer, whoever finishes first.
func TestSameSecondOtherContentAreTwoEventsInTheOrderTheyWereStored(t *testing.T) {
	w := newWorld(t)
	var ranks []object.Rank
	for i, price := range []string{"9", "7"} {
		d := w.woo("product.updated", strings.Replace(product, `"id"`, `"price":"`+price+`","id"`, 1))
		at := now.Add(ticks(i))
		w.Now = clock(at)
		reply, err := w.deliver(d)
		if err != nil {
			t.Fatal(err)
		}
		ranks = append(ranks, w.stored[reply.Event].Rank)
	}
	if len(w.stored) != 2 || !ranks[1].Newer(ranks[0]) || ranks[0].Version() != ranks[1].Version() {
		t.Errorf("%d events, ranks %q", len(w.stored), ranks)
	}
}
