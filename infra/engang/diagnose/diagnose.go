// Package diagnose finds out why a captured delivery is not accepted.
//
// It asks one question again and again: does the signature fit now? Between two questions it undoes one
// thing that is known to go wrong: a newline at the end of the body, a proxy that joins headers, a secret
// of the other environment. The first that makes it fit is the cause; the rest is told as what it is not.
// Where one thing is not enough, it tries two.
//
// It needs the secrets and never gives them away: a [Report] holds no secret, no signature, and nothing of
// the body but what the event is called and what it is about. Otherwise whoever may ask could sign what they like. It is pure, and safe for concurrent use.
package diagnose

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"engang/infra/engang/capture"
	"engang/shared/control"
	"engang/shared/document"
	"engang/shared/secrets"
	"engang/shared/webhook"
)

// A Secret is one that may have signed.
type Secret struct {
	Name  string // where it stands: "hooks/woo-shop/1"
	Value secrets.Value
	Owner *control.Endpoint // whose it is; nil: it stands with the endpoint's own, and is not named by it
}

// A Case is a captured delivery with what is known around it.
type Case struct {
	Endpoint    control.Endpoint // that it came to, or was meant for
	Request     capture.Request
	Secrets     []Secret // that the endpoint names and that stand in the store
	Others      []Secret // that stand there too
	Certificate []byte   // where the sender signs under one
	Now         time.Time
}

// A Report says what is wrong with a delivery.
type Report struct {
	Kind      string    `json:"kind"` // "diagnosis"
	Endpoint  string    `json:"endpoint"`
	Provider  string    `json:"provider"`
	Title     string    `json:"title"` // of the provider, for people
	Signs     string    `json:"signs"` // how it signs, for people
	Secrets   int       `json:"secrets"`
	Sound     bool      `json:"sound"`
	Timestamp Timestamp `json:"timestamp"`
	Signature string    `json:"signature"` // one of the words below
	Event     *Event    `json:"event,omitempty"`
	Found     []Finding `json:"found"`
	NotIt     []string  `json:"not_it"` // what was tried and is not the cause
	Do        []string  `json:"do"`
}

// The words for a signature as it was captured.
const (
	Matches    = "matches"
	NoMatch    = "does not match"
	Unreadable = "cannot be read"
	NotNeeded  = "not needed" // of a ping
)

// A Timestamp is what the signature says of time.
type Timestamp struct {
	WindowSeconds int        `json:"window_seconds"` // zero: the provider signs none
	SignedAt      *time.Time `json:"signed_at"`
	SkewSeconds   *int       `json:"skew_seconds"`   // that it is before the arrival; negative: after
	Proved        bool       `json:"proved"`         // the signature fits, as it is or with what was found
	Unit          string     `json:"unit,omitempty"` // it is no time in the provider's unit: "milliseconds where seconds belong"
}

// An Event is what a delivery whose signature fits is about.
type Event struct {
	Type    string `json:"type"`
	Object  string `json:"object,omitempty"`
	Events  int    `json:"events,omitempty"` // that the delivery holds, where they are many
	Enabled *bool  `json:"enabled"`          // at the endpoint; null: nobody knows
	Ignored bool   `json:"ignored,omitempty"`
}

// A Finding is one thing that is wrong.
type Finding struct {
	Cause string `json:"cause"` // a word for programs: "body-newline-added"
	Text  string `json:"text"`
}

// ErrEndpoint says that the endpoint cannot verify anything: its provider is not known, or does not offer
// what the endpoint asks of it.
var ErrEndpoint = errors.New("the endpoint verifies nothing")

// An attempt is a delivery as it is tried, with what it is tried with.
type attempt struct {
	scheme  webhook.Scheme
	request webhook.Request
	secrets []secrets.Value
}

// A search is a case while it is worked on.
type search struct {
	Case
	scheme webhook.Scheme
	canary secrets.Value // a usable secret that has signed nothing, so that a wrong kind of secret hides no other fault
	report Report
	budget int  // bytes that may still be hashed
	cut    bool // not every cause could be tried
}

// Explain tells why a delivery is not accepted, or that it is. Its error wraps [ErrEndpoint].
func Explain(c Case) (Report, error) {
	s, err := newSearch(c)
	if err != nil {
		return Report{}, err
	}
	s.explain()
	s.report.Sound = len(s.report.Found) == 0
	return s.report, nil
}

