package mask

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// emails replaces addresses. Each sign @ is looked at once, to the left as far as the one before it and to
// the right as far as the next: together that is twice the text.
func emails(s string) (string, int) {
	w := writer{s: s}
	for at := 0; ; {
		i := strings.IndexFunc(s[at:], isAt)
		if i < 0 {
			return w.done()
		}
		sign := at + i
		_, size := utf8.DecodeRuneInString(s[sign:])
		at = sign + size
		start := local(s[w.last:sign]) + w.last
		end := domain(s, at)
		if start < sign && end > 0 {
			w.replace(start, end, Email)
			at = end
		}
	}
}

func isAt(r rune) bool { return r == '@' || r == '\uff20' || r == '\ufe6b' }

// local is where the part before the sign begins: what stands before its first letter or digit is not of it.
func local(before string) int {
	start := len(before)
	for i := start; i > 0; {
		r, size := utf8.DecodeLastRuneInString(before[:i])
		i -= size
		switch {
		case unicode.IsLetter(r) || isDigit(r) || r == '_':
			start = i
		case !strings.ContainsRune(".%+-'~&!#$*^`{|}", r) && !unicode.IsMark(r) && !unseen(r):
			return start
		}
	}
	return start
}

// domain is where the longest full domain ends that begins at a place, zero if none does. That it is one
// depends on nothing that follows: else what is replaced there could make another of it.
func domain(s string, from int) (end int) {
	var l label
	dots := 0
	for i := from; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		switch {
		case isDot(r):
			if l.n == 0 {
				return end
			}
			dots++
			l = label{}
		case unicode.IsLetter(r) || unicode.IsMark(r) || isDigit(r) || r == '-' || r == '_' || unseen(r):
			if l.add(r); dots > 0 && l.top() {
				end = i
			}
		default:
			return end
		}
	}
	return end
}

// A label is a part of a domain, as far as it was read.
type label struct {
	n       int
	head    [4]rune
	letters int  // at its beginning
	mixed   bool // something else came
}

func (l *label) add(r rune) {
	if unseen(r) {
		return
	}
	if l.n < len(l.head) {
		l.head[l.n] = unicode.ToLower(r)
	}
	l.n++
	switch {
	case !l.mixed && (unicode.IsLetter(r) || unicode.IsMark(r)):
		l.letters++
	default:
		l.mixed = true
	}
}

// top tells whether the label, as far as it was read, may be the last of a domain.
func (l *label) top() bool {
	return !l.mixed && l.letters >= 2 || l.n > 4 && l.head == [4]rune{'x', 'n', '-', '-'}
}

func isDot(r rune) bool { return r == '.' || r == '\u3002' || r == '\uff0e' || r == '\uff61' }

// unseen tells whether a character shows nothing, as the joiners that scripts and emoji need.
func unseen(r rune) bool { return unicode.Is(unicode.Cf, r) }
