package webhook

import (
	"encoding/base64"
	"strings"
	"time"
)

const (
	zendeskSum     = "X-Zendesk-Webhook-Signature"
	zendeskStamp   = "X-Zendesk-Webhook-Signature-Timestamp"
	zendeskAccount = "X-Zendesk-Account-Id"
	zendeskID      = "X-Zendesk-Webhook-Invocation-Id"
)

// zendeskTestSecret is what the button for trying a webhook signs with: it stands in the documentation.
const zendeskTestSecret = "dGhpc19zZWNyZXRfaXNfZm9yX3Rlc3Rpbmdfb25seQ=="

// zendesk signs time and body, with nothing between, by the secret's own text although that looks like
// base64. Two kinds of delivery come: events, which say what has happened, and what a trigger sends,
// whose body is the customer's own: of that only the endpoint knows type and object. A body may be
// missing; such a delivery can be verified, and says nothing.
var zendesk = Scheme{
	name: "zendesk",
	key:  func(secret []byte) (key, bool) { return hmacSHA256("", secret), true },
	terms: secretTerms{
		min:    32,
		form:   "the signing secret of the webhook",
		public: []string{zendeskTestSecret},
	},
	proof:       zendeskProof,
	messages:    func(r Request, p proof) []message { return []message{{[]byte(p.stamp), r.Body}} },
	window:      fiveMinutes, // Zendesk prescribes none
	source:      zendeskSource,
	seal:        zendeskSeal,
	eventType:   zendeskType,
	eventKey:    first(zendeskEventID, zendeskTriggerKey),
	digest:      valueDigest,
	deliveryID:  header(zendeskID),
	senderID:    zendeskEventID,
	kind:        zendeskKind,
	idText:      zendeskObjectID,
	versionText: zendeskVersion,
	dated:       func(r reading) bool { return zendeskType(r) != "" },
}

func zendeskProof(r Request) (proof, error) {
	p, err := bareBase64(zendeskSum)(r)
	if err != nil {
		return proof{}, err
	}
	if p.stamp, err = only(r.Header, zendeskStamp); err != nil {
		return proof{}, err
	}
	var ok bool
	if p.at, ok = isoTime(p.stamp); !ok { // also what would let time and body swap characters
		return proof{}, unreadable(zendeskStamp)
	}
	return p, nil
}

func zendeskSeal(r *Request, k key, now time.Time) {
	stamp := now.UTC().Format(time.RFC3339)
	r.Header.Set(zendeskStamp, stamp)
	r.Header.Set(zendeskSum, base64.StdEncoding.EncodeToString(k.sign(message{[]byte(stamp), r.Body})))
}

// zendeskSource is the account as the signed body says it; only the body of a trigger may leave it to
// the header, which is not signed.
func zendeskSource(r Request, document func() any) string {
	body := reading{Request: r, doc: document()}
	if zendeskType(body) != "" {
		return scalar("/account_id")(body)
	}
	return header(zendeskAccount)(body)
}

// zendeskType is set by Zendesk alone: a trigger's body may have a type that is a ticket's.
func zendeskType(r reading) string { return prefixed("zen:event-type:", at("/type"))(r) }

func zendeskEventID(r reading) string {
	if zendeskType(r) == "" {
		return ""
	}
	return bounded(at("/id")(r))
}

// zendeskTriggerKey takes the signed time in: a trigger that fires twice may well say the same twice.
// Where a retry is signed anew it is an event of its own, whose work is found done.
func zendeskTriggerKey(r reading) string { return typeAndContent(r) + "#" + header(zendeskStamp)(r) }

// zendeskSubject is kind and id of "zen:ticket:35436".
func zendeskSubject(r reading) (kind, id string) {
	rest, ok := strings.CutPrefix(at("/subject")(r), "zen:")
	kind, id, _ = strings.Cut(rest, ":")
	if !ok || id == "" || zendeskType(r) == "" {
		return "", ""
	}
	return kind, id
}

func zendeskKind(r reading) string {
	kind, _ := zendeskSubject(r)
	return kind
}

func zendeskObjectID(r reading) string {
	_, id := zendeskSubject(r)
	return id
}

func zendeskVersion(r reading) string {
	if zendeskType(r) == "" {
		return ""
	}
	return first(at("/detail/updated_at"), at("/time"))(r)
}
