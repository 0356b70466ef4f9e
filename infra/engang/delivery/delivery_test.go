package delivery_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"engang/infra/engang/delivery"
	"engang/shared/secrets"
	"engang/shared/webhook"

	"github.com/google/go-cmp/cmp"
)

func TestSetChangesOneValueAndNoOtherByte(t *testing.T) {
	const body = `{"id":11, "name":"Mug \/ \u00c5", "a":[1,{"b/c":"x"}],"empty":{} ,"last":null}`
	for _, c := range []struct{ set, want string }{
		{"/id=900", `{"id":900, "name":"Mug \/ \u00c5", "a":[1,{"b/c":"x"}],"empty":{} ,"last":null}`},
		{"/name=Kopp/ø", `{"id":11, "name":"Kopp\/\u00f8", "a":[1,{"b/c":"x"}],"empty":{} ,"last":null}`},
		{`/name="said \"/\" \/"`, `{"id":11, "name":"said \"\/\" \/", "a":[1,{"b/c":"x"}],"empty":{} ,"last":null}`},
		{"/name=🙂", `{"id":11, "name":"\ud83d\ude42", "a":[1,{"b/c":"x"}],"empty":{} ,"last":null}`},
		{"/a/0=true", `{"id":11, "name":"Mug \/ \u00c5", "a":[true,{"b/c":"x"}],"empty":{} ,"last":null}`},
		{"/a/1/b~1c=[1,2]", `{"id":11, "name":"Mug \/ \u00c5", "a":[1,{"b/c":[1,2]}],"empty":{} ,"last":null}`},
		{"/empty/new=x=y", `{"id":11, "name":"Mug \/ \u00c5", "a":[1,{"b/c":"x"}],"empty":{"new":"x=y"} ,"last":null}`},
		{"/more=1", `{"id":11, "name":"Mug \/ \u00c5", "a":[1,{"b/c":"x"}],"empty":{} ,"last":null,"more":1}`},
		{"/last=2026-11-29T12:00:00", `{"id":11, "name":"Mug \/ \u00c5", "a":[1,{"b/c":"x"}],"empty":{} ,"last":"2026-11-29T12:00:00"}`},
	} {
		got, err := delivery.Set([]byte(body), c.set)
		if err != nil || string(got) != c.want || !json.Valid(got) {
			t.Errorf("%s: %v\n got %s\nwant %s", c.set, err, got, c.want)
		}
	}
	for _, bad := range []string{"id=1", "/id", "/a/7=1", "/a/x=1", "/id/deeper=1", "/no/such=1", "/~2=1"} {
		if got, err := delivery.Set([]byte(body), bad); !errors.Is(err, delivery.ErrEdit) {
			t.Errorf("%s: %s, %v", bad, got, err)
		}
	}
	if _, err := delivery.Set([]byte("webhook_id=3"), "/id=1"); !errors.Is(err, delivery.ErrEdit) {
		t.Errorf("no JSON: %v", err)
	}
}

// The usual case is what a running shop sent: the payload under events/, with another id.
func TestTheUsualCaseIsTheCapturedOne(t *testing.T) {
	d, err := delivery.Load(delivery.Usual)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile("../../../events/receiver/woocommerce-product-updated.json")
	if err != nil {
		t.Fatal(err)
	}
	var captured struct{ Body string }
	if err := json.Unmarshal(raw, &captured); err != nil {
		t.Fatal(err)
	}
	want, err := delivery.Set([]byte(captured.Body), "/id=794")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(d.Body)); diff != "" {
		t.Error(diff)
	}
}

