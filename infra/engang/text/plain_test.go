package text_test

import (
	"encoding/json"
	"strings"
	"testing"

	"engang/infra/engang/text"
)

// Made of what senders may put into an id, a type or a version; each would do something to a terminal.
func TestWhatATerminalWouldObeyIsMadeVisible(t *testing.T) {
	for _, c := range []struct{ name, in, plain, line string }{
		{"nothing of it", "Tröja 漢字 🙂 a/b:c@1 \\u", "Tröja 漢字 🙂 a/b:c@1 \\u", "Tröja 漢字 🙂 a/b:c@1 \\u"},
		{"empty", "", "", ""},
		{"an escape sequence", "a\x1b[2Jb", `a\u{1b}[2Jb`, `a\u{1b}[2Jb`},
		{"its one-character form", "\u009b2J", `\u{9b}2J`, `\u{9b}2J`},
		{"NUL, bell, delete, return", "\x00\a\x7f\r", `\u{0}\u{7}\u{7f}\u{d}`, `\u{0}\u{7}\u{7f}\u{d}`},
		{"another direction of writing", "\u202egpj.exe\u202c \u2066x\u2069", `\u{202e}gpj.exe\u{202c} \u{2066}x\u{2069}`, `\u{202e}gpj.exe\u{202c} \u{2066}x\u{2069}`},
		{"what is not seen", "a\u200bb\ufeff\U000e0041", `a\u{200b}b\u{feff}\u{e0041}`, `a\u{200b}b\u{feff}\u{e0041}`},
		{"other line ends", "a\u2028b\u2029c\u0085", `a\u{2028}b\u{2029}c\u{85}`, `a\u{2028}b\u{2029}c\u{85}`},
		{"bytes that are no UTF-8", "a\xff\x9bb\xe2\x80", `a\xff\x9bb\xe2\x80`, `a\xff\x9bb\xe2\x80`},
		{"a character for what was no UTF-8", "\ufffd", "\ufffd", "\ufffd"},
		{"line ends and tabs", "a\n\tb", "a\n\tb", `a\u{a}\u{9}b`},
	} {
		if got := text.Plain(c.in); got != c.plain {
			t.Errorf("%s: %q, want %q", c.name, got, c.plain)
		}
		if got := text.Line(c.in); got != c.line {
			t.Errorf("%s, in one line: %q, want %q", c.name, got, c.line)
		}
	}
}

func TestJSONStaysTheSameDocument(t *testing.T) {
	in := "a\x1b\x7f\u009b\u202e\U000e0041 \u2028 Tröja 🙂 \\\" \n"
	raw, err := json.Marshal(map[string]string{in: in})
	if err != nil {
		t.Fatal(err)
	}
	out := text.JSON(string(raw))
	if text.Plain(out) != out || !strings.Contains(out, `\u202e\udb40\udc41`) || !strings.Contains(out, "Tröja 🙂") {
		t.Errorf("%s", out)
	}
	var back map[string]string
	if err := json.Unmarshal([]byte(out), &back); err != nil || back[in] != in {
		t.Errorf("%v: %q", err, back)
	}
	if got := text.JSON("\"\xff\""); got != `"\ufffd"` {
		t.Errorf("%s", got)
	}
}

// No cell is as wide as it looks before it is made visible, and none makes a line of its own.
func TestCellsAreOneLineEach(t *testing.T) {
	var b strings.Builder
	if err := text.Columns(&b, "", [][]string{{"product:\u202e1\n2026", "x"}, {"a", "y"}}); err != nil {
		t.Fatal(err)
	}
	if want := `product:\u{202e}1\u{a}2026  x` + "\na" + strings.Repeat(" ", 27) + "y\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

func FuzzPlain(f *testing.F) {
	f.Add("a\x1b[2J\u202e\xff\n")
	f.Fuzz(func(t *testing.T, s string) {
		if once := text.Line(s); text.Line(once) != once || strings.ContainsAny(once, "\n\t\x1b\u202e") {
			t.Errorf("%q", once)
		}
		if raw, err := json.Marshal(s); err == nil {
			var a, b string
			if json.Unmarshal(raw, &a) != nil || json.Unmarshal([]byte(text.JSON(string(raw))), &b) != nil || a != b {
				t.Errorf("%q is read as %q", a, b)
			}
		}
	})
}
