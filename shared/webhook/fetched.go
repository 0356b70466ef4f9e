package webhook

import (
	"fmt"
	"net/http"
	"slices"
)

// Changes lists the types of event that [Scheme.Fetched] knows: what the sender can be asked for when
// deliveries were lost. None for a sender that is never asked.
func (s Scheme) Changes() []string { return slices.Clone(s.changes) }

// Fetched makes the request that the sender would have delivered an object with, for one that was fetched
// from it instead: it carries the type and the same bytes, and so means the same event, but no signature.
// It returns an error that wraps [ErrMalformed] for a type that is not among [Scheme.Changes].
func (s Scheme) Fetched(eventType string, body []byte) (Request, error) {
	if s.fetched == nil || !slices.Contains(s.changes, eventType) {
		return Request{}, fmt.Errorf("take what was fetched from %s: %w", s.name, ErrMalformed)
	}
	return Request{Method: http.MethodPost, Header: s.fetched(eventType), Body: body}, nil
}

// Splits tells whether the sender may put many events in one delivery ([Scheme.Split]).
func (s Scheme) Splits() bool { return s.split != nil }
