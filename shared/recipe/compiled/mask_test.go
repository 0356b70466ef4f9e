package compiled_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"engang/shared/mask"
	"engang/shared/recipe"
	"engang/shared/recipe/compiled"
)

// masking is a recipe that masks everything in one field, and takes it as it comes in another.
func masking(f recipe.Field) recipe.Recipe {
	r := only(map[string]recipe.Field{"a": f, "there": {From: at("/there")}})
	r.Input.Mask = []string{"email", "phone", "national_id", "card"}
	return r
}

func TestExtractMasks(t *testing.T) {
	tests := []struct {
		name    string
		field   recipe.Field
		payload string
		want    string
		masked  int
	}{
		{"a text", recipe.Field{From: at("/a")}, `{"a": "Ring Ola, 912 34 567"}`, `"Ring Ola, [phone]"`, 1},
		{"a text of HTML, whose signs are written otherwise", recipe.Field{From: at("/a"), As: "text"}, `{"a": "<p>ola&#64;example.com</p><p>4111 1111&nbsp;1111 1111</p>"}`, `"[email]\n[card]"`, 2},
		{"texts in lists and mappings", recipe.Field{From: at("/a")}, `{"a": [{"to": "ola@example.com"}, ["+47 912 34 567"], "x"]}`, `[{"to":"[email]"},["[phone]"],"x"]`, 2},
		{"what is picked", recipe.Field{From: at("/a"), Pick: []string{"b"}}, `{"a": {"b": "ola@example.com", "c": "91234567"}}`, `{"b":"[email]"}`, 1},
		{"items that are taken, and none that are not", recipe.Field{From: at("/a/*"), MaxItems: 1}, `{"a": ["91234567", "91234568"]}`, `["[phone]"]`, 1},
		{"the names of properties", recipe.Field{From: at("/a")}, `{"a": {"ola@example.com": 1, "kari@example.com": 2, "b": 3}}`, `{"[email]":2,"b":3}`, 2},
		{"a number that can be nothing else", recipe.Field{From: at("/a")}, `{"a": [4111111111111111, 41010700130, 91234567, 12.5]}`, `["[card]","[national_id]",91234567,12.5]`, 2},
		{"a number that is taken as text", recipe.Field{From: at("/a"), As: "text"}, `{"a": 91234567}`, `"[phone]"`, 1},
		{"digits between characters that show nothing", recipe.Field{From: at("/a")}, `{"a": "912\u200b34\u20605\u200d67"}`, `"[phone]"`, 1},
		{"before a text is cut", recipe.Field{From: at("/a"), Max: 20}, `{"a": "Kort: 4111111111111111 og mer"}`, `"Kort: [card] og mer"`, 1},
		{"what a cut would leave half of: half of the placeholder", recipe.Field{From: at("/a"), Max: 12}, `{"a": "Kort: 4111111111111111 og mer"}`, `"Kort: [card…"`, 1},
		{"a number that a cut makes", recipe.Field{From: at("/a"), Max: 17}, `{"a": "41111111111111119999"}`, `"[card]…"`, 1},
		{"a number that a cut makes, and whose placeholder has no room", recipe.Field{From: at("/a"), Max: 12}, `{"a": "31129900183555"}`, `"31129…"`, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			payload := decode(t, tt.payload).(map[string]any)
			payload["there"] = true
			in, err := compile(t, masking(tt.field)).Extract(payload)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := string(in.JSON), `{"a":`+tt.want+`,"there":true}`; got != want {
				t.Errorf("input %s, want %s", got, want)
			}
			if in.Masked != tt.masked {
				t.Errorf("%d masked, want %d", in.Masked, tt.masked)
			}
		})
	}
}

func TestExtractMasksNothingUnasked(t *testing.T) {
	r := masking(recipe.Field{From: at("/a")})
	r.Input.Mask = nil
	in, err := compile(t, r).Extract(decode(t, `{"a": "ola@example.com 91234567 4111111111111111"}`))
	if err != nil || in.Masked != 0 || strings.Contains(string(in.JSON), "[") {
		t.Errorf("input %s, %d masked, %v", in.JSON, in.Masked, err)
	}
}

// A person who is named in the recipe itself is there on purpose, and is the same in every digest.
func TestConstantsAreNotMasked(t *testing.T) {
	r := masking(recipe.Field{Const: []byte(`"post@example.com"`)})
	in, err := compile(t, r).Extract(decode(t, `{"there": true}`))
	if err != nil || in.Masked != 0 || string(in.JSON) != `{"a":"post@example.com","there":true}` {
		t.Errorf("input %s, %d masked, %v", in.JSON, in.Masked, err)
	}
}

// The digest is part of the operation's key: who it was about must make no other call of it, nor tell them apart.
func TestTheDigestDoesNotDependOnWhatIsMasked(t *testing.T) {
	c := compile(t, masking(recipe.Field{From: at("/a")}))
	digest := func(text string) string {
		in, err := c.Extract(map[string]any{"a": text, "there": true})
		if err != nil {
			t.Fatal(err)
		}
		return in.Digest
	}
	if digest("Ring 912 34 567") != digest("Ring 22334456") || digest("Ring 912 34 567") == digest("Ring ola@example.com") {
		t.Error("the digest is not that of the masked text")
	}
}

