package webhook

import (
	"bytes"

	"engang/shared/secrets"
)

// usable reads a secret as the provider means it: nothing, one key or more. A blank one is nothing.
func (s Scheme) usable(secret secrets.Value) []key {
	if secret.IsBlank() {
		return nil
	}
	k, ok := s.key(secret.Reveal())
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

// prefixes are those of keys of Standard Webhooks, of which only the first kind is shared.
var prefixes = []string{"whsec_", "whpk_", "whsk_"}

// constant tells whether a key is one byte over and over, as an uninitialised one is.
func constant(b []byte) bool { return len(b) == 0 || bytes.Count(b, b[:1]) == len(b) }
