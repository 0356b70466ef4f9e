// Package webhook verifies what senders deliver and says which event a delivery is about.
//
// Each provider is one row ([Scheme]) of one table: where its signature stands and what it covers,
// what a configured secret means, where event type, event key, object and version are. A row is data
// and small named functions; nothing outside the table knows a provider's name. Everything here is
// pure: no clock, no network, no state, safe for concurrent use.
//
// A delivery is taken in this order:
//
//	Lookup, For      ── the provider's row, with what the endpoint adds to it
//	Handshake        ── an unsigned ping? ──> answer it, store nothing
//	CertificateURL   ── a certificate to be had first? (its address is always one of the sender's own hosts)
//	Verify           ── over the raw bytes, before anything is parsed
//	Document         ── the JSON of the body, also where the sender writes a form
//	SignedHandshake  ── a signed ping or challenge? ──> answer it, store nothing
//	Split            ── many events in one? ──> the rest for each part, as for a delivery of its own
//	Type             ── what the sender says has happened: looks up the rule of the endpoint
//	Identify         ── event key, digest, object, version, environment
//	Reply            ── what the sender wants to hear once the event is stored
//
// No error and no flaw repeats a value of the delivery or of a secret.
package webhook

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"engang/shared/document"
)

// ErrSignature says that a delivery is not proved to come from who holds a secret: the signature is
// missing, repeated, unreadable or made with something else.
var ErrSignature = errors.New("signature not accepted")

// ErrTimestamp says that the signature is right and the signed time lies outside the window.
var ErrTimestamp = errors.New("signed time outside the window")

// ErrSource says that the delivery is signed and names another source than the endpoint's.
var ErrSource = errors.New("another source")

// ErrSecret says that none of the secrets is usable: there is none, or each is empty, white space, a
// placeholder, or not of the form that the provider issues. Nothing may be acknowledged.
var ErrSecret = errors.New("no usable secret")

// ErrMalformed says that a verified delivery does not say what has happened, or to which event it belongs.
var ErrMalformed = errors.New("no usable event type or key")

// A Request is a delivery as it arrived, before anything is parsed.
type Request struct {
	Method string
	URL    string      // with the query; where [Scheme.SignsURL], the endpoint's public one, exactly as it is known to the sender
	Header http.Header // with canonical names, as [http.Header.Add] makes them
	Body   []byte      // the bytes as sent, after the gateway's own base64
}

// A Pong is the answer, with status 200, to a sender's ping or challenge.
type Pong struct {
	Status      string // "pong"
	Body        []byte // in the sender's own format; empty: the caller writes the status in its own
	ContentType string // of Body
}

// Expect is what an endpoint demands of a delivery beside the signature.
type Expect struct {
	Source      string // what the sender calls itself; empty: anything
	Certificate []byte // PEM: what stands at [Scheme.CertificateURL], chain and validity checked; for senders that have one
}

// A Rule is what an endpoint says about events of one type, instead of the provider's own row.
type Rule struct {
	Kind    string            // of the object; empty: as the row says
	ID      *document.Pointer // where the object's id is; nil: as the row says
	Version *document.Pointer // where its version is; nil: as the row says
}

// A Fact is what a delivery says: the same for every delivery of one event but for DeliveryID.
type Fact struct {
	Type       string // the sender's own word: "product.updated"
	Key        string // the event key: equal for every delivery of the event, and covered by the signature where the sender signs any id
	Digest     string // of what is reported, without what changes on a retry: hex SHA-256
	DeliveryID string // the sender's id of this delivery, often unsigned and not unique: for search only
	SenderID   string // the sender's id of the event, empty where it has none: for search
	Kind       string // of the object; empty together with ObjectID
	ObjectID   string // the sender's id of the object; empty when Flaw says why
	Version    string // of the object, as the payload says: a time or a whole number; empty: none, or Flaw says why
	Flaw       string // why nothing can be done for the event; empty: nothing is wrong

	// Environment is [Test] or [Production] where the sender says which (livemode, test_mode), else empty.
	// It is not signed everywhere, and decides only what is left out.
	Environment string
}

// What a sender may say about its event's environment: the words of the configuration.
const (
	Test       = "test"
	Production = "production"
)

