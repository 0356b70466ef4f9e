// Package config is what an operator has applied: endpoints, recipes and providers, by version.
//
// Versions are immutable; one pointer per tenant and environment says which are live. Functions read
// through a [Cache]. What is refused, compared and published is in package apply: who only reads needs none of it.
package config

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"engang/shared/document"
	"engang/shared/inbox"
	"engang/shared/object"
	"engang/shared/operation"
	"engang/shared/recipe"
	"engang/shared/secrets"
	"engang/shared/webhook"
)

// Environments are the environments that a configuration can be for.
var Environments = []string{"test", "production"}

// ErrUnknown says that nothing of this name was applied.
var ErrUnknown = errors.New("not configured")

// ErrChanged says that an applied version was to be written with other content, or that somebody else
// moved the pointer meanwhile, or that another tenant or environment has the endpoint's name.
var ErrChanged = errors.New("configuration changed")

// ErrMoved says that somebody else applied a configuration since the one that is to be replaced was
// looked at. It wraps [ErrChanged].
var ErrMoved = fmt.Errorf("somebody else applied meanwhile: %w", ErrChanged)

// An Endpoint is a configured source: the address /hooks/{name}, who sends to it, and what is done.
type Endpoint struct {
	Name      string               `json:"name"`
	Scope     object.Scope         `json:"scope"`
	Provider  string               `json:"provider"`
	PublicURL string               `json:"public_url,omitempty"`
	Source    string               `json:"source,omitempty"` // what the sender calls itself; another one is refused
	Secrets   []secrets.Ref        `json:"secrets"`
	Events    map[string]EventRule `json:"events"`             // by event type
	MaxBody   int                  `json:"max_body,omitempty"` // bytes; zero: the function's own limit

	// What the provider's row leaves to the endpoint.
	Type   string            `json:"type,omitempty"`    // of every event, where only the address tells
	TypeAt *document.Pointer `json:"type_at,omitempty"` // where the type is in the body
	Legacy bool              `json:"legacy,omitempty"`  // takes the sender's older signatures too, which prove less
	HMAC   *HMAC             `json:"hmac,omitempty"`    // how a sender signs that has no row of its own

	SilentAfterSeconds int      `json:"silent_after_seconds,omitempty"` // without a delivery for so long, the sender is reported as silent
	CatchUp            *CatchUp `json:"catch_up,omitempty"`
}

// Adds is what the endpoint's configuration adds to its provider's row.
func (e Endpoint) Adds() webhook.Endpoint {
	own := webhook.Endpoint{Type: e.Type, TypeAt: e.TypeAt, Legacy: e.Legacy}
	if h := e.HMAC; h != nil {
		own.HMAC = &webhook.HMAC{Header: h.Header, Prefix: h.Prefix, Encoding: h.Encoding, TimeHeader: h.TimeHeader, Window: time.Duration(h.WindowSeconds) * time.Second}
	}
	return own
}

// A CatchUp fetches from the source what it failed to deliver.
type CatchUp struct {
	Target       string `json:"target"` // a name among [Common.Targets]
	EverySeconds int    `json:"every_seconds"`
}

// A Target is another system that is called at a fixed address: no address from a payload is ever fetched.
type Target struct {
	Kind    string      `json:"kind"` // "woocommerce"
	BaseURL string      `json:"base_url"`
	Key     secrets.Ref `json:"key"` // WooCommerce: consumer key and consumer secret, joined by a colon
}

// An HMAC is the signature of a sender without a row of its own.
type HMAC struct {
	Header        string `json:"header"`
	Prefix        string `json:"prefix,omitempty"`
	Encoding      string `json:"encoding"`              // "hex" or "base64"
	TimeHeader    string `json:"time_header,omitempty"` // that holds the signed time; empty: none is signed
	WindowSeconds int    `json:"window_seconds,omitempty"`
}

// An EventRule says what is done with events of one type.
type EventRule struct {
	Ignore  bool              `json:"ignore,omitempty"` // counted, not stored
	Recipes []string          `json:"recipes,omitempty"`
	Object  *ObjectRule       `json:"object,omitempty"`  // instead of the provider's own row
	Version *document.Pointer `json:"version,omitempty"` // likewise
}

// An ObjectRule says what an event is about.
type ObjectRule struct {
	Kind string           `json:"kind"`
	ID   document.Pointer `json:"id"`
}

// A Provider is where models are called.
type Provider struct {
	APIKey  secrets.Ref                `json:"api_key"`
	BaseURL string                     `json:"base_url,omitempty"` // empty: the function's own
	Prices  map[string]operation.Price `json:"prices"`             // by model name
}

// Common is what all endpoints and recipes of a scope share.
type Common struct {
	EventDays  int                 `json:"event_days"`
	ResultDays int                 `json:"result_days"`
	Providers  map[string]Provider `json:"providers"`
	Targets    map[string]Target   `json:"targets,omitempty"`
}

// A Set is one whole configuration of a tenant and environment, as it is applied.
type Set struct {
	Scope     object.Scope    `json:"scope"`
	Common    Common          `json:"common"`
	Endpoints []Endpoint      `json:"endpoints"`
	Recipes   []recipe.Recipe `json:"recipes"`
}

// A Pointer says which versions are live in a scope, and who made them so. Revision grows by one with
// each change.
type Pointer struct {
	Revision  int            `json:"revision"`
	Common    int            `json:"common"`
	Endpoints map[string]int `json:"endpoints"`
	Recipes   map[string]int `json:"recipes"`
	Quiet     map[string]int `json:"quiet,omitempty"` // seconds of the quiet period, of live recipes that have one
	At        time.Time      `json:"at,omitzero"`
	By        string         `json:"by,omitempty"` // the caller's identity
}

// Refs gives the recipe versions that a rule means under this pointer; a recipe that is not live is
// left out and reported.
func (p Pointer) Refs(names []string) (refs []inbox.RecipeRef, missing []string) {
	for _, name := range names {
		if v, ok := p.Recipes[name]; ok {
			refs = append(refs, inbox.RecipeRef{Name: name, Version: v})
		} else if !slices.Contains(missing, name) {
			missing = append(missing, name)
		}
	}
	return refs, missing
}
