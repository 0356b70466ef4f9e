// Package architecture_test holds the repository against its own rules: what may import what, what lies
// where, what is documented, and what the template must say.
//
// Each rule is a function from facts to faults. One test applies it to this repository, and another
// shows with a bad sample that it can fail.
package architecture_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../.."

// none fails the test with every fault of a rule.
func none(t *testing.T, faults []string) {
	t.Helper()
	for _, f := range faults {
		t.Error(f)
	}
}

// found holds a rule's faults with a bad sample against those that it must find.
func found(t *testing.T, got []string, want ...string) {
	t.Helper()
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("faults of the bad sample (-want +got):\n%s", diff)
	}
}

// kept lists the files of the repository, relative to its root with slashes: what git would keep, or
// without git all that is not hidden.
func kept(t *testing.T) []string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "git", "ls-files", "--cached", "--others", "--exclude-standard", "-z")
	list.Dir = root
	if out, err := list.Output(); err == nil && len(out) > 0 {
		return slices.DeleteFunc(strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), func(name string) bool {
			_, err := os.Stat(filepath.Join(root, name)) // deleted and not committed yet
			return err != nil
		})
	}
	var names []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil || name == "." {
			return err
		}
		if d.IsDir() && strings.HasPrefix(name, ".") && name != ".ci" {
			return filepath.SkipDir
		}
		if !d.IsDir() {
			names = append(names, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// read reads a file of the repository.
func read(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