func newSearch(c Case) (*search, error) {
	scheme, err := SchemeOf(c.Endpoint)
	if err != nil {
		return nil, err
	}
	var random [32]byte
	rand.Read(random[:])
	about := scheme.About()
	return &search{Case: c, scheme: scheme, canary: scheme.NewSecret(random), budget: maxHashed, report: Report{
		Kind: "diagnosis", Endpoint: c.Endpoint.Name, Provider: c.Endpoint.Provider, Title: about.Title, Signs: about.Signs,
		Secrets: len(c.Secrets), Timestamp: Timestamp{WindowSeconds: int(scheme.Window() / time.Second)}, Found: []Finding{}, NotIt: []string{}, Do: []string{},
	}}, nil
}

// SchemeOf is the provider's row as an endpoint uses it. Its error wraps [ErrEndpoint].
func SchemeOf(e control.Endpoint) (webhook.Scheme, error) { return schemeOf(e, e.Legacy) }

func schemeOf(e control.Endpoint, legacy bool) (webhook.Scheme, error) {
	row, ok := webhook.Lookup(e.Provider)
	if !ok {
		return webhook.Scheme{}, fmt.Errorf("provider %q: %w: there are %s", e.Provider, ErrEndpoint, strings.Join(webhook.Names(), ", "))
	}
	own := webhook.Endpoint{Type: e.Type, Legacy: legacy}
	if e.TypeAt != "" {
		p, err := document.ParsePointer(e.TypeAt)
		if err != nil {
			return webhook.Scheme{}, fmt.Errorf("endpoint %s: %w: %w", e.Name, ErrEndpoint, err)
		}
		own.TypeAt = &p
	}
	if h := e.HMAC; h != nil {
		own.HMAC = &webhook.HMAC{Header: h.Header, Prefix: h.Prefix, Encoding: h.Encoding, TimeHeader: h.TimeHeader, Window: time.Duration(h.WindowSeconds) * time.Second}
	}
	scheme, err := row.For(own)
	if err != nil {
		return webhook.Scheme{}, fmt.Errorf("endpoint %s: %w: %w", e.Name, ErrEndpoint, err)
	}
	return scheme, nil
}

// asIs is the delivery as it was captured, under the address that the endpoint says is signed.
func (s *search) asIs() attempt {
	a := attempt{scheme: s.scheme, request: webhook.Request{Method: s.Request.Method, URL: s.Request.Target, Header: s.Request.Header(), Body: s.Request.Body}}
	if a.request.Method == "" {
		a.request.Method = http.MethodPost
	}
	if s.scheme.SignsURL() && s.Endpoint.PublicURL != "" {
		a.request.URL = s.Endpoint.PublicURL
		if seen, err := url.Parse(s.Request.Target); err == nil && seen.RawQuery != "" {
			a.request.URL += "?" + seen.RawQuery
		}
	}
	for _, secret := range s.Secrets {
		a.secrets = append(a.secrets, secret.Value)
	}
	return a
}

func (s *search) explain() {
	a := s.asIs()
	if _, ping := s.scheme.Handshake(a.request); ping {
		s.report.Signature, s.report.Event = NotNeeded, &Event{Type: "ping"}
		return
	}
	if a.request.Method != http.MethodPost {
		s.find("method", "it came by "+printable(a.request.Method)+", and only POST is a delivery", "look for a redirect on the way: a sender that follows one may leave method and body behind")
		a.request.Method = http.MethodPost
	}
	if len(s.Secrets) == 0 {
		s.find("no-secret", "the endpoint has no secret in the store", "engang secret set "+s.Endpoint.Name)
	}
	v := s.probe(a)
	fitted, ok := a, v.kind == fits
	switch v.kind {
	case fits:
		s.report.Signature = Matches
	case mismatched:
		s.report.Signature = NoMatch
	default:
		s.report.Signature = Unreadable
	}
	if !ok {
		fitted, ok = s.run(a, v)
	}
	if !ok {
		s.surmise(a, v)
	}
	s.judgeTime(fitted, ok)
	if ok && fitted.scheme.Name() == s.scheme.Name() {
		s.judgeSource(fitted)
		s.judgeEvent(fitted)
	}
}

// find keeps a finding with what to do about it.
func (s *search) find(cause, text string, do ...string) {
	s.report.Found = append(s.report.Found, Finding{cause, text})
	for _, d := range do {
		if d != "" && !slices.Contains(s.report.Do, d) {
			s.report.Do = append(s.report.Do, d)
		}
	}
}

// printable is a text of the capture as it may be shown: names, never values of headers that sign.
func printable(text string) string {
	if len(text) > 80 {
		text = text[:80] + "…"
	}
	quoted := fmt.Sprintf("%q", text)
	if quoted[1:len(quoted)-1] == text {
		return text
	}
	return quoted
}
