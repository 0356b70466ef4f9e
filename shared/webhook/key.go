package webhook

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"slices"
)

// A key is what a configured secret means. The secret alone picks the algorithm: a header that could
// pick it would let anyone sign with a public key.
type key struct {
	label  string                              // of the signatures that it can check and make
	expect func(message) func(sum []byte) bool // nil: it can only sign; the work on the message is done once
	sign   func(message) []byte                // nil: it can only check

	// certified stands in for expect where the sender's certificate holds the public half.
	certified func(*x509.Certificate) func(message) func(sum []byte) bool
	also      []key // what else the same secret means, of a sender that signs in more than one way
}

// checks tells whether a key can check signatures.
func (k key) checks() bool { return k.expect != nil || k.certified != nil }

// hmacSHA256 is the key of a sender that signs with a shared secret.
func hmacSHA256(label string, secret []byte) key { return hmacKey(label, sha256.New, secret) }

// hmacSHA1 is the same of a sender that has stayed with the older hash, which is still sound for this.
func hmacSHA1(label string, secret []byte) key { return hmacKey(label, sha1.New, secret) }

func hmacKey(label string, newHash func() hash.Hash, secret []byte) key {
	return sumKey(label, func(m message) []byte {
		mac := hmac.New(newHash, secret)
		for _, part := range m {
			mac.Write(part)
		}
		return mac.Sum(nil)
	})
}

// sumKey is a key whose holder can make the very sum that it checks.
func sumKey(label string, sum func(message) []byte) key {
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

// unbase64 decodes text of exactly size bytes in the one way that they are written: the decoder itself
// skips line ends.
func unbase64(text string, size int) ([]byte, bool) {
	if len(text) != base64.StdEncoding.EncodedLen(size) {
		return nil, false
	}
	sum, err := base64.StdEncoding.Strict().DecodeString(text)
	return sum, err == nil && len(sum) == size
}

// unhex decodes text of exactly size bytes in lower case, as every sender writes it: with upper case
// taken too, one signature would have many texts.
func unhex(text string, size int) ([]byte, bool) {
	if len(text) != hex.EncodedLen(size) {
		return nil, false
	}
	sum, err := hex.DecodeString(text)
	return sum, err == nil && hex.EncodeToString(sum) == text
}

// hexOf makes text of random bytes for a secret that is text.
func hexOf(random []byte) string { return hex.EncodeToString(random) }
