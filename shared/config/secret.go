package config

import (
	"regexp"
	"sync"
)

// secretShape is what secrets of known kinds look like. Where one stands in text, it stands in the table,
// in every answer that shows the configuration, and on its way to a model.
var secretShape = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(^|[^A-Za-z0-9])(whsec_[A-Za-z0-9+/=]{16}|whsk_[A-Za-z0-9+/=]{16}|sk-[A-Za-z0-9_-]{16}|sk_(live|test)_[A-Za-z0-9]{16}|AKIA[A-Z0-9]{16}|gh[pousr]_[A-Za-z0-9]{20}|xox[abprs]-[A-Za-z0-9-]{10}|-----BEGIN [A-Z ]*PRIVATE KEY)`)
})

// IsSecret tells whether a text holds what looks like a secret of a known kind.
func IsSecret(text string) bool { return secretShape().MatchString(text) }
