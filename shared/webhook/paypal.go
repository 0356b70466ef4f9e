package webhook

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"hash/crc32"
	"strconv"
	"strings"
	"time"
)

const (
	payPalID   = "Paypal-Transmission-Id"
	payPalTime = "Paypal-Transmission-Time"
	payPalSum  = "Paypal-Transmission-Sig"
	payPalCert = "Paypal-Cert-Url"
	payPalAlgo = "Paypal-Auth-Algo"

	payPalSHA256 = "SHA256withRSA"
)

// payPal signs with a key of its own, whose certificate stands at one of its hosts. The secret is the id of
// the webhook, which is signed and not sent: it keeps deliveries to others apart, and PayPal alone can
// sign. Of the body only the CRC-32 is signed, to which other bodies can be made by who has got hold of a
// delivery: where that matters, the object has to be fetched.
var payPal = Scheme{
	name: "paypal",
	key:  payPalKey,
	terms: secretTerms{
		min:    len("WEBHOOK_ID"),
		form:   "the id of the webhook, 17 capital letters and digits",
		public: []string{"WEBHOOK_ID", "1JE4291016473214C", "9XL90610J3647323C"}, // the first is what the simulator signs for
		reason: payPalReason,
		make:   func(random []byte) string { return strings.ToUpper(hexOf(random))[:17] },
	},
	proof:       payPalProof,
	messages:    payPalMessages,
	window:      4 * 24 * time.Hour, // it tries for three days, and whether with a new time, nobody says
	certificate: payPalCertificate,
	signers:     []string{"messageverificationcerts.paypal.com", "messageverificationcerts.sandbox.paypal.com"},
	trial:       payPalTrialCertificate,
	seal:        payPalSeal,
	eventType:   at("/event_type"),
	eventKey:    prefixed("WH-", at("/id")),
	digest:      valueDigest,
	deliveryID:  header(payPalID),
	senderID:    prefixed("WH-", at("/id")),
	environment: payPalEnvironment,
	kind:        at("/resource_type"),
	idText:      first(scalar("/resource/id"), at("/resource/dispute_id"), at("/resource/invoice/id"), at("/resource/payout_item_id"), at("/resource/batch_header/payout_batch_id")),
	versionText: first(at("/resource/update_time"), at("/create_time")),
	dated:       always,
}

// payPalAddress is where PayPal keeps the certificates: at hosts that are written here, and nowhere else.
var payPalAddress = pattern(`^https://api(?:-m)?(\.sandbox)?\.paypal\.com/v1/notifications/certs/[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`)

func payPalCertificate(r Request) (string, bool) {
	text, err := only(r.Header, payPalCert)
	return text, err == nil && payPalAddress().MatchString(text)
}

// payPalEnvironment is told by the host of the certificate: each signs with a key of its own.
func payPalEnvironment(r reading) string {
	m := payPalAddress().FindStringSubmatch(header(payPalCert)(r))
	switch {
	case m == nil:
		return ""
	case m[1] == "":
		return Production
	}
	return Test
}

var payPalWebhookID = pattern(`^[A-Z0-9]{17}$`)

func payPalReason(text string) string {
	if text != "WEBHOOK_ID" && !payPalWebhookID().MatchString(text) {
		return "it is no id of a webhook"
	}
	return ""
}

// payPalUsable is what can be in an id: nothing that divides what is signed.
var payPalUsable = pattern(`^[A-Za-z0-9_-]{1,64}$`)

func payPalKey(secret []byte) (key, bool) {
	hashed := func(m message) []byte {
		h := sha256.New()
		h.Write(m[0])
		h.Write(secret)
		h.Write(m[1])
		return h.Sum(nil)
	}
	return key{
		certified: func(c *x509.Certificate) func(message) func([]byte) bool {
			public, ok := c.PublicKey.(*rsa.PublicKey)
			strong := ok && public.N.BitLen() >= 2048
			return func(m message) func([]byte) bool {
				sum := hashed(m)
				return func(got []byte) bool { return strong && rsa.VerifyPKCS1v15(public, crypto.SHA256, sum, got) == nil }
			}
		},
		sign: func(m message) []byte {
			sum, err := rsa.SignPKCS1v15(nil, payPalTrial(), crypto.SHA256, hashed(m))
			if err != nil {
				panic("webhook: " + err.Error()) // the same on every run, so that no test passes
			}
			return sum
		},
	}, payPalUsable().Match(secret)
}

func payPalProof(r Request) (proof, error) {
	texts := map[string]string{}
	for _, name := range []string{payPalSum, payPalID, payPalTime, payPalAlgo} {
		text, err := only(r.Header, name)
		if err != nil {
			return proof{}, err
		}
		texts[name] = text
	}
	p := proof{id: texts[payPalID], stamp: texts[payPalTime]}
	if strings.Contains(p.id, "|") || !printable(p.id) { // a bar would let id and time swap characters
		return proof{}, unreadable(payPalID)
	}
	var ok bool
	if p.at, ok = isoTime(p.stamp); !ok {
		return proof{}, unreadable(payPalTime)
	}
	if texts[payPalAlgo] != payPalSHA256 { // the header must not pick the algorithm
		return proof{}, unreadable(payPalAlgo)
	}
	sum, err := base64.StdEncoding.DecodeString(texts[payPalSum])
	if err != nil || base64.StdEncoding.EncodeToString(sum) != texts[payPalSum] {
		return proof{}, unreadable(payPalSum)
	}
	p.signatures = []signature{{sum: sum}}
	return p, nil
}

// payPalMessages is id|time| and |crc32: the id of the webhook comes between, from the key.
func payPalMessages(r Request, p proof) []message {
	crc := strconv.FormatUint(uint64(crc32.ChecksumIEEE(r.Body)), 10)
	return []message{{[]byte(p.id + "|" + p.stamp + "|"), []byte("|" + crc)}}
}

func payPalSeal(r *Request, k key, now time.Time) {
	p := proof{stamp: now.UTC().Format(time.RFC3339Nano)}
	sum := sha256.Sum256(append([]byte(p.stamp), r.Body...))
	missing(r.Header, payPalID, hex.EncodeToString(sum[:16]))
	missing(r.Header, payPalCert, "https://api.sandbox.paypal.com/v1/notifications/certs/CERT-trial")
	p.id = r.Header.Get(payPalID)
	r.Header.Set(payPalTime, p.stamp)
	r.Header.Set(payPalAlgo, payPalSHA256)
	r.Header.Set(payPalSum, base64.StdEncoding.EncodeToString(k.sign(payPalMessages(*r, p)[0])))
}
