package webhook

import "time"

var calendlyHeader = pairs{header: "Calendly-Webhook-Signature", divider: ",", stamp: "t", sum: "v1", join: "."}

// calendly signs as Stripe does, with a window of its own. An event has no id: what has happened and what
// is said of it name it. Where an invitee moves an appointment, one event cancels it and one makes another.
var calendly = Scheme{
	name: "calendly",
	key:  func(secret []byte) (key, bool) { return hmacSHA256("", secret), true },
	terms: secretTerms{
		form: "the signing key that was given when the subscription was made",
		not:  []otherSecret{{"eyJ", "an access token"}, {"https://", "an address"}},
	},
	proof:       calendlyHeader.proof,
	messages:    calendlyHeader.messages,
	window:      3 * time.Minute,
	source:      sourceIn("", "/created_by"),
	seal:        calendlyHeader.seal,
	eventType:   at("/event"),
	eventKey:    typeAndFact(valueDigest),
	digest:      valueDigest,
	kind:        upToFirstDot,
	id:          pointerTo("/payload/uri"),
	versionText: first(at("/payload/updated_at"), at("/payload/created_at"), at("/created_at")),
	dated:       always,
	worldwide:   true, // an id is an address
}
