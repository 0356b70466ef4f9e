package webhook

import (
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"time"
)

const (
	hubSpotSum        = "X-Hubspot-Signature-V3"
	hubSpotStamp      = "X-Hubspot-Request-Timestamp" // milliseconds
	hubSpotOldSum     = "X-Hubspot-Signature"
	hubSpotOldVersion = "X-Hubspot-Signature-Version"
)

// hubSpot signs method, address, body and time. A delivery is an array of up to a hundred events; what a
// workflow sends is an object of the customer's own, of which only the endpoint knows the type.
//
// Its two older signatures cover no time and are plain hashes. An endpoint has to ask for them: else
// whoever has a captured one would leave the newer signature out. Even then that counts where it stands.
var hubSpot = Scheme{
	name: "hubspot",
	key:  func(secret []byte) (key, bool) { return hmacSHA256("", secret), true },
	terms: secretTerms{
		min:    32,
		form:   "the client secret of the app",
		not:    []otherSecret{{"pat-", "an access token of a private app"}},
		public: []string{"yyyyyyyy-yyyy-yyyy-yyyy-yyyyyyyyyyyy"},
	},
	proof:       hubSpotProof,
	messages:    hubSpotMessages,
	window:      fiveMinutes,
	signsURL:    true,
	source:      func(_ Request, document func() any) string { return alike(document(), scalar("/portalId")) },
	seal:        hubSpotSeal,
	legacy:      hubSpotLegacy,
	split:       elements,
	eventType:   at("/subscriptionType"),
	eventKey:    first(hubSpotKey, hubSpotFact),
	digest:      hubSpotDigest,
	senderID:    scalar("/eventId"), // not unique
	kind:        hubSpotKind,
	idText:      first(whole("/objectId"), whole("/fromObjectId")),
	versionText: millisVersion(scalar("/occurredAt")),
	dated:       func(r reading) bool { return at("/subscriptionType")(r) != "" }, // else it is the customer's own body
}

func hubSpotProof(r Request) (proof, error) {
	p, err := bareBase64(hubSpotSum)(r)
	if err != nil {
		return proof{}, err
	}
	if p.stamp, err = only(r.Header, hubSpotStamp); err != nil {
		return proof{}, err
	}
	var ok bool
	if p.at, ok = unixMillis(p.stamp); !ok {
		return proof{}, unreadable(hubSpotStamp)
	}
	return p, nil
}

// hubSpotEscapes are the only ones that HubSpot undoes in the address that it signs.
var hubSpotEscapes = strings.NewReplacer(
	"%3A", ":", "%2F", "/", "%3F", "?", "%40", "@", "%21", "!", "%24", "$", "%27", "'", "%28", "(", "%29", ")", "%2A", "*", "%2C", ",", "%3B", ";",
	"%3a", ":", "%2f", "/", "%3f", "?", "%2a", "*", "%2c", ",", "%3b", ";",
)

// hubSpotMessages takes the address as HubSpot says that it signs it, and as it is, which is what its own
// library for Node.js does.
func hubSpotMessages(r Request, p proof) []message {
	all := []message{hubSpotMessage(r, hubSpotEscapes.Replace(r.URL), p.stamp)}
	if string(all[0][1]) != r.URL {
		all = append(all, hubSpotMessage(r, r.URL, p.stamp))
	}
	return all
}

func hubSpotMessage(r Request, address, stamp string) message {
	return message{[]byte(r.Method), []byte(address), r.Body, []byte(stamp)}
}

func hubSpotSeal(r *Request, k key, now time.Time) {
	stamp := strconv.FormatInt(now.UnixMilli(), 10)
	r.Header.Set(hubSpotStamp, stamp)
	r.Header.Set(hubSpotSum, base64.StdEncoding.EncodeToString(k.sign(hubSpotMessage(*r, hubSpotEscapes.Replace(r.URL), stamp))))
}

