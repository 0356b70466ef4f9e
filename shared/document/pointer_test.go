package document_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"engang/shared/document"
)

const shop = `{"id":794,"":"empty","a/b":1,"m~n":2,"~1":3,"*":"star","nothing":null,"list":[],
	"categories":[{"id":15,"name":"Mugs"},{"id":16},{"id":17,"name":"Gifts"}],"matrix":[[1,2],[3]],"0":"zero"}`

func TestPointerFinds(t *testing.T) {
	doc, err := document.Decode([]byte(shop))
	if err != nil {
		t.Fatal(err)
	}
	n := func(s string) any { return json.Number(s) }
	tests := []struct {
		pointer string
		want    []any // all; the first is what Find returns
	}{
		{"/id", []any{n("794")}},
		{"/", []any{"empty"}},
		{"/a~1b", []any{n("1")}},
		{"/m~0n", []any{n("2")}},
		{"/~01", []any{n("3")}},
		{"/*", []any{"star"}}, // of an object it is a key like others
		{"/nothing", []any{nil}},
		{"/categories/*/name", []any{"Mugs", "Gifts"}},
		{"/categories/0/name", []any{"Mugs"}},
		{"/categories/1/name", nil},
		{"/categories/3", nil},
		{"/categories/-", nil},
		{"/categories/-1", nil},
		{"/categories/00", nil},
		{"/categories/+1", nil},
		{"/categories/99999999999999999999", nil},
		{"/categories/name", nil},
		{"/0", []any{"zero"}}, // of an object a number is a key
		{"/matrix/*/*", []any{n("1"), n("2"), n("3")}},
		{"/matrix/*/1", []any{n("2")}},
		{"/list/*", nil},
		{"/id/*", nil},
		{"/nothing/x", nil},
		{"/absent", nil},
	}
	for _, tt := range tests {
		t.Run(tt.pointer, func(t *testing.T) {
			p, err := document.ParsePointer(tt.pointer)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, p.All(doc)); diff != "" {
				t.Errorf("All (-want +got):\n%s", diff)
			}
			first, ok := p.Find(doc)
			if ok != (len(tt.want) > 0) || ok && !cmp.Equal(first, tt.want[0]) {
				t.Errorf("Find = %v, %v", first, ok)
			}
			if p.String() != tt.pointer {
				t.Errorf("written as %q", p)
			}
		})
	}
}

func TestEmptyPointerIsTheWholeDocument(t *testing.T) {
	p, err := document.ParsePointer("")
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := p.Find("doc"); !ok || v != "doc" || p.Wild() {
		t.Errorf("Find = %v, %v", v, ok)
	}
	if v, ok := (document.Pointer{}).Find(nil); !ok || v != nil {
		t.Errorf("the zero pointer found %v, %v", v, ok)
	}
}

func TestParsePointerRefuses(t *testing.T) {
	for _, text := range []string{"id", "id/x", " /id", "#/id", "/~", "/a~", "/a~2", "/~~01", "/~~10", "/a/~x/b", "$.id"} {
		if p, err := document.ParsePointer(text); err == nil {
			t.Errorf("ParsePointer(%q) = %q, want it refused", text, p)
		}
	}
}

func TestWildPointersCanNameMoreThanOnePlace(t *testing.T) {
	for text, want := range map[string]bool{"/a/b": false, "/a/*": true, "/*/b": true, "/a*": false, "/": false} {
		if p, err := document.ParsePointer(text); err != nil || p.Wild() != want {
			t.Errorf("%q is wild: %v, %v, want %v", text, p.Wild(), err, want)
		}
	}
}

func TestPointerIsPlainTextInJSON(t *testing.T) {
	var got struct {
		P document.Pointer  `json:"p"`
		Q *document.Pointer `json:"q,omitempty"`
	}
	if err := json.Unmarshal([]byte(`{"p":"/a~1b/*"}`), &got); err != nil || got.P.String() != "/a~1b/*" || got.Q != nil {
		t.Fatalf("%+v, %v", got, err)
	}
	if raw, err := json.Marshal(got); err != nil || string(raw) != `{"p":"/a~1b/*"}` {
		t.Errorf("%s, %v", raw, err)
	}
	if err := json.Unmarshal([]byte(`{"p":"a"}`), &got); err == nil {
		t.Error("a pointer without a slash was read")
	}
}

func TestTextIsAScalarAsItWasWritten(t *testing.T) {
	for _, tt := range []struct {
		v    any
		want string
		ok   bool
	}{
		{"a", "a", true}, {"", "", true}, {json.Number("12.50"), "12.50", true},
		{nil, "", false}, {true, "", false}, {[]any{"a"}, "", false}, {map[string]any{}, "", false},
	} {
		if got, ok := document.Text(tt.v); got != tt.want || ok != tt.ok {
			t.Errorf("Text(%v) = %q, %v; want %q, %v", tt.v, got, ok, tt.want, tt.ok)
		}
	}
}

func FuzzParsePointer(f *testing.F) {
	for _, seed := range []string{"/categories/*/name", "/a~1b/~0", "/~~01", "", "/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := document.ParsePointer(text)
		if err != nil {
			return
		}
		// A document built along the pointer is found by it.
		var doc any = "found"
		steps := p.Steps()
		for i := len(steps) - 1; i >= 0; i-- {
			doc = map[string]any{steps[i]: doc}
		}
		if v, ok := p.Find(doc); !ok || v != "found" {
			t.Errorf("%q with the steps %q finds nothing", text, steps)
		}
	})
}
