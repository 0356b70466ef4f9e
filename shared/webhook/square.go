package webhook

import (
	"encoding/base64"
	"fmt"
	"time"
)

const (
	squareSum         = "X-Square-Hmacsha256-Signature"
	squareEnvironment = "Square-Environment"
)

// square signs the address, as it was registered, and the body. A retry is the same to the byte, but for
// headers that are not signed and not read here.
var square = Scheme{
	name: "square",
	key:  func(secret []byte) (key, bool) { return hmacSHA256("", secret), true },
	terms: secretTerms{
		min:  22,
		form: "the signature key of the webhook subscription, at least 22 letters, digits, - and _",
		not: []otherSecret{
			{"EAAA", "an access token"}, {"sq0csp-", "the secret of an application"}, {"sq0idp-", "the id of an application"},
			{"sandbox-sq0", "of an application in the sandbox"},
		},
		public: []string{"Ibxx_5AKakO-3qeNVR61Dw"},
	},
	proof:       squareProof,
	messages:    func(r Request, _ proof) []message { return []message{{[]byte(r.URL), r.Body}} },
	signsURL:    true,
	source:      sourceIn("", "/merchant_id"),
	seal:        squareSeal,
	greeting:    squareTest,
	eventType:   at("/type"),
	eventKey:    first(squareEventID, typeAndContent),
	digest:      rawDigest,
	senderID:    squareEventID,
	environment: squareWorld,
	kind:        at("/data/type"),
	id:          pointerTo("/data/id"),
	versionText: at("/created_at"), // of the event: not all objects have a version, and a number is older than any time
	dated:       always,
	worldwide:   true,
}

// squareProof refuses a delivery without a body, which Square's own libraries take for valid unseen.
func squareProof(r Request) (proof, error) {
	p, err := bareBase64(squareSum)(r)
	if err == nil && len(r.Body) == 0 {
		return proof{}, fmt.Errorf("there is no body: %w", ErrSignature)
	}
	return p, err
}

func squareSeal(r *Request, k key, _ time.Time) {
	r.Header.Set(squareSum, base64.StdEncoding.EncodeToString(k.sign(message{[]byte(r.URL), r.Body})))
}

// squareTest knows what the button for trying a subscription sends.
func squareTest(_ Request, doc any) (Pong, bool) {
	return Pong{Status: "pong"}, at("/type")(reading{doc: doc}) == "webhooks.test_notification"
}

func squareEventID(r reading) string { return bounded(at("/event_id")(r)) }

// squareWorld is which of the two a delivery comes from. The header is not signed.
func squareWorld(r reading) string {
	return map[string]string{"Sandbox": Test, "Production": Production}[header(squareEnvironment)(r)]
}
