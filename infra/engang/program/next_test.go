package program_test

import (
	"strings"
	"testing"

	"engang/shared/control"
)

// A command that is suggested speaks to the same target about the same tenant, by the same person: else what is copied
// does its act somewhere else.
func TestASuggestedCommandKeepsWhatWasGiven(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		next string
	}{
		{"send", []string{"send"}, "engang show evt_aaaaaaaaaaaaaaaa"},
		{"pause", []string{"pause", "endpoint", "woo-shop", "--reason", "why"}, "engang resume endpoint woo-shop --reason TEXT"},
		{"redrive", []string{"redrive", "evt_bbbbbbbbbbbbbbbb", "--reason", "why"}, "engang dlq tidy --reason TEXT"},
		{"dlq", []string{"dlq"}, "engang redrive ID --reason TEXT"},
		{"a decision without a digest", []string{"approve", "product:794/product-card@3/9f2c", "--reason", "why"}, "engang show product:794/product-card@3/9f2c"},
		{"secret rotate", []string{"secret", "rotate", "woo-shop"}, "engang secret retire woo-shop"},
		{"init", []string{"init", "stripe", "--dir", "DIR"}, "engang send stripe/invoice.paid --wait"},
	} {
		api := serveCanned(t)
		same := []string{"--target", api.url, "--tenant", "shop", "--environment", "test", "--as", "ann of the shop"}
		api.answer["/api/endpoints"] = control.Endpoint{Kind: "endpoint", Name: "woo-shop", Tenant: "shop", Environment: "test", Provider: "woocommerce", Secrets: one}
		for i, word := range c.args {
			if word == "DIR" {
				c.args[i] = t.TempDir()
			}
		}
		_, stdout, stderr := given(t, secondSecret, append(c.args, same...)...)
		if want := c.next + " --target " + api.url + " --tenant shop --environment test --as 'ann of the shop'"; !strings.Contains(stdout+stderr, want) {
			t.Errorf("%s: want %s in\n%s%s", c.name, want, stdout, stderr)
		}
	}
}

// Where nothing answers, the program to start is one on this machine, whatever target was named.
func TestWhatIsStartedHasNoTarget(t *testing.T) {
	_, _, stderr := run(t, t.Context(), "events", "--target", "http://127.0.0.1:1", "--tenant", "shop")
	if !strings.Contains(stderr, "Start it with: engang local, or name") {
		t.Error(stderr)
	}
}
