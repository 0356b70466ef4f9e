package webhook

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"engang/shared/secrets"
)

// maxSignatures bounds the work that one header can ask for. Senders list two while a secret rotates.
const maxSignatures = 16

// A proof is what a request offers to be checked. Nothing of it is trusted before that.
type proof struct {
	signatures []signature
	id         string    // that is signed; empty where none is
	stamp      string    // the time as it was written; empty where none is signed
	at         time.Time // the same
	untimed    bool      // of a sender that signs a time in one of its ways: this is another
}

// A signature is one candidate with the label of its algorithm, empty where the sender has no labels.
type signature struct {
	label string
	sum   []byte
}

// A message is what is signed, in parts that follow one another.
type message [][]byte

// Verify tells whether a delivery was signed by who holds one of the secrets, within the window of
// time, and names the expected source. All of them are tried; several are active while one rotates.
//
// It returns nil or an error that wraps one of, in this order of judging: [ErrSecret] when none of the
// secrets is usable, or when none fits and each is something that is often taken for a secret of the
// sender; [ErrSignature], [ErrTimestamp], [ErrSource]. Their texts are for the log: an answer
// must not tell them apart, but for [ErrSecret]. Signatures are compared in constant time.
func (s Scheme) Verify(req Request, held []secrets.Value, want Expect, now time.Time) error {
	if err := s.verify(req, held, want, now); err != nil {
		return fmt.Errorf("verify %s delivery: %w", s.name, err)
	}
	return nil
}

func (s Scheme) verify(req Request, held []secrets.Value, want Expect, now time.Time) error {
	var keys []key
	for _, secret := range held {
		keys = append(keys, slices.DeleteFunc(s.usable(secret), func(k key) bool { return !k.checks() })...)
	}
	if len(keys) == 0 {
		return fmt.Errorf("%d configured: %w", len(held), ErrSecret)
	}
	p, err := s.proof(req)
	if err != nil {
		return err
	}
	if s.certificate != nil {
		if keys, err = s.certify(keys, req, want.Certificate); err != nil {
			return err
		}
	}
	if !matches(keys, p.signatures, s.messages(req, p)) {
		if !slices.ContainsFunc(held, s.fitting) { // the sender may well be right
			return fmt.Errorf("%d configured, and each is something else than a secret of the sender: %w", len(held), ErrSecret)
		}
		return &MismatchError{len(keys), len(p.signatures)}
	}
	if err := s.checkTime(req, p, now); err != nil {
		return err
	}
	return s.checkSource(req, want.Source)
}

// CertificateURL is where the certificate stands that a delivery was signed under, for [Expect]. It
// tells false where none is needed, and where the delivery names an address that is not one of the
// sender's own: such an address must not be fetched, and [Scheme.Verify] refuses the delivery.
//
// Whoever fetches follows no redirect, asks [Scheme.CheckCertificate], and keeps what was checked.
func (s Scheme) CertificateURL(req Request) (string, bool) {
	if s.certificate == nil {
		return "", false
	}
	return s.certificate(req)
}

// certify makes keys that check with the certificate of the sender.
func (s Scheme) certify(keys []key, req Request, text []byte) ([]key, error) {
	if _, ok := s.certificate(req); !ok {
		return nil, fmt.Errorf("the certificate is not at one of the sender's addresses: %w", ErrSignature)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("no certificate to check with: %w", ErrSignature)
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("the certificate is not readable: %w", ErrSignature)
	}
	for i, k := range keys {
		if k.certified != nil {
			keys[i].expect = k.certified(c)
		}
	}
	return slices.DeleteFunc(keys, func(k key) bool { return k.expect == nil }), nil
}

// checkTime comes after the signature: an unsigned time is no information.
func (s Scheme) checkTime(req Request, p proof, now time.Time) (err error) {
	if s.window == 0 || p.untimed {
		return nil
	}
	at := p.at
	if s.signedAt != nil {
		if at, err = s.signedAt(req); err != nil {
			return err
		}
	}
	if off := now.Sub(at); off > s.window || off < -s.window {
		return fmt.Errorf("more than %v off: %w", s.window, ErrTimestamp)
	}
	return nil
}

// matches tries every signature with every key of its label, and does not stop at the first that fits.
func matches(keys []key, signatures []signature, messages []message) bool {
	found := false
	for _, k := range keys {
		mine := slices.DeleteFunc(slices.Clone(signatures), func(s signature) bool { return s.label != k.label })
		if len(mine) == 0 {
			continue
		}
		for _, m := range messages {
			fits := k.expect(m)
			for _, s := range mine {
				found = fits(s.sum) || found
			}
		}
	}
	return found
}

// checkSource compares names without the slash at their end, which people leave out.
func (s Scheme) checkSource(req Request, want string) error {
	if want == "" {
		return nil
	}
	got := ""
	if s.source != nil {
		got = s.source(req, func() any {
			doc, _, err := s.Document(req)
			if err != nil { // it names no source, and what follows refuses it for what it is
				return nil
			}
			return doc
		})
	}
	if got == "" || strings.TrimSuffix(got, "/") != strings.TrimSuffix(want, "/") {
		return fmt.Errorf("not the one configured: %w", ErrSource)
	}
	return nil
}

// sourceIn reads the sender's name from a header that stands once, or where there is no such header,
// from the first of these places in the body that has it.
func sourceIn(name string, pointers ...string) func(Request, func() any) string {
	var places []field
	for _, p := range pointers {
		places = append(places, scalar(p))
	}
	return func(r Request, doc func() any) string {
		if name != "" && len(r.Header.Values(name)) > 0 {
			return header(name)(reading{Request: r})
		}
		if len(places) == 0 {
			return ""
		}
		return first(places...)(reading{Request: r, doc: doc()})
	}
}

// A HeaderError says which header keeps a signature from being read. It wraps [ErrSignature].
type HeaderError struct {
	Name  string
	Fault string // "is missing", "is repeated", "is blank", "is not readable"
}

// Error names header and fault, and never the value.
func (e *HeaderError) Error() string {
	return fmt.Sprintf("header %s %s: %v", e.Name, e.Fault, ErrSignature)
}

// Unwrap is [ErrSignature].
func (e *HeaderError) Unwrap() error { return ErrSignature }

func unreadable(name string) error { return &HeaderError{name, "is not readable"} }

// A MismatchError says that signatures could be read and that none was made with a key that is held: with
// another secret, or of something else. It wraps [ErrSignature].
type MismatchError struct {
	Keys, Signatures int
}

// Error counts what was tried.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("none of %d keys made one of %d signatures: %v", e.Keys, e.Signatures, ErrSignature)
}

// Unwrap is [ErrSignature].
func (e *MismatchError) Unwrap() error { return ErrSignature }

// only gives the one value of a header. A value that is missing, repeated or blank is refused: with two
// values, who reads which one would decide what was verified.
func only(h http.Header, name string) (string, error) {
	switch values := h.Values(name); {
	case len(values) == 0:
		return "", &HeaderError{name, "is missing"}
	case len(values) > 1:
		return "", &HeaderError{name, "is repeated"}
	case strings.TrimSpace(values[0]) == "":
		return "", &HeaderError{name, "is blank"}
	default:
		return values[0], nil
	}
}