func TestLoadReadsCasesAndFiles(t *testing.T) {
	bare := filepath.Join(t.TempDir(), "body.json")
	if err := os.WriteFile(bare, []byte(`{"id":1}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, provider, topic, begins string }{
		{"woocommerce/product.deleted", "woocommerce", "product.deleted", `{"id":794}`},
		{"standard-webhooks/contact.created", "standard-webhooks", "", `{"type"`},
		{"../../../events/receiver/woocommerce-product-updated.json", "", "product.updated", `{"id":11`},
		{bare, "", "", `{"id":1}`},
	} {
		d, err := delivery.Load(c.name)
		if err != nil || d.Provider != c.provider || d.Header.Get("X-Wc-Webhook-Topic") != c.topic || !strings.HasPrefix(string(d.Body), c.begins) || d.Method != "POST" {
			t.Errorf("%s: %v, %+v", c.name, err, d)
		}
		for _, name := range []string{"Host", "X-Wc-Webhook-Signature", "X-Forwarded-For"} {
			if d.Header.Get(name) != "" {
				t.Errorf("%s: %s was kept", c.name, name)
			}
		}
	}
	if _, err := delivery.Load("woocommerce/nothing"); !errors.Is(err, delivery.ErrCase) || !strings.Contains(err.Error(), delivery.Usual) {
		t.Errorf("no such case: %v", err)
	}
	for _, name := range delivery.Cases() {
		if _, err := delivery.Load(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func maker(t *testing.T, name, twist string) *delivery.Maker {
	t.Helper()
	d, err := delivery.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	scheme, _ := webhook.Lookup(d.Provider)
	m, err := delivery.NewMaker(delivery.Maker{Scheme: scheme, Secret: secret(d.Provider), Draft: d, Twist: twist})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func secret(provider string) secrets.Value {
	if provider == "woocommerce" {
		return secrets.NewValue("local-woo-secret")
	}
	return secrets.NewValue("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=")
}

func TestTwistsAreRefusedForTheirReason(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		name, twist string
		want        error
	}{
		{delivery.Usual, "", nil},
		{delivery.Usual, "base64", nil},
		{delivery.Usual, "bad-signature", webhook.ErrSignature},
		{delivery.Usual, "no-signature", webhook.ErrSignature},
		{delivery.Usual, "other-body", webhook.ErrSignature},
		{"standard-webhooks/contact.created", "", nil},
		{"standard-webhooks/contact.created", "stale", webhook.ErrTimestamp},
		{"standard-webhooks/contact.created", "future", webhook.ErrTimestamp},
		{"standard-webhooks/contact.created", "bad-signature", webhook.ErrSignature},
		{"standard-webhooks/contact.created", "no-signature", webhook.ErrSignature},
		{"standard-webhooks/contact.created", "other-body", webhook.ErrSignature},
	} {
		m := maker(t, c.name, c.twist)
		req, err := m.Make(now)
		if err != nil {
			t.Fatal(err)
		}
		err = m.Scheme.Verify(req, []secrets.Value{m.Secret}, webhook.Expect{}, now)
		if !errors.Is(err, c.want) || (c.want == nil) != (err == nil) {
			t.Errorf("%s %s: %v", c.name, c.twist, err)
		}
	}
	d, _ := delivery.Load(delivery.Usual)
	scheme, _ := webhook.Lookup("woocommerce")
	for _, twist := range []string{"stale", "sideways"} {
		if _, err := delivery.NewMaker(delivery.Maker{Scheme: scheme, Draft: d, Twist: twist}); !errors.Is(err, delivery.ErrTwist) {
			t.Errorf("%s: %v", twist, err)
		}
	}
}

func TestARepeatIsTheSameEvent(t *testing.T) {
	m := maker(t, "standard-webhooks/contact.created", "")
	now := time.Now()
	first, err := m.Make(now)
	if err != nil {
		t.Fatal(err)
	}
	second, err := m.Make(now.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if first.Header.Get("Webhook-Id") != second.Header.Get("Webhook-Id") || first.Header.Get("Webhook-Signature") == second.Header.Get("Webhook-Signature") {
		t.Errorf("%v then %v", first.Header, second.Header)
	}
}

func TestAPingIsNotSigned(t *testing.T) {
	req, err := maker(t, "woocommerce/ping", "").Make(time.Now())
	if err != nil || req.Header.Get("X-Wc-Webhook-Signature") != "" {
		t.Errorf("%v, %v", req.Header, err)
	}
}

func TestCurlCanBePasted(t *testing.T) {
	got := delivery.Curl(webhook.Request{Method: "POST", Header: http.Header{"B": {"2"}, "A": {"it's"}}, Body: []byte(`{"a":"it's"}`)}, "http://h/hooks/x")
	want := "curl -sS -X POST 'http://h/hooks/x' \\\n  -H 'A: it'\\''s' \\\n  -H 'B: 2' \\\n  --data-binary '{\"a\":\"it'\\''s\"}'\n"
	if got != want {
		t.Errorf("got %s", got)
	}
	if !slices.IsSorted(delivery.Cases()) {
		t.Error(delivery.Cases())
	}
}
