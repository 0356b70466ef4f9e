package webhook

import (
	"regexp"
	"sync"
)

// pattern is one that is compiled when a delivery first needs it: after a cold start one sender waits, and not for
// the patterns of all.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
