package webhook

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"engang/shared/document"
)

// mailgun signs a time and a token that is used once, and writes both into the body beside the event.
// Nothing of the event is signed: who has seen one delivery can say anything within the window. That is
// why the token is the event key: what comes under a token that is known is a repeat of the first or a
// conflict with it, and never work. Where a retry has a token of its own, its work is found done.
//
// The forms of its webhooks before 2018 are not taken. An answer of 406 would stop the retries.
var mailgun = Scheme{
	name: "mailgun",
	key:  func(secret []byte) (key, bool) { return hmacSHA256("", secret), true },
	terms: secretTerms{
		min:    32,
		form:   "the HTTP webhook signing key of the account",
		not:    []otherSecret{{"pubkey-", "a public key for checking addresses"}},
		public: []string{"key-3ax6xnjp29jd6fds4gc373sgvjxteol0"},
	},
	proof:       mailgunProof,
	messages:    func(_ Request, p proof) []message { return []message{{[]byte(p.stamp + p.id)}} },
	window:      fiveMinutes, // it also keeps digits from moving between time and token
	source:      mailgunSource,
	seal:        mailgunSeal,
	eventType:   at("/event-data/event"),
	eventKey:    mailgunToken,
	digest:      digestWithout("/signature"),
	senderID:    at("/event-data/id"),
	environment: testing("/event-data/flags/is-test-mode"),
	kind:        func(reading) string { return "message" },
	id:          pointerTo("/event-data/message/headers/message-id"),
	versionText: unixVersion(scalar("/event-data/timestamp")),
	dated:       always,
}

// mailgunToken is all of what is signed that tells two deliveries apart.
func mailgunToken(r reading) string { return bounded(at("/signature/token")(r)) }

// mailgunProof reads the body before it is verified: the signature is inside. An account's own signature
// stands beside that of a subaccount, over the same time and token.
func mailgunProof(r Request) (proof, error) {
	doc, err := document.Decode(r.Body)
	if err != nil {
		return proof{}, fmt.Errorf("the body is no JSON, so that there is no signature in it; forms are not taken: %w", ErrSignature)
	}
	body := reading{doc: doc}
	p := proof{id: mailgunToken(body), stamp: scalar("/signature/timestamp")(body)}
	var ok bool
	if p.at, ok = unixSeconds(p.stamp); !ok || p.id == "" {
		return proof{}, fmt.Errorf("time or token in the body is not readable: %w", ErrSignature)
	}
	for _, place := range []string{"/signature/signature", "/signature/parent-signature"} {
		if sum, ok := unhex(at(place)(body), sha256.Size); ok {
			p.signatures = append(p.signatures, signature{sum: sum})
		}
	}
	if len(p.signatures) == 0 {
		return proof{}, fmt.Errorf("the signature in the body is not readable: %w", ErrSignature)
	}
	return p, nil
}

// mailgunSeal writes the signature into the body, if that is an object, and keeps a token that is there.
func mailgunSeal(r *Request, k key, now time.Time) {
	doc, err := document.Decode(r.Body)
	body, ok := doc.(map[string]any)
	if err != nil || !ok {
		return
	}
	stamp, token := strconv.FormatInt(now.Unix(), 10), mailgunToken(reading{doc: doc})
	if token == "" {
		sum := sha256.Sum256(append([]byte(now.UTC().Format(time.RFC3339Nano)), r.Body...))
		token = hex.EncodeToString(sum[:25])
	}
	body["signature"] = map[string]any{"timestamp": stamp, "token": token, "signature": hex.EncodeToString(k.sign(message{[]byte(stamp + token)}))}
	if b, err := document.Canonical(body); err == nil {
		r.Body = b
	}
}

// mailgunSource is the domain that sends. It is not signed.
func mailgunSource(r Request, document func() any) string {
	body := reading{Request: r, doc: document()}
	if name := at("/event-data/domain/name")(body); name != "" {
		return name
	}
	_, domain, _ := strings.Cut(at("/event-data/envelope/sender")(body), "@")
	return domain
}
