package webhook

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

const (
	standardID         = "Webhook-Id"
	standardStamp      = "Webhook-Timestamp"
	standardSignatures = "Webhook-Signature"
)

// fiveMinutes is the window of the Standard Webhooks libraries, in both directions.
const fiveMinutes = 300 * time.Second

// standardWebhooks is any sender that follows standardwebhooks.com. A retry keeps the id, which is
// signed, and has a new time and signature. What the object is, only the endpoint's configuration knows.
var standardWebhooks = Scheme{
	name:      "standard-webhooks",
	key:       standardKey,
	terms:     whsecTerms,
	proof:     standardProof,
	messages:  standardMessages,
	window:    fiveMinutes,
	seal:      standardSeal("msg_"),
	eventType: at("/type"),
	eventKey:  header(standardID),
	digest:    valueDigest,
	senderID:  header(standardID),

	versionText: bodyTime,
}

// openAI signs as Standard Webhooks does, with shared secrets only. The event has its own id in the
// body; the webhook-id is that of the delivery to one endpoint. Bodies are thin: an id to fetch.
var openAI = Scheme{
	name:       "openai",
	key:        openAIKey,
	terms:      whsecTerms,
	proof:      standardProof,
	messages:   standardMessages,
	window:     fiveMinutes,
	seal:       standardSeal("wh_"),
	eventType:  at("/type"),
	eventKey:   first(prefixed("evt_", at("/id")), header(standardID)),
	digest:     valueDigest,
	deliveryID: header(standardID),
	senderID:   prefixed("evt_", at("/id")),
	kind:       upToLastDot,
	id:         pointerTo("/data/id"),

	versionText: unixVersion(scalar("/created_at")),
	dated:       always,
	worldwide:   true,
}

// whsecTerms are those of the Standard Webhooks specification.
var whsecTerms = secretTerms{
	form:   "whsec_ and the base64 of 24 to 64 bytes",
	not:    []otherSecret{{"whsk_", "the private half of a key pair, which only the sender may hold"}},
	reason: whsecReason,
	make:   func(random []byte) string { return "whsec_" + base64.StdEncoding.EncodeToString(random) },
}

func whsecReason(text string) string {
	if strings.HasPrefix(text, "whpk_") {
		return ""
	}
	switch raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, "whsec_")); {
	case err != nil && strings.HasPrefix(text, "whsec_"):
		return "what follows whsec_ is not base64"
	case err == nil && len(raw) < 24:
		return "it has fewer than 24 bytes"
	case err == nil && len(raw) > 64:
		return "it has more than 64 bytes"
	}
	return ""
}

// The labels of Standard Webhooks.
const (
	labelHMAC    = "v1"
	labelEd25519 = "v1a"
)

// standardKey reads whsec_ or bare base64 as a shared secret, whpk_ as the sender's public key, and
// whsk_ as its private one, which only signs.
func standardKey(secret []byte) (key, bool) {
	text := string(secret)
	if encoded, ok := strings.CutPrefix(text, "whpk_"); ok {
		raw, ok := unbase64(encoded, ed25519.PublicKeySize)
		return ed25519Check(labelEd25519, raw), ok && !constant(raw)
	}
	if encoded, ok := strings.CutPrefix(text, "whsk_"); ok {
		raw, ok := unbase64(encoded, ed25519.PrivateKeySize)
		return ed25519Sign(labelEd25519, raw), ok && !constant(raw)
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, "whsec_"))
	return hmacSHA256(labelHMAC, raw), err == nil && !constant(raw)
}

// minOpenAISecret is the fewest bytes behind whsec_ that OpenAI's own library takes.
const minOpenAISecret = 24

// openAIKey reads whsec_ as canonical base64, and anything else as the bytes that it is: so does
// OpenAI's library. The halves of a key pair are refused, since they would be shared secrets that
// others know.
func openAIKey(secret []byte) (key, bool) {
	text := string(secret)
	if strings.HasPrefix(text, "whpk_") || strings.HasPrefix(text, "whsk_") {
		return key{}, false
	}
	encoded, ok := strings.CutPrefix(text, "whsec_")
	if !ok {
		return hmacSHA256(labelHMAC, secret), true
	}
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || base64.StdEncoding.EncodeToString(raw) != encoded || len(raw) < minOpenAISecret {
		return key{}, false
	}
	return hmacSHA256(labelHMAC, raw), !constant(raw)
}

// standardTime takes whole seconds, and a fraction: Weblate sends one, while it signs the whole seconds.
var standardTime = pattern(`^[0-9]+(\.[0-9]+)?$`)

// standardProof reads the three headers. A signature under an unknown label is left out, since senders
// may list several; one without a label is refused, although OpenAI's library takes it.
func standardProof(r Request) (proof, error) { return proofUnder(standardNames, r) }

// proofUnder does that for headers of these names: id, time, signatures.
func proofUnder(names [3]string, r Request) (proof, error) {
	var texts [3]string
	for i, name := range names {
		text, err := only(r.Header, name)
		if err != nil {
			return proof{}, err
		}
		texts[i] = text
	}
	p, list := proof{id: texts[0], stamp: texts[1]}, texts[2]
	if strings.Contains(p.id, ".") || !printable(p.id) { // a dot would let id and time swap characters
		return proof{}, unreadable(names[0])
	}
	if !standardTime().MatchString(p.stamp) {
		return proof{}, unreadable(names[1])
	}
	p.at = wholeSeconds(p.stamp)
	for text := range strings.SplitSeq(list, " ") {
		if strings.Count(text, ",") > 1 { // two headers that a gateway has joined
			return proof{}, unreadable(names[2])
		}
		if s, ok := standardSignature(text); ok {
			p.signatures = append(p.signatures, s)
		}
	}
	if n := len(p.signatures); n == 0 || n > maxSignatures {
		return proof{}, unreadable(names[2])
	}
	return p, nil
}

func standardSignature(text string) (signature, bool) {
	label, encoded, ok := strings.Cut(text, ",")
	size := map[string]int{labelHMAC: sha256.Size, labelEd25519: ed25519.SignatureSize}[label]
	if !ok || size == 0 {
		return signature{}, false
	}
	sum, ok := unbase64(encoded, size)
	return signature{label: label, sum: sum}, ok
}

// standardMessages is id.time.body with the time as it was written, and if it has a fraction, then also
// with its whole seconds.
func standardMessages(r Request, p proof) []message {
	whole, _, fraction := strings.Cut(p.stamp, ".")
	all := []message{standardMessage(p.id, p.stamp, r.Body)}
	if fraction {
		all = append(all, standardMessage(p.id, whole, r.Body))
	}
	return all
}

func standardMessage(id, stamp string, body []byte) message {
	return message{[]byte(id + "." + stamp + "."), body}
}

// standardSeal signs as a sender does. The time is always now's; an id that is there is kept, as on a
// retry, else it is made from body and time.
func standardSeal(prefix string) func(*Request, key, time.Time) {
	return sealUnder(standardNames, prefix)
}

func sealUnder(names [3]string, prefix string) func(*Request, key, time.Time) {
	return func(r *Request, k key, now time.Time) {
		stamp := strconv.FormatInt(now.Unix(), 10)
		sum := sha256.Sum256(append([]byte(stamp), r.Body...))
		missing(r.Header, names[0], prefix+hex.EncodeToString(sum[:12]))
		signed := k.sign(standardMessage(r.Header.Get(names[0]), stamp, r.Body))
		r.Header.Set(names[1], stamp)
		r.Header.Set(names[2], k.label+","+base64.StdEncoding.EncodeToString(signed))
	}
}
