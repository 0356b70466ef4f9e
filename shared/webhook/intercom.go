package webhook

import (
	"crypto/sha1"
	"net/http"
)

const intercomSum = "X-Hub-Signature"

// intercomVolatile are the members that count and date the tries: a retry has other bytes, and so another
// signature.
var intercomVolatile = digestWithout("/delivery_attempts", "/first_sent_at", "/delivered_at", "/delivery_status")

// intercom signs the body alone, with SHA-1. No time is signed. Before it takes an address it asks for it
// by HEAD.
var intercom = Scheme{
	name:      "intercom",
	handshake: func(r Request) (Pong, bool) { return Pong{Status: "pong"}, r.Method == http.MethodHead },
	methods:   []string{http.MethodHead},
	key:       func(secret []byte) (key, bool) { return hmacSHA1("", secret), true },
	terms: secretTerms{
		min:  32,
		form: "the client secret of the app",
		not:  []otherSecret{{"dG9r", "an access token"}},
	},
	proof:       prefixedHex(intercomSum, "sha1=", sha1.Size),
	messages:    bodyAlone,
	source:      sourceIn("", "/app_id"),
	seal:        sealHex(intercomSum, "sha1="),
	greeting:    intercomPing,
	eventType:   at("/topic"),
	eventKey:    first(intercomID, intercomFact),
	digest:      intercomVolatile,
	senderID:    intercomID,
	kind:        at("/data/item/type"),
	idText:      whole("/data/item/id"),
	versionText: unixVersion(first(scalar("/data/item/updated_at"), scalar("/created_at"))),
	dated:       always,
}

var intercomID = prefixed("notif_", at("/id"))

// intercomFact is the event key of a notification without an id: what it says, whatever the try.
func intercomFact(r reading) string { return r.typ + "#" + intercomVolatile(r) }

// intercomPing knows the test of a webhook.
func intercomPing(_ Request, doc any) (Pong, bool) {
	return Pong{Status: "pong"}, at("/topic")(reading{doc: doc}) == "ping"
}
