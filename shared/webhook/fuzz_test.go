package webhook_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"engang/shared/document"
	"engang/shared/webhook"
)

// FuzzStandardHeaders looks for headers that are accepted although no signature in them is right, by a
// second reading that is as plain as can be.
func FuzzStandardHeaders(f *testing.F) {
	good := signedWith(f, standard, standardSecret, standardBody)
	id, stamp, sum := good.Header.Get("Webhook-Id"), good.Header.Get("Webhook-Timestamp"), good.Header.Get("Webhook-Signature")
	f.Add(id, stamp, sum, standardBody)
	f.Add(id, stamp+".451687", sum, standardBody)
	f.Add(id, "+"+stamp, sum, standardBody)
	f.Add(id+".1", stamp, sum, standardBody)
	f.Add(id, stamp, "v1,AAAA "+sum+" v1a,"+strings.Repeat("A", 88), standardBody)
	f.Add(id, stamp, sum+","+sum, standardBody)
	f.Add(id, stamp, "v1,", standardBody)
	f.Add("", "", "", "")
	f.Add(id, strings.Repeat("9", 40), "v2,"+sum, "\xff")
	key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(standardSecret, "whsec_"))
	f.Fuzz(func(t *testing.T, id, stamp, list, body string) {
		h := http.Header{"Webhook-Id": {id}, "Webhook-Timestamp": {stamp}, "Webhook-Signature": {list}}
		req := webhook.Request{Method: http.MethodPost, Header: h, Body: []byte(body)}
		err := row(t, standard).Verify(req, held(standardSecret), webhook.Expect{}, noon)
		whole, _, _ := strings.Cut(stamp, ".")
		signed := false
		for _, at := range []string{stamp, whole} {
			want := "v1," + mac(string(key), id+"."+at+"."+body)
			for _, one := range strings.Split(list, " ") {
				signed = signed || one == want
			}
		}
		if err == nil && !signed {
			t.Error("accepted without a right signature")
		}
		if err != nil && len(body) > 8 && strings.Contains(err.Error(), body) {
			t.Error("the error repeats the body")
		}
	})
}

// FuzzWooCommerceHeader does the same for a header that is one sum and nothing else.
func FuzzWooCommerceHeader(f *testing.F) {
	good := mac(wooSecret, wooBody)
	for _, text := range []string{good, good + "\n", " " + good, good + "," + good, strings.TrimRight(good, "="), strings.ToLower(good), ""} {
		f.Add(text, wooBody)
	}
	f.Add(mac("", wooBody), wooBody)
	f.Fuzz(func(t *testing.T, text, body string) {
		req := webhook.Request{Method: http.MethodPost, Header: http.Header{"X-Wc-Webhook-Signature": {text}}, Body: []byte(body)}
		err := row(t, woo).Verify(req, held(wooSecret), webhook.Expect{}, noon)
		if (err == nil) != (text == mac(wooSecret, body)) {
			t.Errorf("right signature: %v, answer: %v", text == mac(wooSecret, body), err)
		}
	})
}

// FuzzIdentify holds every row to what a fact must be, whatever a signed body says.
func FuzzIdentify(f *testing.F) {
	for _, sm := range samples {
		f.Add(sm.body, "product.updated", "msg_1", "/data/id")
	}
	for _, body := range []string{
		`{"id":11}`, `[{"id":1}]`, `null`, `7`, `{}`, `{"id":null,"type":"a.b"}`, `{"type":"a.b","data":[{"id":1},{"id":2}]}`,
		`{"code":"x","message":"y","data":{"status":404}}`, `{"id":"` + strings.Repeat("å", 80) + `","type":"x"}`, `{"id":1e400,"type":"a."}`,
	} {
		f.Add(body, "product.deleted", "wh_1", "/data/*/id")
	}
	f.Add(`{"id":1}`, "a#b:c.d", "", "")
	for _, file := range payloads(f) {
		f.Add(payload(f, file), "issues", "Ev0EXAMPLE01", "/data/object/id")
	}
	for _, v := range readVectors(f, "testdata/vectors.json") {
		f.Add(v.Body, "product.updated", "msg_1", "/id")
	}
	f.Fuzz(func(t *testing.T, body, topic, id, where string) {
		p, err := document.ParsePointer(where)
		if err != nil {
			return
		}
		h := http.Header{}
		for _, name := range []string{"X-Wc-Webhook-Topic", "X-Github-Event", "X-Gitea-Event", "X-Forgejo-Event", "X-Shopify-Topic"} {
			h[name] = []string{topic}
		}
		for _, name := range []string{"Webhook-Id", "Webhook-Timestamp", "Svix-Id", "X-Wc-Webhook-Delivery-Id", "X-Gitlab-Token", "Idempotency-Key", "X-Shopify-Webhook-Id"} {
			h[name] = []string{id}
		}
		req := webhook.Request{Method: http.MethodPost, Body: []byte(body), Header: h}
		for _, name := range webhook.Names() {
			s := samples[name].scheme(t)
			doc, content, err := s.Document(req)
			if err != nil {
				continue
			}
			if again := decoded(t, content); !cmp.Equal(doc, again) {
				t.Errorf("%s: the document is not its content", name)
			}
			s.SignedHandshake(req, doc)
			if batch, ok := s.Split(req, doc); ok && batch.Fact.Key == "" {
				t.Errorf("%s: a batch without a key", name)
			}
			for _, rule := range []webhook.Rule{{}, {Kind: "thing", ID: &p, Version: &p}} {
				fact, err := s.Identify(req, doc, rule, noon)
				if err == nil {
					checkFact(t, name, fact)
				}
			}
		}
	})
}

