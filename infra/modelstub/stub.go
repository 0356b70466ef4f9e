// Package modelstub is a server that speaks the wire format of OpenAI's Responses API, for the local
// system and for tests. It costs nothing and asks nobody.
//
// It checks a request as the API would, and answers from the request alone: the same input under the same
// schema gives the same output, which fits the schema and consists of the input's own words. Every
// documented way to fail happens on demand ([Stub.Fail]).
package modelstub

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"
)

// keptCalls is how many calls [Stub.Calls] remembers; a local system may run for weeks.
const keptCalls = 10_000

// A Call is what the stub remembers of one request: no key, no instructions, no input.
type Call struct {
	At          time.Time
	Model       string
	Status      int    // HTTP status answered; zero where none was sent
	Kind        string // of the failure on demand, else ""
	InputDigest string // hex SHA-256 of the input's text
}

// A Stub answers POST /v1/responses. The zero Stub is not usable; see [New]. It is safe for concurrent use.
type Stub struct {
	mu      sync.Mutex
	latency time.Duration
	planned []Plan
	calls   []Call
	count   int
	serial  int
}

// New makes a stub that answers at once and does not fail.
func New() *Stub { return &Stub{} }

// Delay makes every answer wait for d, unless the caller goes away first.
func (s *Stub) Delay(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latency = d
}

// Fail makes the next n well-formed calls fail in one way, after those planned before; n below zero means
// all from then on, until [Stub.Heal]. It returns an error, and plans nothing, for a kind that is not in [Kinds].
func (s *Stub) Fail(kind string, n int) error {
	if _, ok := failures[kind]; !ok {
		return fmt.Errorf("model failure %q is none of %v", kind, Kinds())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n != 0 {
		s.planned = append(s.planned, Plan{kind, n})
	}
	return nil
}

// Heal drops the failures that are still planned.
func (s *Stub) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.planned = nil
}

// A Plan is a failure that is still to happen.
type Plan struct {
	Kind  string
	Times int // below zero: until [Stub.Heal]
}

// Planned lists the failures that are still to happen, in their order.
func (s *Stub) Planned() []Plan {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.planned)
}

// Kinds are the ways to fail that [Stub.Fail] knows, sorted.
func Kinds() []string { return slices.Sorted(maps.Keys(failures)) }

// Calls are the latest calls, at most ten thousand, oldest first.
func (s *Stub) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Count is the number of all calls since the start, those that failed included.
func (s *Stub) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

// next takes what is planned for a call, and the call's serial number.
func (s *Stub) next() (kind string, serial int, latency time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial++
	if len(s.planned) > 0 {
		kind = s.planned[0].Kind
		if s.planned[0].Times--; s.planned[0].Times == 0 {
			s.planned = s.planned[1:]
		}
	}
	return kind, s.serial, s.latency
}

func (s *Stub) note(c Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	if len(s.calls) == keptCalls {
		s.calls = slices.Delete(s.calls, 0, 1)
	}
	s.calls = append(s.calls, c)
}

// ServeHTTP answers one request.
func (s *Stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	call := Call{At: time.Now()}
	req, fault := parse(r)
	if req != nil {
		call.Model, call.InputDigest = req.Model, sum(req.Input)
	}
	if fault != nil {
		call.Status = fault.status
		s.note(call) // before the answer, so that who has the answer finds the call
		fault.write(w)
		return
	}
	kind, serial, latency := s.next()
	call.Kind = kind
	fail := failures[kind]
	call.Status = fail.status
	if kind == "" {
		call.Status = http.StatusOK
	}
	s.note(call)
	if wait(r.Context(), latency) != nil {
		panic(http.ErrAbortHandler) // the caller is gone
	}
	id := sum(fmt.Sprint(serial, call.InputDigest))
	w.Header().Set("X-Request-Id", "req_"+id[:32])
	w.Header().Set("Openai-Version", "2020-10-01")
	if fail.serve != nil {
		fail.serve(w, r)
		return
	}
	doc := answer(req, id)
	if fail.change != nil {
		fail.change(req, doc)
	}
	send(w, http.StatusOK, doc)
}

func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

func send(w http.ResponseWriter, status int, doc any) {
	body, err := json.Marshal(doc)
	if err != nil {
		panic(err) // the stub built it
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a caller that is gone needs no answer
}

func sum(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:])
}