// A Scheme is one provider's row. The zero Scheme is not usable: get one from [Lookup].
type Scheme struct {
	name string

	// Before the signature.
	handshake func(Request) (Pong, bool) // nil: the sender has no unsigned ping
	methods   []string                   // beside POST, for the handshake alone

	// The signature.
	key         func(secret []byte) (key, bool)              // what a configured secret means; false: it is not usable
	terms       secretTerms                                  // what a secret must be before it is configured
	proof       func(Request) (proof, error)                 // reads signatures and signed time; its errors wrap ErrSignature
	messages    func(Request, proof) []message               // what may be signed: one that matches is enough
	signedAt    func(Request) (time.Time, error)             // of a sender whose signed time is in the body: read once the signature is right; nil: the proof has it
	window      time.Duration                                // how far the signed time may be off; zero: none is signed
	source      func(r Request, document func() any) string  // what the sender calls itself, "" where that is not said once; nil: nothing
	certificate func(Request) (url string, ok bool)          // where the sender's certificate is; false: not at one of its hosts; nil: it has none
	signers     []string                                     // in whose name the certificate may be, in lower case
	trial       func() []byte                                // PEM of a certificate that verifies what is signed here, and is not the sender's; nil: none is needed
	signsURL    bool                                         // the address is signed, as the sender knows it
	seal        func(r *Request, k key, now time.Time)       // signs: completes the headers of r, which are its own; nil: only the endpoint knows how
	contentType string                                       // of what it sends; empty: application/json
	legacy      func(Scheme) Scheme                          // takes the sender's older signatures too; nil: there are none
	configure   func(Scheme, HMAC) (s Scheme, reason string) // signs as an endpoint says, or says why not; without that the row must refuse or be right by itself; nil: its signature is what it is

	// The body.
	document func(Request) (doc any, content []byte, err error)               // of a sender that writes forms; nil: the body is the document
	text     func(Request) (content []byte, ok bool)                          // the same content without reading it, where there is a shorter way to it; nil: there is none
	greeting func(r Request, doc any) (Pong, bool)                            // a signed ping or challenge; nil: none
	split    func(doc any, content []byte) (parts []json.RawMessage, ok bool) // of a sender that puts many events in one delivery; nil: it does not
	fetched  func(eventType string) http.Header                               // of a delivery of this type, for an object that was fetched; nil: nothing is fetched from the sender
	changes  []string                                                         // types of event that objects can be fetched for

	// The event.
	eventType   field // nil: only the endpoint knows
	eventKey    field
	digest      field
	deliveryID  field // nil: none
	senderID    field // nil: none
	environment field // nil: the sender does not say
	kind        field // nil: only a rule names the object
	id          document.Pointer
	idText      field // in place of id, of a sender whose id has to be put together; nil: id says where
	version     document.Pointer
	versionText field                              // in place of version, of a sender that writes no time or whole number; nil: version says where
	dated       func(reading) bool                 // tells whether a body without a version is not what the sender sends; nil: it may be, and when it was received stands in
	counted     func(eventType string) bool        // tells whether the versions are whole numbers; nil: all are times
	local       map[string]string                  // places of times by the source's own clock, and where the same time is in UTC
	worldwide   bool                               // an id names one object, whatever the source
	flaw        func(object map[string]any) string // a body that is signed and still not what it should be; nil: none known
	misfit      func(reading) string               // the same, of a sender whose unsigned headers must fit the body; nil: none known

	reply Reply // zero: 200 and whatever the caller writes
}

// table is every provider that can be configured, one a line.
var table = []Scheme{
	calendly,
	forgejo,
	generic,
	ghost,
	gitHub,
	gitea,
	gitLab,
	hubSpot,
	intercom,
	lemonSqueezy,
	linear,
	mailgun,
	openAI,
	paddle,
	payPal,
	shopify,
	slack,
	square,
	stripe,
	svix,
	standardWebhooks,
	twilio,
	wooCommerce,
	wordPress,
	zendesk,
}

// Lookup gives the row of a provider.
func Lookup(provider string) (Scheme, bool) {
	i := slices.IndexFunc(table, func(s Scheme) bool { return s.name == provider })
	if i < 0 {
		return Scheme{}, false
	}
	return table[i], true
}

// Names lists the providers that have a row, in alphabetical order.
func Names() []string {
	names := make([]string, len(table))
	for i, s := range table {
		names[i] = s.name
	}
	slices.Sort(names)
	return names
}

// Name is the provider's name in the configuration.
func (s Scheme) Name() string { return s.name }

// Methods lists the HTTP methods that are worth a look, POST first. Deliveries come by POST only; the
// others are for [Scheme.Handshake].
func (s Scheme) Methods() []string { return append([]string{http.MethodPost}, s.methods...) }

// NamesSource tells whether deliveries say which source they come from, so that [Expect] can demand one.
func (s Scheme) NamesSource() bool { return s.source != nil }

// NeedsType tells whether only the endpoint's configuration can say what has happened ([Endpoint]).
func (s Scheme) NeedsType() bool { return s.eventType == nil }

// SignsURL tells whether the address is signed. [Request.URL] must then be the endpoint's public URL,
// to the letter as the sender has it, with the query of the delivery itself.
func (s Scheme) SignsURL() bool { return s.signsURL }
