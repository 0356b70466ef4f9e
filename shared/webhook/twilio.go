package webhook

import (
	"cmp"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"engang/shared/document"
)

const (
	twilioSum   = "X-Twilio-Signature"
	twilioToken = "I-Twilio-Idempotency-Token" // not signed
	twilioHash  = "bodySHA256"                 // in the query, last, where the body is no form
	formContent = "application/x-www-form-urlencoded"
)

// twilio signs the address and the fields of a form; of any other body its hash, which stands in the
// address. No time is signed, and there is no event id: one capture can be sent again for ever, and is
// a repeat for ever.
//
// What it answers is TwiML, which says to do nothing: any text would be sent to whoever wrote a message.
var twilio = Scheme{
	name: "twilio",
	key:  func(secret []byte) (key, bool) { return hmacSHA1("", secret), true },
	terms: secretTerms{
		min:  32,
		form: "the auth token of the account, 32 letters and digits",
		not:  []otherSecret{{"AC", "the SID of an account"}, {"SK", "the SID of an API key"}},
		make: func(random []byte) string { return hexOf(random[:16]) },
	},
	proof:       twilioProof,
	messages:    twilioMessages,
	signsURL:    true,
	source:      func(_ Request, document func() any) string { return alike(document(), twilioAccount) },
	seal:        twilioSeal,
	contentType: formContent,
	document:    twilioDocument,
	split:       elements, // of Event Streams
	eventType:   twilioType,
	eventKey:    twilioKey,
	digest:      valueDigest,
	deliveryID:  header(twilioToken),
	senderID:    twilioEventID,
	kind:        twilioKind,
	idText:      twilioObjectID,
	versionText: twilioVersion,
	dated:       twilioDated,
	counted:     twilioCounted,
	worldwide:   true,
	reply:       Reply{Status: http.StatusOK, Body: []byte(`<?xml version="1.0" encoding="UTF-8"?><Response/>`), ContentType: "text/xml"},
}

func twilioProof(r Request) (proof, error) {
	p, err := base64Sum(twilioSum, sha1.Size)(r)
	if err != nil {
		return proof{}, err
	}
	_, err = twilioSigned(r)
	return p, err
}

// twilioMessages tries the address with the default port and without: Twilio itself does not always
// sign the same.
func twilioMessages(r Request, _ proof) []message {
	signed, err := twilioSigned(r)
	if err != nil { // proof has refused it
		return nil
	}
	var all []message
	for _, address := range twilioAddresses(r.URL) {
		all = append(all, message{[]byte(address + signed)})
	}
	return all
}

// twilioSigned is what is signed behind the address: nothing where the body's hash is in that, else name
// and value of every field, with nothing between.
func twilioSigned(r Request) (string, error) {
	sum, hashed, err := twilioBodyHash(r.URL)
	switch {
	case err != nil:
		return "", err
	case hashed && sum != sha256.Sum256(r.Body):
		return "", fmt.Errorf("the body is not the one whose hash is in the address: %w", ErrSignature)
	case hashed:
		return "", nil
	case bracketed(r.Body): // else fields could be cut so that they are read as JSON
		return "", fmt.Errorf("the body is JSON, and no hash of it is in the address: %w", ErrSignature)
	}
	fields, err := twilioFields(r.Body)
	if err != nil {
		return "", fmt.Errorf("the body is no form, and no hash of it is in the address: %w", ErrSignature)
	}
	var b strings.Builder
	for _, f := range fields {
		b.WriteString(f.name)
		b.WriteString(f.value)
	}
	return b.String(), nil
}

// twilioFields are the fields of a form as they are signed: by name, and of a repeated one every value
// once, by value.
func twilioFields(body []byte) ([]formField, error) {
	fields, err := formFields(body)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(fields, func(a, b formField) int {
		return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(a.value, b.value))
	})
	return slices.Compact(fields), nil
}

// twilioBodyHash reads the hash of the body in an address. It has to stand at the end, where Twilio
// appends it: anywhere else it could be a text of somebody else's that fields of a form have brought in.
func twilioBodyHash(address string) (sum [sha256.Size]byte, ok bool, err error) {
	pairs := strings.Split(queryOf(address), "&")
	for i, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		if name != twilioHash {
			continue
		}
		b, isHex := unhex(value, sha256.Size)
		if !isHex || i < len(pairs)-1 {
			return sum, false, fmt.Errorf("the hash of the body in the address is not readable: %w", ErrSignature)
		}
		return [sha256.Size]byte(b), true, nil
	}
	return sum, false, nil
}

// withoutFragment is what of an address is sent, and signed.
func withoutFragment(address string) string {
	address, _, _ = strings.Cut(address, "#")
	return address
}

func queryOf(address string) string {
	_, query, _ := strings.Cut(withoutFragment(address), "?")
	return query
}

var portAtEnd = pattern(`:[0-9]+$`)

// twilioAddresses are the texts of one address: as it is, without its port, with the default one.
func twilioAddresses(address string) []string {
	address = withoutFragment(address)
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		return []string{address}
	}
	end := strings.IndexAny(rest+"/", "/?")
	bare := portAtEnd().ReplaceAllString(rest[:end], "")
	hosts := []string{rest[:end], bare}
	if port := map[string]string{"https": ":443", "http": ":80"}[scheme]; rest[:end] == bare {
		hosts = []string{bare, bare + port}
	}
	all := make([]string, len(hosts))
	for i, host := range hosts {
		all[i] = scheme + "://" + host + rest[end:]
	}
	return all
}

// twilioSeal signs as Twilio does. The hash of a body that is JSON is appended to the address, if it is
// not there.
func twilioSeal(r *Request, k key, now time.Time) {
	if bracketed(r.Body) {
		if _, ok, err := twilioBodyHash(r.URL); err == nil && !ok {
			mark := "?"
			if strings.Contains(r.URL, "?") {
				mark = "&"
			}
			sum := sha256.Sum256(r.Body)
			r.URL = withoutFragment(r.URL) + mark + twilioHash + "=" + hex.EncodeToString(sum[:])
		}
		if r.Header.Get("Content-Type") == formContent {
			r.Header.Set("Content-Type", "application/json")
		}
	}
	signed, err := twilioSigned(*r)
	if err != nil { // nothing that Twilio would send
		signed = string(r.Body)
	}
	r.Header.Set(twilioSum, base64.StdEncoding.EncodeToString(k.sign(message{[]byte(withoutFragment(r.URL) + signed)})))
	sum := sha256.Sum256(append([]byte(now.UTC().Format(time.RFC3339Nano)), r.Body...))
	missing(r.Header, twilioToken, hex.EncodeToString(sum[:16]))
}

func twilioDocument(r Request) (any, []byte, error) {
	if bracketed(r.Body) {
		doc, err := document.Decode(r.Body)
		return doc, r.Body, err
	}
	fields, err := twilioFields(r.Body)
	if err != nil {
		return nil, nil, err
	}
	return objectOf(fields)
}
