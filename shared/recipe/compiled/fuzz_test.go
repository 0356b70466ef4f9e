package compiled_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"engang/shared/document"
	"engang/shared/recipe"
)

func FuzzExtract(f *testing.F) {
	for _, seed := range []string{
		"<p>line1<br />\nline2 \u2028 &amp; </p>\n", "a<script>b</script>c", "<SCRIPT/>a", "<template><template></template>a", "&#0;&#x110000;&amp;lt;",
		"<!-- -- --><![CDATA[x]]><?php ?>", "<plaintext>a</plaintext>", "<a b='c", "\u202e\ufeff\x00\x1b[2J", strings.Repeat("<div>", 200), "漢字 🙂 e\u0301",
	} {
		f.Add(seed, 20)
	}
	f.Fuzz(func(t *testing.T, html string, most int) {
		if most < 2 || most > 10_000 {
			most = 100
		}
		c := compile(t, only(map[string]recipe.Field{"a": {From: at("/a"), As: "text", Max: most}, "there": {From: at("/there")}}))
		payload := map[string]any{"a": html, "there": true}
		in, err := c.Extract(payload)
		if err != nil {
			t.Skip("larger than an input may be")
		}
		text, found := in.Fields["a"].(string)
		if !found {
			return
		}
		if n := utf8.RuneCountInString(text); n > most {
			t.Errorf("%d characters, at most %d", n, most)
		}
		if text != strings.TrimSpace(text) || strings.Contains(text, "  ") || strings.Contains(text, "\n\n") {
			t.Errorf("white space is not folded: %q", text)
		}
		if i := strings.IndexFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' }); i >= 0 {
			t.Errorf("a control character at %d of %q", i, text)
		}
		again, err := c.Extract(payload)
		if err != nil || !bytes.Equal(again.JSON, in.JSON) || again.Digest != in.Digest {
			t.Errorf("the same payload gave another input (%v)", err)
		}
		read, err := document.Decode(in.JSON)
		if err != nil {
			t.Fatalf("the input is no JSON: %v", err)
		}
		if canonical, err := document.Canonical(read); err != nil || !bytes.Equal(canonical, in.JSON) {
			t.Errorf("the input is not canonical: %s", in.JSON)
		}
	})
}

func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		goodOutput, "", "null", "[]", `{"summary": 1e999999999}`, `{"a": {"a": [{"a": 1, "a": 2}]}}`, `{"summary": "` + strings.Repeat("a", 50) + `", "tags": ["best", "BEST"], "attributes": [], "missing": []}`,
		strings.Repeat("[", 300), `{"summary": "\ud800"}`,
	} {
		f.Add([]byte(seed))
	}
	c := compile(f, card())
	in := cardInput(f, c)
	f.Fuzz(func(t *testing.T, output []byte) {
		got := c.Check(output, in)
		if got.Unusable != "" && len(got.Flags) > 0 {
			t.Errorf("both unusable and flagged: %+v", got)
		}
		v, err := document.Decode(output)
		if got.Unusable != "" {
			return
		}
		if err != nil {
			t.Fatalf("usable, and no JSON: %v", err)
		}
		if object, ok := v.(map[string]any); !ok || len(object) != 4 {
			t.Errorf("usable, and not the four properties of the schema: %v", v)
		}
	})
}
