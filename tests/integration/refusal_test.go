package integration_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/infra/local"
	"engang/shared/problem"
	"engang/shared/webhook"
)

// Whatever is wrong with a delivery: a clear answer that helps no attacker, and nothing is left of it,
// in the table, the queue, the bucket, or the log.
func TestEachRowOfTheHTTPTable(t *testing.T) {
	onEach(t, func(t *testing.T, begin func(local.Options) *system) {
		log := &logbook{to: t.Output()}
		s := begin(local.Options{Log: log})
		alike := map[int]answer{}
		for _, d := range refused {
			t.Run(d.name, func(t *testing.T) {
				a := d.sent(t, s.in(t), log)
				if first, known := alike[a.Code]; !known {
					alike[a.Code] = a
				} else if a.Code == 401 {
					first.Header.Del("Date")
					a.Header.Del("Date")
					if diff := cmp.Diff(first, a); diff != "" {
						t.Errorf("the answer tells what was wrong (-another refusal +this one):\n%s", diff)
					}
				}
			})
		}
		s.rest()
		if len(s.stored()) != 0 || len(s.objects()) != 0 || len(s.notices()) != 0 || s.calls() != 0 {
			t.Errorf("left behind: items %v, bodies %v, %d model calls", s.stored(), s.objects(), s.calls())
		}
	})
}

// sent sends the delivery, and checks its answer and what it left.
func (d delivery) sent(t *testing.T, s *system, log *logbook) answer {
	t.Helper()
	before, counts := s.stored(), s.Record().Counts()
	log.take()
	r := d.request(s)
	proofs := signatures(r)
	var a answer
	if d.encoded != "" {
		a = s.receive(gatewayEvent(r, d.encoded, true)) // a body that the front would never make
	} else {
		a = s.send(r)
	}
	d.answered(t, r.Method, a)
	text := log.take()
	d.logged(t, text)
	quiet(t, "the log", text, proofs...)
	quiet(t, "the answer", a.Body, proofs...)
	if left := cmp.Diff(before, s.stored()); left != "" {
		t.Errorf("stored:\n%s", left)
	}
	for _, call := range s.asked(counts) {
		if call != "read config" && call != "read secrets" {
			t.Errorf("a delivery that is not taken led to the call %q", call)
		}
	}
	if n := s.step(); n != 0 {
		t.Errorf("%d messages in the work queue", n)
	}
	return a
}

