//go:build unix

package local

import (
	"errors"
	"testing"
)

// Two programs on one folder would each write over what the other has acknowledged.
func TestADataFolderIsForOneProgram(t *testing.T) {
	dir := t.TempDir()
	unlock, err := lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock(dir); !errors.Is(err, ErrDataInUse) {
		t.Errorf("a second one: %v", err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	if again, err := lock(dir); err != nil {
		t.Errorf("after the first ended: %v", err)
	} else if err := again(); err != nil {
		t.Error(err)
	}
}
