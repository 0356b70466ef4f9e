package webhook_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/secrets"
	"engang/shared/webhook"
)

func TestSignLeavesWhatItIsGiven(t *testing.T) {
	for _, name := range webhook.Names() {
		sm := samples[name]
		given := webhook.Request{Body: []byte(sm.body), URL: "https://hooks.example.com/hooks/x", Header: http.Header{}}
		given.Header.Set("X-WC-Webhook-Topic", "order.created")
		given.Header.Set("Webhook-Id", "msg_mine")
		given.Header.Set("Content-Type", "application/json; charset=utf-8")
		before := given.Header.Clone()
		got, err := sm.scheme(t).Sign(given, secrets.NewValue(sm.secret), noon)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, given.Header); diff != "" {
			t.Errorf("%s changed what it was given: %s", name, diff)
		}
		if got.Header.Get("Webhook-Id") != "msg_mine" || got.Header.Get("Content-Type") != "application/json; charset=utf-8" || got.URL != given.URL || got.Method != http.MethodPost {
			t.Errorf("%s did not keep what it was given: %+v", name, got)
		}
		if err := sm.scheme(t).Verify(got, held(sm.secret), sm.expect, noon); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSignMakesUpWhatIsMissing(t *testing.T) {
	at := func(name string, now time.Time) webhook.Request {
		sm := samples[name]
		req, err := row(t, name).Sign(webhook.Request{Body: []byte(sm.body)}, secrets.NewValue(sm.secret), now)
		if err != nil {
			t.Fatal(err)
		}
		return req
	}
	for name, header := range map[string]string{woo: "X-WC-Webhook-Delivery-ID", standard: "Webhook-Id", openAI: "Webhook-Id"} {
		id, again, later := at(name, noon).Header.Get(header), at(name, noon).Header.Get(header), at(name, noon.Add(time.Second)).Header.Get(header)
		if id == "" || id != again || id == later {
			t.Errorf("%s: ids %q, %q, a second later %q", name, id, again, later)
		}
	}
	req, _ := signed(t, woo, wooBody)
	if req.Header.Get("X-WC-Webhook-Resource") != "product" || req.Header.Get("X-WC-Webhook-Event") != "updated" {
		t.Errorf("resource and event of the topic: %v", req.Header)
	}
}
