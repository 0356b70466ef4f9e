package simulation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"engang/shared/document"
	"engang/shared/dynamo/dynamotest/invariants"
	"engang/shared/inbox"
	"engang/shared/webhook"
)

// The sender that puts many events into one delivery.
const (
	crmName  = "crm"
	crmType  = "contact.propertyChange"
	crmURL   = "https://hooks.invalid/hooks/" + crmName
	provider = "hubspot"

	eventNumber = 98_765_000 // of its first event: a text that nothing else has
)

var (
	firstTry  = []byte(`"attemptNumber":0`)
	secondTry = []byte(`"attemptNumber":1`)
)

// repeated is a body as a sender has it that counts its tries.
func repeated(raw []byte) []byte { return bytes.ReplaceAll(raw, firstTry, secondTry) }

// batches throws deliveries that hold many events. Some parts are in several of them, come alone too, are another fact
// under the same key, or no event at all.
func (d dice) batches(s *scene, contents int) {
	var parts []delivery
	for o := range 1 + d.below(2, "contacts", 0) {
		who := fmt.Sprintf("contact %d", o+1)
		for v := range 1 + d.below(3, who, 0) {
			parts = append(parts, d.part(o+1, version{
				name: fmt.Sprintf("c%d.%d", o+1, v+1), at: noon.Add(time.Duration(v*10+d.below(10, who+" version", v)-3600) * time.Second), nth: v, among: contents, bulky: s.bulky,
			}))
		}
	}
	for n := range 1 + d.below(3, "batches", 0) {
		one := delivery{name: fmt.Sprintf("batch %d", n+1), endpoint: crmName, retries: true}
		for _, p := range parts {
			if d.chance(600, one.name+" has "+p.name, 0) {
				one.parts = append(one.parts, p)
			}
		}
		if len(one.parts) == 0 {
			one.parts = parts[:1]
		}
		one.flawed = d.chance(100, one.name+" flawed", 0)
		one.fill(n)
		at := d.between(0, s.busy, one.name+" at", 0)
		for again := range 1 + d.below(3, one.name+" again", 0) {
			one.times = append(one.times, at+d.between(0, s.busy, one.name, again)*time.Duration(min(again, 1)))
		}
		s.deliveries = append(s.deliveries, one)
	}
	for _, p := range parts {
		if d.chance(200, p.name+" alone", 0) {
			p.other, p.times = nil, []time.Duration{d.between(0, s.busy, p.name+" alone at", 0)}
			s.deliveries = append(s.deliveries, p)
		}
	}
}

// part throws an event that comes among others.
func (d dice) part(o int, v version) delivery {
	one := delivery{name: "e" + v.name, endpoint: crmName, object: fmt.Sprintf("contact:%d", o), event: strconv.Itoa(eventNumber + 100*o + v.nth), retries: true}
	data := map[string]any{"id": fmt.Sprint(o), "name": string(rune('A' + d.below(v.among, one.name+" content", 0))), "note": one.mark()}
	if v.bulky && d.chance(500, one.name+" bulky", 0) {
		data["text"] = d.noise(one.name, bulk)
	}
	say := func() []byte {
		raw, err := json.Marshal(map[string]any{
			"portalId": 7, "subscriptionId": 3, "eventId": eventNumber + 100*o + v.nth, "occurredAt": v.at.UnixMilli(), "objectId": o, "propertyName": "name",
			"subscriptionType": crmType, "attemptNumber": 0, "data": data,
		})
		if err != nil {
			panic(err) // made of texts and numbers
		}
		return raw
	}
	one.body = say()
	if d.chance(80, one.name+" conflict", 0) {
		data["name"] = "X"
		one.other = say()
	}
	one.key = keyOf(one.body)
	return one
}

// fill makes the body of the nth batch: of the second, parts that have one with another fact.
func (d *delivery) fill(n int) {
	var raw [][]byte
	for _, p := range d.parts {
		if n == 1 && p.other != nil {
			raw = append(raw, p.other)
			continue
		}
		raw = append(raw, p.body)
	}
	if d.flawed {
		raw = append(raw, []byte(`{"note":"no event"}`))
	}
	d.body = slices.Concat([]byte("["), bytes.Join(raw, []byte(",")), []byte("]"))
	d.key = keyOf(d.body)
}

// keyOf is the event key of a body, as the system has it.
func keyOf(body []byte) string {
	scheme, _ := webhook.Lookup(provider)
	req := webhook.Request{Method: "POST", Body: body}
	doc, err := document.Decode(body)
	if err != nil {
		panic(err) // made here
	}
	if batch, ok := scheme.Split(req, doc); ok {
		return batch.Fact.Key
	}
	fact, err := scheme.Identify(req, doc, webhook.Rule{}, noon)
	if err != nil {
		panic(err) // made here
	}
	return fact.Key
}

// events are what it reports: itself, and what stands in it.
func (d delivery) events() []delivery { return append([]delivery{d}, d.parts...) }

// holds tells whether it says something of an object.
func (d delivery) holds(about string) bool {
	return slices.ContainsFunc(d.events(), func(p delivery) bool { return p.object == about })
}

// events are all that senders report.
func (s scene) events() (all []delivery) {
	for _, d := range s.deliveries {
		all = append(all, d.events()...)
	}
	return all
}

// judgeBatches: a delivery of many is settled when all that it holds is stored; and nothing is stored but what was sent.
func (w *world) judgeBatches(all invariants.Items) {
	ends, known := map[inbox.EventID]invariants.Item{}, map[inbox.EventID]bool{}
	for _, e := range all.Events() {
		ends[inbox.EventID(strings.TrimPrefix(e["pk"], "E#"))] = e
	}
	for _, d := range w.scene.events() {
		known[d.wants()] = true
	}
	for id := range ends {
		if !known[id] {
			w.violated("one-operation: %s is stored, and nobody sent it", id)
		}
	}
	for _, d := range w.scene.deliveries {
		e := ends[d.wants()]
		done := e["how"] == string(inbox.Split) || d.flawed && e["st"] == string(inbox.Parked) && e["cat"] != ""
		if len(d.parts) == 0 || !done {
			continue
		}
		w.counts.Batches++
		for _, p := range d.parts {
			if _, there := w.stored[p.wants()]; !there {
				w.violated("durable-ack: %s is settled, and its part %s is not stored", d.wants(), p.wants())
			}
		}
	}
}
