package capture

import (
	"fmt"
	"strconv"
	"strings"
)

// words divides a command line as a POSIX shell does, with the quotes of bash. What a shell would run or
// look up is refused: it would be text here and something else there.
func words(line string) ([]string, error) {
	w := &shell{rest: line}
	for w.rest != "" {
		if err := w.next(); err != nil {
			return nil, err
		}
	}
	w.end()
	return w.all, nil
}

type shell struct {
	rest  string
	word  strings.Builder
	begun bool // a word, perhaps an empty one
	all   []string
}

func (w *shell) end() {
	if w.begun {
		w.all = append(w.all, w.word.String())
	}
	w.word.Reset()
	w.begun = false
}

func (w *shell) put(text string) {
	w.word.WriteString(text)
	w.begun = true
}

// next takes one character, or all that one quotation mark encloses.
func (w *shell) next() error {
	c := w.rest[0]
	switch {
	case strings.HasPrefix(w.rest, "\\\r\n"):
		w.rest = w.rest[3:]
	case c == '\\' && len(w.rest) > 1:
		if w.rest[1] != '\n' {
			w.put(w.rest[1:2])
		}
		w.rest = w.rest[2:]
	case c == '\'':
		return w.enclosed(w.rest[1:], "'", func(s string) (string, error) { return s, nil })
	case strings.HasPrefix(w.rest, "$'"):
		return w.ansi()
	case c == '"':
		return w.double()
	case c == '$' || c == '`':
		return fmt.Errorf("the command has a $ or ` that a shell would replace: %w", ErrFormat)
	case c == '|' || c == '>' || c == '<' || c == ';' || c == '&':
		w.end()
		w.rest = "" // what follows is not the command
	case c == ' ' || c == '\t' || c == '\r':
		w.end()
		w.rest = w.rest[1:]
	case c == '\n':
		w.end()
		if strings.TrimSpace(w.rest) != "" {
			w.rest = "" // another command
			return nil
		}
		w.rest = ""
	default:
		w.put(w.rest[:1])
		w.rest = w.rest[1:]
	}
	return nil
}

func (w *shell) enclosed(text, mark string, plain func(string) (string, error)) error {
	inside, rest, ok := strings.Cut(text, mark)
	if !ok {
		return fmt.Errorf("the command has a quotation mark without an end: %w", ErrFormat)
	}
	inside, err := plain(inside)
	w.put(inside)
	w.rest = rest
	return err
}

// double reads what stands in double quotes: a backslash keeps its meaning before a few characters.
func (w *shell) double() error {
	var b strings.Builder
	for i := 1; i < len(w.rest); i++ {
		switch c := w.rest[i]; {
		case c == '"':
			w.put(b.String())
			w.rest = w.rest[i+1:]
			return nil
		case c == '\\' && i+1 < len(w.rest) && strings.IndexByte("\\\"$`\n", w.rest[i+1]) >= 0:
			i++
			if w.rest[i] != '\n' {
				b.WriteByte(w.rest[i])
			}
		case c == '`' || c == '$':
			return fmt.Errorf("the command has a $ or ` that a shell would replace: %w", ErrFormat)
		default:
			b.WriteByte(c)
		}
	}
	return fmt.Errorf("the command has a quotation mark without an end: %w", ErrFormat)
}

var escapes = map[byte]byte{'n': '\n', 'r': '\r', 't': '\t', 'a': 7, 'b': 8, 'e': 27, 'f': 12, 'v': 11, '\\': '\\', '\'': '\'', '"': '"', '?': '?'}

// ansi reads $'…', which browsers write where a body has quotes or line ends.
func (w *shell) ansi() error {
	var b strings.Builder
	for i := 2; i < len(w.rest); i++ {
		c := w.rest[i]
		if c == '\'' {
			w.put(b.String())
			w.rest = w.rest[i+1:]
			return nil
		}
		if c != '\\' || i+1 == len(w.rest) {
			b.WriteByte(c)
			continue
		}
		i++
		c = w.rest[i]
		switch digits, base, most := numeric(c); {
		case most > 0:
			n, length := number(w.rest[i+digits:], base, most)
			if length == 0 {
				return fmt.Errorf("the command has an escape that is none: %w", ErrFormat)
			}
			if c == 'u' || c == 'U' {
				b.WriteRune(rune(n))
			} else {
				b.WriteByte(byte(n))
			}
			i += digits + length - 1
		case escapes[c] != 0:
			b.WriteByte(escapes[c])
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return fmt.Errorf("the command has a quotation mark without an end: %w", ErrFormat)
}

// numeric says where the digits of an escape begin, in which base they are and how many there may be.
func numeric(c byte) (digits, base, most int) {
	switch {
	case c == 'x':
		return 1, 16, 2
	case c == 'u':
		return 1, 16, 4
	case c == 'U':
		return 1, 16, 8
	case c >= '0' && c <= '7':
		return 0, 8, 3
	}
	return 0, 0, 0
}

func number(text string, base, most int) (n int64, length int) {
	for length < most && length < len(text) {
		if _, err := strconv.ParseInt(text[length:length+1], base, 32); err != nil {
			break
		}
		length++
	}
	n, _ = strconv.ParseInt(text[:length], base, 64)
	return n, length
}
