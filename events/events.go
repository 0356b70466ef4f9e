// Package events holds what reaches the functions, in the shape in which each gets it:
// <function>/<case>.json. `sam local invoke -e` takes the files, tests of the handlers read them, and
// `engang send` signs what is under receiver anew.
//
// A delivery under receiver says beside the request ("sample") who sends it, what the endpoint must say,
// and which secret signed it at what time. The secrets are of these files alone, and protect nothing.
package events

import (
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"time"
)

//go:embed receiver/*.json
var files embed.FS

// A Sample is one delivery of a provider.
type Sample struct {
	File     string    `json:"-"`        // "receiver/stripe-invoice-paid.json"
	Provider string    `json:"provider"` // as the configuration names it
	Case     string    `json:"case"`     // what has happened, in the sender's word
	Secret   string    `json:"secret,omitempty"`
	SignedAt time.Time `json:"signed_at,omitzero"`
	Endpoint Endpoint  `json:"endpoint,omitzero"`

	Method string      `json:"-"`
	Header http.Header `json:"-"`
	Query  string      `json:"-"`
	Body   []byte      `json:"-"`
}

// An Endpoint is what the endpoint's configuration must say for the delivery to be taken.
type Endpoint struct {
	PublicURL  string `json:"public_url,omitempty"`
	Type       string `json:"type,omitempty"`
	TypeAt     string `json:"type_at,omitempty"`
	HMACHeader string `json:"hmac_header,omitempty"` // of a sender without a row of its own; its sum is in hex
	ObjectKind string `json:"object_kind,omitempty"` // of a sender whose payloads differ
	ObjectID   string `json:"object_id,omitempty"`
}

// Name is how the sample is called: "stripe/invoice.paid".
func (s Sample) Name() string { return s.Provider + "/" + s.Case }

// A request is the part of a gateway's event that is read here.
type request struct {
	Sample          *Sample           `json:"sample"`
	Headers         map[string]string `json:"headers"`
	RawQueryString  string            `json:"rawQueryString"`
	Body            string            `json:"body"`
	IsBase64Encoded bool              `json:"isBase64Encoded"`
	RequestContext  struct {
		HTTP struct {
			Method string `json:"method"`
		} `json:"http"`
	} `json:"requestContext"`
}

// Samples lists the deliveries that say who sends them, in the order of their files.
func Samples() ([]Sample, error) {
	names, err := fs.Glob(files, "receiver/*.json")
	if err != nil {
		return nil, fmt.Errorf("list samples: %w", err)
	}
	var all []Sample
	for _, name := range names {
		raw, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read sample: %w", err)
		}
		s, err := read(raw)
		if err != nil {
			return nil, fmt.Errorf("read sample %s: %w", name, err)
		}
		if s != nil {
			s.File = name
			all = append(all, *s)
		}
	}
	return all, nil
}

// read gives nil for a delivery that does not say who sends it.
func read(raw []byte) (*Sample, error) {
	var r request
	if err := json.Unmarshal(raw, &r); err != nil || r.Sample == nil {
		return nil, err
	}
	s := *r.Sample
	s.Method, s.Query, s.Header, s.Body = r.RequestContext.HTTP.Method, r.RawQueryString, http.Header{}, []byte(r.Body)
	for name, value := range r.Headers {
		s.Header.Set(name, value)
	}
	if r.IsBase64Encoded {
		var err error
		if s.Body, err = base64.StdEncoding.DecodeString(r.Body); err != nil {
			return nil, err
		}
	}
	return &s, nil
}
