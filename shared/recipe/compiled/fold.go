package compiled

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// fold makes texts comparable: case does not count, runs of white space are one space, and characters
// that show nothing are gone.
func fold(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return unicode.ToLower(unicode.ToUpper(r)) // both, so that ς and σ are one
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// contains tells whether part occurs in text at a place where splits finds nothing to object to, at
// neither end.
func contains(text, part string, splits func(before, after string) bool) bool {
	for from := 0; part != ""; {
		i := strings.Index(text[from:], part)
		if i < 0 {
			return false
		}
		start := from + i
		end := start + len(part)
		if !splits(text[:start], text[start:]) && !splits(text[:end], text[end:]) {
			return true
		}
		_, size := utf8.DecodeRuneInString(text[start:])
		from = start + size
	}
	return false
}

// splitsWord tells whether the place between two texts is within a word. Scripts that write no spaces
// have no such place.
func splitsWord(before, after string) bool {
	a, _ := utf8.DecodeLastRuneInString(before)
	b, _ := utf8.DecodeRuneInString(after)
	return inWord(a) && inWord(b) && !unspaced(a) && !unspaced(b)
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// splitsNumber tells whether the place between two texts is within a number: 5 does not occur in 0.35
// or in 1,500.
func splitsNumber(before, after string) bool {
	a, size := utf8.DecodeLastRuneInString(before)
	b, sizeAfter := utf8.DecodeRuneInString(after)
	switch {
	case unicode.IsDigit(a) && unicode.IsDigit(b):
		return true
	case unicode.IsDigit(a) && (b == '.' || b == ','):
		next, _ := utf8.DecodeRuneInString(after[sizeAfter:])
		return unicode.IsDigit(next)
	case (a == '.' || a == ',') && unicode.IsDigit(b):
		last, _ := utf8.DecodeLastRuneInString(before[:len(before)-size])
		return unicode.IsDigit(last)
	}
	return false
}