// hubSpotLegacy takes the older signatures where the newer one is missing.
func hubSpotLegacy(s Scheme) Scheme {
	s.key = func(secret []byte) (key, bool) {
		k := hmacSHA256("", secret)
		hash := func(m message) []byte {
			h := sha256.New()
			h.Write(secret)
			for _, part := range m {
				h.Write(part)
			}
			return h.Sum(nil)
		}
		k.also = []key{sumKey("v1", hash), sumKey("v2", hash)}
		return k, true
	}
	s.proof = func(r Request) (proof, error) {
		if len(r.Header.Values(hubSpotSum)) > 0 {
			return hubSpotProof(r)
		}
		return hubSpotOldProof(r)
	}
	s.messages = func(r Request, p proof) []message {
		switch p.signatures[0].label {
		case "v1":
			return []message{{r.Body}}
		case "v2":
			return []message{{[]byte(r.Method), []byte(r.URL), r.Body}}
		}
		return hubSpotMessages(r, p)
	}
	return s
}

func hubSpotOldProof(r Request) (proof, error) {
	p, err := prefixedHex(hubSpotOldSum, "", sha256.Size)(r)
	if err != nil {
		return proof{}, err
	}
	version, err := only(r.Header, hubSpotOldVersion)
	if err != nil {
		return proof{}, err
	}
	if version != "v1" && version != "v2" {
		return proof{}, unreadable(hubSpotOldVersion)
	}
	p.untimed, p.signatures[0].label = true, version
	return p, nil
}

// hubSpotDigest leaves out which try it is, which is counted inside of each event.
var hubSpotDigest = digestWithout("/attemptNumber")

// hubSpotIDs are what an event is known by together: its id alone is not unique.
var hubSpotIDs = []field{
	scalar("/portalId"), scalar("/subscriptionId"), scalar("/eventId"), scalar("/occurredAt"),
	first(scalar("/objectId"), hubSpotAssociation), scalar("/propertyName"),
}

// hubSpotAssociation is both ends of one, which has no object id.
func hubSpotAssociation(r reading) string {
	return joined(scalar("/fromObjectId")(r)+">", scalar("/toObjectId")(r))
}

func hubSpotKey(r reading) string {
	if scalar("/eventId")(r) == "" || scalar("/occurredAt")(r) == "" {
		return ""
	}
	ids := make([]string, len(hubSpotIDs))
	for i, id := range hubSpotIDs {
		ids[i] = id(r)
	}
	return bounded(strings.Join(ids, "#"))
}

// hubSpotFact is the event key of a body that is the customer's own: what it says and, since a workflow
// may well say the same twice, the signed time. Where none is signed the day has to do, as in typeAndBody.
func hubSpotFact(r reading) string {
	key := r.typ + "#" + hubSpotDigest(r)
	switch {
	case r.versions:
		return key
	case len(r.Header.Values(hubSpotSum)) > 0: // else the header is not signed
		return key + "#" + header(hubSpotStamp)(r)
	}
	return key + "#" + r.received.UTC().Format(time.DateOnly)
}

// hubSpotKinds are the objects that have events of both kinds: "contact.creation", and "object.creation"
// with the type of the object as a number.
var hubSpotKinds = map[string]string{"0-1": "contact", "0-2": "company", "0-3": "deal", "0-5": "ticket", "0-7": "product", "0-8": "line_item"}

func hubSpotKind(r reading) string {
	if !strings.HasPrefix(at("/subscriptionType")(r), "object.") {
		return upToFirstDot(r)
	}
	number := first(at("/objectTypeId"), at("/fromObjectTypeId"))(r)
	if kind, ok := hubSpotKinds[number]; ok {
		return kind
	}
	return number
}

// millisVersion makes a version of a field that is unix milliseconds: the time itself. Any other text stays.
func millisVersion(f field) field {
	return func(r reading) string {
		text := f(r)
		if t, ok := unixMillis(text); ok {
			return t.Format(time.RFC3339Nano)
		}
		return text
	}
}

// alike is what a body says, or every part of it in the same words; "" where they differ.
func alike(doc any, f field) string {
	parts, ok := doc.([]any)
	if !ok {
		return f(reading{doc: doc})
	}
	text := ""
	for i, part := range parts {
		one := f(reading{doc: part})
		if i > 0 && one != text {
			return ""
		}
		text = one
	}
	return text
}
