package webhook

import "strings"

// stripeHeader lists v1 once for each active secret while one is rolled, and v0 on test events, which
// proves nothing.
var stripeHeader = pairs{header: "Stripe-Signature", divider: ",", stamp: "t", sum: "v1", join: "."}

// stripe signs with the secret's own text, whsec_ included. A retry has a new time and signature, and
// another pending_webhooks; the event's id stays. Two shapes of event come: with the object as it was
// (snapshot), and with its id alone (thin).
var stripe = Scheme{
	name: "stripe",
	key:  func(secret []byte) (key, bool) { return hmacSHA256("", secret), true },
	terms: secretTerms{
		min:  38,
		form: "whsec_ and at least 32 letters and digits",
		not: []otherSecret{
			{"sk_", "a secret key of the API"}, {"rk_", "a restricted key of the API"}, {"pk_", "a publishable key"},
			{"whpk_", "the public key of a sender that follows Standard Webhooks"},
		},
		reason: stripeSecretReason,
		make:   func(random []byte) string { return "whsec_" + hexOf(random) },
	},
	proof:       stripeHeader.proof,
	messages:    stripeHeader.messages,
	window:      fiveMinutes, // in both directions, although Stripe's own libraries take any time to come
	source:      sourceIn("", "/account", "/context"),
	seal:        stripeHeader.seal,
	greeting:    stripePing,
	eventType:   at("/type"),
	eventKey:    prefixed("evt_", at("/id")),
	digest:      digestWithout("/pending_webhooks"),
	senderID:    prefixed("evt_", at("/id")),
	environment: live("/livemode"),
	kind:        first(at("/data/object/object"), at("/related_object/type")),
	idText:      first(at("/data/object/id"), at("/related_object/id")),
	versionText: unixVersion(scalar("/created")), // of the event: the object has no revision
	dated:       always,
	worldwide:   true,
}

// stripePing knows the test of an event destination.
func stripePing(_ Request, doc any) (Pong, bool) {
	return Pong{Status: "pong"}, at("/type")(reading{doc: doc}) == "v2.core.event_destination.ping"
}

// stripeSecretReason keeps the two kinds of whsec_ apart as far as they can be: that of Standard
// Webhooks is base64, whose text Stripe would never issue.
func stripeSecretReason(text string) string {
	rest, ok := strings.CutPrefix(text, "whsec_")
	switch {
	case !ok:
		return "it does not begin with whsec_"
	case strings.ContainsAny(rest, "+/="):
		return "it is base64, as senders that follow Standard Webhooks issue it, and Stripe does not"
	}
	return ""
}
