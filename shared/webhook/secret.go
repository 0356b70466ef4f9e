package webhook

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"engang/shared/secrets"
)

// usable reads a secret as the provider means it: nothing, one key or more. An empty one, white space and what stands in a
// template until somebody fills it in are no secrets: whoever guesses them could sign.
func (s Scheme) usable(secret secrets.Value) []key {
	raw := secret.Reveal()
	if placeholder(string(raw)) {
		return nil
	}
	k, ok := s.key(raw)
	if !ok {
		return nil
	}
	return append([]key{k}, k.also...)
}

// fitting tells whether a secret can be one of the provider's: it is usable, and nothing shows that it is
// something else. One that does not fit still verifies what was signed with it.
func (s Scheme) fitting(secret secrets.Value) bool {
	return len(s.usable(secret)) > 0 && s.misplaced(string(secret.Reveal())) == ""
}

// placeholders are what people and templates write where a secret should stand, in lower case and
// without separators.
var placeholders = []string{
	"changeme", "changethis", "default", "dummy", "example", "fixme", "mysecret", "nil", "none", "null", "password",
	"placeholder", "replaceme", "replacethis", "secret", "setme", "tbd", "test", "todo", "undefined", "webhooksecret",
	"yoursecret", "yoursecrethere", "yourwebhooksecret", "yourwebhooksecrethere",
}

// unresolved is a reference that nothing has filled in. It takes letters only, since a sender's own
// random secret may well begin and end with brackets.
var unresolved = regexp.MustCompile(`^(<[A-Za-z _-]+>|\$\{?[A-Za-z_]+\}?|\{\{ ?[A-Za-z_. ]+\}\})$`)

var prefixes = []string{"whsec_", "whpk_", "whsk_"}

// placeholder tells whether a text stands where a secret should stand, or nothing does.
func placeholder(text string) bool {
	text = strings.TrimSpace(text)
	for _, p := range prefixes {
		text = strings.TrimPrefix(text, p)
	}
	if text == "" || strings.Trim(text, text[:1]) == "" || unresolved.MatchString(text) {
		return true // nothing, nothing behind the prefix, or one character over and over
	}
	plain := strings.NewReplacer("-", "", "_", "", " ", "", ".", "").Replace(strings.ToLower(text))
	return slices.Contains(placeholders, plain)
}

// constant tells whether a key is one byte over and over, as an uninitialised one is.
func constant(b []byte) bool { return len(b) == 0 || bytes.Count(b, b[:1]) == len(b) }
