package dynamotest

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	"engang/shared/telemetry"
)

// ErrLost is what a [Fault] answers.
var ErrLost = errors.New("connection lost")

// A Fault is a transport that breaks calls: it loses the request, or the answer after the call took
// effect. It is safe for concurrent use; set its fields before.
type Fault struct {
	Target  string            // beginning of the call's name (telemetry.Call): "W3 claim", "W1 "; empty: every call
	Applied bool              // the call takes effect, its answer is lost
	N       int               // how many requests are hit; a client repeats one up to [Tries] times; below zero: all
	Next    http.RoundTripper // nil: a transport of its own

	mu   sync.Mutex
	hits int
}

// RoundTrip loses a request, or its answer, or passes it on.
func (f *Fault) RoundTrip(r *http.Request) (*http.Response, error) {
	next := f.Next
	if next == nil {
		next = shared
	}
	if !f.hit(telemetry.Call(r.Context())) {
		return next.RoundTrip(r)
	}
	if f.Applied {
		answer, err := next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		_, err = io.Copy(io.Discard, answer.Body) // the call is over before its answer is lost
		return nil, errors.Join(ErrLost, err, answer.Body.Close())
	}
	if r.Body != nil {
		if err := r.Body.Close(); err != nil {
			return nil, errors.Join(ErrLost, err)
		}
	}
	return nil, ErrLost
}

func (f *Fault) hit(call string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !strings.HasPrefix(call, f.Target) || (f.N >= 0 && f.hits >= f.N) {
		return false
	}
	f.hits++
	return true
}

// Hits is how many requests were hit so far.
func (f *Fault) Hits() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hits
}
