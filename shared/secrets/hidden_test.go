package secrets_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"log"
	"log/slog"
	"strings"
	"testing"
	"text/template"

	"engang/shared/secrets"
)

// inner holds a secret where fmt calls no method on it: in an unexported field.
type inner struct {
	v  secrets.Value
	p  *secrets.Value
	in []secrets.Value
}

func TestSecretInsideOtherValuesIsNotPrintedByAnyVerb(t *testing.T) {
	v := secrets.NewValue("hush")
	in := inner{v, &v, []secrets.Value{v}}
	var out bytes.Buffer
	for _, verb := range "vdsqxXobcUeEfFgGtTp" {
		for _, flags := range []string{"", "+", "#", "0", " ", "-20", "20.3"} {
			format := "%" + flags + string(verb) + "\n"
			for _, arg := range []any{v, &v, in, &in, []any{v, in}, map[string]secrets.Value{"k": v}, struct{ V any }{v}} {
				fmt.Fprintf(&out, format, arg)
			}
		}
	}
	fmt.Fprintln(&out, in, &in, fmt.Errorf("call: %v %w", in, fmt.Errorf("%v", v)))
	log.New(&out, "", 0).Println(v, in)
	slog.New(slog.NewTextHandler(&out, nil)).Info("m", "v", v, "in", in, slog.Group("g", "v", v))
	slog.New(slog.NewJSONHandler(&out, nil)).Info("m", "v", v, "in", in, "all", []secrets.Value{v})
	if err := template.Must(template.New("").Parse("{{.}} {{printf \"%v\" .}}")).Execute(&out, v); err != nil {
		t.Fatal(err)
	}
	if raw, err := xml.Marshal(struct{ V secrets.Value }{v}); err == nil {
		t.Errorf("a secret was written into XML: %s", raw)
	}
	for _, shape := range []string{"hush", "68757368", "68 75 73 68", "104 117 115 104", "0x68", "aHVzaA"} {
		if i := strings.Index(strings.ToLower(out.String()), strings.ToLower(shape)); i >= 0 {
			t.Errorf("the secret was printed as %q in %q", shape, out.String()[max(0, i-40):i+20])
		}
	}
	if strings.Count(out.String(), "[secret]") < 100 {
		t.Error("it is not said that there is a secret")
	}
}

func TestZeroValueHoldsNothing(t *testing.T) {
	var v secrets.Value
	if !v.IsEmpty() || len(v.Reveal()) != 0 || v.String() != "[secret]" {
		t.Errorf("zero value %v, empty %v", v, v.IsEmpty())
	}
}
