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
	"engang/shared/config"
	"engang/shared/document"
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
		{"../../../events/receiver/woocommerce-product-updated.json", "woocommerce", "product.updated", `{"id":11`},
		{"../../../events/receiver/woocommerce-bad-signature.json", "", "product.updated", `{`},
		{"woocommerce/order.created", "woocommerce", "order.created", `{"id":1201`},
		{"stripe/invoice.paid", "stripe", "", `{`},
		{bare, "", "", `{"id":1}`},
	} {
		d, err := delivery.Load(c.name)
		if err != nil || d.Provider != c.provider || d.Header.Get("X-Wc-Webhook-Topic") != c.topic || !strings.HasPrefix(string(d.Body), c.begins) || d.Method != "POST" {
			t.Errorf("%s: %v, %+v", c.name, err, d)
		}
		for _, name := range []string{"Host", "Content-Length", "X-Forwarded-For"} {
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

// bed is what a delivery of a case needs: the row as its endpoint uses it, and a secret.
func bed(t *testing.T, name string) delivery.Maker {
	t.Helper()
	d, err := delivery.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	row, ok := webhook.Lookup(d.Provider)
	if !ok {
		t.Fatalf("no row for %s", d.Provider)
	}
	sample, _ := delivery.Sample(name)
	own := config.Endpoint{Type: sample.Endpoint.Type}
	if sample.Endpoint.TypeAt != "" {
		own.TypeAt = pointer(t, sample.Endpoint.TypeAt)
	}
	if sample.Endpoint.HMACHeader != "" {
		own.HMAC = &config.HMAC{Header: sample.Endpoint.HMACHeader, Encoding: "hex"}
	}
	scheme, err := row.For(own.Adds())
	if err != nil {
		t.Fatal(err)
	}
	return delivery.Maker{Scheme: scheme, Secret: scheme.NewSecret([32]byte{7, 7, 7}), Draft: d, URL: sample.Endpoint.PublicURL}
}

func pointer(t *testing.T, text string) *document.Pointer {
	t.Helper()
	p, err := document.ParsePointer(text)
	if err != nil {
		t.Fatal(err)
	}
	return &p
}

func maker(t *testing.T, name, twist string) *delivery.Maker {
	t.Helper()
	m := bed(t, name)
	m.Twist = twist
	made, err := delivery.NewMaker(m)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func verify(m *delivery.Maker, req webhook.Request, now time.Time) error {
	return m.Scheme.Verify(req, []secrets.Value{m.Secret}, webhook.Expect{Certificate: m.Scheme.TrialCertificate()}, now)
}

// Every case of every provider is taken by its row, and given again it is the same event.
func TestEveryCaseIsTakenAndARepeatIsOne(t *testing.T) {
	now := time.Now()
	providers := map[string]bool{}
	for _, name := range delivery.Cases() {
		t.Run(name, func(t *testing.T) {
			first := maker(t, name, "")
			providers[first.Draft.Provider] = true
			var keys []string
			for i, m := range []*delivery.Maker{first, maker(t, name, "")} {
				at := now.Add(time.Duration(i) * time.Minute)
				req, err := m.Make(at)
				if err != nil {
					t.Fatal(err)
				}
				if _, ping := m.Scheme.Handshake(req); ping {
					return
				}
				if err := verify(m, req, at); err != nil {
					t.Fatal(err)
				}
				doc, _, err := m.Scheme.Document(req)
				if err != nil {
					t.Fatal(err)
				}
				if batch, ok := m.Scheme.Split(req, doc); ok {
					keys = append(keys, batch.Fact.Key)
					continue
				}
				fact, err := m.Scheme.Identify(req, doc, webhook.Rule{}, at)
				if err != nil {
					t.Fatal(err)
				}
				keys = append(keys, fact.Key)
			}
			if keys[0] != keys[1] {
				t.Errorf("keys %q", keys)
			}
		})
	}
	for _, provider := range webhook.Names() {
		if !providers[provider] {
			t.Errorf("%s has no case", provider)
		}
	}
}

// Another body is another event, whoever's id it would have had.
func TestAChangedBodyIsAnotherEvent(t *testing.T) {
	for name, set := range map[string]string{
		"standard-webhooks/contact.created": "/data/id=c_2", "svix/invoice.paid": "/data/id=inv_2", "mailgun/delivered": "/event-data/id=other",
		"github/issues.opened": "/issue/id=2", "stripe/invoice.paid": "/id=evt_2", "woocommerce/product.updated": "/id=795",
	} {
		var keys []string
		for _, change := range []string{"", set} {
			m := bed(t, name)
			if change != "" {
				var err error
				if m.Draft.Body, err = delivery.Set(m.Draft.Body, change); err != nil {
					t.Fatal(err)
				}
			}
			made, err := delivery.NewMaker(m)
			if err != nil {
				t.Fatal(err)
			}
			req, err := made.Make(time.Now())
			if err != nil {
				t.Fatal(err)
			}
			doc, _, err := made.Scheme.Document(req)
			if err != nil {
				t.Fatal(err)
			}
			fact, err := made.Scheme.Identify(req, doc, webhook.Rule{}, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, fact.Key)
		}
		if keys[0] == keys[1] {
			t.Errorf("%s: %q", name, keys)
		}
	}
}

// A twisted delivery of whatever provider is refused for the reason that the twist names.
func TestTwistsFitEveryProvider(t *testing.T) {
	now := time.Now()
	want := map[string]error{"stale": webhook.ErrTimestamp, "future": webhook.ErrTimestamp, "bad-signature": webhook.ErrSignature, "no-signature": webhook.ErrSignature, "other-body": webhook.ErrSignature, "base64": nil}
	for _, name := range delivery.Cases() {
		if strings.HasSuffix(name, "/ping") {
			continue
		}
		for _, twist := range delivery.Twists() {
			m := bed(t, name)
			m.Twist = twist
			made, err := delivery.NewMaker(m)
			timeless := (twist == "stale" || twist == "future") && m.Scheme.Window() == 0
			if timeless || twist == "other-body" && m.Draft.Provider == "mailgun" {
				if !errors.Is(err, delivery.ErrTwist) {
					t.Errorf("%s %s: %v", name, twist, err)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%s %s: %v", name, twist, err)
			}
			req, err := made.Make(now)
			if err != nil {
				t.Fatal(err)
			}
			if err := verify(made, req, now); !errors.Is(err, want[twist]) || (err == nil) != (want[twist] == nil) {
				t.Errorf("%s %s: %v", name, twist, err)
			}
		}
	}
}

func TestAnUnknownTwistIsRefused(t *testing.T) {
	m := bed(t, delivery.Usual)
	m.Twist = "sideways"
	if _, err := delivery.NewMaker(m); !errors.Is(err, delivery.ErrTwist) {
		t.Error(err)
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
