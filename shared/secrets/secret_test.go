package secrets_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"engang/shared/secrets"
)

func TestNoWayOfPrintingShowsASecret(t *testing.T) {
	v := secrets.NewValue("hush")
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("line", "secret", v, "inside", struct{ V secrets.Value }{v})
	doc, err := json.Marshal(map[string]any{"v": v})
	if err == nil {
		t.Errorf("a secret was written into a document: %s", doc)
	}
	for _, out := range []string{
		v.String(), fmt.Sprint(v), fmt.Sprintf("%s %v %+v %#v %q %x %d", v, v, v, v, v, v, v), fmt.Sprintf("%+v", struct{ V secrets.Value }{v}),
		fmt.Sprintf("%v", []secrets.Value{v}), fmt.Sprint(&v), log.String(), fmt.Sprint(err),
	} {
		if strings.Contains(out, "hush") || strings.Contains(out, "68757368") || strings.Contains(out, "104 117") {
			t.Errorf("printed as %s", out)
		}
	}
	if string(v.Reveal()) != "hush" || v.IsEmpty() || !secrets.NewValue("").IsEmpty() {
		t.Error("the value itself is lost")
	}
}

func TestReferences(t *testing.T) {
	for _, tc := range []struct {
		name string
		ref  secrets.Ref
		path string // "": refused
	}{
		{"of an endpoint", "ssm:hooks/woo-shop/1", "hooks/woo-shop/1"},
		{"of a provider", "ssm:models/openai", "models/openai"},
		{"of a target", "ssm:targets/woo_shop.no", "targets/woo_shop.no"},
		{"a secret in its place", "hush-hush-hush", ""},
		{"another store", "env:hooks/woo-shop/1", ""},
		{"outside of the stack", "ssm:other/woo-shop", ""},
		{"an absolute path", "ssm:/hooks/woo-shop", ""},
		{"an empty step", "ssm:hooks//openai", ""},
		{"a step upwards", "ssm:hooks/../x/1", ""},
		{"a step upwards at the end", "ssm:hooks/x/..", ""},
		{"a step that goes nowhere", "ssm:models/./openai", ""},
		{"dots alone", "ssm:hooks/x/...", ""},
		{"nothing after the folder", "ssm:hooks/", ""},
		{"a line break at the end", "ssm:hooks/a/1\n", ""},
		{"nothing", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path, err := tc.ref.Path()
			if path != tc.path || (err == nil) != (tc.path != "") {
				t.Fatalf("Path = %q, %v; want %q", path, err, tc.path)
			}
			if err != nil && strings.Contains(err.Error(), "hush") {
				t.Errorf("error repeats the text: %v", err)
			}
		})
	}
}

// What is live stays readable; only what is configured anew is held to slots.
func TestSlotsCountFromOne(t *testing.T) {
	for ref, fit := range map[secrets.Ref]bool{
		"ssm:hooks/woo-shop/1": true, "ssm:hooks/woo-shop/10": true, "ssm:hooks/woo-shop/main": true, "ssm:models/0": true,
		"ssm:hooks/woo-shop/0": false, "ssm:hooks/woo-shop/00": false, "ssm:hooks/woo-shop/01": false, "ssm:hooks/woo-shop": false, "hush": false,
	} {
		if err := ref.Fit(); (err == nil) != fit {
			t.Errorf("%s: %v", ref, err)
		}
	}
	if _, err := secrets.Ref("ssm:hooks/woo-shop/0").Path(); err != nil {
		t.Errorf("slot 0 that is live: %v", err)
	}
}
