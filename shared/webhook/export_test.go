package webhook

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"time"
)

// The schemes below use all that a row can be made of, so that it is tested apart from any sender.

// hexSum is a header X-Sum that is one HMAC-SHA1 in hex over the body.
func hexSum(name string) Scheme {
	return Scheme{
		name:      name,
		key:       func(secret []byte) (key, bool) { return hmacSHA1("", secret), true },
		proof:     prefixedHex("X-Sum", "", 20),
		messages:  bodyAlone,
		seal:      sealHex("X-Sum", ""),
		eventType: at("/type"), eventKey: at("/id"), digest: valueDigest, kind: upToFirstDot, id: pointerTo("/object"),
	}
}

// ListScheme is a sender of arrays whose parts hold a number that changes on each try.
func ListScheme() Scheme {
	s := hexSum("list")
	s.split = elements
	s.digest = digestWithout("/try", "/meta/sent", "/absent/too")
	s.environment = testing("/test_mode")
	s.versionText = unixVersion(scalar("/at"))
	s.idText = first(at("/uuid"), scalar("/n"))
	s.eventKey = scalar("/n")
	s.reply = Reply{Status: http.StatusNoContent, Empty: true}
	s.terms = secretTerms{max: 40, form: "letters", public: []string{"a published secret"}}
	return s
}

// FormScheme is a sender of forms, which names itself in the body, signs its time inside of it and may
// be told to be trusted without.
func FormScheme() Scheme {
	s := hexSum("form")
	s.signsURL = true
	s.contentType = "application/x-www-form-urlencoded"
	s.document = func(r Request) (any, []byte, error) {
		if slices.Contains(r.Header.Values("X-Shape"), "payload") {
			return payloadOrJSON(r)
		}
		return formDocument(r.Body)
	}
	s.source = sourceIn("X-Account", "/account", "/team/id")
	s.environment = live("/live")
	s.eventKey = typeAndBody
	s.digest = rawDigest
	s.window = time.Minute
	s.signedAt = func(r Request) (time.Time, error) {
		doc, _, err := s.Document(r)
		t, ok := unixMillis(scalar("/sent")(reading{doc: doc}))
		if err != nil || !ok {
			return time.Time{}, unreadable("of the body")
		}
		return t, nil
	}
	s.greeting = func(_ Request, doc any) (Pong, bool) {
		text := at("/challenge")(reading{doc: doc})
		return Pong{Status: "pong", Body: []byte(text), ContentType: "text/plain"}, text != ""
	}
	s.misfit = func(r reading) string {
		if r.typ == "misfit.header" {
			return "it does not fit"
		}
		return ""
	}
	s.legacy = func(s Scheme) Scheme {
		s.window = 0
		return s
	}
	s.configure = func(s Scheme, h HMAC) (Scheme, string) {
		if h.Encoding != "hex" {
			return s, "it is hex alone"
		}
		s.proof = prefixedHex(h.Header, h.Prefix, 20)
		return s, ""
	}
	return s
}

// CertifiedScheme signs with RSA; the secret is part of what is signed.
func CertifiedScheme(private *rsa.PrivateKey) Scheme {
	s := hexSum("certified")
	s.certificate = func(r Request) (string, bool) {
		text := r.Header.Get("X-Cert")
		return text, strings.HasPrefix(text, "https://certs.example.com/")
	}
	s.proof = func(r Request) (proof, error) {
		sum, err := base64.StdEncoding.DecodeString(r.Header.Get("X-Sum"))
		if err != nil {
			return proof{}, unreadable("X-Sum")
		}
		return proof{signatures: []signature{{sum: sum}}}, nil
	}
	s.key = func(secret []byte) (key, bool) {
		hashed := func(m message) []byte {
			sum := sha256.Sum256(append(slices.Concat(m...), secret...))
			return sum[:]
		}
		return key{
			certified: func(c *x509.Certificate) func(message) func([]byte) bool {
				return func(m message) func([]byte) bool {
					return func(sum []byte) bool {
						public, ok := c.PublicKey.(*rsa.PublicKey)
						return ok && rsa.VerifyPKCS1v15(public, crypto.SHA256, hashed(m), sum) == nil
					}
				}
			},
			sign: func(m message) []byte {
				sum, err := rsa.SignPKCS1v15(nil, private, crypto.SHA256, hashed(m))
				if err != nil {
					panic(err)
				}
				return sum
			},
			also: []key{hmacSHA256("other", secret)},
		}, true
	}
	s.seal = func(r *Request, k key, _ time.Time) {
		r.Header.Set("X-Sum", base64.StdEncoding.EncodeToString(k.sign(message{r.Body})))
	}
	return s
}

// TypelessScheme is a sender whose address alone says what has happened.
func TypelessScheme() Scheme {
	s := hexSum("typeless")
	s.eventType = nil
	return s
}

// SignedTimes are the readers of signed times.
var SignedTimes = map[string]func(string) (time.Time, bool){"seconds": unixSeconds, "milliseconds": unixMillis, "RFC 3339": isoTime}

// FormDocument is what is made of a form.
func FormDocument(body []byte) (any, []byte, error) { return formDocument(body) }

// UnixVersion is the version that is made of unix seconds.
func UnixVersion(text string) string {
	return unixVersion(func(reading) string { return text })(reading{})
}
