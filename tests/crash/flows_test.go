package crash_test

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"engang/infra/local/localtest"
)

// A flow is what senders and persons do in one scenario, without regard to what breaks.
type flow struct {
	name     string
	scenario string   // of infra/design.md section 13, or of infra/protocol.md section 10
	config   []string // texts of configuration files; none: local.yaml
	faults   string   // that belong to the flow
	stalls   point    // where a worker hangs until its lease is another one's, as part of the flow
	calls    int      // model calls when nothing breaks
	more     int      // further calls that the order of things may cost
	fewer    int      // calls that the order of things may save
	slow     bool     // it goes through three years of days: without -all each of its points is struck once
	varies   bool     // its course depends on who is faster, also unbroken
	change   change   // of requests on their way, that belongs to the flow
	run      func(w *world)
	final    func(w *world) error // what must be there in the end
}

const (
	noon  = "2026-11-29T12:00:00"
	later = "2026-11-29T12:30:00"
	late  = "2026-11-29T13:00:00"
)

var (
	chair = product{ID: 794, Name: "Chair", Modified: noon}
	table = product{ID: 794, Name: "Table", Modified: later}
)

func at(p product, modified string) product { p.Modified = modified; return p }

func numbered(id int) product {
	return product{ID: id, Name: fmt.Sprintf("Chair %d", id), Modified: noon}
}

const (
	hasPolicy  = "    policy: auto                      # draft = a person decides\n"
	hasLimits  = "    limits: {attempts: 5}             # also usd_per_event, usd_per_day, per_minute\n"
	hasVersion = "    version: 3                        # immutable once applied; a change of anything below needs 4\n"
	hasSecrets = "    secrets: [ssm:hooks/woo-shop/1]   # several while rotating, the newest first; any may match\n"
	hasBody    = "    max_body: 512KiB\n"
)

