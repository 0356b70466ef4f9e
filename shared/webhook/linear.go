package webhook

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"time"

	"engang/shared/document"
)

const (
	linearSum      = "Linear-Signature"
	linearDelivery = "Linear-Delivery"
	linearStamp    = "webhookTimestamp" // in the body, in milliseconds
)

// linear signs the body alone, which holds the signed time. The same time, the event's name and an id of
// the delivery stand in headers that are not signed: they prove nothing here. A delivery is about what
// its body says but for when, and by which webhook, it was sent.
var linear = Scheme{
	name: "linear",
	key:  func(secret []byte) (key, bool) { return hmacSHA256("", secret), true },
	terms: secretTerms{
		form: "the signing secret of the webhook, which begins with lin_wh_",
		not:  []otherSecret{{"lin_api_", "a key of the API"}, {"lin_oauth_", "an access token"}},
		make: func(random []byte) string { return "lin_wh_" + hexOf(random) },
	},
	proof:       prefixedHex(linearSum, "", 32),
	messages:    bodyAlone,
	signedAt:    linearTime,
	window:      time.Minute,
	source:      sourceIn("", "/organizationId"),
	seal:        linearSeal,
	eventType:   linearType,
	eventKey:    typeAndFact(linearFact),
	digest:      linearFact,
	deliveryID:  header(linearDelivery),
	kind:        func(r reading) string { return snake(at("/type")(r)) },
	id:          pointerTo("/data/id"),
	versionText: first(at("/data/updatedAt"), at("/createdAt")),
	dated:       always,
	worldwide:   true,
}

var linearFact = digestWithout("/"+linearStamp, "/webhookId")

// linearTime reads the signed time. The header Linear-Timestamp is no substitute: whoever holds an old
// delivery can write what he likes there.
func linearTime(r Request) (time.Time, error) {
	if doc, err := document.Decode(r.Body); err == nil {
		if t, ok := unixMillis(scalar("/" + linearStamp)(reading{doc: doc})); ok {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("the body does not say when it was sent: %w", ErrSignature)
}

// linearType is the kind of object with what was done to it: "Issue.update".
func linearType(r reading) string {
	kind := at("/type")(r)
	if action := at("/action")(r); kind != "" && action != "" {
		return kind + "." + action
	}
	return kind
}

// linearSeal writes the time into the body, as it is signed there.
func linearSeal(r *Request, k key, now time.Time) {
	stamp := strconv.FormatInt(now.UnixMilli(), 10)
	if body, ok := withMember(r.Body, linearStamp, stamp); ok {
		r.Body = body
	}
	r.Header.Set("Linear-Timestamp", stamp)
	sum := sha256.Sum256(append([]byte(now.UTC().Format(time.RFC3339Nano)), r.Body...))
	missing(r.Header, linearDelivery, hexOf(sum[:16]))
	sealHex(linearSum, "")(r, k, now)
}
