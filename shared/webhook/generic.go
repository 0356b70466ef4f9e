package webhook

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// generic is any sender that signs with HMAC-SHA256 and has no row: the endpoint says how ([HMAC]), what
// has happened and what the object is. Until it has said so, nothing can be signed or verified.
var generic = Scheme{
	name: "generic",
	key: func(secret []byte) (key, bool) {
		k := hmacSHA256("", secret)
		k.sign = nil
		return k, true
	},
	proof: func(Request) (proof, error) {
		return proof{}, fmt.Errorf("the endpoint does not say how it is signed: %w", ErrSignature)
	},
	messages:  bodyAlone,
	configure: genericAs,
	eventKey:  typeAndBody,
	digest:    rawDigest,
}

// maxWindow is the most that an endpoint may take a signed time to be off.
const maxWindow = 24 * time.Hour

var (
	headerShape = pattern(`^[A-Za-z0-9-]{1,64}$`)
	prefixShape = pattern(`^([!-~][ -~]{0,63})?$`)
)

func genericAs(s Scheme, h HMAC) (Scheme, string) {
	h.Header, h.TimeHeader = http.CanonicalHeaderKey(h.Header), http.CanonicalHeaderKey(h.TimeHeader)
	if reason := h.refusal(); reason != "" {
		return Scheme{}, reason
	}
	s.key = func(secret []byte) (key, bool) { return hmacSHA256("", secret), true }
	s.proof, s.messages, s.seal = h.proof, h.messages, h.seal
	if h.TimeHeader != "" {
		s.window = cmp.Or(h.Window, fiveMinutes)
	}
	return s, ""
}

// refusal is why a sender cannot sign in this way, "" if it can.
func (h HMAC) refusal() string {
	switch {
	case !headerShape().MatchString(h.Header):
		return "the signature's header is missing or no name of a header"
	case h.TimeHeader != "" && !headerShape().MatchString(h.TimeHeader):
		return "the signed time's header is no name of a header"
	case h.TimeHeader == h.Header:
		return "signature and signed time stand in one header"
	case !prefixShape().MatchString(h.Prefix):
		return "the prefix is not printable ASCII of at most 64 characters that begins with no space"
	case h.Encoding != "hex" && h.Encoding != "base64":
		return "the encoding of the sum is neither hex nor base64"
	case h.Window != 0 && h.TimeHeader == "":
		return "there is a window for the signed time, and no time that is signed"
	case h.Window < 0 || h.Window > maxWindow:
		return fmt.Sprintf("the window is not between zero and %v", maxWindow)
	}
	return ""
}

func (h HMAC) proof(r Request) (p proof, err error) {
	text, err := only(r.Header, h.Header)
	if err != nil {
		return proof{}, err
	}
	decode := unhex
	if h.Encoding == "base64" {
		decode = unbase64
	}
	encoded, ok := strings.CutPrefix(text, h.Prefix)
	sum, decoded := decode(encoded, 32)
	if !ok || !decoded {
		return proof{}, unreadable(h.Header)
	}
	p.signatures = []signature{{sum: sum}}
	if h.TimeHeader == "" {
		return p, nil
	}
	if p.stamp, err = only(r.Header, h.TimeHeader); err != nil {
		return proof{}, err
	}
	if p.at, ok = unixSeconds(p.stamp); !ok {
		return proof{}, unreadable(h.TimeHeader)
	}
	return p, nil
}

func (h HMAC) messages(r Request, p proof) []message {
	if h.TimeHeader == "" {
		return bodyAlone(r, p)
	}
	return []message{{[]byte(p.stamp + "."), r.Body}}
}

func (h HMAC) seal(r *Request, k key, now time.Time) {
	p := proof{stamp: strconv.FormatInt(now.Unix(), 10)}
	if h.TimeHeader != "" {
		r.Header.Set(h.TimeHeader, p.stamp)
	}
	encode := hex.EncodeToString
	if h.Encoding == "base64" {
		encode = base64.StdEncoding.EncodeToString
	}
	r.Header.Set(h.Header, h.Prefix+encode(k.sign(h.messages(*r, p)[0])))
}
