//go:build unix

package configfile_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"engang/infra/configfile"
)

// A pipe would keep the program waiting for somebody who writes into it.
func TestWhatIsNoRegularFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "pipe.yaml")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{path, dir, "/dev/null"} {
		if _, err := configfile.Read(what); err == nil || (what != "/dev/null" && !strings.Contains(err.Error(), "regular file")) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
