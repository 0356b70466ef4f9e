package object_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"engang/shared/object"
)

func TestNewIDTakesWhatFitsAKey(t *testing.T) {
	tests := []struct {
		name, kind, value string
		ok                bool
	}{
		{name: "a number", kind: "product", value: "794", ok: true},
		{name: "colon, slash, space and letters of other alphabets", kind: "product", value: "a:b/c å 漢", ok: true},
		{name: "longest plain", kind: "product", value: strings.Repeat("a", 200), ok: true},
		{name: "one byte too long", kind: "product", value: strings.Repeat("a", 201)},
		{name: "longest once encoded", kind: "product", value: strings.Repeat("/", 66), ok: true},
		{name: "too long once encoded", kind: "product", value: strings.Repeat("/", 67)},
		{name: "spaces take three bytes in a key", kind: "product", value: strings.Repeat(" ", 67)},
		{name: "no value", kind: "product"},
		{name: "no kind", value: "794"},
		{name: "a kind with a colon", kind: "a:b", value: "794"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			id, err := object.NewID(tt.kind, tt.value)
			if !tt.ok {
				if !errors.Is(err, object.ErrNoID) || !id.IsZero() {
					t.Errorf("NewID = %v, %v; want ErrNoID", id, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			again, err := object.ParseID(id.String())
			if err != nil || again != id {
				t.Errorf("ParseID(%q) = %v, %v", id, again, err)
			}
		})
	}
}

func TestErrorsDoNotRepeatTheSendersID(t *testing.T) {
	_, err := object.NewID("customer", strings.Repeat("ann@example.com", 20))
	if err == nil || strings.Contains(err.Error(), "ann") {
		t.Errorf("error %v", err)
	}
}

func TestIDIsPlainTextInJSON(t *testing.T) {
	type doc struct {
		Object object.ID `json:"object"`
	}
	for _, text := range []string{`{"object":"product:794"}`, `{"object":"product:a:b"}`, `{"object":""}`} {
		var d doc
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if again, err := json.Marshal(d); err != nil || string(again) != text {
			t.Errorf("%s came back as %s, %v", text, again, err)
		}
	}
	for _, text := range []string{`{"object":"product"}`, `{"object":":794"}`, `{"object":"product:"}`} {
		if err := json.Unmarshal([]byte(text), new(doc)); !errors.Is(err, object.ErrNoID) {
			t.Errorf("%s: error %v, want ErrNoID", text, err)
		}
	}
}

func ExampleParseID() {
	id, err := object.ParseID("product:794")
	fmt.Println(id.Kind, id.Value, err)
	fmt.Println(object.Scope{Tenant: "shop", Environment: "test"})
	// Output:
	// product 794 <nil>
	// shop/test
}
