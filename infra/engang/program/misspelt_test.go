package program_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"engang/shared/control"
)

// What was typed wrong is told as such: help and the exit code 0 would look as if it was done.
func TestWhatIsMisspeltIsNoSuccess(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"help", "nope"}, `unknown command "nope"`},
		{[]string{"help", "review", "nope"}, `unknown command "review nope"`},
		{[]string{"completion", "tcsh"}, `unknown command "tcsh" for "engang completion"`},
		{[]string{""}, `unknown command ""`},
		{[]string{"completion", ""}, `unknown command ""`},
		{[]string{"events", "--as", ""}, "--as: it is empty"},
		{[]string{"events", "--target", ""}, "--target: it is empty"},
		{[]string{"init", "stripe", "--name", ""}, "--name: it is empty"},
		{[]string{"pause", "everything", "--reason", strings.Repeat("a", 2_001)}, "--reason: at most 2000 bytes"},
		{[]string{"erase", "--object", "a:1", "--reason", "\xff"}, "--reason: it is no text in UTF-8"},
		{[]string{"events", "--limit", "many"}, `invalid argument "many" for "--limit" flag: invalid syntax`},
		{[]string{"events", "--timeout", "soon"}, `invalid argument "soon" for "--timeout" flag: invalid duration "soon"`},
		{[]string{"replay", "--since", "2027-01-01T00:00:00Z", "--dry-run"}, "--since 2027-01-01T00:00:00Z is not before now"},
		{[]string{"approve", "evt_aaaaaaaaaaaaaaaa", "--digest", "d", "--reason", "why"}, "evt_aaaaaaaaaaaaaaaa is an event: name the operation"},
		{[]string{"send", "--secret-file", empty}, "--secret-file: there is nothing in the file"},
	} {
		api := serveCanned(t)
		api.answer["/api/endpoints"] = control.Endpoint{Kind: "endpoint", Name: "woo-shop", Provider: "woocommerce", Secrets: one}
		args := c.args
		if args[0] == "send" {
			args = append(args, "--target", api.url)
		}
		if code, stdout, stderr := run(t, t.Context(), args...); code != 2 || stdout != "" || !strings.Contains(stderr, c.says) || strings.Contains(stderr, "strconv") {
			t.Errorf("%q: exit %d %s%s", c.args, code, stdout, stderr)
		}
	}
	for _, args := range [][]string{{"help"}, {"help", "review", "approve"}, {"completion"}, {"completion", "bash"}} {
		if code, stdout, stderr := run(t, t.Context(), args...); code != 0 || stdout == "" {
			t.Errorf("%q: exit %d %s", args, code, stderr)
		}
	}
}
