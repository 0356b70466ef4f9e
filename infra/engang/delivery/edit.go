package delivery

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"

	"engang/shared/document"
)

// ErrEdit says that a body cannot be changed as asked.
var ErrEdit = errors.New("cannot change the body")

// Set changes the value at a pointer and leaves every other byte of the body as it is; a name that an
// object lacks is added at its end. The value is JSON, or else a text. It is written as WordPress
// writes JSON: slashes and everything beyond ASCII escaped.
func Set(body []byte, assignment string) ([]byte, error) {
	path, value, ok := strings.Cut(assignment, "=")
	if !ok || !strings.HasPrefix(path, "/") {
		return nil, fmt.Errorf("%w: %q is not /path=value", ErrEdit, assignment)
	}
	if _, err := document.ParsePointer(path); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEdit, err)
	}
	if !json.Valid(body) {
		return nil, fmt.Errorf("%w: it is no JSON", ErrEdit)
	}
	steps := strings.Split(path[1:], "/")
	for i, s := range steps {
		steps[i] = strings.ReplaceAll(strings.ReplaceAll(s, "~1", "/"), "~0", "~")
	}
	start, end, insert, err := find(body, steps)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrEdit, path, err)
	}
	return bytes.Join([][]byte{body[:start], []byte(insert + encode(value)), body[end:]}, nil), nil
}

// encode writes a value that is JSON as it is, but for its escapes, and everything else as a text.
func encode(value string) string {
	if !json.Valid([]byte(value)) {
		quoted, _ := json.Marshal(value)
		value = string(quoted)
	}
	var b strings.Builder
	inString := false
	for i, r := range value {
		switch {
		case r == '"' && !escaped(value, i):
			inString = !inString
			b.WriteRune(r)
		case r == '/' && inString && !escaped(value, i):
			b.WriteString(`\/`)
		case r > 126:
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// escaped tells whether an odd number of backslashes stands before a place.
func escaped(s string, at int) bool {
	n := 0
	for at > n && s[at-n-1] == '\\' {
		n++
	}
	return n%2 == 1
}

// find gives the bytes of the value at a path. Where the last name is missing, both are the end of its
// object, and insert is what goes before the value.
func find(body []byte, steps []string) (start, end int, insert string, err error) {
	start, end = span(body, 0)
	for i, step := range steps {
		var found bool
		switch body[start] {
		case '{':
			var next, stop int
			if next, stop, found = member(body, start, step); found {
				start, end = next, stop
			} else if i == len(steps)-1 {
				return stop, stop, addition(body, start, stop, step), nil
			}
		case '[':
			var next, stop int
			if next, stop, found = element(body, start, step); found {
				start, end = next, stop
			}
		}
		if !found {
			return 0, 0, "", fmt.Errorf("there is no %q", step)
		}
	}
	return start, end, "", nil
}

func addition(body []byte, start, end int, name string) string {
	key, _ := json.Marshal(name)
	if len(bytes.TrimSpace(body[start+1:end])) == 0 {
		return string(key) + ":"
	}
	return "," + string(key) + ":"
}

// span gives the bytes of the value that begins at or after a place. The body is valid JSON.
func span(body []byte, at int) (start, end int) {
	start = at + len(body[at:]) - len(bytes.TrimLeft(body[at:], " \t\r\n"))
	d := json.NewDecoder(bytes.NewReader(body[start:]))
	var v json.RawMessage
	_ = d.Decode(&v)
	return start, start + int(d.InputOffset())
}

// member finds a member of the object at start: its value, else the place of the closing brace.
func member(body []byte, start int, name string) (from, to int, found bool) {
	at := start + 1
	for {
		at += blank(body[at:], " \t\r\n,")
		if body[at] == '}' {
			return at, at, false
		}
		keyFrom, keyTo := span(body, at)
		var key string
		_ = json.Unmarshal(body[keyFrom:keyTo], &key)
		from, to = span(body, keyTo+blank(body[keyTo:], " \t\r\n:"))
		if key == name {
			return from, to, true
		}
		at = to
	}
}

// element finds an element of the array at start.
func element(body []byte, start int, index string) (from, to int, found bool) {
	want, err := strconv.Atoi(index)
	if err != nil {
		return 0, 0, false
	}
	at := start + 1
	for i := 0; ; i++ {
		at += blank(body[at:], " \t\r\n,")
		if body[at] == ']' {
			return 0, 0, false
		}
		if from, to = span(body, at); i == want {
			return from, to, true
		}
		at = to
	}
}

func blank(b []byte, cut string) int { return len(b) - len(bytes.TrimLeft(b, cut)) }
