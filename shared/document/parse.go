package document

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

// A parser reads a text once, from its front to its end, and builds values as it goes: every delivery is read by it,
// and several times as fast as by encoding/json, which looks at each byte twice. What it takes and what it makes of it
// is held against encoding/json by a fuzz test. The text must be UTF-8; values share its memory.
type parser struct {
	text    string
	at      int // of the next byte
	depth   int
	scratch []byte // a text with escapes is put together here
	once    bool   // a key that stands twice in an object is refused
}

// Faults of a text. They name no part of it.
var (
	errDeep      = errors.New("nested deeper than " + strconv.Itoa(MaxDepth) + " levels")
	errValue     = errors.New("no JSON value")
	errText      = errors.New("a text that does not end, or with a byte that must be escaped")
	errSeparator = errors.New("no separator where one must be")
	errMore      = errors.New("something follows the JSON value")
	errTwice     = errors.New("a key twice in one object")
)

// scratches are the buffers of parsers that have ended.
var scratches = sync.Pool{New: func() any { return new([]byte) }}

// parse reads a value that is all there is of a text.
func parse(text string, once bool) (any, error) {
	scratch := scratches.Get().(*[]byte)
	defer scratches.Put(scratch)
	p := parser{text: text, scratch: *scratch, once: once}
	v, err := p.all()
	*scratch = p.scratch
	return v, err
}

func (p *parser) all() (any, error) {
	v, err := p.value()
	if err != nil {
		return nil, err
	}
	if p.next() != end {
		return nil, errMore
	}
	return v, nil
}

// end is what next sees behind the last byte. In a text it is no character of JSON.
const end = 0

// next passes white space, and tells which byte is there without passing it.
func (p *parser) next() byte {
	for ; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; c {
		case ' ', '\t', '\n', '\r':
		case end: // a NUL that was sent is no end
			return '?'
		default:
			return c
		}
	}
	return end
}

func (p *parser) value() (any, error) {
	switch p.next() {
	case '{':
		return p.object()
	case '[':
		return p.array()
	case '"':
		return p.string()
	case 't':
		return true, p.word("true")
	case 'f':
		return false, p.word("false")
	case 'n':
		return nil, p.word("null")
	}
	return p.number()
}

func (p *parser) word(word string) error {
	if !strings.HasPrefix(p.text[p.at:], word) {
		return errValue
	}
	p.at += len(word)
	return nil
}

// enter passes an opening bracket.
func (p *parser) enter() error {
	p.at++
	if p.depth++; p.depth > MaxDepth {
		return errDeep
	}
	return nil
}

// ended passes what stands behind an element, and tells whether it was the closing bracket.
func (p *parser) ended(closing byte) (bool, error) {
	switch p.next() {
	case closing:
		p.at++
		p.depth--
		return true, nil
	case ',':
		p.at++
		return false, nil
	}
	return false, errSeparator
}

func (p *parser) array() (any, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	list := []any{}
	if p.next() == ']' {
		_, err := p.ended(']')
		return list, err
	}
	for {
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		list = append(list, v)
		if over, err := p.ended(']'); over || err != nil {
			return list, err
		}
	}
}

func (p *parser) object() (any, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	members := map[string]any{}
	if p.next() == '}' {
		_, err := p.ended('}')
		return members, err
	}
	for {
		if p.next() != '"' {
			return nil, errSeparator
		}
		name, err := p.string()
		if err != nil {
			return nil, err
		}
		if p.next() != ':' {
			return nil, errSeparator
		}
		p.at++
		if p.once {
			if _, there := members[name]; there {
				return nil, errTwice
			}
		}
		if members[name], err = p.value(); err != nil {
			return nil, err
		}
		if over, err := p.ended('}'); over || err != nil {
			return members, err
		}
	}
}

// string reads a text in quotes. One without escapes is a part of the whole.
func (p *parser) string() (string, error) {
	p.at++
	begin := p.at
	for ; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; {
		case c == '"':
			p.at++
			return p.text[begin : p.at-1], nil
		case c == '\\':
			return p.escaped(begin)
		case c < ' ':
			return "", errText
		}
	}
	return "", errText
}

// escaped goes on with a text that began there, from its first escape.
func (p *parser) escaped(begin int) (string, error) {
	if most := len(p.text) - begin; cap(p.scratch) < most { // enough for every text that follows: no escape is shorter than what it stands for
		p.scratch = make([]byte, 0, most)
	}
	b := p.scratch[:0]
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == '"':
			b = append(b, p.text[begin:p.at]...)
			p.at++
			return string(b), nil
		case c < ' ':
			return "", errText
		case c == '\\':
			b = append(b, p.text[begin:p.at]...)
			p.at++
			r, err := p.escape()
			if err != nil {
				return "", err
			}
			b, begin = utf8.AppendRune(b, r), p.at
		default:
			p.at++
		}
	}
	return "", errText
}

// The escapes of one letter, and what they stand for.
const (
	letters = `"\/bfnrt`
	meant   = "\"\\/\b\f\n\r\t"
)

// escape reads what follows a backslash. Half of a surrogate pair is a replacement character, as in encoding/json.
func (p *parser) escape() (rune, error) {
	if p.at == len(p.text) {
		return 0, errText
	}
	c := p.text[p.at]
	p.at++
	if c != 'u' {
		i := strings.IndexByte(letters, c)
		if i < 0 {
			return 0, errText
		}
		return rune(meant[i]), nil
	}
	first, ok := p.hex(p.at)
	if !ok {
		return 0, errText
	}
	p.at += 4
	if !utf16.IsSurrogate(first) {
		return first, nil
	}
	if strings.HasPrefix(p.text[p.at:], `\u`) {
		if second, ok := p.hex(p.at + 2); ok && utf16.DecodeRune(first, second) != utf8.RuneError {
			p.at += 6
			return utf16.DecodeRune(first, second), nil
		}
	}
	return utf8.RuneError, nil
}

// hex reads four hexadecimal digits.
func (p *parser) hex(at int) (r rune, ok bool) {
	if at+4 > len(p.text) {
		return 0, false
	}
	for _, c := range []byte(p.text[at : at+4]) {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// number reads a number as it is written.
func (p *parser) number() (any, error) {
	begin := p.at
	p.pass("-")
	if !p.pass("0") && !p.digits() {
		return nil, errValue
	}
	if p.pass(".") && !p.digits() {
		return nil, errValue
	}
	if p.pass("eE") {
		p.pass("+-")
		if !p.digits() {
			return nil, errValue
		}
	}
	return json.Number(p.text[begin:p.at]), nil
}

// pass passes one of some bytes, if one is there.
func (p *parser) pass(any string) bool {
	if p.at < len(p.text) && strings.IndexByte(any, p.text[p.at]) >= 0 {
		p.at++
		return true
	}
	return false
}

func (p *parser) digits() bool {
	begin := p.at
	for p.at < len(p.text) && '0' <= p.text[p.at] && p.text[p.at] <= '9' {
		p.at++
	}
	return p.at > begin
}
