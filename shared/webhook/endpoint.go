package webhook

import (
	"errors"
	"fmt"
	"time"

	"engang/shared/document"
)

// ErrEndpoint says that an endpoint asks of its provider's row what that does not offer.
var ErrEndpoint = errors.New("the provider does not offer that")

// An EndpointError says what it is that a provider's row does not offer. It wraps [ErrEndpoint], and
// repeats nothing of what the endpoint says.
type EndpointError struct {
	Provider string
	Reason   string // "the sender has no older signature"
}

// Error names provider and reason.
func (e *EndpointError) Error() string {
	return fmt.Sprintf("use %s as the endpoint says: %s: %v", e.Provider, e.Reason, ErrEndpoint)
}

// Unwrap makes errors.Is(err, ErrEndpoint) true.
func (e *EndpointError) Unwrap() error { return ErrEndpoint }

// An Endpoint is what an endpoint's configuration adds to its provider's row. The zero Endpoint adds nothing.
type Endpoint struct {
	Type   string            // of every event, where only the address tells: Ghost; at most one of Type and TypeAt
	TypeAt *document.Pointer // where the type is in the body, where the row does not know, or another place is meant
	Legacy bool              // takes the sender's older signatures too, which prove less than its present one
	HMAC   *HMAC             // how the sender signs, for the row that anything can be configured with
}

// An HMAC is the signature of a sender that has no row of its own: HMAC-SHA256 over the body, or over
// time, dot and body.
type HMAC struct {
	Header     string        // that holds the signature and nothing else
	Prefix     string        // before the sum: "sha256="
	Encoding   string        // of the sum: "hex" or "base64"
	TimeHeader string        // that holds the signed time in unix seconds; empty: none is signed
	Window     time.Duration // how far the signed time may be off; zero: five minutes
}

// For is the row as one endpoint uses it. It returns an [*EndpointError] when the row does not offer what
// the endpoint asks for, or lacks what only the endpoint can say. The scheme itself is not changed.
func (s Scheme) For(e Endpoint) (Scheme, error) {
	refuse := func(reason string) (Scheme, error) {
		return Scheme{}, &EndpointError{Provider: s.name, Reason: reason}
	}
	switch {
	case e.Type != "" && e.TypeAt != nil:
		return refuse("the event type is given twice")
	case e.Type != "" && !printable(e.Type):
		return refuse("the event type is not printable ASCII of at most 255 characters")
	case e.TypeAt != nil && e.TypeAt.String() == "":
		return refuse("the event type cannot be the whole body")
	case e.TypeAt != nil && e.TypeAt.Wild():
		return refuse("the event type cannot be in more than one place")
	case e.Legacy && s.legacy == nil:
		return refuse("the sender has no older signature")
	case e.HMAC != nil && s.configure == nil:
		return refuse("its signature is what it is")
	case e.HMAC == nil && s.seal == nil:
		return refuse("it does not say how deliveries are signed")
	}
	if e.Legacy {
		s = s.legacy(s)
	}
	if e.HMAC != nil {
		configured, reason := s.configure(s, *e.HMAC)
		if reason != "" {
			return refuse(reason)
		}
		s = configured
	}
	switch {
	case e.Type != "":
		s.eventType = func(reading) string { return e.Type }
	case e.TypeAt != nil:
		s.eventType = at(e.TypeAt.String())
	}
	return s, nil
}

// NeedsObject tells whether only a [Rule] can say what an event is about: payloads of the sender differ.
func (s Scheme) NeedsObject() bool { return s.kind == nil }
