// Package lifecycletest holds lifecycles against the pictures that are kept of them.
package lifecycletest

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"engang/shared/lifecycle"
)

var update = flag.Bool("update", false, "write testdata/lifecycle.mmd anew")

// Picture fails the test where testdata/lifecycle.mmd of the tested package is not what the machine draws. With the flag
// -update it writes the file anew.
func Picture[S ~string](t *testing.T, m lifecycle.Machine[S]) {
	t.Helper()
	const path = "testdata/lifecycle.mmd"
	drawn := m.Mermaid()
	if *update {
		if err := os.WriteFile(path, []byte(drawn), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(golden), drawn); diff != "" {
		t.Errorf("the picture is not the table (run with -update, and read the change) (-picture +table):\n%s", diff)
	}
}
