package webhook

import "strings"

const lemonSum = "X-Signature"

// lemonSqueezy signs the body alone, without a time. The event's name also stands in a header, which is not
// signed and says nothing here. There is no id of an event or delivery; whether webhook_id is new on a
// retry, nobody says.
var lemonSqueezy = Scheme{
	name: "lemonsqueezy",
	key:  func(secret []byte) (key, bool) { return hmacSHA256("", secret), true },
	terms: secretTerms{
		max:  40, // more than the sender's form takes
		form: "16 to 40 characters that you chose",
		not:  []otherSecret{{"eyJ", "a key of the API"}},
	},
	proof:       prefixedHex(lemonSum, "", 32),
	messages:    bodyAlone,
	source:      sourceIn("", "/data/attributes/store_id"),
	seal:        sealHex(lemonSum, ""),
	eventType:   at("/meta/event_name"),
	eventKey:    typeAndFact(lemonFact),
	digest:      lemonFact,
	environment: first(testing("/meta/test_mode"), testing("/data/attributes/test_mode")),
	kind:        lemonKind,
	id:          pointerTo("/data/id"),
	version:     pointerTo("/data/attributes/updated_at"),
}

var lemonFact = digestWithout("/meta/webhook_id")

// lemonKind is "license-key" of "license-keys", as the interface names its resources.
func lemonKind(r reading) string { return strings.TrimSuffix(at("/data/type")(r), "s") }
