package compiled

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/html"
)

var (
	// rawElements hold text that the tokenizer does not look into, and that nobody reads.
	rawElements = []string{"script", "style", "iframe", "noembed", "noframes", "noscript", "title", "textarea", "xmp", "plaintext"}
	// droppedElements hold elements that nobody reads as text.
	droppedElements = []string{"template", "svg", "math", "object", "select", "audio", "video", "canvas"}
	// blockElements stand on lines of their own.
	blockElements = []string{
		"address", "article", "aside", "blockquote", "br", "caption", "center", "dd", "details", "dialog", "dir", "div", "dl", "dt",
		"fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main",
		"menu", "nav", "ol", "p", "pre", "section", "summary", "table", "tbody", "tfoot", "thead", "tr", "ul",
	}
)

// plainText is what a person would read of a text that may be HTML: tags, comments, scripts and styles
// are dropped, entities decoded, block elements become line breaks, and runs of white space one space
// or one line break. A text without any tag keeps its own line breaks. It never fails: broken HTML gives
// what can be read of it.
func plainText(s string) string {
	w := &textWriter{keepLines: !strings.ContainsRune(s, '<')}
	z := html.NewTokenizer(strings.NewReader(s))
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return w.String()
		}
		w.token(kind, z)
	}
}

// A textWriter writes folded text.
type textWriter struct {
	b         strings.Builder
	keepLines bool
	space     bool   // white space is owed
	line      bool   // a line break is owed
	dropping  string // element whose end is awaited
	depth     int    // of elements of that name within it
}

func (w *textWriter) token(kind html.TokenType, z *html.Tokenizer) {
	switch kind {
	case html.TextToken:
		if w.dropping == "" {
			w.text(string(z.Text()))
		}
	case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken:
		name, _ := z.TagName()
		w.tag(string(name), kind)
	}
}

func (w *textWriter) tag(name string, kind html.TokenType) {
	raw := slices.Contains(rawElements, name)
	opens := kind == html.StartTagToken || kind == html.SelfClosingTagToken && raw // as browsers: <script/> opens one
	switch {
	case w.dropping != "" && name != w.dropping:
	case w.dropping != "" && opens:
		w.depth++
	case w.dropping != "" && kind == html.EndTagToken:
		if w.depth--; w.depth == 0 {
			w.dropping, w.space = "", true
		}
	case opens && (raw || slices.Contains(droppedElements, name)):
		w.dropping, w.depth = name, 1
	case slices.Contains(blockElements, name):
		w.line = true
	case name == "td" || name == "th" || name == "img":
		w.space = true
	}
}

func (w *textWriter) text(s string) {
	for _, r := range visible(s) {
		switch {
		case r == '\n' && w.keepLines:
			w.line = true
		case unicode.IsSpace(r):
			w.space = true
		default:
			w.owed()
			w.b.WriteRune(r)
		}
	}
}

// owed writes the white space before the next character, never at the beginning.
func (w *textWriter) owed() {
	switch {
	case w.b.Len() == 0:
	case w.line:
		w.b.WriteByte('\n')
	case w.space:
		w.b.WriteByte(' ')
	}
	w.line, w.space = false, false
}

// String is the text so far.
func (w *textWriter) String() string { return w.b.String() }