func (d delivery) answered(t testing.TB, method string, a answer) {
	t.Helper()
	if a.Code != d.code {
		t.Fatalf("answered %d %.300s, want %d", a.Code, a.Body, d.code)
	}
	for name, want := range d.header {
		if got := a.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	switch {
	case d.front:
		if !json.Valid([]byte(a.Body)) || a.Header.Get("Content-Type") != "application/json" {
			t.Errorf("the front answered %q of type %s", a.Body, a.Header.Get("Content-Type"))
		}
		return
	case a.Header.Get("Cache-Control") != "no-store":
		t.Errorf("the answer may be cached: %v", a.Header)
	}
	if d.status != "" {
		if want := `{"status":"` + d.status + `"}`; a.Body != want {
			t.Errorf("answered %s, want %s", a.Body, want)
		}
		return
	}
	if got := a.Header.Get("Content-Type"); got != problem.ContentType {
		t.Errorf("Content-Type: %s", got)
	}
	if method == http.MethodHead {
		return // its answer has no body
	}
	var p problem.Problem
	dec := json.NewDecoder(strings.NewReader(a.Body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil || p.Type != "urn:engang:problem:"+d.kind || p.Status != d.code || p.Title == "" || p.Detail == "" || p.Instance != "" {
		t.Errorf("no problem document of kind %s: %s, %v", d.kind, a.Body, err)
	}
}

// logged demands one line about the delivery, with the reason of a refusal, and none if no function ran.
func (d delivery) logged(t *testing.T, log string) {
	t.Helper()
	lines := deliveries(t, log)
	if d.front {
		if len(lines) != 0 {
			t.Errorf("a function ran: %v", lines)
		}
		return
	}
	if len(lines) != 1 || lines[0]["status"] != float64(d.code) {
		t.Fatalf("want one line with status %d, got %v", d.code, lines)
	}
	why, _ := lines[0]["err"].(string)
	if (why == "") != (d.code == http.StatusOK) || d.why != nil && !strings.Contains(why, d.why.Error()) {
		t.Errorf("the log says %q, want %v", why, d.why)
	}
}

// What lies just inside the limits that the rows above break is taken: those rows are refused for what
// their names say.
func TestWhatIsJustWithinTheLimitsIsTaken(t *testing.T) {
	each(t, local.Options{Speed: brisk}, func(t *testing.T, s *system) {
		for _, c := range []struct {
			name    string
			request func(*system) *http.Request
		}{
			{"of the largest size", wooBody("product.updated", sized(512<<10))},
			{"with large headers", wooBody("product.updated", product{ID: 1, Name: "Chair"}.Body(), header("X-Padding", strings.Repeat("x", 9_600)))},
			{"nested as deep as can be", wooBody("product.updated", nested(256))},
			{"stale by less than five minutes", crmSigned(-290 * time.Second)},
			{"ahead by less than five minutes", func(s *system) *http.Request {
				return s.signedAt("crm", "standard-webhooks", http.Header{"Webhook-Id": {"msg_2"}}, contact, time.Now().Add(290*time.Second))
			}},
			{"in base64, because it calls itself octets", wooBody("product.updated", product{ID: 3, Name: "Stool"}.Body(), header("Content-Type", "application/octet-stream"))},
			{"in base64, because it does not say what it is", crmBody(strings.Replace(contact, "c-1", "c-2", 1), header("Content-Type"), header("Webhook-Id", "msg_3"), forged("standard-webhooks", local.Secret("standard-webhooks", "ssm:hooks/crm/1")))},
		} {
			t.Run(c.name, func(t *testing.T) { s.in(t).accept(s.in(t).send(c.request(s.in(t)))) })
		}
		s.rest()
		events := s.items().Events()
		for _, e := range events {
			if e["st"] != "settled" {
				t.Errorf("%s of %s is %s: %s", e["pk"], e["obj"], e["st"], e["why"])
			}
		}
		if len(events) != 7 {
			t.Errorf("%d events", len(events))
		}
	})
}

func TestScenario02InvalidSignature(t *testing.T) {
	onEach(t, func(t *testing.T, begin func(local.Options) *system) {
		log := &logbook{to: t.Output()}
		s := begin(local.Options{Log: log})
		p := product{ID: 794, Name: "Chair"}
		right := wooBody("product.updated", p.Body())
		for range 3 {
			for _, wrong := range []func(*http.Request){forged("woocommerce", "local-wrong-secret"), otherBody, header("X-Wc-Webhook-Signature", base64.StdEncoding.EncodeToString(make([]byte, 32)))} {
				if a := s.send(changed(right(s), []func(*http.Request){wrong})); a.Code != 401 {
					t.Errorf("answered %d %s", a.Code, a.Body)
				}
			}
		}
		if lines := deliveries(t, log.take()); len(lines) != 9 || slices.ContainsFunc(lines, func(l map[string]any) bool {
			why, _ := l["err"].(string)
			return !strings.Contains(why, webhook.ErrSignature.Error()) || l["endpoint"] != "woo-shop"
		}) {
			t.Errorf("the log does not say what was refused, where and why: %v", lines)
		}
		if left := s.stored(); len(left) != 0 || s.step() != 0 {
			t.Fatalf("stored: %v", left)
		}
		s.accept(s.send(right(s))) // what was refused is no earlier delivery of it
		s.rest()
		if o := s.object("product:794"); o.Deliveries != 1 || len(o.Events) != 1 || s.calls() != 1 {
			t.Errorf("%d deliveries, %d events, %d calls", o.Deliveries, len(o.Events), s.calls())
		}
	})
}

func TestScenario03StaleAndFutureTimestamp(t *testing.T) {
	onEach(t, func(t *testing.T, begin func(local.Options) *system) {
		log := &logbook{to: t.Output()}
		s := begin(local.Options{Log: log})
		for _, off := range []time.Duration{-24 * time.Hour, -310 * time.Second, 310 * time.Second, 24 * time.Hour} {
			a := s.send(crmSigned(off)(s))
			if lines := deliveries(t, log.take()); a.Code != 401 || len(lines) != 1 || !strings.Contains(lines[0]["err"].(string), webhook.ErrTimestamp.Error()) {
				t.Errorf("signed %s off: answered %d, log %v", off, a.Code, lines)
			}
		}
		if left := s.stored(); len(left) != 0 || s.step() != 0 {
			t.Fatalf("stored: %v", left)
		}
		id := s.accept(s.send(crmSigned(0)(s))) // the sender signs each try anew
		for _, off := range []time.Duration{-290 * time.Second, 290 * time.Second} {
			if a := s.send(crmSigned(off)(s)); a.Code != 200 || a.Status != "duplicate" || a.Event != id {
				t.Errorf("the same one, signed %s off: %d %s", off, a.Code, a.Body)
			}
		}
		s.rest()
		if o := s.object("contact:c-1"); o.Deliveries != 3 || len(o.Results) != 1 || s.calls() != 1 {
			t.Errorf("%d deliveries, %d results, %d calls", o.Deliveries, len(o.Results), s.calls())
		}
	})
}

func TestScenario06UnexpectedEventType(t *testing.T) {
	onEach(t, func(t *testing.T, begin func(local.Options) *system) {
		log := &logbook{to: t.Output()}
		s := begin(local.Options{Log: log})
		body := product{ID: 794, Name: hush}.Body()
		for _, topic := range []string{"product.deleted", "product.restored", hush + ".created", "Product.Updated"} {
			if a := s.woo(topic, body); a.Code != 200 || a.Body != `{"status":"ignored"}` {
				t.Errorf("%s: %d %s", topic, a.Code, a.Body)
			}
		}
		text := log.take()
		if n := strings.Count(text, `"Ignored":1`); n != 4 {
			t.Errorf("%d of 4 were counted:\n%s", n, text)
		}
		quiet(t, "the log", text)
		if left := s.stored(); len(left) != 0 || s.step() != 0 || s.calls() != 0 {
			t.Fatalf("stored: %v", left)
		}
		s.accept(s.woo("product.updated", body)) // the topic is not signed: the body's event was not used up
		s.rest()
	})
}

// Verified deliveries that nothing can be made of. A 4xx would make the sender switch its webhook off:
// they are stored, acknowledged and parked with the reason.
var unusable = []struct {
	name    string
	request func(*system) *http.Request
	reason  string
}{
	{"no object id", wooBody("product.updated", `{"name":"`+hush+`"}`), "no object id at /id"},
	{"an object id that is nothing", wooBody("product.updated", `{"id":null,"name":"`+hush+`"}`), "the object id at /id is null"},
	{"an object id that is a list", wooBody("product.updated", `{"id":[794],"name":"`+hush+`"}`), "the object id at /id is an array"},
	{"an object id that is too long for a key", wooBody("product.updated", `{"id":"`+strings.Repeat(hush, 40)+`"}`), "longer than"},
	{"a signed error of the shop's REST interface", wooBody("product.updated", `{"code":"woocommerce_rest_product_invalid_id","message":"`+hush+`","data":{"status":404}}`), "an error of its REST interface"},
	{"an array where one object is expected", wooBody("product.updated", `[{"id":794,"name":"`+hush+`"}]`), "the body is an array"},
	{"a bare text", wooBody("product.updated", `"`+hush+`"`), "the body is a text"},
	{"null", wooBody("product.updated", `null`), "the body is null"},
	{"without the field that the recipe needs", wooBody("product.updated", `{"id":795,"description":"`+hush+`"}`), "name"},
	{"with nothing in that field", wooBody("product.updated", `{"id":796,"name":null,"description":"`+hush+`"}`), "name"},
	{"Standard Webhooks, no object id", crmBody(`{"type":"contact.created","data":{"company":"` + hush + `"}}`), "no object id at /data/id"},
}

func TestInvalidInputIsStoredAndParkedWithItsReason(t *testing.T) {
	onEach(t, func(t *testing.T, begin func(local.Options) *system) {
		log := &logbook{to: t.Output()}
		s := begin(local.Options{Log: log})
		ids := map[string]string{} // by name
		for _, u := range unusable {
			a := s.send(u.request(s))
			ids[u.name] = s.accept(a)
			quiet(t, "the answer to "+u.name, a.Body)
		}
		s.rest()
		notices := s.notices()
		for _, u := range unusable {
			t.Run(u.name, func(t *testing.T) {
				s, id := s.in(t), ids[u.name]
				e := s.event(id)
				if e.State != "parked" || e.Category != "invalid input" || !strings.Contains(e.Reason, u.reason) || len(e.Operations) != 0 {
					t.Errorf("event %+v", e)
				}
				if i := s.item(id); i["oq"] != "review" || !strings.HasSuffix(i["od"], "#"+id) {
					t.Errorf("not in the review list: oq=%q od=%q", i["oq"], i["od"])
				}
				if len(notices[id]) != 1 {
					t.Fatalf("%d notices", len(notices[id]))
				}
				letter := notices[id][0]
				attributes := map[string]string{}
				for name, v := range letter.MessageAttributes {
					attributes[name] = *v.StringValue
				}
				if diff := cmp.Diff(map[string]string{"reason": e.Reason, "category": "invalid input", "operation": id}, attributes); diff != "" {
					t.Errorf("attributes (-want +got):\n%s", diff)
				}
				quiet(t, "the notice", *letter.Body+attributes["reason"])
				quiet(t, "the event", e.Reason+e.Object+e.Rank)
				if a := s.send(u.request(s)); a.Code != 200 || a.Status != "duplicate" || a.Event != id {
					t.Errorf("the sender's repeat: %d %s", a.Code, a.Body)
				}
			})
		}
		if n := s.step(); n != 0 || s.calls() != 0 || len(s.items().Operations()) != 0 || len(s.notices()) != 0 {
			t.Errorf("%d messages for repeats, %d model calls, operations %v", n, s.calls(), s.items().Operations())
		}
		quiet(t, "the log", log.take())
		s.rest()
	})
}