func payloads(t testing.TB) []string {
	t.Helper()
	files, err := os.ReadDir("testdata/payloads")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d payloads, %v", len(files), err)
	}
	var names []string
	for _, file := range files {
		names = append(names, file.Name())
	}
	return names
}

// FuzzStripeHeader looks for headers that are accepted although no sum in them is right, and the other
// way round, by a second reading.
func FuzzStripeHeader(f *testing.F) {
	good := signedWith(f, "stripe", stripeSecret, stripeBody).Header.Get("Stripe-Signature")
	for _, text := range []string{good, good + ",v0=x", "v0=x," + good, good + "," + good, good + ", " + good, "t=1," + good, "t=,v1=", "v1,t=1", "", strings.ToUpper(good), good + ",v1=00"} {
		f.Add(text, stripeBody)
	}
	f.Fuzz(func(t *testing.T, text, body string) {
		req := webhook.Request{Method: http.MethodPost, Header: http.Header{"Stripe-Signature": {text}}, Body: []byte(body)}
		err := row(t, "stripe").Verify(req, held(stripeSecret), webhook.Expect{}, noon)
		stamps, right := 0, false
		for _, pair := range strings.Split(text, ",") {
			if strings.HasPrefix(pair, "t=") {
				stamps++
			}
			right = right || pair == "v1="+hexMAC(sha256.New, stripeSecret, "1795953600."+body) && strings.Contains(","+text+",", ",t=1795953600,")
		}
		if err == nil && (!right || stamps != 1) {
			t.Error("accepted without one time and a right sum")
		}
		if err != nil && text == fmt.Sprintf("t=1795953600,v1=%s", hexMAC(sha256.New, stripeSecret, "1795953600."+body)) {
			t.Errorf("refused what Stripe sends: %v", err)
		}
	})
}

func checkFact(t *testing.T, name string, fact webhook.Fact) {
	t.Helper()
	if fact.Type == "" || fact.Key == "" {
		t.Errorf("%s: no type or key: %+v", name, fact)
	}
	if fact.Environment != "" && fact.Environment != webhook.Test && fact.Environment != webhook.Production {
		t.Errorf("%s: environment %q", name, fact.Environment)
	}
	if sum, err := hex.DecodeString(fact.Digest); err != nil || len(sum) != 32 {
		t.Errorf("%s: digest %q", name, fact.Digest)
	}
	if (fact.Flaw == "") != (fact.ObjectID != "") || (fact.Kind == "") != (fact.ObjectID == "") {
		t.Errorf("%s: flaw %q, object %q:%q", name, fact.Flaw, fact.Kind, fact.ObjectID)
	}
	if strings.ContainsFunc(fact.ObjectID, unicode.IsControl) {
		t.Errorf("%s: object id %q", name, fact.ObjectID)
	}
	if strings.ContainsAny(fact.Kind, ":#/ ") || len(fact.DeliveryID) > 255 || len(fact.SenderID) > 255 || len(fact.Type) > 255 {
		t.Errorf("%s: not fit to be stored: %+v", name, fact)
	}
}

func FuzzForms(f *testing.F) {
	for _, body := range []string{"a=1&b=2", "payload=%7B%7D", "a=%ff", "a=1;b", "=", "&", "a=1&a=2", "%61=+"} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		doc, content, err := webhook.FormDocument(body)
		if err != nil {
			return
		}
		again, err := document.Decode(content)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(doc, again); diff != "" {
			t.Error(diff)
		}
		if _, ok := doc.(map[string]any); !ok {
			t.Errorf("a form that is %T", doc)
		}
	})
}

func FuzzSplit(f *testing.F) {
	for _, body := range []string{`[{"n":1},{"n":2}]`, `[]`, `[[1, 2] ,"x"]`, `{}`, ` [ null ]`} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		doc, err := document.Decode(body)
		if err != nil {
			return
		}
		list, isList := doc.([]any)
		batch, ok := webhook.ListScheme().Split(webhook.Request{Body: body}, doc)
		if ok != isList {
			t.Fatalf("%T was taken apart: %v", doc, ok)
		}
		if len(list) > webhook.MaxParts {
			return
		}
		if len(batch.Parts) != len(list) {
			t.Fatalf("%d of %d parts", len(batch.Parts), len(list))
		}
		for i, part := range batch.Parts {
			if diff := cmp.Diff(list[i], decoded(t, part.Body)); diff != "" {
				t.Errorf("part %d: %s", i, diff)
			}
			if !json.Valid(part.Body) || !strings.Contains(string(body), string(part.Body)) {
				t.Errorf("part %d is not of the body: %s", i, part.Body)
			}
		}
	})
}
