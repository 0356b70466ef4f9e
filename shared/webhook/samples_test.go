package webhook_test

import (
	"slices"
	"testing"
	"time"

	"engang/shared/webhook"
)

// A sample is one delivery of a row as its sender makes it, with what the tests of every row need to
// know. Each row adds its own beside its own tests.
type sample struct {
	provider string
	secret   string
	older    string            // another secret of the same form
	body     string            // of an event that can be worked on
	header   map[string]string // what the caller of Sign gives
	url      string            // empty: none is needed
	expect   webhook.Expect
	endpoint webhook.Endpoint

	signature string        // the header that holds the signature; empty: it is in the body
	covered   []string      // headers that are signed, as the body is
	within    [2]string     // where what is signed of the body begins and ends; empty: all of it is
	window    time.Duration // zero: no time is signed
	lists     bool          // the signature header may hold several, divided by a space

	// sum is what stands in the signature header of req when it is made with this key, computed without
	// the code under test; nil: the row has its own tests of that.
	sum func(req webhook.Request, key string) string
	// keyOf is the key that a secret means; nil: its bytes.
	keyOf func(secret string) string

	badSecrets map[string]string // what the row refuses as no secret at all, by why
	unfit      map[string]string // what can verify, and must not be configured, by a part of the reason
	noVectors  string            // why no vector of the provider is there; empty: there are some
}

// samples by provider. A row without one fails TestEveryRowTakesWhatItSigned.
var samples = map[string]sample{}

// add is for package variables of the rows' own tests.
func add(s sample) sample {
	samples[s.provider] = s
	return s
}

// scheme is the row as the sample's endpoint uses it.
func (s sample) scheme(t testing.TB) webhook.Scheme {
	t.Helper()
	scheme, err := row(t, s.provider).For(s.endpoint)
	if err != nil {
		t.Fatal(err)
	}
	return scheme
}

func (s sample) key(secret string) string {
	if s.keyOf == nil {
		return secret
	}
	return s.keyOf(secret)
}

// names are the rows with a sample for which the condition holds.
func names(holds func(sample) bool) []string {
	var all []string
	for _, name := range webhook.Names() {
		if s, ok := samples[name]; ok && holds(s) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

func all(sample) bool          { return true }
func withHeader(s sample) bool { return s.signature != "" }
func withWindow(s sample) bool { return s.window > 0 }
func withSum(s sample) bool    { return s.sum != nil }