// senders are the flows in which nobody but senders and workers act.
var senders = []flow{
	{name: "new event", scenario: "1", calls: 1, run: func(w *world) {
		w.deliver(updated(chair))
	}, final: all(has("product:794", "product-card", noon, "Chair"), ended(map[string]int{"settled completed": 1}))},
	{name: "bad signature", scenario: "2", run: func(w *world) {
		for range tries {
			r := updated(chair)(w)
			r.Header.Set("X-Wc-Webhook-Signature", "bm90IHRoaXMgb25lIGJ1dCBhbm90aGVyIG9uZSwgcmVhbGx5IQ==")
			if a := w.ask(r); a.code == http.StatusUnauthorized {
				return
			} else if a.code < http.StatusInternalServerError {
				w.lost("refuse-early: answered %d %s", a.code, a.body)
			}
		}
		w.lost("refuse-early: never refused")
	}, final: ended(map[string]int{})},
	{name: "duplicate", scenario: "4", calls: 1, run: func(w *world) {
		w.deliver(updated(chair))
		w.deliver(updated(chair))
		w.settle()
		w.deliver(updated(chair))
	}, final: all(has("product:794", "product-card", noon, "Chair"), ended(map[string]int{"settled completed": 1}))},
	{name: "duplicates at once", varies: true, scenario: "5", calls: 1, run: func(w *world) {
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { w.again(updated(chair)) })
		}
		all.Wait()
		w.sent = append(w.sent, updated(chair))
	}, final: all(has("product:794", "product-card", noon, "Chair"), ended(map[string]int{"settled completed": 1}))},
	{name: "conflict", scenario: "4", calls: 1, run: func(w *world) {
		w.deliver(contact("msg_1", "Acme"))
		w.settle()
		w.deliver(contact("msg_1", "Other"))
	}, final: all(has("contact:c_1", "contact-note", noon, ""), ended(map[string]int{"settled completed": 1}), waits(1))},
	{name: "a worker stalls before its commit", scenario: "11", stalls: point{"enrichment", "W4 complete", 1}, calls: 2, more: 1, fewer: 1, run: func(w *world) {
		w.deliver(updated(chair))
	}, final: has("product:794", "product-card", noon, "Chair")},
	{name: "two workers by one name", scenario: "11", stalls: point{"enrichment", "W4 complete", 1}, change: oneName, calls: 2, more: 1, fewer: 1, run: func(w *world) {
		w.deliver(updated(chair))
	}, final: has("product:794", "product-card", noon, "Chair")},
	{name: "out of order", scenario: "14", calls: 1, run: func(w *world) {
		w.deliver(updated(table))
		w.settle()
		w.deliver(updated(chair))
	}, final: all(has("product:794", "product-card", later, "Table"), ended(map[string]int{"settled completed": 1, "settled superseded": 1}))},
	{name: "two versions at once", scenario: "14", calls: 2, fewer: 1, varies: true, run: func(w *world) {
		w.deliver(updated(table))
		w.deliver(updated(chair))
	}, final: has("product:794", "product-card", later, "Table")},
	{name: "same second, different content", scenario: "15", calls: 2, run: func(w *world) {
		w.deliver(updated(chair))
		w.settle()
		w.deliver(updated(at(table, noon)))
	}, final: all(has("product:794", "product-card", noon, "Table"), ended(map[string]int{"settled completed": 2}))},
	{name: "passing failure", scenario: "17", faults: "model:500", calls: 2, run: func(w *world) {
		w.deliver(updated(chair))
	}, final: has("product:794", "product-card", noon, "Chair")},
	{name: "refused by the model", scenario: "17", faults: "model:refusalx9", calls: 1, run: func(w *world) {
		w.deliver(updated(chair))
	}, final: all(hasNone("product:794"), states("failed"), ended(map[string]int{"parked": 1}), waits(1), told)},
	{name: "a check fails", scenario: "17", faults: "model:missingx9", calls: 1, run: func(w *world) {
		w.deliver(updated(chair))
	}, final: all(hasNone("product:794"), states("review"), ended(map[string]int{"settled review": 1}), waits(1))},
	{name: "invalid input", scenario: "17", run: func(w *world) {
		w.deliver(woo(`{"id":794,"date_modified_gmt":"` + noon + `"}`)) // without its name
		w.deliver(woo(`{"code":"rest_forbidden","message":"Sorry.","data":{"status":401}}`))
	}, final: all(hasNone("product:794"), states(), ended(map[string]int{"parked": 2}), waits(2), told)},
	{name: "workers keep dying", scenario: "18", config: []string{edited(hasLimits, "    limits: {attempts: 2}\n")}, faults: "worker:kill@before-callx9", run: func(w *world) {
		w.deliver(updated(chair))
	}, final: all(hasNone("product:794"), states("failed"), ended(map[string]int{"parked": 1}), waits(1), told)},
	{name: "echo", scenario: "19", calls: 1, run: func(w *world) {
		w.deliver(updated(chair))
		w.settle()
		w.deliver(updated(at(chair, later)))
	}, final: all(has("product:794", "product-card", later, "Chair"), ended(map[string]int{"settled completed": 2}))},
	{name: "created and updated", varies: true, scenario: "20", calls: 1, more: 1, run: func(w *world) {
		w.deliver(signed(fromShop("product.created", chair.Body())))
		w.deliver(updated(chair))
	}, final: all(has("product:794", "product-card", noon, "Chair"), ended(map[string]int{"settled completed": 2}))},
	{name: "back to what it was", scenario: "19", calls: 2, run: func(w *world) {
		w.deliver(updated(table))
		w.settle()
		w.deliver(updated(chair))
		w.settle()
		w.deliver(updated(at(chair, late)))
	}, final: all(has("product:794", "product-card", late, "Chair"), ended(map[string]int{"settled completed": 2, "settled superseded": 1}))},
	{name: "two secrets", varies: true, scenario: "22", config: []string{edited(hasSecrets, "    secrets: [ssm:hooks/woo-shop/2, ssm:hooks/woo-shop/1]\n")}, calls: 2, run: func(w *world) {
		w.deliver(updated(numbered(1)))
		second := fromShop("product.updated", numbered(2).Body())
		second.Slot = "2"
		w.deliver(signed(second))
	}, final: all(has("product:1", "product-card", noon, "Chair 1"), has("product:2", "product-card", noon, "Chair 2"))},
	{name: "body over the item limit", scenario: "23", calls: 1, run: func(w *world) {
		w.deliver(updated(big))
	}, final: has("product:794", "product-card", noon, "Chair")},
	{name: "several recipes", scenario: "section 10", config: []string{twoRecipes}, calls: 2, run: func(w *world) {
		w.deliver(updated(chair))
	}, final: all(has("product:794", "product-card", noon, "Chair"), has("product:794", "product-note", noon, "Chair"), ended(map[string]int{"settled completed": 1}))},
	{name: "one delivery, several events", varies: true, scenario: "section 10", config: []string{edited(), batchConfig}, calls: 2, run: func(w *world) {
		w.deliver(signed(localtest.Delivery{Endpoint: "hub", Provider: "hubspot", Body: contactBatch}))
	}, final: all(has("contact:123", "hub-note", "2026", ""), has("contact:124", "hub-note", "2026", ""), ended(map[string]int{"settled completed": 2, "settled split": 1}))},
	{name: "quiet period", varies: true, scenario: "section 10", config: []string{edited(hasVersion, hasVersion+"    quiet_period: 100s\n")}, calls: 1, more: 1, run: func(w *world) {
		for i := range 3 {
			w.deliver(updated(product{ID: 794, Name: fmt.Sprintf("Chair, text %d", i), Modified: fmt.Sprintf("2026-11-29T12:00:%02d", i)}))
		}
	}, final: has("product:794", "product-card", "2026-11-29T12:00:02", "text 2")},
	{name: "provider's quota used up", scenario: "section 10", faults: "model:quota", calls: 2, run: func(w *world) {
		w.deliver(updated(chair))
		w.settle()
	}, final: has("product:794", "product-card", noon, "Chair")},
	{name: "limits a minute and a day", varies: true, scenario: "section 10", config: []string{edited(hasLimits, "    limits: {attempts: 5, per_minute: 1, usd_per_day: \"0.0040\"}\n")}, calls: 3, run: func(w *world) {
		for id := range 3 {
			w.deliver(updated(numbered(id + 1)))
		}
	}, final: all(has("product:1", "product-card", noon, "Chair 1"), has("product:2", "product-card", noon, "Chair 2"), has("product:3", "product-card", noon, "Chair 3"))},
	{name: "catch-up", varies: true, scenario: "section 10", config: []string{edited(hasBody, hasBody+"    silent_after: 1h\n    catch_up: {target: woo-shop, every: 15m}\n", "\nrecipes:\n", "\ntargets:\n  woo-shop: {kind: woocommerce, base_url: https://shop.example.com, key: ssm:targets/woo-shop}\n\nrecipes:\n")}, calls: 2, run: caughtUp,
		final: func(w *world) error {
			return all(has("product:1", "product-card", "20", "Chair 1"), has("product:2", "product-card", "20", "Chair 2"))(w)
		}},
}

