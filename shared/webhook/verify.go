package webhook

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
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
	at         time.Time // the same, in whole seconds
}

// A signature is one candidate with the label of its algorithm, empty where the sender has no labels.
type signature struct {
	label string
	sum   []byte
}

// A message is what is signed, in parts that follow one another.
type message [][]byte

// A key is what a configured secret means. The secret alone picks the algorithm: a header that could
// pick it would let anyone sign with a public key.
type key struct {
	label  string                              // of the signatures that it can check and make
	expect func(message) func(sum []byte) bool // nil: it can only sign; the work on the message is done once
	sign   func(message) []byte                // nil: it can only check
}

// Verify tells whether a delivery was signed by who holds one of the secrets, within the window of
// time, and names the expected source. All of them are tried; several are active while one rotates.
//
// It returns nil or an error that wraps one of, in this order of judging: [ErrSecret] when none of the
// secrets is usable, [ErrSignature], [ErrTimestamp], [ErrSource]. Their texts are for the log: an answer
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
		if k, ok := s.usable(secret); ok && k.expect != nil {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return fmt.Errorf("%d configured: %w", len(held), ErrSecret)
	}
	p, err := s.proof(req)
	if err != nil {
		return err
	}
	if !matches(keys, p.signatures, s.messages(req, p)) {
		return fmt.Errorf("none of %d keys made one of %d signatures: %w", len(keys), len(p.signatures), ErrSignature)
	}
	if off := now.Sub(p.at); s.window > 0 && (off > s.window || off < -s.window) {
		return fmt.Errorf("more than %v off: %w", s.window, ErrTimestamp)
	}
	return s.checkSource(req.Header, want.Source)
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
func (s Scheme) checkSource(h http.Header, want string) error {
	if want == "" {
		return nil
	}
	got, err := only(h, s.source)
	if err != nil || strings.TrimSuffix(got, "/") != strings.TrimSuffix(want, "/") {
		return fmt.Errorf("not the one configured: %w", ErrSource)
	}
	return nil
}

// hmacSHA256 is the key of a sender that signs with a shared secret.
func hmacSHA256(label string, secret []byte) key {
	sum := func(m message) []byte {
		mac := hmac.New(sha256.New, secret)
		for _, part := range m {
			mac.Write(part)
		}
		return mac.Sum(nil)
	}
	return key{
		label: label,
		sign:  sum,
		expect: func(m message) func([]byte) bool {
			want := sum(m)
			return func(got []byte) bool { return hmac.Equal(got, want) }
		},
	}
}

// ed25519Check is the key of a receiver: the sender's public half.
func ed25519Check(label string, public ed25519.PublicKey) key {
	return key{label: label, expect: func(m message) func([]byte) bool {
		whole := slices.Concat(m...)
		return func(got []byte) bool { return ed25519.Verify(public, whole, got) }
	}}
}

// ed25519Sign is the key of a sender: the private half, which no receiver should hold.
func ed25519Sign(label string, private ed25519.PrivateKey) key {
	return key{label: label, sign: func(m message) []byte { return ed25519.Sign(private, slices.Concat(m...)) }}
}

// only gives the one value of a header. A value that is missing, repeated or blank is refused: with two
// values, who reads which one would decide what was verified.
func only(h http.Header, name string) (string, error) {
	switch values := h.Values(name); {
	case len(values) == 0:
		return "", fmt.Errorf("header %s is missing: %w", name, ErrSignature)
	case len(values) > 1:
		return "", fmt.Errorf("header %s is repeated: %w", name, ErrSignature)
	case strings.TrimSpace(values[0]) == "":
		return "", fmt.Errorf("header %s is blank: %w", name, ErrSignature)
	default:
		return values[0], nil
	}
}

// unbase64 decodes text of exactly size bytes in the one way that they are written: the decoder itself
// skips line ends.
func unbase64(text string, size int) ([]byte, bool) {
	if len(text) != base64.StdEncoding.EncodedLen(size) {
		return nil, false
	}
	sum, err := base64.StdEncoding.Strict().DecodeString(text)
	return sum, err == nil && len(sum) == size
}