func TestExtractRefusesWhatTheRecipeRefuses(t *testing.T) {
	tests := []struct {
		name, pointer, pattern, payload string
		refused                         bool
	}{
		{"a REST error", "/code", "woocommerce_rest_*", `{"code": "woocommerce_rest_cannot_view"}`, true},
		{"another code", "/code", "woocommerce_rest_*", `{"code": "rest_woocommerce_rest"}`, false},
		{"nothing there", "/code", "*", `{"name": "x"}`, false},
		{"a null, which is nothing", "/code", "*", `{"code": null}`, false},
		{"anything", "/code", "*", `{"code": {"a": 1}}`, true},
		{"a mapping, which is no text", "/code", "a*", `{"code": {"a": 1}}`, false},
		{"a whole text", "/status", "trash", `{"status": "trash"}`, true},
		{"a part of a text", "/status", "trash", `{"status": "trashed"}`, false},
		{"the case of letters, which counts", "/status", "trash", `{"status": "Trash"}`, false},
		{"an end", "/name", "*-test", `{"name": "mug-test"}`, true},
		{"a middle", "/name", "a*b*c", `{"name": "a--b--c"}`, true},
		{"a middle in another order", "/name", "a*b*c*d", `{"name": "a--c--b--d"}`, false},
		{"parts that would overlap", "/name", "ab*ba", `{"name": "aba"}`, false},
		{"stars beside each other", "/name", "a**c", `{"name": "abc"}`, true},
		{"a number as it is written", "/price", "0.00", `{"price": 0.00}`, true},
		{"a boolean", "/virtual", "true", `{"virtual": true}`, true},
		{"any of a list", "/tags/*/name", "internal*", `{"tags": [{"name": "a"}, {"name": "internal use"}]}`, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := only(map[string]recipe.Field{"there": {From: at("/there")}})
			r.Input.RefuseIf = map[string]string{tt.pointer: tt.pattern}
			payload := decode(t, tt.payload).(map[string]any)
			payload["there"] = true
			_, err := compile(t, r).Extract(payload)
			if !tt.refused {
				if err != nil {
					t.Errorf("error %v", err)
				}
				return
			}
			if want := "the payload is one that the recipe refuses, by what it has at " + tt.pointer; !errors.Is(err, recipe.ErrInvalidInput) || err.Error() != want {
				t.Errorf("error %v, want %s", err, want)
			}
		})
	}
}

// A shop sends what its sellers paste: each of these takes hours where time grows with the square of the text.
func TestExtractOfFiveMegabytesEnds(t *testing.T) {
	const size = 5 << 20
	c := compile(t, masking(recipe.Field{From: at("/a"), As: "text", Max: 4000}))
	raw := compile(t, masking(recipe.Field{From: at("/a"), Max: 4000}))
	for _, piece := range []string{
		"<p>Strikket genser. ", "<", "<a ", "<!--", "<![CDATA[", "&", "&#", "<script>", "</script>", "<template>", "<svg><title>", "<b a='", "1 ", "a@", "\u200d", "\n", "4111", "&#64;", "<p>1", "<<a@b.no>>",
	} {
		text := strings.Repeat(piece, size/len(piece))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for _, c := range []*compiled.Recipe{c, raw} {
			in, err := c.Extract(map[string]any{"a": text, "there": true})
			if err != nil {
				t.Fatalf("%q: %v", piece, err)
			}
			if got, _ := in.Fields["a"].(string); utf8.RuneCountInString(got) > 4000 {
				t.Errorf("%q: %d characters", piece, utf8.RuneCountInString(got))
			}
		}
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 60*size {
			t.Errorf("%q: %d MB were used for %d", piece, used>>20, size>>20)
		}
	}
	if _, err := compile(t, masking(recipe.Field{From: at("/a")})).Extract(map[string]any{"a": strings.Repeat("genser ", size/7), "there": true}); !errors.Is(err, recipe.ErrInvalidInput) {
		t.Errorf("a text that is not cut: %v", err)
	}
}

func FuzzMaskedInput(f *testing.F) {
	for i, seed := range []string{
		"Ola (ola@example.com, 912 34 567, 01010750160) betalte med 4111 1111 1111 1111.", "<p>ola&#64;example.com</p>", "41111111111111119999", "31129900183555",
		"131052-308T", "+47 912 34 567 x", "a@b.no@c.no", "912\u200d34567", "4111111111111111 2", "0701234567 0701234567", "811228-9874 811228-9874", "1 2 3 4 5 6 7 8 9",
	} {
		f.Add(seed, 8+i)
		f.Add(strings.Repeat(seed, 5), 40+i)
	}
	m := mask.New(mask.Kinds...)
	f.Fuzz(func(t *testing.T, text string, most int) {
		if most < 2 || most > 10_000 {
			most = 100
		}
		for _, as := range []string{"", "text"} {
			c := compile(t, masking(recipe.Field{From: at("/a"), As: as, Max: most}))
			payload := map[string]any{"a": []any{text, map[string]any{text: text}}, "there": true}
			in, err := c.Extract(payload)
			if err != nil {
				continue // larger than an input may be
			}
			again, err := c.Extract(payload)
			if err != nil || again.Digest != in.Digest || again.Masked != in.Masked {
				t.Errorf("the same payload gave another input (%v)", err)
			}
			clean(t, m, decode(t, string(in.JSON)))
		}
	})
}

// clean finds what is masked nowhere in a document.
func clean(t *testing.T, m mask.Masker, v any) {
	t.Helper()
	switch v := v.(type) {
	case string:
		if masked, n := m.Text(v); n > 0 {
			t.Errorf("%q holds what becomes %q", v, masked)
		}
	case []any:
		for _, item := range v {
			clean(t, m, item)
		}
	case map[string]any:
		for name, item := range v {
			clean(t, m, name)
			clean(t, m, item)
		}
	default:
		if number := fmt.Sprint(v); m.Number(number) != "" {
			t.Errorf("%s is a number that is masked", number)
		}
	}
}
