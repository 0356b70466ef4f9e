package webhook_test

import (
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"engang/shared/document"
	"engang/shared/webhook"
)

func wooRequest(topic, body string) webhook.Request {
	h := http.Header{}
	h.Set("X-WC-Webhook-Topic", topic)
	h.Set("X-WC-Webhook-Delivery-ID", "5f4dcc3b5aa765d61d8327deb882cf99")
	return webhook.Request{Method: http.MethodPost, Header: h, Body: []byte(body)}
}

func standardRequest(id, body string) webhook.Request {
	h := http.Header{}
	h.Set("Webhook-Id", id)
	h.Set("Webhook-Timestamp", "1795953600.7")
	h.Set("Webhook-Signature", "v1,"+mac("any", "thing"))
	return webhook.Request{Method: http.MethodPost, Header: h, Body: []byte(body)}
}

func TestFacts(t *testing.T) {
	wooSum := document.Digest([]byte(wooBody))
	deleted := document.Digest([]byte(`{"id":11}`))
	tests := []struct {
		name     string
		provider string
		req      webhook.Request
		rule     webhook.Rule
		want     webhook.Fact
	}{
		{
			name: "a product", provider: woo, req: wooRequest("product.updated", wooBody),
			want: webhook.Fact{Type: "product.updated", Key: "product.updated#" + wooSum, Digest: wooSum, DeliveryID: "5f4dcc3b5aa765d61d8327deb882cf99",
				Kind: "product", ObjectID: "794", Version: "2026-11-29T11:59:57"},
		},
		{
			name: "a deletion has no version: the received day is in the key", provider: woo, req: wooRequest("product.deleted", `{"id":11}`),
			want: webhook.Fact{Type: "product.deleted", Key: "product.deleted#" + deleted + "#2026-11-29", Digest: deleted, DeliveryID: "5f4dcc3b5aa765d61d8327deb882cf99",
				Kind: "product", ObjectID: "11"},
		},
		{
			name: "what the endpoint says goes before the row", provider: woo, req: wooRequest("action.woocommerce_payment_complete", `{"action":"woocommerce_payment_complete","arg":24,"rev":7}`),
			rule: webhook.Rule{Kind: "order", ID: pointer(t, "/arg"), Version: pointer(t, "/rev")},
			want: webhook.Fact{Type: "action.woocommerce_payment_complete", Key: "action.woocommerce_payment_complete#9f4bc", DeliveryID: "5f4dcc3b5aa765d61d8327deb882cf99",
				Kind: "order", ObjectID: "24", Version: "7"},
		},
		{
			name: "a contact of which only the endpoint knows what it is", provider: standard, req: standardRequest("msg_1", standardBody),
			rule: webhook.Rule{Kind: "contact", ID: pointer(t, "/data/id"), Version: pointer(t, "/timestamp")},
			want: webhook.Fact{Type: "contact.created", Key: "msg_1", SenderID: "msg_1", Kind: "contact", ObjectID: "1f81",
				Version: "2026-11-29T11:59:57.344522Z"},
		},
		{
			name: "an OpenAI event is named by its own id", provider: openAI, req: standardRequest("wh_1", openAIBody),
			want: webhook.Fact{Type: "batch.completed", Key: "evt_6929f0a0", SenderID: "evt_6929f0a0", DeliveryID: "wh_1", Kind: "batch", ObjectID: "batch_6929",
				Version: "2026-11-29T17:59:57Z"},
		},
		{
			name: "an OpenAI event without an id of its own", provider: openAI, req: standardRequest("wh_1", `{"type":"fine_tuning.job.failed","created_at":1,"data":{"id":"ftjob_1"}}`),
			want: webhook.Fact{Type: "fine_tuning.job.failed", Key: "wh_1", DeliveryID: "wh_1", Version: "1970-01-01T00:00:01Z", Kind: "fine_tuning.job", ObjectID: "ftjob_1"},
		},
		{
			name: "an id that is not an event's is no event key", provider: openAI, req: standardRequest("wh_1", `{"id":"resp_9","created_at":1,"type":"response.completed","data":{"id":"resp_9"}}`),
			want: webhook.Fact{Type: "response.completed", Key: "wh_1", DeliveryID: "wh_1", Version: "1970-01-01T00:00:01Z", Kind: "response", ObjectID: "resp_9"},
		},
		{
			name: "an OpenAI call has no data.id", provider: openAI, req: standardRequest("wh_1", `{"id":"evt_3","created_at":1,"type":"realtime.call.incoming","data":{"call_id":"rtc_1"}}`),
			want: webhook.Fact{Type: "realtime.call.incoming", Key: "evt_3", SenderID: "evt_3", DeliveryID: "wh_1", Version: "1970-01-01T00:00:01Z",
				Flaw: "the body has no object id at /data/id"},
		},
		{
			name: "an OpenAI call whose id the endpoint knows", provider: openAI, req: standardRequest("wh_1", `{"id":"evt_3","created_at":1,"type":"realtime.call.incoming","data":{"call_id":"rtc_1"}}`),
			rule: webhook.Rule{Kind: "call", ID: pointer(t, "/data/call_id")},
			want: webhook.Fact{Type: "realtime.call.incoming", Key: "evt_3", SenderID: "evt_3", DeliveryID: "wh_1", Version: "1970-01-01T00:00:01Z", Kind: "call", ObjectID: "rtc_1"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := identify(t, tt.provider, tt.req, tt.rule)
			if tt.want.Digest == "" { // said elsewhere
				if len(got.Digest) != 64 {
					t.Errorf("digest %q", got.Digest)
				}
				tt.want.Digest = got.Digest
			}
			if rest, ok := strings.CutSuffix(tt.want.Key, "#9f4bc"); ok {
				tt.want.Key = rest + "#" + document.Digest(tt.req.Body) + "#2026-11-29"
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFlaws(t *testing.T) {
	rest := "the shop sent an error of its REST interface in place of the object: it is gone, or the webhook's user may not read it"
	unfit := "the object id has a control character, or one that no text may have"
	none := "neither the provider nor the endpoint's configuration says what object the event is about"
	tests := []struct {
		name     string
		provider string
		topic    string
		body     string
		rule     webhook.Rule
		want     string
	}{
		{"a signed REST error", woo, "product.updated", `{"code":"woocommerce_rest_product_invalid_id","message":"Invalid ID.","data":{"status":404}}`, webhook.Rule{}, rest},
		{"a signed REST error, although the endpoint says where the id is", woo, "product.updated", `{"code":"x","message":"y","data":{"status":401}}`, webhook.Rule{Kind: "x", ID: pointer(t, "/code")}, rest},
		{"a code alone is no REST error", woo, "product.updated", `{"code":"x","message":"y","data":{}}`, webhook.Rule{}, "the body has no object id at /id"},
		{"a coupon has a code and is none", woo, "coupon.created", `{"id":14,"code":"synthetic10","data":{"status":1}}`, webhook.Rule{}, ""},
		{"an array", woo, "product.updated", `[{"id":1}]`, webhook.Rule{}, "the body is an array where one object is expected"},
		{"an array that a rule could look into", woo, "product.updated", `[{"id":1}]`, webhook.Rule{Kind: "product", ID: pointer(t, "/0/id")}, "the body is an array where one object is expected"},
		{"a text", woo, "product.updated", `"id"`, webhook.Rule{}, "the body is a text where one object is expected"},
		{"a number", woo, "product.updated", `7`, webhook.Rule{}, "the body is a number where one object is expected"},
		{"null", woo, "product.updated", `null`, webhook.Rule{}, "the body is null where one object is expected"},
		{"true", woo, "product.updated", `true`, webhook.Rule{}, "the body is true or false where one object is expected"},
		{"nothing in it", woo, "product.updated", `{}`, webhook.Rule{}, "the body has no object id at /id"},
		{"id null", woo, "product.updated", `{"id":null}`, webhook.Rule{}, "the object id at /id is null, neither text nor number"},
		{"id an object", woo, "product.updated", `{"id":{"id":1}}`, webhook.Rule{}, "the object id at /id is an object, neither text nor number"},
		{"id true", woo, "product.updated", `{"id":true}`, webhook.Rule{}, "the object id at /id is true or false, neither text nor number"},
		{"id empty", woo, "product.updated", `{"id":""}`, webhook.Rule{}, "the object id at /id is empty"},
		{"id white space", woo, "product.updated", `{"id":" \u00a0"}`, webhook.Rule{}, "the object id at /id is empty"},
		{"id a fraction", woo, "product.updated", `{"id":7.5}`, webhook.Rule{}, "the object id at /id is not a whole number"},
		{"id with an exponent", woo, "product.updated", `{"id":1E3}`, webhook.Rule{}, "the object id at /id is not a whole number"},
		{"id of nineteen digits", woo, "product.updated", `{"id":9007199254740993123}`, webhook.Rule{}, ""},
		{"id as long as our keys take", woo, "product.updated", `{"id":"` + strings.Repeat("a", 200) + `"}`, webhook.Rule{}, ""},
		{"id longer than that", woo, "product.updated", `{"id":"` + strings.Repeat("a", 201) + `"}`, webhook.Rule{}, "the object id at /id is longer than 200 bytes"},
		{"id with letters of other alphabets and a sign beyond the first plane", woo, "product.updated", `{"id":"\u00e5 \u6f22 \ud83d\ude00"}`, webhook.Rule{}, ""},
		{"id with a control character", woo, "product.updated", `{"id":"79\u00014"}`, webhook.Rule{}, unfit},
		{"id with nothing of a control character but its number", woo, "product.updated", `{"id":"79\u00004"}`, webhook.Rule{}, unfit},
		{"id with what moves a terminal's cursor", woo, "product.updated", `{"id":"79\u009b4"}`, webhook.Rule{}, unfit},
		{"id with a line end, which a message could hold", woo, "product.updated", `{"id":"79\n4"}`, webhook.Rule{}, unfit},
		{"id with what is no character", woo, "product.updated", `{"id":"79\uffff4"}`, webhook.Rule{}, unfit},
		{"id with the other one that is no character", woo, "product.updated", `{"id":"79\ufffe4"}`, webhook.Rule{}, unfit},
		{"the same where the endpoint says", woo, "product.updated", `{"name":"79\u00014"}`, webhook.Rule{Kind: "product", ID: pointer(t, "/name")}, unfit},
		{"more than one id", woo, "product.updated", `{"items":[{"id":1},{"id":2}]}`, webhook.Rule{Kind: "item", ID: pointer(t, "/items/*/id")}, "the body has more than one object id at /items/*/id"},
		{"a kind that would break a key", woo, "pro#duct.updated", `{"id":1}`, webhook.Rule{}, "the kind of object is not usable"},
		{"a kind that would break an id", woo, "pro:duct.updated", `{"id":1}`, webhook.Rule{}, "the kind of object is not usable"},
		{"no rule where only a rule knows", standard, "", `{"type":"a.b","data":{"id":1}}`, webhook.Rule{}, none},
		{"a kind without a place", standard, "", `{"type":"a.b","data":{"id":1}}`, webhook.Rule{Kind: "a"}, none},
		{"a place without a kind", standard, "", `{"type":"a.b","data":{"id":1}}`, webhook.Rule{ID: pointer(t, "/data/id")}, none},
		{"a type without a dot has no kind", openAI, "", `{"type":"ping","data":{"id":"x"}}`, webhook.Rule{}, none},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req := standardRequest("msg_1", tt.body)
			if tt.provider == woo {
				req = wooRequest(tt.topic, tt.body)
			}
			fact := identify(t, tt.provider, req, tt.rule)
			if fact.Flaw != tt.want {
				t.Errorf("flaw %q", fact.Flaw)
			}
			if (fact.Flaw == "") != (fact.ObjectID != "") || (fact.ObjectID == "") != (fact.Kind == "") {
				t.Errorf("flaw %q and object %s:%s", fact.Flaw, fact.Kind, fact.ObjectID)
			}
			if fact.Key == "" || fact.Digest == "" || fact.Type == "" {
				t.Errorf("a flawed event is stored like any other: %+v", fact)
			}
		})
	}
}

func TestTypesThatCannotBeKnown(t *testing.T) {
	tests := []struct {
		name     string
		provider string
		req      webhook.Request
	}{
		{"topic missing", woo, with(wooRequest("x", wooBody), "X-WC-Webhook-Topic")},
		{"topic blank", woo, wooRequest("  ", wooBody)},
		{"topic repeated", woo, with(wooRequest("x", wooBody), "X-WC-Webhook-Topic", "product.updated", "product.deleted")},
		{"topic with a control character", woo, wooRequest("product\x7f.updated", wooBody)},
		{"topic that is not ASCII", woo, wooRequest("pröduct.updated", wooBody)},
		{"topic of 256 characters", woo, wooRequest(strings.Repeat("a", 256), wooBody)},
		{"topic with a space at its end", woo, wooRequest("product.updated ", wooBody)},
		{"no type", standard, standardRequest("msg_1", `{"data":{}}`)},
		{"type null", standard, standardRequest("msg_1", `{"type":null}`)},
		{"type a number", standard, standardRequest("msg_1", `{"type":7}`)},
		{"type with a line end", standard, standardRequest("msg_1", `{"type":"a\nb"}`)},
		{"an array", standard, standardRequest("msg_1", `[{"type":"a.b"}]`)},
		{"no type", openAI, standardRequest("wh_1", `{"id":"evt_1"}`)},
		{"no id in the header", standard, with(standardRequest("msg_1", standardBody), "Webhook-Id")},
		{"no id anywhere", openAI, with(standardRequest("wh_1", `{"type":"a.b"}`), "Webhook-Id")},
	}
	for _, tt := range tests {
		_, err := row(t, tt.provider).Identify(tt.req, decoded(t, tt.req.Body), webhook.Rule{}, noon)
		if !errors.Is(err, webhook.ErrMalformed) {
			t.Errorf("%s, %s: %v", tt.provider, tt.name, err)
		}
	}
	for _, name := range webhook.Names() {
		s := samples[name].scheme(t)
		req, _ := signed(t, name, samples[name].body)
		got, err := s.Type(req, read(t, s, req))
		if fact := identify(t, name, req, webhook.Rule{}); err != nil || got != fact.Type {
			t.Errorf("%s: type %q of an event of type %q, %v", name, got, fact.Type, err)
		}
	}
}

// What an attacker can change on a captured delivery of WooCommerce without breaking its signature must
// not make another event of it; what the shop changes must.
func TestWooCommerceEventKeys(t *testing.T) {
	key := func(topic, body string, received time.Time, headers ...string) string {
		req := wooRequest(topic, body)
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		fact, err := row(t, woo).Identify(req, decoded(t, req.Body), webhook.Rule{}, received)
		if err != nil {
			t.Fatal(err)
		}
		return fact.Key
	}
	const gone = `{"id":794}`
	first := key("product.updated", wooBody, noon)
	tests := []struct {
		name string
		a, b string
		same bool
	}{
		{"another delivery id", first, key("product.updated", wooBody, noon, "X-WC-Webhook-Delivery-ID", "0"), true},
		{"another webhook id", first, key("product.updated", wooBody, noon, "X-WC-Webhook-ID", "99"), true},
		{"another source", first, key("product.updated", wooBody, noon, "X-WC-Webhook-Source", "https://x/"), true},
		{"a year later", first, key("product.updated", wooBody, noon.AddDate(1, 0, 0)), true},
		{"another topic", first, key("product.created", wooBody, noon), false},
		{"another content in the same second", first, key("product.updated", strings.Replace(wooBody, "Tr", "tr", 1), noon), false},
		{"the same JSON in other bytes", first, key("product.updated", strings.Replace(wooBody, `\/`, `/`, 1), noon), false},
		{"deleted twice on one day", key("product.deleted", gone, noon), key("product.deleted", gone, noon.Add(11*time.Hour)), true},
		{"deleted again the next day", key("product.deleted", gone, noon), key("product.deleted", gone, noon.Add(12*time.Hour)), false},
		{"one day in UTC, two by the local clock", key("product.deleted", gone, noon), key("product.deleted", gone, noon.In(time.FixedZone("", 13*3600))), true},
		{"deletions of two objects", key("product.deleted", gone, noon), key("product.deleted", `{"id":795}`, noon), false},
		{"product and order of one id", key("product.deleted", gone, noon), key("order.deleted", gone, noon), false},
		{"version null is no version", key("product.updated", `{"id":1,"date_modified_gmt":null}`, noon), key("product.updated", `{"id":1,"date_modified_gmt":null}`, noon.AddDate(0, 0, 1)), false},
	}
	for _, tt := range tests {
		if (tt.a == tt.b) != tt.same {
			t.Errorf("%s: same event: %v", tt.name, tt.a == tt.b)
		}
	}
	// A rule that is changed between two deliveries makes no new event.
	req := wooRequest("product.updated", wooBody)
	if got := identify(t, woo, req, webhook.Rule{Version: pointer(t, "/nowhere")}); got.Key != first || got.Version != "" {
		t.Errorf("under another rule: key %s, version %q", got.Key, got.Version)
	}
}

// A retry of Standard Webhooks has a new time and signature and may have its JSON written anew: the same
// fact. Another content under the same id is another.
func TestDigestsOfARetry(t *testing.T) {
	for _, name := range []string{standard, openAI} {
		first := identify(t, name, standardRequest("msg_1", `{"id":"evt_1","type":"a.b","n":1.10,"s":"å/","data":{"id":"x"}}`), webhook.Rule{})
		tests := []struct {
			name string
			body string
			same bool
		}{
			{"the same bytes", `{"id":"evt_1","type":"a.b","n":1.10,"s":"å/","data":{"id":"x"}}`, true},
			{"other order and white space", "{ \"data\":{\"id\":\"x\"},\n \"type\":\"a.b\",\"s\":\"å/\",\"id\":\"evt_1\",\"n\":1.10}", true},
			{"other escapes", `{"id":"evt_1","type":"a.b","n":1.10,"s":"\u00e5\/","data":{"id":"x"}}`, true},
			{"another text", `{"id":"evt_1","type":"a.b","n":1.10,"s":"a/","data":{"id":"x"}}`, false},
			{"another number", `{"id":"evt_1","type":"a.b","n":1.11,"s":"å/","data":{"id":"x"}}`, false},
			{"one more field", `{"id":"evt_1","type":"a.b","n":1.10,"s":"å/","data":{"id":"x"},"y":null}`, false},
		}
		for _, tt := range tests {
			again := standardRequest("msg_1", tt.body)
			again.Header.Set("Webhook-Timestamp", "1795957200")
			again.Header.Set("Webhook-Signature", "v1,"+mac("an", "other"))
			got := identify(t, name, again, webhook.Rule{})
			if got.Key != first.Key || (got.Digest == first.Digest) != tt.same {
				t.Errorf("%s, %s: key %s, same digest %v", name, tt.name, got.Key, got.Digest == first.Digest)
			}
		}
	}
}

// Ids of headers are for search: one that is too long or not printable is dropped, not stored.
func TestIDsForSearchAreBounded(t *testing.T) {
	for _, id := range []string{strings.Repeat("d", 256), "a\x00b", "å", " "} {
		req := wooRequest("product.updated", wooBody)
		req.Header.Set("X-WC-Webhook-Delivery-ID", id)
		if got := identify(t, woo, req, webhook.Rule{}); got.DeliveryID != "" || got.Flaw != "" {
			t.Errorf("delivery id of %d bytes: %+v", len(id), got)
		}
	}
	long := identify(t, openAI, standardRequest("wh_1", `{"id":"evt_`+strings.Repeat("x", 300)+`","type":"a.b","data":{"id":"x"}}`), webhook.Rule{})
	if long.Key != "wh_1" || long.SenderID != "" {
		t.Errorf("event id of 304 bytes: %+v", long)
	}
}

// A signed time is told in texts that have room for four digits of a year.
func TestSignedTimesAreWithinTheYearsThatATextTakes(t *testing.T) {
	for stamp, want := range map[string]string{
		"0": "1970-01-01T00:00:00Z", "1795953600.999": "2026-11-29T12:00:00Z", "253402300800": "9999-12-31T23:59:59Z",
		"9223372036854775807": "9999-12-31T23:59:59Z", strings.Repeat("9", 30): "9999-12-31T23:59:59Z",
	} {
		req := with(standardRequest("msg_1", standardBody), "Webhook-Timestamp", stamp)
		if got, ok := row(t, standard).SignedAt(req); !ok || got.Format(time.RFC3339Nano) != want {
			t.Errorf("%s is %s, %v", stamp, got, ok)
		}
	}
}

// A proxy or gateway that joins a topic header sent twice leaves a text that names no type of the endpoint:
// answering "ignored" would lose the event in silence.
func TestATypeThatCameTwiceIsRefused(t *testing.T) {
	scheme, _ := webhook.Lookup("woocommerce")
	r := webhook.Request{Method: http.MethodPost, Header: http.Header{"X-Wc-Webhook-Topic": {"product.updated, product.updated"}}, Body: []byte(`{"id":1}`)}
	if got, err := scheme.Type(r, map[string]any{}); !errors.Is(err, webhook.ErrMalformed) {
		t.Errorf("Type = %q, %v", got, err)
	}
}

// The id stands in another place with each sender: in every one it is held to what a message can hold.
func TestNoRowTakesAnIDThatNoMessageHolds(t *testing.T) {
	rules := map[string]webhook.Rule{ // of those whose endpoints say where the id is
		"generic": {Kind: "thing", ID: pointer(t, "/thing/id")}, standard: {Kind: "contact", ID: pointer(t, "/data/id")}, "svix": {Kind: "contact", ID: pointer(t, "/data/id")},
	}
	shaped := func(s sample) bool { return s.provider == "twilio" } // an id of another form is none there, and the delivery is refused
	for _, provider := range names(func(s sample) bool { return !shaped(s) }) {
		t.Run(provider, func(t *testing.T) {
			req, _ := signed(t, provider, samples[provider].body)
			before := identify(t, provider, req, rules[provider])
			part := before.ObjectID[strings.LastIndex(before.ObjectID, "/")+1:] // of an id that is put together
			id := regexp.QuoteMeta(part)
			body := regexp.MustCompile(`:`+id+`([,}])`).ReplaceAll(req.Body, []byte(`:"`+part+`"$1`)) // a number
			req.Body = regexp.MustCompile(id+`"`).ReplaceAll(body, []byte(part+`\u0001"`))
			after := identify(t, provider, req, rules[provider])
			if before.Flaw != "" || !strings.Contains(after.Flaw, "control character") || after.ObjectID != "" || after.Key == "" {
				t.Errorf("%+v became %+v", before, after)
			}
		})
	}
}

// What else of a delivery becomes part of a key or of a message has no such character either.
func TestNothingOfAFactButItsKeyAndVersionIsAnyText(t *testing.T) {
	odd := "x\u0001y"
	h := http.Header{"X-Wc-Webhook-Topic": {"product.updated"}, "X-Wc-Webhook-Delivery-Id": {odd}, "Webhook-Id": {odd}, "Webhook-Timestamp": {"1795953600"}}
	for provider, body := range map[string]string{woo: `{"id":1,"date_modified_gmt":"x\u0001y"}`, standard: `{"type":"a.b","timestamp":"x\u0001y"}`} {
		fact := identify(t, provider, webhook.Request{Method: http.MethodPost, Header: h, Body: []byte(body)}, webhook.Rule{})
		if fact.DeliveryID != "" || fact.SenderID != "" || strings.ContainsFunc(fact.Type+fact.Kind+fact.ObjectID+fact.Digest, unicode.IsControl) {
			t.Errorf("%+v", fact)
		}
	}
}
