package delivery

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"engang/infra/engang/text"
	"engang/shared/webhook"
)

// Curl is the command that sends a delivery from a shell, byte for byte but for NUL, which no command can
// hold. Nothing in it is obeyed by a terminal that shows it: what would be is written as numbers, in the
// quotes that bash, zsh and the browsers' own curl commands have for it.
func Curl(r webhook.Request, address string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "curl -sS -X %s %s", r.Method, quote(address))
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		fmt.Fprintf(&b, " \\\n  -H %s", quote(name+": "+r.Header.Get(name)))
	}
	data := "--data-binary"
	if bytes.HasPrefix(r.Body, []byte("@")) { // that would be the name of a file
		data = "--data-raw"
	}
	fmt.Fprintf(&b, " \\\n  %s %s\n", data, quote(string(r.Body)))
	return b.String()
}

// quote makes one word of a text.
func quote(s string) string {
	if text.Plain(s) == s {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\'', c == '\\', c < ' ', c > '~':
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	return "$'" + b.String() + "'"
}
