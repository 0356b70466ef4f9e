package webhook

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"engang/shared/secrets"
)

// ErrPublicSecret says that everybody knows the secret: it stands in the sender's documentation, or is
// what its test button signs with. Errors that wrap it wrap [ErrSecret] too.
var ErrPublicSecret = errors.New("everybody knows it")

// secretTerms is what a secret must be before it is configured. It is stricter than what
// [Scheme.Verify] takes, which must not refuse a sender over a secret that has been in use.
type secretTerms struct {
	min, max int                      // characters, or bytes behind whsec_; zero: 16, and no end
	form     string                   // what a secret looks like, for people; empty: any text
	not      []otherSecret            // what people take for it
	public   []string                 // what the sender has published
	reason   func(text string) string // what else is wrong with it, "" for nothing; nil: nothing
	make     func(random []byte) string
}

// An otherSecret is known by how it begins, and belongs elsewhere.
type otherSecret struct{ prefix, what string }

// minSecret is the fewest characters of a secret where the sender states none.
const minSecret = 16

// published is what senders have published under any name: an example stays one in another place.
var published = []string{
	"MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
	"C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
	"RdvaYFYUXuIFuEbvZHwMfYFhUf7aMYjYcmM24+Aj40c=",
	"It's a Secret to Everybody",
	"8f742231b10e8888abcd99yyyzzz85a5",
	"e6b19c573432dcc6b075501d51b51bb8",
	"test_secret_key",
	"whsec_test_secret",
	"0123456789abcdef",
}

// A SecretError says why a secret is not fit to be configured, and never repeats it.
type SecretError struct {
	Provider string
	Reason   string // "it has white space at an end"
	Form     string // how a secret of the provider looks; empty: any text
	Public   bool   // it is fit but for everybody knowing it: a test endpoint may take it
}

// Error names provider and reason, and how a sound secret looks, which a published one does.
func (e *SecretError) Error() string {
	text := "check " + e.Provider + " secret: " + e.Reason
	if e.Form != "" && !e.Public {
		text += "; one that is sound looks like " + e.Form
	}
	return text
}

// Unwrap makes errors.Is true for [ErrSecret], and of a published one for [ErrPublicSecret].
func (e *SecretError) Unwrap() error {
	if e.Public {
		return errPublic
	}
	return ErrSecret
}

// CheckSecret tells whether a secret is fit to be configured. It demands more than [Scheme.Verify]:
// a minimum length, no white space at the ends, not another kind of secret, not one that the sender has
// published. Its error is a [*SecretError]: it says what is wrong and how a secret looks, never the
// secret, and wraps [ErrSecret]; for a published one also [ErrPublicSecret], so that a test endpoint may
// take it.
func (s Scheme) CheckSecret(secret secrets.Value) error {
	text := string(secret.Reveal())
	reason := s.refusal(text)
	public := reason == "" && s.published(text)
	if public {
		reason = "it is published, so that everybody knows it"
	}
	if reason == "" {
		return nil
	}
	return &SecretError{Provider: s.name, Reason: reason, Form: s.terms.form, Public: public}
}

var errPublic = fmt.Errorf("%w: %w", ErrPublicSecret, ErrSecret)

// published tells whether a sender has published the secret.
func (s Scheme) published(text string) bool {
	return slices.Contains(published, strings.TrimPrefix(text, "whsec_")) || slices.Contains(published, text) || slices.Contains(s.terms.public, text)
}

// refusal is why a text is no secret of the provider's, whoever knows it.
func (s Scheme) refusal(text string) string {
	least := s.terms.min
	if least == 0 {
		least = minSecret
	}
	switch {
	case secrets.NewValue(text).IsBlank():
		return "it is empty or stands for a secret that nobody has filled in"
	case strings.TrimSpace(text) != text:
		return "it has white space at an end"
	case !utf8.ValidString(text): // the parameter store keeps text, and would give back other bytes
		return "it is no text in UTF-8"
	case strings.ContainsFunc(text, unicode.IsControl):
		return "it has a line end or another control character in it"
	}
	if reason := s.misplaced(text); reason != "" {
		return reason
	}
	if _, ok := s.key([]byte(text)); !ok {
		return "it is not of the form that the provider issues"
	}
	if s.terms.reason != nil {
		if reason := s.terms.reason(text); reason != "" {
			return reason
		}
	}
	switch {
	case len(text) < least:
		return fmt.Sprintf("it has fewer than %d characters", least)
	case s.terms.max > 0 && len(text) > s.terms.max:
		return fmt.Sprintf("it has more than %d characters", s.terms.max)
	}
	return ""
}

// misplaced is how a text shows that it is no secret of the provider's but something else that was put in
// its place.
func (s Scheme) misplaced(text string) string {
	switch {
	case len(text) > 1 && text[0] == text[len(text)-1] && strings.ContainsRune("\"'`", rune(text[0])):
		return "it stands in quotation marks"
	case strings.HasPrefix(text, "v1,"):
		return "it begins as a signature does, with v1 and a comma"
	}
	for _, other := range s.terms.not {
		if strings.HasPrefix(text, other.prefix) {
			return "it is " + other.what
		}
	}
	return ""
}

// NewSecret makes a secret of the form that the provider issues, of characters that nobody escapes, from
// 32 random bytes. [Scheme.CheckSecret] takes it. Where the sender makes the secrets itself, it is for
// trying.
func (s Scheme) NewSecret(random [32]byte) secrets.Value {
	if s.terms.make != nil {
		return secrets.NewValue(s.terms.make(random[:]))
	}
	return secrets.NewValue(hex.EncodeToString(random[:20])) // 40 characters: the most that one sender takes
}
