package diagnose

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A style is one way to write JSON.
type style struct {
	colon, comma string // behind which white space stands
	indent       string // of each level on a line of its own; empty: all on one line
	slash        bool   // \/
	ascii        bool   // \u00e9
	markup       bool   // \u003c for <, > and &
	newline      bool   // at the end
}

// whose says which languages write JSON like this by default.
func (y style) whose() string {
	switch (style{y.colon, y.comma, y.indent, y.slash, y.ascii, y.markup, false}) {
	case style{":", ",", "", true, true, false, false}:
		return ", as PHP does"
	case style{":", ",", "", false, false, false, false}:
		return ", as JavaScript does"
	case style{": ", ", ", "", false, true, false, false}:
		return ", as Python does"
	case style{":", ",", "", false, false, true, false}:
		return ", as Go and Rails do"
	}
	return ""
}

func (y style) what() string {
	var with []string
	for _, p := range []struct {
		on   bool
		text string
	}{{y.slash, `escaped slashes`}, {y.ascii, `\u escapes`}, {y.markup, `escaped markup`}, {y.newline, "a newline at its end"}} {
		if p.on {
			with = append(with, p.text)
		}
	}
	layout := "on one line"
	switch {
	case y.indent != "":
		layout = "on many lines"
	case y.comma != ",":
		layout = "on one line with spaces"
	}
	text := "the JSON is written " + layout
	if len(with) > 0 {
		text += " with " + strings.Join(with, " and ")
	}
	return text + y.whose() + ": something read it and wrote it anew"
}

// styles are all that are tried.
func styles() []style {
	var all []style
	for _, layout := range []style{{colon: ":", comma: ","}, {colon: ": ", comma: ", "}, {colon: ": ", comma: ",", indent: "  "}, {colon: ": ", comma: ",", indent: "    "}, {colon: ": ", comma: ",", indent: "\t"}} {
		for flags := range 16 {
			y := layout
			y.slash, y.ascii, y.markup, y.newline = flags&1 != 0, flags&2 != 0, flags&4 != 0, flags&8 != 0
			all = append(all, y)
		}
	}
	return all
}

// reformatted writes a JSON body in every style. The order of members and the text of numbers stay.
func reformatted(_ *search, a attempt) []option {
	if !json.Valid(a.request.Body) {
		return []option{}
	}
	var options []option
	for _, y := range styles() {
		options = append(options, bodyOption{y.what(), y.write}.option())
	}
	return options
}

// write puts JSON that is valid into the style.
func (y style) write(raw []byte) []byte {
	w := &writer{style: y}
	for i := 0; i < len(raw); {
		switch c := raw[i]; c {
		case ' ', '\t', '\r', '\n':
			i++
		case '"':
			end := i + 1
			for raw[end] != '"' {
				if raw[end] == '\\' {
					end++
				}
				end++
			}
			w.string(raw[i : end+1])
			i = end + 1
		default:
			w.mark(c, raw[i+1:])
			i++
		}
	}
	if y.newline {
		w.out.WriteByte('\n')
	}
	return w.out.Bytes()
}

type writer struct {
	style
	out   bytes.Buffer
	depth int
	empty bool // the bracket before is closed at once
}

// mark writes what stands outside of strings, one character at a time.
func (w *writer) mark(c byte, rest []byte) {
	switch c {
	case '{', '[':
		w.out.WriteByte(c)
		w.depth++
		next := bytes.TrimLeft(rest, " \t\r\n")
		if w.empty = len(next) > 0 && next[0] == c+2; !w.empty { // } and ] stand two behind { and [
			w.line()
		}
	case '}', ']':
		w.depth--
		if !w.empty {
			w.line()
		}
		w.empty = false
		w.out.WriteByte(c)
	case ',':
		w.out.WriteString(w.comma)
		w.line()
	case ':':
		w.out.WriteString(w.colon)
	default:
		w.out.WriteByte(c)
	}
}

func (w *writer) line() {
	if w.indent == "" {
		return
	}
	w.out.WriteByte('\n')
	w.out.WriteString(strings.Repeat(w.indent, w.depth))
}

// string writes a string with the escapes of the style. What no text can hold, half of a surrogate pair,
// stays as it is.
func (w *writer) string(raw []byte) {
	var text string
	if json.Unmarshal(raw, &text) != nil || bytes.Contains(bytes.ToLower(raw), []byte(`\ud`)) && strings.ContainsRune(text, utf8.RuneError) {
		w.out.Write(raw)
		return
	}
	w.out.WriteByte('"')
	for _, r := range text {
		w.rune(r)
	}
	w.out.WriteByte('"')
}

var short = map[rune]string{'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`}

func (w *writer) rune(r rune) {
	switch escaped, ok := short[r]; {
	case ok:
		w.out.WriteString(escaped)
	case r == '/' && w.slash:
		w.out.WriteString(`\/`)
	case r < ' ', w.markup && strings.ContainsRune("<>&\u2028\u2029", r), w.ascii && r > '~' && r <= 0xffff:
		fmt.Fprintf(&w.out, `\u%04x`, r)
	case w.ascii && r > 0xffff:
		r -= 0x10000
		fmt.Fprintf(&w.out, `\u%04x\u%04x`, 0xd800+(r>>10), 0xdc00+(r&0x3ff))
	default:
		w.out.WriteRune(r)
	}
}
