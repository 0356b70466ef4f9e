package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Plain makes what a terminal would obey, or show as something else than it is, visible: control
// characters, those that change the direction of writing or are not seen at all, and bytes that are no
// UTF-8. They become \u{202e} or \x9b; all else stays, line ends and tabs too.
func Plain(s string) string { return escape(s, obeyed, braced) }

// Line is [Plain] for a text that has one line, whatever it is made of: line ends and tabs become visible too.
func Line(s string) string {
	return escape(s, func(r rune) bool { return r == '\n' || r == '\t' || obeyed(r) }, braced)
}

// JSON is [Plain] for JSON documents: what it makes visible stands for the same text as before.
// Bytes that are no UTF-8 become the replacement character, as they do for every reader of JSON.
func JSON(s string) string { return escape(s, obeyed, quoted) }

// obeyed tells the characters that are made visible. Those with which encoding/json has no quarrel are
// among them: DEL, the second set of control characters, and every change of direction.
func obeyed(r rune) bool {
	return r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// escape writes with each rune that is found, and each byte that is part of none (bad is true then).
func escape(s string, found func(rune) bool, write func(b *strings.Builder, r rune, bad bool)) string {
	var b strings.Builder
	done := 0 // all before is written
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		bad := r == utf8.RuneError && n == 1
		if bad || found(r) {
			b.WriteString(s[done:i])
			if bad {
				r = rune(s[i])
			}
			write(&b, r, bad)
			done = i + n
		}
		i += n
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

func braced(b *strings.Builder, r rune, bad bool) {
	if bad {
		fmt.Fprintf(b, `\x%02x`, r)
		return
	}
	fmt.Fprintf(b, `\u{%x}`, r)
}

func quoted(b *strings.Builder, r rune, bad bool) {
	if bad {
		r = utf8.RuneError
	}
	if high, low := utf16.EncodeRune(r); high != unicode.ReplacementChar {
		fmt.Fprintf(b, `\u%04x\u%04x`, high, low)
		return
	}
	fmt.Fprintf(b, `\u%04x`, r)
}
