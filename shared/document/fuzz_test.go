package document_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"engang/shared/document"
)

// standard reads a document with the standard library.
func standard(raw []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more")
	}
	return v, nil
}

// deep tells whether brackets outside of texts nest deeper than is allowed.
func deep(raw []byte) bool {
	depth, most := 0, 0
	d := json.NewDecoder(bytes.NewReader(raw))
	for {
		t, err := d.Token()
		if err != nil {
			return most > document.MaxDepth
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
			most = max(most, depth)
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
}

// Decode takes what the standard library takes, but for what is not UTF-8 or too deep, and makes the same of it.
func FuzzDecodeAsTheStandardLibrary(f *testing.F) {
	for _, seed := range []string{
		`{"id":9007199254740993001,"a":[1.50,-0,1e400,1E+2,0.0e-1,true,false,null],"b":{},"c":[],"a":"last"}`,
		`"a\/b \u00c5 \ud83d\ude42 \u2028 \"\\\b\f\n\r\t"`, `"\ud800"`, `"\ud800\u0041"`, `"\ud800\ud83d\ude42"`, `"\udc00\ud800"`, `"\ud83d\ude4"`, `"\uD83D\uDE42"`,
		" \t\r\n[ 1 , { \"a\" : 2 } ] ", "[1\x00]", "\x00", "{}\x00", `[01]`, `[1.]`, `[.5]`, `[-]`, `[1e]`, `[+1]`, `[1,]`, `{"a":1,}`, `{,}`, `{1:2}`, `{"a"}`, `tru`, `nul`, `"a`, `"\`, `"\u12`, `"\x41"`, "\"\x1f\"",
		"\u00a0{}", strings.Repeat("[", document.MaxDepth) + strings.Repeat("]", document.MaxDepth), strings.Repeat("[", document.MaxDepth+1) + strings.Repeat("]", document.MaxDepth+1),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := document.Decode(raw)
		want, refused := standard(raw)
		switch {
		case err != nil && !errors.Is(err, document.ErrMalformed):
			t.Fatalf("error %v", err)
		case err != nil && refused == nil && utf8.Valid(raw) && !deep(raw):
			t.Fatalf("%q is refused: %v", raw, err)
		case err == nil && refused != nil:
			t.Fatalf("%q is taken, the standard library says %v", raw, refused)
		case err == nil && !reflect.DeepEqual(got, want): // go-cmp takes for ever over deep nesting
			t.Fatalf("%q became %#v, the standard library makes %#v of it", raw, got, want)
		}
	})
}

func BenchmarkDecode8KB(b *testing.B) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "infra", "bench", "product.json"))
	if err != nil {
		b.Fatal(err)
	}
	for name, decode := range map[string]func([]byte) (any, error){"ours": document.Decode, "encoding-json": standard} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := decode(raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkDigest8KB is what makes a fact or an input comparable.
func BenchmarkDigest8KB(b *testing.B) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "infra", "bench", "product.json"))
	if err != nil {
		b.Fatal(err)
	}
	v, err := document.Decode(raw)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("of-bytes", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		b.ReportAllocs()
		for b.Loop() {
			_ = document.Digest(raw)
		}
	})
	b.Run("of-a-value", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		b.ReportAllocs()
		for b.Loop() {
			canonical, err := document.Canonical(v)
			if err != nil {
				b.Fatal(err)
			}
			_ = document.Digest(canonical)
		}
	})
}
