// Package problem turns errors into what an HTTP caller is told: RFC 9457 problem documents.
//
// One ordered table ([Of]) serves senders (/hooks) and operators (/api). Each text says what happened,
// what that means, and what to do. None repeats a value, and nothing that a sender is told says which
// part of a verification failed; the log has that. What the table does not know is an internal error
// with a reference, whatever the error's own text says.
package problem

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"engang/shared/config"
)

// ContentType is the media type of a problem document.
const ContentType = "application/problem+json"

// A Problem is an answer to a call that did not do what was asked.
type Problem struct {
	Type     string `json:"type"` // a URN, the same for the same kind of problem for ever
	Title    string `json:"title"`
	Status   int    `json:"status"`
	Detail   string `json:"detail,omitempty"`
	Instance string `json:"instance,omitempty"` // a URN with the reference under which the log has more

	Faults config.Faults `json:"faults,omitempty"` // with status 422: why a configuration is refused
	Stands *Standing     `json:"stands,omitempty"` // with status 409: what stands where the act was refused

	Allow      []string      `json:"-"` // with status 405: what is allowed
	RetryAfter time.Duration `json:"-"` // with status 503: when to come again
}

// A Standing is what stands where an act was refused: an operation, or the result that is in the way.
type Standing struct {
	ID            string     `json:"id"`
	State         string     `json:"state"`
	ObjectVersion string     `json:"object_version,omitempty"`
	Digest        string     `json:"digest,omitempty"` // of its output
	By            string     `json:"by,omitempty"`     // who decided
	At            *time.Time `json:"at,omitempty"`     // when
	Note          string     `json:"note,omitempty"`   // why
	Until         *time.Time `json:"until,omitempty"`  // of a pause that has an end
}

// JSON is the document.
func (p Problem) JSON() []byte {
	b, err := json.Marshal(p)
	if err != nil { // a struct of texts and one number: only a bug in this file
		panic("problem: " + err.Error())
	}
	return b
}

// Header is what goes with the document. Nothing of it may be cached: the next try may go well.
func (p Problem) Header() http.Header {
	h := http.Header{}
	h.Set("Content-Type", ContentType)
	h.Set("Cache-Control", "no-store")
	if len(p.Allow) > 0 {
		h.Set("Allow", strings.Join(p.Allow, ", "))
	}
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int((p.RetryAfter+time.Second-1)/time.Second)))
	}
	return h
}
