package webhook

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"engang/shared/document"
	"engang/shared/secrets"
)

// Sign makes the request that the provider would send with this body and secret at this time: the
// headers that it is given stay, signature and signed time are set, and ids that are missing are made
// up. Event type and source are the caller's. The given request is not changed.
//
// Where the sender signs the address, URL must be the public one. Where it writes the signature into the
// body, or a hash of the body into the address, the answer has that body or address. It is for tests, for
// trying an endpoint and for the sample. It returns an error that wraps [ErrSecret] when nothing can be
// signed with the secret.
func (s Scheme) Sign(req Request, secret secrets.Value, now time.Time) (Request, error) {
	keys := s.usable(secret)
	i := slices.IndexFunc(keys, func(k key) bool { return k.sign != nil })
	if i < 0 {
		return Request{}, fmt.Errorf("sign %s delivery: %w", s.name, ErrSecret)
	}
	if req.Method == "" {
		req.Method = http.MethodPost
	}
	req.Header = req.Header.Clone()
	if req.Header == nil {
		req.Header = http.Header{}
	}
	missing(req.Header, "Content-Type", cmp.Or(s.contentType, "application/json"))
	s.seal(&req, keys[i], now)
	return req, nil
}

// missing sets a header that is not there.
func missing(h http.Header, name, value string) {
	if h.Get(name) == "" {
		h.Set(name, value)
	}
}

// withMember is a body that is an object, with one number in it set, for a sender whose signed time is in the
// body. It tells false for any other body.
func withMember(body []byte, name, number string) ([]byte, bool) {
	doc, err := document.Decode(body)
	members, ok := doc.(map[string]any)
	if err != nil || !ok {
		return nil, false
	}
	members[name] = json.Number(number)
	b, err := document.Canonical(members)
	return b, err == nil
}
