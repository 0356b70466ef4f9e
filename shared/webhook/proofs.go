package webhook

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

// The forms of signature that more than one sender uses: how to read them, what they cover, how to make them.

// bodyAlone is what is signed where nothing but the body is.
func bodyAlone(r Request, _ proof) []message { return []message{{r.Body}} }

// bareBase64 reads a header that is one SHA-256 sum in base64 and nothing else.
func bareBase64(name string) func(Request) (proof, error) { return base64Sum(name, sha256.Size) }

// base64Sum does that for a sum of so many bytes.
func base64Sum(name string, size int) func(Request) (proof, error) {
	return func(r Request) (proof, error) {
		text, err := only(r.Header, name)
		if err != nil {
			return proof{}, err
		}
		sum, ok := unbase64(text, size)
		if !ok {
			return proof{}, unreadable(name)
		}
		return proof{signatures: []signature{{sum: sum}}}, nil
	}
}

// prefixedHex reads a header that is one sum of so many bytes in hex behind a prefix, and nothing else.
func prefixedHex(name, prefix string, size int) func(Request) (proof, error) {
	return func(r Request) (proof, error) {
		text, err := only(r.Header, name)
		if err != nil {
			return proof{}, err
		}
		encoded, ok := strings.CutPrefix(text, prefix)
		sum, isHex := unhex(encoded, size)
		if !ok || !isHex {
			return proof{}, unreadable(name)
		}
		return proof{signatures: []signature{{sum: sum}}}, nil
	}
}

// pairs is a header that holds the signed time in unix seconds and one or more HMAC-SHA256 sums in hex:
// "t=1795953600,v1=…,v1=…". Signed is the time as it was written, join, and the body.
type pairs struct {
	header  string
	divider string // between the pairs
	stamp   string // name of the time
	sum     string // name of a sum
	join    string
}

// proof reads the header. Pairs of other names are left out, since senders list older ways to sign, and
// so is a sum that is none; white space is refused, for it shows that a gateway has joined two headers.
func (f pairs) proof(r Request) (proof, error) {
	text, err := only(r.Header, f.header)
	if err != nil {
		return proof{}, err
	}
	var p proof
	for pair := range strings.SplitSeq(text, f.divider) {
		name, value, ok := strings.Cut(pair, "=")
		switch {
		case !ok || strings.ContainsAny(pair, " \t,;\""), name == f.stamp && p.stamp != "":
			return proof{}, unreadable(f.header)
		case name == f.stamp:
			if p.at, ok = unixSeconds(value); !ok {
				return proof{}, unreadable(f.header)
			}
			p.stamp = value
		case name == f.sum:
			if sum, ok := unhex(value, 32); ok {
				p.signatures = append(p.signatures, signature{sum: sum})
			}
		}
	}
	if n := len(p.signatures); p.stamp == "" || n == 0 || n > maxSignatures {
		return proof{}, unreadable(f.header)
	}
	return p, nil
}

func (f pairs) messages(r Request, p proof) []message {
	return []message{{[]byte(p.stamp + f.join), r.Body}}
}

func (f pairs) seal(r *Request, k key, now time.Time) {
	stamp := strconv.FormatInt(now.Unix(), 10)
	sum := hex.EncodeToString(k.sign(message{[]byte(stamp + f.join), r.Body}))
	r.Header.Set(f.header, f.stamp+"="+stamp+f.divider+f.sum+"="+sum)
}

// sealHex signs the body alone, as prefixedHex reads it.
func sealHex(name, prefix string) func(*Request, key, time.Time) {
	return func(r *Request, k key, _ time.Time) {
		r.Header.Set(name, prefix+hex.EncodeToString(k.sign(message{r.Body})))
	}
}

// sealBase64 signs the body alone, as bareBase64 reads it.
func sealBase64(name string) func(*Request, key, time.Time) {
	return func(r *Request, k key, _ time.Time) {
		r.Header.Set(name, base64.StdEncoding.EncodeToString(k.sign(message{r.Body})))
	}
}
