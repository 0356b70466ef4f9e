package integration_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"engang/infra/local"
	"engang/infra/local/wire"
)

// tillRecipe takes one field, and says one sentence.
const tillRecipe = `
recipes:
  till-note:
    version: 1
    input:
      fields: {title: %s}
      required: [title]
    model: {provider: openai, name: gpt-5.4-mini-2026-03-17, options: {max_output_tokens: 600}}
    instructions: Say in one sentence how it stands.
    output:
      name: note
      schema:
        type: object
        additionalProperties: false
        required: [note]
        properties:
          note: {type: string}
    policy: auto
`

// withEndpoint is the local configuration with one more endpoint, whose recipe reads the field at title.
func withEndpoint(t *testing.T, endpoint, title string) local.Options {
	t.Helper()
	path := filepath.Join(t.TempDir(), "more.yaml")
	text := "version: 1\ntenant: shop\nenvironment: test\nendpoints:\n" + endpoint + fmt.Sprintf(tillRecipe, title)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return local.Options{Speed: calm, ConfigFiles: []string{"../../infra/local.yaml", path}}
}

// flawed demands that an event has settled nothing, and waits in the review list with a reason.
func (s *system) flawed(event, reason string) {
	s.t.Helper()
	if e := s.event(event); e.State != "parked" || !strings.Contains(e.Reason, reason) {
		s.t.Errorf("event is %s, %q; want it parked with %q", e.State, e.Reason, reason)
	}
}

// A number is older than any time, so that a time that stands in for one would be the newest for ever.
func TestADeliveryWithoutItsNumberIsParkedAndTheNextOnesCount(t *testing.T) {
	o := withEndpoint(t, `  desk:
    provider: standard-webhooks
    secrets: [ssm:hooks/desk/1]
    events:
      doc.updated: {recipes: [till-note], object: {kind: doc, id: /data/id}, version: /data/rev}
`, "/data/title")
	each(t, o, func(t *testing.T, s *system) {
		doc := func(id, rev string) string {
			body := fmt.Sprintf(`{"type":"doc.updated","timestamp":"2026-11-29T10:00:00Z","data":{"id":"d1","title":"Revision %s"%s}}`, id, rev)
			return s.accept(s.from("standard-webhooks", "desk", body, "Webhook-Id", id))
		}
		doc("m41", `,"rev":41`)
		s.settle()
		without := doc("m0", "")
		s.settle()
		s.flawed(without, "the body has no version at /data/rev")
		last := doc("m43", `,"rev":43`)
		s.settle()
		late := doc("m42", `,"rev":42`)
		s.rest()
		s.by("doc:d1", last)
		if e := s.event(late); e.Outcome != "superseded" {
			t.Errorf("an older number settled as %q", e.Outcome)
		}
	})
}

func TestSquareIsRankedByTheTimeOfItsEventsAlone(t *testing.T) {
	o := withEndpoint(t, `  till:
    provider: square
    public_url: https://hooks.example.com/hooks/till
    secrets: [ssm:hooks/till/1]
    events:
      order.created: {recipes: [till-note]}
      order.updated: {recipes: [till-note]}
`, "/data/object/order/state")
	each(t, o, func(t *testing.T, s *system) {
		send := func(id, hour, order string) string {
			body := fmt.Sprintf(`{"merchant_id":"M1","type":"order.updated","event_id":%q,"created_at":"2026-11-29T%s:00:00Z","data":{"type":"order","id":"C7","object":{"order":{"id":"C7"%s}}}}`, id, hour, order)
			return s.accept(s.from("square", "till", body))
		}
		send("e1", "10", `,"state":"a","version":1`)
		s.settle()
		send("e2", "11", `,"state":"b"`) // not every order has a version
		s.settle()
		newest := send("e3", "12", `,"state":"c","version":5`)
		s.rest()
		s.by("order:C7", newest)
	})
}

// A try is signed with the time of the try. The older message was refused at first, and comes again when the newer one is done.
func TestAnOlderMessageThatIsTriedAgainIsNotTheNewest(t *testing.T) {
	o := withEndpoint(t, `  std:
    provider: standard-webhooks
    secrets: [ssm:hooks/std/1]
    events:
      doc.updated: {recipes: [till-note], object: {kind: doc, id: /data/id}}
`, "/data/title")
	onEach(t, func(t *testing.T, begin func(local.Options) *system) {
		all := &trouble{}
		o := o
		o.Judge = all.judge
		s, now := begin(o), time.Now()
		send := func(id, title, hour string, tried time.Duration) answer {
			body := fmt.Sprintf(`{"type":"doc.updated","timestamp":"2026-11-29T%s:00:00Z","data":{"id":"d1","title":%q}}`, hour, title)
			return s.send(s.signedAt("std", "standard-webhooks", http.Header{"Webhook-Id": {id}}, body, now.Add(-tried)))
		}
		all.is(every("W1 put event", wire.Before, wire.Fail))
		s.refused(http.StatusServiceUnavailable, send("msg_1", "old", "10", time.Minute))
		all.is(nil)
		newer := s.accept(send("msg_2", "new", "11", 30*time.Second))
		s.settle()
		older := s.accept(send("msg_1", "old", "10", 0))
		s.rest()
		s.by("doc:d1", newer)
		if e := s.event(older); e.Outcome != "superseded" || s.calls() != 1 {
			t.Errorf("the older one settled as %q, %d calls", e.Outcome, s.calls())
		}
	})
}

// The topic is a header that is not signed: the very bytes and signature of a product, under another topic.
func TestACapturedProductThatIsSentAsAnOrderIsParked(t *testing.T) {
	o := withEndpoint(t, `  both:
    provider: woocommerce
    secrets: [ssm:hooks/both/1]
    events:
      product.updated: {recipes: [till-note]}
      order.updated: {recipes: [till-note]}
`, "/status")
	var captured string
	for _, c := range captures(t) {
		if c.header("X-WC-Webhook-Topic") == "product.updated" && strings.Contains(string(c.Body), `"date_modified_gmt"`) {
			captured = string(c.Body)
		}
	}
	_, rest, _ := strings.Cut(captured, `"id":`)
	id, _, _ := strings.Cut(rest, ",")
	each(t, o, func(t *testing.T, s *system) {
		send := func(topic, body string) string {
			return s.accept(s.from("woocommerce", "both", body, "X-Wc-Webhook-Topic", topic))
		}
		order := send("order.updated", fmt.Sprintf(`{"id":%s,"status":"processing","date_modified_gmt":"2020-11-29T10:00:00","line_items":[],"number":"7","total":"9"}`, id))
		send("product.updated", captured)
		s.settle()
		calls := s.calls()
		forged := send("order.updated", captured)
		s.rest()
		s.flawed(forged, "does not fit the body")
		s.by("order:"+id, order)
		if calls != 2 || s.calls() != calls {
			t.Errorf("%d calls, then %d", calls, s.calls())
		}
	})
}
