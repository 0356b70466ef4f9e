package document_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"engang/shared/document"
)

func TestDecodeKeepsWhatWasWritten(t *testing.T) {
	tests := []struct {
		name, raw string
		want      any
	}{
		{"an id of nineteen digits", `{"id":9007199254740993001}`, map[string]any{"id": json.Number("9007199254740993001")}},
		{"a price with its zeros", `[12.50, 1e400, -0]`, []any{json.Number("12.50"), json.Number("1e400"), json.Number("-0")}},
		{"scalars", ` [null,true,""] `, []any{nil, true, ""}},
		{"escapes of WooCommerce", `"a\/b \u00c5 \ud83d\ude42 \u2028"`, "a/b Å 🙂 \u2028"},
		{"the last of two equal keys", `{"a":1,"a":2}`, map[string]any{"a": json.Number("2")}},
		{"a bracket within a text is no nesting", `"` + strings.Repeat(`[{\"`, 1000) + `"`, strings.Repeat(`[{"`, 1000)},

		// What senders' libraries write by accident is taken: a 4xx would switch their webhook off. JSON
		// allows both escapes; neither can be told from the other afterwards.
		{"an escaped NUL", `"a\u0000b"`, "a\x00b"},
		{"half of a surrogate pair", `"a\ud800b"`, "a\ufffdb"},
		{"the halves the wrong way round", `"\ude42\ud83d"`, "\ufffd\ufffd"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := document.Decode([]byte(tt.raw))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	nest := func(open, shut string, n int) string { return strings.Repeat(open, n) + strings.Repeat(shut, n) }
	tests := []struct{ name, raw string }{
		{"nothing", ``},
		{"white space", " \n"},
		{"a form body", `webhook_id=2`},
		{"a byte order mark", "\ufeff{}"},
		{"a NUL before it", "\x00{}"},
		{"a NUL after it", "{}\x00"},
		{"a NUL within a text", "\"a\x00b\""},
		{"a line break within a text", "\"a\nb\""},
		{"a line break behind an escape", "\"\\t\n\""},
		{"bytes that are not UTF-8", "\"\xff\""},
		{"a surrogate as bytes", "\"\xed\xa0\x80\""},
		{"UTF-16", "\xff\xfe{\x00}\x00"},
		{"half a document", `{"a":`},
		{"half a text", `"a`},
		{"a second value", `{} {}`},
		{"a bracket too many", `{}}`},
		{"a comma too many", `[1,]`},
		{"a word after it", `{}x`},
		{"single quotes", `{'a':1}`},
		{"a comment", `{} // x`},
		{"a number with a leading zero", `[01]`},
		{"a number of another notation", `[0x10]`},
		{"not a number", `[NaN]`},
		{"an unknown escape", `"\x41"`},
		{"one level too deep", nest("[", "]", document.MaxDepth+1)},
		{"one level too deep, of objects", nest(`{"a":`, "}", document.MaxDepth+1)},
		{"a mebibyte of nesting", nest("[", "]", 1<<19)},
		{"a mebibyte of nesting that is never closed", strings.Repeat("[", 1<<20)},
		{"brackets closed before they were opened", strings.Repeat("]", 1000) + strings.Repeat("[", 1000)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v, err := document.Decode([]byte(tt.raw))
			if !errors.Is(err, document.ErrMalformed) || v != nil {
				t.Errorf("Decode = %v, %v; want ErrMalformed", v, err)
			}
		})
	}
	if _, err := document.Decode([]byte(nest("[", "]", document.MaxDepth))); err != nil {
		t.Errorf("the deepest nesting that is allowed: %v", err)
	}
	if _, err := document.Decode([]byte("[" + strings.Repeat(`[],{"a":{}},`, document.MaxDepth) + "0]")); err != nil {
		t.Errorf("more brackets beside each other than may be in each other: %v", err)
	}
}

func TestDecodeDoesNotQuoteTheBody(t *testing.T) {
	for _, raw := range []string{`{"secret":tru}`, `{"a":1}secret`, `secret`, `{"secret" 1}`} {
		if _, err := document.Decode([]byte(raw)); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: error %v", raw, err)
		}
	}
}

func TestCanonicalDependsOnContentAlone(t *testing.T) {
	canonical := func(raw string) string {
		v, err := document.Decode([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		b, err := document.Canonical(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	const want = `{"a":[1.50,"<b>&"],"b":null,"ä":{"x":1,"y":2}}`
	for _, raw := range []string{
		`{"a":[1.50,"<b>&"],"b":null,"ä":{"x":1,"y":2}}`,
		`{ "\u00e4":{"y":2,"x":1}, "b":null,` + "\n\t" + `"a":[1.50,"\u003cb\u003e\u0026"] }`,
	} {
		if got := canonical(raw); got != want {
			t.Errorf("%s became %s, want %s", raw, got, want)
		}
	}
	// A number is what was written: 1.5 and 1.50 are two facts for a sender that compares texts.
	if canonical(`1.5`) == canonical(`1.50`) || canonical(`[1,2]`) == canonical(`[2,1]`) || canonical(`"1"`) == canonical(`1`) {
		t.Error("two contents have one canonical form")
	}
}

func TestCanonicalRefusesWhatIsNoDocument(t *testing.T) {
	for _, v := range []any{func() {}, map[string]any{"a": make(chan int)}, json.Number("not a number")} {
		if b, err := document.Canonical(v); err == nil {
			t.Errorf("%T became %s", v, b)
		}
	}
}

// Digests are stored and are part of operation keys.
func TestDigestIsStable(t *testing.T) {
	if got, want := document.Digest([]byte("{}")), "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"; got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{"id":11,"name":"Mug \/ \u00c5 \ud83d\ude42 <b>\"x\"<\/b>","a":[1.50,null,true]}`, `[[[]]]`, "\ufeff{}", `{"a":1,"a":2}`, `"\ud800"`, `1e400`, `{}{}`, strings.Repeat("[", 300)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		v, err := document.Decode(raw)
		if err != nil {
			if !errors.Is(err, document.ErrMalformed) {
				t.Fatalf("error %v is not ErrMalformed", err)
			}
			return
		}
		if !json.Valid(raw) {
			t.Fatal("what is no JSON was taken")
		}
		first, err := document.Canonical(v)
		if err != nil {
			t.Fatalf("no canonical form: %v", err)
		}
		again, err := document.Decode(first)
		if err != nil {
			t.Fatalf("the canonical form %s is refused: %v", first, err)
		}
		if diff := cmp.Diff(v, again); diff != "" {
			t.Fatalf("the canonical form is another document (-want +got):\n%s", diff)
		}
		if second, err := document.Canonical(again); err != nil || string(second) != string(first) {
			t.Fatalf("canonical forms %s and %s, %v", first, second, err)
		}
	})
}

func Example() {
	v, err := document.Decode([]byte(`{"id": 9007199254740993001, "categories": [{"name": "Mugs"}, {"name": "Gifts"}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	names, _ := document.ParsePointer("/categories/*/name")
	fmt.Println(names.All(v)...)
	canonical, _ := document.Canonical(v)
	fmt.Println(string(canonical))
	// Output:
	// Mugs Gifts
	// {"categories":[{"name":"Mugs"},{"name":"Gifts"}],"id":9007199254740993001}
}
