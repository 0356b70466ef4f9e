// Package rightstest breaks templates, so that tests see who needs what the roles in them allow.
package rightstest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Without is the text of a template without one statement of a role: "ReceiverRole KeepEvents". It fails the test where
// there is no such statement, in the form that our template is written in: a block under a line with its Sid.
func Without(t testing.TB, template, where string) string {
	t.Helper()
	role, sid, _ := strings.Cut(where, " ")
	block := regexp.MustCompile(`(?m)^  ` + role + `:\n(?:(?:   .*)?\n)*?(              - Sid: ` + sid + `\b.*\n(?:                .*\n)+)`)
	m := block.FindStringSubmatchIndex(template)
	if m == nil {
		t.Fatalf("the template has no statement %s", where)
	}
	return template[:m[2]] + template[m[3]:]
}

// Saved is a file with a template in it, which is gone after the test.
func Saved(t testing.TB, template string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "template.yaml")
	if err := os.WriteFile(file, []byte(template), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
