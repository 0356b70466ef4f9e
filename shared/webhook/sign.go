package webhook

import (
	"fmt"
	"net/http"
	"time"

	"engang/shared/secrets"
)

// Sign makes the request that the provider would send with this body and secret at this time: the
// headers that it is given stay, signature and signed time are set, and ids that are missing are made
// up. Event type and source are the caller's. The given request is not changed.
//
// It is for tests, for trying an endpoint and for the sample. It returns an error that wraps
// [ErrSecret] when nothing can be signed with the secret.
func (s Scheme) Sign(req Request, secret secrets.Value, now time.Time) (Request, error) {
	k, ok := s.usable(secret)
	if !ok || k.sign == nil {
		return Request{}, fmt.Errorf("sign %s delivery: %w", s.name, ErrSecret)
	}
	if req.Method == "" {
		req.Method = http.MethodPost
	}
	req.Header = req.Header.Clone()
	if req.Header == nil {
		req.Header = http.Header{}
	}
	missing(req.Header, "Content-Type", "application/json")
	s.seal(&req, k, now)
	return req, nil
}

// missing sets a header that is not there.
func missing(h http.Header, name, value string) {
	if h.Get(name) == "" {
		h.Set(name, value)
	}
}
