package diagnose

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What other languages write by default for one and the same value.
func TestStylesAreThoseOfTheLanguages(t *testing.T) {
	const value = `{"a" : "é/<b>\u2028","e":[ ],"o":{ },"n":[1.50, -2e3,true,null],"s":"\ud83d\ude00\u0001\"\\"}`
	for _, c := range []struct {
		name string
		style
		want string
	}{
		{"PHP", style{colon: ":", comma: ",", slash: true, ascii: true}, `{"a":"\u00e9\/<b>\u2028","e":[],"o":{},"n":[1.50,-2e3,true,null],"s":"\ud83d\ude00\u0001\"\\"}`},
		{"JavaScript", style{colon: ":", comma: ","}, "{\"a\":\"é/<b>\u2028\",\"e\":[],\"o\":{},\"n\":[1.50,-2e3,true,null],\"s\":\"😀\\u0001\\\"\\\\\"}"},
		{"Python", style{colon: ": ", comma: ", ", ascii: true}, `{"a": "\u00e9/<b>\u2028", "e": [], "o": {}, "n": [1.50, -2e3, true, null], "s": "\ud83d\ude00\u0001\"\\"}`},
		{"Go", style{colon: ":", comma: ",", markup: true}, `{"a":"é/\u003cb\u003e\u2028","e":[],"o":{},"n":[1.50,-2e3,true,null],"s":"😀\u0001\"\\"}`},
		{"on many lines", style{colon: ": ", comma: ",", indent: "  ", newline: true}, "{\n  \"a\": \"é/<b>\u2028\",\n  \"e\": [],\n  \"o\": {},\n  \"n\": [\n    1.50,\n    -2e3,\n    true,\n    null\n  ],\n  \"s\": \"😀\\u0001\\\"\\\\\"\n}\n"},
	} {
		if diff := cmp.Diff(c.want, string(c.write([]byte(value)))); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if whose := c.whose(); c.indent == "" && !strings.Contains(whose, c.name) {
			t.Errorf("%s is said to be %q", c.name, whose)
		}
	}
}

// In every style it is the same value, and what no text can hold stays as it is.
func FuzzRewrite(f *testing.F) {
	for _, text := range []string{`{}`, `[]`, `{"a":[{"b":[]},"x"]}`, `"\ud800"`, `"\/\u00e9\ud83d\ude00"`, ` [ 1 , 2.50e-1 ] `, `"\u0000\u007f"`, "\"\u2028\""} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) {
			return
		}
		var want any
		if err := json.Unmarshal(raw, &want); err != nil {
			return // a number that is too large
		}
		for _, y := range styles() {
			out := y.write(raw)
			var got any
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatalf("%q in style %+v is %q: %v", raw, y, out, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%q in style %+v is %q: %s", raw, y, out, diff)
			}
			if again := y.write(out); string(again) != string(out) {
				t.Fatalf("%q written twice in style %+v is %q", raw, y, again)
			}
		}
	})
}
