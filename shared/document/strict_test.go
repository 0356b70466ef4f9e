package document_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"engang/shared/document"
)

type place struct {
	Shelf string `json:"shelf"`
}

type goods struct {
	place
	ID     string           `json:"id"`
	Count  int              `json:"count,omitempty"`
	At     *time.Time       `json:"at"`
	Places []place          `json:"places"`
	By     map[string]place `json:"by"`
	Next   *place           `json:"next"`
	Schema json.RawMessage  `json:"schema"`
	Any    any              `json:"any"`
	Hidden string           `json:"-"`
	Plain  bool
}

func TestUnmarshalReadsWhatItKnows(t *testing.T) {
	raw := ` {"id":"a","count":2,"shelf":"s","at":"2026-11-29T12:00:00Z","places":[{"shelf":"x"}],"by":{"Any Name":{"shelf":"y"}},
		"next":{"shelf":"z"},"schema":{"whatever":1},"any":{"likewise":[{"b":2}]},"Plain":true} `
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	want := goods{
		place: place{"s"}, ID: "a", Count: 2, At: &at, Places: []place{{"x"}}, By: map[string]place{"Any Name": {"y"}}, Next: &place{"z"},
		Schema: json.RawMessage(`{"whatever":1}`), Any: map[string]any{"likewise": []any{map[string]any{"b": 2.0}}}, Plain: true,
	}
	var got goods
	if err := document.Unmarshal([]byte(raw), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(goods{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUnmarshalLosesNothingInSilence(t *testing.T) {
	for _, c := range []struct {
		name, raw string
		want      error
	}{
		{"nothing", ``, document.ErrMalformed},
		{"a second document", `{"id":"secret"}{"id":"b"}`, document.ErrMalformed},
		{"text behind it", `{"id":"secret"} and so on`, document.ErrMalformed},
		{"a key twice", `{"id":"secret","id":"b"}`, document.ErrMalformed},
		{"a key twice, once with an escape", `{"id":"secret","\u0069d":"b"}`, document.ErrMalformed},
		{"a key twice, in what nobody looks into", `{"schema":{"a":[{"b":"secret","b":2}]}}`, document.ErrMalformed},
		{"bytes that are not UTF-8", "{\"id\":\"secret\xff\"}", document.ErrMalformed},
		{"a key that is not known", `{"id":"a","secret":1}`, document.ErrForm},
		{"a key in other letters", `{"ID":"secret"}`, document.ErrForm},
		{"a key in other letters beside the right ones", `{"id":"a","ID":"secret"}`, document.ErrForm},
		{"a field that is not for JSON", `{"Hidden":"secret"}`, document.ErrForm},
		{"the name of an embedded struct", `{"place":{"shelf":"secret"}}`, document.ErrForm},
		{"an unknown key in a list", `{"places":[{"shelf":"x"},{"secret":1}]}`, document.ErrForm},
		{"an unknown key in a map", `{"by":{"a":{"secret":1}}}`, document.ErrForm},
		{"an unknown key behind a pointer", `{"next":{"secret":1}}`, document.ErrForm},
		{"a number for a text", `{"id":1}`, document.ErrForm},
		{"an object for a text", `{"id":{"secret":1}}`, document.ErrForm},
		{"a list for an object", `[{"id":"secret"}]`, document.ErrForm},
		{"no time", `{"at":"secret"}`, document.ErrForm},
	} {
		var got goods
		err := document.Unmarshal([]byte(c.raw), &got)
		if !errors.Is(err, c.want) || errors.Is(err, document.ErrMalformed) != (c.want == document.ErrMalformed) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error quotes the bytes: %v", c.name, err)
		}
	}
}