// oneName gives all workers one name, as machines do whose randomness was copied: only the token tells them apart.
func oneName(call, body string) string {
	if call == "send event" || call == "W1 put event" {
		return body
	}
	return named.ReplaceAllString(body, `":me":{"S":"att_copied"}`)
}

var named = regexp.MustCompile(`":me":\{"S":"[^"]*"\}`)

var big = product{ID: 794, Name: "Chair", Modified: noon, Extra: fmt.Sprintf(`,"noise":%q`, noise(60_000))}

// noise is text that hardly packs.
func noise(n int) string {
	raw := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{7}).Read(raw) // it never fails
	return base64.StdEncoding.EncodeToString(raw)[:n]
}

func contact(id, company string) request {
	body := fmt.Sprintf(`{"type":"contact.created","timestamp":"%sZ","data":{"id":"c_1","company":%q}}`, noon, company)
	return signed(localtest.Delivery{Endpoint: "crm", Provider: "standard-webhooks", Header: http.Header{"Webhook-Id": {id}}, Body: body})
}

const contactBatch = `[{"eventId":1,"subscriptionId":11,"portalId":62515,"appId":54321,"occurredAt":1795982400000,"subscriptionType":"contact.creation","attemptNumber":0,"objectId":123},
{"eventId":2,"subscriptionId":11,"portalId":62515,"appId":54321,"occurredAt":1795982400001,"subscriptionType":"contact.creation","attemptNumber":0,"objectId":124},
{"eventId":3,"subscriptionId":12,"portalId":62515,"appId":54321,"occurredAt":1795982400002,"subscriptionType":"contact.deletion","attemptNumber":0,"objectId":9}]`

// small is a recipe with one text as its output.
func small(name, event string, fields string) string {
	return strings.NewReplacer("NAME", name, "FORM", strings.ReplaceAll(name, "-", "_"), "FIELDS", fields, "EVENT", event).Replace(`
  NAME:
    version: 1
    input:
      fields: {FIELDS}
    model:
      provider: openai
      name: gpt-5.4-mini-2026-03-17
      options: {max_output_tokens: 400}
    instructions: Say in one sentence what happened.
    output:
      name: FORM
      schema:
        type: object
        additionalProperties: false
        required: [note]
        properties:
          note: {type: string}
    policy: auto
`)
}

var (
	twoRecipes = edited("product.updated: {recipes: [product-card],", "product.updated: {recipes: [product-card, product-note],",
		"\nrecipes:\n", "\nrecipes:\n"+small("product-note", "", "name: /name"))
	batchConfig = `
version: 1
tenant: shop
environment: test
endpoints:
  hub:
    provider: hubspot
    public_url: https://hooks.example.com/hooks/hub
    secrets: [ssm:hooks/hub/1]
    events:
      contact.creation: {recipes: [hub-note]}
      contact.deletion: ignore
recipes:
` + small("hub-note", "", "what: /subscriptionType, contact: /objectId")
)
