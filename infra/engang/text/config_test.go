package text_test

import (
	"encoding/json"
	"strings"
	"testing"

	"engang/infra/engang/text"
	"engang/shared/config"
	"engang/shared/control"
)

func TestADifferenceIsShownWhereItIs(t *testing.T) {
	quoted := func(s string) json.RawMessage { raw, _ := json.Marshal(s); return raw }
	long := strings.Repeat("Use only facts in the input. ", 5)
	for _, c := range []struct {
		name     string
		from, to json.RawMessage
		want     string
	}{
		{"short texts", quoted("a"), quoted("b"), `"a" -> "b"`},
		{"what was not there", json.RawMessage("null"), json.RawMessage("7"), "(none) -> 7"},
		{"long texts that begin alike", quoted(long + "Be short."), quoted(long + "Be brief."), `…e input. Be short." -> …e input. Be brief."`},
		{"long texts that differ at once", quoted("A" + long), quoted("B" + long), `"AUse only facts in the input. Use only facts in the input. … -> "BUse only facts in the input. Use only facts in the input. …`},
		{"what a terminal would obey", quoted("\x1b[2J\u009b"), json.RawMessage(`{"a":"` + "\u009b" + `"}`), `"\x1b[2J\u009b" -> {"a":"\u{9b}"}`},
	} {
		var b strings.Builder
		doc := control.Application{Changes: []config.Change{{Kind: "endpoint", Name: "e", From: 1, To: 2, Fields: []config.Field{{At: "/f", From: c.from, To: c.to}}}}}
		if err := (text.Clock{}).Application(&b, doc); err != nil || !strings.Contains(b.String(), "/f  "+c.want+"\n") {
			t.Errorf("%s: %v %s", c.name, err, b.String())
		}
	}
}

func TestAChangeOfOrderIsToldAsOne(t *testing.T) {
	var b strings.Builder
	doc := control.Application{Tenant: "t", Environment: "test", Changes: []config.Change{
		{Kind: "recipe", Name: "r", From: 1, To: 2, Fields: []config.Field{{At: "/version", From: json.RawMessage("1"), To: json.RawMessage("2")}}},
		{Kind: "endpoint", Name: "e", From: 3},
	}}
	if err := (text.Clock{}).Application(&b, doc); err != nil {
		t.Fatal(err)
	}
	want := "t/test: nothing is live yet\n\n  ~  recipe    r  1 to 2\n      the order of its keys\n  -  endpoint  e  3       what is sent there is answered 404\n"
	if b.String() != want {
		t.Errorf("%s", b.String())
	}
}
