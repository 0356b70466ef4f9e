package webhook_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

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
	f.Fuzz(func(t *testing.T, body, topic, id, where string) {
		doc, err := document.Decode([]byte(body))
		if err != nil {
			return
		}
		p, err := document.ParsePointer(where)
		if err != nil {
			return
		}
		req := webhook.Request{Method: http.MethodPost, Body: []byte(body), Header: http.Header{
			"X-Wc-Webhook-Topic": {topic}, "Webhook-Id": {id}, "Webhook-Timestamp": {id}, "X-Wc-Webhook-Delivery-Id": {id}}}
		for _, name := range webhook.Names() {
			for _, rule := range []webhook.Rule{{}, {Kind: "thing", ID: &p, Version: &p}} {
				fact, err := row(t, name).Identify(req, doc, rule, noon)
				if err == nil {
					checkFact(t, name, fact)
				}
			}
		}
	})
}

func checkFact(t *testing.T, name string, fact webhook.Fact) {
	t.Helper()
	if fact.Type == "" || fact.Key == "" {
		t.Errorf("%s: no type or key: %+v", name, fact)
	}
	if sum, err := hex.DecodeString(fact.Digest); err != nil || len(sum) != 32 {
		t.Errorf("%s: digest %q", name, fact.Digest)
	}
	if (fact.Flaw == "") != (fact.ObjectID != "") || (fact.Kind == "") != (fact.ObjectID == "") {
		t.Errorf("%s: flaw %q, object %q:%q", name, fact.Flaw, fact.Kind, fact.ObjectID)
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
